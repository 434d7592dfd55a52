"""Chinese punctuation: full width in the sources, and no gap at a line end.

`full_width` is the rule that the parity check holds every Chinese text to;
``python -m tokenbook.languages.typography FILE ...`` applies it to notebooks and pages.
"""

import json
import re
import sys
from pathlib import Path

from tokenbook.languages import HAN, MARKS, pages

WIDE = dict(zip(",;:?!", "，；：？！", strict=True))

# Not prose: formulas, code, roles, tags, link targets, addresses, table rules and
# directive lines. Each becomes one private character while the rest is read.
KEEP = re.compile(
    r"```.*?```|\$\$.*?\$\$|\$[^$\n]+\$|\{[\w:-]+\}`[^`]*`|\{[^{}\n]*\}|`[^`\n]+`|<[^>\n]+>"
    r"|(?<=\])\([^)\n]*\)|https?://[^\s)]+|^[ \t|:-]+$|^:::.*$|^\([\w-]+\)=$",
    re.S | re.M,
)
HOLE = "\ue000"
NEAR = rf"[{HAN}{HOLE}{MARKS}“”‘’*]"
MARK = re.compile(r"[,;:?!]")
PARENS = re.compile(r"\(([^()\n]*)\)")


def full_width(text: str) -> str:
    """Return Chinese prose with full-width punctuation.

    A mark is widened where it touches Chinese on either side; a comma between two
    English words or inside a number stays as it is.

    >>> full_width("价值网络(critic),见 $a,b$:`f(x, y)` 是 1,024 个 TD(0)?")
    '价值网络（critic），见 $a,b$：`f(x, y)` 是 1,024 个 TD(0)？'
    """
    if not re.search(f"[{HAN}]", text):
        return text
    kept: list[str] = []

    def hide(match: re.Match) -> str:
        kept.append(match[0])
        return HOLE

    text = KEEP.sub(hide, text)
    while (wider := PARENS.sub(_widen_pair, text)) != text:
        text = wider
    text = MARK.sub(_widen_mark, text)
    text = re.sub("([，；：？！（）]) +", r"\1", text)
    text = re.sub(" +([，；：？！（）])", r"\1", text)
    pieces = iter(kept)
    return re.sub(HOLE, lambda _: next(pieces), text)


def _widen_pair(match: re.Match) -> str:
    before, after = match.string[: match.start()], match.string[match.end() :]
    inside = re.search(f"[{HAN}]", match[1])
    beside = re.search(f"{NEAR} *$", before) or (
        re.match(f" *{NEAR}", after) and not re.search(r"\w$", before)
    )
    return f"（{match[1]}）" if inside or beside else match[0]


def _widen_mark(match: re.Match) -> str:
    before, after = match.string[: match.start()], match.string[match.end() :]
    left = re.search(rf"(?:{NEAR}|[)）])$", before)
    right = re.match(rf" ?{NEAR}", after)
    line = before[before.rfind("\n") + 1 :] + after.split("\n", 1)[0]
    # "A:2 个": no Chinese beside the mark, but no English space after it either.
    tight = re.match(r"[^\s\d]", after) or match[0] in "?!" or after[:1] in ("", "\n")
    loose = tight and re.search(f"[{HAN}]", line) and not re.match(r"//", after)
    return WIDE[match[0]] if left or right or loose else match[0]


def close_line_ends(text: str) -> str:
    """Return text without line ends beside a Chinese mark or between two characters.

    >>> close_line_ends("一句。\\n又一句 GAE。\\nA\\n句")
    '一句。又一句 GAE。A\\n句'
    """
    wide, marks = rf"[{HAN}{MARKS}“”‘’]", f"[{MARKS}]"
    between = rf"(?<={wide})\n(?={wide})|(?<={marks})\n|\n(?={marks})"
    return re.sub(between, "", text)


def rewrite(path: Path) -> None:
    """Widen the marks of a notebook's Chinese cells or of a page's Chinese blocks."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            if pages.language_of(cell) == "zh":
                wide = full_width(pages.text_of(cell))
                cell["source"] = wide.splitlines(keepends=True)
            for words in cell["metadata"].get("figure", {}).values():
                if isinstance(words, dict) and "zh" in words:
                    words["zh"] = full_width(words["zh"])
        wide = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
    else:
        lang, lines = None, []
        for line in text.split("\n"):
            if line.startswith("+++"):
                lang = "zh" if '"zh"' in line else None
            lines.append(full_width(line) if lang == "zh" else line)
        wide = "\n".join(lines)
    if wide != text:
        path.write_text(wide, encoding="utf-8")
        print(f"typography: rewrote {path}")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name))
