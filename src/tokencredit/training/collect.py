"""Collecting a round 采样一轮: sampled and judged, thinned and filled up again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from tokencredit.algorithm import Algorithm, named
from tokencredit.batch import Batch, join
from tokencredit.credit.groups import MISSING
from tokencredit.diagnostics import group_reward_std, zero_variance_share
from tokencredit.tensors.checks import choice
from tokencredit.training.dials import Dials
from tokencredit.training.stages import drop_unscored, filtered
from tokencredit.world.protocol import World
from tokencredit.world.scoring import RewardFunction


def collect(
    sampler: nn.Module,
    world: World,
    algorithm: Algorithm | str,
    dials: Dials,
    rng: np.random.Generator,
    generator: torch.Generator,
    reward_fn: RewardFunction | None = None,
    measure: Mapping[str, RewardFunction] | None = None,
    missing: str = "refuse",
) -> tuple[Batch, dict[str, float]]:
    """A sampled and scored round; with `refill`, sampling goes on until it is full.

    Refilling draws whole rounds, `dials.refills` at most, and keeps the groups that
    pass the filter, up to the size of the batch. The metrics include the dropped
    groups.

    Args:
        sampler: the policy that samples.
        world: a task or a game.
        algorithm: whose filter is applied here if it refills; else by `assign_credit`.
        dials: of the round.
        rng: of the prompts.
        generator: of the tokens.
        reward_fn, measure, missing: see `train`.

    Returns:
        The batch, and means over all sampled responses that have a verdict.

    Raises:
        ValueError: see `rollout`, `score` and `Game.sample`.
    """
    algorithm = named(algorithm)
    full = dials.prompts * dials.group_size
    kept, sampled = [], []
    judge = {"reward_fn": reward_fn, "measure": measure}
    if choice("missing", missing, MISSING) != "refuse":
        judge["missing"] = missing  # a user's world may lack the switch
    for _ in range(dials.refills if algorithm.refill else 1):
        batch, metrics = world.sample(
            sampler,
            dials.prompts,
            dials.group_size,
            temperature=dials.temperature,
            rng=rng,
            generator=generator,
            **judge,
        )
        sampled.append(
            metrics | {"groups": batch.groups + dials.prompts * len(sampled)}
        )
        if missing == "leave out":
            batch = drop_unscored(batch)
        if algorithm.refill:
            batch = filtered(algorithm, batch)
        if len(batch):
            kept.append(batch)
        if sum(map(len, kept)) >= full:
            break
    batch = join(kept).select(slice(full)) if kept else batch
    if not dials.bootstrap:
        batch = replace(batch, last_values=None)
    every = {name: torch.cat([s[name] for s in sampled]) for name in sampled[0]}
    groups = every.pop("groups")
    rewards = every["reward"]
    metrics = {name: mean(x) for name, x in every.items()}
    metrics["reward_std"] = group_reward_std(rewards, groups, missing=missing).item()
    metrics["equal_groups"] = zero_variance_share(
        rewards, groups, missing=missing
    ).item()
    if missing == "leave out":
        metrics["unjudged"] = int(rewards.isnan().sum())
    metrics["tokens"] = int(every["length"].sum())
    return batch, metrics


def mean(x: Tensor) -> float:
    """The mean, without the NaNs."""
    x = x.float()
    return x[~x.isnan()].mean().item() if x.isnan().any() else x.mean().item()
