"""Chapter 8: learn from the right responses, from the wrong ones, or from both.

The advantage of a response is a number from its reward, with the loss of REINFORCE and
the mean over tokens; the batch is used once, in two updates. "RAFT" drops the wrong
responses before the mean, REINFORCE on 0 and 1 leaves them in it with a push of 0.
"RFT, once" is RAFT on responses of the warm start alone; a row measures its sampler, so
only the last one is of the trained policy.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, PLAIN, inside, learn
from tokencredit.credit.advantages import group_relative, plain_reward
from tokencredit.weight.losses import reinforce_loss

DIALS = DIALS | {"steps": 20}


def right(rewards):
    """True for correct responses."""
    return rewards > 0.5


def pushed(rewards, *, right, wrong):
    """A push for right and one for wrong responses."""
    return right * rewards + wrong * (1 - rewards)


def above(rewards, groups):
    """The reward above the group's mean, 0 below it."""
    return group_relative(rewards, groups, scale=False).clamp(min=0)


PLAIN = replace(PLAIN, loss=reinforce_loss, aggregation="token-mean")
ARMS = {
    "REINFORCE": {"advantage": plain_reward},
    "RAFT": {"advantage": plain_reward, "keep": right},
    "RFT, once": {"advantage": plain_reward, "keep": right},
    "wrong only": {"advantage": partial(pushed, right=0.0, wrong=-1.0)},
    "right 0.1": {"advantage": partial(pushed, right=0.1, wrong=-1.0)},
    "+1 and -1": {"advantage": partial(pushed, right=1.0, wrong=-1.0)},
    "less the mean": {"advantage": partial(group_relative, scale=False)},
    "above the mean": {"advantage": above},
}


def run(variant, seed, quick, checkpoint):
    arm, dials = variant["arm"], DIALS
    if arm == "RFT, once":  # and two rounds that the trained policy samples
        dials = DIALS | {"refresh": DIALS["steps"], "steps": DIALS["steps"] + 2}
    return learn(replace(PLAIN, **ARMS[arm]), seed, quick, **dials)[0]


ONLINE = [arm for arm in ARMS if arm != "RFT, once"]
WRONG = ("wrong only", "right 0.1")


def end(rows, arm):
    """Success of each seed at the end, a mean of the last four iterations."""
    return final(rows, "success", last=2, arm=arm)


def whole(rows, arm):
    """Success of each seed, a mean of all iterations."""
    return per_seed(rows, "success", arm=arm).mean(1)


def firsts(rows, arm):
    """First tries of each seed, a mean of the last ten iterations."""
    return per_seed(rows, "distinct", arm=arm)[:, -5:].mean(1)


def ahead(rows):
    """Final success of each seed of RAFT minus that of RFT, once."""
    return end(rows, "RAFT") - final(rows, "success", last=1, arm="RFT, once")


EXPERIMENT = Experiment(
    name="positive-only",
    chapter=8,
    question={
        "zh": "只学对的，只学错的，还是都学？",
        "en": "Learn from the right responses, the wrong ones, or both?",
    },
    variants=tuple({"arm": name} for name in ARMS),
    run=run,
    columns={"arm": "what a right and a wrong response are pushed by"} | COLUMNS,
    settings={"task": "signs", "every": 2, **DIALS},
    claims={
        "sampling for itself, every arm ends above 0.9 in every seed": lambda rows: all(
            end(rows, arm).min() > 0.9 for arm in ONLINE
        ),
        "RAFT's curve of medians is within 0.02 of REINFORCE's throughout": (
            lambda rows: (
                abs(
                    np.median(per_seed(rows, "success", arm="RAFT"), 0)
                    - np.median(per_seed(rows, "success", arm="REINFORCE"), 0)
                ).max()
                < 0.02
            )
        ),
        "REINFORCE and less the mean: neither leads over all iterations in all seeds": (
            lambda rows: (
                (whole(rows, "REINFORCE") > whole(rows, "less the mean")).sum()
                in range(1, 5)
            )
        ),
        "the two that weigh wrong ones most are behind REINFORCE in every seed": (
            lambda rows: all(
                (whole(rows, arm) < whole(rows, "REINFORCE") - 0.01).all()
                for arm in WRONG
            )
        ),
        "RAFT and above the mean keep over 0.1 more first tries than them, likewise": (
            lambda rows: all(
                (firsts(rows, more) > firsts(rows, arm) + 0.1).all()
                for more in ("RAFT", "above the mean")
                for arm in WRONG
            )
        ),
        "no arm loses its variety: over 2.6 first tries in every seed": lambda rows: (
            all(firsts(rows, arm).min() > 2.6 for arm in ONLINE)
        ),
        "RFT, once: 0.87 to 0.98 at the end, from a sampler that stays below 0.35": (
            lambda rows: (
                per_seed(rows, "success", arm="RFT, once")[:, :-1].max() < 0.35
                and inside(
                    per_seed(rows, "success", arm="RFT, once")[:, -1], 0.87, 0.98
                )
            )
        ),
        "and behind RAFT by over 0.03 in four seeds; in the fifth they are equal": (
            lambda rows: (
                (ahead(rows) > 0.03).sum() == 4 and abs(ahead(rows)).min() < 0.005
            )
        ),
    },
    message={
        "zh": "只学对的也学得会；只学错的慢一点，花样也少一点。",
        "en": "Correct ones alone teach; incorrect ones alone are slower, less varied.",
    },
    shows=(("success", "distinct"),),
)
