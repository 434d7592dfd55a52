"""Chapter 14: seven lessons on training agents, one dial at a time."""

from dataclasses import replace
from functools import partial

import torch

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._games import COLUMNS, GAMES, learn, warm_start
from tokenbook.lab.experiments.agents import DIALS, ENTROPY, ROWS
from tokencredit.credit.filters import top_variance
from tokencredit.training import warm_up
from tokencredit.weight.losses import ppo_clip_loss
from tokencredit.world.game import Game, evaluate
from tokencredit.world.policy import Policy

EVERY = 3
ROUNDS = {"Bandit": 30, "FrozenLakeFixed": 24, "Sokoban": 40}
BASE = {
    "Bandit": ROWS["StarPO"],
    "FrozenLakeFixed": ROWS["StarPO"],
    "Sokoban": ROWS["StarPO without std"],
}
CLIP_HIGHER = partial(ppo_clip_loss, clip_low=0.2, clip_high=0.28)

VARIANTS = (  # "base": one pass, groups of 8, entropy 0.01, five actions a turn
    ("base", "FrozenLakeFixed", 1),
    *(("reuse", "FrozenLakeFixed", passes) for passes in (5, 10)),
    *(("answers", "FrozenLakeFixed", size) for size in (2, 4, 16)),
    *(("entropy", "FrozenLakeFixed", c) for c in (0.001, 0.03, 0.1, 0.3)),
    *(("filter", "FrozenLakeFixed", share) for share in (0.5, 0.25)),
    ("clip-higher", "FrozenLakeFixed", 5),
    ("no KL", "FrozenLakeFixed", 1),
    *(("actions", "FrozenLakeFixed", limit) for limit in (1, 3, 7)),
    ("base", "Sokoban", 1),
    *(("answers", "Sokoban", size) for size in (2, 4, 16)),
    ("no KL", "Sokoban", 1),
    *(("answers", "Bandit", size) for size in (2, 4, 8, 16, 32)),
    *(("swapped", "Bandit", arms) for arms in ("bare", "described")),
)
WARM = {"FrozenLakeFixed": 100}  # steps: a weaker start, with room to rise and to fall
PULL = 0.1  # entropy coefficient that the filter is tried against


def swap(described: bool, seed: int, quick: bool, checkpoint) -> list[dict]:
    """Train on the bandit, then swap the payoffs of the two names.

    The warm-up imitates random choices. Without the std, which would pull to the sure
    arm.
    """
    game = Game(id="Bandit", dials={"described": described}, mistakes=1.0)
    torch.manual_seed(seed)
    policy = Policy(len(game.vocabulary), context=game.context, critic=True)
    warm_up(policy, game, steps=3 if quick else 40, seed=seed)
    learned, rows = learn(
        (policy, game, 0.0),
        replace(ROWS["StarPO without std"], entropy_coef=ENTROPY),
        seed,
        quick,
        checkpoint,
        every=EVERY,
        **DIALS["Bandit"] | {"steps": ROUNDS["Bandit"]},
    )
    swapped = Game(id="Bandit", dials=game.dials | {"swapped": True})
    for row, tested in ((rows[0], policy), (rows[-1], learned)):
        seen = evaluate(tested, swapped, episodes=4 if quick else 256)
        row["swapped"] = seen["success"]
    return rows


