"""The engine of the live figures, without a browser."""

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import explorer_example
import numpy as np
import pytest

from tokenbook.explorer import (
    LANGUAGES,
    Dial,
    Figure,
    FigureError,
    Language,
    Plot,
    Preset,
    Strip,
    chip,
    h,
    html,
    legend,
    load,
    number,
    scene,
    short,
    show_strip,
    strip,
    tile,
    words_of,
)
from tokenbook.explorer import page as pages
from tokenbook.explorer.drawing import is_a
from tokenbook.explorer.live import READER, widget
from tokenbook.explorer.paint import TONES, paint, picture
from tokenbook.explorer.record import encode, idle, record
from tokenbook.explorer.tokens import Strips

EXAMPLE = explorer_example.FIGURE
HAN = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
PNG = b"\x89PNG"


def gz(text: str) -> int:
    return len(gzip.compress(text.encode(), 9, mtime=0))


def test_the_script_weighs_at_most_2500_bytes_and_the_style_sheet_at_most_6900():
    assert gz((pages.STATIC / "explorer.js").read_text("utf-8")) <= 2_500
    assert gz((pages.STATIC / "explorer.css").read_text("utf-8")) <= 6_900


# Trees.


def test_a_string_beside_children_is_an_element_of_its_own_and_none_is_dropped():
    tree = h("p", "a", None, h("b", "c"), "d", cls="  x   y ")
    assert html(tree) == '<p class="x y"><span>a</span><b>c</b><span>d</span></p>'
    assert all(element.tail is None for element in tree.iter())


def test_attributes_are_written_as_html_has_them():
    made = html(h("i", data_at="1", for_="x", hidden=True, disabled=False, role=None))
    assert made == '<i data-at="1" for="x" hidden="hidden"></i>'
    assert html(h("p", "a < b & c")) == "<p>a &lt; b &amp; c</p>"


def test_a_number_is_said_with_a_true_minus_and_a_zero_without_a_sign():
    assert [number(x) for x in (-1.004, -0.004, 0.0)] == ["−1.00", "0.00", "0.00"]
    assert {number(x, 1) for x in (6.25, 6.25 - 1e-15, 6.25 + 1e-15)} == {"6.3"}
    assert [number(x, 1, sign=True) for x in (2, -2, 0)] == ["+2.0", "−2.0", "0.0"]


@pytest.mark.parametrize("write", [number, short])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_drawn(write, bad):
    with pytest.raises(FigureError, match="a number to draw is"):
        write(bad)


# Dials and figures: what cannot be is named.


def dial(**changes):
    return Dial(
        **{"key": "size", "values": [0, 1], "start": 0, "name": ("大", "s")} | changes
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": 0.3}, "start 0.3 is none of its values"),
        ({"values": [1, 1], "start": 1}, "two or more different values"),
        ({"values": [0.123, 0.124], "start": 0.123, "fmt": ".2f"}, "written alike"),
        ({"kind": "knob"}, "kind is one of"),
        ({"kind": "toggle", "values": [0, 2]}, "a toggle is 0 or 1"),
        (
            {"kind": "choice", "values": ["a", "b"], "start": "a", "fmt": ""},
            "names each value",
        ),
        ({"options": [("甲", "a"), ("乙", "b")]}, "only a choice does"),
    ],
)
def test_a_dial_that_cannot_be_is_named(changes, message):
    with pytest.raises(FigureError, match=f"dial 'size': .*{re.escape(message)}"):
        dial(**changes)


def test_the_numbers_of_a_choice_are_their_own_names_in_every_language():
    names = dial(kind="choice", values=[0.5, 2], start=2).options
    assert [*names] == [("0.5",) * len(LANGUAGES), ("2",) * len(LANGUAGES)]


def test_a_live_kernel_goes_between_the_values_of_a_continuous_slider_only():
    assert dial(values=[0, 0.1, 0.2, 0.3]).fine
    assert not dial(values=[0, 1, 2, 3]).fine
    assert not dial(values=[0, 0.5, 1]).fine
    assert not dial(values=[0, 0.1, 0.2, 0.3], kind="time").fine


