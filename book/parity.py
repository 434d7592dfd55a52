"""Do both languages of a page say the same thing? Checked on the sources, in no time.

    python book/parity.py [FILE ...]     every chapter and page when no file is given

Each Chinese cell is directly followed by its English partner, and the two agree in
whatever can be compared without reading: formulas, heading levels, roles, directives,
labels, link targets, inline code, list items, table rows, folded blocks. Every message
says which file, which cell, and what to do.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import bilingual  # noqa: E402
import typography  # noqa: E402

HAN = re.compile(r"[\u3400-\u9fff\u3000-\u303f\uff00-\uffef]")
FENCE = re.compile(r"^(```+|~~~+|:::+)(.*?)\n(.*?)^\1[ \t]*$", re.M | re.S)
DISPLAY = re.compile(r"\$\$(.+?)\$\$(?:[ \t]*\(([\w-]+)\))?", re.S)
INLINE = re.compile(r"(?<![\\$])\$([^$\n]+?)(?<!\\)\$")
ROLE = re.compile(r"\{([\w:-]+)\}`([^`]+)`")
CODE = re.compile(r"(?<![`}])`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|\b(?:href|src)=\"([^\"]+)\"")
LABEL = re.compile(r"^\(([\w-]+)\)=[ \t]*$", re.M)
SLIDER = re.compile(r"data-xp=\"([^\"]*)\"\s+data-set=\"([^\"]*)\"")
FOLD = re.compile(r"<details([^>]*)>")
ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+", re.M)
ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.M)


def features(text: str) -> dict[str, Counter]:
    """Return what of a prose cell must be equal in both languages, by kind."""
    found: dict[str, Counter] = {}
    blocks = FENCE.findall(text)
    found["directive or code block"] = Counter(
        head.strip() if head.startswith("{") else f"{head.strip()}\n{body.strip()}"
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
    levels = [level for level, _ in bilingual.headings(text)]
    found["heading"] = Counter(f"{'#' * n} (no. {i})" for i, n in enumerate(levels, 1))
    return found


def _tight(tex: str) -> str:
    return re.sub(r"\s+", " ", tex).strip()


def compare(first: str, second: str) -> Iterator[str]:
    """Yield what the English text lacks or has beyond its Chinese partner."""
    zh, en = features(first), features(second)
    for kind in zh:
        for thing, count in (zh[kind] - en[kind]).items():
            times = f" ({count} times)" if count > 1 else ""
            yield f"the English cell lacks the {kind} {thing}{times}: add it there"
        for thing, count in (en[kind] - zh[kind]).items():
            times = f" ({count} times)" if count > 1 else ""
            yield f"the Chinese cell lacks the {kind} {thing}{times}: add it there"


def narrow_marks(text: str) -> str:
    """Return the first line whose punctuation should be full-width, or nothing."""
    wide = typography.full_width(text)
    pairs = zip(text.splitlines(), wide.splitlines(), strict=True)
    return next((line.strip() for line, want in pairs if line != want), "")[:60]


def shared_prose(text: str) -> str:
    """Return what an untagged piece holds besides formulas and directives."""
    return re.sub(
        r"^---.*?^---$", "", DISPLAY.sub("", FENCE.sub("", text)), flags=re.M | re.S
    ).strip()


def check_pieces(pieces: list[tuple[str, str | None, str]]) -> Iterator[str]:
    """Yield the problems of a page given as (place, language or None, text)."""
    first, second = bilingual.LANGUAGES
    for n, (place, lang, text) in enumerate(pieces):
        before = pieces[n - 1] if n else ("", "", "")
        after = pieces[n + 1] if n + 1 < len(pieces) else ("", "", "")
        if lang == first and after[1] != second:
            yield f"{place}: no English partner directly after it: add a lang-en cell"
        if lang == first and (narrow := narrow_marks(text)):
            yield (
                f"{place}: half-width punctuation in Chinese, {narrow!r}: run "
                "`python book/_ext/typography.py FILE`"
            )
        if lang == second:
            if before[1] != first:
                yield f"{place}: no Chinese partner right before it: add a lang-zh cell"
            else:
                yield from (f"{place}: {p}" for p in compare(before[2], text))
            if han := HAN.search(text):
                around = text[max(0, han.start() - 12) : han.end() + 12].strip()
                yield f"{place}: Chinese in the English cell: {around!r}: translate it"
        if lang is None and (words := shared_prose(text)):
            yield (
                f"{place}: prose in an untagged cell, {words[:40]!r}: tag it "
                "lang-zh or lang-en; untagged Markdown holds display formulas only"
            )


def check_figure(place: str, figure: dict) -> Iterator[str]:
    """Yield what a figure's words lack in one language."""
    for key in ("alt", "caption"):
        words = figure.get(key, {} if key == "caption" else None)
        if words == {}:
            continue
        for lang in bilingual.LANGUAGES:
            if not (words or {}).get(lang):
                yield f"{place}: figure.{key} has no {lang!r} text: write it"
        if words and HAN.search(words.get("en", "")):
            yield f"{place}: Chinese in figure.{key}.en: translate it"
        if narrow := narrow_marks((words or {}).get("zh", "")):
            yield f"{place}: half-width punctuation in figure.{key}.zh: {narrow!r}"


