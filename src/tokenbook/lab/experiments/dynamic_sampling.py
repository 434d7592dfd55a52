"""Chapter 10: dynamic sampling alone, counted in iterations and in tokens sampled.

The arms differ in the filter and in how many rounds of sampling may refill a batch.
Each row holds the totals so far, so success can be read against either clock.
"""

from dataclasses import replace

import numpy as np

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, PLAIN, learn
from tokencredit.credit.filters import dynamic_sampling

DIALS = DIALS | {"steps": 40}
BASE = replace(PLAIN, aggregation="token-mean")
FILTERED = replace(BASE, keep=dynamic_sampling, refill=True)
REFILLS = {"none": 1, "up to 3": 3, "up to 12": 12}


def run(variant, seed, quick, checkpoint):
    refills = REFILLS[variant["refill"]]
    row = FILTERED if refills > 1 else BASE
    rows, _ = learn(row, seed, quick, every=2, **DIALS | {"refills": refills})
    return rows


def end(rows, column, refill):
    """A column at the end of each seed, a mean of the last ten iterations."""
    return final(rows, column, last=5, refill=refill)


def at_tokens(rows, column, refill, budget):
    """A column of each seed at the window in which it has sampled `budget` tokens."""
    tokens = per_seed(rows, "tokens", refill=refill)
    numbers = per_seed(rows, column, refill=refill)
    pairs = zip(np.broadcast_to(budget, len(tokens)), tokens, numbers, strict=True)
    return np.array([np.interp(*pair) for pair in pairs])


EXPERIMENT = Experiment(
    name="dynamic-sampling",
    chapter=10,
    question={
        "zh": "动态采样按迭代数和按采样的词元数看，各快多少？",
        "en": "Is dynamic sampling faster by iterations, and by tokens sampled?",
    },
    variants=tuple({"refill": name} for name in REFILLS),
    run=run,
    columns={"refill": "rounds of sampling that may fill a batch of mixed groups"}
    | COLUMNS,
    settings={
        "task": "signs",
        "row": "GRPO without KL, mean over tokens",
        "every": 2,
        **DIALS,
    },
    claims={
        "by iterations: the more refills, the higher the end, in every seed": (
            lambda rows: (
                (end(rows, "success", "none") < end(rows, "success", "up to 3")).all()
                and (
                    end(rows, "success", "up to 3") < end(rows, "success", "up to 12")
                ).all()
            )
        ),
        "at 50 thousand tokens refilling is behind by over 0.04 in every seed": (
            lambda rows: all(
                (
                    at_tokens(rows, "success", name, 5e4) + 0.04
                    < at_tokens(rows, "success", "none", 5e4)
                ).all()
                for name in ("up to 3", "up to 12")
            )
        ),
        "at 180 thousand the means of all three lie within 0.015": lambda rows: (
            np.ptp([at_tokens(rows, "success", n, 1.8e5).mean() for n in REFILLS])
            < 0.015
        ),
        "at the end over three quarters of the groups have equal rewards, unfiltered": (
            lambda rows: end(rows, "equal_groups", "none").min() > 0.75
        ),
        "even twelve batches of prompts do not fill the batch then": lambda rows: (
            end(rows, "kept", "up to 12").max() < 210
        ),
        "refilling up to twelve times lowers the entropy by 0.02, in every seed": (
            lambda rows: (
                end(rows, "entropy", "up to 12") + 0.02 < end(rows, "entropy", "none")
            ).all()
        ),
    },
    message={
        "zh": "补采让每一步学得更多，却没有让每个词元学得更多。",
        "en": "Refilling teaches more per step, and not more per token sampled.",
    },
    shows=(("success", "equal_groups"),),
)
