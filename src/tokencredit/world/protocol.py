"""The protocol of tasks and games 可训练的对象."""

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
        """Rows of the warm-up corpus, padded on the right, and the mask to imitate."""

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

        `missing` is passed only if responses without a verdict are left out: their
        reward is NaN then.

        Returns:
            The batch with its rewards, and numbers per row: at least reward, success,
            length and truncated, and one per function in `measure`.

        Raises:
            ValueError: a `reward_fn`, `measure` or `missing` for a world with rewards
                of its own.
        """
