"""Answers that are much alike: a hint for a talk, never a verdict.

Code is compared token by token: names and numbers count by their kind, not by their
spelling. Runs of tokens in the published solution or in most of the class are ignored,
so the rest is shared by two students and few others.
"""

import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

RUN = 8  # tokens that make one feature
SHORT = 12  # features: a shorter answer can be alike by chance
COMMON = 0.3  # share of a class: a run in so many answers is ignored
ENOUGH = 0.6


class Pair(NamedTuple):
    """Two students, an exercise, and the share of features that they share."""

    first: str
    second: str
    exercise: str
    share: float


def features(source: str) -> set[tuple[str, ...]]:
    """Return the runs of tokens of an answer; empty if it is no Python.

    >>> one, two = "a = b + len(b[1:])", "x = y + sum(y[2:])"
    >>> features(one) == features(two) != set(), features("def (")
    (True, set())
    """
    kinds = {tokenize.NAME: "n", tokenize.NUMBER: "0", tokenize.STRING: "s"}
    words = {"def", "return", "for", "if", "else", "in", "while", "not", "lambda"}
    said = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in kinds:
                named = token.string in words
                said.append(token.string if named else kinds[token.type])
            elif token.type == tokenize.OP:
                said.append(token.string)
    except (tokenize.TokenError, SyntaxError):
        return set()
    return {tuple(said[n : n + RUN]) for n in range(len(said) - RUN + 1)}


def alike(
    answers: dict[str, dict[str, str]], published: dict[str, str]
) -> Iterator[Pair]:
    """Yield the pairs that share most of their own runs, the most alike first.

    Args:
        answers: by student, the code of each exercise.
        published: the solution of each exercise.
    """
    found = []
    for exercise, solution in published.items():
        own = {
            student: features(codes[exercise])
            for student, codes in answers.items()
            if codes.get(exercise)
        }
        count = Counter(feature for got in own.values() for feature in got)
        usual = {f for f, n in count.items() if n > max(2, COMMON * len(own))}
        rest = {s: got - features(solution) - usual for s, got in own.items()}
        for one, two in combinations(sorted(rest), 2):
            a, b = rest[one], rest[two]
            if min(len(a), len(b)) >= SHORT:
                share = len(a & b) / len(a | b)
                if share >= ENOUGH:
                    found.append(Pair(one, two, exercise, share))
    yield from sorted(found, key=lambda pair: -pair.share)
