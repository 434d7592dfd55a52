"""Chapter 13: four games, five kinds of credit, from the same warm start per seed."""

import copy
import time
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import torch

from ..advantages import group_relative
from ..agents import Game, evaluate
from ..algorithms import ALGORITHMS, with_critic
from ..environments import optimum
from ..environments.frozen_lake import FIXED
from ..lab import Experiment, final, per_seed, spread, where
from ..policy import Policy
from ..train import Dials, train, warm_up
from ._chain import thin

STARPO = ALGORITHMS["StarPO"]
ROWS = {
    "StarPO": STARPO,
    "StarPO without std": replace(
        STARPO, advantage=partial(group_relative, scale=False)
    ),
    "StarPO-S": ALGORITHMS["StarPO-S"],
    "StarPO + critic": with_critic(STARPO),
    "StarPO + turns": with_critic(STARPO, credit="turn"),
}
ENTROPY = 0.01  # the paper's 0.001 lets the miniature settle too early

GAMES = {  # the game, steps of warm-up, rounds of training, learning rate
    "Bandit": (Game(id="Bandit", mistakes=1.0), 40, 40, 5e-4),
    "FrozenLakeFixed": (Game(id="FrozenLakeFixed", mistakes=0.2), 100, 60, 5e-4),
    "Sokoban": (Game(id="Sokoban", mistakes=0.1), 200, 80, 5e-4),
    "WebShop": (Game(id="WebShop", mistakes=0.2), 150, 80, 1e-3),
}
BEST = {"FrozenLakeFixed": optimum(FIXED, success_rate=0.8).success}  # else 1
DIALS = {"prompts": 16, "group_size": 8, "micro_size": 32}
EVERY = 5

COLUMNS = {
    "environment": "id of the game",
    "algorithm": "the row, see `ROWS`",
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
    "dead": "share of tokens with an advantage and no gradient",
    "grad_norm": "before it is clipped",
    "kept": "episodes that were learned from",
    "tokens": "tokens sampled so far",
    "seconds": "CPU seconds so far, one thread, warm-up included",
    "eval": "success on 256 unseen instances at temperature 0.5",
    "greedy": "the same at temperature 0",
}


@lru_cache(maxsize=len(GAMES))
def warm_start(name: str, seed: int, quick: bool) -> tuple[Policy, float]:
    """A policy that imitated an expert with mistakes, and its CPU seconds."""
    game, steps, _, _ = GAMES[name]
    clock = time.process_time()
    torch.manual_seed(seed)
    policy = Policy(len(game.vocabulary), context=game.context, critic=True)
    warm_up(policy, game, steps=3 if quick else steps, seed=seed)
    return policy, time.process_time() - clock


def tested(policy, game, quick) -> dict:
    """Success on unseen instances."""
    episodes = 4 if quick else 256
    return {
        name: evaluate(policy, game, episodes=episodes, temperature=t)["success"]
        for name, t in (("eval", 0.5), ("greedy", 0))
    }


def run(variant, seed, quick, checkpoint):
    game, _, rounds, lr = GAMES[variant["environment"]]
    row = replace(ROWS[variant["algorithm"]], entropy_coef=ENTROPY)
    start, spent = warm_start(variant["environment"], seed, quick)
    policy = copy.deepcopy(start)
    dials = {"steps": rounds, "lr": lr} | DIALS
    if quick:
        dials |= {"steps": 2, "prompts": 4, "group_size": 2}
    history = train(
        policy, game, row, dials=Dials(**dials), seed=seed, checkpoint=checkpoint
    )
    rows = thin(history, 1 if quick else EVERY)
    for new in rows:
        new["seconds"] += spent
    first = {"step": 0, "tokens": 0, "seconds": spent} | tested(start, game, quick)
    return [first, *rows[:-1], rows[-1] | tested(policy, game, quick)]


def table(rows) -> str:
    """Markdown: medians over the seeds, their range in brackets."""
    lines = [
        "| environment | algorithm | warm start | after training | greedy | best "
        "| CPU s | seeds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in GAMES:
        for algorithm in ROWS:
            pick = {"environment": name, "algorithm": algorithm}
            if not where(rows, **pick):
                continue
            start = per_seed(rows, "eval", **pick)[:, 0]
            best = BEST.get(name, 1.0)
            seconds = final(rows, "seconds", **pick)
            lines.append(
                f"| {name} | {algorithm} | {spread(start)} "
                f"| {spread(final(rows, 'eval', **pick))} "
                f"| {spread(final(rows, 'greedy', **pick))} | {best:.2f} "
                f"| {np.median(seconds):.0f} | {len(seconds)} |"
            )
    return "\n".join(lines)


EXPERIMENT = Experiment(
    name="agents",
    chapter=13,
    question={
        "zh": "四个环境，五种信用分配，各能学到哪里？",
        "en": "Four games, five kinds of credit: how far does each get?",
    },
    variants=tuple(
        {"environment": name, "algorithm": algorithm}
        for name in GAMES
        for algorithm in ROWS
    ),
    run=run,
    columns=COLUMNS,
    settings={
        "every": EVERY,
        "entropy_coef": ENTROPY,
        "games": {name: repr(game) for name, game in GAMES.items()},
        **DIALS,
    },
    table=table,
)
