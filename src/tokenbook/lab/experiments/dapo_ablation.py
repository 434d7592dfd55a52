"""Chapter 10: from GRPO to DAPO, one change after the other."""

from dataclasses import replace
from functools import partial

import numpy as np

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._chain import COLUMNS, learn
from tokencredit.algorithms import ALGORITHMS
from tokencredit.credit.filters import dynamic_sampling
from tokencredit.credit.rewards import soft_overlong
from tokencredit.weight.losses import ppo_clip_loss
from tokencredit.world.tasks import task

DIALS = {"steps": 50, "prompts": 32, "group_size": 8, "minibatches": 4, "lr": 3e-4}
LIMIT = task("chain").max_response

CHANGES = {
    "GRPO without KL": {"kl_coef": 0.0},
    "+ clip-higher": {"loss": partial(ppo_clip_loss, clip_low=0.2, clip_high=0.28)},
    "+ overlong": {"length_penalty": partial(soft_overlong, max_length=LIMIT, cache=4)},
    "+ token loss": {"aggregation": "token-mean"},
    "+ dynamic sampling": {"keep": dynamic_sampling, "refill": True},
}


def rows_so_far() -> dict:
    """Each variant's row: GRPO with all changes up to that one."""
    row, rows = ALGORITHMS["GRPO"], {}
    for name, change in CHANGES.items():
        row = replace(row, **change)
        rows[name] = row
    return rows


def run(variant, seed, quick, checkpoint):
    row = rows_so_far()[variant["variant"]]
    return learn(row, seed, quick, checkpoint, **DIALS)


def end(rows, variant):
    """Success at the end of each seed, a mean of the last ten rounds."""
    return final(rows, "success", last=2, variant=variant)


def at_equal_tokens(rows, variant, other):
    """Success of `variant` after as many tokens as `other` sampled in all."""
    tokens = per_seed(rows, "tokens", variant=variant)
    success = per_seed(rows, "success", variant=variant)
    budget = per_seed(rows, "tokens", variant=other)[:, -1]
    return np.array(
        [np.interp(*xs) for xs in zip(budget, tokens, success, strict=True)]
    )


EXPERIMENT = Experiment(
    name="dapo-ablation",
    chapter=10,
    question={
        "zh": "DAPO 的四处改动各带来多少？",
        "en": "What does each of DAPO's changes bring, in miniature?",
    },
    variants=tuple({"variant": name} for name in CHANGES),
    run=run,
    columns={"variant": "GRPO with all changes up to this one"} | COLUMNS,
    settings={"task": "chain", "every": 5, **DIALS},
    claims={
        "clip-higher, overlong and token loss change little: under 0.03": lambda rows: (
            all(
                abs(end(rows, name) - end(rows, "GRPO without KL")).max() < 0.03
                for name in ("+ clip-higher", "+ overlong", "+ token loss")
            )
        ),
        "per round, dynamic sampling ends highest in every seed": lambda rows: all(
            (end(rows, "+ dynamic sampling") > end(rows, name)).all()
            for name in list(CHANGES)[:-1]
        ),
        "it samples more than twice the tokens": lambda rows: (
            final(rows, "tokens", variant="+ dynamic sampling").min()
            > 2 * final(rows, "tokens", variant="GRPO without KL").max()
        ),
        "at equal tokens it does not help: below GRPO in four seeds of five": (
            lambda rows: (
                (
                    at_equal_tokens(rows, "+ dynamic sampling", "GRPO without KL")
                    < end(rows, "GRPO without KL")
                ).sum()
                == 4
            )
        ),
    },
)
