"""Text and tokens 文本与词元: one character is one token."""

from typing import Protocol

EOS = "$"


class HasVocabulary(Protocol):
    """The part of a task that sampling needs; a token's id is its index in
    `vocabulary`.

    If the vocabulary holds ``EOS`` ("$"), responses have variable length: one that
    reaches ``max_response`` tokens without it is truncated. Without it they have
    exactly ``max_response`` tokens.
    """

    vocabulary: str
    max_response: int


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
