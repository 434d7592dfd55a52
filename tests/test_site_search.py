"""What the search index says of formulas: every letter is the letter of the book."""

import re
import unicodedata
from pathlib import Path

import pytest

from tokenbook.languages.data import load
from tokenbook.languages.pages import pieces, read_notebook
from tokenbook.site.search.index import GREEK, HIGH, LOW, SEEN, plain
from tokenbook.symptoms import log_keys

ROOT = Path(__file__).parents[1]
SIGNS = {
    "nabla": "NABLA",
    "partial": "PARTIAL DIFFERENTIAL",
    "infty": "INFINITY",
    "approx": "ALMOST EQUAL TO",
    "le": "LESS-THAN OR EQUAL TO",
    "leq": "LESS-THAN OR EQUAL TO",
    "ge": "GREATER-THAN OR EQUAL TO",
    "geq": "GREATER-THAN OR EQUAL TO",
    "ne": "NOT EQUAL TO",
    "neq": "NOT EQUAL TO",
    "pm": "PLUS-MINUS SIGN",
    "times": "MULTIPLICATION SIGN",
    "cdot": "MIDDLE DOT",
    "in": "ELEMENT OF",
    "to": "RIGHTWARDS ARROW",
    "leftarrow": "LEFTWARDS ARROW",
    "gg": "MUCH GREATER-THAN",
    "forall": "FOR ALL",
    "ell": "SCRIPT SMALL L",
    "lfloor": "LEFT FLOOR",
    "rfloor": "RIGHT FLOOR",
    "lVert": "DOUBLE VERTICAL LINE",
    "rVert": "DOUBLE VERTICAL LINE",
    "sum": "GREEK CAPITAL LETTER SIGMA",
    "prod": "GREEK CAPITAL LETTER PI",
    "prime": "PRIME",
}


def letter(name: str) -> str:
    """The name that Unicode gives a Greek letter of TeX."""
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    name = name.lower().removeprefix("var").replace("lambda", "lamda")
    return f"GREEK {size} LETTER {name.upper()}"


def is_greek(name: str) -> bool:
    try:
        return bool(unicodedata.lookup(letter(name)))
    except KeyError:
        return False


LETTERS = [name for name in GREEK if is_greek(name)]


@pytest.mark.parametrize("name", [*LETTERS, *SIGNS])
def test_a_letter_or_sign_is_the_one_that_unicode_calls_so(name):
    called = SIGNS[name] if name in SIGNS else letter(name)
    assert unicodedata.name(GREEK[name]) == called
    assert plain(rf"\{name} x").startswith(GREEK[name])


@pytest.mark.parametrize("table", [LOW, HIGH], ids=["low", "high"])
def test_a_raised_or_lowered_character_is_the_character(table):
    for plainly, moved in table.items():
        assert unicodedata.normalize("NFKC", chr(moved)) in (chr(plainly), "-", "−")


def test_a_formula_of_the_book_has_its_greek_letters_in_the_index():
    """Every Greek letter that a chapter or the glossary writes, and no other."""
    texts = []
    for path in sorted((ROOT / "chapters").glob("[0-9]*.ipynb")):
        texts += [text for _, text in pieces(read_notebook(path))]
    texts.append((ROOT / "book" / "glossary.md").read_text("utf-8"))
    formulas = {f for text in texts for f in re.findall(r"\$([^$\n]+)\$", text)}
    assert len(formulas) > 1000
    known = {f"\\{name}" for name in LETTERS}
    for formula in formulas:
        written = [w for w in re.findall(r"\\[A-Za-z]+", formula) if w in known]
        wanted = sorted(unicodedata.lookup(letter(w[1:])) for w in written)
        said = unicodedata.normalize("NFKC", plain(formula))
        found = sorted(c for c in said if "\u0370" <= c <= "\u03ff" and c not in "ΣΠ")
        wanted = [c for c in wanted if c not in "ΣΠ"]
        assert found == wanted, (formula, said)


def test_what_reports_see_calls_one_symptom_in_words_that_are_listed():
    seen = load(SEEN)
    assert set(seen["seen"]) <= set(log_keys.titles("en"))
    called = {}
    for anchor, rows in seen["seen"].items():
        for row in rows.split(", "):
            senses = row.split()
            assert set(senses) <= set(seen["senses"]) - {"noise"}, (anchor, row)
            assert called.setdefault(frozenset(senses), anchor) == anchor, row
