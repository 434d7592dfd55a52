"""The interview bank: a question is asked once, and answered in every language."""

import json
import re
from itertools import combinations
from pathlib import Path

import pytest

from tokenbook.languages import pick
from tokenbook.languages.data import load
from tokenbook.languages.pages import chapter_number
from tokenbook.site.interview.page import (
    BANK,
    LEVELS,
    SIDE,
    TONIGHT,
    WORDS,
    InterviewBank,
    questions,
)
from tokenbook.site.pages.course import plan

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


class Bank(InterviewBank):
    """The directive without Sphinx."""

    root = ROOT
    config = None

    def __init__(self):
        pass

    def chapters(self):
        return CHAPTERS

    def depends_on(self, path):
        pass


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_bank_says_a_level_once_and_the_chapter_of_every_question(lang):
    first, *sections = Bank().markdown(lang).split("## ")[1:]
    assert first.startswith(pick(TONIGHT, lang)) and first.count("<details") == 10
    assert [section[:2] for section in sections] == [*LEVELS]
    names = {row["number"]: row[lang] for row in plan(ROOT)}
    for section in (first, *sections):
        found = re.findall(
            r'data-chapter="(\d+)".*?<summary><span>(.*?)</span> <small>(.*?)</small>',
            section,
        )
        assert len(found) == section.count("<details")
        for number, question, tag in found:
            assert not re.match(r"L\d", question)
            where, _, side = tag.partition(" · ")
            assert where == f"{number} {names[int(number)]}"
            assert side in ("", pick(WORDS["side"], lang))
    every = sum(len(asked(path, lang)) for path in CHAPTERS)
    assert every == sum(s.count("<details") for s in (first, *sections))
    assert {chapter_number(path.name) for path in CHAPTERS} <= {*names}


def test_what_comes_first_are_questions_of_the_bank_and_each_stands_once():
    order = load(BANK)
    keys = [key for key, *_ in Bank().asked("en")]
    listed = [*order["tonight"], *order["first"]]
    assert not {*listed} - {*keys}
    assert len({*listed}) == len(listed) and len(order["tonight"]) == 10
    levels = {key: level for key, level, _ in Bank().asked("en")}
    assert {levels[key] for key in order["tonight"]} == {"L1"}
    assert {levels[key] for key in order["first"]} == {*LEVELS}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_an_answer_that_needs_a_side_says_so_in_each_language_and_is_no_l1(path):
    pairs = zip(asked(path, "en"), asked(path, "zh"), strict=True)
    for (level, question, answer), (*_, chinese) in pairs:
        needs = bool(SIDE.match(answer))
        first = chinese.strip().split("\n")[0]
        assert needs == bool(re.match(r"\W*(?:需要|要先读)选读", first)), question
        assert not (needs and level == "L1"), question
