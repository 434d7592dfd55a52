"""Recorded figures on a built page, in a real browser: from http and from file://.

The page is a notebook with stored outputs, built by Sphinx without running it.
"""

import importlib.util
import random
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import figure_example
import nbformat
import pytest
from matplotlib.backends import backend_svg
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tokencredit.figures import _page, explore, inline_svg, pipeline
from tokencredit.figures._explorer import recorded
from tokencredit.figures._record import Unclipped
from tokencredit.figures._style import draw_svg

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("measure", ROOT / "book" / "measure.py")
measure = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(measure)

CONF = """
extensions = ["myst_nb", "explorer.book", "tokencredit.figures._book"]
html_theme = "sphinx_book_theme"
language = "{language}"
nb_execution_mode = "off"
nb_ipywidgets_js = {{}}
"""
LINKS = """# Page

<a data-xp="balanced_clip" data-set="spread=0.2,target=0.1">two dials</a>,
<a data-xp="balanced_clip" data-set="spread=0.8">one dial</a>.
"""
EXAMPLE_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<link rel="stylesheet" href="_static/figures.css">
<script src="_static/recorder.js"></script>{}</html>"""
FIGURE = "balanced_clip"  # stands on the page twice
LANGUAGES = {"zh": "zh_CN", "en": "en"}
pytestmark = pytest.mark.browser


def cell(shown):
    """A cell as it is stored: without the widget."""
    data, metadata = shown._repr_mimebundle_()
    data.pop("application/vnd.jupyter.widget-view+json", None)
    output = new_output("execute_result", data, metadata=metadata, execution_count=1)
    return new_code_cell("raise SystemExit", outputs=[output], execution_count=1)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Both editions of one page with every figure, one of them twice."""
    root = tmp_path_factory.mktemp("book")
    figures = [*recorded(), FIGURE]
    cells = [new_markdown_cell(LINKS), cell(pipeline("credit"))]
    cells += [cell(explore(name)) for name in figures]
    (root / "source").mkdir()
    notebook = new_notebook(cells=cells)
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, root / "source" / "index.ipynb")
    for edition, language in LANGUAGES.items():
        (root / "source" / "conf.py").write_text(CONF.format(language=language))
        command = [sys.executable, "-m", "sphinx", "-W", "-q", "-E"]
        subprocess.run([*command, root / "source", root / edition], check=True)
        example = _page.build(figure_example.EXPLORER)[edition]
        text = EXAMPLE_PAGE.format(example.replace(_page.UID, "example"))
        (root / edition / "example.html").write_text(text, "utf-8")
    return root


@pytest.fixture(scope="module")
def browser():
    with measure.chromium() as browser:
        yield browser


@pytest.fixture
def errors() -> list[str]:
    return []


@pytest.fixture
def page(browser, errors):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(measure.PATIENCE)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url))
    yield page
    page.close()


@pytest.fixture(scope="module")
def http(site):
    with measure.served(site) as address:
        yield address


def slider_of(page, key, copy=0):
    return page.locator(f'.xp[data-xp="{FIGURE}"] input[data-key="{key}"]').nth(copy)


@pytest.mark.parametrize("place", ["http", "file"])
@pytest.mark.parametrize("edition", LANGUAGES)
def test_keys_and_links_move_the_figure_and_nothing_is_fetched_elsewhere(
    place, edition, page, site, http, errors
):
    base = http if place == "http" else f"{site.as_uri()}/"
    page.goto(f"{base}{edition}/index.html")
    figure = page.locator(f'.xp[data-xp="{FIGURE}"]')
    drawing, words = figure.locator(".fig").first, figure.locator(".xp-readout").first
    before = drawing.inner_html(), words.inner_text()
    slider = slider_of(page, "spread")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert drawing.inner_html() != before[0] and words.inner_text() != before[1]
    spoken = slider.get_attribute("aria-valuetext")
    assert spoken == f"σ = 0.2; {words.inner_text()}"
    page.keyboard.press("ArrowRight")
    assert (drawing.inner_html(), words.inner_text()) == before

    link = page.locator(f'a[data-xp="{FIGURE}"]').first
    link.focus()
    page.keyboard.press("Enter")
    for copy in (0, 1):
        assert slider_of(page, "spread", copy).input_value() == "0"
        assert slider_of(page, "target", copy).input_value() == "0"
    explorer = explore(FIGURE)
    _, update = explorer.make()
    numbers = update(explorer.start | {"spread": 0.2, "target": 0.1})
    assert words.inner_text() == explorer.say(edition, numbers)
    assert figure.locator(".xp-readout").nth(1).inner_text() == words.inner_text()
    page.locator(f'a[data-xp="{FIGURE}"]').last.click()
    for key, value in (("spread", "2"), ("target", "0")):
        assert slider_of(page, key).input_value() == value
    assert all(url.startswith(base) for url in errors), errors


def test_a_touch_moves_the_slider(browser, http):
    page = browser.new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    page.goto(f"{http}en/index.html")
    slider = slider_of(page, "spread")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.touchscreen.tap(box["x"] + 0.1 * box["width"], box["y"] + 22)
    assert int(slider.input_value()) == 0
    page.close()


