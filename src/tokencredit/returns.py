"""Returns 回报: what came after each token, nearer rewards counting more."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from .checks import FLOATS, floats, number, rewards_only_where, tensor, token_mask
from .shapes import PerSequence, PerToken, TokenMask

BLOCK = 8  # positions added one after the other; blocks are joined recursively
CHUNK = 1 << 18  # positions handled at once: a megabyte of float32 stays in cache


def decayed_sum(x: Tensor, decay: Tensor, last: Tensor) -> Tensor:
    """Backward sum with a decay per step 衰减后缀和.

        y_t = x_t + decay_t * y_{t+1},    y_T = last

    Cut T into blocks. All blocks are summed side by side, and each also yields the
    product of its decays; their first entries form the same problem, BLOCK times
    shorter, whose solution is what each block finds to its right. So BLOCK * log(T)
    steps stand in sequence, and the work is linear in T.

    Args:
        x: what each position adds, [B, T].
        decay: what is kept of the sum to its right, [B, T].
        last: what stands to the right of the last position, [B].

    Returns:
        The sums, [B, T].

    >>> decayed_sum(torch.ones(1, 3), torch.full((1, 3), 0.5), torch.tensor([8.0]))
    tensor([[2.7500, 3.5000, 5.0000]])
    """
    batch, steps = x.shape
    if steps == 0:
        return x
    size = min(BLOCK, steps)
    extra = -steps % size
    blocked = (batch, (steps + extra) // size, size)
    if extra:
        x, decay = pad(x, (0, extra)), pad(decay, (0, extra), value=1)
    across = [y.reshape(blocked).permute(2, 0, 1) for y in (x, decay)]
    sums, kept = (y.clone(memory_format=torch.contiguous_format) for y in across)
    for t in range(size - 2, -1, -1):
        sums[t].addcmul_(kept[t], sums[t + 1])
        kept[t].mul_(kept[t + 1])
    firsts = decayed_sum(sums[0], kept[0], last) if blocked[1] > 1 else sums[0]
    sums.addcmul_(kept, torch.cat([firsts[:, 1:], last[:, None]], 1))
    return sums.permute(1, 2, 0).reshape(batch, steps + extra)[:, :steps]


def select(mask: Tensor, x: Tensor) -> Tensor:
    """x where the mask is True, else 0: torch.where without gradient, ten times faster.

    Bits are kept or cleared, so a NaN goes too (multiplying would keep it).

    >>> select(torch.tensor([True, False]), torch.tensor([3.0, float("nan")]))
    tensor([3., 0.])
    """
    bits = {4: torch.int32, 8: torch.int64}[x.element_size()]
    return (x.view(bits) & -mask.to(bits)).view(x.dtype)


def next_sum(x: Tensor, keep: Tensor, mask: Tensor, last: Tensor) -> Tensor:
    """The decayed sum that each token finds to its right.

    Masked tokens take no time step: they add 0 and keep everything.
    """
    one = torch.ones_like(last[:1, None])
    decay = torch.lerp(one, keep, mask.to(x.dtype))  # keep where live, else 1
    sums = decayed_sum(select(mask, x), decay, last)
    return torch.cat([sums[:, 1:], last[:, None]], 1)[:, : x.shape[1]]


def by_rows(function: Callable, *tensors: Tensor) -> Tensor:
    """Call a function on a few rows at a time, so that they stay in the cache."""
    rows = max(1, CHUNK // max(1, tensors[0].shape[1]))
    parts = zip(*(x.split(rows) for x in tensors), strict=True)
    return torch.cat([function(*part) for part in parts])


def everywhere(like: Tensor) -> Tensor:
    """The mask under which every token is live."""
    return torch.ones_like(like, dtype=torch.bool)


def bootstrap(last_values: Tensor | None, like: Tensor) -> Tensor:
    """What stands after the last token: `last_values` [B], or 0 where terminated."""
    if last_values is None:
        return like.new_zeros(len(like))
    per_row = like.new_empty(len(like))
    tensor("last_values", last_values, FLOATS, "floats", ndim=1, like=per_row)
    return last_values.detach().to(like.dtype)


def discounted_return(
    rewards: PerToken,
    mask: TokenMask | None = None,
    *,
    gamma: float = 1.0,
    last_values: PerSequence | None = None,
) -> PerToken:
    """Discounted return 折扣回报 of every token.

        G_t = r_t + gamma * G_{t+1},    G_T = 0 if terminated, V(s_T) if truncated

    As a matrix, G = U r with U[t, s] = gamma^(s-t) for s >= t; its inverse is
    1 - gamma * shift. Limits: gamma = 0 gives the reward itself, gamma = 1 the sum
    of what is still to come.

    Args:
        rewards: on the token that earned them, 0 on masked tokens.
        mask: True where the policy chose the token; masked tokens take no time step.
        gamma: discount factor per live token, in [0, 1].
        last_values: value of the state after the last token, 0 where terminated.

    Returns:
        Returns, 0 where masked, without gradient.

    Raises:
        ValueError: shapes, dtypes, gamma outside [0, 1], a reward on a masked token.

    Easy to break: a truncated row is not a terminated one; bootstrap it.

    >>> discounted_return(torch.tensor([[0.0, 0.0, 1.0]]), gamma=0.5)
    tensor([[0.2500, 0.5000, 1.0000]])
    """
    (rewards,) = floats(2, rewards=rewards)
    mask = everywhere(rewards) if mask is None else token_mask(mask, rewards)
    gamma = number("gamma", gamma, 0, 1)
    rewards_only_where(mask, rewards, "live tokens")
    last = bootstrap(last_values, rewards)
    keep = torch.full((), gamma, dtype=rewards.dtype, device=rewards.device)

    def rows(rewards, mask, last):
        returns = rewards.add(next_sum(rewards, keep, mask, last), alpha=gamma)
        return select(mask, returns)

    return by_rows(rows, rewards.detach(), mask, last)
