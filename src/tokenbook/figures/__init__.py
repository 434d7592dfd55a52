"""Figures 图: one file per live figure, drawn once for every place that shows it.

``explore("gae")`` in a notebook cell shows ``figures/gae.py``: with dials on a live
kernel, as a picture where there is none, and in the built book as a static page element
that works without a server. The machinery is the package `explorer`. ``strip_of`` and
``show_strip`` draw tokens; ``canvas`` and ``show`` make a plot in the course's style.
Files whose name begins with an underscore are no figures.
"""

from tokenbook.explorer import FigureError, Strip, show_strip
from tokenbook.figures._dumbbells import dumbbells, name_rows
from tokenbook.figures._explore import explore, figure_names
from tokenbook.figures._strip import strip_of
from tokenbook.figures._style import (
    COLORS,
    LEVELS,
    canvas,
    inline_svg,
    name_ends,
    name_lines,
    show,
)
from tokenbook.figures._thread import STAGES

__all__ = [
    "COLORS",
    "LEVELS",
    "STAGES",
    "FigureError",
    "Strip",
    "canvas",
    "dumbbells",
    "explore",
    "figure_names",
    "inline_svg",
    "name_ends",
    "name_lines",
    "name_rows",
    "show",
    "show_strip",
    "strip_of",
]
