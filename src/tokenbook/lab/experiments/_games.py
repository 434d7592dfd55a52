"""Shared by the experiments on games: one warm start per game and seed."""

from __future__ import annotations

import copy
import time
from functools import lru_cache
from pathlib import Path

import torch

from tokenbook.lab.experiment import BARS
from tokenbook.lab.experiments._chain import thin
from tokencredit.algorithm import Algorithm
from tokencredit.training import Dials, train, warm_up
from tokencredit.world.game import Game, evaluate
from tokencredit.world.games import optimum
from tokencredit.world.games.frozen_lake import FIXED
from tokencredit.world.policy import Policy

MANY = 100_000  # instances to train on: a room or a wish hardly repeats
GAMES = {  # the game and the steps of its warm-up
    "Bandit": (Game(id="Bandit", mistakes=1.0), 40),
    "FrozenLakeFixed": (Game(id="FrozenLakeFixed", mistakes=0.2), 250),
    "Sokoban": (Game(id="Sokoban", mistakes=0.1, instances=MANY), 300),
    "WebShop": (Game(id="WebShop", mistakes=0.1, instances=MANY), 300),
}
BEST = {"FrozenLakeFixed": optimum(FIXED, success_rate=0.8).success}  # else 1

COLUMNS = {
    "step": "rounds of 128 episodes so far; 0 after the warm-up",
    "reward": "mean return of the sampled episodes",
    "reward_std": "mean standard deviation of the return within a group",
    "success": "share of sampled episodes that succeed",
    "turns": "mean turns per episode",
    "invalid": "share of turns whose reply breaks the format",
    "length": "mean sampled tokens per episode",
    "truncated": "share of episodes cut by a limit",
    "cut": "tokens of observations that did not fit",
    "entropy": "nats per token",
    "kl": "k3 of the policy against its sampler",
    "ref_kl": "k1 to the warm start, summed over the episode (with a reference)",
    "value_error": "mean squared error of V (with a critic)",
    "no_gradient": "share of tokens with an advantage and no gradient",
    "grad_norm": "before it is clipped",
    "kept": "episodes that were learned from",
    "tokens": "tokens sampled so far",
    "seconds": "CPU seconds so far, one thread, warm-up included",
    "eval": "success on 256 unseen instances at temperature 0.5",
    "greedy": "the same at temperature 0",
}


@lru_cache(maxsize=4)
def warm_start(
    name: str, seed: int, quick: bool, steps: int | None = None, actions: int = 5
) -> tuple[Policy, Game, float]:
    """A policy that imitated an expert with mistakes, its game, and its CPU seconds."""
    game, usual = GAMES[name]
    steps = steps or usual
    if actions != 5:
        game = Game(
            id=name, mistakes=game.mistakes, dials={"actions_per_turn": actions}
        )
    clock = time.process_time()
    torch.manual_seed(seed)
    policy = Policy(len(game.vocabulary), context=game.context, critic=True)
    warm_up(policy, game, steps=3 if quick else steps, micro_size=8, seed=seed)
    return policy, game, time.process_time() - clock


def tested(policy: Policy, game: Game, quick: bool) -> dict:
    """Success on unseen instances."""
    episodes = 4 if quick else 256
    return {
        name: evaluate(policy, game, episodes=episodes, temperature=t)["success"]
        for name, t in (("eval", 0.5), ("greedy", 0))
    }


def learn(
    start: tuple[Policy, Game, float],
    row: Algorithm,
    seed: int,
    quick: bool,
    checkpoint: Path | None,
    *,
    every: int,
    **dials,
) -> tuple[Policy, list[dict]]:
    """Train a copy of a warm start; it, and the rows of the run, thinned."""
    policy, game, spent = copy.deepcopy(start[0]), *start[1:]
    dials = {"micro_size": 16} | dials
    if quick:
        dials |= {"steps": 2, "prompts": 4, "group_size": 2}
    history = train(
        policy,
        game,
        row,
        dials=Dials(**dials),
        seed=seed,
        checkpoint=checkpoint,
        progress=BARS.get(),
    )
    rows = thin(history, 1 if quick else every)
    for new in rows:
        new["seconds"] += spent
    first = {"step": 0, "tokens": 0, "seconds": spent} | tested(*start[:2], quick)
    return policy, [first, *rows[:-1], rows[-1] | tested(policy, game, quick)]
