"""Filters 过滤: which groups are worth an update."""

from __future__ import annotations

import torch
from torch import Tensor

from tokencredit.credit.groups import group_rewards, total
from tokencredit.tensors.checks import number
from tokencredit.tensors.shapes import GroupIds, PerSequence, SequenceMask

ROUNDING = 4  # half a last bit in each reward moves two stds apart by 1.5 at most


def dynamic_sampling(
    rewards: PerSequence, groups: GroupIds, *, missing: str = "refuse"
) -> SequenceMask:
    """DAPO's dynamic sampling 动态采样 (2503.14476): keep groups that can teach.

        keep = the rewards of the group are not all equal

    Such groups have group-relative advantages other than 0; with 0/1 rewards this is
    0 < number correct < G.

    Args:
        rewards: one per sequence, finite, before any shaping.
        groups: which prompt each sequence answers.
        missing: "refuse" a NaN, or "leave out" such a response, which has no verdict:
            it is dropped, and its group is judged by the others.

    Returns:
        True for the sequences to keep.

    Raises:
        ValueError: NaN or infinite rewards (the place is named), ids of the wrong
            length.

    Easy to break: dropping samples shrinks the batch; go on sampling until it is full.

    >>> dynamic_sampling(torch.tensor([1.0, 1, 0, 1]), torch.tensor([0, 0, 1, 1]))
    tensor([False, False,  True,  True])
    """
    index, size, centred, _ = group_rewards(rewards, groups, missing)
    return (total(centred.abs(), index, size) > 0)[index] & ~rewards.isnan()


def top_variance(
    rewards: PerSequence,
    groups: GroupIds,
    *,
    keep: float = 0.25,
    missing: str = "refuse",
) -> SequenceMask:
    """StarPO-S's filter 轨迹过滤 (2504.20073): the groups of largest reward std.

        kept groups = max(1, int(keep * number of groups))

    Limits: keep = 1 keeps all. Groups whose std is equal up to the rounding of their
    rewards are tied: the one that comes first in the batch wins, on every CPU.

    Args:
        rewards: one per sequence, finite.
        groups: which prompt each sequence answers.
        keep: share of the groups, in (0, 1].
        missing: what happens to a NaN, see `dynamic_sampling`; a group without a
            verdict does not count.

    Returns:
        True for the sequences to keep.

    Raises:
        ValueError: NaN or infinite rewards (the place is named), ids of the wrong
            length, keep.

    Easy to break: filter before the advantages are normalised, which hides the std.

    >>> rewards = torch.tensor([1.0, 1, 0, 1])
    >>> top_variance(rewards, torch.tensor([0, 0, 1, 1]), keep=0.5)
    tensor([False, False,  True,  True])
    """
    keep = number("keep", keep, 0, 1, open_low=True)
    index, _, _, std = group_rewards(rewards, groups, missing)
    there = ~rewards.isnan()
    if not there.all():  # as though they had not been sampled
        kept = torch.zeros_like(there)
        kept[there] = top_variance(rewards[there], groups[there], keep=keep)
        return kept
    eps = torch.finfo(torch.promote_types(rewards.dtype, torch.float32)).eps
    largest = torch.zeros_like(std).scatter_reduce_(
        0, index, rewards.detach().double().abs(), "amax"
    )
    first = torch.full_like(std, len(index)).scatter_reduce_(
        0, index, torch.arange(len(index), device=index.device).to(std), "amin"
    )
    rank = tied_rank(std, ROUNDING * eps * largest)
    place = (rank * len(index) + first).argsort()
    kept = torch.zeros_like(std, dtype=torch.bool)
    kept[place[: max(1, int(keep * len(std)))]] = True
    return kept[index]


def tied_rank(x: Tensor, slack: Tensor) -> Tensor:
    """Rank from the largest, 0; neighbours no further apart than both slacks share it.

    >>> tied_rank(torch.tensor([1.0, 3.0, 3.1]), torch.full((3,), 0.2))
    tensor([1, 0, 0])
    """
    order = x.argsort(descending=True, stable=True)
    x, slack = x[order], slack[order]
    apart = x[:-1] - x[1:] > torch.minimum(slack[:-1], slack[1:])
    rank = torch.zeros_like(order)
    rank[order[1:]] = apart.cumsum(0)
    return rank
