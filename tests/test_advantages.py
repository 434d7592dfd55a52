"""Group baselines: hand arithmetic, identities, and exact expectations."""

import functools
import itertools
import math
import operator

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tokencredit import group_relative, group_turns, leave_one_out, teacher_gap
from tokencredit.credit.groups import group_rewards

F64 = torch.float64
scores = st.lists(st.integers(-5, 5), min_size=2, max_size=9)


def one_group(rewards):
    return torch.tensor(rewards, dtype=F64), torch.zeros(len(rewards), dtype=torch.long)


def test_the_two_state_example_of_note_002():
    rewards, groups = one_group([11.0, 9.0, 0.0, 2.0])
    got = group_relative(rewards, groups, eps=0)
    torch.testing.assert_close(got, (rewards - 5.5) / 5.322906474223771)
    groups = torch.tensor([0, 0, 1, 1])
    centred = group_relative(rewards, groups, scale=False)
    assert centred.tolist() == [1.0, -1.0, -1.0, 1.0]


def test_groups_go_by_id_in_any_order():
    rewards = torch.tensor([1.0, 10.0, 3.0, 30.0], dtype=F64)
    groups = torch.tensor([-7, 10**12, -7, 10**12])
    assert group_relative(rewards, groups, scale=False).tolist() == [-1, -10, 1, 10]
    assert leave_one_out(rewards, groups).tolist() == [-2, -20, 2, 20]


@pytest.mark.parametrize("function", [group_relative, leave_one_out])
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e30, -0.7])
@pytest.mark.parametrize("size", [1, 2, 3, 8, 100])
@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_equal_rewards_and_lone_ones_give_exactly_zero(function, value, size, dtype):
    rewards = torch.full((size,), value, dtype=dtype)
    groups = torch.zeros(size, dtype=torch.long)
    assert not function(rewards, groups).any()
    if function is group_relative:
        assert not function(rewards, groups, eps=0).any()


@given(
    st.lists(
        st.tuples(st.floats(-10, 10), st.sampled_from([4, -2, 9])),
        min_size=1,
        max_size=12,
    )
)
def test_group_means_are_bit_for_bit_those_of_plain_floats_in_the_batchs_order(pairs):
    rewards, ids = zip(*pairs, strict=True)
    found = group_rewards(torch.tensor(rewards, dtype=F64), torch.tensor(ids))
    for g, name in enumerate(sorted(set(ids))):
        mine = [r for r, i in pairs if i == name]
        from_lowest = [r - min(mine) for r in mine]
        mean = functools.reduce(operator.add, from_lowest, 0.0) / len(mine)
        centred = [r - mean for r in from_lowest]
        squares = functools.reduce(operator.add, [c * c for c in centred], 0.0)
        assert found.centred[found.index == g].tolist() == centred
        std = math.sqrt(squares / max(len(mine) - 1, 1))
        assert found.std[g].item() == pytest.approx(std, rel=1e-15)  # last bits: sqrt


def test_float_noise_is_not_blown_up():
    """Eight rewards of 0.1 in float32 with eps 1e-8 once gave advantages of 0.41."""
    rewards = torch.full((8,), 0.1)
    assert not group_relative(rewards, torch.zeros(8).long(), eps=1e-8).any()


@given(scores, st.integers(-9, 9), st.integers(1, 5))
def test_centred_advantages_sum_to_zero_and_ignore_shift_and_scale(rewards, shift, c):
    rewards, groups = one_group(rewards)
    plain = group_relative(rewards, groups, eps=0)
    assert abs(plain.sum()) < 1e-9
    torch.testing.assert_close(
        group_relative(c * rewards + shift, groups, eps=0), plain
    )
    centred = group_relative(rewards, groups, scale=False)
    torch.testing.assert_close(
        group_relative(c * rewards + shift, groups, scale=False), c * centred
    )
    torch.testing.assert_close(
        leave_one_out(c * rewards + shift, groups), c * leave_one_out(rewards, groups)
    )


