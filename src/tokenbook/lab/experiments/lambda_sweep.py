"""Chapter 5: PPO's critic on the chain task, lambda of GAE from 0 to 1."""

from dataclasses import replace
from functools import partial

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._chain import COLUMNS, learn
from tokencredit.algorithms import ALGORITHMS
from tokencredit.credit.advantages import gae

DIALS = {"steps": 60, "prompts": 32, "group_size": 8, "lr": 3e-4}


def run(variant, seed, quick, checkpoint):
    ppo = ALGORITHMS["PPO"]
    row = replace(ppo, advantage=partial(gae, gamma=1.0, lam=variant["lam"]))
    return learn(row, seed, quick, checkpoint, **DIALS)


def end(rows, column, lam):
    """A column at the end of each seed, a mean of the last ten rounds."""
    return final(rows, column, last=2, lam=lam)


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
    claims={
        "lambda 0.95 and 1 end above 0.8 in every seed": lambda rows: (
            min(end(rows, "success", lam).min() for lam in (0.95, 1.0)) > 0.8
        ),
        "they differ by less than 0.02 in every seed": lambda rows: (
            abs(end(rows, "success", 0.95) - end(rows, "success", 1.0)) < 0.02
        ).all(),
        "lambda 0 and 0.5 end below their own start in every seed": lambda rows: all(
            (end(rows, "success", lam) < per_seed(rows, "success", lam=lam)[:, 0]).all()
            for lam in (0.0, 0.5)
        ),
        "with lambda 0 the responses stop ending: half or more are cut in every seed": (
            lambda rows: end(rows, "truncated", 0.0).min() > 0.5
        ),
        "with lambda 0.5 a seed either guesses at once or rambles to the limit": (
            lambda rows: all(
                length < 3.2 or length > 12 for length in end(rows, "length", 0.5)
            )
        ),
        "a policy that fails flatters its critic: lambda 0 has the smallest error": (
            lambda rows: (
                end(rows, "value_error", 0.0).max()
                < min(end(rows, "value_error", lam).min() for lam in (0.95, 1.0))
            )
        ),
        "at first the policy outruns the critic: its error grows by 60 % or more": (
            lambda rows: (
                per_seed(rows, "value_error", lam=0.95).max(1)
                > 1.6 * per_seed(rows, "value_error", lam=0.95)[:, 0]
            ).all()
        ),
    },
)
