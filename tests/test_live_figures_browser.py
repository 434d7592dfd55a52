"""Every live figure in a real browser: what it shows, and whether it can be used.

Each figure stands on a page of its own, opened from the disk. A new figure is tested by
being there; the example of the engine's tests has every part and every kind of dial.
"""

import importlib.util
import itertools
import random
import re
from pathlib import Path
from xml.etree import ElementTree

import explorer_example
import pytest
from quick import some

from tokenbook.explorer import LANGUAGES, Figure, embed
from tokenbook.explorer.drawing import is_a, load
from tokenbook.explorer.embed import STATIC
from tokenbook.figures import figure_names

ROOT = Path(__file__).parents[1]
_path = ROOT / "src" / "tokenbook" / "site" / "make" / "measure.py"
_spec = importlib.util.spec_from_file_location("measure", _path)
measure = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(measure)

MODULES = {name: f"tokenbook.figures.{name}" for name in figure_names()}
MODULES["explorer_example"] = "explorer_example"
FIGURES = {name: load(module) for name, module in MODULES.items()}
PAGE = """<!doctype html><html lang="{language}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{name}</title>
<link rel="stylesheet" href="colors.css">
<link rel="stylesheet" href="explorer.css"><script src="explorer.js" defer></script>
<script>document.documentElement.dataset.theme =
matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"</script>
<style>body {{ margin: 0; padding: 16px; background: var(--tc-paper);
color: var(--tc-ink); font-family: system-ui, "Noto Sans CJK SC", sans-serif }}</style>
<main><h1>{name}</h1><p>Turn <a data-xp="{name}" data-set="{setting}">it</a>.</p>
{figure}</main></html>"""
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
    "device_scale_factor": 2,
}
BOARDS = {"episode"}  # pieces stand on the letters of their cells
SCREEN = 795  # what a browser leaves of the height of a phone
STOP = """(play, slider) => new Promise((done) => {
  play.click();
  const moved = setInterval(() => {
    if (slider.value == 0) return;
    clearInterval(moved);
    play.click();
    done([play.ariaPressed, slider.value]);
  });
})"""  # in the page, where no load comes between
STILL = "*, *::before, *::after { transition: none !important }"
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser():
    with measure.chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    for name in (*embed.SHEETS, "explorer.js"):
        (folder / name).write_bytes((STATIC / name).read_bytes())
    return folder


@pytest.fixture(scope="module", params=FIGURES)
def figure(request, site) -> Figure:
    """A figure, whose pages in each language are written when it is its turn."""
    figure = FIGURES[request.param]
    for language in LANGUAGES:
        setting = figure.setting(figure.presets[-1].state) if figure.presets else ""
        text = PAGE.format(
            language=language,
            name=figure.name,
            setting=setting,
            figure=embed.page_html(MODULES[figure.name], language, "one"),
        )
        (site / f"{figure.name}-{language}.html").write_text(text, "utf-8")
    return figure


@pytest.fixture
def visit(browser, site, figure):
    """Open the figure in a language; fails on errors and on requests elsewhere."""
    contexts, errors = [], []

    def visit(language, **look):
        context = browser.new_context(**look)
        contexts.append(context)
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: errors.append(request.url))
        page.goto((site / f"{figure.name}-{language}.html").as_uri())
        if look.get("java_script_enabled", True):
            page.add_style_tag(content=STILL)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert [e for e in errors if not e.startswith(site.as_uri())] == []


def some_states(figure, number: int) -> list[dict]:
    """The corners of a dial each, and some of the others by chance."""
    states = [*figure.states]
    chosen = random.Random(figure.name).sample(states, min(number, len(states)))
    ends = [
        figure.start | {dial.key: value}
        for dial in figure.dials
        for value in (dial.values[0], dial.values[-1])
    ]
    return [figure.start, *chosen, *ends]


def show(page, figure, state) -> None:
    if figure.dials:
        setting = figure.setting(state)
        page.evaluate("s => document.querySelector('.explorer').set(s)", setting)


def canonical(text: str) -> list[tuple]:
    """A drawing as a list of elements, with all that they have from Python."""
    tree = ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", text))
    return [
        (e.tag, sorted(e.attrib.items() - added(e)), e.text or "") for e in tree.iter()
    ]


def added(element) -> set:
    """What the script itself adds to an element."""
    return {i for i in element.attrib.items() if i[0] in ("data-m", "aria-live")}


def drawing(page) -> list[tuple]:
    """What the page shows now."""
    text = page.locator(".ex-live").evaluate(
        "e => new XMLSerializer().serializeToString(e)"
    )
    return canonical(text)


def fresh(figure, language, state) -> list[tuple]:
    """What Python draws."""
    tree = figure.tree(language, state)
    return canonical(ElementTree.tostring(tree, encoding="unicode"))


