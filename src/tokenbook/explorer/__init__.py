"""Live figures 可调图 for books that are notebooks; see README.md beside this file.

A figure is a pure function that draws a state as a tree of HTML and SVG, its dials and
its words in every language. It is live on a kernel (ipywidgets), a picture in git, and
on a built page every state of its grid in a few kilobytes, without a server.

words    LANGUAGES, Language, FigureError
tree     h, html, words_of, number, short
parts    chip, shade, strip, row, tile, card, option, bars, dots, caption, legend,
         side, stack, line, grid
plot     Plot
tokens   Strip, show_strip
drawing  Dial, Preset, scene, load
figure   Figure
"""

from tokenbook.explorer.drawing import Dial, Preset, State, load, scene
from tokenbook.explorer.figure import Figure
from tokenbook.explorer.parts import (
    bars,
    caption,
    card,
    chip,
    dots,
    grid,
    legend,
    line,
    option,
    row,
    shade,
    side,
    stack,
    strip,
    tile,
)
from tokenbook.explorer.plot import Plot
from tokenbook.explorer.tokens import Strip, show_strip
from tokenbook.explorer.tree import h, html, number, short, words_of
from tokenbook.explorer.words import LANGUAGES, FigureError, Language, Words

__all__ = [
    "LANGUAGES",
    "Dial",
    "Figure",
    "FigureError",
    "Language",
    "Plot",
    "Preset",
    "State",
    "Strip",
    "Words",
    "bars",
    "caption",
    "card",
    "chip",
    "dots",
    "grid",
    "h",
    "html",
    "legend",
    "line",
    "load",
    "number",
    "option",
    "row",
    "scene",
    "shade",
    "short",
    "show_strip",
    "side",
    "stack",
    "strip",
    "tile",
    "words_of",
]
