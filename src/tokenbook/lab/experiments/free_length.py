"""Chapter 9: the drift of lengths under four rules when length is not rewarded.

On the task `hindsight` half of the guesses stay wrong, the policy can tell which, and
the length after the guess is free. Advantages are normalised over the batch: with a
group's own baseline a policy that has settled on its guess for a prompt would get no
signal.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._chain import COLUMNS, learn_from, start
from tokencredit.algorithms import ALGORITHMS
from tokencredit.credit.advantages import group_relative
from tokencredit.world.tasks import task

RULES = (
    "seq-mean-token-mean",
    "token-mean",
    "seq-mean-token-sum-norm",
    "seq-mean-token-sum",
)
TASK = task("hindsight", digits=3, max_response=32)
DIALS = {"steps": 60, "prompts": 128, "group_size": 2, "lr": 3e-4}


def over_the_batch(rewards, groups):
    """Advantages as if the whole batch were one group."""
    return group_relative(rewards, torch.zeros_like(groups))


@lru_cache(maxsize=1)
def warm_start(seed, quick):
    return start(TASK, [(TASK, 160, 3e-3)], seed, quick)


def run(variant, seed, quick, checkpoint):
    row = replace(
        ALGORITHMS["GRPO"],
        kl_coef=0.0,
        advantage=over_the_batch,
        aggregation=variant["rule"],
    )
    rows = learn_from(
        warm_start(seed, quick),
        TASK,
        row,
        seed,
        quick,
        checkpoint,
        every=5,
        measure={"right": lambda p, a: len(a) * TASK.reward(p, a)},
        **DIALS,
    )
    for row in rows:
        of_right, share = row.pop("right"), row["success"]
        row["right"] = of_right / share if share else np.nan
        row["wrong"] = (row["length"] - of_right) / (1 - share) if share < 1 else np.nan
    return rows


def gap(rows, rule):
    """Tokens by which wrong responses are longer, per seed, a mean of the last rows."""
    return end(rows, rule, "wrong") - end(rows, rule, "right")


def end(rows, rule, column):
    """A column at the end of each seed, a mean of the last ten rounds."""
    return final(rows, column, last=2, rule=rule)


EXPERIMENT = Experiment(
    name="free-length",
    chapter=9,
    question={
        "zh": "长度不影响奖励时，哪种聚合让答错的变长？",
        "en": "If no length is paid better, which rule makes wrong responses longer?",
    },
    variants=tuple({"rule": rule} for rule in RULES),
    run=run,
    columns={
        "rule": "how the token losses become one number",
        "right": "mean tokens of the right responses, EOS included",
        "wrong": "mean tokens of the wrong responses, cut ones among them",
    }
    | COLUMNS,
    settings={
        "task": repr(TASK),
        "row": "GRPO without KL, advantages normalised over the batch",
        "every": 5,
        **DIALS,
    },
    claims={
        "at first right and wrong responses are equally long, within 0.8 token": (
            lambda rows: all(
                abs(
                    per_seed(rows, "wrong", rule=rule)[:, 0]
                    - per_seed(rows, "right", rule=rule)[:, 0]
                ).max()
                < 0.8
                for rule in RULES
            )
        ),
        "under 1/(S n) wrong responses end at least 10 tokens longer in every seed": (
            lambda rows: gap(rows, "seq-mean-token-mean").min() > 10
        ),
        "its right responses end below 7.5 tokens, of 6 at least": lambda rows: (
            end(rows, "seq-mean-token-mean", "right").max() < 7.5
        ),
        "under the other three the two differ by 0.5 token at most": lambda rows: all(
            abs(gap(rows, rule)).max() <= 0.5
            for rule in RULES
            if rule != "seq-mean-token-mean"
        ),
        "yet their common length wanders from seed to seed, by 8 tokens or more": (
            lambda rows: all(
                np.ptp(end(rows, rule, "length")) > 8
                for rule in RULES
                if rule != "seq-mean-token-mean"
            )
        ),
    },
)
