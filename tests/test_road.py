"""The form of the main road: what a reader who opens no side is promised.

A side is well formed, at most two stand in a row, and the road leans on none of them:
neither its code nor its links, its sentences, its questions. A road is short enough.
"""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tokenbook.languages import LANGUAGES, marks, minutes, pages
from tokenbook.site.chapter.cards import patterns
from tokenbook.site.interview.page import SIDE, questions

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted(ROOT.glob("chapters/[0-9]*.ipynb"))
LONGEST = {5: 45, 6: 45}  # minutes of a road, as they are printed; else
LONG = 35
WITHHELD = {
    "en": 60,
    "zh": 105,
}  # words, signs: what all predictions of a chapter cover
IN_A_ROW = 2
LINK = re.compile(r"\]\(([^)\s]*)#([^)\s]+)\)")
EQUATION = re.compile(r"\{(?:eq|numref)\}`(?:[^`<]*<)?([^`>]+)>?`")
# A link into a side says that it leads off the road, or stands in brackets.
MORE = re.compile(
    r"选读|更多|详见|推导|附录|细节|side|more|detail|deriv|appendix", re.I
)
BRACKETS = re.compile(r"[(（][^()（）]*(?:\([^()]*\)[^()（）]*)*[)）]")
CODE = re.compile(r"`[^`]+`")


@cache
def read(path: Path) -> tuple[dict, list[minutes.Section]]:
    notebook = pages.read_notebook(path)
    return notebook, minutes.sections(notebook)


def blocks(path: Path, lang: str) -> Iterator[tuple[minutes.Section, dict, str, bool]]:
    """Yield (section, cell, text, whether its heading is before it), in order."""
    notebook, sections = read(path)
    at = -1
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield sections[at], cell, pages.text_of(cell), False
        elif pages.language_of(cell) in (None, lang):
            for level, _, text in pages.parted(pages.text_of(cell)):
                at += level > 0
                if level or text.strip():
                    yield sections[at], cell, text, level > 0


def prose(path: Path, lang: str) -> Iterator[tuple[minutes.Section, str]]:
    """Yield (section, text) of the chapter's own text: no exercise, no question."""
    for section, cell, text, _ in blocks(path, lang):
        if cell["cell_type"] == "markdown" and section.read:
            yield section, text


every = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem[:2])
both = pytest.mark.parametrize("lang", LANGUAGES)


@every
def test_a_side_is_one_heading_and_one_line_in_both_languages(path):
    assert not [said for said in marks.problems(read(path)[0]) if "side" in said]


@every
def test_no_road_is_longer_than_an_evening(path):
    took = minutes.road(read(path)[1])
    assert took <= LONGEST.get(pages.chapter_number(path.stem), LONG)


@every
def test_no_side_stands_alone_in_the_contents_of_another_and_few_in_a_row(path):
    row = 0
    for section in read(path)[1]:
        if section.heads and not inside(path, section):
            row += 1
            assert row <= IN_A_ROW, f"{section.title}: the third side in a row"
        elif not section.side:
            row = 0


def inside(path: Path, section: minutes.Section) -> bool:
    """Whether a side is folded in another one."""
    sections = read(path)[1]
    return any(
        other.heads and section in minutes.under(sections, other)[1:]
        for other in sections
    )


@every
def test_a_prediction_and_its_answer_stand_on_the_same_road(path):
    asked = None
    for section, cell, _, _ in blocks(path, "en"):
        if "predict" in pages.tags(cell):
            asked = section
        elif asked and cell["cell_type"] == "code" and cell.get("outputs"):
            assert section.side == asked.side, f"{asked.title}: answered in a side"
            asked = None


@every
@both
def test_the_road_leads_into_a_side_only_to_say_more(path, lang):
    folded = {
        (one.name, section.anchor)
        for one in CHAPTERS
        for section in read(one)[1]
        if section.side
    }
    labels = {
        label
        for section, text in prose(path, lang)
        if section.side
        for label in marks.LABEL.findall(text)
    }
    for section, text in prose(path, lang):
        if section.side:
            continue
        for sentence in re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n\n", text):
            if MORE.search(re.sub(r"\]\([^)]*\)", "]", sentence)):
                continue
            bare = BRACKETS.sub(unlinked, sentence)
            into = [
                anchor
                for file, anchor in LINK.findall(bare)
                if (file or path.name, anchor) in folded
            ]
            into += [name for name in EQUATION.findall(bare) if name in labels]
            assert not into, (
                f"{section.title}: {sentence.strip()[:90]!r} leads to {into}"
            )


