"""Live figures in the built book: a Sphinx extension and a plug-in of MyST-NB.

List ``tokencredit.figures._book`` among Sphinx's extensions: it brings the style
sheet (the palette of every figure) and the script. The plug-in is found by its entry
point; it turns the reference in an output's metadata into HTML in the language of
the edition, without running the notebook.
"""

from pathlib import Path
from typing import ClassVar

from docutils import nodes
from sphinx.addnodes import only

from tokencredit.figures._page import page_html
from tokencredit.figures._pipeline import pipeline

STATIC = Path(__file__).parent / "static"


class FigureRenderer:
    """Renders the outputs that carry a ``tokencredit`` reference."""

    mime_priority_overrides: ClassVar = [
        ("html", "application/vnd.jupyter.widget-view+json", None)
    ]

    @staticmethod
    def handle_mime(renderer, data, inline):
        """HTML for a live figure's PNG or the thread's HTML, else None."""
        reference = data.output_metadata.get("tokencredit", {})
        env = renderer.renderer.sphinx_env if reference else None
        config = env and env.config
        if "explorer" in reference and data.mime_type == "image/png":
            language = config.language[:2]
            uid = f"xp-{reference['explorer']}-{data.cell_index}"
            html = page_html(reference["explorer"], language, uid)
            for file in STATIC.parents[1].rglob("*.py"):
                env.note_dependency(str(file))  # a changed package, a changed page
            live, still = only(expr="html"), only(expr="not html")
            live += nodes.raw(text=html, format="html")
            still += renderer.render_image(data)
            return [live, still]
        if "pipeline" in reference and data.mime_type == "text/html":
            html = pipeline(reference["pipeline"]).html(config.language[:2])
            return [nodes.raw(text=html, format="html")]
        return None


def setup(app):
    """Serve the style sheet and the script with every page."""
    app.connect("builder-inited", _add_static)
    app.add_css_file("figures.css")
    app.add_js_file("recorder.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _add_static(app):
    app.config.html_static_path.append(str(STATIC))
