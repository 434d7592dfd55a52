"""Rewards 奖励 that depend on length alone."""

from __future__ import annotations

import torch
from torch import Tensor

from tokencredit.tensors.checks import FLOATS, INTEGERS, number, require, tensor


def soft_overlong(lengths: Tensor, *, max_length: float, cache: float) -> Tensor:
    """DAPO's soft overlong penalty 软超长惩罚 (2503.14476 eq. 13), added to the reward.

        0                               n <= max_length - cache
        (max_length - cache - n)/cache  in between, falling to -1 at max_length
        -1                              n > max_length

    Args:
        lengths: response lengths in tokens, integers or floats.
        max_length: the generation limit (20480 in the paper, not 16384).
        cache: width of the ramp (4096 in the paper), 0 < cache <= max_length.

    Returns:
        Penalties in [-1, 0], in float32 for integer lengths.

    Raises:
        ValueError: negative lengths, cache outside (0, max_length].

    Easy to break: max_length is where the ramp ends, not where it begins.

    >>> soft_overlong(torch.tensor([70, 90, 100, 150]), max_length=100, cache=20)
    tensor([ 0.0000, -0.5000, -1.0000, -1.0000])
    """
    tensor("lengths", lengths, FLOATS + INTEGERS, "integers or floats")
    require(not (lengths < 0).any(), "lengths", "0 or more", lengths)
    max_length = number("max_length", max_length, open_low=True)
    cache = number("cache", cache, 0, max_length, open_low=True)
    dtype = torch.float64 if lengths.dtype == torch.float64 else torch.float32
    return ((max_length - cache - lengths.detach().to(dtype)) / cache).clamp(-1, 0)
