"""Returns and GAE against the definitions, written as plain loops and matrices."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tokencredit import discounted_return, gae, turn_gae
from tokencredit.credit import returns as module

F64 = torch.float64
unit = st.sampled_from([0.0, 0.3, 0.95, 1.0])


@st.composite
def trajectories(draw, max_steps=40):
    rows = draw(st.integers(1, 3))
    steps = draw(st.integers(0, max_steps))
    g = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    mask = torch.rand(rows, steps, generator=g) < draw(st.sampled_from([0.3, 0.8, 1.0]))
    rewards = torch.randn(rows, steps, generator=g, dtype=F64) * mask
    values = torch.randn(rows, steps, generator=g, dtype=F64)
    last = torch.randn(rows, generator=g, dtype=F64)
    return rewards, values, mask, last


def loop_gae(rewards, values, mask, gamma, lam, last):
    """delta and A, one live token after the other, as on paper."""
    advantages = torch.zeros_like(rewards)
    for i in range(len(rewards)):
        next_value, next_advantage = last[i], 0.0
        for t in reversed(mask[i].nonzero()[:, 0].tolist()):
            delta = rewards[i, t] + gamma * next_value - values[i, t]
            next_advantage = delta + gamma * lam * next_advantage
            next_value, advantages[i, t] = values[i, t], next_advantage
    return advantages


@given(trajectories(), unit, unit)
def test_gae_is_the_backward_recursion_over_live_tokens(batch, gamma, lam):
    rewards, values, mask, last = batch
    got = gae(rewards, values, mask, gamma=gamma, lam=lam, last_values=last)
    torch.testing.assert_close(got, loop_gae(rewards, values, mask, gamma, lam, last))


@given(trajectories(), unit)
def test_the_return_is_gae_with_lambda_one_plus_the_value(batch, gamma):
    rewards, values, mask, last = batch
    returns = discounted_return(rewards, mask, gamma=gamma, last_values=last)
    got = gae(rewards, values, mask, gamma=gamma, lam=1.0, last_values=last) + values
    torch.testing.assert_close(got[mask], returns[mask])


@given(trajectories(), unit)
def test_gae_with_lambda_zero_is_the_one_step_error(batch, gamma):
    rewards, values, mask, last = batch
    got = gae(rewards, values, mask, gamma=gamma, lam=0.0, last_values=last)
    for i in range(len(mask)):
        live = mask[i].nonzero()[:, 0]
        after = torch.cat([values[i, live][1:], last[i : i + 1]])[: len(live)]
        delta = rewards[i, live] + gamma * after - values[i, live]
        torch.testing.assert_close(got[i, live], delta)


@given(trajectories(12), unit, unit)
def test_gae_plus_value_is_the_weighted_sum_of_n_step_returns(batch, gamma, lam):
    rewards, values, _, last = batch
    steps = rewards.shape[1]
    states = torch.cat([values, last[:, None]], 1)
    got = gae(rewards, values, gamma=gamma, lam=lam, last_values=last) + values
    for t in range(steps):
        n_step = [
            sum(gamma**k * rewards[:, t + k] for k in range(n))
            + gamma**n * states[:, t + n]
            for n in range(1, steps - t + 1)
        ]
        wanted = sum((1 - lam) * lam ** (n - 1) * g for n, g in enumerate(n_step, 1))
        wanted = wanted + lam ** len(n_step) * n_step[-1]
        torch.testing.assert_close(got[:, t], wanted)


@given(trajectories(20), st.sampled_from([0.3, 0.9, 1.0]))
def test_returns_are_u_times_rewards_and_u_has_a_bidiagonal_inverse(batch, gamma):
    rewards = batch[0]
    n = rewards.shape[1]
    gap = torch.arange(n)[None] - torch.arange(n)[:, None]
    u = torch.where(gap >= 0, gamma ** gap.clamp(min=0).double(), 0)
    returns = discounted_return(rewards, gamma=gamma)
    torch.testing.assert_close(returns, rewards @ u.T)
    shift = torch.diag(torch.ones(max(n - 1, 0), dtype=F64), 1)[:n, :n]
    inverse = torch.eye(n, dtype=F64) - gamma * shift
    torch.testing.assert_close(u @ inverse, torch.eye(n, dtype=F64))


def test_a_return_by_hand_with_an_observation_in_between():
    rewards = torch.tensor([[1.0, 0.0, 0.0, 2.0]])
    mask = torch.tensor([[True, False, False, True]])
    got = discounted_return(rewards, mask, gamma=0.5)
    assert got.tolist() == [[2.0, 0.0, 0.0, 2.0]]


def test_a_truncated_row_bootstraps_and_a_terminated_one_does_not():
    rewards, values = torch.zeros(2, 2), torch.zeros(2, 2)
    last = torch.tensor([8.0, 0.0])
    returns = discounted_return(rewards, gamma=0.5, last_values=last)
    assert returns.tolist() == [[2.0, 4.0], [0.0, 0.0]]
    assert gae(rewards, values, gamma=0.5, lam=0.0, last_values=last).tolist() == [
        [0.0, 4.0],
        [0.0, 0.0],
    ]


@pytest.mark.parametrize("block", [2, 3, 16])
@pytest.mark.parametrize("chunk", [1, 50, 1 << 18])
@pytest.mark.parametrize("steps", [1, 2, 15, 16, 17, 255, 256, 257, 1000])
def test_blocks_and_chunks_change_nothing(block, chunk, steps, monkeypatch):
    rewards, values = torch.randn(2, 3, steps, dtype=F64)
    mask = torch.rand(3, steps) < 0.8
    rewards, last = rewards * mask, torch.randn(3, dtype=F64)
    monkeypatch.setattr(module, "BLOCK", block)
    monkeypatch.setattr(module, "CHUNK", chunk)
    got = gae(rewards, values, mask, gamma=0.99, lam=0.95, last_values=last)
    wanted = loop_gae(rewards, values, mask, 0.99, 0.95, last)
    torch.testing.assert_close(got, wanted)


def test_float32_is_as_close_to_float64_as_the_plain_loop():
    rewards, values = torch.randn(2, 4, 2000)
    exact = gae(rewards.double(), values.double(), gamma=1.0, lam=0.999)
    got = gae(rewards, values, gamma=1.0, lam=0.999)
    after = advantage = torch.zeros(4)
    for t in reversed(range(2000)):
        advantage = rewards[:, t] + after - values[:, t] + 0.999 * advantage
        after = values[:, t]
    loop_error = (advantage - exact[:, 0]).abs().max()
    assert (got - exact).abs().max() <= 3 * loop_error + 1e-6 * exact.abs().max()


def test_a_nan_in_one_row_stays_in_that_row():
    rewards = torch.zeros(2, 100)
    rewards[0, 50] = math.nan
    got = discounted_return(rewards)
    assert got[0, :51].isnan().all() and got[0, 51:].isfinite().all()
    assert got[1].isfinite().all()


# ---- turns ----------------------------------------------------------------------


@given(trajectories(), unit, unit)
def test_one_turn_is_plain_gae(batch, gamma, lam):
    rewards, values, mask, _ = batch
    ends = mask & (mask.flip(1).cumsum(1).flip(1) == 1)
    rewards = rewards * ends
    # the single turn's return is its reward: nothing comes after it
    got = turn_gae(rewards, values, mask, ends, gamma=gamma, lam=lam, turn_gamma=0.5)
    torch.testing.assert_close(got, gae(rewards, values, mask, gamma=gamma, lam=lam))


@given(trajectories(), unit, unit)
def test_a_turn_per_token_is_gae_over_turns(batch, turn_gamma, lam):
    rewards, values, mask, _ = batch
    got = turn_gae(
        rewards, values, mask, mask, gamma=0.1, lam=lam, turn_gamma=turn_gamma
    )
    wanted = gae(rewards, values, mask, gamma=turn_gamma, lam=lam)
    torch.testing.assert_close(got, wanted)


@settings(max_examples=50)
@given(trajectories(25), unit, unit, unit)
def test_bi_level_gae_is_gae_over_turns_and_then_inside_each(
    batch, gamma, lam, turn_gamma
):
    rewards, values, mask, _ = batch
    ends = mask & (torch.rand(mask.shape) < 0.4)
    ends |= mask & (mask.flip(1).cumsum(1).flip(1) == 1)
    rewards = rewards * ends
    got = turn_gae(
        rewards, values, mask, ends, gamma=gamma, lam=lam, turn_gamma=turn_gamma
    )
    zero = torch.zeros(len(mask), dtype=F64)
    turn = loop_gae(rewards, values, ends, turn_gamma, lam, zero) + values
    for i in range(len(mask)):
        start = 0
        for end in ends[i].nonzero()[:, 0].tolist():
            part = slice(start, end + 1)
            r = torch.zeros(1, end + 1 - start, dtype=F64)
            r[0, -1] = turn[i, end]
            row = [x[i : i + 1, part] for x in (values, mask)]
            wanted = loop_gae(r, *row, gamma, lam, zero)
            torch.testing.assert_close(got[i : i + 1, part], wanted)
            start = end + 1


def test_a_turn_without_reward_is_still_a_turn():
    zeros = torch.zeros(1, 3)
    rewards = torch.tensor([[0.0, 0.0, 1.0]])
    every = torch.ones(1, 3) > 0
    got = turn_gae(rewards, zeros, every, every, lam=1.0, turn_gamma=0.5)
    assert got.tolist() == [[0.25, 0.5, 1.0]]
