"""One thread, the same examples every time, and one browser on one site.

Tests compare numbers and several runs may share the machine, so no time limit holds,
except for a test that hangs (pyproject.toml).
"""

import fcntl
import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the processes that tests start
settings.register_profile("course", deadline=None, derandomize=True)
settings.load_profile("course")


@pytest.fixture(scope="session")
def folder(tmp_path_factory, request) -> Path:
    """Bring the real site up to date, one worker for all, and return where it is."""
    from test_site_build import ROOT, load

    out, base = ROOT / "_build" / "site", tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(request.config, "workerinput") else base
    with (shared / "site-is-built").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "site-is-built").stat().st_size:
            built = load("site").build(ROOT, out)
            assert built == 0, "the site does not build: see the warnings"
            lock.write("built")
    return out


@pytest.fixture(scope="module")
def browser():
    """Chromium; one at a time in a process."""
    from test_site_build import load

    with load("measure").chromium() as browser:
        yield browser


@pytest.fixture
def page(browser):
    from test_site_build import load

    context = browser.new_context()
    context.set_default_timeout(load("measure").PATIENCE)
    yield context.new_page()
    context.close()
