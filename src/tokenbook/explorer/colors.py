"""The colour contract 颜色约定, read from the style sheet that every page has."""

import re
from functools import cache
from pathlib import Path

SHEET = Path(__file__).parent / "static" / "colors.css"
ROLES = ("ink", "old", "up", "down", "alt")
"""What a mark can mean: now, before, up and right, down and wrong, a third line."""
THEMES = {"light": ":root", "dark": 'html[data-theme="dark"]'}


@cache
def palette(theme: str = "light") -> dict[str, str]:
    """The colours of a theme by their names in the style sheet, without ``--tc-``.

    Args:
        theme: "light" or "dark".

    >>> palette()["up"], palette("dark")["mark"], palette()["mix"]
    ('#0b62ad', '#ffcf4a', '55%')
    """
    text = SHEET.read_text("utf-8")
    block = text[text.index(THEMES[theme]) :].partition("}")[0]
    return dict(re.findall(r"--tc-(\w+): (#[0-9a-f]{6}|\d+%)", block))


def mix(color: str, ground: str, share: float) -> str:
    """So much of a colour in the ground, as CSS mixes them.

    >>> mix("#000000", "#ffffff", 0.5)
    '#808080'
    """
    pairs = zip(rgb(color), rgb(ground), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def rgb(color: str) -> list[int]:
    """Red, green and blue of ``#rrggbb``, 0 to 255."""
    return [int(color[k : k + 2], 16) for k in (1, 3, 5)]
