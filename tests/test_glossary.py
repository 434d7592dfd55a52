"""The words of the course: every term has an id, and what is retired is not written."""

import ast
import json
import re

import pytest

from coursebook import pages
from coursebook.glossary import GLOSSARY, ROWS, retired, symbol, term
from coursebook.languages import LANGUAGES
from coursebook.notebooks import ROOT


def written(file: str) -> list[str]:
    """The retired words in a file's prose, each with its line."""
    text = (ROOT / file).read_text(encoding="utf-8")
    source = json.loads(text) if file.endswith(".ipynb") else text
    return [
        f"{file}, {line.strip()[:40]!r}: {what}"
        for lang, prose in pages.pieces(source)
        if lang
        for line in prose.splitlines()
        for what in retired(line, lang)
    ]


@pytest.mark.parametrize("file", GLOSSARY["rewritten"])
def test_a_rewritten_file_uses_no_retired_word(file):
    found = written(file)
    assert not found, "\n" + "\n".join(found)


def test_an_id_names_one_row_in_plain_letters():
    count = sum(len(group["terms"]) for group in GLOSSARY["groups"])
    assert count == len(ROWS)
    assert not [name for name in ROWS if not re.fullmatch(r"[a-z][a-z0-9_]*", name)]


def test_no_row_is_named_by_a_word_that_another_retires():
    for name, row in ROWS.items():
        for lang in ("zh", "en"):
            for words in (row[lang], row["means"][lang]):
                found = [*retired(words, lang)]
                assert not found, f"{name}: {found}"


def test_every_name_in_code_is_a_name_of_the_package():
    sources = (ROOT / "src" / "tokencredit").rglob("*.py")
    used = {w for p in sources for w in re.findall(r"\w+", p.read_text("utf-8"))}
    named = {n for row in ROWS.values() for n in row.get("code", "").split()}
    assert not named - used


def test_a_term_is_found_by_its_id_in_each_language():
    assert term("turn", "zh") == "轮次" and term("iteration", "en") == "iteration"
    assert symbol("clip_range") == r"\varepsilon" != symbol("stabiliser")
    assert symbol("padding") == ""


def test_figures_name_their_terms_by_id():
    ids = {tuple(row[lang] for lang in LANGUAGES): name for name, row in ROWS.items()}
    found = []
    for path in sorted((ROOT / "src" / "tokencredit" / "figures").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            words = isinstance(node, ast.Tuple) and tuple(
                getattr(part, "value", None) for part in node.elts
            )
            if words in ids:
                found.append(f'{path.name}: {words} is terms("{ids[words]}")')
    assert not found, "\n" + "\n".join(found)


def test_an_unknown_id_names_the_near_ones():
    with pytest.raises(ValueError, match=r"no term 'discont'.*'discount'"):
        term("discont", "zh")


@pytest.mark.parametrize(
    ("lang", "text", "found"),
    [
        ("zh", "先练 30 轮", "轮"),
        ("zh", "第一轮次、多轮智能体", ""),
        ("zh", "信用分配", ""),
        ("zh", "每个词元的信用", "信用"),
        ("en", "30 rounds", "30 rounds"),
        ("en", "rounding error", ""),
        ("en", "a token in the mask", "in the mask"),
        ("en", "`in the mask` and [x](on the mask)", ""),
        ("en", r"a range $\epsilon$", r"\epsilon"),
        ("en", r"a range $\varepsilon$", ""),
    ],
)
def test_a_retired_word_is_found_in_prose_and_nowhere_else(lang, text, found):
    words = [what.partition(": write ")[0] for what in retired(text, lang)]
    assert words == ([found] if found else [])


def test_a_letter_that_stands_for_two_things_says_so_in_both_languages():
    """τ is a temperature and a trajectory: the rows say in which chapters."""
    by_symbol = {}
    for name, row in ROWS.items():
        by_symbol.setdefault(row.get("symbol"), []).append(name)
    del by_symbol[None]
    for letter, names in by_symbol.items():
        for name in names if len(names) > 1 else ():
            for lang in LANGUAGES:
                assert f"${letter}$" in ROWS[name]["means"][lang], (name, letter)


def test_the_chapters_write_the_letters_of_the_glossary():
    """What the glossary says of τ holds; no chapter uses it for a third thing."""
    holds = {}
    for path in sorted((ROOT / "chapters").glob("[0-9]*.ipynb")):
        prose = "\n".join(
            text for _, text in pages.pieces(json.loads(path.read_text()))
        )
        if r"\tau" in prose:
            whole = re.search(r"\\tau\$ (?:is|be) the whole trajectory", prose)
            holds[pages.chapter_number(path.name)] = bool(whole)
    assert {number for number, trajectory in holds.items() if trajectory} == {6, 13}
    assert {number for number, trajectory in holds.items() if not trajectory} <= {
        *(1, 11, 16),  # a temperature, of sampling or of a soft gate
    }
