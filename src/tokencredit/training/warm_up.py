"""Warm-up 监督微调: imitation of demonstrations, before any reward."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from tqdm.auto import tqdm

from tokencredit.tensors.checks import whole
from tokencredit.tensors.shapes import TokenIds, TokenMask
from tokencredit.world.protocol import World

RISE = 20  # steps until the learning rate is full


def warm_up(
    policy: nn.Module,
    world: World,
    *,
    steps: int,
    batch_size: int = 64,
    micro_size: int | None = None,
    lr: float = 3e-3,
    seed: int = 0,
    progress: bool = False,
) -> list[float]:
    """Supervised fine-tuning on the demonstrations 监督微调; the loss per step.

    Cross-entropy on the tokens of the response, Adam with the learning rate of
    `schedule`. With a `micro_size`, rows of similar length are read together and their
    gradients add up to the step's.

    Args:
        policy: changed in place.
        world: a task or a game, which demonstrates.
        steps: optimizer steps.
        batch_size: demonstrations per step.
        micro_size: demonstrations per forward pass; None: all at once.
        lr: largest learning rate.
        seed: of the demonstrations.
        progress: show a bar.

    Returns:
        The mean cross-entropy of each step, in nats per token.

    Raises:
        ValueError: a micro_size below 1.
    """
    if micro_size is not None:
        whole("micro_size", micro_size)
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(policy.parameters(), lr=lr, betas=(0.9, 0.95))
    losses = []
    for step in tqdm(range(steps), desc="warm-up", disable=not progress):
        tokens, mask = world.demonstrations(batch_size, rng)
        for group in optimizer.param_groups:
            group["lr"] = lr * schedule(step, steps)
        optimizer.zero_grad()
        losses.append(imitate(policy, tokens, mask, micro_size))
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
    return losses


def schedule(step: int, steps: int) -> float:
    """Share of the learning rate: it rises for 20 steps and falls over the second half.

    >>> [schedule(step, 100) for step in (0, 19, 49, 75, 99)]
    [0.05, 1, 1, 0.5, 0.02]
    """
    return min(1, (step + 1) / RISE, 2 * (steps - step) / steps)


def imitate(
    policy: nn.Module, tokens: TokenIds, mask: TokenMask, micro_size: int | None
) -> float:
    """Add up the gradient of the cross-entropy on the masked tokens; that loss."""
    places = torch.arange(1, mask.shape[1] + 1)
    lengths = (mask * places).amax(1)  # up to the last token that is imitated
    parts = [torch.arange(len(mask))]
    if micro_size:
        parts = lengths.argsort(stable=True).split(micro_size)
    total, counted = 0.0, int(mask.sum())
    for rows in parts:
        width = int(lengths[rows].max())
        said, words = mask[rows, 1:width], tokens[rows, :width]
        logits, _ = policy(words)
        loss = F.cross_entropy(logits[:, :-1][said], words[:, 1:][said])
        loss = loss * (int(said.sum()) / counted)
        loss.backward()
        total += loss.item()
    return total
