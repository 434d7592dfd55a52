"""Every recorded figure of the course, the recorder, plots and the thread."""

import base64
import gzip
import json
import re
import string
from dataclasses import replace
from pathlib import Path

import figure_example
import pytest

from tokencredit.figures import (
    COLORS,
    Dial,
    FigureError,
    canvas,
    check_link,
    explore,
    figure_names,
    inline_svg,
    pipeline,
    show,
)
from tokencredit.figures import _page as page
from tokencredit.figures._explorer import Explorer, recorded
from tokencredit.figures._live import widget

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
EXAMPLE = figure_example.EXPLORER
HAN = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


def gz(text: str) -> int:
    return len(gzip.compress(text.encode(), 9, mtime=0))


@pytest.fixture(scope="module", params=[*recorded(), EXAMPLE.name])
def explorer(request) -> Explorer:
    return EXAMPLE if request.param == EXAMPLE.name else explore(request.param)


@pytest.fixture(scope="module")
def pages(explorer) -> dict[str, str]:
    return page.build(explorer)


def test_update_answers_in_every_state_of_the_grid(explorer):
    _, update = explorer.make()
    for state in explorer.states:
        numbers = update(state)
        for language in explorer.title:
            assert explorer.say(language, numbers)


def test_words_stand_in_the_same_languages_and_english_has_no_han(explorer):
    texts = [explorer.title, explorer.readout, explorer.alt]
    texts += [dial.name for dial in explorer.dials]
    for words in texts:
        assert list(words) == ["zh", "en"]
        assert HAN.search(words["zh"]) and not HAN.search(words["en"]), words["en"]
    fields = {
        lang: sorted(f[1:3] for f in string.Formatter().parse(text) if f[1])
        for lang, text in explorer.readout.items()
    }
    assert fields["zh"] == fields["en"]
    assert not any(HAN.search(dial.symbol) for dial in explorer.dials)


def test_a_page_element_weighs_at_most_12_kb_and_uses_the_palette_only(pages):
    for language, html in pages.items():
        assert gz(html) <= 12_000, f"{language}: {gz(html)} bytes, gzipped"
        drawing = html.partition("<script")[0]
        assert not re.findall(r"#[0-9a-f]{6}\b", drawing), "a colour not in COLORS"
        assert "<style" not in html and "http" not in html


def test_a_drawing_has_no_words_and_an_english_page_no_han(pages):
    for svg in re.findall(r"<svg.*?</svg>", pages["zh"]):
        assert not HAN.search(svg)
    assert not HAN.search(pages["en"])


def test_an_output_in_git_weighs_at_most_10_kb_and_holds_no_widget_state(explorer):
    bundle, metadata = explorer._repr_mimebundle_()
    assert bundle.pop("application/vnd.jupyter.widget-view+json")
    assert len(json.dumps(bundle)) <= 10_000
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert sorted(bundle) == ["image/png", "text/plain"]
    assert metadata == {"tokencredit": {"explorer": explorer.name}}
    lines = bundle["text/plain"].splitlines()
    assert len(lines) == 2 + 2 ** len(explorer.dials)


def test_the_script_weighs_at_most_2_kb():
    script = page.Path(page.__file__).parent / "static" / "recorder.js"
    assert gz(script.read_text("utf-8")) <= 2_000


def test_the_course_has_its_live_figures():
    assert {"gae", "importance", "value_clip"} <= set(figure_names())


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
            check_link(name, setting)


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
        check_link(name, setting)


# Faults planted in the example: each is found, and the message says where.


def broken(change) -> Explorer:
    """The example with `change(fig, phase, size, numbers)` after every update."""

    def figure():
        fig, update = figure_example.figure()

        def wrong(phase=0.0, size=0.5):
            numbers = update(phase, size)
            if phase == 0.3 and size == 1:
                change(fig, numbers)
            return numbers

        return fig, wrong

    return replace(EXAMPLE, figure=figure)


def bad_value(fig, numbers):
    numbers["power"] = float("nan")


def bad_limits(fig, numbers):
    fig.axes[0].set_xlim(0, 2)


def bad_artist(fig, numbers):
    fig.axes[0].plot([0, 1], [0, 1])


def bad_swap(fig, numbers):
    fig.axes[0].lines[0].remove()
    fig.axes[0].plot([0, 1], [0, 1])


def bad_points(fig, numbers):
    fig.axes[0].lines[1].set_data([0, 0.5], [0, 0.5])


def bad_call(fig, numbers):
    raise ZeroDivisionError("a planted fault")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (bad_value, "readout power is nan"),
        (bad_limits, "changes axis limits"),
        (bad_artist, "adds or removes artists"),
        (bad_swap, "adds or removes artists"),
        (bad_points, "SVG elements"),
        (bad_call, "update raises ZeroDivisionError: a planted fault"),
    ],
)
def test_a_state_that_cannot_be_shown_is_named(change, message):
    with pytest.raises(FigureError, match=r"'test_figures' at phase=0.3, size=1.*"):
        page.build(broken(change))
    with pytest.raises(FigureError, match=re.escape(message)):
        page.build(broken(change))


