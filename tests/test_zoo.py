"""The zoo: bold means what the page says, a value that is not the parent's."""

import re

import pytest
from zoo_page import FIELDS, ZooTables, value_text

from coursebook.languages import LANGUAGES
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


def test_every_parent_stands_before_its_children():
    names = [*ALGORITHMS]
    for row in ALGORITHMS.values():
        assert row.parent is None or names.index(row.parent) < names.index(row.name)
