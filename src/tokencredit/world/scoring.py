"""Verdicts 评分: from a response to a number on its last token."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch

from tokencredit.batch import Batch
from tokencredit.credit.groups import MISSING
from tokencredit.tensors.checks import choice
from tokencredit.tensors.masks import last_live
from tokencredit.tensors.shapes import PerSequence, PerToken, TokenMask
from tokencredit.world.rollout import texts
from tokencredit.world.text import HasVocabulary

# (prompt, response) -> a number; None or NaN if there is no verdict
RewardFunction = Callable[[str, str], float | None]


def score(
    batch: Batch,
    task: HasVocabulary,
    prompts: list[str],
    reward_fn: RewardFunction,
    *,
    missing: str = "refuse",
) -> PerSequence:
    """The verdict on each response 评分, one number per row.

    Args:
        batch: from `rollout` on those prompts.
        task: whose tokens they are.
        prompts: texts; row i answers ``prompts[batch.groups[i]]``.
        reward_fn: of a prompt and a response, both as text, EOS included.
        missing: None and NaN are refused; "leave out" makes NaN of them, for
            `group_relative`, `assign_credit` and so on to leave out.

    Returns:
        Scores ``[B]``.

    Raises:
        ValueError: a verdict that is not one finite number, or missing and refused.
    """
    scores, allowed = [], choice("missing", missing, MISSING) == "leave out"
    responses = texts(batch, task.vocabulary)
    for group, response in zip(batch.groups.tolist(), responses, strict=True):
        value = reward_fn(prompts[group], response)
        if allowed and value is None:
            value = math.nan
        try:
            scores.append(float(value))
        except (TypeError, ValueError, RuntimeError):
            scores.append(math.inf)
        if allowed and math.isnan(scores[-1]):
            continue
        if not math.isfinite(scores[-1]):
            raise ValueError(
                f"the reward of {prompts[group]!r} -> {response!r} must be one finite "
                f"number, got {value!r}"
            )
    return torch.tensor(scores)


def add_rewards(
    batch: Batch,
    task,
    prompts: list[str],
    reward_fn: RewardFunction | None = None,
    *,
    missing: str = "refuse",
) -> Batch:
    """The batch with its rewards 奖励, one per response, on its last token.

    Args:
        batch: from `rollout` on those prompts.
        task: its `reward` is used.
        prompts: texts; row i answers ``prompts[batch.groups[i]]``.
        reward_fn: replaces the task's.
        missing: what happens to a response without a verdict, see `score`.

    Returns:
        The batch with its rewards.

    Raises:
        ValueError: a verdict that is not one finite number, or missing and refused.
    """
    scores = score(batch, task, prompts, reward_fn or task.reward, missing=missing)
    return replace(batch, rewards=on_last_token(scores, batch.mask))


def on_last_token(scores: PerSequence, mask: TokenMask) -> PerToken:
    """One number per row, placed on the row's last live token.

    >>> on_last_token(torch.tensor([7.0]), torch.tensor([[False, True, True, False]]))
    tensor([[0., 0., 7., 0.]])
    """
    return torch.where(last_live(mask), scores[:, None], 0.0)
