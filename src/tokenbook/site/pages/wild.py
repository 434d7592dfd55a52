"""The page of libraries, written from ``book/wild/``, one file a chapter.

A file holds the Markdown of its chapter's section in each language: names, defaults and
changes of the chapter's methods in libraries. Its anchor is ``wild-`` and the chapter's
two digits, so that links survive a new title. From the same tables the page collects
the settings of each library, whether it heads a column or a row, with the keys of its
logs, from ``src/tokenbook/symptoms/``.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from tokenbook import ROOT
from tokenbook.languages import SOURCE, pick
from tokenbook.languages.data import load
from tokenbook.languages.pages import chapter_number
from tokenbook.site import BEFORE_LINKS
from tokenbook.site.generated import Generated, table
from tokenbook.site.pages.course import plan
from tokenbook.symptoms import log_keys

PAGE = "book/wild"
NUMBERED = re.compile(r"(\d+)-")  # the slug of a section that is a chapter's
WILD = ROOT / "book" / "wild"
TAUGHT = {
    "zh": "讲它的是[第 {} 章](../chapters/{})。",
    "en": "Taught in [chapter {}](../chapters/{}).",
}
LIBRARIES = (  # as the heads of tables begin: those whose keys we have, and others
    *log_keys.LIBRARIES.values(),
    *("RAGEN", "stable-baselines3", "cleanrl"),
)
NOTHING = {"", "—", "none", "none found"}  # in an English table
BY = "一个库，所有的章 | One library, all chapters"
HEAD = "讲什么/这个库/章 | What/In this library/Chapter"
COUNTS = "{}：{} 处写法，{} 个日志键 | {}: {} settings, {} log keys"
KEYS = "日志里的键 | Keys of its log"
KEY_HEAD = "量/键 | Quantity/Key"
CELLS = re.compile(r"(?<!\\)\|")


def told(number: int, lang: str) -> str:
    """Return the section on a chapter, or ""."""
    file = WILD / f"{number:02}.yml"
    return load(file)[lang].strip() if file.exists() else ""


def tables(text: str) -> Iterator[list[list[str]]]:
    """Yield the rows of every table, its head first.

    >>> [*tables("a\\n\\n| | verl |\\n|---|---|\\n| mask | `m` |\\n\\nb")]
    [[['', 'verl'], ['mask', '`m`']]]
    """
    for lines in re.findall(r"(?:^\|.*\n?)+", text, re.M):
        rows = [
            [cell.strip() for cell in CELLS.split(line.strip())[1:-1]]
            for line in lines.splitlines()
        ]
        yield [rows[0], *rows[2:]]


def library(cell: str) -> str | None:
    """Return the library in a head, without the version.

    >>> library("TRL 1.16 (GRPO)"), library("AsyncGRPO of TRL 1.16"), library("the end")
    ('TRL', 'TRL', None)
    """
    words = cell.replace("`", "").replace("NeMo-", "NeMo ")
    named = (n for n in LIBRARIES if re.match(rf"(?:\w+ of )?{n}(?![\w-])", words))
    return next(named, None)


def plain(cell: str) -> bool:
    """Whether a head is only a library and its version."""
    return bool(re.fullmatch(r"[A-Za-z0-9 -]+?(?: [\d.]+)?", cell))


def settings(lang: str) -> dict[str, list[tuple[int, str, str]]]:
    """Return (chapter, setting, value) by library, from the tables of all chapters."""
    found = defaultdict(list)
    for file in sorted(WILD.glob("[0-9]*.yml")):
        number = int(file.stem)
        pairs = zip(
            tables(told(number, SOURCE)), tables(told(number, lang)), strict=True
        )
        for (tops, *english), (head, *rows) in pairs:
            for said, row in zip(english, rows, strict=True):
                cells = zip(tops[1:], said[1:], head[1:], row[1:], strict=True)
                for top, none, what, cell in cells:
                    if none.lower() in NOTHING:
                        continue
                    if name := library(top):
                        asked = row[0] if plain(top) else f"{row[0]} · {what}"
                        found[name].append((number, asked, cell))
                    elif name := library(said[0]):
                        asked = what if plain(said[0]) else f"{row[0]} · {what}"
                        found[name].append((number, asked, cell))
    return found


def keys(name: str, lang: str) -> list[list[str]]:
    """Return (quantity, its keys) of a library's logs today."""
    rows = []
    for quantity, logged in log_keys.by_quantity().items():
        of = [row for row in logged if log_keys.library(row["library"]) == name]
        if of:
            said = escape(log_keys.data("quantities")[quantity][lang])
            listed = " ".join(f"`{row['key']}`" for row in of)
            link = f'<a href="symptoms.html#key-{quantity}">{said}</a>'
            rows.append([link, listed])
    return rows


