"""Masks: which tokens the policy chose, and statistics over them alone."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tokencredit import masked_mean, masked_whiten, response_mask

F64 = torch.float64


def test_the_eos_is_trained_and_nothing_after_it():
    tokens = torch.tensor([[4, 9, 0, 9], [9, 4, 4, 4], [4, 4, 4, 4], [4, 4, 4, 9]])
    wanted = [[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    assert response_mask(tokens, 9).int().tolist() == wanted


@pytest.mark.parametrize(
    "ids", [[8, 9], (9, 8), {8, 9}, torch.tensor([8, 9]), iter([8, 9])]
)
def test_any_of_several_eos_ids_ends_a_response(ids):
    tokens = torch.tensor([[4, 8, 9, 4], [4, 4, 9, 8]])
    assert response_mask(tokens, ids).int().tolist() == [[1, 1, 0, 0], [1, 1, 1, 0]]


def test_one_eos_id_may_come_as_a_tensor():
    assert response_mask(torch.tensor([[1, 2]]), torch.tensor(1)).tolist() == [
        [True, False]
    ]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_narrow_integers_are_compared_by_value(dtype):
    tokens = torch.tensor([[4, 1, 4]], dtype=dtype)
    assert response_mask(tokens, 1).tolist() == [[True, True, False]]
    assert response_mask(tokens, 2**20 + 1).all()  # no wrap-around


def test_the_masked_mean_weighs_tokens_not_rows():
    x = torch.tensor([[1.0, 1.0, 1.0], [5.0, 7.0, 7.0]])
    mask = torch.tensor([[True, True, True], [True, False, False]])
    assert masked_mean(x, mask) == 2.0


def test_the_masked_mean_of_nothing_is_zero_and_still_has_a_gradient():
    x = torch.full((2, 3), math.nan, requires_grad=True)
    mean = masked_mean(x, torch.zeros(2, 3, dtype=torch.bool))
    mean.backward()
    assert mean == 0 and not x.grad.any()


def test_whitening_by_hand():
    x = torch.tensor([[1.0, 2.0], [3.0, 99.0]], dtype=F64)
    mask = torch.tensor([[True, True], [True, False]])
    assert masked_whiten(x, mask, eps=0).tolist() == [[-1.0, 0.0], [1.0, 0.0]]


def test_the_eps_of_whitening_is_added_to_the_variance():
    x, mask = torch.tensor([[0.0, 2.0]], dtype=F64), torch.ones(1, 2) > 0
    # variance 2 with n - 1, so the scale is sqrt(2 + 7) = 3
    torch.testing.assert_close(
        masked_whiten(x, mask, eps=7), torch.tensor([[-1 / 3, 1 / 3]], dtype=F64)
    )


@pytest.mark.parametrize("eps", [0.0, 1e-8])
@pytest.mark.parametrize("value", [0.1, 1e6, -7.3])
@pytest.mark.parametrize("count", [1, 8, 9])
def test_equal_tokens_whiten_to_exactly_zero(value, count, eps):
    x = torch.full((1, count), value, requires_grad=True)
    y = masked_whiten(x, torch.ones(1, count) > 0, eps=eps)
    y.sum().backward()
    assert not y.any() and x.grad.isfinite().all()


@given(
    st.lists(st.floats(-100, 100), min_size=2, max_size=30),
    st.floats(-1e3, 1e3),
    st.floats(0.1, 10),
)
def test_whitened_tokens_have_mean_0_variance_1_and_ignore_shift_and_scale(
    values, shift, scale
):
    x = torch.tensor([values], dtype=F64)
    if x.std() < 1e-3:
        return
    live = torch.ones_like(x, dtype=torch.bool)
    y = masked_whiten(x, live, eps=0)
    assert abs(y.mean()) < 1e-9 and abs(y.var() - 1) < 1e-9
    other = masked_whiten(x * scale + shift, live, eps=0)
    torch.testing.assert_close(other, y, rtol=1e-6, atol=1e-6)


def test_whitening_has_the_right_gradient():
    x = torch.randn(3, 4, dtype=F64, requires_grad=True)
    mask = torch.rand(3, 4) < 0.7
    assert torch.autograd.gradcheck(lambda x: masked_whiten(x, mask), x)


@pytest.mark.parametrize(
    "dtype, unit", [(torch.float64, 1e200), (torch.float32, 1e25), (torch.float64, 1.0)]
)
def test_whitening_has_no_unit(dtype, unit):
    """Squares beyond the dtype too: 1e200 is whitened as 1 is."""
    x = torch.tensor([[1.0, 2.0, 4.0, 9.0]], dtype=dtype)
    mask = torch.tensor([[True, True, True, False]])
    got = masked_whiten((x * unit).requires_grad_(), mask, eps=0)
    torch.testing.assert_close(got, masked_whiten(x, mask, eps=0))
    got.sum().backward()
