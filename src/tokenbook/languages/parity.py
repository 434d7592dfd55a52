"""Check on the sources that all languages of a page say the same.

    python -m tokenbook.languages.parity [FILE ...]   everything if no file is given

Each Chinese cell is directly followed by its partner in every other language, and each
agrees with the English one in everything a program can compare: formulas, heading
levels, roles, directives, labels, link targets, inline code, list items, table rows,
folded blocks. Words in code, tables and configuration must exist in every language,
too. Every message names the file, the place and the cure: after a language has been
added, they are the translator's list.
"""

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import yaml

from tokenbook import ROOT
from tokenbook.languages import LANGUAGES, SOURCE, foreign, pages, parts, typography
from tokenbook.languages.code_cells import is_text, texts

FENCE = re.compile(r"^(```+|~~~+|:::+)(.*?)\n(.*?)^\1[ \t]*$", re.M | re.S)
TITLED = re.compile(r"^(\{dropdown\}).*")  # its argument is a title
DISPLAY = re.compile(r"\$\$(.+?)\$\$(?:[ \t]*\(([\w-]+)\))?", re.S)
INLINE = re.compile(r"(?<![\\$])\$([^$\n]+?)(?<!\\)\$")
ROLE = re.compile(r"\{([\w:-]+)\}`(?:[^`<]*<)?([^`>]+)>?`")
CODE = re.compile(r"(?<![`}])`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|\b(?:href|src)=\"([^\"]+)\"")
LABEL = re.compile(r"^\(([\w-]+)\)=[ \t]*$", re.M)
SLIDER = re.compile(r"data-xp=\"([^\"]*)\"\s+data-set=\"([^\"]*)\"")
FOLD = re.compile(r"<details([^>]*)>")
ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+", re.M)
SYMBOL = re.compile(  # in a short text: code, formulas, roles, calls, = 0.75, Greek
    r"\{\w+\}`[^`]+`|`[^`]+`|\$[^$]+\$|\w+_\w+|[\w/√]+\(|= -?[\d.]+\d|[α-ωΑ-Ω]"
)
ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.M)


def features(text: str) -> dict[str, Counter]:
    """Return the parts of a prose cell that must agree between languages, by kind."""
    found: dict[str, Counter] = {}
    blocks = FENCE.findall(text)
    found["directive or code block"] = Counter(
        TITLED.sub(r"\1", head.strip())
        if head.startswith("{")
        else f"{head.strip()}\n{body.strip()}"
        for _, head, body in blocks
    )
    text = FENCE.sub("", text)
    found["display formula"] = Counter(_tight(m[0]) for m in DISPLAY.findall(text))
    found["label"] = Counter(m[1] for m in DISPLAY.findall(text) if m[1])
    text = DISPLAY.sub("", text)
    found["label"] += Counter(LABEL.findall(text))
    found["role"] = Counter(f"{{{name}}}`{to}`" for name, to in ROLE.findall(text))
    text = ROLE.sub("", text)
    found["inline code"] = Counter(f"`{code}`" for code in CODE.findall(text))
    text = CODE.sub("", text)
    found["formula"] = Counter(f"${_tight(tex)}$" for tex in INLINE.findall(text))
    text = INLINE.sub("", text)
    found["link target"] = Counter(md or html for md, html in LINK.findall(text))
    found["slider link"] = Counter(" ".join(pair) for pair in SLIDER.findall(text))
    found["folded block"] = Counter(f"<details{a}>" for a in FOLD.findall(text))
    found["list item"] = Counter({"an item": len(ITEM.findall(text))})
    found["table row"] = Counter({"a row": len(ROW.findall(text))})
    levels = [level for level, _ in pages.headings(text)]
    found["heading"] = Counter(f"{'#' * n} (no. {i})" for i, n in enumerate(levels, 1))
    return found


def _tight(tex: str) -> str:
    return re.sub(r"\s+", " ", tex).strip()


def compare(one: str, other: str) -> Iterator[str]:
    """Yield the parts of a partner in another language that `one` lacks."""
    ours, theirs = features(one), features(other)
    for kind in theirs:
        for thing, count in (theirs[kind] - ours[kind]).items():
            times = f" ({count} times)" if count > 1 else ""
            yield f"lacks the {kind} {thing}{times}: add it"


