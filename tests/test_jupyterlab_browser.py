"""A chapter in JupyterLab, in a real browser: run it, move a slider, see the change."""

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("measure", ROOT / "book" / "measure.py")
measure = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(measure)

CHAPTER = ROOT / "chapters" / "06_ppo.ipynb"
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
RUN_ALL = "window.jupyterapp.commands.execute('notebook:run-all-cells')"
pytestmark = pytest.mark.browser


@pytest.fixture
def lab(tmp_path):
    """JupyterLab on this machine, with a copy of one chapter; gives the address."""
    shutil.copy(CHAPTER, tmp_path)
    for name, values in SETTINGS.items():
        file = tmp_path / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
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
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            assert server.poll() is None, (tmp_path / "log").read_text()
            try:
                urllib.request.urlopen(f"{address}/api/status").close()
                break
            except urllib.error.URLError:
                time.sleep(0.25)
        yield address
    finally:
        server.terminate()
        server.wait(20)


def test_a_chapter_runs_and_its_slider_moves_the_figure(lab):
    with measure.chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(60_000)
        page.goto(f"{lab}/lab/tree/{CHAPTER.name}")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.wait_for_function(
            "jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
            " == 'idle'"
        )
        assert page.evaluate(RUN_ALL), "a cell raised"
        live = page.locator(".jp-OutputArea-output:has(.fig):has(.noUi-handle)").first
        live.scroll_into_view_if_needed()
        drawing, words = live.locator(".fig"), live.locator(".xp-readout")
        before = drawing.inner_html(), words.text_content()
        live.locator(".noUi-handle").first.focus()
        page.keyboard.press("ArrowRight")
        expect(words).not_to_have_text(before[1])
        assert drawing.inner_html() != before[0]
        if shots := os.environ.get("TOKENCREDIT_SHOTS"):
            page.screenshot(path=Path(shots) / "jupyterlab.png")
