"""``make book`` on a bare or broken machine goes on, or says why in one sentence."""

import ast
import os
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import closing
from types import SimpleNamespace

import pytest
from test_site_build import ROOT, load, make_book

install, site = load("install"), load("site")


@pytest.fixture
def environment(tmp_path):
    """An environment whose Python prints what it is told and then fails as pip does."""

    def made(says: str, status: int = 1):
        python = tmp_path / "env" / "bin" / "python"
        python.parent.mkdir(parents=True)
        said = tmp_path / "said"
        said.write_text(says)
        lines = f'[ "$4" = "" ] && exit 0\ncat {said}\nexit {status}\n'
        python.write_text("#!/bin/sh\n" + lines)
        python.chmod(0o755)
        return str(python.parents[1])

    return made


def refused(call, *args) -> str:
    """What is said, in one line, when a call ends the program."""
    with pytest.raises(SystemExit) as end:
        call(*args)
    assert "\n" not in str(end.value)
    return str(end.value)


def test_an_old_python_reads_the_installer_and_is_told_so():
    ast.parse(
        (ROOT / "src/tokenbook/site/make/install.py").read_text(),
        feature_version=(3, 6),
    )
    said = refused(install.main, "env", "requirements.txt", (3, 9))
    assert said.startswith("install: Python 3.9 is too old, 3.11 or later is needed")


@pytest.mark.parametrize(
    ("pip", "sentence"),
    [
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\n"
            "ERROR: Could not find a version that satisfies torch (from versions: )\n",
            "the package index was not reached: is this machine online?",
        ),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space "
            "left on device\n",
            "the disk is full: the environment needs 3 GB",
        ),
        (
            "ERROR: No matching distribution found for torch==2.13.0\n",
            "the package index has no version that fits this Python and machine",
        ),
        ("error: odd\nhint: see above\n", "error: odd"),
        ("", "no word why"),
    ],
)
def test_what_stops_pip_is_said_in_one_sentence(environment, pip, sentence):
    folder = environment(pip + "note\n" if pip else "\n")
    said = refused(install.main, folder, "requirements.txt")
    assert said.startswith(f"install: {sentence}") or not pip
    assert said.endswith(f"(all that pip said: {folder}/install.log)")


def test_a_disk_without_room_is_noticed_before_anything_is_written(
    monkeypatch, tmp_path
):
    none = SimpleNamespace(free=2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: none)
    assert "the disk is full" in refused(install.environment, str(tmp_path / "env"))
    assert not [*tmp_path.iterdir()]
    with pytest.raises(OSError, match="1 MB are free"):
        site.build(ROOT, tmp_path / "site")


@pytest.mark.slow
def test_an_environment_left_half_made_is_made_anew(tmp_path):
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    (tmp_path / "env" / "left").touch()
    assert install.environment(str(tmp_path / "env")) == str(python)
    subprocess.run([python, "-m", "pip", "--version"], check=True, capture_output=True)
    assert not (tmp_path / "env" / "left").exists()


def test_a_long_install_shows_that_it_is_alive_and_is_no_flood(
    environment, monkeypatch, capsys
):
    says = "".join(
        f"Collecting p{n}\n  Downloading p{n}-1.0.whl (9 MB)\n" for n in range(99)
    )
    folder = environment(says, status=0)
    monkeypatch.setattr(install, "QUIET", 0.0)
    install.main(folder, "requirements.txt")
    every = capsys.readouterr().out.splitlines()
    assert any("99 packages, p98 (9 MB)" in line for line in every)
    monkeypatch.setattr(install, "QUIET", 1e9)
    install.main(folder, "requirements.txt")
    first, last = capsys.readouterr().out.splitlines()
    assert first.endswith("once; this takes minutes") and last == "install: done"


# --- the site ------------------------------------------------------------------


@pytest.fixture
def taken():
    """A port that another program listens on."""
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        yield other.getsockname()[1]


def test_a_taken_port_is_passed_over_and_said(taken, tmp_path, monkeypatch, capsys):
    (tmp_path / "index.html").write_text("the book")
    opened, read = [], []
    monkeypatch.setattr(site.webbrowser, "open", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")

    def reader(running):
        with urllib.request.urlopen(opened[0]) as page:
            read.append(page.read())
        running.shutdown()

    def forever(running, serve=site.Server.serve_forever):
        threading.Thread(target=reader, args=[running]).start()
        serve(running)

    monkeypatch.setattr(site.Server, "serve_forever", forever)
    site.serve(tmp_path, taken)
    said = capsys.readouterr().out
    assert f"Port {taken} is taken. The book is at {opened[0]}" in said
    assert read == [b"the book"]


def test_no_browser_opens_where_there_is_no_display(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not site.has_display()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert site.has_display()


@pytest.mark.parametrize("port", ["many", "-1", "65536"])
def test_a_port_that_is_none_is_refused(port, capsys):
    with pytest.raises(SystemExit):
        site.main([f"--port={port}"])
    assert "a port is 0 (any free one) to 65535" in capsys.readouterr().err


@pytest.mark.slow
def test_an_interrupted_build_goes_on_cleanly(tmp_path):
    root = make_book(tmp_path / "book")
    out = root / "_build" / "site"
    command = [sys.executable, "-m", "tokenbook.site", "--source", root, "--out", out]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    while not (root / "_build/editions/zh/html/_sources").exists():
        assert started.poll() is None
    os.kill(started.pid, 2)
    said, _ = started.communicate()
    assert "Traceback" not in said
    half = root / "_build/editions/zh/html/chapters/05_a.html"
    half.parent.mkdir(parents=True, exist_ok=True)
    half.write_text("<html>half a page", encoding="utf-8")
    assert site.build(root, out) == 0
    page = (out / "zh/chapters/05_a.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")


def test_an_edition_in_no_language_of_the_book_is_named(tmp_path, capsys):
    root = make_book(tmp_path / "book")
    config = root / "_config.yml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("  zh: {}\n", "  zh: {}\n  xx: {}\n"), "utf-8")
    assert site.main(["--source", str(root)]) == 1
    assert "an edition xx, which is no language of the book" in capsys.readouterr().err


def test_what_drives_a_browser_is_in_a_file_that_make_runs_as_such():
    """`make test` gives those files, and no other, to the tests with a browser."""
    mark = "pytest.mark." + "browser"
    files = {path for path in (ROOT / "tests").glob("*.py") if mark in path.read_text()}
    assert files == {*(ROOT / "tests").glob("test_*_browser.py")}
    assert "tests/test_*_browser.py" in (ROOT / "Makefile").read_text()
