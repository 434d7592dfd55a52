"""What can be trained on 可训练的对象: tasks and games share this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from tokencredit.batch import Batch
from tokencredit.tensors.shapes import TokenIds, TokenMask
from tokencredit.world.scoring import RewardFunction


class World(Protocol):
    """A `Task` (a row is one response) or a `Game` (a row is an episode of turns).

    `vocabulary` lists the tokens, `max_response` is the most that a row samples and
    `context` the most that it holds.
    """

    vocabulary: str | tuple[str, ...]
    max_response: int
    context: int

    def demonstrations(
        self, num: int, rng: np.random.Generator
    ) -> tuple[TokenIds, TokenMask]:
        """Rows of the warm-up corpus, padded on the right, and what is imitated."""

    def sample(
        self,
        policy: nn.Module,
        num: int,
        group_size: int,
        *,
        temperature: float,
        rng: np.random.Generator,
        generator: torch.Generator,
        reward_fn: RewardFunction | None = None,
        measure: Mapping[str, RewardFunction] | None = None,
        missing: str = "refuse",
    ) -> tuple[Batch, dict[str, Tensor]]:
        """`group_size` rows for each of `num` fresh prompts (instances of a game).

        `missing` comes only where a response without a verdict is left out: it has NaN
        for a reward then.

        Returns:
            The batch with its rewards, and numbers per row: at least reward, success,
            length and truncated, and one per function in `measure`.

        Raises:
            ValueError: a `reward_fn`, `measure` or `missing` where the world pays its
                own rewards.
        """
