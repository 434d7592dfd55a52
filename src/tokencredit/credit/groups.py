"""Groups 组: the responses to one prompt, known by id, in any order."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from tokencredit.tensors.checks import choice, describe, floats, group_ids
from tokencredit.tensors.shapes import GroupIds, PerSequence

TINY = 1e-154  # a deviation this small has a square of 0: so that 0 / std is 0
MISSING = ("refuse", "leave out")  # of a reward that is NaN


class Groups(NamedTuple):
    """Rewards, group by group, in float64; the smallest id is group 0.

    A reward that is left out is in no sum: `size` does not count it, and it is centred
    to 0.
    """

    index: Tensor  # [B]: index of a sequence's group, 0 .. G-1
    size: Tensor  # [G], in float64: a quotient of integers would be float32
    centred: Tensor  # [B]: reward minus the mean of its group
    std: Tensor  # [G]: with n - 1; 0 for a group of one


def group_rewards(
    rewards: PerSequence, groups: GroupIds, missing: str = "refuse"
) -> Groups:
    """Means and standard deviations per group, for any ids.

    Sums run in float64, in the order of the batch, on rewards measured from the lowest
    of the group. So equal rewards are centred to exactly 0 and have a standard
    deviation of exactly 0, and every CPU finds the same but for the last bit of a root.
    A variance beyond float64 is computed in units of the largest deviation.

    Raises:
        ValueError: an infinite reward, a NaN unless `missing` is "leave out" (the place
            is named), a sum of a group beyond float64, ids of the wrong length.

    >>> group_rewards(torch.tensor([3.0, 0.1, 1.0]), torch.tensor([7, 2, 7])).std
    tensor([0.0000, 1.4142], dtype=torch.float64)
    """
    floats(1, rewards=rewards)
    group_ids(groups, rewards)
    choice("missing", missing, MISSING)
    came, rewards = rewards, rewards.detach().double()
    _, index, size = groups.unique(return_inverse=True, return_counts=True)
    size = size.double()
    out = rewards.isnan() if missing == "leave out" else None
    if out is not None:
        size = size - total(out.double(), index, size)
        rewards = rewards.masked_fill(out, math.inf)  # never the lowest of a group
    lowest = torch.full_like(size, math.inf).scatter_reduce_(0, index, rewards, "amin")
    centred = rewards - lowest.take(index)
    if out is not None:
        centred.masked_fill_(out, 0)
    mean = total(centred, index, size).div_(size.clamp(min=1))
    if not (math.isfinite(mean.sum()) or mean.isfinite().all()):
        only_finite(came, missing)
        raise ValueError(
            "rewards must be so small that float64 holds the sum of a group; got "
            + describe(came)
        )
    centred.sub_(mean.take(index))
    if out is not None:
        centred.masked_fill_(out, 0)
    return Groups(index, size, centred, spread(centred, index, size))


def spread(centred: Tensor, index: Tensor, size: Tensor) -> Tensor:
    """Standard deviation per group, with n - 1, of deviations from its mean."""
    rest = (size - 1).clamp_(min=1)
    var = total(centred.square(), index, size).div_(rest)
    if math.isfinite(var.sum()):
        return var.sqrt_()
    unit = torch.zeros_like(size)  # a square is beyond float64
    unit.scatter_reduce_(0, index, centred.abs(), "amax").clamp_(min=TINY)
    var = total((centred / unit.take(index)).square(), index, size).div_(rest)
    return var.sqrt_().mul_(unit)


def only_finite(rewards: Tensor, missing: str = "refuse"):
    """Raise for the first reward that is no finite number; a NaN may be left out."""
    bad = ~rewards.isfinite()
    if missing == "leave out":
        bad &= ~rewards.isnan()
    if bad.any():
        place = bad.nonzero()[0].tolist()
        value = rewards[tuple(place)]
        hint = "; missing='leave out' is for NaN" if value.isnan() else ""
        raise ValueError(
            f"rewards must be finite{hint}; got {value.item()} at {place} of "
            + describe(rewards)
        )


def total(x, index, size):
    """Sum of x per group."""
    return torch.zeros_like(size).index_add_(0, index, x)
