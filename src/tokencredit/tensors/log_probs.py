"""Log-probabilities 对数概率 of the taken tokens."""

from __future__ import annotations

import torch
from torch.autograd.function import once_differentiable

from tokencredit.tensors.checks import FLOATS, INTEGERS, number, require, tensor
from tokencredit.tensors.shapes import Logits, PerPosition, Positions

CHUNK = 1 << 18  # logits handled at once: a megabyte of float32 stays in cache


class TokenLogProbs(torch.autograd.Function):
    """log pi(y) row chunk by row chunk; backward computes the softmax again."""

    @staticmethod
    def forward(ctx, logits, tokens, temperature):
        """Log-probabilities; saves one number per row, not one per word."""
        dtype = torch.promote_types(logits.dtype, torch.float32)
        taken = torch.empty(tokens.shape, dtype=dtype, device=logits.device)
        rows = max(1, CHUNK // max(1, logits.shape[1]))
        chunks = (x.split(rows) for x in (logits, tokens, taken))
        for z, y, out in zip(*chunks, strict=True):
            log_p = (z.to(dtype) / temperature).log_softmax(1)
            torch.gather(log_p, 1, y, out=out)
        ctx.save_for_backward(logits, tokens)
        ctx.rows, ctx.temperature = rows, temperature
        return taken

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        """d log pi(y) / dz = (onehot(y) - softmax(z)) / temperature."""
        logits, tokens = ctx.saved_tensors
        scale, minus_one = grad / -ctx.temperature, torch.full_like(grad, -1)
        grad_logits = torch.empty_like(logits)
        inputs = (logits, tokens, scale, minus_one, grad_logits)
        for z, y, c, hot, out in zip(*(x.split(ctx.rows) for x in inputs), strict=True):
            p = (z.to(grad.dtype) / ctx.temperature).softmax(1)
            torch.mul(p.scatter_add_(1, y, hot), c, out=out)
        return grad_logits, None, None


def token_log_probs(
    logits: Logits, tokens: Positions, *, temperature: float = 1.0
) -> PerPosition:
    """Log-probability of the token taken 词元对数概率.

        log pi(y) = z_y / tau - logsumexp(z / tau)

    Rows are handled in chunks, forward and backward, so that apart from the gradient
    itself no second [..., V] tensor is ever held for the whole batch.

    Args:
        logits: scores of every word, in any float dtype; computed in float32 or wider.
        tokens: the ids that were taken, 0 <= id < V.
        temperature: the one the tokens were sampled with, > 0.

    Returns:
        One log-probability per token, in nats.

    Raises:
        ValueError: shapes do not fit, ids outside the vocabulary (-100 padding too),
            temperature not positive.

    Easy to break: training with another temperature than sampling makes the ratio
    differ from 1 on the very first step.

    >>> token_log_probs(torch.tensor([[0.0, 0.0]]), torch.tensor([1])).exp()
    tensor([0.5000])
    """
    tensor("logits", logits, FLOATS, "floats")
    require(logits.ndim >= 1, "logits", "of shape [..., V]", logits)
    per_row = logits.detach().new_empty(logits.shape[:-1])
    tensor("tokens", tokens, INTEGERS, "integers", like=per_row)
    temperature = number("temperature", temperature, open_low=True)
    vocabulary = logits.shape[-1]
    if tokens.numel():
        low, high = (int(end) for end in tokens.aminmax())
        if low < 0 or high >= vocabulary:
            raise ValueError(
                f"tokens must be ids in [0, {vocabulary}); got {low} to {high}"
            )
    flat = logits.reshape(tokens.numel(), vocabulary)
    taken = TokenLogProbs.apply(flat, tokens.reshape(-1, 1).long(), temperature)
    return taken.reshape(tokens.shape)


def entropy(logits: Logits) -> PerPosition:
    """Entropy of the next-token distribution 熵, in nats.

        H = -sum_v p_v log p_v = logsumexp(z) - sum_v p_v z_v,    0 <= H <= log V

    Its gradient is dH/dz_v = -p_v (log p_v + H). A word of probability 0 (logit -inf)
    adds nothing.

    Args:
        logits: scores of every word.

    Returns:
        One entropy per position.

    Raises:
        ValueError: logits are not float or have no last axis.

    Easy to break: this is the entropy at temperature 1; divide the logits first.

    >>> entropy(torch.zeros(1, 4)).exp()
    tensor([4.])
    """
    tensor("logits", logits, FLOATS, "floats")
    require(logits.ndim >= 1, "logits", "of shape [..., V]", logits)
    dtype = torch.promote_types(logits.dtype, torch.float32)
    log_p = logits.to(dtype).log_softmax(-1)
    p = log_p.exp()
    return -(p * log_p.masked_fill(p == 0, 0)).sum(-1)
