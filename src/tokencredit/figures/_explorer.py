"""What a figure's file states: dials, words and one function that draws."""

import base64
import importlib
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from explorer import Figure as TreeFigure
from explorer import FigureError
from tokencredit.figures._style import RC, draw_png, unsign_zero

Words = dict[str, str]
State = dict[str, float | str]


@dataclass(frozen=True)
class Dial:
    """One slider 滑块 of a live figure.

    Args:
        key: the argument of ``update`` that it sets.
        values: what it can be in the book, in the order of the slider: numbers, or
            short words that are the same in every language, with an empty `fmt`.
        start: the value it begins with, one of `values`.
        symbol: short sign in every language, e.g. "γ".
        name: what the symbol means, per language.
        fmt: how a value is written, a format specification.
        fine: whether a live kernel may go between the values; by default where
            there are more than three numbers.
    """

    key: str
    values: Sequence[float | str]
    start: float | str
    symbol: str
    name: Words
    fmt: str = "g"
    fine: bool | None = None

    def __post_init__(self):
        object.__setattr__(self, "values", tuple(self.values))
        if self.fine is None:
            words = any(isinstance(value, str) for value in self.values)
            object.__setattr__(self, "fine", len(self.values) > 3 and not words)
        if len(set(self.values)) < 2 or len(set(self.values)) < len(self.values):
            raise FigureError(f"dial {self.key!r}: needs two or more different values")
        if self.start not in self.values:
            raise FigureError(
                f"dial {self.key!r}: start {self.start!r} is not one of its values "
                f"{self.values}"
            )

        labels = [self.label(value) for value in self.values]
        if len(set(labels)) < len(labels):
            raise FigureError(
                f"dial {self.key!r}: two values are written the same in {labels}"
            )

    def label(self, value: float | str) -> str:
        """The value as a reader sees it."""
        return format(value, self.fmt)


@dataclass(frozen=True)
class Explorer:
    """A live figure 可调图: one drawing function, its dials and its words.

    Args:
        figure: makes the artists once and returns ``fig, update``. ``update`` takes
            the dials as keywords, calls the course's own functions, only moves
            artists, and returns the numbers of the readout by name.
        dials: the sliders; the book draws every joint state of their values.
        title, alt: per language; `alt` says what there is to see.
        readout: a format string per language over the numbers of ``update``.
    """

    figure: Callable[[], tuple[Figure, Callable[..., dict[str, float]]]]
    dials: Sequence[Dial]
    title: Words
    readout: Words
    alt: Words

    @property
    def name(self) -> str:
        """The name of the file that it stands in."""
        return self.figure.__module__.rsplit(".", 1)[-1]

    @property
    def start(self) -> State:
        return {dial.key: dial.start for dial in self.dials}

    @property
    def states(self) -> Iterator[State]:
        """Every joint state of the grid, the last dial running fastest."""
        keys = [dial.key for dial in self.dials]
        for values in itertools.product(*(dial.values for dial in self.dials)):
            yield dict(zip(keys, values, strict=True))

    def make(self) -> tuple[Figure, Callable[[State], dict[str, float]]]:
        """Make the artists; the update that comes back says where it fails."""
        with rc_context(RC):
            fig, update = self.figure()
        known = set(inspect.signature(update).parameters)
        keys = [dial.key for dial in self.dials]
        if known != set(keys) or len(keys) != len(known):
            raise FigureError(
                f"figure {self.name!r}: its dials are {keys}, "
                f"but update takes {sorted(known)}"
            )

        def checked(state: State) -> dict[str, float]:
            try:
                numbers = {k: float(v) for k, v in update(**state).items()}
            except Exception as error:
                raise FigureError(
                    f"{self.where(state)}: update raises "
                    f"{type(error).__name__}: {error}"
                ) from error
            for key, value in numbers.items():
                if not math.isfinite(value):
                    raise FigureError(f"{self.where(state)}: readout {key} is {value}")
            return numbers

        return fig, checked

    def where(self, state: State) -> str:
        """The figure and the state, as an error message begins."""
        values = ", ".join(f"{d.key}={d.label(state[d.key])}" for d in self.dials)
        return f"figure {self.name!r} at {values}"

    def say(self, language: str, numbers: dict[str, float]) -> str:
        """The readout in words; a zero has no sign."""
        try:
            text = self.readout[language].format(**numbers)
        except KeyError as error:
            raise FigureError(
                f"figure {self.name!r}: the {language} readout names {error}, "
                f"update returns {sorted(numbers)}"
            ) from None
        return unsign_zero(text)

    def corners(self) -> Iterator[State]:
        """The start and the corners of the grid."""
        yield self.start
        keys = [dial.key for dial in self.dials]
        ends = [(dial.values[0], dial.values[-1]) for dial in self.dials]
        for values in itertools.product(*ends):
            yield dict(zip(keys, values, strict=True))

    def __repr__(self) -> str:
        _, update = self.make()
        lines = [self.name]
        for state in self.corners():
            at = " ".join(f"{d.key}={d.label(state[d.key])}" for d in self.dials)
            numbers = update(state).items()  # below 1e-12 they are rounding
            say = " ".join(f"{k}={round(v, 12) + 0:.4g}" for k, v in numbers)
            lines.append(f"{at}: {say}")
        return "\n".join(lines)

    def png(self) -> bytes:
        """The start state as a small picture."""
        fig, update = self.make()
        update(self.start)
        return draw_png(fig)

    def _repr_mimebundle_(self, include=None, exclude=None):
        from tokencredit.figures._live import widget

        bundle = widget(self)._repr_mimebundle_()
        return {
            **bundle,
            "text/plain": repr(self),
            "image/png": base64.b64encode(self.png()).decode(),
        }, {"tokencredit": {"explorer": self.name}}


def figure_names() -> list[str]:
    """The live figures there are: the files of this folder without an underscore."""
    files = Path(__file__).parent.glob("[!_]*.py")
    return sorted(file.stem for file in files)


def recorded() -> list[str]:
    """The figures that draw with matplotlib and are recorded."""
    return [n for n in figure_names() if not isinstance(explore(n), TreeFigure)]


def explore(name: str) -> Explorer | TreeFigure:
    """Show a live figure 可调图: the last expression of a cell is ``explore("gae")``.

    Args:
        name: a file of this folder, without ``.py``.

    Raises:
        FigureError: there is no such file.
    """
    if name not in figure_names():
        raise FigureError(f"no figure {name!r}; there are {figure_names()}")
    module = importlib.import_module(f"tokencredit.figures.{name}")
    return module.FIGURE if hasattr(module, "FIGURE") else module.EXPLORER


def check_link(name: str, setting: str) -> None:
    """Raise `FigureError` unless a link in the prose 文中链接 can be followed.

    Args:
        name: the value of ``data-xp``.
        setting: the value of ``data-set``: one or more ``key=value`` with commas.
    """
    figure = explore(name)
    if isinstance(figure, TreeFigure):
        return figure.check(setting)
    dials = {dial.key: dial for dial in figure.dials}
    for part in setting.split(","):
        key, _, value = part.strip().partition("=")
        if key not in dials:
            raise FigureError(
                f"link to {name!r} sets {key!r}, its dials are {[*dials]}"
            )
        allowed = [dials[key].label(v) for v in dials[key].values]
        if value not in allowed:
            raise FigureError(f"link to {name!r}: {part}: {key} is one of {allowed}")
