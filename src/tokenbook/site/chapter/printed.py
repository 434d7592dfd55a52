"""Show a table that a cell prints as a table.

Cells print with aligned columns, which is short to write and right in a notebook. On a
page such an output becomes a table: one or two heads over rows of a name and numbers.
Columns stand apart by two spaces, numbers by one. What does not fit stays as printed.
"""

import re
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

GAP = re.compile(r" {2,}|(?<=\d) (?=[+-]?\d)")
NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:e[+-]?\d+)?%?(?: \(.+\))?")
LEAST = 3  # columns of a table


def cells(line: str) -> list[tuple[int, int, str]]:
    """Return the cells of a line: where each begins and ends, and its text."""
    found, at = [], len(line) - len(line.lstrip())
    for gap in [*GAP.finditer(line, at), None]:
        end = gap.start() if gap else len(line)
        found.append((at, end, line[at:end]))
        at = gap.end() if gap else end
    return found


def parted(text: str) -> tuple[list[list[tuple[int, str]]], list[list[str]]] | None:
    """Return heads, each (columns, text), and rows of a printed table, or None.

    >>> heads, rows = parted("     paid  right\\ns 0  0.38   0.26\\ns 1  1.00   0.20")
    >>> heads
    [[(1, ''), (1, 'paid'), (1, 'right')]]
    >>> rows
    [['s 0', '0.38', '0.26'], ['s 1', '1.00', '0.20']]
    >>> parted("step 1: KL 0.63\\n   k1  mean 0.63\\n   k2  mean 0.65") is None
    True
    """
    lines = [cells(line) for line in text.rstrip().split("\n")]
    numbers = [any(NUMBER.fullmatch(word) for *_, word in line) for line in lines]
    first = numbers.index(True) if True in numbers else 0
    heads, rows = lines[:first], lines[first:]
    if first not in (1, 2) or len({len(row) for row in rows}) > 1:
        return None
    if len(rows) < 2 or len(rows[0]) < LEAST or not all(map(is_row, rows)):
        return None
    columns = [
        (min(start for start, *_ in column), max(end for _, end, _ in column))
        for column in zip(*rows, strict=True)
    ]
    spanned = [over(head, columns) for head in heads]
    if None in spanned or any(n > 1 for n, _ in spanned[-1]):
        return None
    return spanned, [[word for *_, word in row] for row in rows]


def is_row(row: list[tuple[int, int, str]]) -> bool:
    """Whether all but the first two cells are numbers, and the last one is."""
    return all(NUMBER.fullmatch(word) for *_, word in row[2:])


def over(head: list, columns: list) -> list[tuple[int, str]] | None:
    """Return the cells of a head with the number of columns that each stands over.

    The upper one of two heads names groups, each up to the next.
    """
    starts = []
    for start, end, _ in head:
        under = [n for n, (a, b) in enumerate(columns) if a < end and start < b]
        if not under or under[0] in starts:
            return None
        starts.append(under[0])
    blank = [(1, "")] * starts[0]
    if len(head) + starts[0] < len(columns):
        ends = [*starts[1:], len(columns)]
    elif len(head) + starts[0] == len(columns) and starts[0] < 2:
        ends = [start + 1 for start in starts]
    else:
        return None
    return blank + [
        (b - a, word) for a, b, (*_, word) in zip(starts, ends, head, strict=True)
    ]


def table(heads: list, rows: list) -> str:
    """Return the HTML of a table."""

    def line(tag: str, some: list[tuple[int, str]]) -> str:
        told = "".join(
            f"<{tag}{f' colspan={n}' * (n > 1)}>{escape(text)}</{tag}>"
            if text
            else "<td></td>"
            for n, text in some
        )
        return f"<tr>{told}</tr>"

    head = "".join(line("th", one) for one in heads)
    body = "".join(line("td", [(1, text) for text in row]) for row in rows)
    return (
        '<div class="pst-scrollable-table-container"><table class="table printed">'
        f"<thead>{head}</thead><tbody>{body}</tbody></table></div>"
    )


class PrintedTables(SphinxPostTransform):
    """Replace the printed tables of cells."""

    default_priority = 8
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for output in [*self.document.findall(nodes.literal_block)]:
            printed = {"output", "stream"} <= {*output["classes"]}
            if printed and (found := parted(output.astext())):
                output.replace_self(nodes.raw("", table(*found), format="html"))


def setup(app: Sphinx) -> dict:
    app.add_post_transform(PrintedTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
