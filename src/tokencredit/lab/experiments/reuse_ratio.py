"""Chapter 11: the same responses used four times, under token and sequence ratios."""

from dataclasses import replace
from functools import partial

from tokencredit.algorithms import ALGORITHMS
from tokencredit.lab import Experiment, final
from tokencredit.lab.experiments._chain import COLUMNS, learn
from tokencredit.weight.losses import ppo_clip_loss

DIALS = {"steps": 30, "prompts": 32, "group_size": 8, "epochs": 4, "lr": 3e-4}
ROWS = {
    "token, clip 0.2": replace(ALGORITHMS["GRPO"], kl_coef=0.0),
    "sequence, clip 3e-4": ALGORITHMS["GSPO"],
    "sequence, clip 0.03": replace(
        ALGORITHMS["GSPO"], loss=partial(ppo_clip_loss, clip_low=0.03, clip_high=0.04)
    ),
    "CISPO": ALGORITHMS["CISPO"],
}


def run(variant, seed, quick, checkpoint):
    return learn(ROWS[variant["ratio"]], seed, quick, checkpoint, **DIALS)


def end(rows, ratio, column="success"):
    """A column at the end of each seed, a mean of the last ten rounds."""
    return final(rows, column, last=2, ratio=ratio)


EXPERIMENT = Experiment(
    name="reuse-ratio",
    chapter=11,
    question={
        "zh": "旧回答重复用时，词元比率与序列比率各裁掉多少、学得怎样？",
        "en": "Responses used four times: what do token and sequence ratios learn?",
    },
    variants=tuple({"ratio": name} for name in ROWS),
    run=run,
    columns={"ratio": "which importance ratio, and its clip"} | COLUMNS,
    settings={"task": "chain", "every": 5, **DIALS},
    claims={
        "the paper's sequence clip stops nine tokens of ten by the last pass": (
            lambda rows: (
                0.85 < end(rows, "sequence, clip 3e-4", "no_gradient").mean() < 0.95
            )
        ),
        "the token clip stops fewer than one in ten": lambda rows: (
            end(rows, "token, clip 0.2", "no_gradient").max() < 0.1
        ),
        "yet the paper's clip ends within 0.05 of the token ratio": lambda rows: (
            abs(end(rows, "sequence, clip 3e-4") - end(rows, "token, clip 0.2")) < 0.05
        ).all(),
        "a hundred times wider, the sequence ratio is within 0.03 of the token ratio": (
            lambda rows: (
                abs(end(rows, "sequence, clip 0.03") - end(rows, "token, clip 0.2"))
                < 0.03
            ).all()
        ),
        "CISPO drops no token": lambda rows: (
            end(rows, "CISPO", "no_gradient").max() == 0
        ),
    },
)
