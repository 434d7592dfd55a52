"""Reading minutes of a chapter, computed from its notebook.

A section counts the open parts of its page: words, formulas, lines of code and of
outputs, figures, predictions. Folded parts (setup, checks, hidden code, hints, answers,
dropdowns) are not counted. A section whose heading is tagged ``side``, and those below
it, are a side road; the rest is the main road. A number is the mean of all editions, so
that all print the same.

    python -m tokenbook.languages.minutes [NOTEBOOK ...]   minutes of sections
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from statistics import mean

from tokenbook import ROOT
from tokenbook.languages import SOURCE, pages

CHAPTERS = ROOT / "chapters"
SECONDS = {  # of the parts of an edition
    "en": {"word": 60 / 200, "row": 25},
    "zh": {"han": 60 / 350, "latin": 90 / 350, "formula": 60},
}
SHARED = {
    "inline": 2,
    "code": 3,
    "output": 1.5,
    "explorer": 75,
    "figure": 30,
    "prediction": 40,
}
READERS = 1.2  # factor on it, from new readers of a whole chapter
EXERCISE = 10  # minutes
STEP = 5  # minutes: to it a chapter's number is rounded
DEEP = 9  # below every level of a heading
NOT_READ = ("Exercises", "Interview questions")
CLOSED = {"remove-cell", "setup", "checked", "hide-cell", "solution"}
NO_CODE = {"picture", "remove-input", "hide-input"}
NO_OUTPUT = {"remove-output", "hide-output"}

HAN = re.compile(r"[\u3400-\u9fff]")
LATIN = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
FENCE = re.compile(r"^(```+|~~~+|:::+)(.*?)\n(.*?)^\1[ \t]*$", re.M | re.S)
DETAILS = re.compile(r"<details[^>]*>\s*<summary>(.*?)</summary>.*?</details>", re.S)
DISPLAY = re.compile(r"\$\$(.+?)\$\$(?:[ \t]*\([\w-]+\))?", re.S)
INLINE = re.compile(r"(?<![\\$])\$([^$\n]+?)(?<!\\)\$")
MARKUP = (  # Markdown that is not read as words
    (re.compile(r"\{[\w:-]+\}`(?:([^`<]*)<[^`]*>|([^`]+))`"), r"\1\2"),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"<[^>]+>"), ""),
    (re.compile(r"^[ \t|:-]*\|[ \t|:-]*$|^\([\w-]+\)=$", re.M), ""),
    (re.compile(r"[*`|#]|^[ \t]*(?:[-+]|\d+\.)[ \t]", re.M), " "),
)
DRAWN = (
    ("explorer", re.compile(r"^\s*explore\(", re.M)),
    ("figure", re.compile(r"\bshow_strips?\(")),
)
PICTURES = {"image/svg+xml", "image/png"}


@dataclass
class Section:
    """A section without those below it."""

    level: int
    anchor: str
    title: str  # in English
    side: bool = False  # it is a side road, or below one
    heads: bool = False  # its own heading is tagged so
    read: bool = True  # no exercise, no question of the bank
    counts: dict[str, Counter] = field(default_factory=dict)  # by language

    @property
    def minutes(self) -> float:
        """Minutes of a reader."""
        return READERS * mean(seconds(self.counts[lang], lang) for lang in SECONDS) / 60


def seconds(counts: Counter, lang: str) -> float:
    """Return the seconds of an edition's part of a section, by the formula."""
    return sum(s * counts[what] for what, s in (SHARED | SECONDS[lang]).items())


def count_words(counts: Counter, text: str) -> None:
    """Count the words of a line of prose and the formulas in it."""
    counts["inline"] += len(INLINE.findall(text))
    text = INLINE.sub(" ", text)
    for markup, read in MARKUP:
        text = markup.sub(read, text)
    counts["han"] += len(HAN.findall(text))
    counts["latin"] += len(LATIN.findall(HAN.sub(" ", text)))
    counts["word"] += sum(len(w) > 1 or w.isalnum() for w in text.split())


