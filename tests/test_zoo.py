"""The zoo: bold means what the page says, a value that is not the parent's."""

import re

import pytest

from tokenbook.languages import LANGUAGES
from tokenbook.languages.pages import headings, slugs
from tokenbook.site.zoo.page import (
    FIELDS,
    ZooTables,
    matrix,
    said,
    source,
    value_text,
)
from tokencredit import ALGORITHMS


class Page(ZooTables):
    """The directive without Sphinx."""

    def __init__(self):
        pass

    def depends_on(self, path):
        pass


@pytest.mark.parametrize("lang", LANGUAGES)
def test_bold_is_what_is_not_as_in_the_parent_and_nothing_else(lang):
    sections = Page().markdown(lang).split("\n## ")
    assert len(sections) == len(ALGORITHMS)
    for section, row in zip(sections, ALGORITHMS.values(), strict=True):
        assert section.removeprefix("## ").startswith(f"{row.name}\n")
        bold = {
            re.search(r"`(\w+)`", cell)[1]
            for cell in re.findall(r"^\| \*\*(.+?)\*\* \|", section, re.M)
        }
        parent = ALGORITHMS.get(row.parent)
        changed = {
            name
            for name in FIELDS
            if parent
            and value_text(getattr(row, name), lang)
            != value_text(getattr(parent, name), lang)
        }
        assert bold == changed
        assert section.count("**") == 4 * len(bold), "bold besides the fields"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_what_an_algorithm_changes_is_open_and_what_it_keeps_is_folded(lang):
    sections = Page().markdown(lang).split("\n## ")
    for section, row in zip(sections, ALGORITHMS.values(), strict=True):
        shown, folded = section.split("<details>")
        assert "**" not in folded
        if row.parent:
            counts = [
                len(re.findall(r"^\| \S.*`\w+`(?:\*\*)? \|", part, re.M))
                for part in (shown, folded)
            ]
            assert counts[0] and sum(counts) == len(FIELDS)


def test_every_parent_stands_before_its_children():
    names = [*ALGORITHMS]
    for row in ALGORITHMS.values():
        assert row.parent is None or names.index(row.parent) < names.index(row.name)


def test_a_translated_source_is_one_of_the_table_and_is_shown():
    cites = [(row, name) for row in ALGORITHMS.values() for name in FIELDS]
    assert not set(said()) - {row.sources[name] for row, name in cites}
    for one in said().values():  # a bare comma would cut a translation off
        assert set(one) == set(LANGUAGES)
    shown = Page().markdown("zh")
    for row, name in cites:
        assert source(row, name, "en") == row.sources[name]
        assert source(row, name, "zh").replace("|", r"\|") in shown
    assert "论文没有" in shown and "the paper has none" not in shown


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_name_leads_to_its_own_section(lang):
    """REINFORCE++ too, whose sign no anchor can hold."""
    names = {field: {lang: field} for field in FIELDS}
    text = Page().markdown(lang)
    titles = [title for _, title in headings(text)]
    sections = dict(zip(slugs(titles), titles, strict=True))
    linked = re.findall(r'href="#([\w-]+)">([^<]+)</a>', matrix(names, lang))
    assert len(linked) == len(ALGORITHMS)
    linked += [(at, name) for name, at in re.findall(r"\[([^]]+)\]\(#([\w-]+)\)", text)]
    assert ("reinforce-1", "REINFORCE++") in linked
    assert {name: sections[at] for at, name in linked} == {n: n for _, n in linked}
