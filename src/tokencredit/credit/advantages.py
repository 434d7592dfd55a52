"""Advantages 优势: reward minus its expectation, per token or per sequence."""

from __future__ import annotations

import torch

from tokencredit.credit.groups import MISSING, TINY, group_rewards, only_finite
from tokencredit.credit.returns import (
    bootstrap,
    by_rows,
    decays,
    everywhere,
    next_sum,
    select,
)
from tokencredit.tensors.checks import (
    choice,
    floats,
    group_ids,
    number,
    require,
    rewards_only_where,
    token_mask,
)
from tokencredit.tensors.shapes import GroupIds, PerSequence, PerToken, TokenMask


def gae(
    rewards: PerToken,
    values: PerToken,
    mask: TokenMask | None = None,
    *,
    gamma: float = 1.0,
    lam: float = 0.95,
    last_values: PerSequence | None = None,
) -> PerToken:
    """Generalised advantage estimation 广义优势估计 (1506.02438 eq. 16).

        A_t = delta_t + gamma lam A_{t+1},  delta_t = r_t + gamma V_{t+1} - V_t

    Computed as lambda-return minus value: with M_t = (1 - lam) V_t + lam G_t,
    G_t = r_t + gamma M_{t+1}, which is one decayed sum of lam r + (1 - lam) V.
    Limits: lam = 1 gives return - V, lam = 0 the one-step error delta.

    Args:
        rewards: on the token that earned them, 0 on masked tokens.
        values: the critic's estimate before each token, from the policy that sampled.
        mask: True where the policy chose the token; "next" is the next live token.
        gamma: discount factor per live token, in [0, 1].
        lam: how far to trust the rewards over the critic, in [0, 1].
        last_values: value of the state after the last token, 0 where terminated.

    Returns:
        Advantages, 0 where masked, not whitened, without gradient.

    Raises:
        ValueError: shapes, dtypes, dials outside [0, 1], a reward on a masked token.

    Easy to break: the critic's target is gae(...) + values, before any whitening.

    >>> rewards = torch.tensor([[0.0, 1.0]])
    >>> gae(rewards, torch.tensor([[0.5, 0.6]]), gamma=1.0, lam=0.5)
    tensor([[0.3000, 0.4000]])
    """
    rewards, values = floats(2, rewards=rewards, values=values)
    mask = everywhere(rewards) if mask is None else token_mask(mask, rewards)
    gamma, lam = number("gamma", gamma, 0, 1), number("lam", lam, 0, 1)
    rewards_only_where(mask, rewards, "live tokens")
    last = bootstrap(last_values, rewards)

    def rows(rewards, values, mask, last):
        decay = decays(gamma * lam, mask, rewards)
        mixed = select(mask, torch.lerp(values, rewards, lam))  # lam r + (1 - lam) V
        returns = rewards.add(next_sum(mixed, decay, last), alpha=gamma)
        return select(mask, returns.sub_(values))

    return by_rows(rows, rewards.detach(), values.detach(), mask, last)


def turn_gae(
    rewards: PerToken,
    values: PerToken,
    mask: TokenMask,
    turn_ends: TokenMask,
    *,
    gamma: float = 1.0,
    lam: float = 0.95,
    turn_gamma: float = 0.95,
    last_values: PerSequence | None = None,
) -> PerToken:
    """Bi-level GAE 双层 GAE (VAGEN 2510.16907): over turns, then inside each turn.

        over turn ends:  R = gae(r, V; turn_gamma, lam, last_values) + V
        inside a turn:   gae with reward R on its last token, no value beyond it

    The state after the last turn of a truncated episode counts as the start of a next
    turn, so its value is discounted by turn_gamma. Limit: one turn gives gae(rewards,
    values, mask), with last_values if turn_gamma = gamma.

    Args:
        rewards: on turn ends only.
        values: the critic's estimate before each token.
        mask: True where the policy chose the token.
        turn_ends: True on the last token of each turn, rewarded or not.
        gamma: discount factor per live token inside a turn, in [0, 1].
        lam: the GAE parameter of both levels, in [0, 1].
        turn_gamma: discount factor per turn, in [0, 1].
        last_values: value of the state after the last turn, 0 where terminated.

    Returns:
        Advantages, 0 where masked, not whitened, without gradient.

    Raises:
        ValueError: a turn end on a masked token, a reward off a turn end, a live
            token after the last turn end; shapes, dtypes, dials outside [0, 1].

    Easy to break: a turn whose reward is 0 is still a turn.

    >>> live = torch.ones(1, 4, dtype=torch.bool)
    >>> ends = torch.tensor([[False, True, False, True]])
    >>> rewards, values = torch.tensor([[0.0, 0.0, 0.0, 1.0]]), torch.zeros(1, 4)
    >>> turn_gae(rewards, values, live, ends, lam=1.0, turn_gamma=0.5)
    tensor([[0.5000, 0.5000, 1.0000, 1.0000]])
    """
    rewards, values = floats(2, rewards=rewards, values=values)
    mask = token_mask(mask, rewards)
    turn_ends = ends_of_turns(turn_ends, rewards, mask)
    gamma, lam = number("gamma", gamma, 0, 1), number("lam", lam, 0, 1)
    turn_gamma = number("turn_gamma", turn_gamma, 0, 1)
    values = values.detach()
    over = {"gamma": turn_gamma, "lam": lam, "last_values": last_values}
    turns = gae(rewards, values, turn_ends, **over)
    rewards = torch.where(turn_ends, turns + values, 0)
    mixed = select(mask, torch.lerp(values, rewards, lam))
    decay = decays(gamma * lam, mask, rewards).masked_fill_(turn_ends, 0)
    mixed_next = next_sum(mixed, decay, bootstrap(None, rewards))
    returns = torch.where(turn_ends, rewards, gamma * mixed_next)
    return torch.where(mask, returns - values, 0)


