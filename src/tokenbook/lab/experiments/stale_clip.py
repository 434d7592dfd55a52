"""Chapter 12: a sampler that lags eight rounds behind, under five kinds of clip."""

from dataclasses import replace
from functools import partial

import numpy as np

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._chain import COLUMNS, learn
from tokencredit.algorithms import ALGORITHMS
from tokencredit.weight.losses import ppo_clip_loss

DIALS = {"steps": 64, "prompts": 32, "group_size": 8, "refresh": 8, "lr": 3e-4}
FIXED = replace(ALGORITHMS["GRPO"], kl_coef=0.0, aggregation="token-mean")
ROWS = {
    "fixed 0.2": FIXED,
    "higher 0.28": replace(
        FIXED, loss=partial(ppo_clip_loss, clip_low=0.2, clip_high=0.28)
    ),
    "BAPO": ALGORITHMS["BAPO"],
    "BAPO, un-clipped": ALGORITHMS["BAPO, un-clipped"],
    "fixed wide": replace(  # lowest low and highest high of the un-clipped rule
        FIXED, loss=partial(ppo_clip_loss, clip_low=0.4, clip_high=2.0)
    ),
}


def run(variant, seed, quick, checkpoint):
    return learn(ROWS[variant["clip"]], seed, quick, checkpoint, every=8, **DIALS)


def second(rows, clip):
    """Success of each seed over rounds 9 to 16, the first that may differ."""
    return per_seed(rows, "success", clip=clip)[:, 1]


EXPERIMENT = Experiment(
    name="stale-clip",
    chapter=12,
    question={
        "zh": "采样器每八次迭代换一次权重时，固定裁剪与自适应裁剪差多少？",
        "en": "The sampler is refreshed every 8 iterations: fixed or adaptive clip?",
    },
    variants=tuple({"clip": name} for name in ROWS),
    run=run,
    columns={"clip": "fixed range, clip-higher, BAPO's two rules, or fixed and wide"}
    | COLUMNS,
    settings={"task": "chain", "every": 8, **DIALS},
    claims={
        "while the sampler is the same, so is the success, to the last digit": (
            lambda rows: all(
                (
                    per_seed(rows, "success", clip=clip)[:, 0]
                    == per_seed(rows, "success", clip="fixed 0.2")[:, 0]
                ).all()
                for clip in ROWS
            )
        ),
        "then both rules of BAPO are above the fixed 0.2 in every seed": lambda rows: (
            all(
                (second(rows, clip) > second(rows, "fixed 0.2")).all()
                for clip in ("BAPO", "BAPO, un-clipped")
            )
        ),
        "and the fixed wide clip above both of them in every seed": lambda rows: all(
            (second(rows, "fixed wide") > second(rows, clip)).all()
            for clip in ("BAPO", "BAPO, un-clipped")
        ),
        "after 64 rounds the medians of all five are within 0.02": lambda rows: (
            np.ptp([np.median(final(rows, "success", clip=clip)) for clip in ROWS])
            < 0.02
        ),
        "and every one is within 0.035 of the fixed 0.2 in every seed": lambda rows: (
            all(
                abs(
                    final(rows, "success", clip=clip)
                    - final(rows, "success", clip="fixed 0.2")
                ).max()
                < 0.035
                for clip in ROWS
            )
        ),
        "no clip collapses: every seed ends above 0.8": lambda rows: all(
            final(rows, "success", clip=clip).min() > 0.8 for clip in ROWS
        ),
    },
)
