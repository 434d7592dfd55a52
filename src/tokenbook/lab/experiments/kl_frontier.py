"""Chapter 7: GRPO with its KL term, beta from 0 to 1."""

from dataclasses import replace

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._chain import COLUMNS, learn
from tokencredit.algorithms import ALGORITHMS

DIALS = {"steps": 50, "prompts": 32, "group_size": 8, "lr": 1e-3}


def run(variant, seed, quick, checkpoint):
    algorithm = replace(ALGORITHMS["GRPO"], kl_coef=variant["beta"])
    return learn(algorithm, seed, quick, checkpoint, measure_kl=True, **DIALS)


def end(rows, beta, column="success"):
    """A column at the end of each seed, a mean of the last ten rounds."""
    return final(rows, column, last=2, beta=beta)


EXPERIMENT = Experiment(
    name="kl-frontier",
    chapter=7,
    question={
        "zh": "多少奖励要用多少 KL 来换？",
        "en": "How much reward does how much KL buy?",
    },
    variants=tuple({"beta": beta} for beta in (0.0, 0.01, 0.04, 0.2, 1.0)),
    run=run,
    columns={
        "beta": "KL coefficient; k3 in the loss, as in the paper (0.04)",
        "ref_kl": "KL of the sampler to the start, nats per response, k1 on samples",
    }
    | COLUMNS,
    settings={"task": "chain", "row": "GRPO", "every": 5, **DIALS},
    claims={
        "from 0.04 on, more beta means less success and less KL, in every seed": (
            lambda rows: all(
                (end(rows, more, column) < end(rows, less, column)).all()
                for less, more in ((0.0, 0.04), (0.04, 0.2), (0.2, 1.0))
                for column in ("success", "ref_kl")
            )
        ),
        "beta 0.01 costs under 0.02 of success": lambda rows: (
            abs(end(rows, 0.01) - end(rows, 0.0)) < 0.02
        ).all(),
        "beta 1 holds the policy within half a nat and below 0.45": lambda rows: (
            end(rows, 1.0, "ref_kl").max() < 0.5 and end(rows, 1.0).max() < 0.45
        ),
    },
)
