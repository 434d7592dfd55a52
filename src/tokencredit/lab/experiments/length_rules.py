"""Chapter 9: how long right and wrong responses get under six aggregation rules."""

from dataclasses import replace

from tokencredit.algorithms import ALGORITHMS
from tokencredit.lab import Experiment, final, per_seed
from tokencredit.lab.experiments._chain import COLUMNS, learn
from tokencredit.weight.aggregate import AGGREGATIONS

DIALS = {"steps": 60, "prompts": 32, "group_size": 8, "lr": 1e-3}


def run(variant, seed, quick, checkpoint):
    row = replace(ALGORITHMS["GRPO"], kl_coef=0.0, aggregation=variant["rule"])
    return learn(row, seed, quick, checkpoint, **DIALS)


def end(rows, rule, column):
    """A column at the end of each seed, a mean of the last ten rounds."""
    return final(rows, column, last=2, rule=rule)


EXPERIMENT = Experiment(
    name="length-rules",
    chapter=9,
    question={
        "zh": "同样的优势，不同的聚合，回答的长度往哪里走？",
        "en": "The same advantages under six rules: where do the lengths go?",
    },
    variants=tuple({"rule": rule} for rule in AGGREGATIONS),
    run=run,
    columns={"rule": "how the token losses become one number"} | COLUMNS,
    settings={"task": "chain", "row": "GRPO without KL", "every": 5, **DIALS},
    claims={
        "with Adam, token-sum and seq-mean-token-sum agree to the last digit": (
            lambda rows: (
                per_seed(rows, "success", rule="token-sum")
                == per_seed(rows, "success", rule="seq-mean-token-sum")
            ).all()
        ),
        "here the right response fixes the length: all rules end within 0.1 token": (
            lambda rows: all(
                abs(end(rows, rule, "length") - end(rows, "token-mean", "length")).max()
                < 0.1
                for rule in AGGREGATIONS
            )
        ),
        "and within 0.06 of success in every seed": lambda rows: all(
            abs(end(rows, rule, "success") - end(rows, "token-mean", "success")).max()
            < 0.06
            for rule in AGGREGATIONS
        ),
    },
)