def nothing(L, size):
    return scene(h("p", str(size)))


def figure(**changes):
    made = {
        "draw": nothing,
        "dials": [dial()],
        "title": ("题", "t"),
        "alt": ("图", "a"),
    }
    return Figure(**made | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dials": [dial(key="other")]}, "its dials are ['other'], but draw takes"),
        ({"title": ("题",)}, "words in ('zh', 'en')"),
        ({"alt": "a picture"}, "words in ('zh', 'en')"),
        ({"presets": [Preset(("甲", "a"), other=1)]}, "no dial ['other']"),
        ({"presets": [Preset(("甲", "a"), size=3)]}, "size is one of ['0', '1']"),
    ],
)
def test_a_figure_that_cannot_be_is_named(changes, message):
    with pytest.raises(FigureError, match=f"'test_explorer'.*{re.escape(message)}"):
        figure(**changes)


def test_words_miss_no_language():
    assert [Language(name)("甲", "a") for name in LANGUAGES] == ["甲", "a"]
    with pytest.raises(FigureError, match="words in"):
        Language("en")("a")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Plot((0, 1), (0, 1), x_name="x"), "names both axes"),
        (lambda: Plot((0, 0), (0, 1), axes=False), "needs room"),
        (
            lambda: Plot((0, 1), (0, 1), axes=False).arrow(0, 0, 1, 1),
            "level or upright",
        ),
        (lambda: chip("a", who="god"), "who is one of"),
        (lambda: chip("a", credit=1.5), "credit is 1.5"),
        (lambda: Strip([]), "no words"),
        (lambda: Strip("ab", credit=[1]), "2 words, but 1 of credit"),
        (lambda: Strip("ab", who=["model", "god"]), "who is one of"),
        (lambda: show_strip(), "no strip"),
        (lambda: load("explorer_example.nothing"), "No module named"),
        (lambda: load("tokenbook.explorer"), "has no FIGURE"),
    ],
)
def test_a_part_that_cannot_be_is_named(make, message):
    with pytest.raises((FigureError, ModuleNotFoundError), match=message):
        make()


# Faults planted in the example: each is found, and the message says where.


def broken(change) -> Figure:
    """The example with `change(tree)` in one of its states."""

    def draw(L, phase, size, way, on, step, pick):
        live = explorer_example.draw(L, phase, size, way, on, step, pick)
        if (phase, size, way, on, step, pick) == (0.3, 1, -1, 0, 2, 1):
            change(live)
        return live

    short_phase = replace(EXAMPLE.dials[0], values=[0.1, 0.3])
    return replace(EXAMPLE, draw=draw, dials=[short_phase, *EXAMPLE.dials[1:]])


def bad_child(live):
    live[0].append(h("p", "more"))


def bad_tag(live):
    live[1][0].tag = "section"


def bad_call(live):
    raise ZeroDivisionError("a planted fault")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (bad_child, "has other elements"),
        (bad_tag, "has other elements"),
        (bad_call, "draw raises ZeroDivisionError: a planted fault"),
    ],
)
def test_a_state_that_cannot_be_shown_is_named(change, message):
    where = "phase=0.3,size=1.00,way=-1,on=0,step=2,pick=1"
    with pytest.raises(FigureError, match=f"at {where}: {message}"):
        record(broken(change), "en")


def test_what_is_no_scene_is_named():
    with pytest.raises(FigureError, match="draw returns no scene"):
        replace(figure(), draw=lambda L, size: h("p")).tree("en", {"size": 0})


def test_a_link_that_leads_nowhere_is_an_error():
    EXAMPLE.check("phase=0.1, way=-1")
    with pytest.raises(FigureError, match=r"sets 'lambda', its dials are"):
        EXAMPLE.check("lambda=0")
    with pytest.raises(FigureError, match=r"size=0.3: size is one of"):
        EXAMPLE.check("size=0.3")


# The recorder: what is stored gives back every state.


