"""Chapter 6: the same answers used K times, with and without the clip."""

from dataclasses import replace

from ..algorithms import ALGORITHMS
from ..lab import Experiment
from ._chain import COLUMNS, learn

DIALS = {"steps": 30, "prompts": 16, "group_size": 8, "lr": 3e-4}


def ratio_loss(log_probs, log_ratio, advantages):
    """Importance-weighted loss without a clip: -ratio * A."""
    return -log_ratio.exp() * advantages


def run(variant, seed, quick, checkpoint):
    row = ALGORITHMS["PPO"]
    if not variant["clip"]:
        row = replace(row, name="PPO without clip", loss=ratio_loss)
    dials = DIALS | {"epochs": variant["epochs"]}
    return learn(row, seed, quick, checkpoint, every=2, **dials)


EXPERIMENT = Experiment(
    name="ppo-epochs",
    chapter=6,
    question={
        "zh": "同一批回答用 1、4、16 遍,有没有裁剪差在哪里?",
        "en": "Answers used 1, 4, 16 times: what does the clip change?",
    },
    variants=tuple(
        {"epochs": k, "clip": clip} for k in (1, 4, 16) for clip in (True, False)
    ),
    run=run,
    columns={"epochs": "passes over a round, K", "clip": "PPO's clip on"} | COLUMNS,
    settings={"task": "chain", "row": "PPO", "every": 2, **DIALS},
    claims={},
)