@given(scores)
def test_centring_is_leave_one_out_times_g_minus_1_over_g(rewards):
    size = len(rewards)
    rewards, groups = one_group(rewards)
    torch.testing.assert_close(
        group_relative(rewards, groups, scale=False),
        leave_one_out(rewards, groups) * (size - 1) / size,
    )


@given(scores)
def test_leave_one_out_is_the_reward_minus_the_mean_of_the_others(rewards):
    values, groups = one_group(rewards)
    for i, a in enumerate(leave_one_out(values, groups).tolist()):
        others = rewards[:i] + rewards[i + 1 :]
        assert math.isclose(a, rewards[i] - sum(others) / len(others), abs_tol=1e-12)


@given(scores)
def test_scaled_advantages_have_sample_variance_one(rewards):
    assume(len(set(rewards)) > 1)
    rewards, groups = one_group(rewards)
    assert abs(group_relative(rewards, groups, eps=0).var() - 1) < 1e-9


@pytest.mark.parametrize("size", [2, 4, 16, 64])
def test_binary_rewards_have_a_closed_form_and_a_largest_advantage(size):
    largest = 0.0
    for right in range(1, size):
        q = right / size
        rewards, groups = one_group([1.0] * right + [0.0] * (size - right))
        a = group_relative(rewards, groups, eps=0)
        shrink = math.sqrt((size - 1) / size)
        assert math.isclose(a[0], math.sqrt((1 - q) / q) * shrink, rel_tol=1e-12)
        assert math.isclose(a[-1], -math.sqrt(q / (1 - q)) * shrink, rel_tol=1e-12)
        torch.testing.assert_close(group_relative(2 * rewards - 1, groups, eps=0), a)
        largest = max(largest, a.abs().max().item())
    assert math.isclose(largest, (size - 1) / math.sqrt(size), rel_tol=1e-12)


def test_eps_is_added_to_the_standard_deviation():
    rewards, groups = one_group([0.0, 2.0])
    got = group_relative(rewards, groups, eps=1.0)
    assert math.isclose(got[1], 1 / (math.sqrt(2) + 1))


# ---- exact expectations: every outcome of a tiny problem, weighted by its chance ----

LOGITS = torch.tensor([0.3, -0.5, 0.1], dtype=F64)
REWARD = torch.tensor([1.0, 0.0, 3.0], dtype=F64)


def expected_gradient(advantage, size):
    """E of the group's policy gradient, by enumeration of all samples."""
    p = LOGITS.softmax(0)
    score = torch.eye(3, dtype=F64) - p  # score[y] = d log p(y) / d logits
    groups = torch.zeros(size, dtype=torch.long)
    total = torch.zeros(3, dtype=F64)
    for words in itertools.product(range(3), repeat=size):
        y = torch.tensor(words)
        estimate = (advantage(REWARD[y], groups)[:, None] * score[y]).mean(0)
        total += p[y].prod() * estimate
    return total


def true_gradient():
    logits = LOGITS.clone().requires_grad_()
    (logits.softmax(0) @ REWARD).backward()
    return logits.grad


@pytest.mark.parametrize("size", [2, 3, 4])
def test_leave_one_out_is_unbiased_by_enumeration(size):
    torch.testing.assert_close(expected_gradient(leave_one_out, size), true_gradient())


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_group_mean_shrinks_the_gradient_by_1_minus_1_over_g(size):
    def centred(rewards, groups):
        return group_relative(rewards, groups, scale=False)

    got = expected_gradient(centred, size)
    torch.testing.assert_close(got, (1 - 1 / size) * true_gradient())


def test_dividing_by_the_group_std_changes_the_direction():
    got, true = expected_gradient(group_relative, 4), true_gradient()
    ratio = got / true
    assert (ratio.max() - ratio.min()).abs() > 0.05


