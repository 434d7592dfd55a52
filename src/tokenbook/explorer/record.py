"""Record every joint state of a figure as differences.

A difference is stored per element and attribute as a template, and its numbers as
delta-coded series over the grid, without loss. `static/explorer.js` reads it.
"""

import itertools
import re
from xml.etree.ElementTree import Element

import numpy as np

from tokenbook.explorer.drawing import Drawing
from tokenbook.explorer.words import FigureError

SLOT = "¤"
"""Stands for a number in a template; no figure may say it."""
IN_TEXT = re.compile(r"(?<![\w.,−])−?(?:0|[1-9]\d*)(?:\.\d+)?(?![\w.,]?\d)")
IN_ATTRIBUTE = re.compile(r"(?<![\w.#-])-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?(?![\w.]?\d)")
IN_PATH = re.compile(r"-?\d+(?:\.\d+)?")
BASE = 45
"""One character holds a digit below 45, and whether another digit follows."""

Change = tuple[int, str, list[str]]


def record(figure: Drawing, language: str) -> tuple[Element, list[Change]]:
    """Draw every state of the grid in one language.

    Returns:
        The start state, in which each element that changes is marked ``data-m``; and
        the changes: number of the marked element, attribute ("" for its text), and
        its value in each state.

    Raises:
        FigureError: a state that has other elements than the start.
    """
    start = figure.tree(language, figure.start)
    base = [*start.iter()]
    shape = [(element.tag, len(element)) for element in base]
    drawn = []
    for state in figure.states:
        elements = [*figure.tree(language, state).iter()]
        if [(element.tag, len(element)) for element in elements] != shape:
            raise FigureError(
                f"figure {figure.name!r} at {figure.setting(state)}: has other "
                "elements than the start; draw the same ones in every state, hide some"
            )
        drawn.append([(element.attrib, element.text or "") for element in elements])
    changes, marked = [], 0
    for element, versions in zip(base, zip(*drawn, strict=True), strict=True):
        own = (element.attrib, element.text or "")
        if all(version == own for version in versions):
            continue
        names = sorted({name for attributes, _ in versions for name in attributes})
        series = [
            (n, [attributes.get(n, "") for attributes, _ in versions]) for n in names
        ]
        series.append(("", [text for _, text in versions]))
        changes += [(marked, n, values) for n, values in series if len(set(values)) > 1]
        element.set("data-m", "m")
        marked += 1
    return start, changes


def idle(sizes: tuple[int, ...], changes: list[Change]) -> list[np.ndarray]:
    """Mask of the states in which a dial has no effect 空转, for each dial.

    Args:
        sizes: how many values each dial has.
        changes: as `record` returns them.
    """
    seen: dict[tuple, int] = {}
    drawn = zip(*(values for *_, values in changes), strict=True)
    ids = np.array([seen.setdefault(one, len(seen)) for one in drawn]).reshape(sizes)
    return [
        np.broadcast_to((ids == ids.take([0], k)).all(k, keepdims=True), sizes).ravel()
        for k in range(len(sizes))
    ]


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
        """Append a series over the grid, delta-coded after its first value."""
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


def encode(sizes: tuple[int, ...], changes: list[Change]) -> dict:
    """Changes in the format of the page's script.

    Args:
        sizes: how many values each dial has.
        changes: element number, attribute ("" for text) and its value in each state.

    Returns:
        ``e`` element, attribute and templates of each change, ``d`` the numbers.

    Raises:
        FigureError: a text that holds the sign of the templates.
    """
    stream = Stream(sizes)
    entries = []
    for element, name, values in changes:
        kind = {"": IN_TEXT, "d": IN_PATH}.get(name, IN_ATTRIBUTE)
        templates: dict[tuple, list[tuple[int, list[str]]]] = {}
        for state, value in enumerate(values):
            if SLOT in value:
                raise FigureError(f"a figure may not say {SLOT!r}, got {value!r}")
            found = kind.findall(value)
            decimals = [len(n.partition(".")[2]) for n in found] if not name else []
            key = (kind.sub(SLOT, value), tuple(decimals))
            templates.setdefault(key, []).append((state, found))
        entries.append([element, name, [template for template, _ in templates]])
        if len(templates) > 1:
            which = np.zeros(len(values), int)
            for index, rows in enumerate(templates.values()):
                which[[state for state, _ in rows]] = index
            stream.series(which)
        for rows in templates.values():
            at = [state for state, _ in rows]
            held = np.searchsorted(at, np.arange(len(values)), side="right") - 1
            for slot in zip(*(found for _, found in rows), strict=True):
                decimals = max(len(n.partition(".")[2]) for n in slot)
                scaled = [
                    round(float(n.replace("−", "-")) * 10**decimals) for n in slot
                ]
                stream.put(decimals)
                stream.series(np.array(scaled)[held.clip(0)])
    return {"e": entries, "d": str(stream)}
