"""Base of the tasks: prompts, and a reward per response (任务 = 提示 + 判分)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from tokencredit.batch import Batch
from tokencredit.credit.returns import row_sum
from tokencredit.tensors.shapes import TokenIds, TokenMask
from tokencredit.world.rollout import rollout
from tokencredit.world.scoring import RewardFunction, add_rewards, score
from tokencredit.world.text import encode


class Task(ABC):
    """Prompts and rewards over one-character tokens; see `HasVocabulary`.

    ``reward`` takes a response as text. ``EOS`` is part of that text, so that a
    truncated response (no "$") can be told from a finished one. A task has
    `vocabulary`, `max_prompt` and `max_response`, and the methods marked abstract; the
    rest follows.
    """

    vocabulary: str
    max_prompt: int
    max_response: int

    @abstractmethod
    def prompts(self, num: int, rng: np.random.Generator) -> list[str]:
        """``num`` prompts; the same generator state gives the same prompts."""

    @abstractmethod
    def demonstration(self, prompt: str, rng: np.random.Generator) -> str:
        """One response of the warm-up corpus, habits and mistakes included."""

    @abstractmethod
    def gold(self, prompt: str) -> str:
        """One response that earns the full reward, ``max_reward``."""

    @abstractmethod
    def reward(self, prompt: str, response: str) -> float:
        """The reward of one response, a finite number."""

    @property
    def max_reward(self) -> float:
        """The reward of a perfect response."""
        return 1.0

    @property
    def context(self) -> int:
        """Tokens of the longest row, prompt and response together."""
        return self.max_prompt + self.max_response

    def demonstrations(
        self, num: int, rng: np.random.Generator
    ) -> tuple[TokenIds, TokenMask]:
        """Rows of the warm-up corpus 示范, padded on the right, and their responses."""
        prompts = self.prompts(num, rng)
        responses = [self.demonstration(prompt, rng) for prompt in prompts]
        rows = [p + a for p, a in zip(prompts, responses, strict=True)]
        width = max(map(len, rows))
        tokens = torch.zeros(num, width, dtype=torch.long)
        mask = torch.zeros(num, width, dtype=torch.bool)
        for i, (prompt, row) in enumerate(zip(prompts, rows, strict=True)):
            tokens[i, : len(row)] = torch.tensor(encode(row, self.vocabulary))
            mask[i, len(prompt) : len(row)] = True
        return tokens, mask

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
        """Responses to fresh prompts, judged, and numbers per response; see `World`."""
        prompts = self.prompts(num, rng)
        batch = rollout(
            policy,
            self,
            prompts,
            group_size=group_size,
            temperature=temperature,
            generator=generator,
        )

        batch = add_rewards(batch, self, prompts, reward_fn, missing=missing)
        scores = row_sum(batch.rewards)

        def judge(reward_fn):
            return score(batch, self, prompts, reward_fn, missing=missing)

        own = judge(self.reward) if reward_fn else scores
        success = own >= self.max_reward
        if own.isnan().any():
            success = success.float().masked_fill(own.isnan(), torch.nan)
        metrics = {
            "reward": scores,
            "success": success,
            "length": batch.mask.sum(1),
            "truncated": batch.truncated,
        }
        for name, count in (measure or {}).items():
            metrics[name] = judge(count)
        return batch, metrics
