"""Chapter 10: the speed at which the policy settles on one beginning (熵坍缩).

Before training the responses to a prompt begin with nearly all four fillings. Reusing
each batch makes larger steps on the same verdicts; the entropy bonus pays for staying
undecided.
"""

from dataclasses import replace

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, PLAIN, learn

DIALS = DIALS | {"steps": 24, "lr": 1e-3}


def run(variant, seed, quick, checkpoint):
    row = replace(PLAIN, entropy_coef=variant["entropy_coef"])
    dials = DIALS | {"epochs": variant["epochs"]}
    return learn(row, seed, quick, moments=(0, 8), **dials)


def start(rows, column, arm):
    """A column of each seed, a mean of the first two rounds."""
    return per_seed(rows, column, **arm)[:, 0]


def end(rows, column, arm):
    """A column at the end of each seed, a mean of the last four rounds."""
    return final(rows, column, last=2, **arm)


ARMS = (
    {"epochs": 1, "entropy_coef": 0.0},
    {"epochs": 4, "entropy_coef": 0.0},
    {"epochs": 4, "entropy_coef": 0.02},
)
ONCE, REUSED, BONUS = ARMS

EXPERIMENT = Experiment(
    name="entropy-collapse",
    chapter=10,
    question={
        "zh": "同一批回答用几遍，熵坍缩得多快？熵奖励留得住吗？",
        "en": "Batches used again: how fast does the entropy go? Does a bonus help?",
    },
    variants=ARMS,
    run=run,
    columns={
        "epochs": "passes over the responses of an iteration",
        "entropy_coef": "coefficient of the entropy bonus",
    }
    | COLUMNS,
    settings={"task": "signs", "row": "GRPO without KL", "every": 2, **DIALS},
    claims={
        "different first tries fall by over 0.8 in every seed of every arm": (
            lambda rows: all(
                (end(rows, "distinct", arm) < start(rows, "distinct", arm) - 0.8).all()
                for arm in ARMS
            )
        ),
        "the entropy ends below 0.62 of its start in every seed of every arm": (
            lambda rows: all(
                (end(rows, "entropy", arm) < 0.62 * start(rows, "entropy", arm)).all()
                for arm in ARMS
            )
        ),
        "four passes end with fewer first tries than one in two seeds of five": (
            lambda rows: (
                (end(rows, "distinct", REUSED) < end(rows, "distinct", ONCE)).sum() == 2
            )
        ),
        "but with 0.07 less success in every seed": lambda rows: (
            end(rows, "success", REUSED) < end(rows, "success", ONCE) - 0.07
        ).all(),
        "the bonus keeps the entropy above 0.11, without it every seed is below 0.1": (
            lambda rows: (
                end(rows, "entropy", BONUS).min() > 0.11
                and end(rows, "entropy", REUSED).max() < 0.1
            )
        ),
        "and neither arm leads in success in every seed": lambda rows: (
            (end(rows, "success", BONUS) > end(rows, "success", REUSED)).sum()
            in range(1, 5)
        ),
    },
    speaks=True,
    message={
        "zh": "用一遍，熵也坍缩；熵奖励留住一点熵，没有多答对。",
        "en": "One pass collapses it as well; a bonus keeps some and helps no more.",
    },
    shows=(("entropy", "distinct"), ("success",)),
)
