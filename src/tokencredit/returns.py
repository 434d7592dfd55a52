"""Returns 回报: what came after each token, nearer rewards counting more."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from .checks import floats, number, rewards_only_where, tensor, token_mask
from .shapes import PerSequence, PerToken, TokenMask

BLOCK = 16  # positions added one after the other; blocks are joined recursively


def decayed_sum(x: Tensor, decay: Tensor) -> Tensor:
    """Backward sum with a decay per step 衰减后缀和: y_t = x_t + decay_t * y_{t+1}.

    Cut T into blocks. All blocks are summed side by side, and each also yields the
    product of its decays; its first entries form the same problem, BLOCK times
    shorter. So the steps in sequence are BLOCK * log(T), the work is linear in T.

    Args:
        x: what each position adds, [B, T].
        decay: what is kept of the sum to its right, [B, T].

    Returns:
        The sums, [B, T].

    >>> decayed_sum(torch.ones(1, 3), torch.full((1, 3), 0.5))
    tensor([[1.7500, 1.5000, 1.0000]])
    """
    batch, steps = x.shape
    size = min(BLOCK, max(steps, 1))
    extra = -steps % size
    blocked = (batch, (steps + extra) // size, size)
    sums = pad(x, (0, extra)).reshape(blocked).permute(2, 0, 1).contiguous()
    kept = pad(decay, (0, extra)).reshape(blocked).permute(2, 0, 1).contiguous()
    for t in range(size - 2, -1, -1):
        sums[t].addcmul_(kept[t], sums[t + 1])
        kept[t].mul_(kept[t + 1])
    if blocked[1] > 1:
        right = pad(decayed_sum(sums[0], kept[0])[:, 1:], (0, 1))
        sums.addcmul_(kept, right.expand_as(kept))
    return sums.permute(1, 2, 0).reshape(batch, steps + extra)[:, :steps]


def bootstrapped_sum(x, keep, mask, last_values):
    """The decayed sum over live tokens, seen from each position and from the next.

    Masked tokens take no time step: they add 0 and keep everything. To the right of
    the last position stands `last_values`.
    """
    x = torch.where(mask, x, 0)
    decay = torch.where(mask, keep, torch.ones_like(x))
    last = x.new_zeros(len(x), 1) if last_values is None else last_values[:, None]
    sums = decayed_sum(torch.cat([x, last], 1), pad(decay, (0, 1)))
    return sums[:, :-1], sums[:, 1:]


def bootstrap(last_values, like):
    """Check `last_values` [B]; None means every row terminated."""
    if last_values is None:
        return None
    (last_values,) = floats(1, last_values=last_values)
    tensor("last_values", last_values, (last_values.dtype,), "floats", like=like[:, 0])
    return last_values.detach()


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
    mask = token_mask(mask, rewards)
    gamma = number("gamma", gamma, 0, 1)
    rewards_only_where(mask, rewards, "live tokens")
    last_values = bootstrap(last_values, rewards)
    returns, _ = bootstrapped_sum(rewards.detach(), gamma, mask, last_values)
    return torch.where(mask, returns, 0)
