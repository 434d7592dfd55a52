"""The ways through the book: every step is on the main road, nobody types minutes."""

import doctest
import re
from pathlib import Path

import pytest

from tokenbook.languages import LANGUAGES, minutes, pages
from tokenbook.site.pages import wild as wild_page
from tokenbook.site.pages.course import plan
from tokenbook.site.paths import page as paths_page
from tokenbook.site.paths.page import (
    LINES,
    Book,
    Paths,
    chapter,
    data,
    road,
    rows,
    shown,
    whole,
)

ROOT = Path(__file__).parents[1]
FILES = sorted(ROOT.glob("chapters/[0-9]*.ipynb"))
PATHS = {path["id"]: path for path in rows()}


def book(lang: str) -> Book:
    return Book(FILES, {row["number"]: row[lang] for row in plan(ROOT)}, lang)


def steps(name: str, lang: str = "en") -> list:
    return [step for row in PATHS[name]["steps"] for step in some(row, lang)]


def some(row: dict, lang: str) -> list:
    return [] if "day" in row else book(lang).steps(row)


def anchors(page: str) -> set[str]:
    if not page.startswith("chapters/"):
        return {"l1-concepts", "l2-implementation", "l3-algorithms"}
    notebook = pages.read_notebook(ROOT / f"{page}.ipynb")
    return set(pages.slugs(pages.titles(notebook)))


@pytest.mark.parametrize("name", PATHS)
def test_every_step_of_a_path_is_on_the_main_road_and_in_every_language(name):
    found = {lang: steps(name, lang) for lang in LANGUAGES}
    places = [[(s.page, s.anchor, s.minutes) for s in some] for some in found.values()]
    assert all(place == places[0] for place in places)
    for step in found["en"]:
        assert not step.anchor or step.anchor in anchors(step.page), step
        assert step.minutes > 0, step


@pytest.mark.parametrize("name", PATHS)
def test_a_path_goes_nowhere_twice_and_from_chapter_to_chapter(name):
    places = [
        (step.page, step.anchor) for step in steps(name) if step.number is not None
    ]
    assert len(places) == len(set(places))
    read = [
        step.number
        for step in steps(name)
        if step.number is not None and step.anchor != LINES
    ]
    exercises = {row["exercise"] for row in PATHS[name]["steps"] if "exercise" in row}
    order = [n for n in read if n not in exercises or name != "interview"]
    assert order == sorted(order)


@pytest.mark.parametrize("name", PATHS)
def test_no_step_of_a_path_lies_in_another(name):
    """It would be counted twice, and the way on would lead back to it."""
    there = {(step.page, step.anchor) for step in steps(name)}
    for page, anchor in there:
        found = chapter(ROOT / f"{page}.ipynb")[1] if "chapters" in page else []
        for section in found:
            if section.anchor == anchor:
                inside = {(page, one.anchor) for one in minutes.under(found, section)}
                assert inside & there == {(page, anchor)}


def test_the_main_road_is_every_chapter_and_as_long_as_their_heads_say():
    said = [minutes.road(chapter(file)[1]) for file in FILES]
    assert [step.minutes for step in steps("road")] == said
    assert [step.number for step in steps("road")] == [*range(len(FILES))]


def test_a_section_takes_what_its_parts_on_the_road_take():
    file = FILES[5]
    found = chapter(file)[1]
    two = [s for s in found if s.level == 2 and not s.side]
    parts = sum(road(file, s.anchor) for s in two)
    everything = sum(s.minutes for s in found if not s.side and s.level > 1)
    assert parts == pytest.approx(everything)


def test_a_section_that_is_not_on_the_road_is_refused_by_name():
    with pytest.raises(ValueError, match=r"'no-such-section' .* 00_grpo_in_forty"):
        road(FILES[0], "no-such-section")


def test_a_book_of_fewer_chapters_has_shorter_paths_and_warns_of_nothing(caplog):
    small = Book(FILES[:1], {0: "GRPO"}, "en")
    found = [step for path in rows() for _, some in whole(small, path) for step in some]
    assert found and {step.number for step in found} <= {0, None}
    assert not caplog.records


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_card_lists_every_step_with_its_minutes(lang):
    card = Paths.card(Paths.__new__(Paths), book(lang), PATHS["evening"])
    found = steps("evening", lang)
    assert card.count("<a href=") == len(found)
    lines = [row for row in PATHS["evening"]["steps"] if "lines" in row]
    assert len(re.findall(r"<i>\d+ (?:min|分钟)</i>", card)) == len(found) - sum(
        len(row["lines"]) - 1 for row in lines
    )
    first = sum(step.minutes for step in found if not step.later)
    assert book(lang).time(first) in card


@pytest.mark.parametrize("lang", LANGUAGES)
def test_what_the_script_needs_names_every_section_by_other_letters(lang):
    said = data(book(lang))
    assert [*said["paths"]] == [*PATHS]
    for number, page, *_, listed in said["chapters"]:
        keys = [key for key, *_ in listed]
        assert len(keys) == len(set(keys)) and all(len(key) == 3 for key in keys)
        assert {anchor for _, anchor, *_ in listed} <= anchors(page), number


@pytest.mark.parametrize("module", [paths_page, wild_page], ids=["paths", "wild"])
def test_the_examples_of_its_page_hold(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


def test_a_title_shows_its_letters():
    assert shown(r"Why $\gamma$ is `usually` 1 < 2") == "Why γ is usually 1 &lt; 2"
