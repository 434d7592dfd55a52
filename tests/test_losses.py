"""Policy losses and the critic's, against the formulas as the papers print them."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tokencredit import (
    balanced_clip,
    cispo_loss,
    ppo_clip_loss,
    reinforce_loss,
    value_loss,
)

F64 = torch.float64
ratios = st.floats(0.01, 10)
signed = st.floats(-5, 5)


def tensors(*numbers):
    return [torch.tensor([[x]], dtype=F64) for x in numbers]


def ppo(ratio, advantage, **dials):
    """Value and gradient with respect to log pi."""
    log_ratio, a = tensors(math.log(ratio), advantage)
    log_ratio.requires_grad_()
    loss = ppo_clip_loss(log_ratio, log_ratio, a, **dials).sum()
    (grad,) = torch.autograd.grad(loss, log_ratio)
    return loss.item(), grad.item()


@given(ratios, signed, st.floats(0, 0.9), st.floats(0, 3))
def test_ppo_is_minus_the_minimum_of_clipped_and_unclipped(r, a, low, high):
    loss, _ = ppo(r, a, clip_low=low, clip_high=high)
    wanted = -min(r * a, min(max(r, 1 - low), 1 + high) * a)
    assert math.isclose(loss, wanted, rel_tol=1e-9, abs_tol=1e-12)
    assert -loss <= r * a + 1e-9  # clipping never promises more


@pytest.mark.parametrize(
    "r, a, gradient",
    [
        (1.5, 1.0, 0.0),  # already likelier than allowed: stop
        (0.5, 1.0, -0.5),  # less likely by accident: bring it back
        (1.5, -1.0, 1.5),  # more likely by accident: bring it back
        (0.5, -1.0, 0.0),  # already less likely than allowed: stop
        (1.0, 1.0, -1.0),
        (1.0, -1.0, 1.0),
        (1.1, 2.0, -2.2),
        (5.0, 0.0, 0.0),
    ],
)
def test_the_four_quadrants_of_the_clip(r, a, gradient):
    assert math.isclose(ppo(r, a)[1], gradient, abs_tol=1e-12)


@given(st.floats(0.01, 50), st.floats(-5, -0.01), st.floats(1.01, 5))
def test_dual_clip_bounds_the_loss_of_a_bad_token(r, a, c):
    loss, grad = ppo(r, a, dual_clip=c)
    plain, _ = ppo(r, a)
    assert math.isclose(loss, min(plain, -c * a), rel_tol=1e-9)
    assert grad == 0 if r > c * 1.001 else True


@given(ratios, st.floats(0.01, 5))
def test_dual_clip_leaves_good_tokens_alone(r, a):
    assert ppo(r, a, dual_clip=3.0) == ppo(r, a)


@pytest.mark.parametrize("log_ratio", [100.0, 1e4, math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_a_clipped_token_has_no_gradient_however_large_its_ratio(log_ratio, dtype):
    x = torch.tensor([[log_ratio]], dtype=dtype, requires_grad=True)
    loss = ppo_clip_loss(x, x, torch.ones(1, 1, dtype=dtype))
    loss.sum().backward()
    torch.testing.assert_close(loss.item(), -1.2, rtol=1e-6, atol=0)
    assert x.grad.item() == 0


def test_a_bad_token_that_explodes_shows_unless_dual_clip_holds_it():
    x, a = torch.tensor([[1000.0]]), -torch.ones(1, 1)
    assert ppo_clip_loss(x, x, a).item() == math.inf
    torch.testing.assert_close(ppo_clip_loss(x, x, a, dual_clip=3.0).item(), 3.0)


@given(signed)
def test_on_the_first_step_ppo_and_cispo_push_like_reinforce(a):
    log_pi, advantage = tensors(-1.3, a)
    for loss in (ppo_clip_loss, cispo_loss, reinforce_loss):
        x = log_pi.clone().requires_grad_()
        loss(x, x - log_pi, advantage).sum().backward()
        assert math.isclose(x.grad.item(), -a, abs_tol=1e-12)


@given(ratios, signed, st.floats(-4, -0.1))
def test_cispo_weighs_log_pi_by_the_clipped_ratio(r, a, log_pi):
    x, log_ratio, advantage = tensors(log_pi, math.log(r), a)
    x.requires_grad_(), log_ratio.requires_grad_()
    dials = {"clip_low": 0.2, "clip_high": 0.28}
    loss = cispo_loss(x, log_ratio, advantage, **dials)
    loss.sum().backward()
    weight = min(max(r, 0.8), 1.28)
    assert math.isclose(loss.item(), -weight * a * log_pi, abs_tol=1e-9)
    assert math.isclose(x.grad.item(), -weight * a, abs_tol=1e-9)
    assert log_ratio.grad is None or not log_ratio.grad.any()
    if 0.801 < r < 1.279:
        assert math.isclose(x.grad.item(), ppo(r, a)[1], abs_tol=1e-9) or r > 1.2


def test_cispo_has_no_lower_bound_unless_asked():
    log_pi, log_ratio, a = tensors(-1.0, math.log(0.01), 1.0)
    assert math.isclose(cispo_loss(log_pi, log_ratio, a).item(), 0.01)
    wanted = cispo_loss(log_pi, log_ratio, a, clip_low=0.2).item()
    assert math.isclose(wanted, 0.8)


@given(signed, signed, signed, st.none() | st.floats(0, 3))
def test_the_value_loss_is_half_the_larger_square(v, old, target, clip):
    values = [x.requires_grad_() for x in tensors(v, old, target)]
    loss = value_loss(*values, clip=clip).sum()
    wanted = (v - target) ** 2
    if clip is not None:
        near = old + min(max(v - old, -clip), clip)
        wanted = max(wanted, (near - target) ** 2)
    assert math.isclose(loss.item(), wanted / 2, rel_tol=1e-9, abs_tol=1e-12)
    loss.backward()
    assert not any(x.grad is not None and x.grad.any() for x in values[1:])


@pytest.mark.parametrize("v, target, gradient", [(2.0, 3.0, 0.0), (2.0, 1.0, 1.0)])
def test_the_clipped_value_loss_has_no_gradient_where_it_overshot(v, target, gradient):
    """From 0 with clip 0.5: moving on to 2 is not rewarded for reaching for 3."""
    value, old, goal = tensors(v, 0.0, target)
    value.requires_grad_()
    value_loss(value, old, goal, clip=0.5).sum().backward()
    assert value.grad.item() == gradient


# ---- BAPO -----------------------------------------------------------------------


def share(ratio, a, low, high):
    pos = sum(abs(r * x) for r, x in zip(ratio, a, strict=True) if x > 0 and r < high)
    neg = sum(abs(r * x) for r, x in zip(ratio, a, strict=True) if x < 0 and r > low)
    return pos, neg


def algorithm_1(ratio, a, target=0.4):
    """The paper's loop with whole steps: high first, then low."""
    j = k = 0
    while True:
        low, high = 0.6 + 0.02 * j, 1.2 + 0.05 * k
        pos, neg = share(ratio, a, low, high)
        if pos + neg == 0 or pos / (pos + neg) >= target:
            return 1 - low, high - 1
        if k < 36:
            k += 1
        elif j < 15:
            j += 1
        else:
            return 1 - low, high - 1


