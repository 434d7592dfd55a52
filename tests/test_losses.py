"""Policy losses and the critic's, against the formulas as the papers print them."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tokencredit import (
    ALGORITHMS,
    balanced_clip,
    cispo_loss,
    corrected_clip_loss,
    dppo_loss,
    gmpo_loss,
    masked_clip_loss,
    ppo_clip_loss,
    reinforce_loss,
    sapo_loss,
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
    """Sums of both signs inside the bounds, which begin a tie's width further in."""
    low, high = low + 1e-6, high - 1e-6
    pos = sum(abs(r * x) for r, x in zip(ratio, a, strict=True) if x > 0 and r < high)
    neg = sum(abs(r * x) for r, x in zip(ratio, a, strict=True) if x < 0 and r > low)
    return pos, neg


def algorithm_1(ratio, a, target=0.4):
    """The paper's loop with whole steps: high first, then low."""
    j = k = 0
    while True:
        low, high = 0.6 + 0.02 * j, 1.2 + 0.05 * k
        pos, neg = share(ratio, a, low, high)
        if pos + neg == 0 or pos / (pos + neg) >= target - 1e-6:
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


def test_a_token_on_the_bound_itself_counts_as_clipped():
    """A ratio of 1 and a bound of 1 are exact on every CPU."""
    low = {"low": (1.0, 1.0), "low_step": 0.1}
    log_ratio, a = torch.tensor([[0.0, 0.7]]), torch.tensor([[2.0, -1.0]])
    got = balanced_clip(log_ratio, a, a != 0, **low, high=(1.0, 2.0), high_step=0.5)
    assert got == pytest.approx((0.0, 0.5))  # 2 counts once the bound is above 1
    log_ratio, a = torch.tensor([[0.0, -0.7]]), torch.tensor([[-1.0, 1.0]])
    got = balanced_clip(log_ratio, a, a != 0, **low, high=(1.2, 3.0))
    assert got == pytest.approx((0.0, 0.2))  # -1 never counts


@pytest.mark.parametrize("bound", [1.2 + 0.05 * k for k in range(36)])
def test_the_last_bit_of_a_ratio_on_the_bound_does_not_choose_the_bound(bound):
    """A CPU's logarithm may be a last bit lower or higher than another's."""
    a = torch.tensor([[1.0, -1.0, -1.0]])
    exact = torch.tensor([[bound, 0.7, 0.7]]).log()
    for far in (-9.0, 0.0, 9.0):
        log_ratio = exact.nextafter(torch.tensor(far))
        low, high = balanced_clip(log_ratio, a, a < 9)  # clipped on the bound itself
        assert (low, high) == pytest.approx((0.4, bound - 1 + 0.05), abs=1e-9)
    exact = torch.tensor([[0.6, 0.6, 0.8]]).log()  # on the start of the lower bound
    for far in (-9.0, 9.0):
        log_ratio = exact.nextafter(torch.tensor(far))
        assert balanced_clip(log_ratio, -a, a < 9) == pytest.approx((0.4, 0.2))


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=8))
def test_fresh_data_with_advantages_of_mean_0_stay_at_the_start(a):
    """Both signs weigh the same: a share of 1/2, up to rounding, is a target of 1/2."""
    a = torch.tensor([[*a, *(-x for x in a)]]) / 3
    a = a - a.mean()
    dials = ALGORITHMS["BAPO"].clip_rule
    assert dials.keywords["target"] == 0.5
    bounds = dials(torch.zeros_like(a), a, a < 9)
    assert bounds == pytest.approx((0.4, 0.2))


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


