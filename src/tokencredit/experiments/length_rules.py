"""Chapter 9: how long right and wrong answers get under six aggregation rules."""

from dataclasses import replace

from ..aggregate import AGGREGATIONS
from ..algorithms import ALGORITHMS
from ..lab import Experiment
from ._chain import COLUMNS, learn

DIALS = {"steps": 60, "prompts": 32, "group_size": 8, "lr": 1e-3}


def run(variant, seed, quick, checkpoint):
    row = replace(ALGORITHMS["GRPO"], kl_coef=0.0, aggregation=variant["rule"])
    return learn(row, seed, quick, checkpoint, **DIALS)


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
)
