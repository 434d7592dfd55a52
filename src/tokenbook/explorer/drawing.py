"""The contents of a figure's file: a function that draws, dials, texts."""

import importlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from tokenbook import languages
from tokenbook.explorer.tree import h, words_of
from tokenbook.explorer.words import FigureError, Language, Words, check

State = dict[str, float | str]
KINDS = ("slider", "choice", "toggle", "time", "hidden")


@dataclass(frozen=True)
class Dial:
    """One value that a reader turns 旋钮.

    Args:
        key: the argument of ``draw`` that it sets.
        values: its values on a page: numbers, or short words that are the same in every
            language, with an empty `fmt`.
        start: the value it begins with, one of `values`.
        name: in every language.
        symbol: a short sign before the name, such as "γ".
        fmt: format specification of a value.
        kind: "slider"; "choice" for up to five named values; "toggle" for no and yes;
            "time" for a slider that plays; "hidden" where a card or a row of the
            drawing is the control.
        options: the names of the values of a choice, in every language; numbers are
            their own names where none are given.
        pace: milliseconds that a step of time lasts when it plays: longer where a step
            changes words.
        fine: whether a live kernel may go between the values; by default on sliders of
            more than three numbers that are not all whole.

    Raises:
        FigureError: fewer than two values, a start that is none of them, two that are
            written alike, an unknown kind, or options that do not fit.
    """

    key: str
    values: Sequence[float | str]
    start: float | str
    name: Words
    symbol: str = ""
    fmt: str = "g"
    kind: str = "slider"
    options: Sequence[Words] = ()
    pace: int = 160
    fine: bool | None = None

    def __post_init__(self):
        object.__setattr__(self, "values", tuple(self.values))
        whole = all(isinstance(v, str) or v == int(v) for v in self.values)
        if self.fine is None:
            fine = self.kind == "slider" and len(self.values) > 3 and not whole
            object.__setattr__(self, "fine", fine)
        labels = [self.label(value) for value in self.values]
        numbers = not any(isinstance(value, str) for value in self.values)
        if self.kind == "choice" and numbers and not self.options:
            names = tuple((label,) * len(languages.LANGUAGES) for label in labels)
            object.__setattr__(self, "options", names)
        for right, problem in (
            (self.kind in KINDS, f"kind is one of {KINDS}, got {self.kind!r}"),
            (len(set(self.values)) > 1, "needs two or more different values"),
            (
                len(set(labels)) == len(labels),
                f"two values are written alike: {labels}",
            ),
            (self.start in self.values, f"start {self.start!r} is none of its values"),
            (self.kind != "toggle" or self.values == (0, 1), "a toggle is 0 or 1"),
            (
                len(self.options) == len(self.values) * (self.kind == "choice"),
                "a choice names each value in `options`, and only a choice does",
            ),
        ):
            if not right:
                raise FigureError(f"dial {self.key!r}: {problem}")

    def label(self, value: float | str) -> str:
        """The value as links and presets write it, in every language."""
        return format(value, self.fmt)


@dataclass(frozen=True)
class Preset:
    """A state worth seeing 预设, under a name; other dials go where they start.

    ``Preset(("刚采样", "just sampled"), rho=1.0)``
    """

    name: Words
    state: Mapping[str, float | str]

    def __init__(self, name: Words, **state: float | str):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "state", state)


def scene(*drawing, tiles: Sequence[Element] = (), says: str | None = None) -> Element:
    """Result of ``draw`` 一个状态: the drawing, two to four numbers, a sentence.

    Args:
        drawing: elements and plots, under each other.
        tiles: the readout.
        says: one sentence about this state; the title is about all of them.
    """
    return h(
        "div",
        None if says is None else h("p", h("span", says), cls="ex-says"),
        h("div", *drawing, cls="ex-stage"),
        h("div", *tiles, cls="ex-tiles") if tiles else None,
        cls="ex-live",
    )


