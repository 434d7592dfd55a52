"""Plots and the thread in the built book: a Sphinx extension, a plug-in of MyST-NB.

List ``tokencredit.figures._book`` among Sphinx's extensions: it brings the style sheet
of the plots. The plug-in is found by its entry point; it writes the thread in the
language of the edition, without running the notebook.
"""

from pathlib import Path
from typing import ClassVar

from docutils import nodes

from tokencredit.figures._pipeline import pipeline

STATIC = Path(__file__).parent / "static"


class FigureRenderer:
    """Renders the outputs that carry a ``tokencredit`` reference."""

    mime_priority_overrides: ClassVar = [
        ("html", "application/vnd.jupyter.widget-view+json", None)
    ]

    @staticmethod
    def handle_mime(renderer, data, inline):
        """The thread in one language, else None."""
        reference = data.output_metadata.get("tokencredit", {})
        if "pipeline" in reference and data.mime_type == "text/html":
            language = renderer.renderer.sphinx_env.config.language[:2]
            html = pipeline(reference["pipeline"]).html(language)
            return [nodes.raw(text=html, format="html")]
        return None


def setup(app):
    """Serve the style sheet with every page."""
    app.connect("builder-inited", _add_static)
    app.add_css_file("figures.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _add_static(app):
    app.config.html_static_path.append(str(STATIC))