def narrow_marks(text: str) -> str:
    """Return the first line whose punctuation should be full-width, or nothing."""
    wide = typography.full_width(text)
    pairs = zip(text.splitlines(), wide.splitlines(), strict=True)
    return next((line.strip() for line, want in pairs if line != want), "")[:60]


def shared_prose(text: str) -> str:
    """Return the prose of an untagged piece, without formulas and directives."""
    return re.sub(
        r"^---.*?^---$", "", DISPLAY.sub("", FENCE.sub("", text)), flags=re.M | re.S
    ).strip()


def groups(pieces: list[tuple[str, str | None, str]]) -> Iterator[dict]:
    """Yield each run of partners: their (place, text) by language."""
    group, order = {}, [*LANGUAGES]
    for place, lang, text in [*pieces, ("", None, "")]:
        known = order.index(lang) if lang in order else -1
        if group and known <= order.index([*group][-1]):
            yield group
            group = {}
        if known >= 0:
            group[lang] = place, text


def check_pieces(pieces: list[tuple[str, str | None, str]]) -> Iterator[str]:
    """Yield the problems of a page given as (place, language or None, text)."""
    for group in groups(pieces):
        source = group.get(SOURCE)
        for lang in LANGUAGES:
            if lang not in group:
                place, _ = source or next(iter(group.values()))
                yield f"{place}: no lang-{lang} partner beside it: write it there"
                continue
            place, text = group[lang]
            if lang == "zh" and (narrow := narrow_marks(text)):
                yield (
                    f"{place}: half-width punctuation in Chinese, {narrow!r}: run "
                    "python -m tokenbook.languages.typography FILE"
                )
            if words := foreign(text, lang):
                yield f"{place}: not {lang}: {words!r}: translate it"
            if source and lang != SOURCE:
                yield from (f"{place}: {what}" for what in compare(text, source[1]))
                yield from (f"{source[0]}: {what}" for what in compare(source[1], text))
    for place, lang, text in pieces:
        if lang is not None and lang not in LANGUAGES:
            yield f"{place}: lang-{lang} is no language of the book"
        if lang is None and (words := shared_prose(text)):
            yield (
                f"{place}: prose in an untagged cell, {words[:40]!r}: tag it "
                "lang-zh or lang-en; untagged Markdown holds display formulas only"
            )


# --- words outside the prose ---------------------------------------------------


def check_words(place: str, words: dict) -> Iterator[str]:
    """Yield the gaps of a dictionary with one entry per language."""
    for lang in LANGUAGES:
        if words.get(lang) in (None, ""):
            said = str(words.get(SOURCE, ""))[:40]
            yield f"{place}: no {lang!r} beside {said!r}: write it"
        elif isinstance(words[lang], str):
            if wrong := foreign(words[lang], lang):
                yield f"{place}: not {lang}: {wrong!r}: translate it"
            plain = "" if "{" in words[lang] else words[lang]  # no interval of numbers
            if lang == "zh" and (narrow := narrow_marks(plain)):
                yield f"{place}: half-width punctuation, {narrow!r}"


def check_pair(place: str, text: str) -> Iterator[str]:
    """Yield the gaps of a short text ``中文 | English``."""
    found = dict(zip(LANGUAGES, parts(text), strict=False))
    for lang in LANGUAGES if len(found) > 1 else ():
        if lang not in found:
            yield f"{place}: no {lang} part in {text[:60]!r}: add it"
        elif lang != SOURCE:
            for thing in symbols(found[lang]) - symbols(found[SOURCE]):
                yield f"{place}: {thing} is not in the English of {text[:60]!r}"
            for thing in symbols(found[SOURCE]) - symbols(found[lang]):
                yield f"{place}: {thing} is only in the English of {text[:60]!r}"


def symbols(text: str) -> set[str]:
    """Return the formulas and code of a short text, equal in every language."""
    return set(SYMBOL.findall(text))


