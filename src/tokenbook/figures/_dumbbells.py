"""Rows of seeds, and of pairs: where each seed begins, and where it ends."""

import numpy as np
from matplotlib.axes import Axes

from tokenbook.figures._style import COLORS

NAME, FOOT = 17, 6  # points of a row above its first seed, and below its last


def name_rows(ax: Axes, names: list[str]) -> None:
    """Rows with a name each 行名, the first on top, at the heights n - 1, ..., 0.

    A name is in its row, above the data, so that these have the width of the panel:
    ``canvas(left=0.25)`` has room for the panel's letter.

    Args:
        ax: the panel.
        names: of the rows, from the top.
    """
    for y, name in enumerate(names[::-1]):
        if y % 2:
            ax.axhspan(y - 0.5, y + 0.5, color=COLORS["grey"], alpha=0.08, lw=0)
        ax.annotate(
            name,
            (0, y + 0.5),
            (4, -7),
            xycoords=ax.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
        )
    ax.set(yticks=[], ylim=(-0.5, len(names) - 0.5))
    ax.spines["left"].set_visible(False)


def dumbbells(
    ax: Axes,
    rows: dict[str, np.ndarray],
    hues: dict[str, str] | None = None,
    ends: tuple[str, str] | None = None,
) -> None:
    """A row for each name 哑铃图: each seed from its first value to its last.

    First values are hollow and last ones filled; a seed that rises is in the colour of
    up, one that falls in that of down. A bar across the seeds marks the median of the
    last, which is written at the end of the row.

    Args:
        ax: the panel.
        rows: for each name the values of all seeds, `[2, seeds]`: first and last. A
            seed that is NaN has no line, and the median is that of the others.
        hues: a key of `COLORS` for a row with another meaning.
        ends: names of the two values, shown by a pair above the panel, for which
            ``canvas(top=0.47)`` has room under a title.
    """
    name_rows(ax, [*rows])
    tall = 72 / ax.figure.dpi * ax.get_window_extent().height / len(rows)
    head, foot = 0.5 - NAME / tall, -0.5 + FOOT / tall
    for y, name in enumerate([*rows][::-1]):
        hue = (hues or {}).get(name)
        first, last = rows[name]
        middle = np.nanmedian(last)
        many = len(first) > 1
        places = np.linspace(head, foot, len(first)) if many else [(head + foot) / 2]
        for start, end, at in zip(first, last, y + np.array(places), strict=True):
            sign = ("grey", "blue", "vermilion")[int(end > start) - int(end < start)]
            color = COLORS[hue or sign]
            ax.plot([start, end], [at, at], color=color, lw=1.2)
            # the first is larger, so that it is seen round the last
            ax.plot(start, at, "o", ms=4.6, mfc="white", color=color)
            ax.plot(end, at, "o", ms=3.4, color=color)
        if many:  # of one seed, only the filled dot
            bar = y + foot - 4 / tall, y + head + 4 / tall
            ax.vlines(middle, *bar, color=COLORS["ink"], lw=2, zorder=1)
        ax.annotate(
            f"{middle:#.2g}".rstrip("."),
            (1, y + 0.5),
            (-2, -7),
            xycoords=ax.get_yaxis_transform(),
            textcoords="offset points",
            ha="right",
            va="center",
        )
    if ends:
        _name_pair(ax, *ends, several=many)


def _name_pair(ax: Axes, first: str, last: str, several: bool) -> None:
    """A pair above the panel, with a name on either side; the bar of several seeds."""
    at = 5.2 * len(first) + 5 + np.array([0, 28])  # points from the panel's left
    box = ax.get_window_extent()
    x, y, gap = at / box.width, 1 + 9 / box.height, 5 / box.width
    look = {"color": COLORS["grey"], "transform": ax.transAxes, "clip_on": False}
    ax.plot(x, [y, y], lw=0.8, **look)
    ax.plot(x[0], y, "o", ms=3.6, mfc="white", **look)
    ax.plot(x[1], y, "o", ms=3.6, **look)
    ax.text(x[0] - gap, y, first, ha="right", va="center", transform=ax.transAxes)
    ax.text(x[1] + gap, y, last, va="center", transform=ax.transAxes)
    if not several:
        return
    ax.text(1, y, "median", ha="right", va="center", transform=ax.transAxes)
    bar, tall = 1 - 38 / box.width, 5 / box.height  # left of its name
    ax.plot([bar, bar], [y - tall, y + tall], lw=2, **look | {"color": COLORS["ink"]})
