"""Drawing 画结果: an experiment's figure from its stored rows, every seed shown.

Colours have the meanings of `tokenbook.explorer.colors`: right, wrong, or just now;
never a method.
"""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from pandas import DataFrame

from tokenbook.explorer.colors import palette
from tokenbook.lab.experiment import Experiment
from tokenbook.lab.reading import per_seed

UP = {"success", "faithful", "all_right", "first_right", "equations_true", "right"}
DOWN = {"lies", "all_wrong", "gives_up", "truncated", "wrong"}
WIDE = 4  # panels side by side
STYLE = {"font.size": 8, "axes.spines.top": False, "axes.spines.right": False}


def draw(chosen: Experiment, rows: DataFrame) -> Figure:
    """The figure of an experiment 结果图: its message, a panel per variant.

    Thin lines are seeds, the thick one is their median. Blocks of panels stand under
    each other, one for each group of columns in ``chosen.shows``; panels of a block
    share their axes.

    Args:
        chosen: the experiment.
        rows: its rows, from `results`.
    """
    panels = list(chosen.panels or chosen.variants)
    lines = [panels[k : k + WIDE] for k in range(0, len(panels), WIDE)]
    blocks = [(columns, line) for columns in chosen.shows for line in lines]
    across = min(len(panels), WIDE)
    size = (max(2.3 * across, 5.5) + 0.8, 1.7 * len(blocks) + 1.2)
    with rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(blocks), across, squeeze=False, sharex=True)
        for places, (columns, line) in zip(grid, blocks, strict=True):
            for axes, values in zip(places, line, strict=False):
                axes.set_title(said(values), fontsize=8, loc="left")
                axes.tick_params(labelbottom=True)
                curves(axes, rows, columns, values)
            for axes in places[len(line) :]:
                axes.axis("off")
            places[0].set_ylabel(", ".join(columns).replace("_", " "))
        for columns in chosen.shows:
            share(grid, blocks, columns)
        title = (chosen.message or chosen.question)["en"]
        figure.suptitle(textwrap.fill(title, int(11 * size[0])), x=0.01, ha="left")
        figure.supxlabel(f"{chosen.columns['step']}\n{meaning(chosen)}", fontsize=7)
    return figure


def curves(axes: Axes, rows: DataFrame, columns: tuple[str, ...], values: dict):
    """Every seed of some columns, their median, and the column's name at its end."""
    steps = per_seed(rows, "step", **values)[0]
    ends = []
    for column, color in zip(columns, colors(columns), strict=True):
        numbers = per_seed(rows, column, **values)
        known = ~np.isnan(numbers).all(0)
        axes.plot(steps[known], numbers[:, known].T, color=color, lw=0.7, alpha=0.4)
        middle = np.nanmedian(numbers[:, known], 0)
        axes.plot(steps[known], middle, color=color, lw=2)
        ends.append((middle[-1], steps[known][-1], column, color))
    room = 0.2 * np.ptp(axes.get_ylim())
    above = np.inf
    for height, step, column, color in sorted(ends)[::-1] if len(ends) > 1 else ():
        below = above - height < room  # a name above this end would overlap the other
        axes.annotate(
            column.replace("_", " "),
            (step, height),
            (0, -3 if below else 3),
            textcoords="offset points",
            ha="right",
            va="top" if below else "bottom",
            color=color,
            fontweight="bold",
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )
        above = height


def colors(columns: tuple[str, ...]) -> list[str]:
    """Colours of a column by its meaning: right, wrong, or the plain ink."""
    others = iter(("ink", "alt", "old"))
    roles = {**dict.fromkeys(UP, "up"), **dict.fromkeys(DOWN, "down")}
    return [palette()[roles.get(name) or next(others)] for name in columns]


def share(grid: np.ndarray, blocks: list, columns: tuple[str, ...]):
    """One vertical axis for all panels of a block; shares go from 0 to 1."""
    mine = [
        axes
        for places, (its, line) in zip(grid, blocks, strict=True)
        if its == columns
        for axes in places[: len(line)]
    ]
    low = min(axes.get_ylim()[0] for axes in mine)
    high = max(axes.get_ylim()[1] for axes in mine)
    if -0.1 < low and high < 1.1:
        low, high = -0.03, 1.03
    for axes in mine:
        axes.set_ylim(low, high)


def said(values: dict) -> str:
    """The title of a panel.

    >>> said({"paid": "match", "kl": 0.04})
    'match, kl 0.04'
    """
    return ", ".join(v if isinstance(v, str) else f"{k} {v}" for k, v in values.items())


def meaning(chosen: Experiment) -> str:
    """Meanings of the columns that are shown, one a line."""
    shown = dict.fromkeys(column for columns in chosen.shows for column in columns)
    return "\n".join(f"{name}: {chosen.columns[name]}" for name in shown)
