"""Chapter 5: a task where one word decides, with a group mean and with a critic.

A response has eight words, the fourth decides, and the reward is noisy. Policy and
critic are tables, so success is the policy's own and not that of a sample.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from tokenbook.lab import Experiment, per_seed
from tokencredit.algorithms import ALGORITHMS
from tokencredit.credit.advantages import gae
from tokencredit.training import Dials, train
from tokencredit.world.enumerable import ENUMERABLE, PrefixPolicy

TASK = replace(ENUMERABLE["fork"], noise=0.5)
MEAN = ALGORITHMS["Dr. GRPO"]
DIALS = {"steps": 60, "prompts": 1, "group_size": 8, "lr": 0.05, "max_grad_norm": 1e9}


def critic(lam):
    """Dr. GRPO with the advantages of a critic instead of the group mean."""
    estimate = partial(gae, gamma=1.0, lam=lam)
    return replace(MEAN, credit_level="token", advantage=estimate, value_coef=0.5)


ARMS = {"group mean": MEAN, "critic, 1": critic(1.0), "critic, 0.5": critic(0.5)}


def run(variant, seed, quick, checkpoint):
    row, worth = ARMS[variant["arm"]], []
    policy = PrefixPolicy(TASK, critic=2.0 if row.critic else None)

    def sampler(policy):  # asked for at the start of every round
        worth.append(policy.worth()["success"])
        return policy

    dials = Dials(**DIALS | ({"steps": 2} if quick else {}))
    train(policy, TASK, row, dials=dials, seed=seed, make_sampler=sampler)
    worth.append(policy.worth()["success"])
    return [{"step": step, "success": x} for step, x in enumerate(worth)]


def reached(rows, arm, level=0.9):
    """The first iteration of each seed with that success."""
    curves = per_seed(rows, "success", arm=arm)
    return (curves >= level).argmax(1)


def median(rows, arm):
    """Success after each iteration, a median of the seeds."""
    return np.median(per_seed(rows, "success", arm=arm), axis=0)


EXPERIMENT = Experiment(
    name="fork-critic",
    chapter=5,
    question={
        "zh": "只有一个词决定对错时，价值网络比组均值学得快吗？",
        "en": "If one word decides, does a critic teach faster than a group mean?",
    },
    variants=tuple({"arm": arm} for arm in ARMS),
    run=run,
    columns={
        "arm": "group mean, or a critic with its lambda",
        "step": "rounds done",
        "success": "of the policy, exact",
    },
    settings={"task": "fork, noise 0.5", "row": "Dr. GRPO", "critic": 2.0, **DIALS},
    claims={
        "with lambda 0.5 every seed reaches 0.9 before any other run": lambda rows: (
            reached(rows, "critic, 0.5").max()
            < min(reached(rows, x).min() for x in ("group mean", "critic, 1"))
        ),
        "with lambda 1 the critic is within 0.02 of the group mean all along": (
            lambda rows: (
                abs(median(rows, "critic, 1") - median(rows, "group mean")).max() < 0.02
            )
        ),
        "up to iteration 15 the small lambda learns no faster": (
            lambda rows: (
                median(rows, "critic, 0.5")[:16]
                < median(rows, "group mean")[:16] + 0.01
            ).all()
        ),
    },
    message={
        "zh": "价值网络的好处来自小的 λ；λ = 1 时它与组均值一样。",
        "en": "What a critic gains comes with a small lambda; at 1 it is a group mean.",
    },
    shows=(("success",),),
)
