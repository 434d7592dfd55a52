"""The main road and the side roads of a chapter, on its page.

What a prose cell tagged ``side`` begins is folded in place: its heading and its line
stay, with the minutes that it takes. The fold is made when the page is written; by then
contents, numbers and the index of the search have been collected and know nothing of
it. `book.js` opens what a link leads into and keeps what the reader opened. Equations
and figures are numbered through the folds, as chapter 1 says.
"""

import json
import re
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.math import get_node_equation_number

from tokenbook.languages import marks, minutes, pages, pick
from tokenbook.site import LAST

log = logging.getLogger(__name__)
TWO_LINES = 56  # letters of the contents
PART = re.compile(r"(?P<name>[^:;]+)[:;] (?P<rest>.+)")
WORDS = {
    "side": "选读 | side road",
    "minutes": "{} 分钟 | {} min",
}


class side_line(nodes.General, nodes.Element):
    """What is found in a side, in one paragraph."""


class side_fold(nodes.General, nodes.Element):
    """A side: its line first, then what is folded."""


class SideLine(SphinxDirective):
    """The line of a side."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        box = side_line()
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


def mark_lines(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the lines of cells tagged ``side`` into directives, before the parsing."""
    if not source[0].lstrip().startswith("{"):
        return
    notebook = json.loads(source[0])
    for n, cell in enumerate(notebook["cells"], 1):
        text = pages.text_of(cell).strip()
        if "side" not in pages.tags(cell) or not text:
            continue
        if what := marks.side_problem(text):
            place = f"cell {n} ({cell.get('id', 'no id')})"
            log.warning("%s is tagged side and %s", place, what, location=page)
        else:
            heading, line = text.split("\n", 1)
            cell["source"] = f"{heading}\n\n:::{{side-line}}\n{line.strip()}\n:::"
    source[0] = json.dumps(notebook, ensure_ascii=False)


def is_side(node: nodes.Node) -> bool:
    """Whether a node is a side's section or stands inside one."""
    while node is not None and not any(
        isinstance(child, side_line | side_fold) for child in node.children
    ):
        node = node.parent
    return node is not None


def lasts(app: Sphinx, page: str) -> dict[str, minutes.Section]:
    """Return the sections of a chapter by their anchors."""
    if pages.chapter_number(page) is None:
        return {}
    notebook = pages.read_notebook(Path(app.env.doc2path(page)))
    return {section.anchor: section for section in minutes.sections(notebook)}


def whole(found: list[minutes.Section]) -> int:
    """Return the minutes of some sections, one at least."""
    return max(1, round(sum(section.minutes for section in found)))


def fold(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Fold the sides of a page."""
    known = lasts(app, page)
    for line in [*doctree.findall(side_line)]:
        section = line.parent
        if (one := known.get(section["ids"][0])) is None:
            line.replace_self(line.children)  # a heading lacks its partner, as is said
            continue
        below = minutes.under([*known.values()], one)
        section["classes"].append("side")
        line["minutes"] = whole(below)
        line["words"] = [
            pick(WORDS[name], app.config.edition) for name in ("side", "minutes")
        ]
        at = section.index(line)
        box = side_fold("", *section.children[at:])
        line["equations"] = [x for x in box.findall(nodes.math_block) if x["number"]]
        del section.children[at:]
        section += box


def visit_fold(writer, node: side_fold) -> None:
    writer.body.append('<details class="side-fold">')


def depart_fold(writer, node: side_fold) -> None:
    writer.body.append("</section></details>\n")


def visit_line(writer, node: side_line) -> None:
    word, lasting = node["words"]
    parts = [word, lasting.format(node["minutes"])]
    if numbers := [get_node_equation_number(writer, x) for x in node["equations"]]:
        ends = dict.fromkeys((numbers[0], numbers[-1]))
        parts.append("–".join(f"({end})" for end in ends))  # the road skips them
    writer.body.append(f'<summary><span class="side-word">{" · ".join(parts)}</span>')


def depart_line(writer, node: side_line) -> None:
    writer.body.append('</summary><section class="side-body">\n')


def short(title: str) -> str:
    """Return a title as the contents have room for it: two lines.

    >>> short("Appendix: raise the precision first, then take the log-softmax")
    'raise the precision first, then take the log-softmax'
    >>> short("Decoupled PPO: correcting and limiting with two old policies")
    'Decoupled PPO'
    """
    if len(title) <= TWO_LINES or not (cut := PART.match(title)):
        return title
    return cut["rest"] if cut["name"] == "Appendix" else cut["name"]


def mark_contents(
    app: Sphinx, page: str, template: str, context: dict, doctree
) -> None:
    """Leave the sections of a page in its contents, of one level: nothing opens there.

    In a chapter sides are marked, and the minutes of the others.
    """
    known, made = lasts(app, page), context.get("generate_toc_html")
    if not made:
        return
    lasting = pick(WORDS["minutes"], app.config.edition)

    def marked(kind: str = "html"):
        listed = made(kind)
        if not listed:
            return listed
        for deeper in listed.select(".section-nav .section-nav"):
            deeper.decompose()
        for link in listed.select("a.nav-link") if known else ():
            title = link.get_text()
            if (said := short(title)) != title:
                link.string, link["title"] = said, title
            one = known.get(link["href"].removeprefix("#"))
            if one is None:
                continue  # a heading lacks its partner: `editions` says so
            below = minutes.under([*known.values()], one)
            if one.heads:
                link.parent["class"].append("side")
                link["data-min"] = lasting.format(whole(below))
            elif one.level == 2:
                road = sum(s.minutes for s in below if s.read and not s.side)
                link["data-road"] = f"{road:.1f}"
        return listed

    context["generate_toc_html"] = cache(marked)


def setup(app: Sphinx) -> dict:
    app.connect("source-read", mark_lines)  # one language is left
    app.add_directive("side-line", SideLine)
    app.add_node(side_line, html=(visit_line, depart_line))
    app.add_node(side_fold, html=(visit_fold, depart_fold))
    app.connect("doctree-resolved", fold)
    app.connect("html-page-context", mark_contents, priority=LAST)  # after the theme's
    # of pages as they are read: a higher one, and all are read again
    return {
        "env_version": 1,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
