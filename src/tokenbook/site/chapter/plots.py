"""Inline stored SVG plots in the page, so that they follow light and dark mode.

A notebook keeps each plot as PNG and SVG. In a page the SVG is inlined; its colours
become the CSS variables of tokenbook.figures, which defines the palette. Its words,
stored in English, are translated by plots.yml.
"""

from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from tokenbook.figures import inline_svg
from tokenbook.languages import SOURCE
from tokenbook.languages.sources import depend, sources

FILE = Path(__file__).with_name("plots.yml")
WORDS = yaml.safe_load(FILE.read_text("utf-8"))


class InlinePlots(SphinxPostTransform):
    """Replace the images of SVG cell outputs by their drawing."""

    default_priority = 8  # before Sphinx collects images (10)
    formats = ("html",)

    def run(self, **kwargs) -> None:
        language = self.config.edition
        words = {said[SOURCE]: said.get(language, said[SOURCE]) for said in WORDS}
        images = plots(self.document)
        for number, image in enumerate(images, 1):
            svg = Path(self.env.srcdir, image["uri"].lstrip("/"))
            label = image.get("alt", "")
            text = svg.read_text(encoding="utf-8")
            html = inline_svg(text, label, f"plot-{number}", words)
            image.replace_self(nodes.raw(text=html, format="html"))


def plots(document: nodes.document) -> list[nodes.image]:
    """Return the images that are SVG outputs of cells."""

    def in_output(node: nodes.Node) -> bool:
        while node is not None and "cell_output" not in node.get("classes", []):
            node = node.parent
        return node is not None

    images = document.findall(nodes.image)
    return [i for i in images if i["uri"].endswith(".svg") and in_output(i)]


def note_words(app: Sphinx, document: nodes.document) -> None:
    """Make a page with plots depend on their words and on this module."""
    if plots(document):
        depend(app.env, [str(FILE), *sources(inline_svg.__module__)])


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", note_words)
    app.add_post_transform(InlinePlots)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
