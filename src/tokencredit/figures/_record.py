"""Draw every joint state of a figure and keep what differs between them.

Only the artists that a state moved are drawn again, so a state costs milliseconds.
What differs is stored per element and attribute as a template, and its numbers as
delta-coded series over the grid: at 0.1 pt nothing is lost.
"""

import io
import itertools
import re
from xml.etree import ElementTree

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.path import Path
from matplotlib.spines import Spine
from matplotlib.text import Text

from tokencredit.figures._explorer import Explorer, FigureError, State
from tokencredit.figures._style import RC, clean

NUMBER = re.compile(r"(?<![\w#.])-?\d+(?:\.\d+)?")
COORDINATE = re.compile(r"-?\d+(?:\.\d+)?")
BASE = 45
"""One character holds a digit below 45, and whether another digit follows."""


def movable(fig: Figure) -> list[Artist]:
    """The artists that a state may move: not the axes, ticks, spines and legends."""
    children = [a for ax in fig.axes for a in ax.get_children() if a is not ax.patch]
    children += [a for a in fig.get_children() if a is not fig.patch]
    kinds = (Line2D, Patch, Collection, Text, AxesImage)
    return [a for a in children if isinstance(a, kinds) and not isinstance(a, Spine)]


class Unclipped(RendererSVG):
    """Draws what lies outside the picture too, so that no state has fewer points."""

    def _convert_path(self, path, transform=None, clip=None, *args, **kwargs):
        return super()._convert_path(path, transform, None, *args, **kwargs)

    def draw_markers(self, gc, marker, marker_transform, path, *args, **kwargs):
        path = Everywhere(path.vertices, path.codes)
        super().draw_markers(gc, marker, marker_transform, path, *args, **kwargs)


class Everywhere(Path):
    """A path that iterates over all its points."""

    def iter_segments(self, transform=None, **kwargs):
        return super().iter_segments(transform, **(kwargs | {"clip": None}))


class Recorder:
    """Draws a figure state by state as the SVG of the artists that moved."""

    def __init__(self, explorer: Explorer):
        self.explorer = explorer
        self.fig, self.update = explorer.make()
        self.artists = movable(self.fig)
        self.fixed = self._fixed()
        self.out = io.StringIO()
        with rc_context(RC):
            size = 72 * self.fig.get_size_inches()
            self.renderer = Unclipped(*size, self.out, image_dpi=72)
        self.renderer.writer.comment = lambda text: None
        for number, artist in enumerate(self.artists):
            artist.draw = self._tagged(number, artist, artist.draw)

    def _tagged(self, number: int, artist: Artist, draw):
        """Draw into a group of the artist's own; what is hidden, as a hidden group."""

        def tagged(renderer):
            empty = isinstance(artist, Text) and not artist.get_text()
            hidden = empty or not artist.get_visible()
            markers, renderer._markers = renderer._markers, {}
            renderer._path_collection_id = 0
            display = "none" if hidden else "inline"
            renderer.writer.start("g", id=f"artist{number}", display=display)
            if empty:
                artist.set_text(" ")
            if hidden:
                visible = artist.get_visible()
                artist.set_visible(True)
                draw(renderer)
                artist.set_visible(visible)
            else:
                draw(renderer)
            if empty:
                artist.set_text("")
            renderer.writer.end("g")
            renderer._markers = markers

        return tagged

    def _fixed(self) -> list:
        """What no state may change: axis limits, and which artists there are."""
        axes = self.fig.axes
        return [ax.viewLim.bounds for ax in axes] + [ax.get_children() for ax in axes]

    def start(self) -> tuple[ElementTree.Element, list[ElementTree.Element]]:
        """The whole figure in the start state, and the group of each artist."""
        self.update(self.explorer.start)
        with rc_context(RC):
            self.fig.draw(self.renderer)
            self.renderer.finalize()
        for artist in self.artists:
            artist.stale = False
        tree = ElementTree.fromstring(self.out.getvalue())
        clean(tree)
        groups = {g.get("id"): g for g in tree.iter("g") if "display" in g.attrib}
        groups = [groups[f"artist{n}"] for n in range(len(self.artists))]
        for group in groups:
            _own_ids(group)
        return tree, groups

    def move(self, state: State) -> tuple[dict[int, str], dict[str, float]]:
        """Go to a state: the SVG text of each artist that moved, and the readout.

        Within ``rc_context(RC)``, which is too slow to enter for every state.
        """
        numbers = self.update(state)
        if self._fixed() != self.fixed:
            raise FigureError(
                f"{self.explorer.where(state)}: update changes axis limits or adds or "
                "removes artists; make them once and only move them"
            )
        moved = {}
        for number, artist in enumerate(self.artists):
            if artist.stale:
                self.out.seek(0)
                self.out.truncate()
                self.renderer._groupd = {"patch": 1}
                artist.draw(self.renderer)
                artist.stale = False
                moved[number] = self.out.getvalue().replace("xlink:href", "href")
        return moved, numbers


