"""What the experiments on the chain task share: one warm start per seed."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from ..algorithms import Algorithm
from ..policy import Policy
from ..tasks import task
from ..tasks.chain import Chain, reasons
from ..train import Dials, train, warm_up

COLUMNS = {
    "step": "rounds of sampling so far",
    "reward": "mean reward of the sampled answers",
    "success": "share of sampled answers that earn the full reward",
    "reasons": "share of answers that write the running sums",
    "length": "mean tokens per answer, EOS included",
    "truncated": "share of answers cut by the length limit",
    "entropy": "nats per token, last update of the round",
    "kl": "k3 of the policy against its sampler, last update of the round",
    "dead": "share of tokens with an advantage and no gradient, last update",
    "grad_norm": "before it is clipped, last update of the round",
    "kept": "answers that were learned from",
    "tokens": "tokens sampled so far",
    "seconds": "CPU seconds so far, one thread, warm-up not counted",
}
"""Every row is the mean of `every` rounds; step, tokens and seconds are their last."""

LAST = ("step", "tokens", "seconds")


@lru_cache(maxsize=2)
def warm_start(seed: int, quick: bool = False, chain: Chain | None = None) -> Policy:
    """A policy with a value head that read the textbook, then the mixed corpus.

    300 steps on running sums only, then 60 on the three habits; about 6 CPU seconds, to
    a success of about 0.22. Copy it before training.
    """
    chain = chain or task("chain")
    torch.manual_seed(seed)
    policy = Policy(
        len(chain.vocabulary),
        context=chain.max_prompt + chain.max_response,
        critic=True,
    )
    book = replace(chain, steps=1.0, ramble=0.0)
    warm_up(policy, book, steps=8 if quick else 300, seed=seed)
    warm_up(policy, chain, steps=4 if quick else 60, lr=1e-3, seed=1000 + seed)
    return policy


def learn(
    row: Algorithm,
    seed: int,
    quick: bool,
    checkpoint: Path | None,
    *,
    every: int = 5,
    chain: Chain | None = None,
    **dials,
) -> list[dict]:
    """Train a copy of the warm start; the rows of the run, thinned."""
    chain = chain or task("chain")
    policy = copy.deepcopy(warm_start(seed, quick, chain))
    if quick:
        dials |= {"steps": 2, "prompts": 4, "group_size": 4}
    history = train(
        policy,
        chain,
        row,
        dials=Dials(**dials),
        seed=seed,
        measure={"reasons": reasons},
        checkpoint=checkpoint,
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
