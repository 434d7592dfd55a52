"""Aggregation 损失聚合: from a loss per token to one number."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tokencredit.tensors.checks import choice, floats, number, require, token_mask
from tokencredit.tensors.shapes import PerToken, Scalar, TokenMask


class Rule(NamedTuple):
    """Divisors of the sum of each row, and then of the sum of the rows."""

    per_row: str | None  # None, its "tokens", or the constant "max_length"
    per_batch: str | None  # None, or all live "tokens" or "sequences"


AGGREGATIONS = {
    "token-sum": Rule(per_row=None, per_batch=None),
    "token-mean": Rule(per_row=None, per_batch="tokens"),
    "seq-mean-token-mean": Rule(per_row="tokens", per_batch="sequences"),
    "seq-mean-token-sum": Rule(per_row=None, per_batch="sequences"),
    "seq-sum-token-mean": Rule(per_row="tokens", per_batch=None),
    "seq-mean-token-sum-norm": Rule(per_row="max_length", per_batch="sequences"),
}


def loss_denominator(mask: TokenMask, how: str) -> int | None:
    """Divisor of a whole optimizer step under a rule 聚合的分母: tokens or sequences.

    Pass it to every micro-batch of the step as `denominator`.

    Args:
        mask: of the whole optimizer step.
        how: the name of the rule.

    Returns:
        A count of at least 1; None for the two sums, which divide by nothing.

    Raises:
        ValueError: mask is not bool [B, T], unknown rule.

    >>> mask = torch.tensor([[True, True], [False, False]])
    >>> loss_denominator(mask, "token-mean"), loss_denominator(mask, "token-sum")
    (2, None)
    """
    mask = token_mask(mask)
    rule = AGGREGATIONS[choice("how", how, AGGREGATIONS)]
    if rule.per_batch is None:
        return None
    live = mask if rule.per_batch == "tokens" else mask.any(1)
    return max(int(live.sum()), 1)


def plain(count):
    """The number in a tensor of one element; other values unchanged."""
    one = isinstance(count, Tensor) and count.numel() == 1
    return count.item() if one else count


def aggregate_loss(
    loss: PerToken,
    mask: TokenMask,
    how: str,
    *,
    max_length: float | None = None,
    denominator: float | None = None,
) -> Scalar:
    """Aggregate a loss per token into one number 损失聚合.

        token-sum                sum_i sum_t                weight 1
        token-mean               (1/N) sum_i sum_t          1/N       (DAPO)
        seq-mean-token-mean      (1/S) sum_i (1/n_i) sum_t  1/(S n_i) (GRPO)
        seq-mean-token-sum       (1/S) sum_i sum_t          1/S
        seq-sum-token-mean       sum_i (1/n_i) sum_t        1/n_i
        seq-mean-token-sum-norm  (1/S) sum_i (1/C) sum_t    1/(S C)   (Dr. GRPO)

    n_i live tokens in row i, N in all, S rows with n_i > 0, C = max_length. Limits:
    nothing live gives 0 with zero gradient; equal lengths make the means agree.

    Args:
        loss: loss per token; anything may stand on masked tokens.
        mask: True where the policy chose the token.
        how: the name of the rule.
        max_length: the constant C of "seq-mean-token-sum-norm", which alone takes it; a
            number > 0 or a tensor that holds one.
        denominator: N (token-mean) or S (seq-means) of the whole optimizer step, so
            that the losses of its micro-batches add up to the loss of the batch; a
            number > 0 or a tensor that holds one.

    Returns:
        A scalar attached to the graph.

    Raises:
        ValueError: unknown rule, max_length missing or not wanted, a denominator for
            a sum or not positive, shapes, dtypes.

    Easy to break: averaging token-means of micro-batches gives other weights.

    >>> loss = torch.tensor([[1.0, 1.0, 4.0]])
    >>> aggregate_loss(loss, loss < 4, "token-sum")
    tensor(2.)
    >>> aggregate_loss(loss, loss < 4, "token-mean")
    tensor(1.)
    """
    (loss,) = floats(2, loss=loss)
    mask = token_mask(mask, loss)
    rule = AGGREGATIONS[choice("how", how, AGGREGATIONS)]
    if rule.per_row == "max_length":
        max_length = number("max_length", plain(max_length), open_low=True)
    else:
        require(max_length is None, "max_length", f"None for {how!r}", max_length)
    if denominator is None:
        denominator = loss_denominator(mask, how) or 1
    else:
        require(rule.per_batch, "denominator", f"None for {how!r}", denominator)
        denominator = number("denominator", plain(denominator), open_low=True)
    rows = torch.where(mask, loss, 0).sum(1)
    if rule.per_row == "tokens":
        rows = rows / mask.sum(1).clamp(min=1)
    if rule.per_row == "max_length":
        rows = rows / max_length
    return rows.sum() / denominator
