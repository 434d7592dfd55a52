"""One source, two languages: the rules that say which text belongs to which edition.

A notebook's Markdown cell is tagged ``lang-zh`` or ``lang-en``; in a ``.md`` page a
block break (``+++ {"lang": "zh"}``) opens a block of one language and ``+++`` ends it.
Everything else is shared. A short pair is written ``中文 | English``.
Nothing here knows Sphinx: the parity check and the build read the same rules.
"""

import copy
import re

LANGUAGES = ("zh", "en")
NAMES = {"zh": "中文", "en": "English"}
SOURCE = "en"  # its headings name the anchors of every edition

MARKERS = re.compile(
    r"^[ \t]*### (?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS)[ \t]*\n?", re.M
)
FOLDED = {  # what the line says behind which a cell's content is folded
    "solution": "参考答案 | Solution",
    "hide-cell": "代码与输出 | Code and output",
    "hide-input": "代码 | Code",
    "hide-output": "输出 | Output",
}
_BREAK = re.compile(
    r"^\+\+\+(?:[ \t]*\{[ \t]*\"lang\":[ \t]*\"(\w+)\"[ \t]*\})?[ \t]*$"
)
_FENCE = re.compile(r"^\s*(`{3,}|~{3,}|:{3,})(.*)$")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*$")


def pick(text: str, lang: str) -> str:
    """Return one language's half of ``中文 | English``; a single text is shared."""
    parts = [part.strip() for part in text.split(" | ")]
    return parts[LANGUAGES.index(lang)] if len(parts) == len(LANGUAGES) else text


def slug(heading: str) -> str:
    """Return the anchor of an English heading: ``GAE(0) = TD`` -> ``gae-0-td``."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def headings(markdown: str) -> list[tuple[int, str]]:
    """Return (level, text) of every heading outside code fences."""
    found, fence = [], None
    for line in markdown.splitlines():
        mark = _FENCE.match(line)
        if mark and fence is None:
            fence = mark.group(1)
        elif mark and line.strip().startswith(fence) and not mark.group(2).strip():
            fence = None
        elif fence is None and (title := _HEADING.match(line)):
            found.append((len(title.group(1)), title.group(2)))
    return found


def slugs(titles: list[str]) -> list[str]:
    """Return unique anchors for a page's English headings, in order."""
    seen: dict[str, int] = {}
    out = []
    for title in titles:
        base = slug(title)
        seen[base] = seen.get(base, -1) + 1
        out.append(f"{base}-{seen[base]}" if seen[base] else base)
    return out


def language_of(cell: dict) -> str | None:
    """Return the language a notebook cell is tagged with, or None if shared."""
    tags = cell.get("metadata", {}).get("tags", [])
    return next((lang for lang in LANGUAGES if f"lang-{lang}" in tags), None)


def text_of(cell: dict) -> str:
    """Return a cell's source as one string (nbformat stores lists of lines)."""
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def one_language(notebook: dict, lang: str, *, keep_places: bool = False) -> dict:
    """Return the notebook in one language.

    The other language's cells go; with `keep_places` they stay as empty cells, so that
    a warning still names the cell's number. Homework marker lines go, and a figure's
    alternative text and caption become those of the language.
    """
    out = copy.deepcopy(notebook)
    cells = []
    for cell in out["cells"]:
        if language_of(cell) in (None, lang):
            cells.append(_localise(cell, lang))
        elif keep_places:
            cells.append(cell | {"source": ""})
    out["cells"] = cells
    return out


def _localise(cell: dict, lang: str) -> dict:
    meta = cell["metadata"]
    if cell["cell_type"] == "code":
        cell["source"] = MARKERS.sub("", text_of(cell)).rstrip("\n")
    kinds = ["solution"] if meta.get("nbgrader", {}).get("solution") else []
    kinds += [tag for tag in meta.get("tags", []) if tag in FOLDED]
    render = {}
    if kinds:
        label = pick(FOLDED[kinds[0]], lang)
        render |= {"code_prompt_show": label, "code_prompt_hide": label}
    if figure := meta.get("figure"):
        render["image"] = {"alt": figure["alt"][lang]}
        if caption := figure.get("caption", {}).get(lang):
            render["figure"] = {"caption": caption}
            if name := figure.get("name"):
                render["figure"]["name"] = name
    if render:
        meta["mystnb"] = render | meta.get("mystnb", {})
    return cell


def split_page(markdown: str) -> list[tuple[str | None, list[str]]]:
    """Split a ``.md`` page at its block breaks into (language or None, lines)."""
    blocks: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in markdown.split("\n"):
        if mark := _BREAK.match(line):
            blocks.append((mark.group(1), []))
        else:
            blocks[-1][1].append(line)
    return blocks


def one_language_page(markdown: str, lang: str) -> str:
    """Return a ``.md`` page in one language, every line at its old line number."""
    lines: list[str] = []
    for number, (block_lang, block) in enumerate(split_page(markdown)):
        lines += [""] if number else []
        lines += block if block_lang in (None, lang) else [""] * len(block)
    return "\n".join(lines)


def pieces(source: str | dict) -> list[tuple[str | None, str]]:
    """Return (language or None, Markdown) for each prose piece of a page, in order."""
    if isinstance(source, dict):
        cells = [c for c in source["cells"] if c["cell_type"] == "markdown"]
        return [(language_of(cell), text_of(cell)) for cell in cells]
    return [(lang, "\n".join(lines)) for lang, lines in split_page(source)]


def titles(source: str | dict) -> list[str]:
    """Return a page's English headings in order: the anchors of every edition."""
    return [
        title
        for lang, text in pieces(source)
        if lang in (None, SOURCE)
        for _, title in headings(text)
    ]


def chapter_number(name: str) -> int | None:
    """Return the number in a chapter's file name: ``chapters/05_x`` -> 5."""
    found = re.match(r"(\d+)_", name.rsplit("/", 1)[-1])
    return int(found[1]) if found else None
