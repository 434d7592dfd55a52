"""What an author marks in a chapter for its reader, and whether the marks are sound.

Tags of code cells: ``setup`` (imports and seeds), ``picture`` (only draws), ``checked``
(asserts; its first line says what agrees with what). The metadata ``holds`` of a code
cell lists the labelled equations that it asserts. A pair of prose cells tagged
``predict`` is a question and a list of choices, ``predict: K`` the right one from 0;
the output of the next code cell answers it. The site folds and blurs accordingly.
"""

import re
from collections.abc import Iterator

from coursebook import pages
from coursebook.languages import LANGUAGES, SOURCE

LABEL = re.compile(r"\$\$[ \t]*\((eq-[\w-]+)\)")
CHOICE = re.compile(r"^[-*+][ \t]+", re.M)
CHOICES = range(2, 5)


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


def problems(notebook: dict) -> Iterator[str]:
    """Yield what is wrong with a notebook's marks, each with its cell."""
    known = labels(notebook)
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
    if any(answers != right[SOURCE] for answers in right.values()):
        yield f"the right choices differ between languages: {right}"