def parse(text: str) -> ElementTree.Element:
    """The cleaned group of an artist that moved."""
    group = ElementTree.fromstring(text)
    clean(group)
    _own_ids(group)
    return group


def _own_ids(group: ElementTree.Element) -> None:
    """Name an artist's markers after the artist, the same in every state."""
    own = {}
    for element in group.iter():
        if "id" in element.attrib and element is not group:
            new = f"{group.get('id')}-{len(own)}"
            own["#" + element.get("id")] = "#" + new
            element.set("id", new)
        elif element.get("href") in own:
            element.set("href", own[element.get("href")])


def record(explorer: Explorer):
    """Draw every state of the grid.

    Returns:
        The cleaned tree of the start state in which each element that changes is
        marked ``data-m``; the changes ``[element number, attribute, value per state]``;
        and the readout's numbers per state.
    """
    recorder = Recorder(explorer)
    tree, groups = recorder.start()
    ids = {element.get("id") for element in tree.iter()}
    drawn = [[list(group.iter())] for group in groups]
    known = [{} for _ in groups]  # SVG text -> index in drawn
    history = [[] for _ in groups]
    now = [0] * len(groups)
    readouts = []
    with rc_context(RC):
        for state in explorer.states:
            moved, numbers = recorder.move(state)
            readouts.append(numbers)
            for n, text in moved.items():
                if text not in known[n]:
                    elements = list(parse(text).iter())
                    _check_alike(recorder, n, state, drawn[n][0], elements, ids)
                    known[n][text] = len(drawn[n])
                    drawn[n].append(elements)
                now[n] = known[n][text]
            for n, index in enumerate(now):
                history[n].append(index)
    changes = {}
    for variants, indices in zip(drawn, history, strict=True):
        for versions in zip(*variants, strict=True):
            names = {name for element in versions for name in element.attrib}
            for name in [*sorted(names), ""]:
                values = [(e.get(name) if name else e.text) or "" for e in versions]
                if len({values[i] for i in indices} | {values[0]}) > 1:
                    versions[0].set("data-m", "")
                    series = [values[i] for i in indices]
                    changes.setdefault(versions[0], []).append((name, series))
    for group in groups:
        if "data-m" not in group.attrib and group.attrib.pop("display") == "none":
            group.clear()  # hidden in every state
    clean(tree)
    return tree, changes, readouts


def _check_alike(recorder, n, state, first, elements, ids) -> None:
    """Fail unless a state has the same elements as the start state."""
    where = recorder.explorer.where(state)
    if [e.tag for e in first] != [e.tag for e in elements]:
        raise FigureError(
            f"{where}: {recorder.artists[n]} is {len(elements)} SVG elements, "
            f"{len(first)} at the start; keep the number of its points, or hide it"
        )
    for element in elements:
        for value in element.attrib.values():
            name = value[5:-1] if value.startswith("url(#") else None
            if name and name not in ids:
                raise FigureError(
                    f"{where}: {recorder.artists[n]} has a clip path or hatch that "
                    "the start state does not have"
                )