def check_notebook(notebook: dict) -> Iterator[str]:
    """Yield a notebook's problems; places count cells from 1."""
    pieces = []
    for n, cell in enumerate(notebook["cells"], 1):
        place = f"cell {n} ({cell.get('id', 'no id')})"
        lang = bilingual.language_of(cell)
        if cell["cell_type"] == "markdown":
            pieces.append((place, lang, bilingual.text_of(cell)))
        else:
            pieces.append((place, None, ""))
            if lang:
                yield f"{place}: a code cell tagged lang-{lang}: code is shared: untag"
        if figure := cell["metadata"].get("figure"):
            yield from check_figure(place, figure)
    yield from check_pieces(pieces)


def check_page(markdown: str) -> Iterator[str]:
    """Yield a ``.md`` page's problems; places are line numbers."""
    line, pieces = 1, []
    for lang, lines in bilingual.split_page(markdown):
        if lang or any(lines):
            pieces.append((f"block from line {line}", lang, "\n".join(lines)))
        line += len(lines) + 1
    yield from check_pieces(pieces)


def check_glossary(groups: list[dict]) -> Iterator[str]:
    """Yield glossary rows that lack a language."""
    for group in groups:
        for n, term in enumerate(group["terms"], 1):
            place = f"group {group['title'].get('en')!r}, row {n} ({term.get('en')})"
            for lang in bilingual.LANGUAGES:
                if not term.get(lang) or not term.get("means", {}).get(lang):
                    yield f"{place}: no {lang!r} term or meaning: write it"
            if HAN.search(str(term.get("en")) + term.get("means", {}).get("en", "")):
                yield f"{place}: Chinese in the English text: translate it"


def check_toc(toc: dict) -> Iterator[str]:
    """Yield captions of the table of contents that are not in both languages."""
    for part in toc.get("parts", []):
        caption = part.get("caption", "")
        if len(caption.split(" | ")) != len(bilingual.LANGUAGES):
            yield f"caption {caption!r}: write it as 中文 | English"


def check_file(path: Path) -> list[str]:
    """Return the problems of one source file, each with file, place and advice."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        found = check_notebook(json.loads(text))
    elif path.suffix == ".md":
        found = check_page(text)
    elif path.name == "_toc.yml":
        found = check_toc(yaml.safe_load(text))
    else:
        found = check_glossary(yaml.safe_load(text))
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return [f"{name}, {problem}" for problem in found]


def sources() -> list[Path]:
    """Return every file of the book that is written in both languages."""
    book = ROOT / "book"
    files = [*(ROOT / "chapters").glob("*.ipynb"), *book.glob("*.md")]
    return [*sorted(files), book / "glossary.yml", ROOT / "_toc.yml"]


def main(argv: list[str]) -> int:
    files = [Path(arg).resolve() for arg in argv] or sources()
    problems = [problem for file in files for problem in check_file(file)]
    print("\n".join(problems) or f"parity: {len(files)} files, both languages agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
