"""Lines of code: each an element with its indentation.

Where a line is too long for the page it breaks, and goes on set in under itself
(``book.css``): what matters in it often stands at its end. Outputs keep their columns.
A block says how long its longest line is, and is set smaller where that has no room; an
output with lines too long for this is as wide as a figure.
"""

import re
from html import unescape

from sphinx.application import Sphinx

PAGES = ("chapters/", "book/")
BLOCK = re.compile(
    r'<div class="([^"]*)"><div class="highlight"><pre>(<span></span>)'
    r"(.*?)\n(</pre>)",
    re.S,
)
WIDE = 90  # columns: more than the text has room for, however small they are set


def text_of(html: str) -> str:
    """Return what a reader sees of some code."""
    return unescape(re.sub(r"<[^>]*>", "", html))


def block(found: re.Match) -> str:
    """Return a block with the length of its longest line; if it is code, in lines."""
    classes, start, code, end = found.groups()
    longest = max(map(len, text_of(code).split("\n")))
    if classes.startswith("output"):
        code += "\n"
        classes += " wide" * (longest > WIDE)
    else:
        code = "".join(map(line, code.split("\n")))
    return (
        f'<div class="{classes}"><div class="highlight">'
        f'<pre style="--longest:{longest}">{start}{code}{end}'
    )


def line(html: str) -> str:
    """Return a line as an element; the highlighter ends every colour at its end.

    >>> line("  <b>x</b>")
    '<span class="line" style="--in:2">  <b>x</b><i>\\n</i></span>'
    >>> line("")  # an empty one is still there for who copies by hand
    '<span class="line"><br><i>\\n</i></span>'
    """
    text = text_of(html)
    inside = len(text) - len(text.lstrip(" "))
    style = f' style="--in:{inside}"' if inside else ""
    return f'<span class="line"{style}>{html or "<br>"}<i>\n</i></span>'


def split(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Split the code of the pages where it breaks."""
    if page.startswith(PAGES):
        context["body"] = BLOCK.sub(block, context["body"])


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", split)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