def authors_search(ratio, a, target, low, high, low_step, high_step):
    """The released code: clipped values counted, lower bound first, min(cur + step)."""

    def quotient(lower, upper):
        held = [min(r, upper) if x >= 0 else max(r, lower) for r, x in tokens]
        worth = [r * x for r, (_, x) in zip(held, tokens, strict=True)]
        neg = -sum(w for w in worth if w < 0)
        return math.inf if neg <= 0 else sum(w for w in worth if w > 0) / neg

    tokens = list(zip(ratio, a, strict=True))
    (lower, last), (upper, top) = low, high
    while quotient(lower, upper) < target - 2e-6 and lower < last:
        lower = min(lower + low_step, last)
    while quotient(lower, upper) < target - 2e-6 and upper < top:
        upper = min(upper + high_step, top)
    return 1 - lower, upper - 1


@given(st.lists(st.tuples(st.floats(0.3, 4), st.floats(-2, 2)), max_size=12))
def test_the_clipped_measure_is_the_search_of_the_authors_code(tokens):
    ratio, a = [r for r, _ in tokens], [x for _, x in tokens]
    log_ratio = torch.tensor([ratio], dtype=F64).reshape(1, -1).log()
    advantages = torch.tensor([a], dtype=F64).reshape(1, -1)
    bounds = dict(low=(0.8, 0.95), high=(1.2, 2.0), low_step=0.1, high_step=0.1)
    got = balanced_clip(
        log_ratio,
        advantages,
        torch.ones_like(log_ratio) > 0,
        measure="clipped",
        first="low",
        target=0.4 / 1.4,  # the share of positive / negative = 0.4
        partial_step=True,
        **bounds,
    )
    wanted = authors_search(log_ratio.exp()[0].tolist(), a, 0.4, **bounds)
    if any(x != 0 for x in a):  # nothing to count: their quotient is infinite, or 0/0
        assert got == pytest.approx(wanted, abs=1e-9)


def test_under_the_clipped_measure_the_lower_bound_only_moves_away():
    """Raising it makes the negative tokens worth more: the share falls."""
    log_ratio = torch.tensor([[0.5, 1.0]], dtype=F64).log()
    a = torch.tensor([[-1.0, 1.0]], dtype=F64)
    for lower, worth in ((0.6, 0.6), (0.8, 0.8)):
        held = max(0.5, lower)
        assert held == worth  # so the share 1 / (1 + held) falls from 0.625 to 0.556
    low, high = balanced_clip(
        log_ratio, a, a < 9, measure="clipped", first="low", target=0.6, low=(0.7, 0.9)
    )
    assert low == pytest.approx(0.1) and high == pytest.approx(2.0)  # both ran out


# ---- weights of another kind ------------------------------------------------------


def slope(function, log_ratio):
    """Value and gradient of a loss with respect to the log-ratio."""
    x = log_ratio.clone().requires_grad_()
    value = function(x)
    return value.detach(), torch.autograd.grad(value.sum(), x)[0]


tokens = st.lists(st.floats(0.2, 4), min_size=1, max_size=6)


@given(tokens, st.sampled_from([-1.5, 0.7]))
def test_gmpo_is_the_geometric_mean_of_the_clipped_ratios(ratios, a):
    """min(rho^s, clip(rho^s))^s with s the sign of A, the product to the 1/n."""
    sign, n = math.copysign(1, a), len(ratios)
    kept = [min(max(r, math.exp(-0.4)), math.exp(0.4)) for r in ratios]
    worth = [
        min(sign * math.log(r), sign * math.log(k)) * sign
        for r, k in zip(ratios, kept, strict=True)
    ]
    s = math.exp(sum(worth) / n)
    log_ratio = torch.tensor([ratios], dtype=F64).log()
    live, advantages = log_ratio < 99, torch.full_like(log_ratio, a)
    value, grad = slope(lambda x: gmpo_loss(x, advantages, live), log_ratio)
    torch.testing.assert_close(value, torch.full_like(value, -a * s))
    for g, r in zip(grad[0].tolist(), ratios, strict=True):
        open_ = r < math.exp(0.4) if a > 0 else r > math.exp(-0.4)
        assert g == pytest.approx(-a * s if open_ else 0, abs=1e-9)


