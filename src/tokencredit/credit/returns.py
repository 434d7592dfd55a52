"""Returns 回报: the discounted sum of the rewards from each token on."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from tokencredit.tensors.checks import (
    FLOATS,
    floats,
    number,
    rewards_only_where,
    tensor,
    token_mask,
)
from tokencredit.tensors.shapes import PerSequence, PerToken, TokenMask

BLOCK = 8  # positions added one after the other; blocks are joined recursively
CHUNK = 1 << 18  # positions handled at once: a megabyte of float32 stays in cache


def next_sum(x: Tensor, decay: Tensor, last: Tensor) -> Tensor:
    """The decayed sum to the right of each position 右侧的衰减和.

        z_t = x_{t+1} + decay_{t+1} z_{t+1},    z_{T-1} = last

    A short row is summed position by position. A longer one is cut into blocks that are
    summed in parallel, each with the product of its decays. The first entries of the
    blocks are the same problem, BLOCK times shorter; its solution is the sum to the
    right of each block. So the sequential depth is BLOCK * log(T), and the work is
    linear in T.

    Args:
        x: the terms, [B, T].
        decay: factor on the sum to the right, [B, T].
        last: the sum to the right of the last position, [B].

    Returns:
        The sums, [B, T].

    >>> next_sum(torch.ones(1, 3), torch.full((1, 3), 0.5), torch.tensor([8.0]))
    tensor([[3.5000, 5.0000, 8.0000]])
    """
    steps = x.shape[1]
    if steps <= 2 * BLOCK:
        x, decay, after = x.unbind(1), decay.unbind(1), [last]
        for t in range(steps - 1, 0, -1):
            after.append(torch.addcmul(x[t], decay[t], after[-1]))
        return torch.stack(after[::-1], 1)[:, :steps]
    extra = -steps % BLOCK
    if extra:
        x, decay = F.pad(x, (0, extra)), F.pad(decay, (0, extra), value=1)
    shape = (len(x), x.shape[1] // BLOCK, BLOCK)
    x, decay = (y.view(shape).permute(2, 0, 1) for y in (x, decay))
    sums = x.new_empty(BLOCK + 1, *x.shape[1:])  # one more: beyond the block
    sums[:-1], kept = x, decay.contiguous()
    y, d = sums.unbind(), kept.unbind()
    for t in range(BLOCK - 2, -1, -1):
        y[t].addcmul_(d[t], y[t + 1])
        d[t].mul_(d[t + 1])
    y[-1].copy_(next_sum(y[0], d[0], last))
    sums[1:-1].addcmul_(kept[1:], y[-1])
    return sums[1:].permute(1, 2, 0).flatten(1)[:, :steps]


def row_sum(rewards: PerToken) -> PerSequence:
    """Total reward of each row 整条的奖励, on whichever tokens it was paid.

    Added in float64, where sums of float32 rewards are exact: rows that earned the
    same get the same bits, on every CPU.

    >>> row_sum(torch.tensor([[1.0, 0.0, 2.0]]))
    tensor([3.])
    """
    return rewards.sum(1, dtype=torch.float64).to(rewards.dtype)


def decayed_sum(x: Tensor, decay: Tensor, last: Tensor) -> Tensor:
    """Backward sum with a decay per step 衰减后缀和.

        y_t = x_t + decay_t y_{t+1},    y_T = last

    >>> decayed_sum(torch.ones(1, 3), torch.full((1, 3), 0.5), torch.tensor([8.0]))
    tensor([[2.7500, 3.5000, 5.0000]])
    """
    return x.addcmul(decay, next_sum(x, decay, last))


def select(mask: Tensor, x: Tensor) -> Tensor:
    """x where the mask is True, else 0: torch.where without gradient, twice as fast.

    Bits are kept or cleared, so a NaN is removed too (a product would keep it).

    >>> select(torch.tensor([True, False]), torch.tensor([3.0, float("nan")]))
    tensor([3., 0.])
    """
    bits = {4: torch.int32, 8: torch.int64}[x.element_size()]
    return (x.view(bits) & mask.to(bits).neg_()).view(x.dtype)


def decays(keep: Tensor | float, mask: Tensor, like: Tensor) -> Tensor:
    """keep on live tokens; 1 on masked ones, which take no time step.

    >>> decays(0.5, torch.tensor([True, False]), torch.zeros(2))
    tensor([0.5000, 1.0000])
    """
    live = mask.view(torch.uint8).to(like.dtype)  # bytes convert faster than bools
    return live.mul_(keep - 1).add_(1)


def by_rows(function: Callable, *tensors: Tensor) -> Tensor:
    """Call a function on a few rows at a time, so that they stay in the cache."""
    rows = max(1, CHUNK // max(1, tensors[0].shape[1]))
    out = torch.empty_like(tensors[0])
    for part, *parts in zip(*(x.split(rows) for x in (out, *tensors)), strict=True):
        part.copy_(function(*parts))
    return out


def everywhere(like: Tensor) -> Tensor:
    """The mask under which every token is live."""
    return torch.ones_like(like, dtype=torch.bool)


def bootstrap(last_values: Tensor | None, like: Tensor) -> Tensor:
    """Value after the last token: `last_values` [B], 0 where terminated."""
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

    As a matrix, G = U r with U[t, s] = gamma^(s-t) for s >= t; its inverse is 1 - gamma
    * shift. Limits: gamma = 0 gives the reward itself, gamma = 1 the sum of the rewards
    from here on.

    Args:
        rewards: on the token that earned them, 0 on masked tokens.
        mask: True where the policy chose the token; masked tokens take no time step.
        gamma: discount factor per live token, in [0, 1].
        last_values: value of the state after the last token, 0 where terminated.

    Returns:
        Returns, 0 where masked, without gradient.

    Raises:
        ValueError: shapes, dtypes, gamma outside [0, 1], a reward on a masked token.

    Easy to break: a truncated row is not a terminated one; bootstrap it, unless the
    limit is part of the task.

    >>> discounted_return(torch.tensor([[0.0, 0.0, 1.0]]), gamma=0.5)
    tensor([[0.2500, 0.5000, 1.0000]])
    """
    (rewards,) = floats(2, rewards=rewards)
    mask = everywhere(rewards) if mask is None else token_mask(mask, rewards)
    gamma = number("gamma", gamma, 0, 1)
    rewards_only_where(mask, rewards, "live tokens")
    last = bootstrap(last_values, rewards)

    def rows(rewards, mask, last):
        decay = decays(gamma, mask, rewards)
        return select(mask, decayed_sum(select(mask, rewards), decay, last))

    return by_rows(rows, rewards.detach(), mask, last)


def per_turn(rewards: PerToken, turn_ends: TokenMask) -> PerToken:
    """Total reward of each turn, on its last token 每轮的奖励; none after the last.

    >>> ends = torch.tensor([[False, True, False, True]])
    >>> per_turn(torch.tensor([[1.0, 2.0, 0.0, 4.0]]), ends)
    tensor([[0., 3., 0., 4.]])
    """
    turn = turn_ends.cumsum(1) - turn_ends.long()
    sums = F.pad(torch.zeros_like(rewards), (0, 1)).scatter_add(1, turn, rewards)
    return torch.where(turn_ends, sums.gather(1, turn), 0)
