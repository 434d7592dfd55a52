"""Chinese typography in the Chinese edition, so that sources stay easy to type.

Sources are written with half-width punctuation and one sentence per line. In running
Chinese text the marks become full-width and the line ends, which a browser would show
as spaces, go. Code, formulas, outputs and Latin phrases stay as they are.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

WIDE = dict(zip(",:;?!()", "\uff0c\uff1a\uff1b\uff1f\uff01\uff08\uff09", strict=True))
HAN = re.compile(r"[\u3400-\u9fff\u3001\u3002\u2018-\u201d\u300a-\u3011\uff01-\uff1f]")
OPAQUE = "\ufffc"  # stands for a character of code or of a formula


def typeset(text: str) -> list[str]:
    """Return the characters of `text` as they are to be set, one per place."""
    out = list(text)
    opened: list[int] = []
    for i, char in enumerate(text):
        before = out[i - 1] if i else ""
        after = text[i + 1 : i + 3].lstrip(" \n")[:1]
        if char == "(":
            opened.append(i)
        elif char == ")" and opened:
            start = opened.pop()
            outside = out[start - 1] if start else ""
            if HAN.match(outside) or HAN.match(after) or HAN.search(text[start:i]):
                out[start], out[i] = WIDE["("], WIDE[")"]
        elif char in ",:;?!" and (
            HAN.match(before)
            or HAN.match(after)
            or (before == OPAQUE and (after in ("", OPAQUE)))
        ):
            out[i] = WIDE[char]
    for i, char in enumerate(text):
        before = out[i - 1] if i else ""
        after = text[i + 1 : i + 2]
        if char == " " and "".join(out[i + 1 : i + 2]) in WIDE.values():
            out[i] = ""
        wide_before = before in "\u3001\u3002" or before in WIDE.values()
        if (
            char in " \n"
            and before
            and (
                wide_before or (char == "\n" and HAN.match(before) and HAN.match(after))
            )
        ):
            out[i] = ""
    return out


class ChineseTypography(SphinxTransform):
    """Set the prose of the Chinese edition."""

    default_priority = 868  # before headings and links are collected

    def apply(self) -> None:
        if self.config.edition != "zh":
            return
        for block in self.document.findall(nodes.TextElement):
            if isinstance(block.parent, nodes.TextElement) or self.is_code(block):
                continue
            texts = list(block.findall(nodes.Text))
            opaque = [any(map(self.is_code, self.parents(t, block))) for t in texts]
            whole = "".join(
                OPAQUE * len(t) if hidden else t.astext()
                for t, hidden in zip(texts, opaque, strict=True)
            )
            if not HAN.search(whole):
                continue
            chars, start = typeset(whole), 0
            for text, hidden in zip(texts, opaque, strict=True):
                end = start + len(text)
                if not hidden:
                    text.parent.replace(text, nodes.Text("".join(chars[start:end])))
                start = end
        for raw in self.document.findall(nodes.raw):
            if raw.get("format") == "html" and "cell_output" not in str(
                [p.get("classes") for p in self.parents(raw, self.document)]
            ):
                parts = re.split(r"(<[^>]*>)", raw.astext())
                parts[::2] = ["".join(typeset(p)) for p in parts[::2]]
                raw[0] = nodes.Text("".join(parts))

    @staticmethod
    def parents(node: nodes.Node, top: nodes.Node):
        while node.parent is not None and node is not top:
            node = node.parent
            yield node

    @staticmethod
    def is_code(node: nodes.Node) -> bool:
        kinds = (nodes.literal, nodes.math, nodes.math_block, nodes.literal_block)
        return isinstance(node, (*kinds, nodes.comment, nodes.raw))


def setup(app: Sphinx) -> dict:
    app.add_transform(ChineseTypography)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
