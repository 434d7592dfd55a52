"""Verdicts 评分: from a response to a number on its last token."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch

from tokencredit.batch import Batch
from tokencredit.tensors.masks import last_live
from tokencredit.tensors.shapes import PerSequence, PerToken, TokenMask
from tokencredit.world.rollout import texts
from tokencredit.world.text import Vocabulary

Verdict = Callable[[str, str], float]  # (prompt, response) -> a number


def score(
    batch: Batch, task: Vocabulary, prompts: list[str], verdict: Verdict
) -> PerSequence:
    """The verdict on each response 评分, one number per row.

    Args:
        batch: from `rollout` on those prompts.
        task: whose tokens they are.
        prompts: texts; row i answers ``prompts[batch.groups[i]]``.
        verdict: of a prompt and a response, both as text, EOS included.

    Returns:
        Scores ``[B]``.

    Raises:
        ValueError: a verdict that is not one finite number.
    """
    scores = []
    responses = texts(batch, task.vocabulary)
    for group, response in zip(batch.groups.tolist(), responses, strict=True):
        value = verdict(prompts[group], response)
        try:
            scores.append(float(value))
        except (TypeError, ValueError, RuntimeError):
            scores.append(math.nan)
        if not math.isfinite(scores[-1]):
            raise ValueError(
                f"the reward of {prompts[group]!r} -> {response!r} must be one finite "
                f"number, got {value!r}"
            )
    return torch.tensor(scores)


def reward(
    batch: Batch, task, prompts: list[str], verdict: Verdict | None = None
) -> Batch:
    """The batch with its rewards 奖励: the verdict, on the last token of each response.

    Args:
        batch: from `rollout` on those prompts.
        task: whose verdict it is.
        prompts: texts; row i answers ``prompts[batch.groups[i]]``.
        verdict: replaces the task's.

    Returns:
        The batch with its rewards.

    Raises:
        ValueError: a verdict that is not one finite number.
    """
    scores = score(batch, task, prompts, verdict or task.reward)
    return replace(batch, rewards=on_last_token(scores, batch.mask))


def on_last_token(scores: PerSequence, mask: TokenMask) -> PerToken:
    """One number per row, placed on the row's last live token.

    >>> on_last_token(torch.tensor([7.0]), torch.tensor([[False, True, True, False]]))
    tensor([[0., 0., 7., 0.]])
    """
    return torch.where(last_live(mask), scores[:, None], 0.0)
