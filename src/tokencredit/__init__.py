"""Token Credit (词元的功劳): policy gradients for LLMs, from REINFORCE to GSPO.

In the order the data flows:

world        task, TASKS, Task, Game, Policy, warm_start, rollout, play, evaluate,
             add_rewards, score
batch        Batch
credit       soft_overlong, dynamic_sampling, top_variance, discounted_return, gae,
             turn_gae, group_relative, group_turns, leave_one_out, teacher_gap
weight       token_log_ratio, sequence_log_ratio, reinforce_loss, ppo_clip_loss,
             cispo_loss, gmpo_loss, sapo_loss, dppo_loss, corrected_clip_loss,
             masked_clip_loss, balanced_clip, value_loss, kl_penalty, KL_ESTIMATORS,
             aggregate_loss, loss_denominator, AGGREGATIONS
algorithms   ALGORITHMS, Algorithm, with_critic, with_turn_groups, shaped_rewards,
             token_advantages, policy_loss
training     train, Dials, warm_up
tensors      response_mask, masked_mean, masked_whiten, token_log_probs, entropy
diagnostics  DIAGNOSTICS, clip_fraction, approximate_kl, mean_entropy,
             explained_variance, ratio_range, effective_sample_size, group_reward_std,
             zero_variance_share, no_gradient_share, reference_distance, value_error

B sequences, T token positions; `mask` is True where the policy chose the token.
Masked positions may hold anything; outputs are 0 there.
"""

from tokencredit.algorithm import (
    Algorithm,
    policy_loss,
    shaped_rewards,
    token_advantages,
)
from tokencredit.algorithms import ALGORITHMS, with_critic, with_turn_groups
from tokencredit.batch import Batch
from tokencredit.credit.advantages import (
    gae,
    group_relative,
    group_turns,
    leave_one_out,
    teacher_gap,
    turn_gae,
)
from tokencredit.credit.filters import dynamic_sampling, top_variance
from tokencredit.credit.returns import discounted_return
from tokencredit.credit.rewards import soft_overlong
from tokencredit.diagnostics import (
    DIAGNOSTICS,
    approximate_kl,
    clip_fraction,
    effective_sample_size,
    explained_variance,
    group_reward_std,
    mean_entropy,
    no_gradient_share,
    ratio_range,
    reference_distance,
    value_error,
    zero_variance_share,
)
from tokencredit.tensors.log_probs import entropy, token_log_probs
from tokencredit.tensors.masks import masked_mean, masked_whiten, response_mask
from tokencredit.training import (
    Dials,
    train,
    warm_up,
)
from tokencredit.weight.aggregate import (
    AGGREGATIONS,
    aggregate_loss,
    loss_denominator,
)
from tokencredit.weight.kl import KL_ESTIMATORS, kl_penalty
from tokencredit.weight.losses import (
    balanced_clip,
    cispo_loss,
    corrected_clip_loss,
    dppo_loss,
    gmpo_loss,
    masked_clip_loss,
    ppo_clip_loss,
    reinforce_loss,
    sapo_loss,
    value_loss,
)
from tokencredit.weight.ratios import sequence_log_ratio, token_log_ratio
from tokencredit.world.episodes import play
from tokencredit.world.game import Game, evaluate
from tokencredit.world.policy import Policy
from tokencredit.world.rollout import rollout
from tokencredit.world.scoring import add_rewards, score
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks import TASKS, Task, task

__all__ = [
    "AGGREGATIONS",
    "ALGORITHMS",
    "DIAGNOSTICS",
    "KL_ESTIMATORS",
    "TASKS",
    "Algorithm",
    "Batch",
    "Dials",
    "Game",
    "Policy",
    "Task",
    "add_rewards",
    "aggregate_loss",
    "approximate_kl",
    "balanced_clip",
    "cispo_loss",
    "clip_fraction",
    "corrected_clip_loss",
    "discounted_return",
    "dppo_loss",
    "dynamic_sampling",
    "effective_sample_size",
    "entropy",
    "evaluate",
    "explained_variance",
    "gae",
    "gmpo_loss",
    "group_relative",
    "group_reward_std",
    "group_turns",
    "kl_penalty",
    "leave_one_out",
    "loss_denominator",
    "masked_clip_loss",
    "masked_mean",
    "masked_whiten",
    "mean_entropy",
    "no_gradient_share",
    "play",
    "policy_loss",
    "ppo_clip_loss",
    "ratio_range",
    "reference_distance",
    "reinforce_loss",
    "response_mask",
    "rollout",
    "sapo_loss",
    "score",
    "sequence_log_ratio",
    "shaped_rewards",
    "soft_overlong",
    "task",
    "teacher_gap",
    "token_advantages",
    "token_log_probs",
    "token_log_ratio",
    "top_variance",
    "train",
    "turn_gae",
    "value_error",
    "value_loss",
    "warm_start",
    "warm_up",
    "with_critic",
    "with_turn_groups",
    "zero_variance_share",
]
