"""Shared by the experiments on the source note's sort task."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from tokenbook.lab.experiments._chain import thin
from tokencredit.algorithm import Algorithm
from tokencredit.algorithms import ALGORITHMS
from tokencredit.credit.advantages import group_relative, leave_one_out, plain_reward
from tokencredit.training import Dials, train
from tokencredit.weight.losses import ppo_clip_loss, reinforce_loss
from tokencredit.world.policy import PositionPolicy
from tokencredit.world.rollout import rollout, texts
from tokencredit.world.tasks import task

COLUMNS = {
    "step": "rounds of sampling so far",
    "reward": "mean reward of the responses (position: 3 at most, inclusion: 5)",
    "success": "share of sampled responses that are sorted",
    "sorted": "prompts of 3 whose most likely response is sorted, at the end",
    "entropy": "nats per token, last update of the round",
    "seconds": "CPU seconds so far, one thread",
}
KEPT = ("step", "reward", "success", "entropy", "tokens", "seconds")


def best_only(rewards, groups):
    """The note's "max": the reward where it is the best of its group, else 0."""
    best = torch.stack([rewards[groups == g].max() for g in groups])
    return torch.where(rewards == best, rewards, 0.0)


def log_over_log(log_probs, log_ratio, advantages):
    """The note's mistaken ratio, log p / log p_old, as written there."""
    old = (log_probs - log_ratio).detach()
    return -(log_probs / old) * advantages


DELTAS = {
    "raw": plain_reward,
    "centred": partial(group_relative, scale=False),
    "leave-one-out": leave_one_out,
    "normalised": partial(group_relative, scale=True, eps=1e-5),
    "max": best_only,
}
LOSSES = {
    "naive": reinforce_loss,
    "ratio": partial(ppo_clip_loss, clip_low=0.2, clip_high=0.2),
    "log/log": log_over_log,
}


def sort_row(delta: str, loss: str = "naive") -> Algorithm:
    """REINFORCE with the note's deltas and losses, a mean over the tokens."""
    return replace(
        ALGORITHMS["REINFORCE"],
        name=f"{delta}, {loss}",
        advantage=DELTAS[delta],
        loss=LOSSES[loss],
        aggregation="token-mean",
    )


def learn_sort(
    row: Algorithm,
    pays: str,
    seed: int,
    checkpoint: Path | None,
    *,
    flatten: float = 1.0,
    every: int = 10,
    **dials,
) -> list[dict]:
    """Train the note's model on its three prompts; rows thinned, `sorted` at the end.

    A gradient that is no number ends the run: its later rows hold NaN.
    """
    sorting = task("note-sort", pays=pays)
    torch.manual_seed(seed)
    policy = PositionPolicy(len(sorting.vocabulary), flatten=flatten)
    settings = Dials(prompts=3, max_grad_norm=1e9, **dials)
    every = min(every, settings.steps)
    try:
        history = train(
            policy, sorting, row, dials=settings, seed=seed, checkpoint=checkpoint
        )
    except FloatingPointError:
        nan = float("nan")
        broken = dict.fromkeys(KEPT, nan) | {"sorted": nan}
        return [broken | {"step": s} for s in range(every, settings.steps + 1, every)]
    best = rollout(policy, sorting, list(sorting.fixed), temperature=0)
    responses = zip(sorting.fixed, texts(best, sorting.vocabulary), strict=True)
    right = sum(response == sorting.gold(prompt) for prompt, response in responses)
    rows = [{k: row[k] for k in KEPT} for row in thin(history, every)]
    return [row | {"sorted": right} for row in rows]