@dataclass(frozen=True)
class Drawing:
    """Base of a figure 图的陈述: a function that draws a state, dials and texts.

    Args:
        draw: ``draw(L, **state)`` returns a `scene`; ``L("中文", "English")`` picks
            words. It computes with the book's own functions and has no side effects.
        dials: what ``draw`` takes; a page holds every joint state of their values.
            Without dials it is a picture in every language.
        title: the message in one sentence, true at every setting.
        alt: description for readers who cannot see it.
        presets: named states; the first is the start.
        note: small print below.
        wide: wider than the text.

    Raises:
        FigureError: dials that ``draw`` does not take, words that miss a language, or
            presets that are off the grid.
    """

    draw: Callable[..., Element]
    dials: Sequence[Dial]
    title: Words
    alt: Words
    presets: Sequence[Preset] = ()
    note: Words | None = None
    wide: bool = False

    def __post_init__(self):
        takes = [*inspect.signature(self.draw).parameters][1:]
        keys = [dial.key for dial in self.dials]
        if sorted(takes) != sorted(keys):
            raise FigureError(
                f"figure {self.name!r}: its dials are {keys}, but draw takes {takes}"
            )
        texts = [self.title, self.alt, *([self.note] if self.note else [])]
        texts += [part.name for part in (*self.dials, *self.presets)]
        texts += [words for dial in self.dials for words in dial.options]
        for words in texts:
            check(words, f"figure {self.name!r}: ")
        for preset in self.presets:
            self.check(self.setting(preset.state))
        whole = [Preset(one.name, **self.start | one.state) for one in self.presets]
        object.__setattr__(self, "presets", tuple(whole))

    @property
    def module(self) -> str:
        """The module whose ``FIGURE`` is this figure."""
        return self.draw.__module__

    @property
    def name(self) -> str:
        """The last part of its module's name."""
        return self.module.rpartition(".")[2]

    @property
    def start(self) -> State:
        return {dial.key: dial.start for dial in self.dials}

    @property
    def states(self) -> Iterator[State]:
        """Every joint state of the grid, the last dial running fastest."""
        keys = [dial.key for dial in self.dials]
        for values in itertools.product(*(dial.values for dial in self.dials)):
            yield dict(zip(keys, values, strict=True))

    def corners(self) -> Iterator[State]:
        """The start and the corners of the grid; of many dials, the ends of each."""
        yield self.start
        keys = [dial.key for dial in self.dials]
        ends = [(dial.values[0], dial.values[-1]) for dial in self.dials]
        if len(ends) > 5:
            pairs = zip(keys, ends, strict=True)
            yield from (self.start | {key: v} for key, both in pairs for v in both)
            return
        for values in itertools.product(*ends) if ends else ():
            yield dict(zip(keys, values, strict=True))

    def setting(self, state: Mapping[str, float | str]) -> str:
        """A state as links write it: ``gamma=0.9,lam=1``."""
        dials = {dial.key: dial for dial in self.dials}
        if missing := state.keys() - dials.keys():
            raise FigureError(
                f"figure {self.name!r}: no dial {sorted(missing)}; it has {[*dials]}"
            )
        return ",".join(f"{key}={dials[key].label(v)}" for key, v in state.items())

    def check(self, setting: str) -> None:
        """Raise `FigureError` unless a link to this figure 文中链接 can be followed.

        Args:
            setting: the value of ``data-set``: ``key=value``, several with commas.
        """
        dials = {dial.key: dial for dial in self.dials}
        for part in setting.split(","):
            key, _, value = part.strip().partition("=")
            if key not in dials:
                raise FigureError(
                    f"link to {self.name!r} sets {key!r}, its dials are {[*dials]}"
                )
            allowed = [dials[key].label(v) for v in dials[key].values]
            if value not in allowed:
                raise FigureError(
                    f"link to {self.name!r}: {part}: {key} is one of {allowed}"
                )

    def tree(self, language: str, state: State) -> Element:
        """The drawing of one state in one language.

        Raises:
            FigureError: ``draw`` fails or returns no `scene`; the state is named.
        """
        try:
            live = self.draw(Language(language), **state)
        except Exception as error:
            raise FigureError(
                f"figure {self.name!r} at {self.setting(state)}: draw raises "
                f"{type(error).__name__}: {error}"
            ) from error
        if not (isinstance(live, Element) and live.get("class") == "ex-live"):
            raise FigureError(
                f"figure {self.name!r}: draw returns no scene, but {live}"
            )
        live.set("role", "group")
        live.set("aria-label", Language(language)(self.alt))
        return live

    def __repr__(self) -> str:
        lines = [self.name]
        for state in self.corners():
            said = numbers(self.tree(languages.SOURCE, state))
            lines.append(
                f"{self.setting(state)}: {' | '.join(said)}".removeprefix(": ")
            )
        return "\n".join(lines)


def is_a(element: Element, cls: str) -> bool:
    """Whether an element has this class."""
    return cls in element.get("class", "").split()


def numbers(live: Element) -> list[str]:
    """The numbers of the readout: of the tiles, and at the ends of rows."""
    tiles = [tile[1] for tile in live.iter() if is_a(tile, "ex-tile")]
    ends = [end[0] for end in live.iter() if is_a(end, "ex-end") and len(end)]
    return [words_of(e) for e in tiles + ends if e.tag == "b" and e.text]


def load(module: str) -> Drawing:
    """The figure of a module: its ``FIGURE``.

    Raises:
        FigureError: the module has none.
    """
    figure = getattr(importlib.import_module(module), "FIGURE", None)
    if not isinstance(figure, Drawing):
        raise FigureError(f"module {module!r} has no FIGURE")
    return figure
