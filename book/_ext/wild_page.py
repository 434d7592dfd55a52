"""The page of libraries, written from ``book/wild/``, one file a chapter.

A file holds the Markdown of its chapter's section in each language: how libraries name,
default and bend what the chapter derives. Its anchor is ``wild-`` and the chapter's two
digits, so that chapters link to it whatever they are called.
"""

import re
from pathlib import Path

from course import plan
from docutils import nodes
from generated import Generated
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from coursebook.data import load
from coursebook.pages import chapter_number

PAGE = "book/wild"
NUMBERED = re.compile(r"(\d+)-")  # the slug of a section that is a chapter's
WILD = Path(__file__).parents[1] / "wild"
TAUGHT = {
    "zh": "讲它的是[第 {} 章](../chapters/{})。",
    "en": "Taught in [chapter {}](../chapters/{}).",
}


def told(number: int, lang: str) -> str:
    """Return what is told of a chapter, or nothing."""
    file = WILD / f"{number:02}.yml"
    return load(file)[lang].strip() if file.exists() else ""


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

    default_priority = 871  # the headings have those of their English partners

    def apply(self) -> None:
        if self.env.docname != PAGE:
            return
        found = self.document.myst_slugs
        for section in self.document.findall(nodes.section):
            old = section["ids"][0]
            if number := NUMBERED.match(old):
                anchor = f"wild-{int(number[1]):02}"
                found[anchor] = found.pop(old)
                section["ids"][0] = anchor
                self.document.ids[anchor] = section
                for name, target in self.document.nameids.items():
                    if target == old:
                        self.document.nameids[name] = anchor


def setup(app: Sphinx) -> dict:
    app.add_directive("wild-chapters", WildChapters)
    app.add_transform(WildAnchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