def decode(data: dict, sizes: tuple[int, ...]) -> list[tuple[int, str, list[str]]]:
    """What the page's script does, once more and slowly."""
    stream = iter(data["d"])

    def following():
        total, weight = 0, 1
        while True:
            code = ord(next(stream))
            code = {32: 60, 33: 92}.get(code, code) - 35
            total += code % 45 * weight
            weight *= 45
            if code < 45:
                return -(total + 1) // 2 if total & 1 else total // 2

    seen = []

    def series():
        first, back = following(), following()
        if not back:
            mask, summed = following(), following()
            shape = [n if mask >> k & 1 else 1 for k, n in enumerate(sizes)]
            values = np.array([following() for _ in range(int(np.prod(shape)))])
            values = values.reshape(shape)
            for axis in range(len(sizes)):
                if summed >> axis & 1:
                    values = values.cumsum(axis)
            seen.append(np.broadcast_to(values, sizes).ravel())
        return first + seen[-(back or 1)]

    found = []
    for element, name, templates in data["e"]:
        which = series() if len(templates) > 1 else np.zeros(np.prod(sizes), int)
        filled = []
        for template in templates:
            parts = template.split("¤")
            slots = [(following(), series()) for _ in parts[1:]]
            filled.append((parts, slots))
        values = []
        for state, index in enumerate(which):
            parts, slots = filled[index]
            text = parts[0]
            for part, (decimals, numbers) in zip(parts[1:], slots, strict=True):
                value = numbers[state] / 10**decimals
                if name:
                    text += (
                        f"{value:.{decimals}f}".rstrip("0").rstrip(".")
                        if decimals
                        else f"{value:.0f}"
                    )
                else:
                    text += f"{value:.{decimals}f}".replace("-", "−")
                text += part
            values.append(text)
        found.append((element, name, values))
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_state_of_the_example_comes_back(language):
    _, changes = record(EXAMPLE, language)
    sizes = tuple(len(dial.values) for dial in EXAMPLE.dials)
    assert {name for _, name, _ in changes} >= {"", "d", "style", "class", "hidden"}
    assert decode(encode(sizes, changes), sizes) == changes


def test_numbers_that_a_script_would_write_otherwise_are_kept_as_words():
    texts = ["1,007 of 0.50", "007", "−0.5 and +3", "3.5e-4, GPT-2", "1.0", "v1.2.3"]
    styles = ["left:0.50%", "a-2:3", "--p:007", "x:1.0", "#123456", "1e5", "w:-1.5"]
    for name, values in (("", texts), ("style", styles)):
        changes = [(0, name, values)]
        assert decode(encode((len(values),), changes), (len(values),)) == changes


def test_the_sign_of_the_templates_may_not_be_said():
    with pytest.raises(FigureError, match="may not say"):
        encode((2,), [(0, "", ["1 ¤", "2"])])


def test_a_page_holds_the_start_state_its_words_and_no_more():
    for language in LANGUAGES:
        text = pages.page(EXAMPLE, language)
        assert bool(HAN.search(text)) == (language == "zh")
        assert "http" not in text and "<style" not in text
        start = re.search(r'<div class="ex-live".*?(?=<noscript)', text)[0]
        fresh = html(EXAMPLE.tree(language, EXAMPLE.start))
        assert start.replace(' data-m="m"', "") == fresh


def test_a_dial_is_dimmed_where_it_alone_changes_nothing():
    def draw(L, on, size):
        return scene(h("p", f"{size if on else 0}"))

    gated = Figure(
        draw,
        dials=[
            Dial("on", [0, 1], 0, ("开", "on"), kind="toggle"),
            Dial("size", [0, 1, 2], 1, ("大小", "size")),
        ],
        title=("题", "t"),
        alt=("图", "a"),
        presets=[Preset(("甲", "a"), size=1), Preset(("乙", "b"), on=1)],
    )
    _, changes = record(gated, "en")
    on, size = idle((2, 3), changes)
    assert on.tolist() == [True, False, False] * 2  # at size 0 both are drawn alike
    assert size.tolist() == [True] * 3 + [False] * 3
    text = pages.page(gated, "en").partition("<script")[0]
    assert 'class="ex-dial idle" title="changes nothing in this state"' in text
    assert text.count(' idle"') == 1, "the other one can be turned from the start"
    assert [p.state for p in gated.presets] == [
        {"on": 0, "size": 1},
        {"on": 1, "size": 1},
    ], "a preset leaves no dial where the last one put it"