def height(page) -> float:
    """How high the figure is; it must be no wider than the page."""
    height, wide = page.evaluate(
        "[document.querySelector('.explorer').getBoundingClientRect().height,"
        "document.documentElement.scrollWidth - innerWidth]"
    )
    assert wide <= 0, f"{wide} px too wide"
    return round(height, 1)


@pytest.mark.parametrize("language", some(LANGUAGES, "zh"))
def test_random_states_equal_a_fresh_drawing_of_the_same_height(
    visit, figure, language
):
    theme = {"zh": "light"}.get(language, "dark")
    page = visit(language, color_scheme=theme)
    heights = set()
    for state in some_states(figure, 8):
        show(page, figure, state)
        assert drawing(page) == fresh(figure, language, state), figure.setting(state)
        heights.add(height(page))
    assert len(heights) == 1, f"heights {sorted(heights)}"
    if figure.presets:
        show(page, figure, figure.start | dict(figure.presets[-1].state))
    assert measure.axe(page, rules="contrast") == []


OVERLAPS = """settings => {
  const root = document.querySelector(".explorer"), found = [];
  const look = (setting) => {
    const boxes = [], walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode()); ) {
      const all = node.parentElement, range = document.createRange();
      const label = all.closest(".words, .tick, .name, .ex-chip > *, .ex-card, p, b");
      if (!label || !node.data.trim() || !label.checkVisibility()) continue;
      range.selectNodeContents(node);
      for (const box of range.getClientRects()) boxes.push([label, node.data, box]);
    }
    boxes.forEach(([one, words, a], i) => {
      const inside = one.closest("button")?.getBoundingClientRect();
      const { left, right } = inside ?? { left: 0, right: innerWidth };
      if (a.left < left || a.right > right) found.push([setting, words, "outside"]);
      for (const [other, more, b] of boxes.slice(i + 1)) {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && high > 5 && !one.contains(other) && !other.contains(one))
          found.push([setting, words, more]);
      }
    });
  };
  settings.forEach((setting) => (root.set(setting), look(setting)));
  return found;
}"""


@pytest.mark.parametrize("language", some(LANGUAGES, "en"))
def test_no_words_lie_over_others_or_leave_their_card_or_page(visit, figure, language):
    """At every preset, with each choice that a reader may press next."""
    if not figure.dials or figure.name in BOARDS:
        return
    bases = [figure.start | dict(p.state) for p in figure.presets] or [figure.start]
    states = bases + [
        base | {dial.key: value}
        for base in bases
        for dial in figure.dials
        if dial.kind in ("choice", "toggle")
        for value in dial.values
    ]
    settings = list(dict.fromkeys(map(figure.setting, states)))
    page = visit(language)
    for width in (390, 700, 1440):
        page.set_viewport_size({"width": width, "height": 1600})
        assert page.evaluate(OVERLAPS, settings) == [], f"{width} px"


