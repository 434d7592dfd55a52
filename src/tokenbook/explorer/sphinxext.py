"""Figures in a built book: a Sphinx extension and a plug-in of MyST-NB.

List ``tokenbook.explorer.sphinxext`` among Sphinx's extensions. It adds the style sheet
(the colours of every page), the script, and the directive ``explorer``, which puts a
figure into a page that is no notebook:

    ```{explorer} tokenbook.figures.hero
    ```

The plug-in is found by its entry point; it turns the reference in an output's metadata
into HTML in the language of the edition, without running the notebook.
"""

from typing import ClassVar

from docutils import nodes
from sphinx.addnodes import only
from sphinx.util.docutils import SphinxDirective

from tokenbook.explorer.embed import SHEETS, STATIC, page_html
from tokenbook.explorer.tokens import Strip, Strips
from tokenbook.explorer.tree import h, html
from tokenbook.languages.sources import depend, sources


def figure_html(env, module: str, uid: str) -> str:
    """The element of a figure in the language of the edition."""
    text = page_html(module, env.config.language[:2], uid)
    note(env, module)
    return text


def note(env, module: str) -> None:
    """Draw the page again when a file changes that its figure is made from."""
    depend(env, sources(module) + sources(__name__))


class FigureRenderer:
    """Renders the outputs that carry an ``explorer`` reference."""

    mime_priority_overrides: ClassVar = [
        ("html", "application/vnd.jupyter.widget-view+json", None)
    ]

    @staticmethod
    def handle_mime(renderer, data, inline):
        """HTML in place of the picture of a figure or of strips, else None."""
        reference = data.output_metadata.get("explorer", {})
        if data.mime_type != "image/png" or not reference:
            return None
        env = renderer.renderer.sphinx_env
        if "figure" in reference:
            module = reference["figure"]
            uid = f"{module.rpartition('.')[2].replace('_', '-')}-{data.cell_index}"
            text = figure_html(env, module, uid)
        else:
            note(env, Strip.__module__)
            strips = [Strip(**s) for s in reference["strips"]]
            tree = Strips(**reference | {"strips": strips}).tree(
                env.config.language[:2]
            )
            text = html(h("div", tree, cls="explorer wide"))
        live, still = only(expr="html"), only(expr="not html")
        live += nodes.raw(text=text, format="html")
        still += renderer.render_image(data)
        return [live, still]


class ExplorerDirective(SphinxDirective):
    """A figure by the name of its module."""

    required_arguments = 1

    def run(self):
        (module,) = self.arguments
        uid = module.rpartition(".")[2].replace("_", "-")
        live = only(expr="html")
        text = figure_html(
            self.env, module, f"{uid}-{self.env.new_serialno('explorer')}"
        )
        live += nodes.raw(text=text, format="html")
        return [live]


def setup(app):
    """Serve the style sheets and the script with every page."""
    app.connect("builder-inited", _add_static)
    for name in SHEETS:
        app.add_css_file(name)
    app.add_js_file("explorer.js", loading_method="defer")
    app.add_directive("explorer", ExplorerDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _add_static(app):
    app.config.html_static_path.append(str(STATIC))