def check_data(place: str, data) -> Iterator[str]:
    """Yield the gaps anywhere in data: dictionaries by language, short texts."""
    if isinstance(data, dict) and data.keys() & LANGUAGES.keys():
        yield from check_words(place, data)
    if isinstance(data, str):
        yield from check_pair(place, data)
    elif isinstance(data, dict | list):
        items = data.items() if isinstance(data, dict) else enumerate(data, 1)
        for key, value in items:
            if key == "retired":  # words that one language must avoid
                continue
            name = value.get("id", key) if isinstance(value, dict) else key
            yield from check_data(f"{place}, {name}" if place else str(name), value)


def check_code(source: str) -> Iterator[str]:
    """Yield the gaps in the texts of a module; places are line numbers."""
    for line, text in texts(source, docstrings=False):
        yield from check_pair(f"line {line}", text)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Dict):
            items = zip(node.keys, node.values, strict=True)
            words = {getattr(key, "value", None): value for key, value in items}
            if words.keys() & LANGUAGES.keys():
                said = {k: v.value if is_text(v) else True for k, v in words.items()}
                yield from check_words(f"line {node.lineno}", said)


# --- files ---------------------------------------------------------------------


def check_notebook(notebook: dict) -> Iterator[str]:
    """Yield a notebook's problems; places count cells from 1."""
    pieces = []
    for n, cell in enumerate(notebook["cells"], 1):
        place = f"cell {n} ({cell.get('id', 'no id')})"
        lang, text = pages.language_of(cell), pages.text_of(cell)
        if cell["cell_type"] == "markdown":
            pieces.append((place, lang, text))
        else:
            pieces.append((place, None, ""))
            for _, pair in texts(text):
                yield from check_pair(place, pair)
            if lang:
                yield f"{place}: a code cell tagged lang-{lang}: code is shared: untag"
        yield from check_data(place, cell["metadata"].get("figure"))
    yield from check_pieces(pieces)


def check_page(markdown: str) -> Iterator[str]:
    """Yield a ``.md`` page's problems; places are line numbers."""
    line, pieces = 1, []
    for lang, lines in pages.split_page(markdown):
        if lang or any(lines):
            pieces.append((f"block from line {line}", lang, "\n".join(lines)))
        line += len(lines) + 1
    yield from check_pieces(pieces)


def check_template(text: str) -> Iterator[str]:
    """Yield the gaps in the quoted texts of a page template."""
    for words in re.findall(r"\"([^\"\n]* \| [^\"\n]*)\"", text):
        yield from check_pair(repr(words), words)


def check_prose(text: str) -> Iterator[str]:
    """Yield the problems of a section that is kept by language, as in ``book/wild``."""
    words = yaml.safe_load(text)
    yield from check_pieces([(lang, lang, said) for lang, said in words.items()])


CHECKS = {
    ".ipynb": lambda text: check_notebook(json.loads(text)),
    ".md": check_page,
    ".yml": lambda text: check_data("", yaml.safe_load(text)),
    ".py": check_code,
    ".html": check_template,
}


def check_file(path: Path) -> list[str]:
    """Return the problems of one source file, each with file, place and advice."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    check = check_prose if path.parent.name == "wild" else CHECKS[path.suffix]
    return [f"{name}, {problem}" for problem in check(text)]


def sources() -> list[Path]:
    """Return every file of the book with words in all languages."""
    book, tree = ROOT / "book", ROOT / "src"
    site = tree / "tokenbook" / "site"
    files = [*(ROOT / "chapters").glob("*.ipynb"), *book.glob("*.md")]
    files += [
        book / "sorting.ipynb",
        *book.glob("*.yml"),
        *book.glob("wild/*.yml"),
        *site.glob("[!p]*/*.yml"),  # the playground's has formulas without dollars
        tree / "tokenbook" / "symptoms" / "curves.yml",
        *ROOT.glob("_*.yml"),
        *site.rglob("*.html"),
    ]
    return sorted([*files, *book.rglob("*.py"), *tree.rglob("*.py")])


def main(argv: list[str]) -> int:
    files = [Path(arg).resolve() for arg in argv] or sources()
    problems = [problem for file in files for problem in check_file(file)]
    print("\n".join(problems) or f"parity: {len(files)} files, all languages agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
