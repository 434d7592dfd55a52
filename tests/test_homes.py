"""Each claim has one home: its section is there, and elsewhere a link leads to it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tokenbook.languages import SOURCE, pages
from tokenbook.site.pages.wild import WILD

ROOT = Path(__file__).parents[1]
CHAPTERS = {pages.chapter_number(p.name): p for p in ROOT.glob("chapters/[0-9]*.ipynb")}
HOMES = yaml.safe_load((ROOT / "book" / "homes.yml").read_text(encoding="utf-8"))
REPEATS = {"Exercises", "Interview questions", "Three lines to remember", "In the wild"}


def paragraphs(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (anchor of the section, paragraph) of a chapter's running English text."""
    notebook = pages.read_notebook(path)
    anchors = iter(pages.slugs(pages.titles(notebook)))
    anchor, repeats = "", False
    for lang, text in pages.pieces(notebook):
        if lang != SOURCE:
            continue
        for level, title, said in pages.parted(text):
            if level:
                anchor = next(anchors)
            if level and level <= 2:
                repeats = title in REPEATS
            if not repeats:
                yield from ((anchor, part) for part in said.split("\n\n"))


def page(place: str) -> str:
    """Return the file in which a home is."""
    name = place.split()[0]
    return CHAPTERS[int(name)].name if name.isdigit() else name


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home["claim"])
def test_the_home_of_a_claim_is_there(home):
    name, _, anchor = home["home"].partition(" ")
    if name.isdigit():
        notebook = pages.read_notebook(CHAPTERS[int(name)])
        assert anchor in pages.slugs(pages.titles(notebook))
    elif name == "wild":
        assert (WILD / f"{anchor[-2:]}.yml").exists()
    else:
        assert (ROOT / "book" / f"{name}.ipynb").exists()


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home["claim"])
def test_elsewhere_one_paragraph_says_it_and_leads_home(home):
    wrong = []
    for number, path in sorted(CHAPTERS.items()):
        if path.name == page(home["home"]) or number in home.get("also", {}):
            continue
        every = [*paragraphs(path)]
        said = [(at, text) for at, text in every if re.search(home["sign"], text)]
        if len(said) > 1:
            wrong.append(f"chapter {number} says it {len(said)} times: {said}")
        for at, text in said:
            section = " ".join(text for anchor, text in every if anchor == at)
            if page(home["home"]) not in section:
                wrong.append(f"chapter {number}, {at}: no link to the home: {text}")
    assert not wrong, "\n".join(wrong)


def test_every_sign_is_heard_in_the_chapter_of_its_home():
    silent = []
    for home in HOMES:
        name = home["home"].split()[0]
        if not name.isdigit():
            continue
        said = paragraphs(CHAPTERS[int(name)])
        if not any(re.search(home["sign"], text) for _, text in said):
            silent.append(home["claim"])
    assert not silent
