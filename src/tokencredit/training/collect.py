"""Collecting a round 采样一轮: sampled and judged, thinned and filled up again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from tokencredit.algorithm import Algorithm, given
from tokencredit.batch import Batch, join
from tokencredit.diagnostics import group_reward_std, zero_variance_share
from tokencredit.training.dials import Dials
from tokencredit.world.protocol import World
from tokencredit.world.verdict import Verdict


def collect(
    sampler: nn.Module,
    world: World,
    algorithm: Algorithm,
    dials: Dials,
    rng: np.random.Generator,
    generator: torch.Generator,
    verdict: Verdict | None = None,
    measure: Mapping[str, Verdict] | None = None,
) -> tuple[Batch, dict[str, float]]:
    """Sample and judge a round; an algorithm that refills samples until it is full.

    Refilling draws whole rounds, `dials.refills` at most, and keeps the groups that can
    teach, up to the size of the batch. The metrics describe all that was sampled, the
    dropped groups too.

    Args:
        sampler: the policy that writes.
        world: a task or a game.
        algorithm: whose filter is used if it refills; else `credit` applies it.
        dials: of the round.
        rng: of the prompts.
        generator: of the tokens.
        verdict, measure: see `train`.

    Returns:
        The batch, and means over what was sampled.

    Raises:
        ValueError: see `rollout`, `score` and `Game.sample`.
    """
    full = dials.prompts * dials.group_size
    kept, sampled = [], []
    for _ in range(dials.refills if algorithm.refill else 1):
        batch, metrics = world.sample(
            sampler,
            dials.prompts,
            dials.group_size,
            temperature=dials.temperature,
            rng=rng,
            generator=generator,
            verdict=verdict,
            measure=measure,
        )
        sampled.append(
            metrics | {"groups": batch.groups + dials.prompts * len(sampled)}
        )
        if algorithm.refill:
            scores = {"rewards": metrics["reward"], "groups": batch.groups}
            batch = batch.select(given(algorithm, "keep", scores))
        if len(batch):
            kept.append(batch)
        if sum(map(len, kept)) >= full:
            break
    batch = join(kept).select(slice(full)) if kept else batch
    every = {name: torch.cat([s[name] for s in sampled]) for name in sampled[0]}
    groups = every.pop("groups")
    metrics = {name: x.float().mean().item() for name, x in every.items()}
    metrics["reward_std"] = group_reward_std(every["reward"], groups).item()
    metrics["equal_groups"] = zero_variance_share(every["reward"], groups).item()
    metrics["tokens"] = int(every["length"].sum())
    return batch, metrics
