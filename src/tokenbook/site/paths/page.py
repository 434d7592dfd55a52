"""Paths through the book for readers with little time, from ``book/paths.yml``.

A step is a chapter's main road, some of its sections, the three lines of several
chapters, an exercise, or questions of the bank; ``later`` marks steps to leave out
first. Minutes are summed from the chapters. On the start page the paths are lists,
which need no script. ``paths.js`` follows one: it lights the contents and leads from
each step to the next. Its data on every page are a separate file, loaded only by a
reader who follows a path or builds one.
"""

import functools
import hashlib
import json
from dataclasses import dataclass
from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from tokenbook import ROOT
from tokenbook.languages import SOURCE, minutes, pages, pick
from tokenbook.site import LAST
from tokenbook.site.generated import Generated
from tokenbook.site.interview.page import LEVELS, questions
from tokenbook.site.pages.course import COMMA, plan
from tokenbook.site.pages.sources import sections as titles

log = logging.getLogger(__name__)
BOOK = ROOT / "book"
PATHS = BOOK / "paths.yml"
WILD = "in-the-wild"  # a line with a link
LINES = "three-lines-to-remember"
QUESTION = 1  # minutes, answered aloud
KEY = 3  # letters that name a section in a link
NEAR = 45  # minutes between the short and the full path: below, one number is shown
SHORT = 115  # minutes; more are shown in hours
WORDS = {
    "ask": "你有多少时间？ | How much time do you have?",
    "road": "{}：必读 | {}: main road",
    "lines": "三行总结：{} | Three lines to remember: {}",
    "chapters": "第 {} 章 | chapters {}",
    "bank": "题库：{} 的 {} 道题，{} | Bank: {} questions of {}, {}",
    "range": "{}到 {} | {} to {}",
    "minutes": "{} 分钟 | {} min",
    "hours": "{} 小时 | {} hours",
    "later": "灰色的有时间再读。 | What is grey can wait.",
    "follow": "走这条路线 | Follow this path",
    "own": "自己排一条 | A path of your own",
    "keep": "勾选章节，存成一个链接。 | Tick sections and keep them as a link.",
    "tick": "勾选要读的章和节 | Tick the chapters and sections to read",
    "sections": "{} 节 | {} sections",
    "link": "这条路线的链接 | Link to this path",
    "sum": "共 {} | {} in all",
    "next": "下一站： | Next: ",
    "last": "这条路线走完了。 | That was the whole path.",
    "leave": "离开这条路线 | Leave this path",
    "back": "回到路线： | Back to the path: ",
    "step": "第 {} 站，共 {} 站 | step {} of {}",
}


@dataclass(frozen=True)
class Step:
    """A place to read, with its minutes."""

    page: str
    anchor: str
    title: str
    minutes: float
    number: int | None = None  # of the chapter
    later: bool = False


@functools.cache
def stored(file: Path, stamp: float) -> tuple[dict, list[minutes.Section]]:
    """Return a chapter and its sections, cached by the file's state."""
    notebook = pages.read_notebook(file)
    return notebook, minutes.sections(notebook)


def chapter(file: Path) -> tuple[dict, list[minutes.Section]]:
    return stored(file, file.stat().st_mtime)


def road(file: Path, anchor: str) -> float:
    """Return the minutes of a section on the main road, without its side roads.

    Raises:
        ValueError: an anchor that is not on the main road.
    """
    _, found = chapter(file)
    for section in found:
        if section.anchor == anchor and not section.side:
            parts = minutes.under(found, section)
            return sum(part.minutes for part in parts if not part.side)
    raise ValueError(f"no section {anchor!r} on the main road of {file.name}")


def exercise(notebook: dict, number: int) -> tuple[str, str]:
    """Return anchor and English title of an exercise, by its place in the chapter."""
    found, inside = [], False
    heads = [
        head
        for lang, text in pages.pieces(notebook)
        if lang in (None, SOURCE)
        for head in pages.headings(text)
    ]
    anchors = pages.slugs([title for _, title in heads])
    for (level, title), anchor in zip(heads, anchors, strict=True):
        if level == 2:
            inside = title == "Exercises"
        if inside and level == 3:
            found.append((anchor, title))
    return found[number - 1]


