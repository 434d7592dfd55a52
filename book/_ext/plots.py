"""Put stored SVG plots into the page itself, so that they follow light and dark mode.

A notebook keeps each plot as PNG and SVG. In a page the SVG is inlined; its colours
become the CSS variables of tokencredit.figures, the one place that knows the palette.
Its words, stored in English, become those of the edition by book/plots.yml.
"""

from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from coursebook.languages import SOURCE
from tokencredit.figures import inline_svg

WORDS = yaml.safe_load((Path(__file__).parents[1] / "plots.yml").read_text("utf-8"))


class InlinePlots(SphinxPostTransform):
    """Replace the images of SVG cell outputs by their drawing."""

    default_priority = 8  # before Sphinx collects images (10)
    formats = ("html",)

    def run(self, **kwargs) -> None:
        language = self.config.edition
        words = {said[SOURCE]: said.get(language, said[SOURCE]) for said in WORDS}
        images = [i for i in self.document.findall(nodes.image) if self.is_plot(i)]
        for number, image in enumerate(images, 1):
            svg = Path(self.env.srcdir, image["uri"].lstrip("/"))
            label = image.get("alt", "")
            text = svg.read_text(encoding="utf-8")
            html = inline_svg(text, label, f"plot-{number}", words)
            image.replace_self(nodes.raw(text=html, format="html"))

    @staticmethod
    def is_plot(image: nodes.image) -> bool:
        parent = image.parent
        while parent is not None and "cell_output" not in parent.get("classes", []):
            parent = parent.parent
        return parent is not None and image["uri"].endswith(".svg")


def setup(app: Sphinx) -> dict:
    app.add_post_transform(InlinePlots)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
