"""The page of libraries: its tables are read right, no section is lost."""

import json
import re
from pathlib import Path

import pytest

from tokenbook.languages import LANGUAGES
from tokenbook.languages.data import load
from tokenbook.languages.pages import chapter_number, headings, pieces, slugs, titles
from tokenbook.site.pages.wild import (
    LIBRARIES,
    WILD,
    WildChapters,
    WildLibraries,
    keys,
    settings,
)

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted(ROOT.glob("chapters/[0-9]*.ipynb"))
FILES = sorted(WILD.glob("*.yml"))
LINK = re.compile(r"\]\(([^)\s]+)\)")


class Chapters(WildChapters):
    """The directive without Sphinx."""

    root = ROOT

    def __init__(self):
        pass

    def chapters(self):
        return CHAPTERS


class Libraries(WildLibraries):
    """The directive without Sphinx."""

    def __init__(self):
        pass

    def chapters(self):
        return CHAPTERS


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_chapter_that_leads_to_the_page_has_something_there(lang):
    page = Chapters().markdown(lang)
    for path in CHAPTERS:
        number = chapter_number(path.name)
        leads = f"wild.md#wild-{number:02}" in path.read_text(encoding="utf-8")
        assert leads == (WILD / f"{number:02}.yml").exists(), path.name
        assert not leads or f"\n## {number} " in f"\n{page}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_section_has_every_language_and_its_links_lead_somewhere(file):
    said = load(file)
    assert [*said] == [*LANGUAGES]
    for text in said.values():
        assert all(level > 2 for level, _ in headings(text)), "it has the chapter's"
        for target in LINK.findall(text):
            if target.startswith(("http", "#")):
                assert not target.startswith("#"), f"{target}: say which chapter"
                continue
            where, _, anchor = target.partition("#")
            path = (ROOT / "book" / where).resolve()
            assert path.exists(), target
            if anchor and path.suffix == ".ipynb":
                notebook = json.loads(path.read_text(encoding="utf-8"))
                assert anchor in slugs(titles(notebook)), target


def test_the_libraries_say_the_same_in_every_language():
    found = [settings(lang) for lang in LANGUAGES]
    counts = [{name: len(some[name]) for name in LIBRARIES} for some in found]
    assert all(count == counts[0] for count in counts)
    assert counts[0]["verl"] > 30 < counts[0]["TRL"]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_library_has_all_its_keys_beside_what_it_does(lang):
    rows = load(ROOT / "src" / "tokenbook" / "symptoms" / "keys.yml")
    for name, of in (("verl", "verl"), ("TRL", "trl"), ("OpenRLHF", "openrlhf")):
        listed = " ".join(cells for _, cells in keys(name, lang))
        want = {row["key"] for row in rows if row["library"] == of}
        assert {*re.findall(r"`([^`]+)`", listed)} == want
    page = Libraries().markdown(lang)
    assert page.count("<details") == page.count("</details>") >= 8
    assert pieces(page)[0][1].startswith("## ")
