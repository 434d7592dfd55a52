"""The language of each text of a page: notebooks and ``.md`` pages.

A notebook's Markdown cell is tagged ``lang-zh`` or ``lang-en``; in a ``.md`` page a
block break (``+++ {"lang": "zh"}``) opens a block of one language and ``+++`` ends it.
Everything else is shared. This module does not use Sphinx: the parity check, the
homework and the site share its rules.
"""

import copy
import json
import re
from pathlib import Path

from tokenbook.languages import SOURCE, pick
from tokenbook.languages.code_cells import in_language

MARKERS = re.compile(
    r"^[ \t]*### (?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS)[ \t]*\n?", re.M
)
HIDDEN = re.compile(
    r"^ *### BEGIN HIDDEN TESTS\n.*?^ *### END HIDDEN TESTS *\n?", re.M | re.S
)
FOLDED = {  # title of a folded cell
    "solution": "参考答案 | Solution",
    "hide-cell": "代码与输出 | Code and output",
    "hide-input": "代码 | Code",
    "hide-output": "输出 | Output",
}
SHOWN = {"setup": "hide-cell", "checked": "hide-cell", "picture": "remove-input"}
SETUP = "准备：{} 行 | Setup: {} lines"
_BREAK = re.compile(
    r"^\+\+\+(?:[ \t]*\{[ \t]*\"lang\":[ \t]*\"(\w+)\"[ \t]*\})?[ \t]*$"
)
_FENCE = re.compile(r"^\s*(`{3,}|~{3,}|:{3,})(.*)$")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*$")


class NotebookError(ValueError):
    """A notebook that cannot be used; the message gives the reason."""


# --- notebooks ---------------------------------------------------------------


def read_notebook(path: Path, limit: int = 20 * 2**20) -> dict:
    """Return a notebook with a flat list of well-formed cells; else NotebookError."""
    if path.stat().st_size > limit:
        raise NotebookError(f"larger than {limit // 2**20} MB")
    try:
        notebook = json.loads(decoded(path.read_bytes()))
    except (ValueError, RecursionError) as error:
        raise NotebookError(f"not a notebook ({type(error).__name__})") from None
    if not isinstance(notebook, dict):
        raise NotebookError("not a notebook")
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets for cell in sheet.get("cells") or []]
    if not isinstance(cells, list):
        raise NotebookError("not a notebook (no cells)")
    notebook["cells"] = [
        cell
        | {
            "source": text_of(cell).replace("\r\n", "\n"),
            "metadata": as_dict(cell.get("metadata")),
        }
        for cell in cells
        if isinstance(cell, dict)
    ]
    notebook["metadata"] = as_dict(notebook.get("metadata"))
    return notebook


def decoded(raw: bytes) -> str:
    """Return a file's text, from UTF-8, UTF-16 (Notepad's Unicode) or GB 18030.

    >>> decoded("优势".encode("utf-16")), decoded("优势".encode("gbk"))
    ('优势', '优势')
    """
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("gb18030")


def as_dict(value) -> dict:
    """Return `value` if it is a dictionary, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_of(cell: dict) -> str:
    """Return a cell's source as one string; ``input`` is where nbformat 3 had it."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(map(str, source))
    return source if isinstance(source, str) else ""


def tags(cell: dict) -> list[str]:
    """Return a cell's tags."""
    found = as_dict(cell.get("metadata")).get("tags")
    return list(map(str, found)) if isinstance(found, list) else []


def language_of(cell: dict) -> str | None:
    """Return the language a notebook cell is tagged with, or None if shared."""
    found = [tag.removeprefix("lang-") for tag in tags(cell) if tag.startswith("lang-")]
    return found[0] if found else None


def one_language(notebook: dict, lang: str, *, keep_places: bool = False) -> dict:
    """Return the notebook in one language.

    Other languages' cells are removed; with `keep_places` they stay as empty cells, so
    that a warning still names the cell's number. Held-back checks are removed too and
    solutions are folded, by nbgrader's metadata and not by tags. Homework marker lines
    are removed, and a figure's alternative text and caption become those of the
    language.
    """
    out = copy.deepcopy(notebook)
    cells = []
    for cell in out["cells"]:
        shown = language_of(cell) in (None, lang)
        if shown and not is_held_back(cell):
            cells.append(_localise(cell, lang))
        elif keep_places:
            empty = {"outputs": []} if cell["cell_type"] == "code" else {}
            if shown:
                cell["metadata"]["tags"] = with_tag(cell, "remove-cell")
            cells.append(cell | {"source": ""} | empty)
    out["cells"] = cells
    return fold_sides(out)


