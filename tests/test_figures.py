"""Links to figures, and static plots."""

import json
import re
from itertools import zip_longest
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from matplotlib.colors import to_rgb

from tokenbook.figures import (
    COLORS,
    LEVELS,
    FigureError,
    canvas,
    dumbbells,
    explore,
    inline_svg,
    name_ends,
    name_lines,
    show,
)

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_every_link_to_a_figure_can_be_followed(path):
    cells = json.loads(path.read_text("utf-8"))["cells"]
    shown = set()
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            shown |= set(re.findall(r'\bexplore\("(\w+)"\)', text))
    for cell in cells:
        for link in re.findall(r"<a [^>]*data-xp[^>]*>", "".join(cell["source"])):
            name, setting = (
                re.search(rf'{attribute}="([^"]*)"', link)[1]
                for attribute in ("data-xp", "data-set")
            )
            assert name in shown, f"{link}: this chapter does not show it"
            explore(name).check(setting)


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("nothing", "lam=0", "no figure 'nothing'"),
        ("gae", "lambda=0", "sets 'lambda', its dials are"),
        ("gae", "lam=0.951", "lam is one of"),
    ],
)
def test_a_link_that_leads_nowhere_is_an_error(name, setting, message):
    with pytest.raises(FigureError, match=re.escape(message)):
        explore(name).check(setting)


def test_an_unknown_figure_is_named_with_those_there_are():
    with pytest.raises(FigureError, match=r"no figure 'gea'; there are \[.*'gae'"):
        explore("gea")


# Static plots.


@pytest.fixture
def plot():
    fig, ax = canvas()
    ax.plot([0, 1, 2], [0, 1 / 3, 1], "o-", color=COLORS["blue"])
    ax.set(xlabel="t", ylabel="$A_t$")
    return show(fig)


def test_a_plot_is_stored_small_and_the_same_on_every_run(plot):
    bundle = plot._repr_mimebundle_()
    assert bundle == plot._repr_mimebundle_()
    assert sum(map(len, bundle.values())) < 20_000
    assert sorted(bundle) == ["image/png", "image/svg+xml", "text/plain"]
    coordinates = re.findall(r' (?:d|x|y)="([^"]*)"', bundle["image/svg+xml"])
    assert coordinates and not re.search(r"\.\d\d", " ".join(coordinates))


def test_an_inlined_plot_follows_the_theme_and_keeps_to_itself(plot):
    svg = plot._repr_mimebundle_()["image/svg+xml"]
    html = inline_svg(svg, 'a "line" & dots', "fig-1")
    assert html.startswith(
        '<div class="fig" role="img" aria-label="a &quot;line&quot; &amp; dots" '
        'style="--wide:270"><svg'
    )
    assert "var(--fig-blue)" in html
    assert not re.search(r"#[0-9a-f]{6}|<style|font-family|xlink", html)
    other = inline_svg(svg, "", "fig-2")
    ids = re.findall(r' id="([^"]*)"', html)
    assert ids and len(set(ids)) == len(ids)
    assert not set(ids) & set(re.findall(r' id="([^"]*)"', other))
    assert set(re.findall(r"#([\w-]+)", html)) == set(ids)


def test_each_panel_is_a_drawing_of_its_own():
    fig, axes = canvas(2, 2)
    for ax in axes.flat:
        ax.plot([0, 1], [0, 1])
    html = inline_svg(show(fig)._repr_mimebundle_()["image/svg+xml"], "four", "p")
    boxes = re.findall(r'<svg viewBox="([^"]*)"', html)
    assert boxes == [
        "0 0 244.8 180",
        "244.8 0 244.8 180",
        "0 180 244.8 180",
        "244.8 180 244.8 180",
    ]


def panels_of(fig) -> list[str]:
    html = inline_svg(show(fig)._repr_mimebundle_()["image/svg+xml"], "", "p")
    return html.split("<svg")[1:]


@pytest.mark.parametrize(
    "rows, cols, said", [(1, 1, ""), (1, 3, "abc"), (2, 2, "abcd")]
)
def test_several_panels_are_called_by_letters_in_order(rows, cols, said):
    fig, axes = canvas(rows, cols, top=0.45)
    for ax in np.ravel(axes):
        ax.set_title("SAPO")
    for panel, letter in zip_longest(panels_of(fig), said, fillvalue=""):
        heads = re.findall(r'y="([^"]*)"[^>]*>(SAPO|[a-z])<', panel)
        assert "".join(words for _, words in heads) == f"{letter}SAPO"
        assert len({height for height, _ in heads}) == 1


@pytest.mark.parametrize("loc", ["", "lower right"])
def test_every_panel_names_its_own_lines(loc):
    fig, axes = canvas(1, 2, top=0.45)
    for ax in axes:
        for name, look in zip(("GRPO", "DAPO"), LEVELS, strict=False):
            ax.plot([0, 1], [0, 1], label=name, **look)
        name_lines(ax, loc)
    for panel in panels_of(fig):
        assert re.findall(r">(GRPO|DAPO)<", panel) == ["GRPO", "DAPO"]
        assert panel.count("stroke-dasharray") == 2  # the line and its piece


