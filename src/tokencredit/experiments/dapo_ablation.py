"""Chapter 10: from GRPO to DAPO, one change after the other."""

from dataclasses import replace
from functools import partial

from ..algorithms import ALGORITHMS
from ..filters import dynamic_sampling
from ..lab import Experiment
from ..losses import ppo_clip_loss
from ..rewards import soft_overlong
from ..tasks import task
from ._chain import COLUMNS, learn

DIALS = {"steps": 50, "prompts": 32, "group_size": 8, "minibatches": 4, "lr": 3e-4}
LIMIT = task("chain").max_response

CHANGES = {
    "GRPO without KL": {"kl_coef": 0.0},
    "+ clip-higher": {"loss": partial(ppo_clip_loss, clip_low=0.2, clip_high=0.28)},
    "+ overlong": {"length_penalty": partial(soft_overlong, max_length=LIMIT, cache=4)},
    "+ token loss": {"aggregation": "token-mean"},
    "+ dynamic sampling": {"keep": dynamic_sampling},
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
)
