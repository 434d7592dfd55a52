"""What a task is: prompts, and a verdict on each response (任务 = 提示 + 判分)."""

from typing import Protocol

import numpy as np

EOS = "$"


class Task(Protocol):
    """Prompts and verdicts over one-character tokens.

    ``vocabulary`` lists the tokens: the id of a token is its place in that string. A
    task whose vocabulary holds ``EOS`` ("$") has responses of variable length: one that
    reaches ``max_response`` tokens without it is truncated. A task without it has
    responses of exactly ``max_response`` tokens.

    Responses are given to ``reward`` as text. ``EOS`` is part of that text, so that a
    truncated response (no "$") can be told from a finished one.
    """

    vocabulary: str
    max_prompt: int
    max_response: int

    def prompts(self, num: int, rng: np.random.Generator) -> list[str]:
        """``num`` prompts; the same generator state gives the same prompts."""

    def demonstration(self, prompt: str, rng: np.random.Generator) -> str:
        """One response of the warm-up corpus, habits and mistakes included."""

    def gold(self, prompt: str) -> str:
        """One response that earns the full reward, ``max_reward``."""

    @property
    def max_reward(self) -> float:
        """The reward of a perfect response."""

    def reward(self, prompt: str, response: str) -> float:
        """The verdict: one finite number for one response."""


def encode(text: str, vocabulary: str) -> list[int]:
    """Token ids of a text.

    Raises:
        ValueError: a character is not in the vocabulary (the message names both).

    >>> encode("10", "0123")
    [1, 0]
    """
    unknown = sorted(set(text) - set(vocabulary))
    if unknown:
        raise ValueError(
            f"{text!r} holds {''.join(unknown)!r}, not in the vocabulary {vocabulary!r}"
        )
    return [vocabulary.index(character) for character in text]


def decode(ids: list[int], vocabulary: str) -> str:
    """Text of token ids.

    >>> decode([1, 0], "0123")
    '10'
    """
    return "".join(vocabulary[i] for i in ids)
