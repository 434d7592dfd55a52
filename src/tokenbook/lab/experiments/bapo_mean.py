"""Chapter 12: BAPO against a fixed clip at the mean of BAPO's bounds.

Both arms run under a sampler that lags up to eight rounds: on `signs` as in
`stale-sampler`, on `chain` as in `stale-clip`. The fixed arm first trains with BAPO on
the same seed and notes its bounds; then it trains anew with their means over all update
steps. Nothing else differs, the dual clip included.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments import _chain, _signs, stale_clip, stale_sampler
from tokenbook.lab.experiments._signs import inside
from tokencredit.algorithms import ALGORITHMS
from tokencredit.weight.losses import ppo_clip_loss

BAPO = ALGORITHMS["BAPO"]
TASKS = ("signs", "chain")


def learn(task, row, seed, quick):
    """The rows of a run, every eight rounds on `chain` and every two on `signs`."""
    if task == "chain":
        return _chain.learn(row, seed, quick, None, every=8, **stale_clip.DIALS)
    return _signs.learn(row, seed, quick, refresh=8, **stale_sampler.DIALS)[0]


def run(variant, seed, quick, checkpoint):
    bounds = []

    def noted(log_ratio, advantages, mask):
        bounds.append(BAPO.clip_rule(log_ratio, advantages, mask))
        return bounds[-1]

    task, row = variant["task"], replace(BAPO, clip_rule=noted)
    rows = learn(task, row, seed, quick)
    low, high = (float(x) for x in np.mean(bounds, 0))
    if variant["clip"] == "fixed":
        loss = partial(ppo_clip_loss, clip_low=low, clip_high=high, dual_clip=3.0)
        rows = learn(task, replace(BAPO, clip_rule=None, loss=loss), seed, quick)
    return [row | {"low": 1 - low, "high": 1 + high} for row in rows]


def gap(rows, task, column="success"):
    """BAPO's column minus that of the fixed bounds, [seeds, rows]."""
    bapo, fixed = (
        per_seed(rows, column, task=task, clip=clip) for clip in ("BAPO", "fixed")
    )
    return bapo - fixed


EXPERIMENT = Experiment(
    name="bapo-mean",
    chapter=12,
    question={
        "zh": "把裁剪的界固定在 BAPO 各步的平均值上，结果会差吗？",
        "en": "Bounds that stand still at the mean of BAPO's: do they do worse?",
    },
    variants=tuple(
        {"task": task, "clip": clip} for task in TASKS for clip in ("BAPO", "fixed")
    ),
    run=run,
    columns={
        "task": "signs as in stale-sampler, chain as in stale-clip",
        "clip": "BAPO, or fixed at the mean of its bounds with the same seed",
        "low": "lower bound of the ratio, for BAPO the mean over its update steps",
        "high": "upper bound of the ratio, likewise",
    }
    | _signs.COLUMNS
    | _chain.COLUMNS,
    settings={
        "tasks": TASKS,
        "signs": {"every": 2, "refresh": 8, **stale_sampler.DIALS},
        "chain": {"every": 8, **stale_clip.DIALS},
    },
    claims={
        "on chain BAPO is within 0.03 of the fixed bounds, every seed, throughout": (
            lambda rows: abs(gap(rows, "chain")).max() < 0.03
        ),
        "on signs, iterations 9 to 16, BAPO is behind in four seeds of five": (
            lambda rows: (gap(rows, "signs")[:, 4:8].mean(1) < 0).sum() == 4
        ),
        "and ahead by no more than 0.01 in the fifth": lambda rows: (
            gap(rows, "signs")[:, 4:8].mean(1).max() < 0.01
        ),
        "after 16 it is within 0.03 in every seed, and neither leads in every seed": (
            lambda rows: (
                abs(gap(rows, "signs")[:, -1]).max() < 0.03
                and (gap(rows, "signs")[:, -1] > 0).sum() in range(1, 5)
            )
        ),
        "both keep over 3.1 first tries on signs in every seed": lambda rows: all(
            final(rows, "distinct", task="signs", clip=clip).min() > 3.1
            for clip in ("BAPO", "fixed")
        ),
        "means of bounds: low 0.61 to 0.68, high 1.25 to 1.49, every seed": (
            lambda rows: all(
                inside(final(rows, "low", task=task, clip="fixed"), 0.61, 0.68)
                and inside(final(rows, "high", task=task, clip="fixed"), 1.249, 1.49)
                for task in TASKS
            )
        ),
    },
)
