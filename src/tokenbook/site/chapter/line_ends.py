"""Close the gaps of the Chinese edition: line ends, and the space after bold.

Sources have one sentence per line, and a browser would show each line end as a space.
Markdown ends bold at a full-width mark only before a space, which is removed.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from tokenbook.languages import MARKS
from tokenbook.languages.typography import close_line_ends
from tokenbook.site import BEFORE_LINKS


class CloseLineEnds(SphinxTransform):
    """Close the line ends of Chinese prose; a soft break is a separate text node."""

    default_priority = BEFORE_LINKS  # before headings and links are collected

    def apply(self) -> None:
        texts = [
            text
            for text in self.document.findall(nodes.Text)
            if not isinstance(text.parent, nodes.literal_block | nodes.raw)
        ]
        for n, text in enumerate(texts):
            closed = close_line_ends(text)
            if text.startswith(" ") and re.search(f"[{MARKS}]$", texts[n - 1]):
                closed = closed.lstrip(" ")
            if text == "\n" and 0 < n < len(texts) - 1:
                around = texts[n - 1][-1:] + text + texts[n + 1][:1]
                closed = text if text in close_line_ends(around) else ""
            if closed != text:
                siblings = text.parent.children  # line ends are equal: by identity
                at = next(at for at, one in enumerate(siblings) if one is text)
                text.parent[at : at + 1] = [nodes.Text(closed)] if closed else []


def setup(app: Sphinx) -> dict:
    app.add_transform(CloseLineEnds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
