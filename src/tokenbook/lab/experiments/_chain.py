"""Shared by the experiments on language tasks: one warm start per seed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from tokenbook.lab.experiment import BARS
from tokencredit.algorithm import Algorithm
from tokencredit.training import Dials, train, warm_up
from tokencredit.world.policy import Policy
from tokencredit.world.scoring import RewardFunction
from tokencredit.world.tasks import Task, task
from tokencredit.world.tasks.chain import Chain, reasons

COLUMNS = {
    "step": "rounds of sampling so far",
    "reward": "mean reward of the sampled responses",
    "success": "share of sampled responses that earn the full reward",
    "reasons": "share of responses that write the running sums",
    "length": "mean tokens per response, EOS included",
    "truncated": "share of responses cut by the length limit",
    "reward_std": "mean standard deviation of the reward within a group",
    "equal_groups": "share of groups whose rewards are all equal",
    "entropy": "nats per token, last update of the round",
    "kl": "k3 of the policy against its sampler, last update of the round",
    "no_gradient": "share of tokens with an advantage and no gradient, last update",
    "grad_norm": "before it is clipped, last update of the round",
    "kept": "responses that were learned from",
    "tokens": "tokens sampled so far",
    "seconds": "CPU seconds so far, one thread, warm-up not counted",
}
"""Every row is the mean of `every` rounds; step, tokens and seconds are their last."""

LAST = ("step", "tokens", "seconds")


Corpus = list[tuple[Task, int, float]]  # a task, warm-up steps on it, learning rate


def start(goal: Task, corpus: Corpus, seed: int, quick: bool = False) -> Policy:
    """A policy with a value head after supervised warm-up on each part of a corpus."""
    torch.manual_seed(seed)
    policy = Policy(len(goal.vocabulary), context=goal.context, critic=True)
    for part, (book, steps, lr) in enumerate(corpus):
        steps = max(steps // 30, 4) if quick else steps
        warm_up(policy, book, steps=steps, lr=lr, seed=1000 * part + seed)
    return policy


@lru_cache(maxsize=2)
def warm_start(seed: int, quick: bool = False, chain: Chain | None = None) -> Policy:
    """A policy with a value head that read the textbook, then the mixed corpus.

    300 steps on running sums only, then 60 on the three habits; about 6 CPU seconds, to
    a success of 0.16 to 0.20. Copy it before training.
    """
    chain = chain or task("chain")
    book = replace(chain, steps=1.0, ramble=0.0)
    return start(chain, [(book, 300, 3e-3), (chain, 60, 1e-3)], seed, quick)


def learn(
    algorithm: Algorithm,
    seed: int,
    quick: bool,
    checkpoint: Path | None,
    *,
    every: int = 5,
    chain: Chain | None = None,
    measure_kl: bool = False,
    **dials,
) -> list[dict]:
    """Train a copy of the chain's warm start; the rows of the run, thinned."""
    chain = chain or task("chain")
    return learn_from(
        warm_start(seed, quick, chain),
        chain,
        algorithm,
        seed,
        quick,
        checkpoint,
        every=every,
        measure={"reasons": reasons},
        measure_kl=measure_kl,
        **dials,
    )


def learn_from(
    policy: Policy,
    goal: Task,
    algorithm: Algorithm,
    seed: int,
    quick: bool,
    checkpoint: Path | None,
    *,
    every: int,
    measure: Mapping[str, RewardFunction] | None = None,
    measure_kl: bool = False,
    **dials,
) -> list[dict]:
    """Train a copy of a policy on any task; the rows of the run, thinned."""
    if quick:
        dials |= {"steps": 2, "prompts": 4, "group_size": 4}
    history = train(
        copy.deepcopy(policy),
        goal,
        algorithm,
        dials=Dials(**dials),
        seed=seed,
        measure=measure,
        reference=policy if measure_kl else None,
        checkpoint=checkpoint,
        progress=BARS.get(),
    )
    return thin(history, 1 if quick else every)


def thin(history: list[dict], every: int) -> list[dict]:
    """Means over windows of `every` rounds; `LAST` columns keep the last value.

    A round in which no group could teach has no update, so no entropy and no gradient;
    means are over the rounds that have the number.
    """
    rows = []
    for end in range(every, len(history) + 1, every):
        window = history[end - every : end]
        means = {
            k: float(np.mean([row[k] for row in window if k in row]))
            for k in dict.fromkeys(k for row in window for k in row)
        }
        rows.append(means | {k: window[-1][k] for k in LAST})
    return rows
