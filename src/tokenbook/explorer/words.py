"""Words of a figure in every language of the book, and the errors that name it."""

import re

from tokenbook import languages

LANGUAGES = tuple(languages.LANGUAGES)
"""The languages of the book; words are tuples in this order."""

SOURCE = LANGUAGES.index(languages.SOURCE)
APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_]|\s|$)")
Words = tuple[str, ...]


class FigureError(ValueError):
    """A figure that cannot be shown; the message names it and its state."""


def check(words: Words, where: str = "") -> None:
    """Raise `FigureError` unless every language up to `SOURCE` has words.

    A language that was added after a figure was drawn shows the source's words.
    """
    if not isinstance(words, tuple) or not SOURCE < len(words) <= len(LANGUAGES):
        raise FigureError(f"{where}words in {LANGUAGES}, got {words!r}")


class Language:
    """Picks the words of one language 选词: ``L("中文", "English")``.

    Args:
        name: one of `LANGUAGES`.

    An apostrophe is typed straight and set as print sets it.

    >>> L = Language("en")
    >>> L("比率", "ratio"), L(("策略的比率", "the policy's ratio"))
    ('ratio', 'the policy’s ratio')
    """

    def __init__(self, name: str):
        self.name = name
        self.index = LANGUAGES.index(name)

    def __call__(self, *words: str | Words) -> str:
        if len(words) == 1 and isinstance(words[0], tuple):
            (words,) = words
        check(words)
        said = words[self.index] if self.index < len(words) else words[SOURCE]
        return APOSTROPHE.sub("’", said)
