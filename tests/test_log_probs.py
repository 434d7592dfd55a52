"""Log-probabilities and entropy against their definitions."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from tokencredit import entropy, token_log_probs
from tokencredit.tensors import log_probs as module

F64 = torch.float64
logits_rows = st.lists(
    st.lists(st.floats(-30, 30), min_size=3, max_size=3), min_size=1, max_size=6
)


def definition(logits, tokens, temperature=1.0):
    p = (logits.double() / temperature).softmax(-1)
    return p.gather(-1, tokens[..., None])[..., 0].log()


@given(logits_rows, st.floats(0.1, 10))
def test_the_log_prob_is_the_log_of_the_softmax_at_that_temperature(rows, temperature):
    logits = torch.tensor(rows, dtype=F64)
    tokens = torch.arange(len(rows)) % 3
    got = token_log_probs(logits, tokens, temperature=temperature)
    wanted = (logits / temperature).log_softmax(-1)[range(len(rows)), tokens]
    torch.testing.assert_close(got, wanted)


@given(logits_rows)
def test_the_probabilities_of_all_words_sum_to_one(rows):
    logits = torch.tensor(rows, dtype=F64)
    every = logits[:, None].expand(-1, 3, -1)
    words = torch.arange(3).expand(len(rows), 3)
    total = token_log_probs(every, words).exp().sum(-1)
    torch.testing.assert_close(total, torch.ones_like(total))


@pytest.mark.parametrize("chunk", [1, 7, 20, 1 << 18])
@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 7), (7,), (0, 7), (2, 0, 7)])
def test_chunks_change_nothing(chunk, shape, monkeypatch):
    logits = torch.randn(shape, dtype=F64, requires_grad=True)
    tokens = torch.randint(7, shape[:-1])
    weights = torch.randn(shape[:-1], dtype=F64)
    (wanted,) = torch.autograd.grad(
        (definition(logits, tokens, 0.7) * weights).sum(), logits
    )
    monkeypatch.setattr(module, "CHUNK", chunk)
    got = token_log_probs(logits, tokens, temperature=0.7)
    torch.testing.assert_close(got, definition(logits, tokens, 0.7))
    (got.mul(weights)).sum().backward()
    torch.testing.assert_close(logits.grad, wanted)


def test_the_gradient_is_onehot_minus_softmax_over_temperature():
    logits = torch.tensor([[0.0, math.log(3.0)]], dtype=F64, requires_grad=True)
    token_log_probs(logits, torch.tensor([0]), temperature=2.0).sum().backward()
    p = torch.tensor([0.0, math.log(3.0) / 2]).softmax(0)
    wanted = torch.tensor([[1 - p[0], -p[1]]], dtype=F64) / 2
    torch.testing.assert_close(logits.grad, wanted)


def test_bf16_logits_are_cast_up_before_the_softmax():
    logits = torch.randn(50, 300).bfloat16()
    tokens = torch.randint(300, (50,))
    got = token_log_probs(logits, tokens)
    wanted = definition(logits, tokens).float()
    torch.testing.assert_close(got, wanted, rtol=1e-6, atol=1e-6)


def test_huge_logits_and_a_masked_vocabulary_stay_finite():
    logits = torch.tensor([[1e4, 1e4 + 1, -math.inf]], requires_grad=True)
    log_prob = token_log_probs(logits, torch.tensor([0]))
    torch.testing.assert_close(log_prob, torch.tensor([-1.3133]), rtol=1e-4, atol=1e-4)
    (log_prob + entropy(logits)).sum().backward()
    assert logits.grad.isfinite().all() and entropy(logits).isfinite().all()


def test_a_word_that_cannot_be_sampled_has_log_prob_minus_infinity():
    logits = torch.tensor([[0.0, -math.inf]])
    assert token_log_probs(logits, torch.tensor([1])).item() == -math.inf


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_any_integer_type_names_a_token(dtype):
    logits = torch.randn(4, 9)
    tokens = torch.tensor([0, 3, 8, 1])
    got = token_log_probs(logits, tokens.to(dtype))
    assert torch.equal(got, token_log_probs(logits, tokens))


class Made(TorchDispatchMode):
    """Names of the operations that made a tensor larger than one chunk."""

    def __init__(self, *known):
        super().__init__()
        self.known, self.large = {x.untyped_storage().data_ptr() for x in known}, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for x in result if isinstance(result, tuple | list) else [result]:
            if not isinstance(x, torch.Tensor):
                continue
            place = x.untyped_storage().data_ptr()
            if x.numel() > module.CHUNK and place not in self.known:
                self.known.add(place)
                self.large.append(str(function))
        return result


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_only_the_gradient_is_as_large_as_the_logits(dtype):
    rows, words = 300, 4000
    logits = torch.randn(rows, words).to(dtype).requires_grad_()
    tokens = torch.randint(words, (rows,))
    with Made(logits) as forward:
        loss = token_log_probs(logits, tokens).sum()
    assert forward.large == []
    with Made(logits) as backward:
        loss.backward()
    assert backward.large == ["aten.empty_like.default"]


@given(logits_rows)
def test_entropy_is_its_definition_and_at_most_log_v(rows):
    logits = torch.tensor(rows, dtype=F64)
    p = logits.softmax(-1)
    wanted = -(p * p.clamp(min=1e-300).log()).sum(-1)
    h = entropy(logits)
    torch.testing.assert_close(h, wanted, rtol=1e-7, atol=1e-9)
    assert (h >= -1e-12).all() and (h <= math.log(3) + 1e-12).all()


def test_the_gradient_of_entropy_is_minus_p_log_p_plus_h():
    logits = torch.randn(4, 6, dtype=F64, requires_grad=True)
    h = entropy(logits)
    h.sum().backward()
    p = logits.detach().softmax(-1)
    wanted = -p * (p.log() + h.detach()[:, None])
    torch.testing.assert_close(logits.grad, wanted)


def test_a_uniform_policy_has_log_v_and_a_certain_one_nothing():
    logits = torch.tensor([[0.0, 0.0, 0.0], [0.0, -math.inf, -math.inf]])
    torch.testing.assert_close(entropy(logits), torch.tensor([math.log(3), 0.0]))
