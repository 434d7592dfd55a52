"""verl 别的训练器: the course's algorithms in verl's registries.

The only module that needs verl. Named in ``VERL_USE_EXTERNAL_MODULES``, it is imported
by every process of a run, and a configuration may say

    actor_rollout_ref.actor.policy_loss.loss_mode: tokencredit Dr. GRPO
    algorithm.adv_estimator: tokencredit Dr. GRPO

`tokencredit.integrations.recipes` prints the whole configuration of an entry. verl adds
KL and entropy itself, from its own settings.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from verl.trainer.ppo.core_algos import register_adv_est, register_policy_loss

from tokencredit.algorithm import Algorithm, named, policy_loss, token_advantages
from tokencredit.algorithms import ALGORITHMS
from tokencredit.integrations.recipes import name_in_verl
from tokencredit.tensors.masks import masked_whiten
from tokencredit.weight.aggregate import AGGREGATIONS

COUNTED = {"tokens": "batch_num_tokens", "sequences": "global_batch_size"}
"""verl's counts of an optimizer step, over micro-batches and ranks."""


def bring(row: Algorithm | str):
    """Register an algorithm with verl 登记到 verl: its loss and, without a critic, A.

    An advantage with a critic is verl's own (`algorithm.adv_estimator=gae`): a
    registered one is not given values. Nor is it given a teacher's log-probs.

    Raises:
        ValueError: when verl calls the loss: weights for the sampler that the algorithm
            does not use, or none where it needs them; no `loss_scale_factor` where the
            aggregation divides by a constant; a clip range chosen per step on less than
            the whole step.
    """
    row = named(row)
    bare = replace(row, kl_coef=0.0, entropy_coef=0.0)
    rule = AGGREGATIONS[row.aggregation]

    @register_policy_loss(name_in_verl(row))
    def loss(
        old_log_prob,
        log_prob,
        advantages,
        response_mask,
        loss_agg_mode="token-mean",
        config=None,
        rollout_is_weights=None,
        **_,
    ):
        mask = response_mask.bool()
        step = config.global_batch_info
        count = step[COUNTED[rule.per_batch]]
        sampler = None
        if row.corrects != (rollout_is_weights is not None):
            raise ValueError(
                f"{row.name}: algorithm.rollout_correction.rollout_is must be "
                + ("'token'" if row.corrects else "null: its weights would be lost")
            )
        if row.corrects:  # weight = old / sampler
            sampler = old_log_prob - rollout_is_weights.log()
        live = mask.sum() if rule.per_batch == "tokens" else len(mask)
        if row.clip_rule is not None and int(count) != int(live):
            raise ValueError(
                f"{row.name} chooses its clip range per optimizer step: it must see "
                "the whole step, on one rank and in one micro-batch"
            )
        length = None
        if rule.per_row == "max_length":
            length = step.get("loss_scale_factor")
            if length is None:
                raise ValueError(
                    f"{row.name} divides by a constant: set actor.loss_scale_factor"
                )
        total = policy_loss(
            bare,
            log_prob,
            old_log_prob,
            advantages,
            mask,
            sampler_log_probs=sampler,
            max_length=length,
            denominator=count / step.get("dp_size", 1),  # verl averages over ranks
        )
        return total, {}

    if row.critic or row.taught:
        return

    @register_adv_est(name_in_verl(row))
    def advantage(token_level_rewards, response_mask, index=None, **_):
        mask = response_mask.bool()
        groups = None
        if index is not None:  # uids are words
            groups = torch.as_tensor(np.unique(index, return_inverse=True)[1])
        ends = mask & ~F.pad(mask, (0, 1))[:, 1:]  # a turn ends where a run does
        chosen = token_advantages(
            row,
            token_level_rewards.float(),
            mask,
            groups=groups,
            turn_ends=ends if row.credit_level == "turn" else None,
        )
        if row.whiten:
            chosen = masked_whiten(chosen, mask)
        return chosen, chosen


for algorithm in ALGORITHMS.values():
    bring(algorithm)
