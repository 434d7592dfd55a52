"""Formulas become HTML at build time: KaTeX runs in V8 (mini-racer), no node, no CDN.

A page shows its formulas with JavaScript off, and broken TeX is a Sphinx warning with
its place, so ``-W`` fails the build. The fonts are cut to the characters that the built
formulas show. V8 does not survive a fork: never build with ``-j``.
"""

import functools
import re
from html import escape, unescape
from pathlib import Path

from docutils import nodes
from fontTools import subset
from fontTools.ttLib import TTFont
from py_mini_racer import JSEvalException
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.fileutil import copy_asset
from sphinx.util.math import get_node_equation_number

from tokenbook.languages import pick
from tokenbook.site.chapter.marks import choice, folded
from tokenbook.site.javascript import javascript

HELD = "有代码核对这个公式 | a cell checks this equation"
GLYPH = re.compile(r"\\[a-zA-Z]+|[^\s{}_^\\]")
SHORT = 24  # glyphs: with the mark after it, such a formula fits a line of a phone
MARKS = re.compile(r"[，。；：、！？）」”’,.;:!?)]+")
BREAK, KEEP = r"\allowbreak ", r"\nobreak "
PART = re.compile(  # the end of a side-by-side part, with its quad
    r'<span class="mspace allowbreak"></span>(<span class="mspace"[^>]*></span>)*'
    r'</span>(?=<span class="katex-base">)'
)
SUMMARY = re.compile(r"<summary>.*?</summary>", re.S)
FORMULA = re.compile(r"\$([^$\n]+)\$")
MAIN = "Main-Regular"
FONTS = {  # the classes that set a font, of those that the book shows
    "mathnormal": "Math-Italic",
    "mathcal": "Caligraphic-Regular",
    "mathbf": "Main-Bold",
    **dict.fromkeys(("amsrm", "mathbb", "textbb"), "AMS-Regular"),
    **dict.fromkeys(("mathrm", "textrm", "mainrm"), MAIN),
}
CLASS = re.compile(r'class="([^"]*)"')
KATEX = Path(__file__).with_name("katex")
log = logging.getLogger(__name__)


@functools.cache
def _engine():
    return javascript((KATEX / "katex.min.js").read_text(encoding="utf-8"))


@functools.lru_cache(4096)
def render(tex: str, display: bool) -> str:
    """Return KaTeX's HTML and MathML; raises ValueError with KaTeX's words."""
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    # KaTeX numbers `align` itself; the book's numbers come from Sphinx.
    tex = re.sub(r"\\(begin|end)\{(align|gather|equation)\}", r"\\\1{\2*}", tex)
    if display:  # where a line is short: not within a condition, rather at a quad
        tex = re.sub(r"\\q?quad", lambda quad: BREAK + quad[0], tex)
        tex = re.sub(r"\\mid(?![a-zA-Z])", lambda mid: mid[0] + KEEP, tex)
    options = {"displayMode": display, "throwOnError": True, "strict": "error"}
    try:
        html = _engine().call("katex.renderToString", tex, options)
    except JSEvalException as error:
        message = re.search(r"(?:ParseError: )?KaTeX parse error: (.+)", str(error))
        words = message.group(1) if message else str(error).splitlines()[0]
        raise ValueError(words) from None
    for mark in (BREAK, KEEP, "<mspace></mspace>"):  # not in the formula that is copied
        html = html.replace(mark, "")
    start, end = '<span class="katex-html" aria-hidden="true">', "</span>" * 3
    if PART.search(html):  # parts side by side are kept together
        html = PART.sub(r'\g<0></span><span class="part">', html)
        html = html.replace(start, f'{start}<span class="part">')
        html = html.removesuffix(end) + "</span>" + end
    return html


def _html(node: nodes.Node, display: bool) -> str:
    tex = node.astext().strip()
    try:
        return render(tex, display)
    except ValueError as error:
        log.warning("formula: %s  in  %s", error, tex, location=node, type="katex")
        return f'<code class="broken-math">{escape(tex)}</code>'


def render_summaries(app: Sphinx, document: nodes.document) -> None:
    """Render the formulas in the titles of folds, which Markdown leaves as typed."""

    def formula(found: re.Match) -> str:
        return f'<span class="math">{_html(nodes.math("", found[1]), False)}</span>'

    def summary(found: re.Match) -> str:
        return FORMULA.sub(formula, found[0])

    for raw in document.findall(nodes.raw):
        text = SUMMARY.sub(summary, raw.astext())
        if text != raw.astext():
            raw[:] = [nodes.Text(text)]
    for box in document.findall(folded):
        box["summary"] = FORMULA.sub(formula, escape(box["title"]))


