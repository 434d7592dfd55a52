"""Every work that the book names has an entry with an identifier, and they agree."""

import re
from pathlib import Path

import pytest

from tokenbook.languages import pages
from tokenbook.languages.pages import read_notebook
from tokencredit import ALGORITHMS

ROOT = Path(__file__).parents[1]
FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.M)
ARXIV = re.compile(r"(?:arxiv\.org/(?:abs|pdf)/|(?<![\d.]))(\d{4}\.\d{5})(?!\d)")


def entries() -> dict[str, dict[str, str]]:
    """The fields of every entry of the bibliography, by key."""
    text = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    parts = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", text, re.M | re.S)
    assert len(parts) == text.count("\n@") and len(dict(parts)) == len(parts)
    return {key: dict(FIELD.findall(body)) for key, body in parts}


ENTRIES = entries()


def prose() -> dict[str, str]:
    """The prose of every page, without code."""
    files = [*ROOT.glob("chapters/*.ipynb"), *ROOT.glob("book/*.md")]
    found = {}
    for path in files:
        source = (
            read_notebook(path) if path.suffix == ".ipynb" else path.read_text("utf-8")
        )
        text = "\n".join(text for _, text in pages.pieces(source))
        found[path.name] = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return found


PROSE = prose()


@pytest.mark.parametrize("key", ENTRIES)
def test_every_work_has_an_identifier_an_author_and_a_year(key):
    fields = ENTRIES[key]
    assert fields["author"] and fields["title"]
    assert re.fullmatch(r"\d{4}[a-z]?", fields["year"])
    number = fields.get("eprint", "")
    assert not number or re.fullmatch(r"\d{4}\.\d{5}", number) or number < "1501"
    links = [fields.get(name) for name in ("eprint", "doi", "url")]
    assert any(links), f"{key}: add eprint, doi or url in book/references.bib"


def test_no_work_stands_twice():
    titles = [re.sub(r"\W", "", e["title"]).lower() for e in ENTRIES.values()]
    numbers = [e["eprint"] for e in ENTRIES.values() if "eprint" in e]
    assert len(set(titles)) == len(titles) and len(set(numbers)) == len(numbers)


def test_no_two_works_have_the_same_mark():
    """ "Zheng et al., 2025" is one work: a letter after the year tells two apart."""
    marks = []
    for entry in ENTRIES.values():
        names = [name.split(",")[0] for name in entry["author"].split(" and ")]
        who = [names[0], "et al."] if len(names) > 2 else names
        marks.append((*who, entry["year"]))
    twice = {mark for mark in marks if marks.count(mark) > 1}
    assert not twice, f"put a, b after the year in book/references.bib: {twice}"


@pytest.mark.parametrize("page", PROSE)
def test_every_work_that_a_page_names_is_in_the_references(page):
    keys = re.findall(r"\{cite[^}]*\}`([^`]+)`", PROSE[page])
    cited = {key.strip() for group in keys for key in group.split(",")}
    assert cited <= ENTRIES.keys()
    known = {entry.get("eprint") for entry in ENTRIES.values()}
    lacking = set(ARXIV.findall(PROSE[page])) - known
    assert not lacking, f"{page}: add {sorted(lacking)} to book/references.bib"


def addresses(entry: dict[str, str]) -> set[str]:
    """Where a work can be read, without https://."""
    found = {f"arxiv.org/abs/{entry.get('eprint')}", f"doi.org/{entry.get('doi')}"}
    return found | set(re.findall(r"https?://([^}\s]+)", " ".join(entry.values())))


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_an_algorithm_and_its_work_agree_on_author_and_year(algorithm):
    """The first author (or the team) and the year of the zoo are the reference's."""
    link = algorithm.url.removeprefix("https://")
    of_it = [entry for entry in ENTRIES.values() if link in addresses(entry)]
    said = f"{algorithm.name}: add {algorithm.url} to book/references.bib"
    assert len(of_it) == 1, said
    (entry,) = of_it
    first = re.split(r" and |,", entry["author"])[0].strip("{}")
    assert first in algorithm.paper, (first, algorithm.paper)
    assert entry["year"][:4] in algorithm.paper, (entry["year"], algorithm.paper)


def test_recipes_of_verl_are_linked_where_they_lie_today():
    """Its folder recipe/ became a repository of its own."""
    assert not [
        name for name, text in PROSE.items() if re.search(r"tree/main/recipe", text)
    ]
