"""Build one edition of the book: keep one language, share every anchor.

`edition` is the language that is kept; the other one is removed before parsing, so each
edition is a complete book with its own titles, search index and downloads. Headings get
the anchor of their English partner in both, thus a link and the language switch work
across editions. `edition_links` maps each edition to the path of its root, seen from
this one's root; empty (the plain ``jupyter-book build``) means that there is no other
edition to link to.
"""

import json
from functools import partial

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from tokenbook.languages import LANGUAGES, pages, pick
from tokenbook.languages.sources import (  # from now on it notes what is read
    forget,
    relisted,
)
from tokenbook.site import BEFORE_LINKS, LAST

log = logging.getLogger(__name__)

titles: dict[str, list[str]] = {}  # page -> its English headings, while it is read


def localise_config(app: Sphinx, config) -> None:
    """Choose the edition's words in the configuration and the table of contents."""
    lang = config.edition
    config.project = pick(config.project, lang)
    config.html_title = pick(config.html_title, lang)
    config.author = pick(config.author, lang)
    for page in config.external_site_map.values():
        page.title = page.title and pick(page.title, lang)
        for tree in page.subtrees:
            tree.caption = tree.caption and pick(tree.caption, lang)


def keep_language(app: Sphinx, page: str, source: list[str]) -> None:
    """Drop the other language from a page's source, before it is parsed."""
    lang = app.config.edition
    if source[0].lstrip().startswith("{"):
        notebook = json.loads(source[0])
        titles[page] = pages.titles(notebook)
        notebook = pages.one_language(notebook, lang, keep_places=True)
        source[0] = json.dumps(notebook, ensure_ascii=False)
    else:
        titles[page] = pages.titles(source[0])
        source[0] = pages.one_language_page(source[0], lang)


class EnglishAnchors(SphinxTransform):
    """Give each heading the anchor of its English partner."""

    default_priority = BEFORE_LINKS  # just before MyST resolves links to anchors

    def apply(self) -> None:
        page = self.env.docname
        sections = [s for s in self.document.findall(nodes.section) if "slug" in s]
        anchors = pages.slugs(titles.pop(page, []))
        if len(anchors) != len(sections):
            log.warning(
                "this edition has %d headings, the English one %d: give every heading "
                "a partner of the same level",
                len(sections),
                len(anchors),
                location=page,
            )
            return
        slugs = {}
        for section, anchor in zip(sections, anchors, strict=True):
            self.rename(section, anchor)
            slugs[anchor] = (
                section.line,
                anchor,
                section.next_node(nodes.title).astext(),
            )
        if sections and (number := pages.chapter_number(page)) is not None:
            title = sections[0].next_node(nodes.title)
            title.insert(0, nodes.Text(f"{number} "))
        self.document.myst_slugs = slugs
        self.env.metadata[page]["myst_slugs"] = slugs

    def rename(self, section: nodes.section, anchor: str) -> None:
        """Replace the section's automatic id, keep explicit labels."""
        document = self.document
        explicit = {
            document.nameids.get(name)
            for name, is_explicit in document.nametypes.items()
            if is_explicit
        }
        automatic = [i for i in section["ids"] if i not in explicit]
        section["ids"] = [anchor] + [i for i in section["ids"] if i in explicit]
        document.ids[anchor] = section
        for name, target in document.nameids.items():
            if target in automatic:
                document.nameids[name] = anchor


def number_by_chapter(app: Sphinx, env) -> list[str]:
    """Number equations and figures ``chapter.n``, the chapter being the file's."""
    for page, kinds in env.toc_fignumbers.items():
        chapter = pages.chapter_number(page)
        for numbers in kinds.values() if chapter is not None else ():
            for n, key in enumerate(numbers, 1):
                numbers[key] = (chapter, n)
    return []


def add_links(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Give the page template the same page in the other editions."""
    root = context.get("content_root", "")
    context["edition"] = app.config.edition
    context["pick"] = partial(pick, lang=app.config.edition)
    context["edition_links"] = [
        {
            "lang": lang,
            "name": LANGUAGES[lang].name,
            "href": f"{root}{path}{page}.html",
            "here": lang == app.config.edition,
        }
        for lang, path in app.config.edition_links.items()
    ]


def setup(app: Sphinx) -> dict:
    app.add_config_value("edition", "zh", "env")
    app.add_config_value("edition_links", {}, "html")
    for jupyter_book_only in ("comments_config", "use_jupyterbook_latex"):
        app.add_config_value(jupyter_book_only, None, "")
    app.connect(
        "config-inited", localise_config, priority=LAST
    )  # after the toc is read
    app.connect("source-read", keep_language)
    app.connect("env-get-outdated", relisted)
    app.connect("env-purge-doc", forget)
    app.add_transform(EnglishAnchors)
    app.connect("env-get-updated", number_by_chapter, priority=LAST)
    app.connect("html-page-context", add_links)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
