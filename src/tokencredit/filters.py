"""Filters 过滤: which groups are worth an update."""

from __future__ import annotations

import torch

from .checks import number
from .groups import group_rewards, total
from .shapes import GroupIds, PerSequence, SequenceMask


def dynamic_sampling(rewards: PerSequence, groups: GroupIds) -> SequenceMask:
    """DAPO's dynamic sampling 动态采样 (2503.14476): keep groups that can teach.

        keep = the rewards of the group are not all equal

    Such groups have group-relative advantages other than 0; with 0/1 rewards this is
    0 < number correct < G.

    Args:
        rewards: one per sequence, finite, before any shaping.
        groups: which prompt each sequence answers.

    Returns:
        True for the sequences to keep.

    Raises:
        ValueError: NaN or infinite rewards, ids of the wrong length.

    Easy to break: dropping samples shrinks the batch; go on sampling until it is full.

    >>> dynamic_sampling(torch.tensor([1.0, 1, 0, 1]), torch.tensor([0, 0, 1, 1]))
    tensor([False, False,  True,  True])
    """
    index, size, centred, _ = group_rewards(rewards, groups)
    return (total(centred.abs(), index, size) > 0)[index]


def top_variance(
    rewards: PerSequence, groups: GroupIds, *, keep: float = 0.25
) -> SequenceMask:
    """StarPO-S's filter 方差过滤 (2504.20073): the groups of largest reward std.

        kept groups = max(1, int(keep * number of groups))

    Limits: keep = 1 keeps all; among equal groups the smaller id wins.

    Args:
        rewards: one per sequence, finite.
        groups: which prompt each sequence answers.
        keep: share of the groups, in (0, 1].

    Returns:
        True for the sequences to keep.

    Raises:
        ValueError: NaN or infinite rewards, ids of the wrong length, keep.

    Easy to break: filter before the advantages are normalised, which hides the std.

    >>> rewards = torch.tensor([1.0, 1, 0, 1])
    >>> top_variance(rewards, torch.tensor([0, 0, 1, 1]), keep=0.5)
    tensor([False, False,  True,  True])
    """
    keep = number("keep", keep, 0, 1, open_low=True)
    index, _, _, std = group_rewards(rewards, groups)
    order = std.argsort(descending=True, stable=True)
    kept = torch.zeros_like(std, dtype=torch.bool)
    kept[order[: max(1, int(keep * len(std)))]] = True
    return kept[index]