def test_a_figure_without_dials_is_a_picture_without_a_script():
    still = Figure(
        lambda L: scene(h("p", L("甲", "a"))),
        dials=[],
        title=("题", "t"),
        alt=("图", "a"),
    )
    text = pages.page(still, "en")
    assert "<script" not in text and "disabled" not in text and "noscript" not in text
    assert repr(still).splitlines() == ["test_explorer"]
    assert picture(still).startswith(PNG)


def test_an_element_has_ids_of_its_own_and_a_language_of_the_book():
    module = "tokenbook.figures.group_rewards"
    first, again = (pages.page_html(module, "zh", uid) for uid in ("uid1", "uid2"))
    assert again == first.replace("uid1", "uid2") != first
    with pytest.raises(FigureError, match="language is one of"):
        pages.page_html(module, "fr", "one")


def test_a_changed_number_changes_the_stored_text():
    assert len(repr(EXAMPLE).splitlines()) == 2 + 2 * len(EXAMPLE.dials)

    def louder(L, phase, size, way, on, step, pick):
        return explorer_example.draw(L, phase, 0.9 * size, way, on, step, pick)

    changed = repr(replace(EXAMPLE, draw=louder))
    assert changed.splitlines()[1] != repr(EXAMPLE).splitlines()[1]


# On a kernel.


def test_the_widget_shows_the_tree_in_the_language_of_the_reader_and_errors_in_it():
    box = widget(broken(bad_call))
    _, title, _, shown, *dials = box.children
    assert len(dials) == len(EXAMPLE.dials)
    READER.language = "zh"
    assert title.value == "<b>一个波有相位和振幅</b>" and HAN.search(shown.value)
    READER.language = "en"
    assert title.value == "<b>A wave has a phase and a size</b>"
    assert not HAN.search(shown.value)
    state = {"phase": 0.1, "size": 1, "way": -1, "on": 0, "step": 2, "pick": 1}
    for one, value in zip(dials, state.values(), strict=True):
        one = one.children[-1] if hasattr(one, "children") else one
        one.value = value
    fresh = html(EXAMPLE.tree("en", state))
    assert fresh in shown.value
    with pytest.raises(FigureError, match="a planted fault"):
        dials[0].value = 0.3
    assert "a planted fault" in shown.value
    dials[0].value = 0.1
    assert fresh in shown.value


def test_a_preset_sets_its_dials_on_a_kernel_too():
    box = widget(EXAMPLE)
    _, _, head, shown, *_ = box.children
    upside_down = head.children[-1]
    assert upside_down.description == "upside down"
    upside_down.click()
    state = EXAMPLE.start | {"size": -1, "way": -1}
    assert html(EXAMPLE.tree("en", state)) in shown.value


# Pictures.


def test_every_part_has_a_painter_and_the_picture_is_small():
    data = picture(EXAMPLE)
    assert data.startswith(PNG) and len(data) <= 20_000
    assert data == picture(EXAMPLE), "the same on every run"
    assert paint(h("div", h("p", "unknown parts"), cls="new")).startswith(PNG)


def test_pictures_and_pages_have_the_same_shades_of_ink():
    css = (pages.STATIC / "explorer.css").read_text(encoding="utf-8")
    mixed = re.findall(
        r"\.(\w+) { --k: color-mix\(in srgb, var\(--tc-ink\) (\d+)%", css
    )
    assert {name: int(share) / 100 for name, share in mixed} == {
        name: share for name, share in TONES.items() if share < 1
    }


def test_what_is_read_aloud_joins_an_index_to_its_symbol():
    tree = h("div", tile("log π_old", "0.5"))
    assert pages.readout(tree) == "log πold 0.5"


