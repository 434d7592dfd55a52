"""Lines of code: each an element with its indentation.

Where a line is too long for the page it breaks, and goes on set in under itself
(``book.css``): what matters in it often stands at its end. Outputs keep their columns.
"""

import re

from sphinx.application import Sphinx

PAGES = ("chapters/", "book/")
BLOCK = re.compile(
    r'(<div class="(?!output)[^"]*"><div class="highlight"><pre><span></span>)'
    r"(.*?)\n(</pre>)",
    re.S,
)


def line(html: str) -> str:
    """Return a line as an element; the highlighter ends every colour at its end.

    >>> line("  <b>x</b>")
    '<span class="line" style="--in:2">  <b>x</b><i>\\n</i></span>'
    >>> line("")  # an empty one is still there for who copies by hand
    '<span class="line"><br><i>\\n</i></span>'
    """
    text = re.sub(r"<[^>]*>", "", html)
    inside = len(text) - len(text.lstrip(" "))
    style = f' style="--in:{inside}"' if inside else ""
    return f'<span class="line"{style}>{html or "<br>"}<i>\n</i></span>'


def split(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Split the code of the pages where it breaks."""
    if page.startswith(PAGES):
        context["body"] = BLOCK.sub(
            lambda found: (
                found[1] + "".join(map(line, found[2].split("\n"))) + found[3]
            ),
            context["body"],
        )


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", split)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
