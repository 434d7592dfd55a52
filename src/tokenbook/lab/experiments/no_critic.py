"""Chapter 6: passes over a batch by PPO without its critic, or with lambda 1.

All else is as in `signs-epochs`: without a critic the return, whitened over the batch,
is the advantage of every token.
"""

from dataclasses import replace
from functools import partial

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._chain import COLUMNS, learn_from
from tokenbook.lab.experiments.signs_epochs import DIALS
from tokencredit.algorithms import ALGORITHMS
from tokencredit.credit.advantages import gae
from tokencredit.credit.returns import discounted_return
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks import task

DIALS = DIALS | {"lr": 5e-4}
PPO = ALGORITHMS["PPO"]
ARMS = {
    "no critic": replace(
        PPO,
        advantage=partial(discounted_return, gamma=1.0),
        value_coef=0.0,
        value_clip=None,
    ),
    "lambda 1": replace(PPO, advantage=partial(gae, gamma=1.0, lam=1.0)),
}


def run(variant, seed, quick, checkpoint):
    dials = DIALS | {"epochs": variant["epochs"]}
    start, goal = warm_start("signs", seed=seed), task("signs")
    return learn_from(
        start,
        goal,
        ARMS[variant["arm"]],
        seed,
        quick,
        None,
        every=2,
        measure={},
        **dials,
    )


def end(rows, arm, epochs=8):
    """Success at the end of each seed, a mean of the last six iterations."""
    return final(rows, "success", last=3, arm=arm, epochs=epochs)


EXPERIMENT = Experiment(
    name="no-critic",
    chapter=6,
    question={
        "zh": "同样的 PPO，去掉价值网络，用八遍还会训坏吗？",
        "en": "The same PPO without its critic: do eight passes still do harm?",
    },
    variants=tuple({"arm": arm, "epochs": epochs} for arm in ARMS for epochs in (1, 8)),
    run=run,
    columns={"arm": "what of PPO is changed", "epochs": "passes over a batch"}
    | {name: words for name, words in COLUMNS.items() if name != "reasons"},
    settings={"task": "signs", "algorithm": "PPO", "every": 2, **DIALS},
    claims={
        "eight passes end below one in every seed, in both arms": lambda rows: all(
            (end(rows, arm) < end(rows, arm, 1)).all() for arm in ARMS
        ),
    },
    message={
        "zh": "去掉价值网络，用八遍的坏处在五个种子里的四个更小。",
        "en": "Without the critic eight passes do less harm in four of five seeds.",
    },
)