class Stream:
    """Integers as printable text, and series over the grid that share storage."""

    def __init__(self, sizes: tuple[int, ...]):
        self.sizes = sizes
        self.parts: list[str] = []
        self.seen: dict[tuple[int, bytes], int] = {}

    def put(self, *numbers: int) -> None:
        """Append integers, small ones as one character each."""
        for n in numbers:
            u = 2 * n if n >= 0 else -2 * n - 1
            while u >= BASE:
                self.parts.append(_character(BASE + u % BASE))
                u //= BASE
            self.parts.append(_character(u))

    def series(self, values: np.ndarray) -> None:
        """Append a series over the grid: its first value, then what follows it."""
        values = values.reshape(self.sizes)
        first = int(values.flat[0])
        values = values - first
        mask = 0
        for axis in range(values.ndim):
            if (values != values.take([0], axis)).any():
                mask |= 1 << axis
            else:
                values = values.take([0], axis)
        key = (mask, values.tobytes())
        self.put(first, len(self.seen) - self.seen[key] if key in self.seen else 0)
        if key in self.seen:
            return
        self.seen[key] = len(self.seen)
        axes = [axis for axis in range(values.ndim) if mask >> axis & 1]
        options = []
        for size in range(len(axes) + 1):
            for chosen in itertools.combinations(axes, size):
                deltas = values
                for axis in chosen:
                    deltas = np.diff(deltas, axis=axis, prepend=0)
                cost = np.log2(1 + 2 * np.abs(deltas)).sum()
                options.append((cost, sum(1 << axis for axis in chosen), deltas))
        _, summed, deltas = min(options, key=lambda option: option[:2])
        self.put(mask, summed, *deltas.ravel().tolist())

    def __str__(self) -> str:
        return "".join(self.parts)


def _character(digit: int) -> str:
    """Printable, and safe inside a JSON string inside a script element."""
    return {60: " ", 92: "!"}.get(35 + digit, chr(35 + digit))


def encode(explorer: Explorer, changes: list[tuple[int, str, list[str]]]) -> dict:
    """Pack the changes into what ``static/recorder.js`` reads.

    Args:
        explorer: whose grid it is.
        changes: element number, attribute ("" for text) and its value in each state.

    Returns:
        ``v`` the labels of each dial, ``e`` element, attribute and templates of each
        change, ``d`` the numbers.
    """
    stream = Stream(tuple(len(dial.values) for dial in explorer.dials))
    entries = []
    for element, name, values in changes:
        number = COORDINATE if name in ("d", "transform", "x", "y") else NUMBER
        templates: dict[tuple, list[tuple[int, list[str]]]] = {}
        for state, value in enumerate(values):
            found = number.findall(value)
            decimals = [len(n.partition(".")[2]) for n in found] if not name else []
            key = (number.sub("~", value), tuple(decimals))
            templates.setdefault(key, []).append((state, found))
        entries.append([element, name, [template for template, _ in templates]])
        if len(templates) > 1:
            which = np.zeros(len(values), int)
            for index, rows in enumerate(templates.values()):
                which[[state for state, _ in rows]] = index
            stream.series(which)
        for rows in templates.values():
            for slot in zip(*(found for _, found in rows), strict=True):
                decimals = max(len(n.partition(".")[2]) for n in slot)
                scaled = [round(float(n) * 10**decimals) for n in slot]
                series = np.zeros(len(values), int)
                at = [state for state, _ in rows]
                held = np.searchsorted(at, np.arange(len(values)), side="right") - 1
                series = np.array(scaled)[held.clip(0)]
                stream.put(decimals)
                stream.series(series)
    labels = [[dial.label(v) for v in dial.values] for dial in explorer.dials]
    return {"v": labels, "e": entries, "d": str(stream)}
