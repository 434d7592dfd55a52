"""Link previews: a description of each page, and a card for each chapter.

A description is the question of a chapter, or the first sentences of a page. Cards need
a public address, so they are drawn only if ``html_baseurl`` is set.
"""

import re
import textwrap
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.patches import FancyArrow
from sphinx.application import Sphinx

from tokenbook.explorer.colors import palette
from tokenbook.figures import STAGES
from tokenbook.languages import HAN, SOURCE
from tokenbook.languages.pages import chapter_number
from tokenbook.site.pages.course import plan
from tokenbook.site.search.index import numbered, store

LONGEST = 160  # characters that search engines show
SIZE = (12, 6.3)  # inches, 100 pixels each
HAN_FONTS = (
    "Noto Sans CJK",
    "Source Han Sans",
    "PingFang",
    "Microsoft YaHei",
    "SimHei",
)


def shorten(text: str, longest: int = LONGEST) -> str:
    """Return the first sentences of a text, as many as fit.

    >>> shorten("One. Two is long.", 6)
    'One.'
    """
    said = ""
    for sentence in re.split(r"(?<=[。！？])|(?<=[.!?]) ", " ".join(text.split())):
        longer = f"{said} {sentence}" if said and said[-1] in ".!?" else said + sentence
        if said and len(longer) > longest:
            break
        said = longer
    return said[:longest]


def describe(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Give the page template a description, and the address of the card."""
    rows = {row["number"]: row for row in plan(Path(app.srcdir))}
    row = rows.get(chapter_number(page))
    first = store(app.env).get(page, [("", 1, "", "", "")])[0][3]
    asks = row["asks"][app.config.edition] if row else ""
    context["description"] = asks + shorten(
        f" {numbered(app.env, first)}", LONGEST - len(asks)
    )
    if row and (base := app.config.html_baseurl):
        context["page_address"] = f"{base.rstrip('/')}/{page}.html"
        context["card_address"] = f"{base.rstrip('/')}/_static/cards/{page[9:]}.png"


def draw_cards(app: Sphinx, error: Exception | None) -> None:
    """Draw a card for each chapter of the book."""
    if error or app.builder.format != "html" or not app.config.html_baseurl:
        return
    folder = Path(app.outdir, "_static", "cards")
    folder.mkdir(exist_ok=True)
    rows = {row["number"]: row for row in plan(Path(app.srcdir))}
    for page in app.env.found_docs:
        if row := rows.get(chapter_number(page)):
            card(row, app.config.edition, app.config.project).savefig(
                folder / f"{page[9:]}.png", dpi=100
            )


def card(row: dict, lang: str, book: str) -> Figure:
    """Return a chapter's card: book, name, question, and the thread with its arrow."""
    names = {font.name for font in fontManager.ttflist}
    han = [n for n in sorted(names) if n.startswith(HAN_FONTS)]
    if re.search(f"[{HAN}]", row[lang]) and not han:
        lang, book = SOURCE, "Token Credit"  # this machine has no Chinese font
    width, colors = (18 if re.search(f"[{HAN}]", row[lang]) else 34), palette()
    figure = Figure(SIZE, facecolor=colors["paper"])
    style = {"family": [*han[:1], "DejaVu Sans"], "color": colors["ink"], "va": "top"}
    figure.text(0.06, 0.92, book, size=22, **style | {"color": colors["muted"]})
    figure.text(0.06, 0.8, f"{row['number']}  {row[lang]}", size=44, **style)
    asks = "\n".join(textwrap.wrap(row["asks"][lang], width))
    figure.text(0.06, 0.58, asks, size=28, linespacing=1.4, **style)
    stages = [*STAGES]
    for n, name in enumerate(stages):
        x, lit = 0.06 + 0.155 * n, row["arrow"] in (name, "all")
        figure.text(x, 0.14, STAGES[name][lang], size=19, **style)
        if n:
            arrow = FancyArrow(
                x - 0.062,
                0.121,
                0.035,
                0,
                width=0.012 if lit else 0.004,
                head_width=0.03,
                head_length=0.012,
                color=colors["mark" if lit else "line"],
                transform=figure.transFigure,
            )
            figure.add_artist(arrow)
    return figure


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", describe)
    app.connect("build-finished", draw_cards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
