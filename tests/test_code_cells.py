"""A code cell of a page speaks one language, and stays the same program."""

import ast
import json
from pathlib import Path

import pytest

from tokenbook.languages import LANGUAGES, foreign
from tokenbook.languages.code_cells import in_language

CELLS = [
    pytest.param("".join(cell["source"]), id=f"{path.stem[:2]}-{cell['id']}")
    for path in sorted((Path(__file__).parents[1] / "chapters").glob("*.ipynb"))
    for cell in json.loads(path.read_text("utf-8"))["cells"]
    if cell["cell_type"] == "code"
]


@pytest.mark.parametrize("source", CELLS)
def test_no_cell_shows_a_language_that_its_page_is_not_in(source):
    for lang in LANGUAGES:
        shown = in_language(source, lang)
        assert not foreign(shown, lang)
        names = [
            [
                part.id
                for part in ast.walk(ast.parse(text))
                if isinstance(part, ast.Name)
            ]
            for text in (source, shown)
        ]
        assert sorted(names[0]) == sorted(names[1]) or "{" in source


@pytest.mark.parametrize(
    ("source", "zh", "en"),
    [
        ('f(label=("对", "right"))', 'f(label="对")', 'f(label="right")'),
        ('(f"第 {i} 条", f"row {i}")', 'f"第 {i} 条"', 'f"row {i}"'),
        ('("a", "b")', '("a", "b")', '("a", "b")'),
        ('("对", "right", "x")', '("对", "right", "x")', '("对", "right", "x")'),
        ('("对", 1)', '("对", 1)', '("对", 1)'),
    ],
)
def test_a_pair_of_texts_keeps_the_one_of_the_page(source, zh, en):
    assert (in_language(source, "zh"), in_language(source, "en")) == (zh, en)
