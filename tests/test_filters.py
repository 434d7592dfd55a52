"""Which groups are kept, and the length penalty."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tokencredit import dynamic_sampling, group_relative, soft_overlong, top_variance

F64 = torch.float64
groups_of_rewards = st.lists(
    st.lists(st.integers(0, 4), min_size=1, max_size=5), min_size=1, max_size=9
)


def flat(nested):
    ids = torch.tensor([i for i, group in enumerate(nested) for _ in group])
    return torch.tensor([float(r) for group in nested for r in group], dtype=F64), ids


@given(groups_of_rewards)
def test_dynamic_sampling_keeps_the_groups_whose_rewards_differ(nested):
    rewards, ids = flat(nested)
    kept = dynamic_sampling(rewards, ids)
    wanted = [len(set(group)) > 1 for group in nested]
    assert [wanted[i] for i in ids.tolist()] == kept.tolist()
    advantages = group_relative(rewards, ids)
    for i, keep in enumerate(wanted):
        assert bool(advantages[ids == i].any()) == keep


def test_the_smallest_difference_counts():
    rewards = torch.tensor([1.0, 1.0 + 1e-7, 1.0, 1.0])
    groups = torch.tensor([0, 0, 1, 1])
    assert dynamic_sampling(rewards, groups).tolist() == [True, True, False, False]
    tiny = torch.tensor([1e-300, 2e-300], dtype=F64)
    assert dynamic_sampling(tiny, torch.tensor([0, 0])).all()


@given(groups_of_rewards, st.sampled_from([0.01, 0.25, 0.5, 0.99, 1.0]))
def test_the_groups_kept_are_those_of_largest_std(nested, keep):
    rewards, ids = flat(nested)
    kept_rows = top_variance(rewards, ids, keep=keep)
    std = [
        rewards[ids == i].std().item() if len(group) > 1 else 0.0
        for i, group in enumerate(nested)
    ]
    kept = set(ids[kept_rows].tolist())
    dropped = set(range(len(nested))) - kept
    assert len(kept) == max(1, int(keep * len(nested)))
    assert kept_rows.sum() == sum(len(nested[i]) for i in kept)
    if dropped:
        assert min(std[i] for i in kept) >= max(std[i] for i in dropped) - 1e-12


def test_a_tie_goes_to_the_group_that_comes_first_in_the_batch():
    rewards = torch.tensor([9.0, 0.0, 1.0, 0.0, 1.0])
    groups = torch.tensor([2, 7, 7, 3, 3])
    kept = top_variance(rewards, groups, keep=0.34)
    assert kept.tolist() == [False, True, True, False, False], "a lone one has no std"
    mixed = torch.tensor([3, 7, 3, 7])  # the first of the batch, not the first to end
    kept = top_variance(torch.tensor([0.0, 1.0, 1.0, 0.0]), mixed, keep=0.5)
    assert kept.tolist() == [True, False, True, False]


@pytest.mark.parametrize("one_more", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_a_last_bit_of_a_reward_breaks_no_tie(dtype, one_more):
    rewards = torch.tensor([10.7, 10.9, 10.7, 10.9], dtype=dtype)
    for way in (torch.inf, -torch.inf):
        moved = rewards.clone()
        moved[one_more] = moved[one_more].nextafter(torch.tensor(way, dtype=dtype))
        kept = top_variance(moved, torch.tensor([5, 5, 4, 4]), keep=0.5)
        assert kept.tolist() == [True, True, False, False]


def test_a_difference_beyond_rounding_decides_whatever_other_groups_earn():
    groups = torch.tensor([0, 0, 1, 1, 2, 2])
    rewards = torch.tensor([1e6, 1e6, 0.0, 0.1, 0.0, 0.10001])
    for keep, first in ((0.34, 4), (0.67, 2)):
        kept = top_variance(rewards, groups, keep=keep)
        assert kept.tolist() == [False] * first + [True] * (6 - first)


def test_no_groups_give_an_empty_result():
    empty = torch.zeros(0), torch.zeros(0, dtype=torch.long)
    assert top_variance(*empty).shape == dynamic_sampling(*empty).shape == (0,)


@given(st.integers(1, 300), st.integers(1, 300))
def test_the_length_penalty_is_continuous_falling_and_between_minus_one_and_zero(
    max_length, cache
):
    cache = min(cache, max_length)
    lengths = torch.arange(2 * max_length + 1)
    penalty = soft_overlong(lengths, max_length=max_length, cache=cache)
    steps = penalty.diff()
    assert (steps <= 0).all() and (steps >= -1 / cache - 1e-5).all()
    assert (penalty[: max_length - cache + 1] == 0).all()
    assert (penalty[max_length:] == -1).all()


@pytest.mark.parametrize(
    "dtype, result", [(torch.int64, torch.float32), (torch.float16, torch.float32)]
)
def test_lengths_of_any_kind_give_float32(dtype, result):
    lengths = torch.tensor([90, 95], dtype=dtype)
    assert soft_overlong(lengths, max_length=100, cache=20).dtype == result


def test_the_settings_of_the_dapo_paper():
    lengths = torch.tensor([16384, 18432, 20480, 20481])
    penalty = soft_overlong(lengths, max_length=20480, cache=4096)
    assert penalty.tolist() == [0.0, -0.5, -1.0, -1.0]


def test_a_nan_length_shows():
    assert soft_overlong(torch.tensor([float("nan")]), max_length=9, cache=3).isnan()
