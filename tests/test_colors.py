"""The colour contract, measured: contrast, and distance for every kind of eye.

Contrast is that of WCAG 2.2. Distance is Euclidean in OKLab times 100; dichromats are
simulated with the matrices of Machado, Oliveira and Fernandes (2009), severity 1.
"""

import itertools
import re

import numpy as np
import pytest

from tokenbook.explorer.colors import SHEET, THEMES, mix, palette, rgb

EYES = {
    "normal": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(color: str) -> np.ndarray:
    """Linear light of sRGB."""
    x = np.array(rgb(color)) / 255
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG, 1 to 21."""
    lights = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] + 0.05 for c in (one, other))
    return lights[1] / lights[0]


def distance(one: str, other: str, eye: str = "normal") -> float:
    """How far apart two colours look to an eye."""
    labs = []
    for color in (one, other):
        seen = np.clip(np.array(EYES[eye]) @ linear(color), 0, 1)
        labs.append(TO_LAB @ np.cbrt(TO_CONES @ seen))
    return 100 * float(np.linalg.norm(labs[0] - labs[1]))


def fill(theme: str, role: str, share: float = 1.0) -> str:
    """The colour of a chip: so much of the strongest fill."""
    colors = palette(theme)
    return mix(colors[role], colors["paper"], share * int(colors["mix"][:-1]) / 100)


over_themes = pytest.mark.parametrize("theme", THEMES)
over_eyes = pytest.mark.parametrize("eye", EYES)


def test_the_measures_give_their_known_values():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert distance("#000000", "#ffffff") == pytest.approx(100, abs=0.1)
    red, green = "#ff0000", "#00ff00"
    assert distance(red, green, "deutan") < 0.6 * distance(red, green)


def test_both_themes_name_the_same_colours():
    assert palette("light").keys() == palette("dark").keys()
    assert palette("light") != palette("dark")


@over_themes
def test_words_can_be_read_on_paper_and_on_a_wash(theme):
    colors = palette(theme)
    for role, least in (("ink", 12), ("muted", 4.5), ("up", 4.5), ("down", 4.5)):
        for ground in ("paper", "wash"):
            assert contrast(colors[role], colors[ground]) >= least, (role, ground)
    assert contrast(colors["alt"], colors["paper"]) >= 4.5


@over_themes
def test_marks_stand_out_from_paper_and_amber_has_an_edge_of_ink(theme):
    colors = palette(theme)
    for role in ("up", "down", "old", "alt", "ink"):
        assert contrast(colors[role], colors["paper"]) >= 3, role
    edge = max(
        contrast(colors["ink"], colors["paper"]),
        contrast(colors["mark"], colors["paper"]),
    )
    assert edge >= 3


@over_themes
def test_ink_can_be_read_on_the_strongest_fill(theme):
    for role in ("up", "down"):
        assert contrast(palette(theme)["ink"], fill(theme, role)) >= 4.5


@over_themes
@over_eyes
def test_up_and_down_differ_for_every_eye(theme, eye):
    colors = palette(theme)
    assert distance(colors["up"], colors["down"], eye) >= 20
    assert distance(fill(theme, "up"), fill(theme, "down"), eye) >= 10


@over_themes
@over_eyes
def test_now_and_before_differ_by_their_light_for_every_eye(theme, eye):
    colors = palette(theme)
    assert distance(colors["ink"], colors["old"], eye) >= 20
    for role in ("up", "down"):
        assert distance(colors[role], colors["mark"], eye) >= 10, role


def test_the_style_sheet_has_no_colour_besides_the_contract():
    text = SHEET.read_text("utf-8")
    used = set(re.findall(r"#[0-9a-f]{3,8}\b", text))
    known = {c for theme in THEMES for c in palette(theme).values()}
    assert used <= known


def test_no_two_roles_of_a_theme_are_one_colour():
    for theme in THEMES:
        for one, other in itertools.combinations(palette(theme).values(), 2):
            assert one != other
