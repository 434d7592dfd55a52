"""Chapter 7: a proxy with a hole, and the same penalty by three estimators.

The reward is the ✓ at the end, as in the arm `mark` of `hacks`. The arms differ in the
estimator of the KL, its place and its coefficient.
"""

from dataclasses import replace

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._signs import COLUMNS, PLAIN, learn
from tokenbook.lab.experiments.hacks import DIALS
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks.signs import reward_fn

STEPS = 17  # as the record of `figures.reward_hack`
ARMS = (
    ("k3", "loss", 0.2),
    ("k3", "loss", 1.0),
    ("k2", "loss", 0.04),
    ("k2", "loss", 0.2),
    ("k1", "reward", 0.2),
)


def run(variant, seed, quick, checkpoint):
    row = replace(
        PLAIN,
        kl_coef=variant["kl_coef"],
        kl_estimator=variant["estimator"],
        kl_in=variant["place"],
    )
    rows, _ = learn(
        row,
        seed,
        quick,
        reward_fn=reward_fn("mark"),
        reference=warm_start("signs", seed=seed),
        steps=STEPS,
        every=1,
        **DIALS,
    )
    return rows


def end(rows, estimator, kl_coef, column="success"):
    """A column at the end of each seed, a mean of the last four rounds."""
    return final(rows, column, last=4, estimator=estimator, kl_coef=kl_coef)


EXPERIMENT = Experiment(
    name="kl-estimators",
    chapter=7,
    question={
        "zh": "同样的系数，换一种 KL 估计，还挡得住奖励黑客吗？",
        "en": "Same coefficient, another estimator of the KL: is the hack held back?",
    },
    variants=tuple(
        {"estimator": estimator, "place": place, "kl_coef": kl}
        for estimator, place, kl in ARMS
    ),
    run=run,
    columns={
        "estimator": "of the KL penalty",
        "place": "where the penalty is put",
        "kl_coef": "its coefficient",
    }
    | COLUMNS
    | {"ref_kl": "k1 against the warm start, summed over a response"},
    settings={"task": "signs", "paid": "mark", "steps": STEPS, "every": 1, **DIALS},
    claims={
        "k2 in the loss, 0.2: right over 0.75 in every seed, k3 by 0.2 less": (
            lambda rows: (
                end(rows, "k2", 0.2).min() > 0.75
                and (end(rows, "k2", 0.2) > end(rows, "k3", 0.2) + 0.2).all()
            )
        ),
        "and farther from the start than k3, in every seed": lambda rows: (
            end(rows, "k2", 0.2, "ref_kl") > end(rows, "k3", 0.2, "ref_kl")
        ).all(),
        "by more tries, no better first ones: over 2.2 tries": lambda rows: (
            end(rows, "k2", 0.2, "tries").min() > 2.2
            and end(rows, "k3", 0.2, "tries").max() < 1.9
            and end(rows, "k2", 0.2, "first_right").max() < 0.3
        ),
        "five times the coefficient is no cure for k3: under 0.4 right": (
            lambda rows: (
                end(rows, "k3", 1.0).max() < 0.4
                and end(rows, "k3", 1.0, "reward").max() < 0.85
            )
        ),
        "k1 in the reward, 0.2: between 0.4 and 0.6 in every seed": lambda rows: (
            end(rows, "k1", 0.2).min() > 0.4 and end(rows, "k1", 0.2).max() < 0.6
        ),
        "k2, 0.04: below k2 with 0.2 in every seed": lambda rows: (
            end(rows, "k2", 0.04) < end(rows, "k2", 0.2)
        ).all(),
    },
    shows=(("success", "ref_kl"),),
)
