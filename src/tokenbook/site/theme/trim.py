"""Make the theme light, offline and accessible.

The theme ships 540 KB (gzipped) of icons as JavaScript; the page template leaves that
script out, and here the icon font is cut to the icons in use and the style sheet to
their rules. Files that no page loads are not published. Cells of tables that hold more
than a few words are marked, and the style sheet gives them room on a phone; a table of
prose too wide for it is marked too, its cells with the names of their columns.
"""

import re
from pathlib import Path
from unicodedata import east_asian_width

from docutils import nodes
from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from tokenbook.languages import pick
from tokenbook.site.search.index import words

ICONS = {
    "angle-left",
    "angle-right",
    "bars",
    "circle-half-stroke",
    "display",
    "download",
    "list",
    "magnifying-glass",
    "moon",
    "sun",
}
STYLE = "styles/pydata-sphinx-theme.css"
FONT = "vendor/fontawesome/webfonts/fa-solid-900.woff2"
RULE = re.compile(r'((?:\.fa-[a-z0-9-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}')
SIZES = {
    "sentences": 40,
    "sentence": 24,
    "phrase": 10,
}  # em of a cell's text, in one line
NEEDS = {"sentences": 18, "sentence": 13, "phrase": 9, "": 4.5}  # em of a column
DASHED = re.compile(r"(?=.*-)[^\"']{1,20}")  # code that a line would break at a minus
PHONE = 25  # em that a phone has for a table
COLUMNS = 5  # more columns, one of them wide: a table of numbers keeps its columns
OWN_LAYOUT = ("book/glossary", "book/sources")  # their rows are paragraphs already
UNUSED = ("*.map", "*.html", "*.ttf", "fontawesome.js*", "fa-brands-*", "fa-regular-*")
UNUSED += ("searchtools.js", "language_data.js", "sphinx_highlight.js")
UNUSED += (
    "doctools.js",
    "translations.js",
    "bootstrap.js*",
    "sphinx-book-theme.js*",
    "pydata-sphinx-theme.js*",
)


def _names(selector: str) -> list[str]:
    return re.findall(r"fa-([a-z0-9-]+)", selector)


def trim(app: Sphinx, error: Exception | None) -> None:
    """Cut icons, style sheet, script and left-over files of the built edition."""
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    for pattern in UNUSED:
        for file in static.rglob(pattern):
            file.unlink()
    css, icons = static / STYLE, static / FONT
    rules = css.read_text(encoding="utf-8")
    codes = {
        name: int(code, 16)
        for names, code in RULE.findall(rules)
        for name in _names(names)
    }
    if icons.stat().st_size > 20_000:  # the theme's own, not yet cut
        font = TTFont(icons)
        cutter = subset.Subsetter(subset.Options(layout_features=[], hinting=False))
        cutter.populate(unicodes=[codes[icon] for icon in ICONS])
        cutter.subset(font)
        font.flavor = "woff2"
        font.save(icons)
    rules = RULE.sub(
        lambda rule: rule[0] if set(_names(rule[1])) & ICONS else "", rules
    )
    rules = re.sub(r",url\([^)]*\.ttf\) format\(\"truetype\"\)", "", rules)
    css.write_text(re.sub(r"/\*# sourceMappingURL=.*?\*/", "", rules), encoding="utf-8")


def _unbroken(cell: nodes.entry) -> float:
    """The em of a cell's longest name in code."""
    names = " ".join(code.astext() for code in cell.findall(nodes.literal))
    return max(map(len, names.split()), default=0) / 2


def mark_cells(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Mark short code, and the cells of tables that hold a phrase, a sentence, or more.

    Tables of which a phone shows each row as a block are marked too.
    """
    for code in doctree.findall(nodes.literal):
        code["classes"] += ["whole"] * (DASHED.fullmatch(code.astext()) is not None)
    for cell in doctree.findall(nodes.entry):
        text = words(cell)
        size = sum(1 if east_asian_width(c) in "WF" else 0.5 for c in text)
        cell["size"] = next((name for name, em in SIZES.items() if size > em), "")
        cell["classes"] += [cell["size"]] * bool(cell["size"])
    for table in doctree.findall(nodes.table) if page not in OWN_LAYOUT else ():
        head, *body = [row.children for row in table.findall(nodes.row)]
        needs = [
            max(max(NEEDS[cell["size"]], _unbroken(cell)) for cell in column)
            for column in zip(*body, strict=True)
        ]
        wide = sum(need > NEEDS[""] for need in needs)
        if sum(needs) > PHONE and wide > (len(needs) > COLUMNS):
            table["classes"].append("told")
            names = [" ".join(words(cell).split()) for cell in head]
            for cells in body:
                for cell, name in zip(cells, names, strict=True):
                    cell["column"] = name


def visit_entry(writer: HTML5Translator, node: nodes.entry) -> None:
    """Write a cell with the name of its column, if it has one."""
    HTML5Translator.visit_entry(writer, node)
    if name := node.get("column"):
        label = f' data-label="{writer.attval(name)}">'
        writer.body[-1] = writer.body[-1].replace(">", label, 1)


ARIA = (  # output of docutils and MyST-NB that axe-core rejects
    (' role="doc-biblioentry"', ""),
    ('<div role="list" class="citation-list">', '<div class="citation-list">'),
    (' aria-label="Toggle hidden content"', ""),
)
LINK = re.compile("Link to this (?:heading|image|definition)")  # not translated


def clean_aria(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Correct roles and labels in a page's body."""
    body = context.get("body", "")
    for wrong, right in ARIA:
        body = body.replace(wrong, right)
    context["body"] = LINK.sub(pick(r"这里的链接 | \g<0>", app.config.edition), body)
    empty = r'<th class="head[^"]*">(?:<p></p>)?</th>'
    context["body"] = re.sub(empty, "<td></td>", context["body"])


def setup(app: Sphinx) -> dict:
    app.add_node(nodes.entry, override=True, html=(visit_entry, None))
    app.connect("doctree-resolved", mark_cells)
    app.connect("html-page-context", clean_aria)
    app.connect("build-finished", trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
