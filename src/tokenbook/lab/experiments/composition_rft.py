"""Chapter 8: can imitation of one's own correct responses teach to compose?

All else is as in `composition`, "RL on 1, 2": the same prompts, as many responses and
optimizer steps. Of the responses that the policy samples, it imitates the correct ones
and drops the rest. "every round" samples anew for each step (RAFT); "six rounds" lets
one policy sample for forty steps, like the iterated rejection fine-tuning (RFT) of a
study of large models.
"""

import copy
from dataclasses import replace

from tokenbook.lab import Experiment
from tokenbook.lab.experiments import composition
from tokenbook.lab.experiments._signs import PLAIN
from tokenbook.lab.experiments.composition import Examined, Relay, asked, warm_start
from tokencredit.credit.advantages import plain_reward
from tokencredit.training import Dials, train
from tokencredit.weight.losses import reinforce_loss

ARMS = {"every round": 1, "six rounds": 40}
"""For how many steps one policy samples."""


def right(rewards):
    """True for correct responses."""
    return rewards > 0.5


RAFT = replace(
    PLAIN,
    advantage=plain_reward,
    keep=right,
    loss=reinforce_loss,
    aggregation="token-mean",
)
DEPTHS = composition.ARMS["RL on 1, 2"]
DIALS = composition.DIALS


def run(variant, seed, quick, checkpoint):
    policy = copy.deepcopy(warm_start(seed, 10 if quick else composition.WARM))
    dials = DIALS | {"refresh": ARMS[variant["arm"]]}
    dials |= {"steps": 2, "prompts": 4} if quick else {}
    watched = Examined(Relay(depths=DEPTHS), policy)
    train(policy, watched, RAFT, dials=Dials(**dials), seed=seed)
    watched.examine()
    return watched.rows


def ends(rows, arm, depth, k):
    """pass@k of prompts of a depth at the end, of each seed."""
    return asked(rows, arm, depth, k)[:, -1]


EXPERIMENT = Experiment(
    name="composition-rft",
    chapter=8,
    question={
        "zh": "模仿自己答对的回答，也能教会把函数连起来用吗？",
        "en": "Can imitating one's own correct responses teach to chain functions?",
    },
    variants=tuple({"arm": arm} for arm in ARMS),
    run=run,
    columns={"arm": "how often it samples: for every step, or for forty at a time"}
    | {k: v for k, v in composition.EXPERIMENT.columns.items() if k != "arm"},
    settings={
        "task": "relay",
        "row": "RAFT",
        "functions": list(DEPTHS),
        "warm_up": composition.WARM,
        "asked": composition.ASKED,
        "every": composition.EXAMS,
        **DIALS,
    },
    claims={
        "both end with pass@1 of four over their start's pass@4096, in every seed": (
            lambda rows: all(
                (ends(rows, arm, 4, 1) > asked(rows, arm, 4, 4096)[:, 0]).all()
                for arm in ARMS
            )
        ),
        "pass@64 of four: below 0.03 at first, over 0.3 at the end, in every seed": (
            lambda rows: all(
                asked(rows, arm, 4, 64)[:, 0].max() < 0.03
                and ends(rows, arm, 4, 64).min() > 0.3
                for arm in ARMS
            )
        ),
        "sampling every round ends ahead in pass@64 of two and of four, likewise": (
            lambda rows: all(
                (
                    ends(rows, "every round", n, 64) > ends(rows, "six rounds", n, 64)
                ).all()
                for n in (2, 4)
            )
        ),
        "and leads in pass@1 of four at every exam": lambda rows: (
            asked(rows, "every round", 4, 1)[:, 1:]
            > asked(rows, "six rounds", 4, 1)[:, 1:]
        ).all(),
    },
    message={
        "zh": "模仿自己答对的回答，没练过的四个函数也会连用。",
        "en": "Imitating one's own correct responses teaches fours as well.",
    },
    shows=(("depth2_pass1", "depth4_pass64"),),
)
