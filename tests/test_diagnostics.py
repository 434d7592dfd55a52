"""Diagnostics by hand and at their limits."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

import tokencredit as tc
from tokencredit import ppo_clip_loss

F64 = torch.float64
log_ratios = st.lists(st.floats(-2, 2), min_size=1, max_size=10)


def live(x):
    return torch.ones_like(x, dtype=torch.bool)


@given(log_ratios, st.integers(0, 10**6))
def test_clipped_tokens_are_those_without_a_gradient(numbers, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.tensor([numbers], dtype=F64, requires_grad=True)
    a = torch.randn(x.shape, generator=g, dtype=F64)
    ppo_clip_loss(x, x, a, clip_low=0.1, clip_high=0.3).sum().backward()
    low, high = tc.clip_fraction(x, a, live(x), clip_low=0.1, clip_high=0.3)
    stopped = x.grad == 0
    assert math.isclose(low, (stopped & (a < 0)).double().mean())
    assert math.isclose(high, (stopped & (a > 0)).double().mean())


def test_on_the_first_step_everything_is_at_rest():
    x, a = torch.zeros(2, 3), torch.randn(2, 3)
    assert tc.clip_fraction(x, a, live(x)) == (0, 0)
    assert tc.approximate_kl(x, live(x)) == 0
    assert tc.ratio_range(x, live(x)) == (1, 1)
    torch.testing.assert_close(tc.effective_sample_size(x, live(x)), torch.tensor(1.0))


def test_the_approximate_kl_is_that_of_the_sampler_from_the_new_policy():
    old = torch.tensor([0.2, 0.3, 0.5], dtype=F64)
    new = torch.tensor([0.5, 0.25, 0.25], dtype=F64)
    # ten samples in the proportions of the old policy
    words = torch.tensor([[0] * 2 + [1] * 3 + [2] * 5])
    got = tc.approximate_kl((new / old).log()[words], words < 9)
    torch.testing.assert_close(got, (old * (old / new).log()).sum())


@given(log_ratios)
def test_the_effective_sample_size_is_its_formula(numbers):
    x = torch.tensor([numbers], dtype=F64)
    r = x.exp()
    wanted = r.sum() ** 2 / (r.numel() * (r**2).sum())
    torch.testing.assert_close(tc.effective_sample_size(x, live(x)), wanted)
    torch.testing.assert_close(tc.effective_sample_size(x + 700, live(x)), wanted)


def test_explained_variance_is_one_zero_or_negative():
    returns = torch.tensor([[1.0, 2.0, 4.0]])
    assert tc.explained_variance(returns, returns, live(returns)) == 1
    constant = torch.full_like(returns, 7.0)
    assert abs(tc.explained_variance(constant, returns, live(returns))) < 1e-6
    assert tc.explained_variance(-returns, returns, live(returns)) < -2
    assert tc.explained_variance(returns, constant, live(returns)) == 0


def test_reward_spread_per_group():
    rewards = torch.tensor([0.0, 1.0, 5.0, 5.0, 3.0])
    groups = torch.tensor([0, 0, 1, 1, 2])
    wanted = math.sqrt(0.5) / 3
    assert math.isclose(tc.group_reward_std(rewards, groups), wanted, rel_tol=1e-6)
    share = tc.zero_variance_share(rewards.double(), groups)
    assert math.isclose(share, 2 / 3)


def test_mean_entropy_counts_live_tokens_only():
    entropies = torch.tensor([[1.0, math.nan]])
    assert tc.mean_entropy(entropies, torch.tensor([[True, False]])) == 1
