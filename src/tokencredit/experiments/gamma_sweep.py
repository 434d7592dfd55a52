"""Chapter 4: one reward at the end, discounted per token by gamma."""

from dataclasses import replace
from functools import partial

from ..advantages import gae
from ..algorithms import ALGORITHMS
from ..lab import Experiment
from ._chain import COLUMNS, learn

DIALS = {"steps": 60, "prompts": 32, "group_size": 8, "lr": 3e-4}


def run(variant, seed, quick, checkpoint):
    estimate = partial(gae, gamma=variant["gamma"], lam=1.0)
    row = replace(ALGORITHMS["PPO"], advantage=estimate)
    return learn(row, seed, quick, checkpoint, **DIALS)


EXPERIMENT = Experiment(
    name="gamma-sweep",
    chapter=4,
    question={
        "zh": "奖励只在最后一个词元，按词元折扣会怎样？",
        "en": "The reward stands on the last token: what does a discount per token do?",
    },
    variants=tuple({"gamma": gamma} for gamma in (0.0, 0.5, 0.9, 1.0)),
    run=run,
    columns={"gamma": "discount per token; lambda = 1"} | COLUMNS,
    settings={"task": "chain", "row": "PPO", "every": 5, **DIALS},
)
