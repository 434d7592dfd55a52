"""Plots in the built book: a Sphinx extension.

List ``tokenbook.figures._sphinxext`` among Sphinx's extensions. It adds the style sheet
of the plots.
"""

from pathlib import Path

SHEET = Path(__file__).parent / "static" / "figures.css"


def setup(app):
    """Serve the style sheet with every page."""
    app.connect("builder-inited", _add_static)
    app.add_css_file("figures.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _add_static(app):
    app.config.html_static_path.append(str(SHEET))  # not the recordings beside it
