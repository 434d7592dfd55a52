"""Importance ratios 重要性采样比率: the new policy's probability over the sampler's.

In logs throughout: the ratio is exp(log pi - log pi_old), never log pi / log pi_old.
"""

from __future__ import annotations

import torch

from tokencredit.tensors.checks import floats, token_mask
from tokencredit.tensors.shapes import PerToken, TokenMask


def token_log_ratio(
    log_probs: PerToken, old_log_probs: PerToken, mask: TokenMask
) -> PerToken:
    """Log-ratio of each token 词元级对数比.

        log rho_t = log pi(y_t) - log pi_old(y_t)

    Limit: 0, so a ratio of 1, on the first step after sampling.

    Args:
        log_probs: under the policy being trained.
        old_log_probs: under the policy that sampled; carries no gradient.
        mask: True where the policy chose the token.

    Returns:
        Log-ratios, 0 where masked.

    Raises:
        ValueError: shapes differ, not float, mask not bool.

    Easy to break: "old" is the policy that sampled, not the reference policy.

    >>> new, old = torch.tensor([[-1.0, -2.0]]), torch.tensor([[-1.5, -2.0]])
    >>> token_log_ratio(new, old, torch.tensor([[True, False]]))
    tensor([[0.5000, 0.0000]])
    """
    log_probs, old = floats(2, log_probs=log_probs, old_log_probs=old_log_probs)
    mask = token_mask(mask, log_probs)
    return torch.where(mask, log_probs - old.detach(), 0)


def sequence_log_ratio(
    log_probs: PerToken, old_log_probs: PerToken, mask: TokenMask
) -> PerToken:
    """Log-ratio of the sequence, per token of its length 序列级对数比 (2507.18071).

        log s_t = sg[mean_t log rho_t] + log pi(y_t) - sg[log pi(y_t)]

    GSPO-token: the value is the geometric mean of the token ratios at every position,
    the gradient of position t reaches token t alone. So per-token advantages stay
    possible, and under "seq-mean-token-mean" the gradient is -A s / (S n) per token.

    Args:
        log_probs: under the policy being trained.
        old_log_probs: under the policy that sampled; carries no gradient.
        mask: True where the policy chose the token.

    Returns:
        Log-ratios, equal along each row, 0 where masked.

    Raises:
        ValueError: shapes differ, not float, mask not bool.

    Easy to break: the clip range is some 700 times smaller (3e-4, 4e-4), and the
    aggregation must be per sequence.

    >>> new, old = torch.tensor([[-1.0, -2.0]]), torch.tensor([[-1.5, -2.0]])
    >>> sequence_log_ratio(new, old, torch.tensor([[True, True]]))
    tensor([[0.2500, 0.2500]])
    """
    log_ratio = token_log_ratio(log_probs, old_log_probs, mask)
    length = mask.sum(1, keepdim=True).clamp(min=1)
    mean = log_ratio.detach().sum(1, keepdim=True) / length
    # 0 with gradient 1; a log-prob of -inf has none to give
    own = torch.where(log_ratio.isfinite(), log_ratio - log_ratio.detach(), 0)
    return torch.where(mask, mean + own, 0)
