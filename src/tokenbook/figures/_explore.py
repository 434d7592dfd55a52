"""The live figures by name: each is a file of this folder with a ``FIGURE``."""

from pathlib import Path

from tokenbook.explorer import Figure, FigureError, load


def figure_names() -> list[str]:
    """Names of the live figures: the files of this folder without an underscore."""
    files = Path(__file__).parent.glob("[!_]*.py")
    return sorted(file.stem for file in files)


def explore(name: str) -> Figure:
    """Show a live figure 可调图: the last expression of a cell is ``explore("gae")``.

    Args:
        name: a file of this folder, without ``.py``.

    Raises:
        FigureError: there is no such file.
    """
    if name not in figure_names():
        raise FigureError(f"no figure {name!r}; there are {figure_names()}")
    return load(f"tokenbook.figures.{name}")
