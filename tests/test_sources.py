"""The page of sources: every link leads somewhere, and no note is left out."""

import re
from pathlib import Path

import pytest
import yaml

from tokenbook.languages import LANGUAGES
from tokenbook.languages.pages import chapter_number
from tokenbook.site.pages.sources import SourcesTables, link, read

ROOT = Path(__file__).parents[1]
CHAPTERS = {chapter_number(p.name): p for p in ROOT.glob("chapters/[0-9]*.ipynb")}
PLACES = sorted(
    {str(at) for note in read() for item in note["items"] for at in item["at"]}
)


class Page(SourcesTables):
    """The directive without Sphinx."""

    def __init__(self):
        pass

    def chapters(self):
        return [*CHAPTERS.values()]

    def depends_on(self, path):
        assert path.is_file(), path


@pytest.mark.parametrize("place", PLACES)
def test_every_section_that_is_named_exists(place):
    for lang in LANGUAGES:
        assert re.fullmatch(
            r"\[\d+ · .+\]\(\.\./chapters/.+\)|\[.+\]\(\.\./book/sorting.+\)",
            link(place, CHAPTERS, lang),
        )


@pytest.mark.parametrize(
    "place", ["03 no-such-section", "99", "03 Exercises", "sorting no-such-section"]
)
def test_a_section_that_does_not_exist_is_refused_by_name(place):
    with pytest.raises(ValueError, match=f"book/sources.yml: {place}: no"):
        link(place, CHAPTERS, "en")


def test_five_notes_are_told_item_by_item_and_every_room_exists():
    notes = read()
    assert len(notes) == 5
    for note in notes:
        items = note["items"]
        assert len(items) > 10 and any("fix" in item for item in items)
        for item in items:
            assert set(item) <= {*LANGUAGES, "at", "fix", "room"} and item["at"]
            room = item.get("room")
            assert room is None or (ROOT / "book" / "errata" / f"{room}.py").exists()


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_page_has_a_row_per_item_and_links_the_museum(lang):
    page = Page().markdown(lang)
    items = [item for note in read() for item in note["items"]]
    assert len(re.findall(r"^\| ", page, re.M)) == len(items) + 2 * 5
    assert page.count("(errata.md#") == sum("room" in item for item in items)


def test_the_page_names_nobody():
    """Mistakes are told as facts about formulas."""
    said = yaml.safe_dump(read(), allow_unicode=True).lower()
    assert not re.search(r"cs ?336|mally|author of the note|作者写错|笔记作者", said)
