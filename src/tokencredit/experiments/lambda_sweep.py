"""Chapter 5: PPO's critic on the chain task, lambda of GAE from 0 to 1."""

from dataclasses import replace
from functools import partial

from ..advantages import gae
from ..algorithms import ALGORITHMS
from ..lab import Experiment
from ._chain import COLUMNS, learn

DIALS = {"steps": 60, "prompts": 32, "group_size": 8, "lr": 3e-4}


def run(variant, seed, quick, checkpoint):
    ppo = ALGORITHMS["PPO"]
    row = replace(ppo, advantage=partial(gae, gamma=1.0, lam=variant["lam"]))
    return learn(row, seed, quick, checkpoint, **DIALS)


EXPERIMENT = Experiment(
    name="lambda-sweep",
    chapter=5,
    question={
        "zh": "价值头从零学起时，λ 取多大学得动？",
        "en": "With a critic that starts from nothing, which lambda learns?",
    },
    variants=tuple({"lam": lam} for lam in (0.0, 0.5, 0.95, 1.0)),
    run=run,
    columns={"lam": "lambda of GAE", "value_error": "mean (V - R)^2"} | COLUMNS,
    settings={"task": "chain", "row": "PPO", "every": 5, **DIALS},
    claims={},
)
