"""Chapter 15: the course's loss in TRL's trainer; positions that padding moves.

Every arm starts from the same warm start per seed (its value head left out), sees the
same number of prompts and makes as many updates. Needs TRL to run, not to be read.
"""

from dataclasses import replace

import numpy as np
import torch

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._chain import warm_start
from tokencredit.algorithms import ALGORITHMS
from tokencredit.training import Dials, train
from tokencredit.world.policy import Policy
from tokencredit.world.tasks import task

DIALS = {"prompts": 64, "group_size": 4, "lr": 1e-3}
ROUNDS, UPDATES, EVERY = 100, 2, 5
ARMS = {
    "ours, GRPO": {"algorithm": "GRPO"},
    "TRL, its loss": {"algorithm": None, "positions": "own"},
    "TRL, GRPO": {"algorithm": "GRPO", "positions": "own"},
    "TRL, BAPO un-clipped": {"algorithm": "BAPO, un-clipped", "positions": "own"},
    "TRL, padded positions": {"algorithm": None, "positions": "padded"},
}
"""An arm's algorithm has no KL: TRL's default beta is 0."""


def actor(seed, quick):
    """The lab's warm start without its value head."""
    warm = warm_start(seed, quick)
    policy = Policy(warm.vocab_size, context=warm.context)
    policy.load_state_dict(warm.state_dict(), strict=False)
    return policy


def run(variant, seed, quick, checkpoint):
    arm = dict(ARMS[variant["arm"]])
    algorithm = arm["algorithm"] and replace(ALGORITHMS[arm["algorithm"]], kl_coef=0.0)
    chain, policy = task("chain"), actor(seed, quick)
    dials = dict(DIALS) | ({"prompts": 4} if quick else {})
    rounds = 2 if quick else ROUNDS
    if variant["arm"].startswith("ours"):
        dials = Dials(steps=rounds, minibatches=UPDATES, **dials)
        history = train(policy, chain, algorithm, dials=dials, seed=seed)
        paid = [seen["reward"] for seen in history]
    else:
        from tokencredit.integrations.trl import trl_rounds

        torch.manual_seed(seed)
        lr = dials.pop("lr")
        _, paid = trl_rounds(
            policy,
            chain,
            algorithm,
            rounds=rounds,
            updates=UPDATES,
            positions=arm["positions"],
            seed=seed,
            learning_rate=lr,
            **dials,
        )
    every = 1 if quick else EVERY
    means = np.reshape(paid, (-1, every)).mean(1)
    return [
        {"step": every * (k + 1), "reward": float(mean)} for k, mean in enumerate(means)
    ]


def end(rows, arm):
    """Reward of each seed at the end, a mean of the last twenty rounds."""
    return final(rows, "reward", last=4, arm=arm)


def apart(rows, one, other):
    """Mean distance of two arms' rewards, over rounds and seeds."""
    gap = per_seed(rows, "reward", arm=one) - per_seed(rows, "reward", arm=other)
    return float(np.abs(gap).mean())


EXPERIMENT = Experiment(
    name="engines",
    chapter=15,
    question={
        "zh": "同一个损失放进 TRL，学到的一样吗？",
        "en": "The same loss inside TRL: is the same learned?",
    },
    variants=tuple({"arm": name} for name in ARMS),
    run=run,
    columns={
        "arm": "which trainer, and whose loss",
        "step": "rounds of sampling so far",
        "reward": "mean reward of the sampled responses over the last rounds",
    },
    shows=(("reward",),),
    settings={"task": "chain", "rounds": ROUNDS, "updates": UPDATES, **DIALS},
    claims={
        "our loop and TRL end within 0.03 of each other in every seed": lambda rows: (
            np.abs(end(rows, "ours, GRPO") - end(rows, "TRL, its loss")).max() < 0.03
        ),
        "TRL's loss and the course's GRPO inside TRL give one curve": lambda rows: (
            apart(rows, "TRL, its loss", "TRL, GRPO") < 0.001
        ),
        "BAPO, un-clipped, ends within 0.03 of GRPO in every seed": lambda rows: (
            np.abs(end(rows, "TRL, BAPO un-clipped") - end(rows, "TRL, GRPO")).max()
            < 0.03
        ),
        "positions that count the padding cost 0.25 or more in every seed": (
            lambda rows: (
                (end(rows, "TRL, its loss") - end(rows, "TRL, padded positions")).min()
                > 0.25
            )
        ),
        "and end between 0.38 and 0.72": lambda rows: (
            end(rows, "TRL, padded positions").min() > 0.38
            and end(rows, "TRL, padded positions").max() < 0.72
        ),
    },
)
