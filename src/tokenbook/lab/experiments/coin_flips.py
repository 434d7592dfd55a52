"""Chapter 8: a verdict that is a coin flip, with the clip and without it.

Random rewards were reported to raise the score of one model on a benchmark by 21 points
(2506.10947), as an effect of the clip. Here a coin decides every reward, all else is as
in training with the true verdict, and success is still judged by the task.
"""

from dataclasses import replace

import numpy as np

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, PLAIN, learn
from tokenbook.lab.experiments.signs_epochs import ratio_loss

DIALS = {"steps": 20, "prompts": 32, "group_size": 8, "lr": 5e-4}
OFTEN, ONCE = {"epochs": 4, "minibatches": 4}, {"epochs": 1, "minibatches": 1}
NO_CLIP = replace(PLAIN, name="GRPO without clip", loss=ratio_loss)
ARMS = {
    "clip, 16 updates": (PLAIN, OFTEN),
    "no clip, 16 updates": (NO_CLIP, OFTEN),
    "1 update": (PLAIN, ONCE),
}


def coin(seed):
    """A reward function that ignores the response."""
    rng = np.random.default_rng(1000 + seed)
    return lambda prompt, response: float(rng.integers(2))


def run(variant, seed, quick, checkpoint):
    row, passes = ARMS[variant["arm"]]
    return learn(
        row, seed, quick, reward_fn=coin(seed), moments=(0, 10), **DIALS | passes
    )


def ended(rows, arm, column="success"):
    """A column at the end of each seed, a mean of the last four iterations."""
    return final(rows, column, last=2, arm=arm)


def gained(rows, arm, column="success"):
    """The difference of that from the first two iterations."""
    return ended(rows, arm, column) - per_seed(rows, column, arm=arm)[:, 0]


EXPERIMENT = Experiment(
    name="coin-flips",
    chapter=8,
    question={
        "zh": "奖励由抛硬币决定，成功率会升吗？裁剪有没有关系？",
        "en": "If a coin decides the reward, does success rise? Does the clip matter?",
    },
    variants=tuple({"arm": arm} for arm in ARMS),
    run=run,
    columns={"arm": "with or without the clip, updates per iteration"} | COLUMNS,
    settings={
        "task": "signs",
        "row": "GRPO without KL, rewards of a coin",
        "every": 2,
        **DIALS,
        "often": OFTEN,
        "once": ONCE,
    },
    claims={
        "no arm ends above its start in every seed": lambda rows: all(
            (gained(rows, arm) < 0).any() for arm in ARMS
        ),
        "without the clip 16 updates destroy: under 0.02 from iteration 12 on": (
            lambda rows: (
                per_seed(rows, "success", arm="no clip, 16 updates")[:, 5:].max() < 0.02
            )
        ),
        "with it no seed ends below 0.1": lambda rows: (
            ended(rows, "clip, 16 updates").min() > 0.1
        ),
        "one update: the best seed gains over 0.15, as it gives up less": lambda rows: (
            gained(rows, "1 update").max() > 0.15
            and gained(rows, "1 update", "gives_up")[gained(rows, "1 update").argmax()]
            < -0.15
        ),
        "and its first tries are not right more often, to 0.05": lambda rows: (
            abs(gained(rows, "1 update", "first_right")).max() < 0.05
        ),
    },
    speaks=True,
    message={
        "zh": "奖励是硬币，平均变化不到 0.05；单个种子会走得很远，不裁剪就毁掉。",
        "en": "The mean moves by under 0.05; seeds drift, without a clip all break.",
    },
    shows=(("success", "gives_up"), ("entropy",)),
)
