"""Chapter 16: who writes and the direction of the KL, each with both of the other.

In `distillation-controls` the places of the student have the reverse KL and those of
the teacher the forward KL. Here they are the other way round.
"""

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._signs import COLUMNS
from tokenbook.lab.experiments.distillation_controls import DIALS, listen

ARMS = ("student, forward", "teacher, reverse")


def run(variant, seed, quick, checkpoint):
    return listen(**variant, lr=5e-4, seed=seed, quick=quick)


def end(rows, arm):
    """Success at the end of each seed, a mean of the last five rows."""
    return final(rows, "success", last=5, arm=arm)


EXPERIMENT = Experiment(
    name="distillation-direction",
    chapter=16,
    question={
        "zh": "蒸馏最后到哪里，取决于谁来写，还是取决于 KL 的方向？",
        "en": "Where distillation ends: does it depend on who writes or on the KL?",
    },
    variants=tuple({"arm": arm} for arm in ARMS),
    run=run,
    columns={"arm": "who writes, and the direction of the exact KL"}
    | COLUMNS
    | {"ref_kl": "k1 against the teacher, summed over a response"},
    settings={"task": "signs", "lr": 5e-4, **DIALS},
    claims={
        "the reverse KL ends higher by 0.02 on average though the teacher writes": (
            lambda rows: (
                end(rows, "teacher, reverse").mean()
                > end(rows, "student, forward").mean() + 0.02
            )
        ),
        "but not in every seed": lambda rows: (
            (end(rows, "teacher, reverse") > end(rows, "student, forward")).sum() == 4
        ),
    },
    message={
        "zh": "终点高低看 KL 的方向，不看谁来写。",
        "en": "The end depends on the direction of the KL, not on who writes.",
    },
)