def test_gmpo_leaves_out_what_is_masked_and_reads_its_range_in_logs():
    log_ratio = torch.tensor([[0.3, 5.0, 0.1]], dtype=F64)
    mask = torch.tensor([[True, False, True]])
    got = gmpo_loss(log_ratio, torch.ones_like(log_ratio), mask)
    assert got[0].tolist() == pytest.approx([-math.exp(0.2), 0, -math.exp(0.2)])


@given(st.floats(0.01, 8), signed)
def test_sapo_is_a_gate_whose_slope_is_that_of_the_sigmoid(r, a):
    tau = 1.0 if a > 0 else 1.05
    gate = 1 / (1 + math.exp(-tau * (r - 1)))
    (log_ratio, advantage) = tensors(math.log(r), a)
    value, grad = slope(lambda x: sapo_loss(x, advantage), log_ratio)
    assert value.item() == pytest.approx(-4 / tau * gate * a, abs=1e-9)
    assert grad.item() == pytest.approx(-4 * gate * (1 - gate) * r * a, abs=1e-9)


def test_far_away_sapo_is_a_number_without_a_gradient():
    log_ratio = torch.tensor([[200.0]], requires_grad=True)
    sapo_loss(log_ratio, torch.ones(1, 1)).sum().backward()
    assert log_ratio.grad.item() == 0


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.sampled_from([-1.0, 2.0]))
def test_dppo_stops_where_the_probability_has_moved_too_far(new, old, a):
    if abs(abs(new - old) - 0.15) < 1e-9:
        return  # on the edge either is right
    log_probs, log_ratio, advantage = tensors(math.log(new), math.log(new / old), a)
    value, grad = slope(lambda x: dppo_loss(log_probs, x, advantage), log_ratio)
    assert value.item() == pytest.approx(-a * new / old)
    out = new - old > 0.15 if a > 0 else new - old < -0.15
    assert grad.item() == pytest.approx(0 if out else -a * new / old)


@given(signed, st.floats(0.05, 1), st.floats(0.05, 1), ratios)
def test_the_weight_of_the_sampler_is_truncated_and_multiplies_the_clip(a, p, q, r):
    log_ratio, advantage, old, sampler = tensors(
        math.log(r), a, math.log(p), math.log(q)
    )
    live = log_ratio < 99
    got = corrected_clip_loss(old, log_ratio, advantage, old, sampler, live)
    clipped = ppo_clip_loss(old, log_ratio, advantage)
    torch.testing.assert_close(got, min(p / q, 2.0) * clipped)
    free = corrected_clip_loss(old, log_ratio, advantage, old, sampler, live, cap=None)
    torch.testing.assert_close(free, p / q * clipped)
    if min(abs(p / q - 0.5), abs(p / q - 5)) > 1e-4:
        kept = masked_clip_loss(old, log_ratio, advantage, old, sampler, live)
        wanted = p / q * clipped if 0.5 < p / q < 5 else 0 * clipped
        torch.testing.assert_close(kept, wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_weight_on_a_bound_is_kept_and_none_is_larger_or_smaller(dtype):
    old = torch.tensor([[0.3, 0.3, 0.2998, 0.5, 0.5, 0.5]], dtype=dtype)
    sampler = torch.tensor([[0.6, 0.06, 0.6, 0.1, 0.0999, 1.0]], dtype=dtype)
    ones, zeros = torch.ones_like(old), torch.zeros_like(old)
    given = (old.log(), zeros, ones, old.log(), sampler.log(), ones > 0)
    kept = masked_clip_loss(*given).neg().round(decimals=4)
    assert kept.tolist()[0] == pytest.approx([0.5, 5, 0, 5, 0, 0.5], abs=1e-4)
    same = masked_clip_loss(*given, weight_low=0.0, weight_high=1e9)
    torch.testing.assert_close(same, -old / sampler)
    unlike = (*given[:3], given[4], given[4], given[5])  # w = 1 everywhere
    torch.testing.assert_close(masked_clip_loss(*unlike), -ones)
