"""KL penalties 散度惩罚: distance of the policy from the reference."""

from __future__ import annotations

import torch

from tokencredit.tensors.checks import choice, floats
from tokencredit.tensors.shapes import PerToken

# d = log pi - log ref at the token sampled; every estimator is 0 at d = 0.
KL_ESTIMATORS = {
    "k1": lambda d: d,
    "k2": lambda d: d.square() / 2,
    "k3": lambda d: torch.expm1(-d) + d,
    "abs": torch.abs,
}


def kl_penalty(
    log_probs: PerToken, ref_log_probs: PerToken, estimator: str = "k3"
) -> PerToken:
    """Estimates of KL(pi || ref) from sampled tokens KL 估计 (Schulman's note).

        d = log pi - log ref;  k1 = d,  k2 = d^2 / 2,  k3 = exp(-d) - 1 + d,  abs = |d|

    With samples from pi, E k1 = E k3 = KL(pi || ref). As a loss on fresh samples the
    expected gradient is 0 for k1, that of KL(pi || ref) for k2 and that of
    KL(ref || pi) for k3. Limit: 0 where the policies agree.

    Args:
        log_probs: under the policy being trained, finite.
        ref_log_probs: under the frozen reference, finite; carries no gradient.
        estimator: "k1", "k2", "k3" or "abs".

    Returns:
        One estimate per token.

    Raises:
        ValueError: shapes differ, not float, unknown estimator.

    Easy to break: multiplying by pi counts the sampling probability twice.

    >>> new, ref = torch.tensor([[-1.0]]), torch.tensor([[-2.0]])
    >>> [kl_penalty(new, ref, name).item() for name in ("k1", "k2", "abs")]
    [1.0, 0.5, 1.0]
    """
    log_probs, ref = floats(log_probs=log_probs, ref_log_probs=ref_log_probs)
    return KL_ESTIMATORS[choice("estimator", estimator, KL_ESTIMATORS)](
        log_probs - ref.detach()
    )
