"""Tags of cells by which an author marks a chapter, and their checks.

Tags of code cells: ``setup`` (imports and seeds), ``picture`` (only draws), ``checked``
(asserts; its first line is the claim). The metadata ``holds`` of a code cell lists the
labelled equations that it asserts. A pair of prose cells tagged ``predict`` is a
question and a list of choices, ``predict: K`` the right one from 0; the output of the
next code cell answers it. A pair tagged ``side`` begins a side road: its heading, and
one paragraph, the line, that sums it up. It reaches to the next heading of its level.
The site folds and blurs accordingly.
"""

import re
from collections.abc import Iterator

from tokenbook.languages import LANGUAGES, SOURCE, pages

LABEL = re.compile(r"\$\$[ \t]*\((eq-[\w-]+)\)")
CHOICE = re.compile(r"^[-*+][ \t]+", re.M)
CHOICES = range(2, 5)
BLOCK = re.compile(r"[#>|<]|```|:::|\$\$|(?:[-*+]|\d+\.)[ \t]")  # no paragraph
LINK = re.compile(r"\]\(|\{[\w:-]+\}`|<a ")


def labels(notebook: dict) -> list[str]:
    """Return the labels of a chapter's equations, in order."""
    texts = (text for _, text in pages.pieces(notebook))
    return list(dict.fromkeys(label for text in texts for label in LABEL.findall(text)))


def holds(cell: dict) -> list[str]:
    """Return the labels of the equations that a cell asserts."""
    return list(cell["metadata"].get("holds", []))


def unheld(notebook: dict) -> list[str]:
    """Return the labelled equations that no cell asserts."""
    held = {label for cell in notebook["cells"] for label in holds(cell)}
    return [label for label in labels(notebook) if label not in held]


def side_problem(text: str) -> str:
    r"""Return the fault of a cell tagged ``side``, or "".

    >>> side_problem("## A detail\n\nIt is small."), side_problem("## A detail")
    ('', 'has no line: one paragraph under its heading says what is found there')
    """
    head, _, rest = text.strip().partition("\n")
    if not pages.headings(head):
        return "does not begin with its heading: split the cell"
    if not rest.strip():
        return "has no line: one paragraph under its heading says what is found there"
    if "\n\n" in rest.strip() or BLOCK.match(rest.strip()):
        return "is more than a heading and one paragraph: split the cell"
    if LINK.search(rest):
        return "has a link in its line, which is clicked to open the side: say it below"
    return ""


def problems(notebook: dict) -> Iterator[str]:
    """Yield the faults of a notebook's marks, each with its cell."""
    known, asked = labels(notebook), ""
    for n, cell in enumerate(notebook["cells"], 1):
        place, text = f"cell {n} ({cell.get('id', 'no id')})", pages.text_of(cell)
        graded = pages.as_dict(cell["metadata"].get("nbgrader"))
        for marker, key in (("SOLUTION", "solution"), ("HIDDEN TESTS", "grade")):
            if f"### BEGIN {marker}" in text and not graded.get(key):
                yield f"{place} would be shown: {marker} without nbgrader's {key!r}"
        for label in holds(cell):
            if label not in known:
                yield f"{place} holds {label!r}, which labels no equation here"
        if "checked" in pages.tags(cell) and not text.startswith("# "):
            yield f"{place} is checked: its first line is a comment that says what"
        if "predict" in pages.tags(cell):
            asked = place
        elif cell["cell_type"] == "code" and cell.get("outputs"):
            asked = ""
        if "side" in pages.tags(cell):
            if asked:
                yield f"{place} begins a side inside the prediction of {asked}"
            elif what := side_problem(text):
                yield f"{place} is tagged side and {what}"
        if "predict" in pages.tags(cell):
            right, count = cell["metadata"].get("predict"), len(CHOICE.findall(text))
            if count not in CHOICES:
                yield f"{place} has {count} choices: a list of two to four at its end"
            elif not isinstance(right, int) or not 0 <= right < count:
                yield f"{place}: predict is {right!r}, of {count} choices from 0"
    if any(map(holds, notebook["cells"])):
        for label in unheld(notebook):
            yield f"no cell holds {label!r}: name it in the holds of a cell"
    right = {
        lang: [
            cell["metadata"].get("predict")
            for cell in notebook["cells"]
            if "predict" in pages.tags(cell) and pages.language_of(cell) == lang
        ]
        for lang in LANGUAGES
    }
    yield from uneven_sides(notebook)
    if any(answers != right[SOURCE] for answers in right.values()):
        yield f"the right choices differ between languages: {right}"


def uneven_sides(notebook: dict) -> Iterator[str]:
    """Yield the sides that lack the tag in one language."""
    sides = {lang: [] for lang in LANGUAGES}
    for n, cell in enumerate(notebook["cells"], 1):
        if pages.language_of(cell) in sides:
            place = f"cell {n} ({cell.get('id', 'no id')})"
            sides[pages.language_of(cell)].append((place, "side" in pages.tags(cell)))
    for pair in zip(*sides.values(), strict=False):
        if len({tagged for _, tagged in pair}) > 1:
            here = next(place for place, tagged in pair if tagged)
            yield f"{here} is tagged side, its partner is not: tag both"