def test_names_at_the_ends_stand_in_their_order_and_apart():
    fig, ax = canvas(right=1)
    for end, look in zip((0.5, 0.52, 0.0, 1.0), LEVELS, strict=True):
        ax.plot([0, 1], [0, end], label=f"to {end}", **look)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    name_ends(ax)
    (panel,) = panels_of(fig)
    said = re.findall(r'y="([^"]*)"[^>]*>to ([\d.]+)<', panel)
    heights = {float(end): float(y) for y, end in said}
    assert sorted(heights, key=heights.get) == [1.0, 0.52, 0.5, 0.0]  # y points down
    tall = 72 * (2.5 - 0.25 - 0.42)  # of the panel, in points
    assert heights[0] - heights[1] == pytest.approx(tall, abs=0.2)
    assert heights[0.5] - heights[0.52] == pytest.approx(11, abs=0.2)
    middle = (heights[0.5] + heights[0.52]) / 2
    assert heights[0] - middle == pytest.approx(0.51 * tall, abs=0.2)


def test_a_dumbbell_leads_from_the_first_value_of_a_seed_to_its_last():
    _, ax = canvas()
    rows = {"up": np.array([[0.1, 0.2], [0.9, 0.8]]), "down": np.array([[0.5], [0.4]])}
    dumbbells(ax, rows)
    named = [(text.get_text(), text.xy[1]) for text in ax.texts]
    assert named == [("down", 0.5), ("up", 1.5), ("0.40", 0.5), ("0.85", 1.5)]
    bars = [line for line in ax.lines if line.get_marker() == "None"]
    seen = {tuple(line.get_xdata()): line for line in bars}
    assert set(seen) == {(0.1, 0.9), (0.2, 0.8), (0.5, 0.4)}
    high = {ends: line.get_ydata()[0] for ends, line in seen.items()}
    assert high[0.1, 0.9] > high[0.2, 0.8] > high[0.5, 0.4]  # rows and seeds in order
    hues = {ends: line.get_color() for ends, line in seen.items()}
    assert hues[0.5, 0.4] == COLORS["vermilion"]
    assert hues[0.1, 0.9] == hues[0.2, 0.8] == COLORS["blue"]
    assert 1.5 > high[0.1, 0.9] + 15 / (72 * 1.83 / 2)  # points below the row's name


def test_a_bar_across_the_row_of_a_dumbbell_marks_the_median_of_the_last_values():
    fig, ax = canvas()
    rows = {
        "odd": np.array([[0.1, 0.1, 0.1], [0.9, 0.2, 0.3]]),
        "one lost": np.array([[0.6, np.nan, 0.6], [0.4, np.nan, 0.5]]),
    }
    dumbbells(ax, rows, {"one lost": "grey"}, ends=("early", "late"))
    bars = [bar for marks in ax.collections for bar in marks.get_segments()]
    low, high = sorted(bars, key=lambda bar: bar[0, 1])  # the first row is on top
    assert high[:, 0] == pytest.approx([0.3, 0.3])
    assert low[:, 0] == pytest.approx([0.45, 0.45])
    for y, bar in enumerate((low, high)):
        seeds = [x.get_ydata()[0] for x in ax.lines if abs(x.get_ydata()[0] - y) < 0.5]
        assert bar[0, 1] < min(seeds) and max(seeds) < bar[1, 1] < y + 0.5
    assert {x.get_color() for x in ax.lines if x.get_ydata()[0] < 0.5} == {
        COLORS["grey"]
    }
    for marks in ax.collections:
        assert marks.get_edgecolor()[0, :3] == pytest.approx(to_rgb(COLORS["ink"]))
    (panel,) = panels_of(fig)
    assert re.findall(r">(early|late|median)<", panel) == ["early", "late", "median"]


def test_a_plot_speaks_the_language_of_the_edition():
    fig, ax = canvas()
    ax.set(xlabel="iteration", ylabel="chance of a token, $u$", title="DAPO")
    svg = show(fig)._repr_mimebundle_()["image/svg+xml"]
    words = {"iteration": "迭代次数", "chance of a token, u": "词元的概率 u"}
    said = ElementTree.fromstring(inline_svg(svg, "", "p", words))
    texts = ["".join(text.itertext()) for text in said.iter("text")]
    assert {"迭代次数", "词元的概率 u", "DAPO"} <= set(texts)
    assert not {"iteration", "chance of a token, u"} & set(texts)


def stored_words() -> set[str]:
    """The texts of all static plots, without blanks."""
    found = set()
    for path in [*CHAPTERS, *(ROOT / "book").glob("*.ipynb")]:
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                svg = "".join(output.get("data", {}).get("image/svg+xml", ""))
                for text in ElementTree.fromstring(svg).iter() if svg else ():
                    if text.tag.endswith("}text"):
                        found.add("".join("".join(text.itertext()).split()))
    return found


def test_every_word_of_a_stored_plot_has_a_translation_and_none_is_left_over():
    words = yaml.safe_load(
        (ROOT / "src/tokenbook/site/chapter/plots.yml").read_text("utf-8")
    )
    known = {"".join(said["en"].split()) for said in words}
    stored = stored_words()
    assert known <= stored
    assert not {text for text in stored - known if re.match("[a-z]{4}", text)}
    assert all(re.search("[\u4e00-\u9fff]", said["zh"]) for said in words)


def test_every_static_plot_says_its_claim_first_with_its_stop():
    for path in CHAPTERS:
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            said = cell["metadata"].get("figure", {}).get("caption", {})
            for caption in said.values():
                assert re.match(r"\*\*.{7,}?[.。?？]\*\*( |$)", caption), (
                    f"{path.stem}: {caption}"
                )