def test_without_javascript_the_start_state_is_shown(browser, http):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{http}zh/index.html")
    names = [*recorded(), FIGURE]
    for figure, name in zip(page.locator(".xp").all(), names, strict=True):
        explorer = explore(name)
        _, update = explorer.make()
        says = explorer.say("zh", update(explorer.start))
        assert figure.locator(".xp-readout").inner_text() == says
        assert figure.locator("svg").first.is_visible()
        assert figure.locator("input").first.is_disabled()
    context.close()


@pytest.mark.parametrize("look", measure.LOOKS)
@pytest.mark.parametrize("edition", LANGUAGES)
def test_figures_are_accessible_and_fit(look, edition, browser, http):
    context = browser.new_context(**measure.LOOKS[look])
    page = context.new_page()
    page.goto(f"{http}{edition}/index.html")
    page.add_script_tag(path=measure.files("axe_playwright_python") / "axe.min.js")
    found = page.evaluate("axe.run({include: ['.xp', 'a[data-xp]', '.thread']})")
    assert [v["id"] for v in found["violations"]] == []
    assert found["passes"]
    for slider in page.locator(".xp input").all():
        assert slider.bounding_box()["height"] >= 44
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= measure.LOOKS[look]["viewport"]["width"]
    line = page.locator(".xp path[style*='--fig-blue']").first
    shown = line.evaluate("e => getComputedStyle(e).cssText + e.style.cssText")
    assert "fig-blue" in shown
    ink = page.locator(".xp text").first.evaluate("e => getComputedStyle(e).fill")
    assert ink == ("rgb(230, 233, 238)" if look == "dark" else "rgb(28, 33, 39)")
    context.close()


def test_the_built_page_asks_for_no_widget_manager_and_has_one_language(site):
    for edition in LANGUAGES:
        html = (site / edition / "index.html").read_text("utf-8")
        assert not re.search(r"jupyter-widgets|require\.js|unpkg|jsdelivr", html)
        ids = re.findall(r' id="(xp-[^"]*)"', html)
        assert ids and len(set(ids)) == len(ids)
        pieces = re.findall(
            r'<div class="xp".*?</script>|<ol class="thread.*?</ol>', html
        )
        assert len(pieces) == 2 + len(recorded())
        assert (edition == "zh") == bool(re.search(r"[\u4e00-\u9fff]", pieces[1]))


# Every state of a page must be what matplotlib draws: a sample of them, exactly.


def canonical(html: str) -> list[list]:
    """The drawing as a list of its visible elements, references resolved."""
    tree = ElementTree.fromstring(re.sub(r'(\sdata-m)=""', "", html))
    defined = {e.get("id"): e for e in tree.iter() if e.get("id")}
    skip = {"id", "data-m"}

    def attributes(element):
        for name, value in sorted(element.attrib.items()):
            target = re.search(r"#([\w-]+)", value)
            if target and name in ("href", "clip-path"):
                value = [attributes_of(e) for e in defined[target[1]].iter()]
            elif target and "url(" in value:  # a hatch
                hatch = [attributes_of(e) for e in defined[target[1]].iter()]
                value = [value.replace(target[0], ""), hatch]
            if name not in skip:
                yield name, value

    def attributes_of(element):
        return element.tag, list(attributes(element))

    def walk(element):
        if element.get("display") == "none" or element.tag == "defs":
            return
        if element.tag == "g" and not element.attrib.keys() - skip - {"display"}:
            pass
        else:
            yield [*attributes_of(element), (element.text or "").strip()]
        for child in element:
            yield from walk(child)

    return list(walk(tree))


@pytest.mark.parametrize("name", [*recorded(), "figure_example"])
def test_random_states_equal_a_full_drawing_by_matplotlib(
    name, page, http, monkeypatch
):
    # matplotlib drops what lies outside the picture, which nobody sees; here it must
    # not, so that the two drawings have the same points.
    monkeypatch.setattr(backend_svg, "RendererSVG", Unclipped)
    example = name == "figure_example"
    explorer = figure_example.EXPLORER if example else explore(name)
    page.goto(f"{http}en/{'example' if example else 'index'}.html")
    root = page.locator(f'.xp[data-xp="{name}"]').first
    states = [*explorer.states]
    for state in [*random.Random(name).sample(states, 8), states[0], states[-1]]:
        setting = ",".join(f"{d.key}={d.label(state[d.key])}" for d in explorer.dials)
        root.evaluate("(root, setting) => root.set(setting)", setting)
        shown = root.locator(".fig").evaluate(
            "e => new XMLSerializer().serializeToString(e)"
        )
        fig, update = explorer.make()
        numbers = update(state)
        drawn = inline_svg(draw_svg(fig), explorer.alt["en"], "full")
        shown = re.sub(r' xmlns(:\w+)?="[^"]*"', "", shown)
        assert canonical(shown) == canonical(drawn), setting
        text = root.locator(".xp-readout").inner_text()
        assert text == explorer.say("en", numbers)
