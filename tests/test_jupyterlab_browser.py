"""Figures in JupyterLab, in a real browser: run them, move a slider, see the change."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import expect

from tokenbook.languages.pages import one_language

ROOT = Path(__file__).parents[1]
_path = ROOT / "src" / "tokenbook" / "site" / "make" / "measure.py"
_spec = importlib.util.spec_from_file_location("measure", _path)
measure = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(measure)

NAME = "figures.ipynb"
CELLS = [
    "from tokenbook.figures import explore",
    'explore("three_attempts")',
]
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
RUN_ALL = "window.jupyterapp.commands.execute('notebook:run-all-cells')"
pytestmark = pytest.mark.browser


@pytest.fixture
def lab(tmp_path):
    """JupyterLab on this machine, with a notebook of figures; gives the address."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, tmp_path / NAME)
    for name, values in SETTINGS.items():
        file = tmp_path / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": 0,  # a free one, which it writes into its runtime folder
        "ServerApp.open_browser": False,
        "ServerApp.root_dir": tmp_path,
        "ServerApp.allow_root": True,
        "IdentityProvider.token": "",
        "LabApp.expose_app_in_browser": True,
        "LabApp.user_settings_dir": tmp_path / "settings",
        "LabApp.workspaces_dir": tmp_path / "workspaces",
    }
    command = [sys.executable, "-m", "jupyterlab"]
    command += [f"--{name}={value}" for name, value in options.items()]
    env = os.environ | {
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
    }
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    try:
        while not (said := [*tmp_path.glob("runtime/jpserver-*.json")]):
            assert server.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.25)
        yield json.loads(said[0].read_text())["url"].rstrip("/")
    finally:
        server.kill()
        server.wait()


def test_a_notebook_runs_and_its_dials_move_the_figures(lab):
    with measure.chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(measure.PATIENCE)
        page.goto(f"{lab}/lab/tree/{NAME}")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.wait_for_function(
            "jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
            " == 'idle'"
        )
        assert page.evaluate(RUN_ALL), "a cell raised"
        live = page.locator(".jp-OutputArea-output:has(.ex-live)").first
        moves(page, live, ".ex-stage", ".ex-tiles")
        chinese, english = live.get_by_role(
            "button", name=re.compile("中文|English")
        ).all()
        chinese.click()
        expect(live.locator(".ex-tiles")).to_contain_text("梯度")
        english.click()
        expect(live.locator(".ex-tiles")).to_contain_text("gradient")
        live.get_by_role("button", name="take the min").click()
        expect(live.locator(".ex-tile b").first).to_have_text("0.00")
        ink = live.locator(".ex-tile b").first.evaluate(
            "e => getComputedStyle(e).color"
        )
        assert ink == "rgb(91, 99, 109)", "no style sheet"  # pale: nothing is learned
        if shots := os.environ.get("TOKENCREDIT_SHOTS"):
            page.screenshot(path=Path(shots) / "jupyterlab.png")


def test_the_side_roads_of_a_download_are_folded(lab, tmp_path):
    texts = ["# T", "## Side\n\nA line.", "Inside.", "## Road\n\nText."]
    cells = [new_markdown_cell(text) for text in texts]
    cells[1].metadata.tags = ["lang-en", "side"]
    notebook = one_language(new_notebook(cells=cells), "en")
    nbformat.write(nbformat.from_dict(notebook), tmp_path / "sides.ipynb")
    with measure.chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(measure.PATIENCE)
        page.goto(f"{lab}/lab/tree/sides.ipynb")
        cells = page.locator(".jp-Notebook .jp-MarkdownCell")
        for text in ("A line.", "Text."):
            cells.filter(has_text=text).wait_for(state="visible")
        expect(cells.filter(has_text="Inside.")).to_be_hidden()
        if shots := os.environ.get("TOKENCREDIT_SHOTS"):
            page.screenshot(path=Path(shots) / "jupyterlab_sides.png")


def moves(page, live, drawing, words):
    """A key on the first slider changes the drawing and the numbers."""
    live.scroll_into_view_if_needed()
    drawing, words = live.locator(drawing), live.locator(words)
    before = drawing.inner_html(), words.text_content()
    live.locator(".noUi-handle").first.focus()
    page.keyboard.press("ArrowRight")
    expect(words).not_to_have_text(before[1], timeout=measure.PATIENCE)
    page = live.page
    page.wait_for_function(
        "([drawing, before]) => drawing.innerHTML != before",
        arg=[drawing.element_handle(), before[0]],
    )
