"""A directive that writes Markdown, and shared tools of its subclasses.

A generated page is a short ``.md`` page that ends in one such directive; the facts
stay in the one place where they are kept, and nothing generated is committed.
"""

from html import escape
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from tokenbook.languages import SOURCE, pick
from tokenbook.languages.pages import headings, slug
from tokenbook.languages.sources import depend, noting, sources
from tokenbook.site import editions

ON_PAGE = "本页内容 | On this page"


class Generated(SphinxDirective):
    """Parse the result of `markdown` as part of the page, in the edition's language."""

    def markdown(self, lang: str) -> str:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        maker = f"{type(self).__module__}.{type(self).__name__}"
        with noting(maker):
            try:
                made = self.made()
            except ValueError as error:  # in the data: reported with its place
                raise self.error(str(error)) from None
        depend(self.env, sources(type(self).__module__, maker))
        return made

    def made(self) -> list[nodes.Node]:
        """Return the nodes; the page depends on the files read for them."""
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
        """Rebuild the page when `path` changes, even if it is not read here."""
        self.env.note_dependency(str(path))


def jumps(titles: list[dict], lang: str) -> str:
    """Return links to the sections of a page that has no list of them beside it."""
    links = "".join(
        f'<a href="#{slug(title[SOURCE])}">{escape(title[lang])}</a>'
        for title in titles
    )
    return f'<nav class="jumps" aria-label="{pick(ON_PAGE, lang)}">{links}</nav>'


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
