"""KL estimators: values, expectations over the whole vocabulary, gradients."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tokencredit import kl_penalty

F64 = torch.float64
logits = st.lists(st.floats(-3, 3), min_size=3, max_size=3)


def setup(a, b):
    z = torch.tensor(a, dtype=F64, requires_grad=True)
    return z, z.log_softmax(0), torch.tensor(b, dtype=F64).log_softmax(0)


def gradient(loss, z):
    return torch.autograd.grad(loss, z, retain_graph=True)[0]


def reverse_kl(z, ref):
    log_p = z.log_softmax(0)
    return (log_p.exp() * (log_p - ref)).sum()


def forward_kl(z, ref):
    return (ref.exp() * (ref - z.log_softmax(0))).sum()


@pytest.mark.parametrize(
    "estimator, value",
    [("k1", 0.5), ("k2", 0.125), ("k3", math.exp(-0.5) - 0.5), ("abs", 0.5)],
)
def test_the_estimators_by_hand(estimator, value):
    new, ref = torch.tensor([[-1.0]], dtype=F64), torch.tensor([[-1.5]], dtype=F64)
    assert math.isclose(kl_penalty(new, ref, estimator).item(), value)


@given(logits, logits)
def test_k1_and_k3_are_unbiased_and_k3_is_never_negative(a, b):
    _, log_p, ref = setup(a, b)
    kl = (log_p.exp() * (log_p - ref)).sum()
    for name in ("k1", "k3"):
        mean = (log_p.exp() * kl_penalty(log_p, ref, name)).sum()
        torch.testing.assert_close(mean, kl, rtol=1e-7, atol=1e-10)
    assert (kl_penalty(log_p, ref, "k3") >= 0).all()


def test_k2_is_biased_when_the_policies_are_far_apart():
    _, log_p, ref = setup([2.0, 0.0, -2.0], [-2.0, 0.0, 2.0])
    mean = (log_p.exp() * kl_penalty(log_p, ref, "k2")).sum()
    assert abs(mean - reverse_kl(log_p, ref)) > 0.5


@given(logits, logits)
def test_as_a_loss_k1_has_no_gradient_k2_the_reverse_and_k3_the_forward_one(a, b):
    z, log_p, ref = setup(a, b)
    p = log_p.exp().detach()  # samples are drawn, not differentiated
    wanted = {
        "k1": torch.zeros(3, dtype=F64),
        "k2": gradient(reverse_kl(z, ref), z),
        "k3": gradient(forward_kl(z, ref), z),
    }
    for name, grad in wanted.items():
        got = gradient((p * kl_penalty(log_p, ref, name)).sum(), z)
        torch.testing.assert_close(got, grad, rtol=1e-7, atol=1e-10)


@given(logits, logits)
def test_the_ratio_times_k3_has_the_reverse_gradient(a, b):
    z, log_p, ref = setup(a, b)
    ratio = (log_p - log_p.detach()).exp()
    loss = (log_p.exp().detach() * ratio * kl_penalty(log_p, ref, "k3")).sum()
    wanted = gradient(reverse_kl(z, ref), z)
    torch.testing.assert_close(gradient(loss, z), wanted, rtol=1e-7, atol=1e-10)


@given(logits, logits)
def test_k1_in_the_reward_has_the_reverse_gradient(a, b):
    z, log_p, ref = setup(a, b)
    reward = -kl_penalty(log_p, ref, "k1").detach()
    loss = -(log_p.exp().detach() * reward * log_p).sum()
    wanted = gradient(reverse_kl(z, ref), z)
    torch.testing.assert_close(gradient(loss, z), wanted, rtol=1e-7, atol=1e-10)


@given(logits, st.lists(st.floats(-2, 2), min_size=3, max_size=3), st.floats(0.1, 3))
def test_the_best_policy_is_the_reference_tilted_by_the_reward(b, rewards, beta):
    ref = torch.tensor(b, dtype=F64).log_softmax(0)
    r = torch.tensor(rewards, dtype=F64)
    best = (ref + r / beta).log_softmax(0)

    def objective(log_p):
        return (log_p.exp() * (r - beta * (log_p - ref))).sum()

    value = beta * (ref + r / beta).logsumexp(0)
    torch.testing.assert_close(objective(best), value)
    other = (best + torch.tensor([0.1, -0.2, 0.0])).log_softmax(0)
    lost = beta * (other.exp() * (other - best)).sum()  # beta KL(other || best)
    torch.testing.assert_close(value - objective(other), lost, rtol=1e-6, atol=1e-12)


def test_times_pi_on_samples_is_not_a_kl():
    """Counting the sampling probability twice even gives a negative number."""
    p = torch.tensor([0.1, 0.45, 0.45], dtype=F64)
    ref = torch.tensor([0.02, 0.49, 0.49], dtype=F64)
    d = kl_penalty(p.log(), ref.log(), "k1")
    assert math.isclose((p * p * d).sum(), -0.018, abs_tol=1e-3)
    assert math.isclose((p * d).sum(), 0.084, abs_tol=1e-3)


def test_k3_keeps_its_digits_near_zero():
    ref = torch.zeros(1, 1, dtype=F64)
    d = torch.tensor([[1e-6]], dtype=F64)
    assert math.isclose(kl_penalty(d, ref).item(), 5e-13, rel_tol=1e-3)