@pytest.mark.parametrize("language", some(LANGUAGES, "en"))
def test_a_phone_shows_the_drawing_and_its_dials_on_one_screen(visit, figure, language):
    page = visit(language, **PHONE)
    heights = set()
    for state in some_states(figure, 12):
        show(page, figure, state)
        heights.add(height(page))
    assert len(heights) == 1, f"heights {sorted(heights)}"
    assert measure.axe(page, rules="structure") == []
    if figure is explorer_example.FIGURE:
        return
    top, bottom = page.evaluate(
        "(all => [all[0].top, Math.max(...all.map(box => box.bottom))])"
        "([...document.querySelectorAll('.ex-live, .ex-dial, .ex-play')]"
        ".map(e => e.getBoundingClientRect()))"
    )
    assert bottom - top <= SCREEN
    dock, first = page.evaluate(  # docked dials cover the last of the drawing at most
        """() => {
          const [live, desk, dials] = [".ex-live", ".ex-desk", ".ex-dials"].map((css) =>
            document.querySelector(css)?.getBoundingClientRect());
          return dials ? [dials.height, (desk.top - live.top) / live.height] : [0, 1];
        }"""
    )
    assert dock <= SCREEN / 4 and first > 0.7
    sizes = page.evaluate(
        "[...document.querySelectorAll('.explorer *')].filter(e => e.checkVisibility()"
        "&& [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()))"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 11
    for control in page.locator(".explorer :is(button, input):visible").all():
        box = control.evaluate(  # of a switch, the whole line can be touched
            "e => (e.closest('.toggle') ?? e).getBoundingClientRect().toJSON()"
        )
        assert box["height"] >= 36 or box["width"] >= 44, control.get_attribute("class")


def test_every_control_answers_to_the_keyboard(visit, figure):
    page = visit("en")
    for slider in page.locator("input[type=range]").all():
        before, said = drawing(page), slider.get_attribute("aria-valuetext")
        key, back = ("ArrowLeft", "ArrowRight")
        if slider.input_value() == "0":
            key, back = back, key
        slider.focus()
        page.keyboard.press(key)
        output = slider.locator("xpath=preceding-sibling::output").inner_text()
        spoken = slider.get_attribute("aria-valuetext")
        assert drawing(page) != before and spoken != said
        assert spoken.startswith(f"{output}; ")
        page.keyboard.press(back)
        assert drawing(page) == before
        assert slider.get_attribute("aria-valuetext") == said
    for group in page.locator(".ex-choice").all():
        before = drawing(page)
        group.locator("input:checked").focus()
        page.keyboard.press("ArrowRight")
        assert drawing(page) != before
        page.keyboard.press("ArrowLeft")
        assert drawing(page) == before
    for switch in page.locator("input[role=switch]").all():
        before = drawing(page)
        switch.focus()
        page.keyboard.press("Space")
        assert drawing(page) != before
        page.keyboard.press("Space")
        assert drawing(page) == before
    for button in page.query_selector_all(".ex-live [aria-pressed=false]"):
        before = drawing(page)
        button.focus()
        page.keyboard.press("Enter")
        assert drawing(page) != before
    for slider in page.locator("input[type=range]").all():
        slider.focus()
        page.keyboard.press("Home")  # the lowest value, with a minus sign if any
        output = slider.locator("xpath=preceding-sibling::output").inner_text()
        assert "-" not in output


def test_presets_and_links_set_their_state_and_say_which_one_it_is(visit, figure):
    if not figure.presets:
        return
    page = visit("en")
    buttons = page.locator(".ex-presets button")
    pressed = buttons.evaluate_all("all => all.map(b => b.ariaPressed)")
    assert pressed[0] == "true" and set(pressed[1:]) <= {"false"}
    page.locator("a[data-xp]").focus()
    page.keyboard.press("Enter")
    assert buttons.last.get_attribute("aria-pressed") == "true"
    state = figure.start | dict(figure.presets[-1].state)
    assert drawing(page) == fresh(figure, "en", state)
    buttons.first.click()
    assert buttons.first.get_attribute("aria-pressed") == "true"
    for dial in figure.dials:
        if dial.kind in ("slider", "time"):
            slider = page.locator(f'input[data-key="{dial.key}"]')
            assert int(slider.input_value()) == dial.values.index(dial.start)


def test_what_can_be_dragged_reaches_both_ends(visit, figure):
    start = figure.tree("en", figure.start)
    if not any(
        "data-drag" in key for element in start.iter() for key in element.attrib
    ):
        return
    page = visit("en")
    for knob in page.locator("[data-drag-x], [data-drag-y]").all():
        plot = knob.locator("xpath=..")
        plot.scroll_into_view_if_needed()
        for axis, end in itertools.product("xy", (0, 1)):
            target = knob.get_attribute(f"data-drag-{axis}")
            if not target:
                continue
            key, places = target.split(":")
            places = [float(place) for place in places.split(",")]
            box, own = plot.bounding_box(), knob.bounding_box()
            page.mouse.move(own["x"] + own["width"] / 2, own["y"] + own["height"] / 2)
            page.mouse.down()
            wide, high = box["width"], box["height"]
            ends = {"x": (box["x"] + end * wide, box["y"] + high / 2)}
            ends["y"] = (box["x"] + wide / 2, box["y"] + end * high)
            page.mouse.move(*ends[axis], steps=3)
            page.mouse.up()
            near = min(range(len(places)), key=lambda k: abs(places[k] - end))
            slider = page.locator(f'input[data-key="{key}"]')
            assert int(slider.input_value()) == near


def test_time_plays_to_its_end_and_a_touch_stops_it(visit, figure):
    if "time" not in [dial.kind for dial in figure.dials]:
        return
    page = visit("en")
    for play in page.locator(".ex-play").all():
        slider = page.locator(f'input[data-key="{play.get_attribute("data-play")}"]')
        last = slider.get_attribute("max")
        slider.focus()
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        assert play.evaluate("e => (e.click(), e.ariaPressed)") == "true"
        page.wait_for_function(
            "([e, last]) => e.value == last", arg=[slider.element_handle(), last]
        )
        page.wait_for_function(
            "e => e.ariaPressed == 'false'", arg=play.element_handle()
        )
        if int(last) > 8:  # time enough to stop it
            pressed, value = play.evaluate(STOP, slider.element_handle())
            assert pressed == "false" and value not in ("0", last)


@pytest.mark.parametrize("language", some(LANGUAGES, "en"))
def test_without_a_script_the_start_is_shown_and_the_grey_dials_are_explained(
    visit, figure, language
):
    page = visit(language, java_script_enabled=False)
    shown = page.locator(".ex-live").inner_text()
    for element in figure.tree(language, figure.start).iter():
        if is_a(element, "ex-tile") or is_a(element, "ex-label"):
            assert "".join(element[0].itertext()) in shown
    if figure.dials:
        assert page.locator(".explorer :is(input, button)").first.is_disabled()
        words = {"zh": "没有运行脚本", "en": "No script runs"}[language]
        assert words in page.locator(".explorer noscript").inner_text()