def test_a_dial_that_update_does_not_know_is_named():
    wrong = replace(EXAMPLE.dials[1], key="amplitude")
    with pytest.raises(FigureError, match=r"'amplitude'.*update takes.*'size'"):
        replace(EXAMPLE, dials=[EXAMPLE.dials[0], wrong]).make()


def test_a_start_that_is_not_on_the_grid_is_named():
    with pytest.raises(FigureError, match=r"dial 'size': start 0\.3 is not one of"):
        replace(EXAMPLE.dials[1], start=0.3)
    with pytest.raises(FigureError, match="two or more different values"):
        Dial("size", [1, 1], start=1, symbol="s", name={})


def test_two_values_that_read_the_same_are_named():
    with pytest.raises(FigureError, match="two values are written the same"):
        replace(EXAMPLE.dials[1], values=[0.123, 0.124, 0.5], fmt=".2f")


def test_a_readout_that_names_an_unknown_number_is_an_error():
    wrong = EXAMPLE.readout | {"en": "{speed:.1f}"}
    with pytest.raises(FigureError, match="the en readout names 'speed'"):
        page.build(replace(EXAMPLE, readout=wrong))


def test_an_unknown_figure_is_named_with_those_there_are():
    with pytest.raises(FigureError, match=r"no figure 'gea'; there are \[.*'gae'"):
        explore("gea")


def test_a_changed_constant_changes_the_stored_text():
    def louder():
        fig, update = figure_example.figure()
        return fig, lambda phase=0, size=0.5: update(phase, 1.01 * size)

    assert repr(replace(EXAMPLE, figure=louder)) != repr(EXAMPLE).replace(
        "figure_example", "test_figures"
    )


def test_a_zero_is_said_without_a_sign():
    assert EXAMPLE.say("en", {"first": -0.001, "power": -0.0}) == (
        "first 0.00, power 0.000"
    )
    assert EXAMPLE.say("en", {"first": -0.01, "power": -10.0}) == (
        "first -0.01, power -10.000"
    )


def test_the_widget_holds_its_own_picture_and_shows_an_error_in_it():
    box = widget(broken(bad_call))
    picture, phase, size = box.children[1:]
    before = picture.value
    assert "<svg" in before
    assert phase.step == pytest.approx(0.005), "every value of the grid, and between"
    size.value = 1
    assert "<svg" in picture.value and picture.value != before
    with pytest.raises(FigureError, match="a planted fault"):
        phase.value = 0.3
    assert "a planted fault" in picture.value
    phase.value = 0.31
    assert "<svg" in picture.value


def test_the_cache_is_keyed_by_every_file_of_the_package(tmp_path):
    for name in ("b", "a"):
        package = tmp_path / name
        package.mkdir()
        for file in sorted(["x.py", "y.py"], reverse=name == "b"):
            (package / file).write_text(file)
    assert page.cache_key(tmp_path / "a") == page.cache_key(tmp_path / "b")
    page.cache_key.cache_clear()
    key = page.cache_key(tmp_path / "a")
    (tmp_path / "a" / "y.py").write_text("other")
    page.cache_key.cache_clear()
    assert page.cache_key(tmp_path / "a") != key


def test_a_second_build_draws_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    name = recorded()[0]
    first = page.page_html(name, "zh", "one")
    monkeypatch.setattr(page, "build", None)
    assert page.page_html(name, "zh", "one") == first
    other = page.page_html(name, "en", "two")
    assert "one-0" in first and "two-0" in other and "one-0" not in other
    (file,) = tmp_path.rglob("*.json")
    file.write_text("torn")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert page.page_html(name, "zh", "one") == first


# Static plots.


@pytest.fixture
def plot():
    fig, ax = canvas()
    ax.plot([0, 1, 2], [0, 1 / 3, 1], "o-", color=COLORS["green"])
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
        '<div class="fig" role="img" aria-label="a &quot;line&quot; &amp; dots"><svg'
    )
    assert "var(--fig-green)" in html
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


# The thread of the course.


def test_the_thread_lights_the_arrow_into_one_stage():
    assert repr(pipeline("credit")) == (
        "prompt -> tokens -> reward => credit -> weight -> gradient"
    )
    for language, word in (("zh", "功劳"), ("en", "credit")):
        html = pipeline("credit").html(language)
        assert f'<li aria-current="step" class="lit">{word}</li>' in html
        assert html.count("<li") == 6
    assert not HAN.search(pipeline("credit").html("en"))
    bundle, _ = pipeline("credit")._repr_mimebundle_()
    assert "功劳 credit" in bundle["text/html"]


@pytest.mark.parametrize("stage", ["prompt", "loss"])
def test_no_arrow_leads_to_the_prompt_or_to_an_unknown_stage(stage):
    with pytest.raises(ValueError, match=f"no arrow leads to '{stage}'"):
        pipeline(stage)