def run(variant, seed, quick, checkpoint):
    lesson, name, value = variant["lesson"], variant["environment"], variant["value"]
    if lesson == "swapped":
        return swap(value == "described", seed, quick, checkpoint)
    row = replace(BASE[name], entropy_coef=ENTROPY)
    actions = value if lesson == "actions" else 5
    start = warm_start(name, seed, quick, WARM.get(name), actions)
    dials = DIALS[name] | {"steps": ROUNDS[name]}
    if lesson in ("reuse", "clip-higher"):  # a first pass has nothing to clip
        dials["epochs"] = value
    elif lesson == "answers":
        dials |= {"prompts": 128 // value, "group_size": value}
    elif lesson == "entropy":
        row = replace(row, entropy_coef=value)
    elif lesson == "no KL":
        row = replace(row, kl_coef=0.0)
    if lesson == "clip-higher":
        row = replace(row, loss=CLIP_HIGHER)
    if lesson == "filter":
        row = replace(row, keep=partial(top_variance, keep=value), entropy_coef=PULL)
    return learn(start, row, seed, quick, checkpoint, every=EVERY, **dials)[1]


def end(rows, lesson, value, name="FrozenLakeFixed", column="success"):
    """A column over the last six rounds, a number per seed."""
    pick = {"lesson": lesson, "environment": name, "value": value}
    return final(rows, column, last=2, **pick)


def gain(rows, lesson, value, name="FrozenLakeFixed"):
    """Success compared to the base run of the same seed."""
    return end(rows, lesson, value, name) - end(rows, "base", 1, name)


def chosen(rows, size):
    """Rate of the dragon at temperature 0.5 after training with this group size."""
    return final(rows, "eval", lesson="answers", environment="Bandit", value=size)


EXPERIMENT = Experiment(
    name="agent-lessons",
    chapter=14,
    question={
        "zh": "七条经验，在小模型上各成立吗？",
        "en": "Does each of seven lessons hold in miniature?",
    },
    variants=tuple(
        {"lesson": lesson, "environment": name, "value": value}
        for lesson, name, value in VARIANTS
    ),
    run=run,
    columns={
        "lesson": "the dial that is turned",
        "environment": "id of the game",
        "value": "passes over a round, responses per prompt, entropy coefficient, "
        "share of groups kept, actions a turn, how the arms are shown",
        "swapped": "success where the two payoffs are swapped",
    }
    | COLUMNS,
    settings={
        "every": EVERY,
        "rounds": ROUNDS,
        "warm_up": WARM,
        "entropy_coef": ENTROPY,
        "games": {name: repr(GAMES[name][0]) for name in BASE},
        "dials": {name: DIALS[name] for name in BASE},
    },
    claims={
        "at 0.3 success falls below 0.05, entropy rises above 0.9, std below 0.12": (
            lambda rows: (
                end(rows, "entropy", 0.3).max() < 0.05
                and end(rows, "entropy", 0.3, column="entropy").min() > 0.9
                and end(rows, "entropy", 0.3, column="reward_std").max() < 0.12
            )
        ),
        "at 0.1 every seed ends at least 0.05 below 0.01": lambda rows: (
            gain(rows, "entropy", 0.1).max() < -0.05
        ),
        "0.001 and 0.03 are within 0.05 of 0.01": lambda rows: (
            max(
                abs(gain(rows, "entropy", 0.001)).max(),
                abs(gain(rows, "entropy", 0.03)).max(),
            )
            < 0.05
        ),
        "half of the groups help at 0.1 in every seed, a quarter not in all": (
            lambda rows: (
                (end(rows, "filter", 0.5) > end(rows, "entropy", 0.1)).all()
                and not (end(rows, "filter", 0.25) > end(rows, "entropy", 0.1)).all()
            )
        ),
        "lake: 2 responses are worse than 8 by 0.2 or more in every seed": (
            lambda rows: gain(rows, "answers", 2).max() < -0.2
        ),
        "Sokoban: 2, 4 or 16 responses are neither better nor worse in every seed": (
            lambda rows: all(
                gain(rows, "answers", size, "Sokoban").min() < 0
                and gain(rows, "answers", size, "Sokoban").max() > 0
                for size in (2, 4, 16)
            )
        ),
        "bandit: up to 8 responses end at the phoenix, 16 and 32 at the dragon": (
            lambda rows: (
                max(chosen(rows, size).max() for size in (2, 4, 8)) < 0.02
                and min(chosen(rows, size).min() for size in (16, 32)) > 0.98
            )
        ),
        "without the KL nothing changes by 0.05": lambda rows: all(
            abs(gain(rows, "no KL", 1, name)).max() < 0.05
            for name in ("FrozenLakeFixed", "Sokoban")
        ),
        "5 passes never lose 0.03; after 10 a reply in 26 or more breaks the format": (
            lambda rows: (
                gain(rows, "reuse", 5).min() > -0.03
                and end(rows, "reuse", 10, column="invalid").min() > 1 / 26
                and end(rows, "reuse", 5, column="invalid").max() < 0.03
            )
        ),
        "one action a turn never succeeds": lambda rows: (
            end(rows, "actions", 1).max() == 0
        ),
        "with the payoffs swapped success goes from above 0.99 to below 0.01": (
            lambda rows: all(
                final(rows, "eval", lesson="swapped", value=arms).min() > 0.99
                and final(rows, "swapped", lesson="swapped", value=arms).max() < 0.01
                for arms in ("bare", "described")
            )
        ),
    },
)