def test_a_slider_shows_a_minus_sign_and_its_links_a_hyphen():
    dial = Dial("gap", [-1, 0, 1], -1, ("差", "gap"))
    text = html(pages.control(dial, Language("en"), "said"))
    assert "<output>−1</output>" in text and 'aria-valuetext="−1; said"' in text
    assert dial.label(-1) == "-1"


def test_an_output_in_git_holds_a_picture_text_and_a_reference():
    bundle, metadata = EXAMPLE._repr_mimebundle_()
    assert bundle.pop("application/vnd.jupyter.widget-view+json")
    assert sorted(bundle) == ["image/png", "text/plain"]
    assert base64.b64decode(bundle["image/png"]).startswith(PNG)
    assert metadata == {"explorer": {"figure": "explorer_example"}}
    assert load("explorer_example") is EXAMPLE


# The token strip.

STRIP = Strip(
    ["9", "+", "\n", "ok", ""],
    mask=[0, 1, 1, 0, 1],
    credit=[0, 0.5, -0.1, 9, 1e-7],
    push=[0, 2e-6, -1e-6, 0, 0],
    label="a strip",
)


def test_a_strip_says_who_wrote_what_is_trained_and_what_has_no_gradient():
    assert STRIP.who == ["prompt", "model", "model", "env", "model"]
    assert STRIP.dead == [False, False, False, False, True]
    chips = [e for e in show_strip(STRIP).tree("en").iter() if is_a(e, "ex-chip")]
    assert [e.get("class") for e in chips] == [
        "ex-chip prompt",
        "ex-chip on",
        "ex-chip on",
        "ex-chip env",
        "ex-chip on off",
    ]
    assert [e.get("style") for e in chips] == [
        "--c:0;--b:0",
        "--c:1;--b:1",
        "--c:-0.45;--b:-0.5",
        "--c:0;--b:0",
        "--c:0;--b:0",
    ]
    assert [words_of(e[0]) for e in chips] == ["9", "+", "⏎", "ok", "∅"]
    assert repr(STRIP).splitlines()[0] == "a strip"
    assert "−1e-06" in repr(STRIP), "a small push is not lost"


@pytest.mark.parametrize(
    ("credit", "shown"), [(2.474874, "+2.47"), (-1.2347, "−1.23"), (2.475, "+2.48")]
)
def test_a_strip_rounds_its_credit_once(credit, shown):
    """Not 2.474874 to 2.475 and that to 2.48, in the label or below a token."""
    one = show_strip(Strip("ab", credit=[credit, credit], label="one"))
    assert words_of(next(one.tree("en").iter("span"))) == shown
    two = show_strip(Strip("ab", credit=[credit, 0]))
    assert shown in words_of(two.tree("en"))


def test_strips_shown_together_share_one_scale():
    """An eighth of the push is an eighth of the bar, in whichever strip it stands."""
    strips = Strip("a", credit=[-0.25], push=[1]), Strip("b", credit=[1], push=[-8])
    chips = [e for e in show_strip(*strips).tree("en").iter() if is_a(e, "ex-chip")]
    assert [e.get("style") for e in chips] == ["--c:-0.5;--b:0.12", "--c:1;--b:-1"]


def test_a_strip_is_named_in_the_language_of_the_page():
    """Kept through the metadata of a notebook, where words become lists."""
    one = Strip("ab", label=("回答", "response"))
    _, metadata = show_strip(one)._repr_mimebundle_()
    stored = json.loads(json.dumps(metadata))["explorer"]["strips"]
    strips = show_strip(*(Strip(**kept) for kept in stored))
    for language, name in (("zh", "回答"), ("en", "response")):
        assert words_of(next(strips.tree(language).iter("b"))) == name
    assert repr(strips).splitlines()[0] == "response"
    with pytest.raises(FigureError, match="words in"):
        Strip("ab", label=("回答",))


@pytest.mark.parametrize(
    ("push", "look"), [([1, 2], "up"), ([-1, 0], "down"), ([1, -1], "old")]
)
def test_the_key_of_a_push_has_the_colour_of_the_bars(push, look):
    drawn = html(show_strip(Strip("ab", push=push)).tree("en"))
    assert re.findall(r"ex-key (\w+) bar", drawn) == [look]


