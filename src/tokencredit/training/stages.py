"""The stages of the loop 循环的各个阶段, one function per arrow.

reward -> credit -> weight -> gradient, for every entry of ALGORITHMS.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from tokencredit.algorithm import (
    Algorithm,
    call_stage,
    judged,
    named,
    policy_loss,
    shaped_rewards,
    token_advantages,
)
from tokencredit.batch import Batch
from tokencredit.credit.groups import MISSING, only_finite
from tokencredit.credit.returns import row_sum
from tokencredit.tensors.checks import choice
from tokencredit.tensors.log_probs import entropy, token_log_probs
from tokencredit.tensors.masks import masked_whiten
from tokencredit.tensors.shapes import PerToken, Scalar, TokenIds, TokenMask
from tokencredit.weight.aggregate import aggregate_loss, loss_denominator
from tokencredit.weight.losses import value_loss

PART = 64  # rows that are read together; their activations fit a CPU's cache


def assign_credit(
    algorithm: Algorithm | str,
    batch: Batch,
    reference: nn.Module | None = None,
    *,
    temperature: float = 1.0,
    missing: str = "refuse",
) -> Batch:
    """The batch with one advantage per token 信用分配, and the critic's targets.

    Once per round, on the whole batch: the filter, then the rewards that the algorithm
    shapes, then the advantages. Targets come from advantages that are not whitened. If
    `sampler_log_probs` is missing, it is set to `old_log_probs`. The filter skips a
    batch that is `filtered`, and rows without a live token.

    Args:
        algorithm: an entry of ALGORITHMS or its name.
        batch: with rewards.
        reference: the frozen policy of the KL penalty.
        temperature: of sampling.
        missing: "refuse" a NaN among the rewards, or "leave out" that row: a response
            without a verdict is not trained on and does not count for others.

    Returns:
        The sequences to train on, with advantages.

    Raises:
        ValueError: the batch lacks a field that a stage needs; an infinite reward or a
            NaN (the place is named).
    """
    algorithm = named(algorithm)
    only_finite(batch.rewards, choice("missing", missing, MISSING))
    if missing == "leave out":
        batch = drop_unscored(batch)
    batch = filtered(algorithm, batch)
    if reference is not None:
        seen = log_probs_of(reference, batch, temperature)
        batch = replace(batch, ref_log_probs=seen)
    if algorithm.corrects and batch.sampler_log_probs is None:
        batch = replace(batch, sampler_log_probs=batch.old_log_probs)
    batch = replace(batch, rewards=shaped_rewards(algorithm, **batch.as_dict()))
    advantages = token_advantages(algorithm, **batch.as_dict())
    returns = advantages + batch.values if algorithm.critic else None
    if algorithm.whiten:
        advantages = masked_whiten(advantages, batch.mask)
    return replace(batch, advantages=advantages, returns=returns)


def drop_unscored(batch: Batch) -> Batch:
    """The rows without a NaN among their rewards."""
    there = ~batch.rewards.isnan().any(1)
    return batch if there.all() else batch.select(there)


def filtered(algorithm: Algorithm, batch: Batch) -> Batch:
    """The rows that the algorithm's filter keeps, unless it has been applied."""
    if algorithm.keep is None or batch.filtered:
        return batch
    live = judged(batch.rewards, batch.mask, "refuse")
    if not live.all():
        batch = batch.select(live)
    things = {"rewards": row_sum(batch.rewards), "groups": batch.groups}
    return replace(batch.select(call_stage(algorithm, "keep", things)), filtered=True)


def objective(
    algorithm: Algorithm | str,
    batch: Batch,
    now: tuple[PerToken, PerToken, PerToken | None],
    *,
    step: Batch | None = None,
) -> Scalar:
    """The loss of an optimizer step 目标函数: the policy's and, if there is one, V's.

    Args:
        algorithm: an entry of ALGORITHMS or its name.
        batch: from `assign_credit`; a micro-batch of it will do.
        now: the trained policy's log-probs, entropies and values, from `forward`.
        step: the whole batch of the optimizer step, so that the losses of its
            micro-batches add up; None: `batch` is all of it.

    Returns:
        A scalar attached to the graph.

    Raises:
        ValueError: the batch lacks a field that a stage needs.
    """
    algorithm = named(algorithm)
    log_probs, entropies, values = now
    mask = (step or batch).mask
    loss = policy_loss(
        algorithm,
        log_probs,
        entropies=entropies,
        denominator=loss_denominator(mask, algorithm.aggregation),
        **batch.as_dict(),
    )
    if algorithm.critic:
        clip = algorithm.value_clip
        error = value_loss(values, batch.values, batch.returns, clip=clip)
        tokens = loss_denominator(mask, "token-mean")
        error = aggregate_loss(error, batch.mask, "token-mean", denominator=tokens)
        loss = loss + algorithm.value_coef * error
    return loss


def forward(
    policy: nn.Module, batch: Batch, temperature: float = 1.0
) -> tuple[PerToken, PerToken, PerToken | None]:
    """Log-probs, entropies and values of a batch under the policy now 重新前向.

    Aligned like every field of `Batch`: column j belongs to token j; 0 where masked.
    Values are None without a critic.
    """
    log_probs, logits, values = forward_live(
        policy, batch.tokens, batch.mask, temperature
    )

    def put(live: Tensor) -> PerToken:
        return live.new_zeros(batch.mask.shape).masked_scatter(batch.mask, live)

    return put(log_probs), put(entropy(logits)), put(values) if policy.critic else None


def forward_live(
    policy: nn.Module, tokens: TokenIds, mask: TokenMask, temperature: float
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Log-probs, logits and values of the N live tokens, row by row."""
    chosen = mask[:, 1:]  # no policy chose the first token of a prompt
    logits, values = policy(tokens[:, :-1], only=chosen)
    logits = logits / temperature
    return token_log_probs(logits, tokens[:, 1:][chosen]), logits, values


@torch.no_grad()
def log_probs_of(policy: nn.Module, batch: Batch, temperature: float = 1.0) -> PerToken:
    """Log-probs of a batch under a frozen policy, computed in parts of like length.

    Args:
        policy: a reference, or the trainer before its update.
        batch: any.
        temperature: of sampling.

    Returns:
        Log-probs, 0 where masked.
    """
    log_probs, lengths = torch.zeros_like(batch.old_log_probs), batch.lengths()
    for rows in lengths.argsort(stable=True).split(PART) if len(batch) else ():
        width = max(1, int(lengths[rows[-1]]))  # of the longest
        tokens, mask = batch.tokens[rows, :width], batch.mask[rows, :width]
        live, _, _ = forward_live(policy, tokens, mask, temperature)
        log_probs[rows, :width] = live.new_zeros(mask.shape).masked_scatter(mask, live)
    return log_probs
