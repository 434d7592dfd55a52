"""Importance ratios, per token and per sequence."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tokencredit import (
    aggregate_loss,
    ppo_clip_loss,
    sequence_log_ratio,
    token_log_ratio,
)

F64 = torch.float64


@st.composite
def pairs(draw):
    g = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    rows, steps = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    new, old = -torch.rand(2, rows, steps, generator=g, dtype=F64) * 3
    mask = torch.rand(rows, steps, generator=g) < 0.7
    return new, old, mask


@given(pairs())
def test_the_ratio_is_a_quotient_of_probabilities(pair):
    new, old, mask = pair
    ratio = token_log_ratio(new, old, mask).exp()
    torch.testing.assert_close(ratio[mask], (new.exp() / old.exp())[mask])
    assert (ratio[~mask] == 1).all()


@given(pairs())
def test_the_sequence_ratio_is_the_geometric_mean_and_below_the_arithmetic(pair):
    new, old, mask = pair
    token = token_log_ratio(new, old, mask).exp()
    sequence = sequence_log_ratio(new, old, mask).exp()
    for i in range(len(mask)):
        live = token[i][mask[i]]
        if len(live):
            geometric = live.prod() ** (1 / len(live))
            wanted = geometric.expand(len(live))
            torch.testing.assert_close(sequence[i][mask[i]], wanted)
            assert geometric <= live.mean() + 1e-12
    assert (sequence[~mask] == 1).all()


@given(pairs())
def test_each_position_of_the_sequence_ratio_has_gradient_s_for_its_own_token(pair):
    new, old, mask = pair
    new.requires_grad_()
    sequence = sequence_log_ratio(new, old, mask).exp()
    weights = torch.randn_like(new)
    (sequence * weights).sum().backward()
    wanted = torch.where(mask, sequence.detach() * weights, 0)
    torch.testing.assert_close(new.grad, wanted)


@settings(max_examples=40)
@given(pairs(), st.booleans())
def test_gspo_has_the_value_and_gradient_of_the_sequence_form(pair, tight):
    """s_i differentiated as a whole, against GSPO-token with a constant advantage."""
    new, old, mask = pair
    clip = {"clip_low": 0.05, "clip_high": 0.05} if tight else {}
    row_advantage = torch.randn(len(mask), 1, dtype=F64)
    advantages = row_advantage.expand(mask.shape)

    new.requires_grad_()
    log_ratio = sequence_log_ratio(new, old, mask)
    loss = ppo_clip_loss(new, log_ratio, advantages, **clip)
    value = aggregate_loss(loss, mask, "seq-mean-token-mean")
    (got,) = torch.autograd.grad(value, new)

    count = mask.sum(1).clamp(min=1)
    s = (torch.where(mask, new - old, 0).sum(1) / count).exp()
    low, high = 1 - clip.get("clip_low", 0.2), 1 + clip.get("clip_high", 0.2)
    a = row_advantage[:, 0]
    whole = -torch.minimum(s * a, s.clamp(low, high) * a)
    live = mask.any(1)
    direct = torch.where(live, whole, 0).sum() / live.sum().clamp(min=1)
    (wanted,) = torch.autograd.grad(direct, new)
    torch.testing.assert_close(value, direct)
    torch.testing.assert_close(got, wanted)


def test_one_impossible_token_dampens_by_its_share_of_the_length():
    for length, wanted in ((1000, 0.980), (10, 0.135)):
        old = torch.full((1, length), -1.0, dtype=F64)
        new = old.clone()
        new[0, 3] -= 20
        ratio = sequence_log_ratio(new, old, torch.ones(1, length) > 0).exp()
        assert math.isclose(ratio[0, 0], wanted, abs_tol=5e-4)


def test_a_log_prob_of_minus_infinity_gives_ratio_zero_and_no_nan():
    new = torch.tensor([[-1.0, -math.inf]], requires_grad=True)
    ratio = sequence_log_ratio(new, -torch.ones(1, 2), torch.ones(1, 2) > 0).exp()
    ratio.sum().backward()
    assert not ratio.any() and new.grad.isfinite().all()


def test_on_the_first_step_every_ratio_is_one():
    new = torch.randn(3, 4)
    mask = torch.rand(3, 4) < 0.5
    for ratio in (token_log_ratio, sequence_log_ratio):
        assert (ratio(new, new.clone(), mask).exp() == 1).all()