def count_prose(counts: Counter, text: str) -> None:
    """Count Markdown: only the title of a fold, the content of a directive."""
    for fold in DETAILS.findall(text):
        count_words(counts, fold)
    text = DETAILS.sub("", text)
    for _, head, body in FENCE.findall(text):
        name, _, title = head.strip().partition("}")
        if name == "{dropdown":
            count_words(counts, title)
        elif name.startswith("{"):
            count_prose(counts, re.sub(r"^:.*$", "", body, flags=re.M))
        else:
            counts["code"] += lines(body)
    text = FENCE.sub("", text)
    for tex in DISPLAY.findall(text):
        counts["formula"] += 1
        counts["row"] += 1 + tex.count("\\\\")
    count_words(counts, DISPLAY.sub("\n", text))


def lines(text: str) -> int:
    """Return the number of lines that are not empty."""
    return sum(bool(line.strip()) for line in text.splitlines())


def count_code(counts: Counter, cell: dict, lang: str) -> None:
    """Count the open parts of a code cell: code, printed lines, figures."""
    tags, source = {*pages.tags(cell)}, pages.text_of(cell)
    count_words(counts, pages.summary(cell, lang) if "checked" in tags else "")
    if tags & CLOSED or pages.is_solution(cell):
        return
    if not tags & NO_CODE:
        counts["code"] += lines(source)
    if tags & NO_OUTPUT:
        return
    drawn = next((what for what, call in DRAWN if call.search(source)), "")
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        printed = output.get("text", "" if drawn else data.get("text/plain", ""))
        if not drawn and PICTURES & {*data}:
            drawn = "figure"
            caption = pages.as_dict(cell["metadata"].get("figure")).get("caption", {})
            count_words(counts, caption.get(lang, ""))
        else:
            counts["output"] += lines("".join(printed))
    counts[drawn] += 1


def sections(notebook: dict) -> list[Section]:
    """Return the sections of a chapter in order, the title's first."""
    found, at = [new()], dict.fromkeys(SECONDS, 0)  # each language fills its sections
    for cell in notebook["cells"]:
        shared, tags = pages.language_of(cell), pages.tags(cell)
        for lang in SECONDS if shared is None else {shared} & {*SECONDS}:
            if cell["cell_type"] == "code":
                count_code(found[at[lang]].counts[lang], cell, lang)
                continue
            for level, title, text in pages.parted(pages.text_of(cell)):
                at[lang] += level > 0
                if at[lang] == len(found):
                    found.append(new())
                section = found[at[lang]]
                if level and lang == SOURCE:
                    section.level, section.title = level, title
                    section.heads = "side" in tags
                if "predict" in tags:
                    section.counts[lang]["prediction"] += 1
                else:
                    count_prose(section.counts[lang], text)
    anchors, folded, unread = pages.slugs([s.title for s in found[1:]]), DEEP, False
    for section, anchor in zip(found[1:], anchors, strict=True):
        if section.level <= folded:
            folded = section.level if section.heads else DEEP
        if section.level <= 2:
            unread = section.title in NOT_READ
        section.anchor = anchor
        section.side, section.read = folded < DEEP, not unread
    return found[1:]


def new() -> Section:
    """Return a section of which nothing is known yet."""
    return Section(DEEP, "", "", counts={lang: Counter() for lang in SECONDS})


def under(found: list[Section], section: Section) -> list[Section]:
    """Return a section and those below it."""
    at = found.index(section)
    rest = takewhile(lambda below: below.level > section.level, found[at + 1 :])
    return [section, *rest]


def exercises(found: list[Section]) -> int:
    """Return the number of exercises: the headings of their section."""
    ends_in = (s for s in found if s.level == 2 and s.title == "Exercises")
    return sum(s.level == 3 for one in ends_in for s in under(found, one))


def rounded(found: Iterable[Section]) -> int:
    """Return the printed minutes of some sections."""
    return max(STEP, STEP * round(sum(s.minutes for s in found if s.read) / STEP))


def road(found: list[Section]) -> int:
    """Return the minutes of a chapter's main road."""
    return rounded(s for s in found if not s.side)


def main(names: list[str]) -> None:
    """Print the minutes of chapters and of their sections; + is a side road."""
    for path in [*map(Path, names)] or sorted(CHAPTERS.glob("*.ipynb")):
        found = sections(pages.read_notebook(path))
        print(f"{path.stem}: main road {road(found)}, everything {rounded(found)}")
        for section in found if names else ():
            sign = "+" if section.side else " "
            inside = "  " * section.level + section.title
            print(f"{section.minutes:6.1f} {sign}{inside}")


if __name__ == "__main__":
    main(sys.argv[1:])
