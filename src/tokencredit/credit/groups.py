"""Groups 组: the responses to one prompt, known by id, in any order."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from tokencredit.tensors.checks import floats, group_ids, require
from tokencredit.tensors.shapes import GroupIds, PerSequence


class Groups(NamedTuple):
    """Rewards, group by group, in float64; the smallest id is group 0."""

    index: Tensor  # [B]: which group a sequence belongs to, 0 .. G-1
    size: Tensor  # [G], in float64: a quotient of integers would be float32
    centred: Tensor  # [B]: reward minus the mean of its group
    std: Tensor  # [G]: with n - 1; 0 for a group of one


def group_rewards(rewards: PerSequence, groups: GroupIds) -> Groups:
    """Means and standard deviations per group, whatever the ids.

    Sums run in float64, in the order of the batch, on rewards measured from the lowest
    of the group. So equal rewards are centred to exactly 0 and have a standard
    deviation of exactly 0, and every CPU finds the same but for the last bit of a root.

    >>> group_rewards(torch.tensor([3.0, 0.1, 1.0]), torch.tensor([7, 2, 7])).std
    tensor([0.0000, 1.4142], dtype=torch.float64)
    """
    floats(1, rewards=rewards)
    group_ids(groups, rewards)
    rewards = rewards.detach().double()
    _, index, size = groups.unique(return_inverse=True, return_counts=True)
    size = size.double()
    lowest = torch.full_like(size, math.inf).scatter_reduce_(0, index, rewards, "amin")
    centred = rewards - lowest.take(index)
    mean = total(centred, index, size).div_(size)
    require(math.isfinite(mean.sum()), "rewards", "finite", rewards)
    centred.sub_(mean.take(index))
    var = total(centred.square(), index, size).div_((size - 1).clamp_(min=1))
    return Groups(index, size, centred, var.sqrt_())


def total(x, index, size):
    """Sum of x per group."""
    return torch.zeros_like(size).index_add_(0, index, x)
