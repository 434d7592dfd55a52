"""A plot 坐标图 that fits any width: lines stretch, words and dots keep their size."""

import math
from collections.abc import Mapping, Sequence
from unicodedata import east_asian_width
from xml.etree.ElementTree import Element

from tokenbook.explorer.tree import h, minus, short, subscripts
from tokenbook.explorer.words import FigureError

Point = tuple[float, float]
LINE, PHONE = 17, 0.8  # px that a line of words takes; height on a phone, as in the CSS


def columns(words: str) -> int:
    """Width of words in Latin letters; a Chinese character counts two.

    >>> columns("采样 3")
    6
    """
    return sum(1 + (east_asian_width(letter) in "WF") for letter in words)


class Plot:
    """Axes and the shapes between them, in the units of the axes.

    Lines and filled shapes are SVG in a stretched box, with strokes that keep their
    width; areas, dots, arrows and words are HTML above it. Every shape must exist in
    every state: hide it with ``show=False``.

    A `look` names a role of the colour contract ("up", "down", "ink", "old", "alt",
    "sel", "off") and, for lines, "thin", "dashed" or "way" (the width of an arrow); for
    words "quiet", "strong" or "boxed" (opaque).

    Args:
        x, y: the ends of the axes.
        x_name, y_name: their labels.
        x_ticks, y_ticks: the values that are marked: a list, or value -> words.
        height: in pixels; four fifths of it on a phone.
        log: "x", "y" or "xy" for logarithmic axes.
        axes: False for a free drawing without axes; it needs no names.

    Raises:
        FigureError: an axis without a name, or without room.
    """

    def __init__(
        self,
        x: Point,
        y: Point,
        *,
        x_name: str = "",
        y_name: str = "",
        x_ticks: Sequence[float] | Mapping[float, str] = (),
        y_ticks: Sequence[float] | Mapping[float, str] = (),
        height: int = 240,
        log: str = "",
        axes: bool = True,
    ):
        if axes and not (x_name and y_name):
            raise FigureError("a plot names both axes: x_name, y_name")
        if x[0] == x[1] or y[0] == y[1]:
            raise FigureError(f"a plot needs room: x {x}, y {y}")
        self.x, self.y, self.log, self.axes, self.height = x, y, log, axes, height
        self.lines: list[Element] = []
        self.above: list[Element] = []
        ticks = {}
        for axis, values in (("x", x_ticks), ("y", y_ticks)):
            if not isinstance(values, Mapping):
                values = {v: f"{v:g}".replace("-", "−") for v in values}
            ticks[axis] = values
        self.left = max([0, *map(columns, ticks["y"].values())])
        self.bare = not ticks["x"]
        for v, words in ticks["x"].items():
            style = f"left:{short(100 * self.fx(v), 1)}%"
            self.above.append(h("span", minus(words), cls="tick x", style=style))
        for v, words in ticks["y"].items():
            style = f"top:{short(100 * self.fy(v), 1)}%"
            self.above.append(h("span", words, cls="tick y", style=style))
        for axis, words in (("x", x_name), ("y", y_name)):
            if words:
                self.above.append(h("span", words, cls=f"name {axis}"))

    def _part(self, value: float, ends: Point, log: bool) -> float:
        low, high = ends
        if log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return (value - low) / (high - low)

    def fx(self, x: float) -> float:
        """Position of `x` between the left (0) and the right end (1)."""
        return self._part(x, self.x, "x" in self.log)

    def fy(self, y: float) -> float:
        """Position of `y` between the top (0) and the bottom (1)."""
        return 1 - self._part(y, self.y, "y" in self.log)

    def _at(self, x: float, y: float) -> str:
        left, top = short(100 * self.fx(x), 1), short(100 * self.fy(y), 1)
        return f"left:{left}%;top:{top}%"

    def _box(self, x0: float, x1: float, y0: float, y1: float) -> str:
        (a, b), (c, d) = (
            sorted((self.fx(x0), self.fx(x1))),
            sorted((self.fy(y0), self.fy(y1))),
        )
        sizes = {"left": a, "top": c, "width": b - a, "height": d - c}
        return ";".join(f"{k}:{short(100 * v, 1)}%" for k, v in sizes.items())

    def _html(self, tag: str, kind: str, style: str, show: bool, *words):
        self.above.append(h(tag, *words, cls=kind, style=style, hidden=not show))

    def _path(self, points: Sequence[Point], look: str, end: str, show: bool):
        steps = "L".join(
            f"{short(1000 * self.fx(x), 1)} {short(1000 * self.fy(y), 1)}"
            for x, y in points
        )
        hidden = "none" if not show else None
        self.lines.append(h("path", d=f"M{steps}{end}", cls=look, display=hidden))

    def line(self, points: Sequence[Point], look: str = "ink", *, show: bool = True):
        """A line through points; every state has the same number of them."""
        self._path(points, f"line {look}", "", show)

    def fill(self, points: Sequence[Point], look: str = "old", *, show: bool = True):
        """A filled shape with these corners."""
        self._path(points, f"fill {look}", "Z", show)

    def rule(self, *, x: float | None = None, y: float | None = None, look: str = ""):
        """A thin straight line across the plot at one value, to compare with."""
        if x is not None:
            points = [(x, self.y[0]), (x, self.y[1])]
        else:
            points = [(self.x[0], y), (self.x[1], y)]
        self._path(points, f"rule {look}", "", True)

    def area(self, x0, x1, y0, y1, look="off", words=None, *, cells=1, show=True):
        """A rectangle: a zone, or with `look` "up" and the like the bar of a chart.

        Args:
            words: in its middle.
            cells: how many equal cells it is cut into from left to right; with `look`
                "whole" the last ends at the edge.
        """
        style = self._box(x0, x1, y0, y1) + (f";--n:{cells}" if cells > 1 else "")
        cut = " cells" * (cells > 1)
        self._html("i", f"area {look}{cut}", style, show, words)

    def dot(self, x: float, y: float, look: str = "ink", *, show: bool = True):
        """A dot; with `look` "sel" highlighted, with "off" hollow."""
        self._html("i", f"dot {look}", self._at(x, y), show)

    def text(self, x, y, words: str, look: str = "", *, align="center", show=True):
        """Words whose middle, or "left" or "right" end, is at a point."""
        drawn = subscripts(minus(words))
        self._html("span", f"words {align} {look}", self._at(x, y), show, *drawn)

    def names(
        self, x: float, ends: Sequence[tuple[float, str, str]], *, lead: float = 0.0
    ):
        """Names of lines 线名, beside their ends and without overlap.

        Args:
            x: where the names begin.
            lead: where the lines end, for a thin line from each end to its name.
            ends: per line the height of its end, its name and the look of the words.
        """
        gap = LINE / (PHONE * self.height)
        order = sorted(range(len(ends)), key=lambda k: self.fy(ends[k][0]))
        tops = []
        for rank, k in enumerate(order):
            lowest = 1 - gap * (len(order) - rank - 0.5)
            free = tops[-1] + gap if tops else gap / 2
            tops.append(max(free, min(self.fy(ends[k][0]), lowest)))
        for k, (_, words, look) in enumerate(ends):
            style = f"left:{short(100 * self.fx(x), 1)}%"
            style += f";top:{short(100 * tops[order.index(k)], 1)}%"
            drawn = subscripts(minus(words))
            led = " led" * bool(lead)
            self._html("span", f"words left {look}{led}", style, True, *drawn)
            if lead:
                way = [(lead, ends[k][0]), (x, self.y[0])]
                (a, b), (c, _) = ((self.fx(u), self.fy(v)) for u, v in way)
                d = tops[order.index(k)]
                steps = [short(1000 * v, 1) for v in (a, b, c, d)]
                path = "M{} {}L{} {}".format(*steps)
                self.lines.append(h("path", d=path, cls="line old thin"))

    def arrow(self, x0, y0, x1, y1, look: str = "ink", *, show: bool = True):
        """An arrow along one axis, from the first point to the second.

        Raises:
            FigureError: an arrow that is neither level nor upright: the plot stretches,
                so its angle is unknown. Draw a corner with a `line`.
        """
        if x0 != x1 and y0 != y1:
            raise FigureError(f"arrow {x0, y0} to {x1, y1}: level or upright only")
        a, b, c, d = self.fx(x0), self.fx(x1), self.fy(y0), self.fy(y1)
        way = ("right" if b >= a else "left") if c == d else "low" if d > c else "high"
        none = abs(b - a) + abs(c - d) < 1e-3
        style = self._box(x0, x1, y0, y1)
        self._html("i", f"arrow {way} {look}", style, show and not none)

    def drag(self, *, x: tuple | None = None, y: tuple | None = None):
        """Turn a dial by a drag anywhere in the plot 拖动.

        Args:
            x, y: a dial's key and the place of each of its values on that axis:
                ``drag(x=("rho", RHOS))``. The dial keeps its slider.
        """
        self.above.append(h("i", cls="drag", **self._targets(x, y)))

    def grip(
        self, at: Point, *, x: tuple | None = None, y: tuple | None = None, look=""
    ):
        """A knob at a point, to be dragged; see `drag`."""
        way = "both" if x and y else "level" if x else "upright"
        attributes = self._targets(x, y) | {"style": self._at(*at)}
        self.above.append(h("i", cls=f"grip {way} {look}", **attributes))

    def _targets(self, x: tuple | None, y: tuple | None) -> dict[str, str]:
        found = {}
        for axis, target, place in (("x", x, self.fx), ("y", y, self.fy)):
            if target:
                key, values = target
                places = ",".join(short(place(v), 4) for v in values)
                found[f"data_drag_{axis}"] = f"{key}:{places}"
        return found

    def element(self) -> Element:
        """The plot as an element; a drawing takes the plot itself as well."""
        return h(
            "div",
            h(
                "svg",
                *self.lines,
                viewBox="0 0 1000 1000",
                preserveAspectRatio="none",
            ),
            *self.above,
            cls="ex-plot" + " axes" * self.axes + " bare" * self.bare,
            style=f"--h:{self.height}px;--left:{self.left}",
            aria_hidden="true",
        )