def unlinked(found: re.Match) -> str:
    """Return nothing for what stands in brackets, but keep the target of a link."""
    before = found.string[found.start() - 1] if found.start() else ""
    return found[0] if before == "]" else ""


@every
def test_the_code_of_the_road_needs_no_name_that_a_side_sets(path):
    ours, theirs = {*dir(builtins), "_"}, {}
    for section, cell, text, _ in blocks(path, "en"):
        if cell["cell_type"] != "code" or not section.read:
            continue
        tree = ast.parse(re.sub(r"^\s*[%!].*$", "", text, flags=re.M))
        sets, uses = names(tree)
        if section.side:
            theirs |= dict.fromkeys(sets - ours, section.title)
            continue
        missing = {name: theirs[name] for name in uses - sets - ours if name in theirs}
        assert not missing, f"{section.title}: {missing}"
        ours |= sets


def names(tree: ast.AST) -> tuple[set[str], set[str]]:
    """Return the names that code sets, and those that it uses."""
    sets, uses = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (uses if isinstance(node.ctx, ast.Load) else sets).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            sets.add(node.name)
        elif isinstance(node, ast.arg):
            sets.add(node.arg)
        elif isinstance(node, ast.alias):
            sets.add((node.asname or node.name).partition(".")[0])
    return sets, uses


@every
@both
def test_no_colon_hangs_in_the_air_before_a_fold(path, lang):
    before, where = "", None
    for section, cell, text, heading in blocks(path, lang):
        closed = {*pages.tags(cell)} & {"hide-cell", "setup", "checked"}
        opens = heading and section.heads
        if where and not where.side and (opens or closed):
            assert not re.search(r"(?<!:)[:：]\s*$", before), (
                f"{where.title}: {before[-60:]!r}"
            )
        before, where = (
            (text, section) if cell["cell_type"] == "markdown" else ("", None)
        )


@every
@both
def test_predictions_withhold_few_words(path, lang):
    withheld, answered, after = Counter(), False, False
    for _, cell, text, heading in blocks(path, lang):
        if "predict" in pages.tags(cell):
            answered = True
        elif cell["cell_type"] == "code":
            after = answered and bool(cell.get("outputs"))
            answered = answered and not after
        elif after and not heading:
            paragraph = text.strip().partition("\n\n")[0]
            if not marks.BLOCK.match(paragraph):
                minutes.count_words(withheld, paragraph)
            after = False
        else:
            after = False
    count = withheld["word"] if lang == "en" else withheld["han"] + withheld["latin"]
    assert count <= WITHHELD[lang], f"{count} words wait for an answer"


@every
def test_a_question_of_the_first_level_is_answered_on_the_road(path):
    """Its answer needs no side, and what it names stands on this road or before it."""
    upto = [one for one in CHAPTERS if one <= path]
    known = "\n".join(
        text
        for one in upto
        for section, cell, text, _ in blocks(one, "en")
        if section.read and not section.side
    )
    known += "\n".join(title for one in upto for title in map(titles, read(one)[1]))
    low = known.lower()
    for level, question, answer in questions(read(path)[0], "en"):
        if level != "L1":
            continue
        assert not SIDE.match(answer), (
            f"{question}: make it L2, or bring it to the road"
        )
        first = answer.strip().partition("\n")[0]  # what is said first, and suffices
        named = {said.strip("`").lower() for said in CODE.findall(first)}
        terms = {
            found[0].lower()
            for pattern, _ in patterns("en")
            if (found := pattern.search(first))
        }
        lost = {one for one in named | terms if one.rstrip("s") not in low}
        assert not lost, f"{question}: {lost} stand in no road up to here"


def titles(section: minutes.Section) -> str:
    return "" if section.side else section.title