def ends_of_turns(turn_ends, rewards, mask) -> TokenMask:
    """Turn ends that close every turn, with no reward beside them."""
    turn_ends = token_mask(turn_ends, rewards, "turn_ends")
    require(not (turn_ends & ~mask).any(), "turn_ends", "on live tokens", turn_ends)
    rewards_only_where(turn_ends, rewards, "turn ends")
    ends_ahead = turn_ends.flip(1).cumsum(1).flip(1) > 0
    closed = (ends_ahead | ~mask).all()
    require(closed, "turn_ends", "at or after live tokens", turn_ends)
    return turn_ends


def group_relative(
    rewards: PerSequence,
    groups: GroupIds,
    *,
    scale: bool = True,
    eps: float = 1e-6,
    missing: str = "refuse",
) -> PerSequence:
    """Group-relative advantage 组相对优势 of GRPO (2402.03300 sec. 4.1.2).

        A_i = (R_i - mean_g) / (std_g + eps),    std_g with n - 1

    `scale=False` leaves out the division: Dr. GRPO (2503.20783). Limits: a group of
    one, or of equal rewards, gives exactly 0.

    Args:
        rewards: one per sequence, finite.
        groups: which prompt each sequence answers; any ids, any order.
        scale: whether to divide by the standard deviation of the group.
        eps: added to the standard deviation.
        missing: "refuse" a NaN, or "leave out" such a response, which has no verdict:
            it is in no mean and no std and gets 0.

    Returns:
        One advantage per sequence, without gradient.

    Raises:
        ValueError: NaN or infinite rewards (the place is named), ids of the wrong
            length, eps < 0.

    Easy to break: groups go by id, never by position, and never per micro-batch.

    >>> rewards = torch.tensor([1.0, 5.0, 0.0])
    >>> group_relative(rewards, torch.tensor([0, 1, 0]))
    tensor([ 0.7071,  0.0000, -0.7071])
    >>> night = torch.tensor([1.0, float("nan"), 0.0])
    >>> group_relative(night, torch.zeros(3).long(), scale=False, missing="leave out")
    tensor([ 0.5000,  0.0000, -0.5000])
    """
    require(isinstance(scale, bool), "scale", "True or False", scale)
    eps = number("eps", eps)
    index, _, centred, std = group_rewards(rewards, groups, missing)
    if scale:
        centred.div_(std.add_(max(eps, TINY)).take(index))
    return centred.to(torch.promote_types(rewards.dtype, torch.float32))


