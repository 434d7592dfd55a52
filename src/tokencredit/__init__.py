"""Token Credit (词元的功劳): policy gradients for LLMs, from REINFORCE to GSPO.

In the order the data flows:

masks        response_mask, masked_mean, masked_whiten
log_probs    token_log_probs, entropy
rewards      soft_overlong
filters      dynamic_sampling, top_variance
returns      discounted_return
advantages   gae, turn_gae, group_relative, group_turns, leave_one_out
ratios       token_log_ratio, sequence_log_ratio
losses       reinforce_loss, ppo_clip_loss, cispo_loss, value_loss, balanced_clip
kl           kl_penalty
aggregate    aggregate_loss, loss_denominator
algorithms   ALGORITHMS, Algorithm, with_critic, with_turn_groups, shaped_rewards,
             token_advantages, policy_loss
diagnostics  DIAGNOSTICS, clip_fraction, approximate_kl, mean_entropy,
             explained_variance, ratio_range, effective_sample_size,
             group_reward_std, zero_variance_share

B sequences, T token positions; `mask` is True where the policy chose the token.
Masked positions may hold anything; outputs are 0 there.
"""

from .advantages import gae, group_relative, group_turns, leave_one_out, turn_gae
from .aggregate import AGGREGATIONS, aggregate_loss, loss_denominator
from .algorithms import (
    ALGORITHMS,
    Algorithm,
    policy_loss,
    shaped_rewards,
    token_advantages,
    with_critic,
    with_turn_groups,
)
from .diagnostics import (
    DIAGNOSTICS,
    approximate_kl,
    clip_fraction,
    effective_sample_size,
    explained_variance,
    group_reward_std,
    mean_entropy,
    ratio_range,
    zero_variance_share,
)
from .filters import dynamic_sampling, top_variance
from .kl import KL_ESTIMATORS, kl_penalty
from .log_probs import entropy, token_log_probs
from .losses import (
    balanced_clip,
    cispo_loss,
    ppo_clip_loss,
    reinforce_loss,
    value_loss,
)
from .masks import masked_mean, masked_whiten, response_mask
from .ratios import sequence_log_ratio, token_log_ratio
from .returns import discounted_return
from .rewards import soft_overlong

__all__ = [
    "AGGREGATIONS",
    "ALGORITHMS",
    "DIAGNOSTICS",
    "KL_ESTIMATORS",
    "Algorithm",
    "aggregate_loss",
    "approximate_kl",
    "balanced_clip",
    "cispo_loss",
    "clip_fraction",
    "discounted_return",
    "dynamic_sampling",
    "effective_sample_size",
    "entropy",
    "explained_variance",
    "gae",
    "group_relative",
    "group_reward_std",
    "group_turns",
    "kl_penalty",
    "leave_one_out",
    "loss_denominator",
    "masked_mean",
    "masked_whiten",
    "mean_entropy",
    "policy_loss",
    "ppo_clip_loss",
    "ratio_range",
    "reinforce_loss",
    "response_mask",
    "sequence_log_ratio",
    "shaped_rewards",
    "soft_overlong",
    "token_advantages",
    "token_log_probs",
    "token_log_ratio",
    "top_variance",
    "turn_gae",
    "value_loss",
    "with_critic",
    "with_turn_groups",
    "zero_variance_share",
]
