"""Close the line ends of the Chinese edition.

Sources have one sentence per line, and a browser would show each line end as a space.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from coursebook.typography import close_line_ends


class CloseLineEnds(SphinxTransform):
    """Close the line ends of Chinese prose; a soft break is a text node of its own."""

    default_priority = 868  # before headings and links are collected

    def apply(self) -> None:
        texts = [
            text
            for text in self.document.findall(nodes.Text)
            if not isinstance(text.parent, nodes.literal_block | nodes.raw)
        ]
        for before, text, after in zip([None, *texts], texts, texts[1:], strict=False):
            joined = before and close_line_ends(before[-1:] + text + after[:1])
            if text == "\n" and joined and "\n" not in joined:
                text.parent.remove(text)
            elif (closed := close_line_ends(text)) != text:
                text.parent.replace(text, nodes.Text(closed))


def setup(app: Sphinx) -> dict:
    app.add_transform(CloseLineEnds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
