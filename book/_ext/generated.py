"""A directive that writes Markdown, and the few tools its kinds share.

A generated page is a short ``.md`` page that ends in one such directive; the facts
stay in the one place where they are kept, and nothing generated is committed.
"""

import inspect
from pathlib import Path

import editions
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from coursebook.languages import SOURCE
from coursebook.pages import headings


class Generated(SphinxDirective):
    """Parse what `markdown` returns as part of the page, in the edition's language."""

    def markdown(self, lang: str) -> str:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        self.depends_on(inspect.getfile(type(self)))
        english = headings(self.markdown(SOURCE))
        before = sum("slug" in s for s in self.state.document.findall(nodes.section))
        titles = editions.titles[self.env.docname]
        titles[before:before] = [title for _, title in english]
        place, line = self.get_source_info()
        lines = self.markdown(self.config.edition).splitlines()
        content = StringList(lines, items=[(place, line)] * len(lines))
        box = nodes.container()
        self.state.nested_parse(content, 0, box, match_titles=1)
        return box.children

    @property
    def root(self) -> Path:
        return Path(self.env.srcdir)

    def chapters(self) -> list[Path]:
        """Return the chapters of the table of contents, in reading order."""
        notebooks = sorted((self.root / "chapters").glob("[0-9]*.ipynb"))
        found = self.env.found_docs
        return [path for path in notebooks if f"chapters/{path.stem}" in found]

    def depends_on(self, path: Path | str) -> None:
        """Rebuild the page when `path` changes."""
        self.env.note_dependency(str(path))


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
