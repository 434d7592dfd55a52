"""Chapter 4: one reward at the end, discounted per token by gamma."""

from dataclasses import replace
from functools import partial

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._chain import COLUMNS, learn
from tokencredit.algorithms import ALGORITHMS
from tokencredit.credit.advantages import gae

DIALS = {"steps": 60, "prompts": 32, "group_size": 8, "lr": 3e-4}


def run(variant, seed, quick, checkpoint):
    estimate = partial(gae, gamma=variant["gamma"], lam=1.0)
    row = replace(ALGORITHMS["PPO"], advantage=estimate)
    return learn(row, seed, quick, checkpoint, **DIALS)


def end(rows, gamma, column="success"):
    """A column at the end of each seed, a mean of the last ten rounds."""
    return final(rows, column, last=2, gamma=gamma)


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
    claims={
        "gamma 1 and 0.9 end above 0.8 in every seed": lambda rows: (
            min(end(rows, gamma).min() for gamma in (0.9, 1.0)) > 0.8
        ),
        "responses of six tokens hardly feel 0.9: within 0.03 of 1": lambda rows: (
            abs(end(rows, 0.9) - end(rows, 1.0)) < 0.03
        ).all(),
        "gamma 0.5 ends below 0.9 in every seed, and with shorter responses": (
            lambda rows: (
                (end(rows, 0.5) < end(rows, 0.9)).all()
                and (end(rows, 0.5, "length") < end(rows, 0.9, "length")).all()
            )
        ),
        "gamma 0 credits the last token alone and never learns": lambda rows: (
            end(rows, 0.0).max() < 0.2
        ),
    },
)
