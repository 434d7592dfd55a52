"""The interview bank: a question is asked once, and answered in every language."""

import json
import re
from itertools import combinations
from pathlib import Path

import pytest
from interview_page import questions

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))
PLAIN = set(  # words of every question
    re.findall(
        r"\w+",
        "a an and are as at be by can do does for from has have how i if in is it its "
        "not of on one or should than that the this to what when which why with would",
    )
)
ALIKE = 0.45  # the share of common words above which two questions are one


def asked(path: Path, lang: str) -> list[tuple[str, str, str]]:
    return questions(json.loads(path.read_text(encoding="utf-8")), lang)


def words(question: str) -> set[str]:
    return {*re.findall(r"[a-z0-9]+", question.lower().partition("·")[2])} - PLAIN


def overlap(one: str, other: str) -> float:
    """Common words of two questions over all their words."""
    return len(words(one) & words(other)) / len(words(one) | words(other))


def test_no_question_is_asked_twice():
    every = [(path.stem, q) for path in CHAPTERS for _, q, _ in asked(path, "en")]
    twice = [
        f"{a} and {b}: {one} / {other}: keep one answer, link to it"
        for (a, one), (b, other) in combinations(every, 2)
        if overlap(one, other) > ALIKE
    ]
    assert not twice, "\n".join(twice)


def test_a_question_asked_in_other_words_is_found():
    one = "L3 · What lowers variance? Does the PPO clip count?"
    other = "L3 · What lowers the variance of REINFORCE? Does PPO's clip count?"
    assert overlap(one, other) > ALIKE > overlap(one, "L1 · What is the PPO clip?")


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_question_has_its_level_and_an_answer_in_each_language(path):
    chinese, english = asked(path, "zh"), asked(path, "en")
    assert len(chinese) == len(english) >= 4
    for (level, question, answer), (other, asks, answers) in zip(
        chinese, english, strict=True
    ):
        assert level == other and question.startswith(level) and asks.startswith(level)
        assert question.endswith(("？", "。")) and asks.endswith(("?", "."))
        assert len(answer.strip()) > 40 and len(answers.strip()) > 80
