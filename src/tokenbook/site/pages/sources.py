"""The page of sources, written from ``book/sources.yml``.

One table a note: its topic, its place in the book, the differences.
"""

import json
from pathlib import Path

import yaml
from sphinx.application import Sphinx

from tokenbook import ROOT
from tokenbook.languages import SOURCE, pick
from tokenbook.languages.pages import chapter_number, headings, pieces, slug, slugs
from tokenbook.site.generated import Generated, table
from tokenbook.site.pages.errata import exhibits

SOURCES = ROOT / "book" / "sources.yml"
SORTING = SOURCES.parent / "sorting.ipynb"
HEAD = "笔记里讲的/本书在哪里讲/改正 | In the note/Taught in/Corrected"
ROOM = "[{}](errata.md#{})"


def read() -> list[dict]:
    """The notes in order, each with its items."""
    return yaml.safe_load(SOURCES.read_text(encoding="utf-8"))


def sections(notebook: dict, lang: str) -> dict[str, str]:
    """The headings of a chapter in one language by their anchors, the title first."""
    said = {
        code: [
            title
            for tag, text in pieces(notebook)
            for _, title in headings(text)
            if tag == code
        ]
        for code in (SOURCE, lang)
    }
    return dict(zip(slugs(said[SOURCE]), said[lang], strict=True))


def link(place: str, chapters: dict[int, Path], lang: str) -> str:
    """A link to a section: ``03 why-b-s-keeps-the-mean``, or to a chapter: ``15``.

    ``sorting a-wrong-ratio`` is a section of the page on the second task.

    Raises:
        ValueError: a chapter or an anchor that does not exist.
    """
    number, _, anchor = str(place).partition(" ")
    path = SORTING if number == "sorting" else chapters.get(int(number))
    if path is None:
        raise ValueError(f"book/sources.yml: {place}: no chapter {number}")
    found = sections(json.loads(path.read_text(encoding="utf-8")), lang)
    if anchor and anchor not in found:
        raise ValueError(f"book/sources.yml: {place}: no such section in {path.name}")
    title = found[anchor] if anchor else next(iter(found.values()))
    to = f"../{path.parent.name}/{path.name}" + (f"#{anchor}" if anchor else "")
    return f"[{title}]({to})" if path == SORTING else f"[{int(number)} · {title}]({to})"


class SourcesTables(Generated):
    """One section per note."""

    def markdown(self, lang: str) -> str:
        chapters = {chapter_number(path.name): path for path in self.chapters()}
        rooms, text = exhibits(), []
        for note in read():
            rows = []
            for item in note["items"]:
                fixed = [item["fix"][lang]] if "fix" in item else []
                if "room" in item:
                    purpose = rooms[item["room"]]["WORDS"]
                    anchor = slug(purpose[SOURCE]["purpose"])
                    fixed.append(ROOM.format(purpose[lang]["mistake"], anchor))
                where = [link(place, chapters, lang) for place in item["at"]]
                rows.append([item[lang], "<br>".join(where), " ".join(fixed)])
            head = pick(HEAD, lang).split("/")
            text += [f"## {note['note'][lang]}", "", table(head, rows)]
        return "\n".join(text)


def setup(app: Sphinx) -> dict:
    app.add_directive("sources-tables", SourcesTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
