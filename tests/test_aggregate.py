"""Aggregation: the weight of a token, and what no split of the batch may change."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tokencredit import AGGREGATIONS, aggregate_loss, loss_denominator, ppo_clip_loss

F64 = torch.float64
C = 11
RULES = list(AGGREGATIONS)
over_rules = pytest.mark.parametrize("how", RULES)


def dials(how):
    return {"max_length": C} if AGGREGATIONS[how].per_row == "max_length" else {}


def weights(mask, how, **more):
    loss = torch.zeros(mask.shape, dtype=F64, requires_grad=True)
    aggregate_loss(loss, mask, how, **dials(how), **more).backward()
    return loss.grad


@st.composite
def masks(draw):
    rows, steps = draw(st.integers(0, 7)), draw(st.integers(1, 6))
    bits = draw(st.lists(st.booleans(), min_size=rows * steps, max_size=rows * steps))
    return torch.tensor(bits, dtype=torch.bool).reshape(rows, steps)


@given(masks())
def test_the_weight_of_a_token_is_the_one_in_the_table(mask):
    n = mask.sum(1, keepdim=True).clamp(min=1).double().expand(mask.shape)
    tokens, rows = max(int(mask.sum()), 1), max(int(mask.any(1).sum()), 1)
    table = {
        "token-sum": torch.ones_like(n),
        "token-mean": torch.ones_like(n) / tokens,
        "seq-mean-token-mean": 1 / (rows * n),
        "seq-mean-token-sum": torch.ones_like(n) / rows,
        "seq-sum-token-mean": 1 / n,
        "seq-mean-token-sum-norm": torch.ones_like(n) / (rows * C),
    }
    assert set(table) == set(RULES), "add the weight of the rule to this table"
    for how, weight in table.items():
        wanted = torch.where(mask, weight, 0)
        torch.testing.assert_close(weights(mask, how), wanted)


@given(masks())
def test_the_weights_add_up(mask):
    tokens, rows = int(mask.sum()), int(mask.any(1).sum())
    totals = {
        "token-sum": tokens,
        "token-mean": 1,
        "seq-mean-token-mean": 1,
        "seq-mean-token-sum": tokens / max(rows, 1),
        "seq-sum-token-mean": rows,
        "seq-mean-token-sum-norm": tokens / (max(rows, 1) * C),
    }
    assert set(totals) == set(RULES), "add the total of the rule to this table"
    for how, total in totals.items():
        wanted = total if tokens else 0
        assert math.isclose(weights(mask, how).sum(), wanted, rel_tol=1e-12)


@pytest.mark.parametrize("how", RULES)
@given(masks(), st.randoms(use_true_random=False))
def test_micro_batches_add_up_to_the_batch_for_any_split_and_order(how, mask, random):
    rows = len(mask)
    loss = torch.randn(mask.shape, dtype=F64, requires_grad=True)
    whole = aggregate_loss(loss, mask, how, **dials(how))
    (wanted,) = torch.autograd.grad(whole, loss)

    count = loss_denominator(mask, how)
    order = torch.randperm(rows)
    cuts = sorted(random.randint(0, rows) for _ in range(random.randint(0, 4)))
    bounds = [0, *cuts, rows]  # repeated cuts make empty micro-batches
    parts = [
        aggregate_loss(loss[i], mask[i], how, **dials(how), denominator=count)
        for i in (order[a:b] for a, b in pairwise(bounds))
    ]
    total = torch.stack(parts).sum()
    (got,) = torch.autograd.grad(total, loss)
    torch.testing.assert_close(total, whole)
    torch.testing.assert_close(got, wanted)


def test_the_mean_of_micro_batch_means_is_another_number():
    loss = torch.tensor([[1.0, 1.0, 1.0], [5.0, 0.0, 0.0]])
    mask = torch.tensor([[True, True, True], [True, False, False]])
    naive = sum(
        aggregate_loss(loss[i : i + 1], mask[i : i + 1], "token-mean") for i in (0, 1)
    )
    assert naive / 2 == 3.0 and aggregate_loss(loss, mask, "token-mean") == 2.0


@pytest.mark.parametrize(
    "how, short, long",
    [
        ("token-mean", 1 / 90, 1 / 90),
        ("seq-mean-token-mean", 1 / 4, 1 / 176),
        ("seq-mean-token-sum", 1 / 2, 1 / 2),
        ("seq-sum-token-mean", 1 / 2, 1 / 88),
    ],
)
def test_two_answers_of_2_and_88_tokens(how, short, long):
    mask = torch.arange(88) < torch.tensor([[2], [88]])
    weight = weights(mask, how)
    assert math.isclose(weight[0, 0], short) and math.isclose(weight[1, 0], long)


def test_lengths_2_and_8_give_the_notes_number():
    mask = torch.arange(8) < torch.tensor([[2], [8]])
    weight = weights(mask, "seq-mean-token-mean")[1, 0]
    assert math.isclose(0.7 * weight, 0.04375)


@given(st.integers(1, 5), st.integers(1, 6))
def test_for_equal_lengths_the_means_agree(rows, steps):
    mask = torch.ones(rows, steps, dtype=torch.bool)
    loss = torch.randn(rows, steps, dtype=F64)
    token_mean = aggregate_loss(loss, mask, "token-mean")
    torch.testing.assert_close(
        aggregate_loss(loss, mask, "seq-mean-token-mean"), token_mean
    )
    per_row = aggregate_loss(loss, mask, "seq-mean-token-sum")
    torch.testing.assert_close(per_row / steps, token_mean)


def test_a_row_without_a_live_token_is_no_sequence():
    loss = torch.tensor([[4.0, 4.0], [math.nan, math.inf]])
    mask = torch.tensor([[True, True], [False, False]])
    assert aggregate_loss(loss, mask, "seq-mean-token-mean") == 4.0
    assert aggregate_loss(loss, mask, "seq-mean-token-mean", denominator=2) == 2.0


@over_rules
def test_the_denominator_is_the_count_of_the_rule_and_at_least_one(how):
    mask = torch.tensor([[True, True], [True, False], [False, False]])
    wanted = {"tokens": 3, "sequences": 2, None: None}[AGGREGATIONS[how].per_batch]
    assert loss_denominator(mask, how) == wanted
    nothing = loss_denominator(mask[2:], how)
    assert nothing == (None if wanted is None else 1)


def test_the_shared_prefix_of_a_group_gets_no_net_gradient_under_token_weights():
    """Note 003's AAA example: lengths 10, 11, 11 and advantages 2/3, -1/3, -1/3."""
    mask = torch.arange(11) < torch.tensor([[10], [11], [11]])
    advantage = torch.tensor([[2 / 3], [-1 / 3], [-1 / 3]], dtype=F64).expand(3, 11)
    net = {}
    for how in ("token-mean", "seq-mean-token-mean"):
        log_pi = torch.zeros(3, 11, dtype=F64, requires_grad=True)
        loss = ppo_clip_loss(log_pi, log_pi, advantage)
        aggregate_loss(loss, mask, how).backward()
        net[how] = -log_pi.grad[:, 0].sum().item()
    assert math.isclose(net["token-mean"], 0, abs_tol=1e-15)
    assert math.isclose(net["seq-mean-token-mean"], 0.00202, abs_tol=1e-5)


def test_adam_ignores_the_scale_of_the_loss_and_sgd_does_not():
    def step(optimizer, scale):
        x = torch.ones(3, dtype=F64, requires_grad=True)
        opt = optimizer([x], lr=0.1)
        (scale * (x * torch.tensor([1.0, -2.0, 3.0])).sum()).backward()
        opt.step()
        return x.detach()

    torch.testing.assert_close(step(torch.optim.Adam, 1), step(torch.optim.Adam, 50))
    assert not torch.allclose(step(torch.optim.SGD, 1), step(torch.optim.SGD, 50))
