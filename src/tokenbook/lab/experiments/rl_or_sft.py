"""Reinforcement learning against imitation: the same warm start, the same corpus.

A round is 256 responses and two updates in both arms. In one the policy samples them
and gets the task's reward (GRPO without KL); in the other it continues to imitate the
corpus of its warm start, three times as long.
"""

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import (
    COLUMNS,
    DIALS,
    PLAIN,
    inside,
    learn,
    study,
)

ROUNDS = {"RL": 30, "SFT": 90}
EVERY = {"RL": 2, "SFT": 6}
LR = 1e-3  # of imitation, as in the warm start's last part


def run(variant, seed, quick, checkpoint):
    arm = variant["arm"]
    if arm == "SFT":
        return study(seed, quick, rounds=ROUNDS[arm], every=EVERY[arm], lr=LR)
    moments = (0, 2, 4, 8)
    steps = {"steps": ROUNDS[arm], "every": EVERY[arm]}
    return learn(PLAIN, seed, quick, moments=moments, **steps)


def exam(rows, column, which):
    """A column at an exam of each seed in the imitating arm; the first is the start."""
    return per_seed(rows, column, arm="SFT")[:, which]


def unfaithful(rows):
    """Of the right responses at the end of RL, the share with a false equation."""
    ends = {"last": 4, "arm": "RL"}
    return 1 - final(rows, "faithful", **ends) / final(rows, "success", **ends)


EXPERIMENT = Experiment(
    name="rl-or-sft",
    chapter=2,
    question={
        "zh": "同一起点，继续模仿和强化学习差多少？长度会怎样？",
        "en": "Go on imitating, or reinforce? And what becomes of the length?",
    },
    variants=({"arm": "RL"}, {"arm": "SFT"}),
    run=run,
    columns={"arm": "RL: GRPO without KL; SFT: goes on imitating the corpus"} | COLUMNS,
    settings={"task": "signs", "rounds": ROUNDS, "every": EVERY, "sft_lr": LR, **DIALS},
    claims={
        "before: 0.21 to 0.24 right, over 0.6 give up, in 10 to 11.5 tokens": (
            lambda rows: (
                inside(exam(rows, "success", 0), 0.21, 0.24)
                and exam(rows, "gives_up", 0).min() > 0.6
                and inside(exam(rows, "length", 0), 10, 11.5)
            )
        ),
        "RL ends above 0.92 in every seed, four of them above 0.97": lambda rows: (
            final(rows, "success", last=2, arm="RL").min() > 0.92
            and (final(rows, "success", last=2, arm="RL") > 0.97).sum() == 4
        ),
        "SFT stays below 0.36 at every exam, three times as long": lambda rows: (
            per_seed(rows, "success", arm="SFT").max() < 0.36
        ),
        "RL takes less CPU for its 30 rounds than SFT for its 90": lambda rows: (
            final(rows, "seconds", arm="RL") < final(rows, "seconds", arm="SFT")
        ).all(),
        "nothing pays for length: it ends at 18.5 to 21 tokens": lambda rows: inside(
            final(rows, "length", last=2, arm="RL"), 18.5, 21
        ),
        "after ten rounds fewer than one response in a hundred gives up": lambda rows: (
            per_seed(rows, "gives_up", arm="RL")[:, 5:].max() < 0.01
        ),
        "it is trying again that is learned: the first try stays below 0.42": (
            lambda rows: per_seed(rows, "first_right", arm="RL")[:, 5:].max() < 0.42
        ),
        "groups: 9 to 19 % are all wrong before, under 2 % after ten rounds": (
            lambda rows: (
                inside(exam(rows, "all_wrong", 0), 0.09, 0.2)
                and per_seed(rows, "all_wrong", arm="RL")[:, 5:].max() < 0.02
            )
        ),
        "and none all right before, over 0.78 of them at the end": lambda rows: (
            exam(rows, "all_right", 0).max() == 0
            and final(rows, "all_right", last=2, arm="RL").min() > 0.78
        ),
        "different first tries to a prompt: over 3.4 at first, 2.3 to 2.9 at the end": (
            lambda rows: (
                per_seed(rows, "distinct", arm="RL")[:, 0].min() > 3.4
                and inside(final(rows, "distinct", last=2, arm="RL"), 2.3, 2.9)
            )
        ),
        "and imitation keeps over 3.3 of them at every exam": lambda rows: (
            per_seed(rows, "distinct", arm="SFT").min() > 3.3
        ),
        "of the right responses 5 to 13 % hold a false equation at the end": (
            lambda rows: inside(unfaithful(rows), 0.05, 0.13)
        ),
    },
    speaks=True,
    message={
        "zh": "奖励只字不提长度，长度却翻倍；再模仿下去什么也不变。",
        "en": "Nothing pays for length, and it doubles; imitation changes nothing.",
    },
    shows=(("success", "gives_up"), ("all_right", "all_wrong"), ("length",)),
)
