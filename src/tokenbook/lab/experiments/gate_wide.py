"""Chapter 11: GSPO with the wide range of `reuse-ratio` at other learning rates."""

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, learn
from tokenbook.lab.experiments.gate_rates import DIALS, HIGH, LOW, RATES, TINY
from tokenbook.lab.experiments.reuse_ratio import ROWS

WIDE = "GSPO, 0.03"


def run(variant, seed, quick, checkpoint):
    return learn(ROWS[WIDE], seed, quick, **DIALS | {"lr": variant["lr"]})[0]


def end(rows, lr, column="success"):
    """A column of each seed, a mean of the last six iterations."""
    return final(rows, column, last=3, lr=lr)


def start(rows, lr, column="success"):
    """A column of each seed, a mean of the first four iterations."""
    return per_seed(rows, column, lr=lr)[:, :2].mean(1)


EXPERIMENT = Experiment(
    name="gate-wide",
    chapter=11,
    question={
        "zh": "GSPO 的范围放宽一百倍，换三个学习率，结果怎样？",
        "en": "GSPO with a hundred times the range, at three rates: what changes?",
    },
    variants=tuple({"lr": lr} for lr in RATES),
    run=run,
    columns={"lr": "learning rate of Adam"} | COLUMNS,
    settings={"task": "signs", "gate": WIDE, "every": 2, **DIALS},
    claims={
        "at a tenth of the rate every seed ends over 0.9 (narrow: below 0.7)": (
            lambda rows: end(rows, TINY).min() > 0.9
        ),
        "at a third every seed begins over 0.55 (narrow: below 0.47)": (
            lambda rows: start(rows, LOW).min() > 0.55
        ),
        "and ends over 0.93": lambda rows: end(rows, LOW).min() > 0.93,
        "at three times the rate every seed ends below 0.9": (
            lambda rows: end(rows, HIGH).max() < 0.9
        ),
        "the larger the rate, the more tokens it stops": lambda rows: all(
            (end(rows, low, "no_gradient") < end(rows, high, "no_gradient")).all()
            for low, high in ((TINY, LOW), (LOW, HIGH))
        ),
    },
    message={
        "zh": "范围放宽一百倍，学习率小的时候，GSPO 也不慢。",
        "en": "With a hundred times the range GSPO is not slow at small rates.",
    },
    shows=(("success", "no_gradient"),),
)
