"""Lines of code: each an element with its indentation.

A line too long for the page is broken, and its continuation indented (``book.css``), so
that its end is visible. It breaks as by hand: after ``=``, after a comma that no number
follows, before ``for``, ``if`` or a comment, and before an operator that is not in
brackets. Outputs keep their columns. A block stores its longest line's length, and its
type shrinks if that does not fit; an output with lines too long for this is as wide as
a figure. Names, spaces, dots and brackets have their block's colour, and no element:
they were half of the elements of a chapter.
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
BREAK = re.compile(
    r' +(?=<span class="(?:c1|k|kn|o|ow)">(?!(?:in|is|not|=)<))'
    '|(?<=,</span>) (?!<span class="m)|(?<=>=</span>) '
)
PLAIN = re.compile(r'<span class="(?:[npw]">([^<]*)|o">(\.))</span>')
WIDE = 90  # columns: too many for the text in any size


def text_of(html: str) -> str:
    """Return the visible text of some code."""
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
    code = PLAIN.sub(r"\1\2", code)
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
    code = html.lstrip(" ")
    inside = len(html) - len(code)
    style = f' style="--in:{inside}"' if inside else ""
    code = " " * inside + parts(code) if code else "<br>"
    return f'<span class="line"{style}>{code}<i>\n</i></span>'


def parts(html: str) -> str:
    """Return a line with an element around each part that is kept whole.

    One letter is whole by itself, and would be as wide as the indent of a part.

    >>> parts('a <span class="o">+</span> b')
    'a <span class="part"><span class="o">+</span> b</span>'
    >>> parts('<span class="p">(</span>a <span class="o">+</span> b')  # in brackets
    '<span class="p">(</span>a <span class="o">+</span> b'
    """
    places = [found for found in BREAK.finditer(html) if not inner(found)]
    if not places:
        return html
    starts = [0, *(found.end() for found in places)]
    ends = [*(found.start() for found in places), len(html)]
    between = [*(found[0] for found in places), ""]
    out = ""
    for start, end, space in zip(starts, ends, between, strict=True):
        part = html[start:end]
        one = len(text_of(part)) < 2
        out += (part if one else f'<span class="part">{part}</span>') + space
    return out


def inner(found: re.Match) -> bool:
    """Whether a possible break is before an operator in brackets."""
    before, after = found.string[: found.start()], found.string[found.end() :]
    signs = "".join(re.findall('<span class="p">([^<]*)<', before))
    depth = sum(map(signs.count, "([{")) - sum(map(signs.count, ")]}"))
    return depth > 0 and after.startswith('<span class="o">')


def split(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Split the code of the pages where it breaks."""
    if page.startswith(PAGES):
        context["body"] = BLOCK.sub(block, context["body"])


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", split)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