def group_turns(
    rewards: PerToken,
    mask: TokenMask,
    turn_ends: TokenMask,
    groups: GroupIds,
    *,
    scale: bool = True,
    eps: float = 1e-6,
    missing: str = "refuse",
) -> PerToken:
    """Group-relative credit per turn 逐轮次的组标准化, without a critic.

        z = (r - mean) / (std + eps)   over all turns of all episodes of the group
        A_{i,t} = sum of z over the turns of episode i that end at or after t

    Process supervision of GRPO (DeepSeekMath, 2402.03300 sec. 4.1.3) with a turn as
    the step. Limit: one turn per episode gives `group_relative`.

    Args:
        rewards: on turn ends only.
        mask: True where the policy chose the token.
        turn_ends: True on the last token of each turn, rewarded or not.
        groups: which prompt each episode answers; any ids, any order.
        scale: whether to divide by the standard deviation.
        eps: added to the standard deviation.
        missing: "refuse" a NaN, or "leave out" an episode that has one: its turns are
            in no mean and no std and get 0.

    Returns:
        One advantage per token, 0 where masked, without gradient.

    Raises:
        ValueError: a turn end on a masked token, a reward off a turn end, a live
            token after the last turn end; NaN rewards, shapes, ids of the wrong
            length, eps < 0.

    Easy to break: an episode of more turns adds up more terms.

    >>> rewards, live = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.ones(2, 2) > 0
    >>> group_turns(rewards, live, live, torch.tensor([0, 0]), scale=False)
    tensor([[ 0.5000, -0.2500],
            [-0.5000, -0.2500]])
    """
    (rewards,) = floats(2, rewards=rewards)
    mask = token_mask(mask, rewards)
    turn_ends = ends_of_turns(turn_ends, rewards, mask)
    group_ids(groups, rewards.sum(1))
    only_finite(rewards, choice("missing", missing, MISSING))
    if missing == "leave out":
        unjudged = rewards.isnan().any(1, keepdim=True)
        rewards = torch.where(unjudged & turn_ends, torch.nan, rewards)
    turns = torch.zeros_like(rewards)
    turns[turn_ends] = group_relative(
        rewards[turn_ends],
        groups[:, None].expand_as(turn_ends)[turn_ends],
        scale=scale,
        eps=eps,
        missing=missing,
    )
    return torch.where(mask, turns.flip(1).cumsum(1).flip(1), 0)


def leave_one_out(
    rewards: PerSequence, groups: GroupIds, *, missing: str = "refuse"
) -> PerSequence:
    """Leave-one-out advantage 留一法 of RLOO (2402.14740).

        A_i = R_i - mean of the others = n / (n - 1) * (R_i - mean_g)

    The baseline does not contain the sample itself, so the gradient is unbiased.
    Limit: a group of one gives 0.

    Args:
        rewards: one per sequence, finite.
        groups: which prompt each sequence answers; any ids, any order.
        missing: what happens to a NaN, see `group_relative`.

    Returns:
        One advantage per sequence, without gradient.

    Raises:
        ValueError: NaN or infinite rewards (the place is named), ids of the wrong
            length.

    Easy to break: a baseline may use the other samples, never the sample itself.

    >>> leave_one_out(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([4, 4, 4]))
    tensor([ 1.0000, -0.5000, -0.5000])
    """
    index, size, centred, _ = group_rewards(rewards, groups, missing)
    advantages = centred * (size / (size - 1).clamp(min=1)).take(index)
    return advantages.to(torch.promote_types(rewards.dtype, torch.float32))


def teacher_gap(
    old_log_probs: PerToken, ref_log_probs: PerToken, mask: TokenMask
) -> PerToken:
    """Advantage of on-policy distillation 同策略蒸馏的优势: teacher minus student.

        A_t = log pi_teacher(y_t) - log pi_old(y_t)

    The teacher takes the place of the reference. Its expectation over y_t is minus the
    reverse KL at that place, and the policy gradient with it is the gradient of that KL
    (2306.13649; the form with the sampled token: Lu 2025). No reward enters, and no
    token gets credit for later ones. Limit: A = 0 where teacher and student agree.

    Args:
        old_log_probs: of the student when it sampled.
        ref_log_probs: of the same tokens under the teacher.
        mask: True where the student chose the token.

    Returns:
        Advantages, 0 where masked, without gradient.

    Raises:
        ValueError: shapes differ, not float, mask not bool.

    Easy to break: differentiated as a loss, it has an expected gradient of 0 for every
    teacher.

    >>> old, teacher = torch.tensor([[0.5, 0.8]]).log(), torch.tensor([[0.25, 0.8]])
    >>> teacher_gap(old, teacher.log(), old < 0).round(decimals=4)
    tensor([[-0.6931,  0.0000]])
    """
    old, teacher = floats(2, old_log_probs=old_log_probs, ref_log_probs=ref_log_probs)
    mask = token_mask(mask, old)
    return torch.where(mask, teacher - old, 0).detach()


def plain_reward(rewards: PerSequence) -> PerSequence:
    """No baseline 无基线: the advantage is the reward itself (Williams 1992).

    >>> plain_reward(torch.tensor([1.0, 0.0]))
    tensor([1., 0.])
    """
    return rewards
