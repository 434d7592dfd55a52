"""Chapter 9: the signs task under six aggregation rules, and two without the limit.

The limit is the one on the norm of the gradient: 1 by default, and so large that it
never acts where the column `limit` is 0.
"""

from dataclasses import replace

import numpy as np

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._chain import COLUMNS, learn_from
from tokencredit.algorithms import ALGORITHMS
from tokencredit.weight.aggregate import AGGREGATIONS
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks import task
from tokencredit.world.tasks.signs import MEASURES

TASK = task("signs")
DIALS = {"steps": 40, "prompts": 32, "group_size": 8, "minibatches": 2, "lr": 5e-4}
FREE = ("seq-mean-token-sum", "seq-mean-token-sum-norm")  # run without a limit as well
NEVER = 1e9  # above the norm of every gradient


def run(variant, seed, quick, checkpoint):
    row = replace(ALGORITHMS["GRPO"], kl_coef=0.0, aggregation=variant["rule"])
    rows = learn_from(
        warm_start("signs", seed),
        TASK,
        row,
        seed,
        quick,
        checkpoint,
        every=2,
        measure={
            "gives_up": MEASURES["gives_up"],
            "right": lambda p, a: len(a) * TASK.reward(p, a),
        },
        max_grad_norm=variant["limit"] or NEVER,
        **DIALS,
    )
    for row in rows:
        of_right, share = row.pop("right"), row["success"]
        row["right"] = of_right / share if share else np.nan
        row["wrong"] = (row["length"] - of_right) / (1 - share) if share < 1 else np.nan
    return rows


def end(rows, rule, column, limit=1):
    """A column at the end of each seed, a mean of the last ten iterations."""
    return final(rows, column, last=5, rule=rule, limit=limit)


def early(rows, rule, limit):
    """Success of each seed, a mean of the first ten iterations."""
    return per_seed(rows, "success", rule=rule, limit=limit)[:, :5].mean(1)


def norms(rows, rule):
    """The norm of the gradient before it is limited, all seeds and rows."""
    return per_seed(rows, "grad_norm", rule=rule, limit=1)


EXPERIMENT = Experiment(
    name="length-rules",
    chapter=9,
    question={
        "zh": "同样的优势，六种聚合，填符号学得有什么不同？",
        "en": "The same advantages under six rules: what changes on the signs task?",
    },
    variants=(
        *({"rule": rule, "limit": 1} for rule in AGGREGATIONS),
        *({"rule": rule, "limit": 0} for rule in FREE),
    ),
    run=run,
    columns={
        "rule": "how the token losses become one number",
        "limit": "largest norm of a gradient; 0: none",
        "right": "mean tokens of the correct responses, EOS included",
        "wrong": "mean tokens of the incorrect responses, cut ones among them",
        "gives_up": "share of responses that stop after a cross",
    }
    | {name: words for name, words in COLUMNS.items() if name != "reasons"},
    settings={"task": "signs", "row": "GRPO without KL", "every": 2, **DIALS},
    claims={
        "no rule collapses: every seed of every rule ends above 0.92": lambda rows: all(
            end(rows, rule, "success").min() > 0.92 for rule in AGGREGATIONS
        ),
        "medians of the rules differ by 0.02 at most, the seeds of each by more": (
            lambda rows: (
                np.ptp([np.median(end(rows, r, "success")) for r in AGGREGATIONS])
                < 0.02
                < min(np.ptp(end(rows, r, "success")) for r in AGGREGATIONS)
            )
        ),
        "incorrect responses are longer than correct ones under every rule": (
            lambda rows: all(
                (end(rows, rule, "wrong") > end(rows, rule, "right")).all()
                for rule in AGGREGATIONS
            )
        ),
        "no gradient of 1/N, 1/(S n) and 1/(S C) reaches the limit of 1": (
            lambda rows: all(
                norms(rows, rule).max() < 1
                for rule in ("token-mean", "seq-mean-token-mean", FREE[1])
            )
        ),
        "nine in ten of 1/S do": lambda rows: (norms(rows, FREE[0]) > 1).mean() > 0.9,
        "so without the limit 1/(S C) is the same to the last digit": lambda rows: (
            per_seed(rows, "success", rule=FREE[1], limit=1)
            == per_seed(rows, "success", rule=FREE[1], limit=0)
        ).all(),
        "without it 1/S begins like 1/(S C), within 0.005, and with it does not": (
            lambda rows: (
                abs(early(rows, FREE[0], 0) - early(rows, FREE[1], 0)).max()
                < 0.005
                < 0.01
                < abs(early(rows, FREE[0], 1) - early(rows, FREE[1], 1)).max()
            )
        ),
    },
)