def visit_inline(writer, node: nodes.math) -> None:
    label = ""
    if isinstance(node.parent.parent, nodes.entry) or isinstance(node.parent, choice):
        # axe-core does not read MathML: a header or button of a formula alone would
        # be empty.
        label = f' role="math" aria-label="{escape(node.astext().strip())}"'
    writer.body.append(f'<span class="math"{label}>{_html(node, False)}</span>')
    raise nodes.SkipNode


def keep_marks(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Keep a formula and the mark after it together: no mark begins a line."""
    for math in [*doctree.findall(nodes.math)]:
        last = math
        if isinstance(math.parent, nodes.reference) and math.parent[-1] is math:
            last = math.parent
        parent, at = last.parent, last.parent.index(last)
        text = parent[at + 1] if at + 1 < len(parent) else None
        alone = isinstance(parent.parent, nodes.entry)  # has a label
        if alone or isinstance(parent, choice) or not isinstance(text, nodes.Text):
            continue
        if mark := MARKS.match(text):
            short = len(GLYPH.findall(math.astext())) <= SHORT
            kept = nodes.inline("", "", classes=["kept"] if short else ["kept", "long"])
            parent[at : at + 2] = [kept, nodes.Text(text[mark.end() :])]
            kept += [last, nodes.Text(mark[0])]


def visit_block(writer, node: nodes.math_block) -> None:
    number = ""
    if node["number"]:
        number = get_node_equation_number(writer, node)
    writer.body.append(writer.starttag(node, "div", CLASS="math display"))
    # A long formula scrolls in its own box, which needs keyboard focus.
    writer.body.append(
        f'<div class="math-scroll" tabindex="0">{_html(node, True)}</div>'
    )
    if number:
        writer.body.append(f'<span class="eqno">({number})')
        writer.add_permalink_ref(node, "#")
        writer.body.append("</span>")
    if held := node.get("held"):
        words = pick(HELD, writer.config.edition)
        writer.body.append(
            f'<a class="held" href="#{held}" title="{words}" aria-label="{words}">✓</a>'
        )
    writer.body.append("</div>")
    raise nodes.SkipNode


def shown(html: str) -> dict[str, set[str]]:
    """Return the characters that a page's formulas show, by font; none for MathML.

    The innermost class that sets a font counts, as in KaTeX's style sheet.
    """
    characters = {font: set() for font in {MAIN, *FONTS.values()}}
    for part in html.split('class="katex-html"')[1:]:
        open_spans = [MAIN]
        for piece in re.finditer(r"<[^>]*>|[^<>]+", part[part.index(">") + 1 :]):
            if piece[0].startswith("<span"):
                names = re.findall(r"[\w-]+", "".join(CLASS.findall(piece[0])))
                own = [FONTS[name] for name in names if name in FONTS]
                open_spans.append(own[-1] if own else open_spans[-1])
            elif piece[0] == "</span>":
                open_spans.pop()
                if not open_spans:
                    break
            elif piece[0][0] != "<":
                characters[open_spans[-1]].update(unescape(piece[0]))
    return characters


def copy_fonts(app: Sphinx, error: Exception | None) -> None:
    """Write KaTeX's style sheet (woff2 only) and the used parts of its fonts."""
    if error or app.builder.format != "html":
        return
    seen = [shown(p.read_text("utf-8")) for p in Path(app.outdir).rglob("*.html")]
    by_font = {font: set().union(*(one[font] for one in seen)) for font in seen[0]}
    every = set().union(*by_font.values())
    out = Path(app.outdir, "_static", "katex")
    copy_asset(KATEX / "LICENSE", out)
    (out / "fonts").mkdir(exist_ok=True)
    for file in (KATEX / "fonts").iterdir():
        font = TTFont(file)
        cutter = subset.Subsetter(subset.Options(hinting=False))
        characters = by_font.get(file.stem.removeprefix("KaTeX_"), every)
        cutter.populate(text="".join(sorted(characters)))
        cutter.subset(font)
        font.flavor = "woff2"
        font.save(out / "fonts" / file.name)
    css = (KATEX / "katex.min.css").read_text(encoding="utf-8")
    css = re.sub(r',url\([^)]*\.(?:woff|ttf)\) format\("[^"]*"\)', "", css)
    (out / "katex.min.css").write_text(css, encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer("katex", (visit_inline, None), (visit_block, None))
    app.add_css_file("katex/katex.min.css")
    app.connect("doctree-read", render_summaries)
    app.connect("doctree-resolved", keep_marks)
    app.connect("build-finished", copy_fonts)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