def fold_sides(notebook: dict) -> dict:
    """Fold the side roads of a notebook of one language, for JupyterLab and Colab.

    In one of several languages a heading is followed by its partner of the same level.
    """
    headed = [cell for cell in notebook["cells"] if "side" in tags(cell)]
    for cell in headed:
        cell["metadata"] |= {"jp-MarkdownHeadingCollapsed": True, "id": cell.get("id")}
    if headed:
        folded = {"collapsed_sections": [cell.get("id") for cell in headed]}
        notebook["metadata"] = notebook.get("metadata", {}) | {"colab": folded}
    return notebook


def is_solution(cell: dict) -> bool:
    """Whether a cell is the published answer to an exercise."""
    return bool(as_dict(as_dict(cell.get("metadata")).get("nbgrader")).get("solution"))


def without_hidden(cell: dict) -> str:
    """Return a cell's source without the checks that are held back."""
    graded = as_dict(as_dict(cell.get("metadata")).get("nbgrader")).get("grade")
    return HIDDEN.sub("", text_of(cell)) if graded else text_of(cell)


def is_held_back(cell: dict) -> bool:
    """Whether a cell consists of held-back checks only."""
    left = without_hidden(cell)
    return not left.strip() and left != text_of(cell)


def with_tag(cell: dict, tag: str) -> list[str]:
    return tags(cell) if tag in tags(cell) else [*tags(cell), tag]


def _localise(cell: dict, lang: str) -> dict:
    meta = cell["metadata"]
    if cell["cell_type"] == "code":
        source = MARKERS.sub("", without_hidden(cell)).rstrip("\n")
        cell["source"] = in_language(source, lang)
        meta["tags"] = [*tags(cell), *(SHOWN[t] for t in tags(cell) if t in SHOWN)]
        if is_solution(cell):
            meta["tags"] = with_tag(cell, "hide-cell")
            meta["jupyter"] = as_dict(meta.get("jupyter")) | {"source_hidden": True}
    kinds = ["solution"] if is_solution(cell) else []
    kinds += [tag for tag in tags(cell) if tag in FOLDED]
    render = {}
    if kinds:
        label = summary(cell, lang) or pick(FOLDED[kinds[0]], lang)
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


def summary(cell: dict, lang: str) -> str:
    """Return the line behind which a ``setup`` or ``checked`` cell is folded, or "".

    It is plain text: backticks go.

    >>> cell = {"metadata": {"tags": ["checked"]}, "source": "# `x` 是一 | `x` is 1"}
    >>> summary(cell, "en")
    '✓ x is 1'
    """
    lines = [line for line in text_of(cell).splitlines() if line.strip()]
    if "checked" in tags(cell):
        said = lines[0].lstrip("# ").replace("`", "") if lines else ""
        return "✓ " + pick(said, lang) if said else ""
    if "setup" in tags(cell):
        return pick(SETUP.format(len(lines), len(lines)), lang)
    return ""


# --- Markdown ----------------------------------------------------------------


def slug(heading: str) -> str:
    """Return the anchor of an English heading: ``GAE(0) = TD`` -> ``gae-0-td``."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def parted(markdown: str) -> list[tuple[int, str, str]]:
    r"""Return (level, heading, text below it) in order, after the text before them.

    >>> parted("a\n\n## B\n\nb")
    [(0, '', 'a\n'), (2, 'B', '\nb')]
    """
    found, fence = [(0, "", [])], None
    for line in markdown.splitlines():
        mark = _FENCE.match(line)
        title = None if fence or mark else _HEADING.match(line)
        if mark and fence is None:
            fence = mark.group(1)
        elif mark and line.strip().startswith(fence) and not mark.group(2).strip():
            fence = None
        if title:
            found.append((len(title.group(1)), title.group(2), []))
        else:
            found[-1][2].append(line)
    return [(level, title, "\n".join(lines)) for level, title, lines in found]


def headings(markdown: str) -> list[tuple[int, str]]:
    """Return (level, text) of every heading outside code fences."""
    return [(level, title) for level, title, _ in parted(markdown)[1:]]


def slugs(titles: list[str]) -> list[str]:
    """Return unique anchors for a page's English headings, in order."""
    seen: dict[str, int] = {}
    out = []
    for title in titles:
        base = slug(title)
        seen[base] = seen.get(base, -1) + 1
        out.append(f"{base}-{seen[base]}" if seen[base] else base)
    return out


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
