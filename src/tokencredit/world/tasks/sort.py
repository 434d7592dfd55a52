"""Sort (排序): the task of the source note, and an autoregressive one with EOS."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tokencredit.world.tasks.base import Task
from tokencredit.world.text import EOS


def position_reward(prompt: str, response: str) -> float:
    """Places at which the response agrees with the sorted prompt.

    >>> [position_reward("3102", r) for r in ("0123", "7225", "0312")]
    [4.0, 1.0, 1.0]
    """
    return float(sum(a == b for a, b in zip(sorted(prompt), response, strict=False)))


def inclusion_ordering_reward(prompt: str, response: str) -> float:
    """Prompt tokens found anywhere in the response, plus neighbours in order.

    Easy to break: a prompt token that occurs twice is paid twice by one response token.

    >>> [inclusion_ordering_reward("3102", r) for r in ("0123", "7225", "0312")]
    [7.0, 3.0, 6.0]
    """
    inclusion = sum(token in response for token in prompt)
    ordering = sum(a <= b for a, b in pairwise(response))
    return float(inclusion + ordering)


@dataclass(frozen=True)
class NoteSort(Task):
    """The sort task of the source note: three fixed prompts, three tokens, no EOS.

    Args:
        pays: "position" (max 3) or "inclusion" (inclusion + ordering, max 5).
    """

    pays: str = "position"

    vocabulary = "01234"
    max_prompt = 3
    max_response = 3
    fixed = ("102", "324", "123")

    def __post_init__(self):
        if self.pays not in ("position", "inclusion"):
            raise ValueError(
                f"pays must be 'position' or 'inclusion', got {self.pays!r}"
            )

    @property
    def max_reward(self) -> float:
        return 3.0 if self.pays == "position" else 5.0

    def prompts(self, num: int, rng: np.random.Generator) -> list[str]:
        return [self.fixed[i % 3] for i in range(num)]

    def demonstration(self, prompt: str, rng: np.random.Generator) -> str:
        return self.gold(prompt)

    def gold(self, prompt: str) -> str:
        return "".join(sorted(prompt))

    def reward(self, prompt: str, response: str) -> float:
        rule = position_reward if self.pays == "position" else inclusion_ordering_reward
        return rule(prompt, response)


@dataclass(frozen=True)
class Sort(Task):
    """Sort `digits` digits and stop: the share of right places, and EOS in its place.

    The corpus copies the prompt, shuffled, with chance ``1 - sorted_share``; so the
    warm-up teaches which tokens belong in the response, and RL teaches their order.

    Args:
        digits: difficulty, the length of the prompt.
        sorted_share: share of the corpus that is sorted.
        partial: pay each right place (True) or only the whole response (False).
    """

    digits: int = 6
    sorted_share: float = 0.1
    partial: bool = True

    vocabulary = "0123456789=" + EOS
    max_reward = 1.0

    @property
    def max_prompt(self) -> int:
        return self.digits + 1

    @property
    def max_response(self) -> int:
        return self.digits + 3

    def prompts(self, num: int, rng: np.random.Generator) -> list[str]:
        digits = rng.integers(0, 10, (num, self.digits))
        return ["".join(map(str, row)) + "=" for row in digits]

    def demonstration(self, prompt: str, rng: np.random.Generator) -> str:
        if rng.random() < self.sorted_share:
            return self.gold(prompt)
        return "".join(rng.permutation(list(prompt[:-1]))) + EOS

    def gold(self, prompt: str) -> str:
        return "".join(sorted(prompt[:-1])) + EOS

    def reward(self, prompt: str, response: str) -> float:
        gold = self.gold(prompt)
        if not self.partial:
            return float(response == gold)
        right = sum(a == b for a, b in zip(gold, response, strict=False))
        return right / max(len(gold), len(response))
