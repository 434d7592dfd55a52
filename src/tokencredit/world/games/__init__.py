"""Text environments for multi-turn agents (多轮智能体的文本环境).

`make("FrozenLake")` gives a game behind the interface of Gymnasium, with text on both
sides; `make_vec` plays many at once. A new environment is a file here and a line in
`ENVIRONMENTS`; the contract tests find it there.
"""

from functools import partial

from tokencredit.world.games.bandit import Bandit
from tokencredit.world.games.base import (
    END,
    SEPARATOR,
    SPECIALS,
    Environment,
    EpisodeOver,
    Parsed,
    fit_context,
    reply,
)
from tokencredit.world.games.frozen_lake import FrozenLake, optimum
from tokencredit.world.games.sokoban import Sokoban
from tokencredit.world.games.vector import (
    VectorEnvironment,
    check_groups,
    random_answer,
    steps_per_second,
)
from tokencredit.world.games.webshop import WebShop

ENVIRONMENTS = {
    "Bandit": Bandit,
    "BanditReversed": partial(Bandit, swapped=True),
    "BanditTrain": partial(Bandit, names=("teacher", "engineer")),
    "BanditTest": partial(Bandit, names=("librarian", "trader")),
    "FrozenLake": FrozenLake,
    "FrozenLakeFixed": partial(FrozenLake, lake="4x4", success_rate=0.8),
    "Sokoban": Sokoban,
    "WebShop": WebShop,
}


def make(id: str, **dials) -> Environment:
    """A registered environment, with any of its dials changed.

    Raises:
        ValueError: for an unknown id (naming those there are) or a bad dial.

    >>> env = make("Bandit")
    >>> observation, info = env.reset(seed=1)
    >>> env.step("dragon")[2]
    True
    """
    if id not in ENVIRONMENTS:
        raise ValueError(f"unknown environment {id!r}: one of {sorted(ENVIRONMENTS)}")
    try:
        return ENVIRONMENTS[id](**dials)
    except TypeError as error:
        raise ValueError(f"{id}: {error}") from None


def make_vec(id: str, num_envs: int, **dials) -> VectorEnvironment:
    """`num_envs` of one environment, to be stepped together."""
    return VectorEnvironment(partial(make, id, **dials), num_envs)


__all__ = [
    "END",
    "ENVIRONMENTS",
    "SEPARATOR",
    "SPECIALS",
    "Bandit",
    "Environment",
    "EpisodeOver",
    "FrozenLake",
    "Parsed",
    "Sokoban",
    "VectorEnvironment",
    "WebShop",
    "check_groups",
    "fit_context",
    "make",
    "make_vec",
    "optimum",
    "random_answer",
    "reply",
    "steps_per_second",
]