@pytest.mark.parametrize("baseline", [0.0, 0.7, -3.0])
def test_any_constant_baseline_keeps_the_mean(baseline):
    got = expected_gradient(lambda rewards, _: rewards - baseline, 2)
    torch.testing.assert_close(got, true_gradient())


def test_the_optimal_baseline_minimises_the_variance():
    p = LOGITS.softmax(0)
    norm = (torch.eye(3, dtype=F64) - p).square().sum(1)
    best = (p * norm * REWARD).sum() / (p * norm).sum()

    def spread(b):  # E |g (R - b)|^2; its mean does not depend on b
        return (p * norm * (REWARD - b).square()).sum()

    assert all(spread(best) < spread(best + d) for d in (-1.0, -0.01, 0.01, 1.0))


def test_turns_of_a_group_are_pooled_and_what_comes_later_is_summed():
    rewards = torch.zeros(3, 4, dtype=F64)
    rewards[0, 1], rewards[0, 3], rewards[1, 0] = 1.0, 3.0, 2.0
    mask = torch.tensor([[1, 1, 0, 1], [1, 1, 1, 0], [1, 1, 0, 0]]) > 0
    ends = torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0]]) > 0
    groups = torch.tensor([4, 4, 9])
    got = group_turns(rewards, mask, ends, groups, eps=0.0)
    # turns of group 4 earned 1, 3, 2, 0: mean 1.5, sum of squares 5, std (5 / 3) ** 0.5
    z = (torch.tensor([1.0, 3.0, 2.0, 0.0], dtype=F64) - 1.5) / (5 / 3) ** 0.5
    want = torch.zeros(3, 4, dtype=F64)
    want[0, [0, 1]], want[0, 3] = z[0] + z[1], z[1]
    want[1, 0], want[1, [1, 2]] = z[2] + z[3], z[3]
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("scale", [True, False])
def test_one_turn_per_episode_is_the_group_relative_advantage(scale):
    scores, groups = torch.randn(6, dtype=F64), torch.tensor([0, 1, 0, 1, 1, 7])
    mask = torch.ones(6, 3) > 0
    ends = torch.tensor([[False, False, True]]).expand(6, 3)
    rewards = torch.where(ends, scores[:, None], 0)
    got = group_turns(rewards, mask, ends, groups, scale=scale)
    want = group_relative(scores, groups, scale=scale)
    torch.testing.assert_close(got, want[:, None].expand(6, 3))


def test_the_advantage_of_a_turn_ignores_the_turns_before_it():
    rewards = torch.zeros(2, 4, dtype=F64)
    mask = torch.ones(2, 4) > 0
    ends = torch.tensor([[False, True, False, True]]).expand(2, 4)
    rewards[0, 1] = 5.0
    got = group_turns(rewards, mask, ends, torch.tensor([0, 0]), scale=False)
    assert got[0, 2] == got[1, 2] and got[0, 0] - got[1, 0] == 5.0


@given(st.lists(st.tuples(*[st.floats(-3, 3)] * 2), min_size=2, max_size=6))
def test_the_policy_gradient_of_the_teacher_gap_is_that_of_the_reverse_kl(logits):
    """All tokens of a vocabulary as rows, each weighed by its probability."""
    logits = torch.tensor(logits, dtype=F64)
    student, teacher = logits[:, 0].requires_grad_(), logits[:, 1].log_softmax(0)
    own = student.log_softmax(0)
    (wanted,) = torch.autograd.grad((own.exp() * (own - teacher)).sum(), student)
    own = student.log_softmax(0)
    gap = teacher_gap(own[:, None], teacher[:, None], own[:, None] < 1)
    loss = -(own.detach().exp() * gap[:, 0] * own).sum()
    (got,) = torch.autograd.grad(loss, student)
    torch.testing.assert_close(got, wanted, atol=1e-9, rtol=1e-7)
