"""Rows of pairs: where each seed begins, and where it ends."""

import numpy as np
from matplotlib.axes import Axes

from tokencredit.figures._style import COLORS


def dumbbells(
    ax: Axes,
    rows: dict[str, np.ndarray],
    hues: dict[str, str] | None = None,
    ends: tuple[str, str] = ("first", "last"),
) -> None:
    """A row for each name 哑铃图: each seed from its first value to its last.

    First values are hollow and last ones filled, and a bar across the row marks the
    median of the last; ``name_lines`` names the dots.

    Args:
        ax: the panel, whose y axis takes the names, the first on top.
        rows: for each name the values of all seeds, `[2, seeds]`: first and last. A
            seed that is NaN has no line, and the median is that of the others.
        hues: a key of `COLORS` for a row that says up or down; others are in ink.
        ends: what the two values are called.
    """
    names = [*rows][::-1]
    plain = next((name for name in rows if name not in (hues or {})), names[-1])
    for y, name in enumerate(names):
        color = COLORS[(hues or {}).get(name, "ink")]
        if y % 2:
            ax.axhspan(y - 0.5, y + 0.5, color=COLORS["grey"], alpha=0.08, lw=0)
        first, last = rows[name]
        places = np.linspace(y + 0.32, y - 0.32, len(first))
        ax.plot([first, last], [places, places], color=color, lw=0.7)
        begun = ax.plot(first, places, "o", ms=3.2, mfc="none", color=color)
        ended = ax.plot(last, places, "o", ms=3.2, color=color)
        middle = np.nanmedian(last)
        ax.vlines(middle, y - 0.44, y + 0.44, color=color, alpha=0.4, lw=3)
        if name == plain:
            begun[0].set_label(ends[0])
            ended[0].set_label(ends[1])
    ax.set(yticks=range(len(names)), yticklabels=names, ylim=(-0.5, len(names) - 0.5))
