"""The Sphinx extension and the plug-in of MyST-NB: figures and strips on a built page.

The page is a notebook with stored outputs, built by Sphinx without running it.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tokenbook.explorer import Strip, show_strip
from tokenbook.figures import explore

ROOT = Path(__file__).parents[1]
_path = ROOT / "src" / "tokenbook" / "site" / "make" / "measure.py"
_spec = importlib.util.spec_from_file_location("measure", _path)
measure = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(measure)

CONF = """
extensions = ["myst_nb", "tokenbook.explorer.sphinxext"]
html_theme = "sphinx_book_theme"
language = "{language}"
nb_execution_mode = "off"
nb_ipywidgets_js = {{}}
"""
LINKS = """# Page

<a data-xp="group_rewards" data-set="r1=1,r2=1,r3=1,r4=1,r5=1">all right</a>
"""
DIRECTIVE = """```{explorer} tokenbook.figures.hero
```"""
LANGUAGES = {"zh": "zh_CN", "en": "en"}
pytestmark = pytest.mark.browser


def cell(shown):
    """A cell as it is stored: without the widget."""
    data, metadata = shown._repr_mimebundle_()
    data.pop("application/vnd.jupyter.widget-view+json")
    output = new_output("execute_result", data, metadata=metadata, execution_count=1)
    return new_code_cell("raise SystemExit", outputs=[output], execution_count=1)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Both editions of one page: a figure twice, strips, and one by the directive."""
    root = tmp_path_factory.mktemp("book")
    strips = show_strip(Strip("9+5", mask=[0, 1, 1], credit=[0, 1, -1], push=[0, 1, 0]))
    shown = [explore("group_rewards"), strips, explore("group_rewards")]
    cells = [new_markdown_cell(LINKS), *map(cell, shown), new_markdown_cell(DIRECTIVE)]
    (root / "source").mkdir()
    notebook = new_notebook(cells=cells)
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, root / "source" / "index.ipynb")
    for edition, language in LANGUAGES.items():
        (root / "source" / "conf.py").write_text(CONF.format(language=language))
        command = [sys.executable, "-m", "sphinx", "-W", "-q", "-E"]
        subprocess.run([*command, root / "source", root / edition], check=True)
    return root


@pytest.fixture(scope="module")
def browser():
    with measure.chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def http(site):
    with measure.served(site) as address:
        yield address


@pytest.mark.parametrize("edition", LANGUAGES)
def test_a_page_has_one_language_no_widget_manager_and_ids_of_its_own(site, edition):
    html = (site / edition / "index.html").read_text("utf-8")
    assert not re.search(r"jupyter-widgets|require\.js|unpkg|jsdelivr|image/png", html)
    figures = re.findall(r'<div class="explorer.*?</div></div>(?=\s*</div>|\s*$)', html)
    drawn = html.split('class="explorer')[1:]
    assert len(drawn) == 4 and figures
    words = "".join(part.partition("</script>")[0] for part in drawn[:3])
    assert bool(re.search(r"[\u4e00-\u9fff]", words)) == (edition == "zh")
    ids = re.findall(r' id="([^"]*)"', html)
    assert len(set(ids)) == len(ids)
    strip = drawn[1].partition("ex-legend")[0]
    assert re.findall(r'class="(ex-chip[^"]*)"', strip) == [
        "ex-chip prompt",
        "ex-chip on",
        "ex-chip on off",
    ]


@pytest.mark.parametrize("place", ["http", "file"])
@pytest.mark.parametrize("edition", LANGUAGES)
def test_a_link_moves_every_copy_and_nothing_is_fetched_elsewhere(
    place, edition, site, http, browser
):
    asked = []
    page = browser.new_page()
    page.on("pageerror", lambda error: asked.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    base = http if place == "http" else f"{site.as_uri()}/"
    page.goto(f"{base}{edition}/index.html")
    first = page.locator('.explorer[data-xp="group_rewards"] .ex-tile b >> nth=0')
    assert first.inner_text() == "1/5"
    page.locator("a[data-xp]").click()
    for copy in page.locator('.explorer[data-xp="group_rewards"]').all():
        assert copy.locator(".ex-tile b").first.inner_text() == "5/5"
    assert page.locator('.explorer[data-xp="hero"] .ex-row').count() == 5
    assert all(url.startswith(base) for url in asked), asked
    page.close()


@pytest.mark.parametrize("look", measure.LOOKS)
def test_the_theme_leaves_the_figures_as_they_are(browser, http, look):
    context = browser.new_context(**measure.LOOKS[look])
    page = context.new_page()
    page.goto(f"{http}zh/index.html")
    page.add_script_tag(path=measure.files("axe_playwright_python") / "axe.min.js")
    found = page.evaluate("axe.run({include: ['.explorer', 'a[data-xp]']})")
    assert [v["id"] for v in found["violations"]] == [] and found["passes"]
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= measure.LOOKS[look]["viewport"]["width"]
    margins = page.locator(".explorer p").evaluate_all(
        "all => all.map(p => getComputedStyle(p).marginTop)"
    )
    assert set(margins) <= {"0px", "8px"}
    context.close()
