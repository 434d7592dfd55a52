"""Figures 图: one file per live figure, drawn once for every place that shows it.

``explore("gae")`` in a notebook cell shows ``figures/gae.py``: with sliders on a
live kernel, as a picture where there is none, and in the built book as a static
page element that moves without a server. ``canvas`` and ``show`` make a plot in the
course's style; ``pipeline`` shows where a chapter stands on the course's thread.
Files whose name begins with an underscore are the engine, all others are figures.
"""

from tokencredit.figures._explorer import (
    Dial,
    Explorer,
    FigureError,
    check_link,
    explore,
    figure_names,
)
from tokencredit.figures._pipeline import pipeline
from tokencredit.figures._style import COLORS, canvas, inline_svg, show

__all__ = [
    "COLORS",
    "Dial",
    "Explorer",
    "FigureError",
    "canvas",
    "check_link",
    "explore",
    "figure_names",
    "inline_svg",
    "pipeline",
    "show",
]