def spans(numbers: list[int], comma: str = ", ") -> str:
    """Return numbers as text, consecutive ones as a span.

    >>> spans([0, 1, 2, 5, 8, 9])
    '0–2, 5, 8, 9'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [[f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run) for run in runs]
    return comma.join(text for part in parts for text in part)


class Book:
    """The chapters as the paths need them, in one language."""

    def __init__(self, files: list[Path], names: dict[int, str], lang: str):
        self.files = {pages.chapter_number(file.name): file for file in files}
        self.names, self.lang = names, lang

    def word(self, name: str, *values) -> str:
        return pick(WORDS[name], self.lang).format(*values)

    def notebook(self, number: int) -> dict:
        return chapter(self.files[number])[0]

    def titles(self, number: int) -> dict[str, str]:
        return titles(self.notebook(number), self.lang)

    def page(self, number: int) -> str:
        return f"chapters/{self.files[number].stem}"

    def steps(self, row: dict) -> list[Step]:
        """Return the steps of a row of ``paths.yml``.

        Raises:
            ValueError: a section that is not on the road.
        """
        later = row.get("later", False)
        named = row.get("chapters") or row.get("lines") or []
        there = [number for number in named if number in self.files]
        if not there and row.get("chapter", row.get("exercise")) not in self.files:
            return []  # a book of fewer chapters
        if "bank" in row:
            return [self.bank(row["bank"], there, later)]
        if "exercise" in row:
            number = row["exercise"]
            anchor, _ = exercise(self.notebook(number), row["number"])
            title = self.titles(number)[anchor]
            took = minutes.EXERCISE
            return [Step(self.page(number), anchor, title, took, number, later)]
        if "lines" in row:
            return [self.section(number, LINES, later) for number in there]
        number = row["chapter"]
        if "sections" in row:
            return [self.section(number, anchor, later) for anchor in row["sections"]]
        title = self.word("road", self.names[number])
        took = minutes.road(chapter(self.files[number])[1])
        return [Step(self.page(number), "", title, took, number, later)]

    def section(self, number: int, anchor: str, later: bool) -> Step:
        took = road(self.files[number], anchor)
        title = self.titles(number)[anchor]
        return Step(self.page(number), anchor, title, took, number, later)

    def bank(self, level: str, chapters: list[int], later: bool) -> Step:
        """Return a step in the bank: the questions of a level from some chapters."""
        asked = [q for n in chapters for q in questions(self.notebook(n), self.lang)]
        count = sum(of == level for of, *_ in asked)
        said = self.word("chapters", spans(chapters, COMMA[self.lang]))
        values = (level, count) if self.lang == "zh" else (count, level)
        title = self.word("bank", *values, said)
        anchor = pages.slug(pick(LEVELS[level], SOURCE))
        return Step("book/interview", anchor, title, count * QUESTION, None, later)

    def time(self, total: float) -> str:
        """Return minutes as text, rounded to 5 or to half an hour."""
        if total < SHORT:
            return self.word("minutes", 5 * round(total / 5))
        return self.word("hours", f"{round(total / 30) / 2:g}")

    def span(self, steps: list[Step]) -> str:
        """Return the time of a path, without and with its optional steps."""
        everything = sum(step.minutes for step in steps)
        first = sum(step.minutes for step in steps if not step.later)
        if everything - first < NEAR:
            return self.time(first)
        return self.word("range", self.time(first), self.time(everything))


def of(app_or_directive, lang: str) -> Book:
    """Return the book of a directive or of the application."""
    env = getattr(app_or_directive, "env", app_or_directive)
    root = Path(env.srcdir)
    files = sorted((root / "chapters").glob("[0-9]*.ipynb"))
    files = [file for file in files if f"chapters/{file.stem}" in env.found_docs]
    return Book(files, {row["number"]: row[lang] for row in plan(root)}, lang)


def rows() -> list[dict]:
    """Return the paths, each with its steps as in the file."""
    return yaml.safe_load(PATHS.read_text(encoding="utf-8"))


def whole(book: Book, path: dict) -> list[tuple[dict, list[Step]]]:
    """Return each row of a path with its steps; a row without a target is reported."""
    found = []
    for row in path["steps"]:
        try:
            found.append((row, [] if "day" in row else book.steps(row)))
        except (IndexError, ValueError) as error:
            log.warning("book/paths.yml, %s, %s: %s", path["id"], row, error)
    return found


def shown(title: str) -> str:
    """Return a title as HTML, its short formulas as text.

    >>> shown("Why $\\\\gamma$ is usually 1")
    'Why γ is usually 1'
    """
    for tex, letter in (("\\gamma", "γ"), ("\\lambda", "λ"), ("$", ""), ("`", "")):
        title = title.replace(tex, letter)
    return escape(title)


class Paths(Generated):
    """The choice of available time, and a list for each answer."""

    def made(self) -> list[nodes.Node]:
        self.depends_on(PATHS)
        lang = self.config.edition
        book = of(self, lang)
        for file in book.files.values():
            self.depends_on(file)
        cards = "".join(self.card(book, path) for path in rows())
        words = {
            name: pick(text, lang)
            for name, text in WORDS.items()
            if name in ("tick", "sections", "link", "sum", "follow")
        }
        data = "".join(f' data-{name}="{escape(text)}"' for name, text in words.items())
        ask = book.word("ask")
        own = f"<b>{book.word('own')}</b> <small>{book.word('keep')}</small>"
        html = (
            f'<nav class="paths" id="how-much-time" aria-label="{ask}">'
            f'<p class="paths-title">{ask}</p><div class="paths-row">{cards}'
            f'<details name="paths" class="path-own" hidden{data}><summary>'
            f"{own}</summary></details></div></nav>"
        )
        return [nodes.raw("", html, format="html")]

    def card(self, book: Book, path: dict) -> str:
        """Return a path as a folded list of links with their minutes."""
        found = whole(book, path)
        steps = [step for _, some in found for step in some]
        items = "".join(self.item(book, row, some) for row, some in found)
        later = any(step.later for step in steps)
        note = f"<p>{book.word('later')}</p>" if later else ""
        return (
            f'<details name="paths" id="path-{path["id"]}"><summary>'
            f"<b>{path['name'][book.lang]}</b> <small><span>{book.span(steps)}</span> "
            f"{escape(path['end'][book.lang])}</small></summary>{note}<ol>{items}</ol>"
            f'<button type="button" data-path="{path["id"]}" hidden>'
            f"{book.word('follow')}</button></details>"
        )

    def item(self, book: Book, row: dict, steps: list[Step]) -> str:
        """Return the line or lines of a row."""
        if "day" in row:
            return f'<li class="day">{row["day"][book.lang]}</li>'
        later = ' class="later"' if row.get("later") else ""
        if "lines" in row:
            links = " ".join(self.link(step, str(step.number)) for step in steps)
            took = self.took(book, sum(step.minutes for step in steps))
            said = book.word("lines", links)
            return f"<li{later}><b></b><span>{said}</span><i>{took}</i></li>"
        return "".join(
            f"<li{later}><b>{'' if step.number is None else step.number}</b>"
            f"<span>{self.link(step, shown(step.title))}</span>"
            f"<i>{self.took(book, step.minutes)}</i></li>"
            for step in steps
        )

    def took(self, book: Book, total: float) -> str:
        return book.word("minutes", rounded(total))

    def link(self, step: Step, said: str) -> str:
        anchor = f"#{step.anchor}" if step.anchor else ""
        return f'<a href="../{step.page}.html{anchor}">{said}</a>'


def rounded(took: float) -> int:
    return max(1, round(took))


def key(anchor: str) -> str:
    """Return the few letters that name a section of a chapter in a link."""
    number = int(hashlib.sha256(anchor.encode()).hexdigest(), 16)
    letters = "0123456789abcdefghijklmnopqrstuvwxyz"
    return "".join(letters[number // 36**k % 36] for k in range(KEY))


def data(book: Book) -> dict:
    """Return the data of the script: the paths, and every section on the road."""
    paths = {}
    for path in rows():
        steps = [step for _, some in whole(book, path) for step in some]
        paths[path["id"]] = {
            "name": path["name"][book.lang],
            "steps": [
                [step.page, step.anchor, shown(step.title), rounded(step.minutes)]
                for step in steps
            ],
        }
    chapters = []
    for number, file in book.files.items():
        said = book.titles(number)
        listed = [
            [
                key(p.anchor),
                p.anchor,
                shown(said[p.anchor]),
                rounded(road(file, p.anchor)),
            ]
            for p in chapter(file)[1]
            if p.level == 2 and p.read and not p.side and p.anchor != WILD
        ]
        name, took = book.names[number], minutes.road(chapter(file)[1])
        title = shown(book.word("road", name))
        chapters.append([number, book.page(number), name, title, took, listed])
    words = {name: pick(text, book.lang) for name, text in WORDS.items()}
    return {"words": words, "paths": paths, "chapters": chapters}


def write(app: Sphinx, error: Exception | None) -> None:
    """Write ``_static/path-data.js``."""
    here = Path(app.srcdir, "book", PATHS.name).exists()
    if error or app.builder.format != "html" or not here:
        return
    said = json.dumps(data(of(app, app.config.edition)), ensure_ascii=False)
    file = Path(app.outdir, "_static", "path-data.js")
    file.write_text(f"window.pathData = {said};\n", "utf-8")


def setup(app: Sphinx) -> dict:
    app.add_directive("paths", Paths)
    app.connect("build-finished", write, priority=LAST)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