class WildLibraries(Generated):
    """The settings of each library in all chapters, and the keys of its log."""

    def markdown(self, lang: str) -> str:
        chapters = {chapter_number(path.name): path.name for path in self.chapters()}
        found, text = settings(lang), [f"## {pick(BY, lang)}", ""]
        for name in LIBRARIES:
            logged = keys(name, lang)
            rows = [
                [what, how, f"[{n}](../chapters/{chapters[n]})"]
                for n, what, how in found[name]
                if n in chapters
            ]
            if not rows and not logged:
                continue
            count = sum(cells.count("`") // 2 for _, cells in logged)
            said = escape(pick(COUNTS, lang).format(name, len(rows), count))
            slug = re.sub(r"\W+", "-", name.lower())
            text += [f'<details class="more" id="library-{slug}">']
            text += [f"<summary>{said}</summary>", ""]
            if rows:
                text += [table(pick(HEAD, lang).split("/"), rows), ""]
            if logged:
                text += [f"**{pick(KEYS, lang)}**", ""]
                text += [table(pick(KEY_HEAD, lang).split("/"), logged), ""]
            text += ["</details>", ""]
        return "\n".join(text)

    def made(self) -> list[nodes.Node]:
        """Return the list; it depends on every chapter's file and on the keys."""
        for file in [*WILD.glob("*.yml"), *log_keys.DATA.glob("*.yml")]:
            self.depends_on(file)
        return super().made()


class WildChapters(Generated):
    """A section per chapter."""

    def markdown(self, lang: str) -> str:
        names = {row["number"]: row[lang] for row in plan(self.root)}
        text = []
        for path in self.chapters():
            number = chapter_number(path.name)
            text += [f"## {number} {names[number]}", ""]
            text += [TAUGHT[lang].format(number, path.name), "", told(number, lang), ""]
        return "\n".join(text)

    def made(self) -> list[nodes.Node]:
        """Return the sections; a file that is written later is one of theirs, too."""
        for path in self.chapters():
            self.depends_on(WILD / f"{chapter_number(path.name):02}.yml")
        return super().made()


class WildAnchors(SphinxTransform):
    """Give each section the anchor that its chapter links to."""

    default_priority = BEFORE_LINKS  # the headings have those of their English partners

    def apply(self) -> None:
        if self.env.docname != PAGE:
            return
        found = self.document.myst_slugs
        for section in self.document.findall(nodes.section):
            old = section["ids"][0]
            if number := NUMBERED.match(old):
                anchor = f"wild-{int(number[1]):02}"
                line, _, title = found.pop(old)
                found[anchor] = line, anchor, title
                section["ids"][0] = anchor
                self.document.ids[anchor] = section
                for name, target in self.document.nameids.items():
                    if target == old:
                        self.document.nameids[name] = anchor


def setup(app: Sphinx) -> dict:
    app.add_directive("wild-libraries", WildLibraries)
    app.add_directive("wild-chapters", WildChapters)
    app.add_transform(WildAnchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
