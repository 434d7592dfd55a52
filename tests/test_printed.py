"""A table that a cell prints is a table on its page, and nothing of it is lost."""

import re
from html import unescape

import pytest
from test_site_build import ROOT

from tokenbook.languages import pages
from tokenbook.site.chapter.printed import parted, table

GROUPED = """\
            first        last
            paid  right  paid  right
start 0     0.38   0.26  1.00   0.23
start 1     0.43   0.34  1.00   0.24
"""
SPREAD = """\
   right              paid   KL
a  0.41 (0.3 to 0.5)  0.96 2.24
b  0.36 (0.3 to 0.4)  0.68 0.61
"""


def printed() -> list[str]:
    """What the cells of all chapters print."""
    return [
        "".join(output["text"])
        for file in sorted((ROOT / "chapters").glob("*.ipynb"))
        for cell in pages.read_notebook(file)["cells"]
        for output in cell.get("outputs", [])
        if output["output_type"] == "stream"
    ]


def test_a_head_over_several_columns_reaches_to_the_next():
    heads, rows = parted(GROUPED)
    assert heads == [
        [(1, ""), (2, "first"), (2, "last")],
        [(1, ""), (1, "paid"), (1, "right"), (1, "paid"), (1, "right")],
    ]
    assert rows[1] == ["start 1", "0.43", "0.34", "1.00", "0.24"]
    assert "<th colspan=2>last</th>" in table(heads, rows)


def test_numbers_one_space_apart_are_columns_and_a_spread_stays_with_its_median():
    _, rows = parted(SPREAD)
    assert rows[0] == ["a", "0.41 (0.3 to 0.5)", "0.96", "2.24"]


@pytest.mark.parametrize(
    "text",
    [
        "a  1  2\nb  3  4",  # without a head
        "      x  y\na  1  2\nb  3",  # a row is short
        "what it says\n",
        "name  x  y\na  1  2  3\nb  4  5  6",  # a head is missing
        "        x  y\nstep 1: KL 2\n   k1  mean 3",
    ],
)
def test_what_is_no_table_stays_as_it_was_printed(text):
    assert parted(text) is None


def test_every_word_that_is_printed_stands_in_the_table_in_its_order():
    found = [(text, parted(text)) for text in printed()]
    found = [(text, parts) for text, parts in found if parts]
    assert len(found) > 15
    for text, (heads, rows) in found:
        assert (
            len({len(row) for row in rows} | {sum(n for n, _ in h) for h in heads}) == 1
        )
        shown = unescape(re.sub(r"<[^>]*>", " ", table(heads, rows)))
        assert shown.split() == text.split()
