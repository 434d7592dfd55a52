"""What an author marks for the reader: the equations that cells hold, predictions."""

import json
from pathlib import Path

import pytest

from tokenbook.languages import marks, notebooks, pages

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))


def prose(text: str, *tags: str, **meta) -> dict:
    meta |= {"tags": list(tags)} if tags else {}
    return {"cell_type": "markdown", "id": "p", "metadata": meta, "source": text}


def code(text: str, *tags: str, **meta) -> dict:
    return prose(text, *tags, **meta) | {"cell_type": "code"}


def problems(*cells: dict) -> str:
    return "\n".join(marks.problems({"cells": list(cells)}))


ONE, TWO = prose("$$a = b$$ (eq-one)"), prose("$$c = d$$ (eq-two)")


def test_every_labelled_equation_is_held_by_a_cell_of_its_chapter():
    lacking = {}
    for path in CHAPTERS:
        notebook = pages.read_notebook(path)
        lacking |= {path.stem: found} if (found := marks.unheld(notebook)) else {}
    assert not lacking


def test_a_held_equation_is_found_by_its_label():
    cells = [ONE, TWO, code("assert True", holds=["eq-one"])]
    assert marks.labels({"cells": cells}) == ["eq-one", "eq-two"]
    assert marks.unheld({"cells": cells}) == ["eq-two"]


def test_an_equation_that_no_cell_holds_is_named_once_a_chapter_holds_any():
    assert problems(ONE, TWO, code("assert True")) == ""
    assert "no cell holds 'eq-two'" in problems(ONE, TWO, code("x", holds=["eq-one"]))


def test_a_cell_that_holds_an_equation_of_another_chapter_is_named():
    assert "'eq-gone', which labels no equation" in problems(
        ONE, code("x", holds=["eq-one", "eq-gone"])
    )


def test_a_checked_cell_says_what_agrees():
    assert "its first line is a comment" in problems(code("assert True", "checked"))
    assert problems(code("# 和为一 | sums to 1\nassert True", "checked")) == ""


def asked(right, choices: int = 3, lang: str = "en") -> dict:
    text = "How many?\n\n" + "\n".join(f"- {n}" for n in range(choices))
    return prose(text, f"lang-{lang}", "predict", predict=right)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([asked(0, lang="zh"), asked(0)], ""),
        ([asked(3, lang="zh"), asked(3)], "predict is 3, of 3 choices"),
        ([asked(None, lang="zh"), asked(None)], "predict is None"),
        ([asked(0, 1, "zh"), asked(0, 1)], "has 1 choices"),
        ([asked(0, 5, "zh"), asked(0, 5)], "has 5 choices"),
        ([asked(0, lang="zh"), asked(1)], "differ between languages"),
    ],
)
def test_a_prediction_has_two_to_four_choices_and_one_is_right(cells, says):
    found = problems(*cells)
    assert says in found and bool(found) == bool(says)


def side(text: str, *tags: str) -> list[dict]:
    """A pair of cells that begins a side, in one wording."""
    return [prose(text, f"lang-{lang}", "side", *tags) for lang in ("zh", "en")]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (side("## A\n\nOne line: $x$ and `y`,\nin two."), ""),
        (side("## A"), "has no line"),
        (side("Text.\n\n## A\n\nLine."), "does not begin with its heading"),
        (side("## A\n\nLine.\n\nMore."), "more than a heading and one paragraph"),
        (side("## A\n\n- an item"), "more than a heading and one paragraph"),
        (side("## A\n\n$$x$$"), "more than a heading and one paragraph"),
        (side("## A\n\nSee [there](#b)."), "has a link in its line"),
        (side("## A\n\nBy {eq}`eq-one`."), "has a link in its line"),
        ([*side("## A\n\nLine.")[:1], prose("## A", "lang-en")], "its partner is not"),
        (
            [asked(0, lang="zh"), asked(0), *side("## A\n\nLine.")],
            "inside the prediction",
        ),
    ],
)
def test_a_side_is_a_heading_and_a_line_and_in_no_prediction(cells, says):
    found = problems(*cells)
    assert says in found and bool(found) == bool(says)
    assert not found or "(p)" in found, "the cell is named"


def test_a_run_keeps_the_marks(tmp_path):
    notebook = {
        "cells": [ONE, code("x = 1", "checked", holds=["eq-one"]), asked(1)],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    for cell, name in zip(notebook["cells"], "abc", strict=True):
        cell["id"] = name
    notebook["cells"][1] |= {"outputs": [], "execution_count": None}
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    notebooks.run(path)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert cells[1]["metadata"] == {"holds": ["eq-one"], "tags": ["checked"]}
    assert cells[2]["metadata"]["predict"] == 1
