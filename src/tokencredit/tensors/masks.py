"""Masks 掩码: which tokens the policy chose, and statistics over them alone."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

import torch

from tokencredit.tensors.checks import (
    INTEGERS,
    floats,
    number,
    require,
    tensor,
    token_mask,
)
from tokencredit.tensors.shapes import PerToken, Scalar, TokenIds, TokenMask

LARGEST = 2**63  # ids are int64


def response_mask(tokens: TokenIds, eos_id: int | Iterable[int]) -> TokenMask:
    """Mask of the sampled tokens 回答掩码: True up to and including the first EOS.

        m_t = 1 if no EOS stands before t, else 0

    The EOS itself is trained: stopping is an action. A row without an EOS was cut
    off by the length limit and is True throughout.

    Args:
        tokens: ids of the responses, prompt excluded.
        eos_id: the id that ends a response, or several such ids: ints, NumPy's too, or
            a tensor of them.

    Returns:
        True where the policy chose the token.

    Raises:
        ValueError: tokens are not integers [B, T]; no id, or an id is no integer.

    Easy to break: mask[t] must belong to the token whose log-prob is log_probs[t].

    >>> response_mask(torch.tensor([[5, 6, 1, 0], [5, 6, 7, 8]]), eos_id=1).int()
    tensor([[1, 1, 1, 0],
            [1, 1, 1, 1]], dtype=torch.int32)
    """
    tensor("tokens", tokens, INTEGERS, "integers", ndim=2)
    if isinstance(eos_id, torch.Tensor):
        eos_id = eos_id.tolist()
    is_several = isinstance(eos_id, Iterable) and not isinstance(eos_id, str)
    ids = list(eos_id) if is_several else [eos_id]
    whole = all(isinstance(i, Integral) and not isinstance(i, bool) for i in ids)
    require(ids and whole, "eos_id", "an integer or several", eos_id)
    ids = [int(i) for i in ids if -LARGEST <= i < LARGEST]  # no token has another
    ids = torch.tensor(ids, dtype=torch.long, device=tokens.device)
    is_eos = torch.isin(tokens.long(), ids)
    return is_eos.cumsum(1) - is_eos.long() == 0


def masked_mean(x: PerToken, mask: TokenMask) -> Scalar:
    """Mean over the live tokens 掩码均值: sum(m x) / sum(m), 0 without any.

    Selects, never multiplies: 0 * nan is nan.

    Args:
        x: any quantity per token.
        mask: True where it counts.

    Returns:
        A scalar, differentiable in x.

    Raises:
        ValueError: shapes differ, x is not float, mask is not bool.

    Easy to break: the mean of micro-batch means is not the mean of the batch.

    >>> x = torch.tensor([[1.0, 3.0, float("nan")]])
    >>> masked_mean(x, torch.tensor([[True, True, False]]))
    tensor(2.)
    """
    (x,) = floats(2, x=x)
    mask = token_mask(mask, x)
    return torch.where(mask, x, 0).sum() / mask.sum().clamp(min=1)


def masked_whiten(x: PerToken, mask: TokenMask, *, eps: float = 1e-8) -> PerToken:
    """Whitening over the live tokens 白化: zero mean, unit variance.

        y = (x - mean) / sqrt(var + eps),    var with n - 1

    Limits: a single token, or equal tokens, give 0.

    Args:
        x: any quantity per token, usually advantages.
        mask: True where it counts.
        eps: added to the variance, not to its root.

    Returns:
        Whitened values, 0 where masked.

    Raises:
        ValueError: shapes differ, x is not float, mask is not bool, eps < 0.

    Easy to break: value targets come from advantages that were not whitened.

    >>> x = torch.tensor([[1.0, 3.0, 9.0]])
    >>> masked_whiten(x, torch.tensor([[True, True, False]]))
    tensor([[-0.7071,  0.7071,  0.0000]])
    """
    (x,) = floats(2, x=x)
    mask = token_mask(mask, x)
    eps = number("eps", eps)
    live = x[mask]
    live = live - live[:1].detach()  # equal tokens become exactly 0
    centred = live - live.mean()
    rest = max(live.numel() - 1, 1)
    var = centred.square().sum() / rest
    if var.isinf():  # a square is beyond the dtype: in units of the largest deviation
        unit = centred.detach().abs().max()
        centred, eps = centred / unit, eps / unit / unit
        var = centred.square().sum() / rest
    scale = torch.where(var + eps > 0, var + eps, 1).sqrt()
    return torch.zeros_like(x).masked_scatter(mask, centred / scale)


def last_live(mask: TokenMask) -> TokenMask:
    """True on the last live token of every row 最后一个参与训练的词元.

    >>> last_live(torch.tensor([[True, False, True, False], [False] * 4])).int()
    tensor([[0, 0, 1, 0],
            [0, 0, 0, 0]], dtype=torch.int32)
    """
    return mask & (mask.flip(1).cumsum(1).flip(1) == 1)