def test_strips_have_a_title_and_say_what_their_numbers_are():
    plain = show_strip(Strip("ab", credit=[1, 2]), Strip("ab", credit=[1, 1]))
    assert "number: credit" in words_of(plain.tree("en"))
    same = show_strip(Strip("ab", credit=[1, 1], label="all +1.00"))
    assert "number" not in words_of(same.tree("en"))
    own = Strip("ab", credit=[1, 2], captions=["3", "4"], label="π_θ")
    assert "number" not in words_of(show_strip(own).tree("en"))
    said = {"title": ("两步", "Two steps"), "numbers": ("比率", "ratio")}
    _, metadata = show_strip(own, **said)._repr_mimebundle_()
    stored = json.loads(json.dumps(metadata))["explorer"]
    strips = Strips(**stored | {"strips": [Strip(**s) for s in stored["strips"]]})
    for language, title, key in (
        ("zh", "两步", "数字：比率"),
        ("en", "Two steps", "number: ratio"),
    ):
        drawn = html(strips.tree(language))
        assert f'ex-title">{title}<' in drawn and key in drawn
        assert "<span>π</span><sub>θ</sub>" in drawn


def test_a_play_button_knows_how_long_a_step_lasts():
    dial = Dial("t", [0, 1], 0, ("步", "step"), kind="time", pace=900)
    assert 'data-pace="900"' in html(pages.control(dial, Language("en"), ""))


def test_names_of_lines_keep_their_order_apart_and_inside():
    plot = Plot(x=(0, 1), y=(0, 1), x_name="x", y_name="y", height=100)
    plot.names(1, [(0.0, "low", ""), (1.0, "high", ""), (0.99, "near", "")])
    drawn = [e for e in plot.element().iter() if is_a(e, "words")]
    tops = {
        words_of(e): float(re.search(r"top:([\d.]+)", e.get("style"))[1]) for e in drawn
    }
    gap = 100 * 17 / 80  # percent of the height on a phone
    assert tops["high"] == pytest.approx(gap / 2, abs=0.06)
    assert tops["near"] == pytest.approx(3 * gap / 2, abs=0.1)
    assert tops["low"] == pytest.approx(100 - gap / 2, abs=0.06)


def test_a_strip_that_wraps_continues_where_its_response_began():
    said = html(strip(*(chip(x, who="prompt") for x in "a?"), *map(chip, "bc")))
    assert re.search(r'ex-asked">.*>a<.*>[?]<.*ex-said".*>b<.*>c<', said)
    assert "ex-said" not in html(strip(*map(chip, "bc")))
    assert "ex-said" not in html(strip(chip("a", who="prompt")))


def test_a_line_of_tokens_breaks_after_a_try():
    def pieces(asked, said):
        asked = [chip(x, who="prompt") for x in asked]
        drawn = strip(*asked, *map(chip, said), tries=True)
        return [
            "".join(words_of(part)).replace(" ", "")
            for part in drawn.iter()
            if is_a(part, "ex-try")
        ]

    assert pieces("", "1+2✗1-2✗3=3✓$") == ["1+2✗", "1−2✗", "3=3✓$"]
    assert pieces("", "1+2✗$") == []  # the end is no try of its own
    assert pieces("4=?1+3✗2+2✗", "4✓$") == ["4=?", "1+3✗", "2+2✗"]
    assert "ex-try" not in html(strip(*map(chip, "1✗2✗34")))


def test_a_legend_keeps_room_for_what_a_state_does_not_have():
    keys = legend(("up", "good"), ("down", "bad", False), ("off", "none", True))
    assert [is_a(key, "absent") for key in keys] == [False, True, False]


def test_the_sign_for_a_blank_looks_like_what_is_to_be_typed():
    """No font of ours draws U+25A1: as a rule it was typed as an underscore."""
    sheets = [*pages.STATIC.glob("*.css"), Path("src/tokenbook/site/theme/book.css")]
    for sheet in sheets:
        assert "25A1" not in sheet.read_text("utf-8").upper(), sheet.name