@given(st.lists(st.tuples(st.floats(0.3, 4), st.floats(-2, 2)), max_size=12))
def test_balanced_clip_is_algorithm_1(tokens):
    ratio, a = [r for r, _ in tokens], [x for _, x in tokens]
    log_ratio = torch.tensor([ratio], dtype=F64).reshape(1, -1).log()
    ratio = log_ratio.exp()[0].tolist()
    advantages = torch.tensor([a], dtype=F64).reshape(1, -1)
    got = balanced_clip(log_ratio, advantages, torch.ones_like(log_ratio) > 0)
    wanted = algorithm_1(ratio, a)
    assert got == pytest.approx(wanted, abs=1e-9)


def test_only_bad_tokens_open_both_bounds_in_whole_steps():
    log_ratio, a = torch.full((1, 2), math.log(2.0)), -torch.ones(1, 2)
    low, high = balanced_clip(log_ratio, a, a < 0)
    assert (low, high) == pytest.approx((0.1, 2.0))  # 15 and 36 steps, not 14


def test_float_drift_does_not_cost_a_step():
    log_ratio, a = torch.full((1, 2), math.log(2.0)), -torch.ones(1, 2)
    bounds = dict(low=(0.8, 0.95), low_step=0.05, high=(1.2, 2.0), high_step=0.1)
    assert (0.95 - 0.8) / 0.05 < 3  # in floats
    low, high = balanced_clip(log_ratio, a, a < 0, **bounds)
    assert (low, high) == pytest.approx((0.05, 1.0))


def test_nothing_to_count_keeps_the_start():
    log_ratio, a = torch.zeros(1, 2), torch.ones(1, 2)
    none = torch.zeros(1, 2) > 0
    assert balanced_clip(log_ratio, a, none) == pytest.approx((0.4, 0.2))
    assert balanced_clip(log_ratio, 0 * a, ~none) == pytest.approx((0.4, 0.2))


def test_a_range_of_one_point_fixes_its_bound():
    log_ratio = torch.tensor([[2.0, 1.0]]).log()
    a = torch.tensor([[1.0, -1.0]])
    low, high = balanced_clip(log_ratio, a, a < 9, low=(0.8, 0.8))
    assert (low, high) == pytest.approx((0.2, 1.05))
