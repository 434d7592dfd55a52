"""No page is stale: it is made again when a figure, its data or its words change.

A book of a few pages is built in a copy, once; then each kind of source is changed, and
it is built again, as `make book` does.
"""

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import yaml

from tokenbook.languages.sources import depend, forget, relisted

ROOT = Path(__file__).parents[1]
BUILD = """
import sys
from pathlib import Path
import yaml
from tokenbook.site.make import site
root = Path.cwd()
config = yaml.safe_load(Path("_config.yml").read_text("utf-8"))
config = site.edition_config(config, "zh", root)
config["sphinx"]["config"]["made"] = ""
file = root / "_build" / "config.yml"
file.parent.mkdir(exist_ok=True)
file.write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
site.build_edition(root, file, root / "_build" / "zh")  # its warnings do not matter
"""
INDEX = '+++ {"lang": "zh"}\n# 开始\n+++ {"lang": "en"}\n# Start\n'
FIGURES = {
    "runs": "discount_runs",
    "record": "forty_lines",
    "still": "shift",
    "term": "causality",
}
PAGES = ("glossary", "zoo", "playground", "errata")


def chapter(figure: str) -> dict:
    """A notebook that shows one live figure."""
    prose = [
        {"cell_type": "markdown", "id": lang, "metadata": {"tags": [f"lang-{lang}"]}}
        | {"source": f"# {title}"}
        for lang, title in (("zh", "题"), ("en", "Title"))
    ]
    reference = {"explorer": {"figure": f"tokenbook.figures.{figure}"}}
    shown = {"output_type": "display_data", "metadata": reference}
    shown["data"] = {"image/png": "", "text/plain": ""}
    cell = {"cell_type": "code", "id": "shown", "metadata": {}, "outputs": [shown]}
    cell |= {"source": "explore()", "execution_count": 1}
    meta = {"language_info": {"name": "python"}}
    return {"cells": [*prose, cell], "metadata": meta, "nbformat": 4} | {
        "nbformat_minor": 5
    }


def build(tree: Path) -> dict[str, str]:
    """Build the Chinese edition, what is made already being kept; its pages."""
    env = os.environ | {"PYTHONPATH": str(tree / "src")}
    done = subprocess.run(
        [sys.executable, "-c", BUILD], cwd=tree, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    out = tree / "_build" / "zh"
    assert (out / "index.html").exists(), done.stderr
    return {
        page.stem: page.read_text(encoding="utf-8")
        for page in [*out.glob("chapters/*.html"), *out.glob("book/*.html")]
    }


def environment(tree: Path):
    """What Sphinx remembers of the pages."""
    with (tree / "_build" / ".doctrees" / "environment.pickle").open("rb") as file:
        return pickle.load(file)


def dependents(tree: Path) -> dict[str, set[str]]:
    """The pages that each file's change makes anew."""
    env = environment(tree)
    found: dict[str, set[str]] = {}
    for page, files in env.dependencies.items():
        for file in files:
            name = os.path.relpath(os.path.join(env.srcdir, file), tree)
            found.setdefault(name, set()).add(Path(page).name)
    return found


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A copy of the packages and of the pages concerned."""
    tree = tmp_path_factory.mktemp("fresh") / "book"
    ignore = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info")
    for part in ("src", "book"):
        shutil.copytree(ROOT / part, tree / part, ignore=ignore)
    for name in ("_config.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, tree)
    zoo = tree / "book" / "zoo.md"  # its table is what changes: no figure
    text = re.sub(r"(?s)```{explorer}.*?```\n", "", zoo.read_text(encoding="utf-8"))
    zoo.write_text(text, encoding="utf-8")
    (tree / "chapters").mkdir()
    for name, figure in FIGURES.items():
        text = json.dumps(chapter(figure))
        (tree / "chapters" / f"{name}.ipynb").write_text(text, encoding="utf-8")
    (tree / "book" / "index.md").write_text(INDEX, encoding="utf-8")
    files = [f"chapters/{name}" for name in FIGURES] + [f"book/{p}" for p in PAGES]
    part = {"caption": "章节 | Chapters", "chapters": [{"file": f} for f in files]}
    toc = {"format": "jb-book", "root": "book/index", "parts": [part]}
    (tree / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    return tree


@pytest.fixture(scope="module")
def before(tree) -> dict[str, str]:
    return build(tree)


@pytest.fixture(scope="module")
def known(tree, before) -> dict[str, set[str]]:
    return dependents(tree)


class Change(NamedTuple):
    """A change of one source, the pages it concerns, and what they say then."""

    file: str
    old: str  # a pattern
    new: str
    pages: set[str]
    shows: str


CHANGES = {
    "a term": Change(
        "book/glossary.yml",
        "    zh: 折扣因子\n",
        "    zh: 贴现的倍数\n",
        {"term", "glossary", "playground"},
        "贴现的倍数",
    ),
    "a stored run": Change(
        "src/tokenbook/lab/results/gamma-sweep.csv",
        r"(?m)^(0\.5,\d,\d+),[^,]+,[^,]+",
        r"\1,0.1234,0.1234",
        {"runs"},
        ">0.12<",
    ),
    "a recording": Change(
        "src/tokenbook/figures/static/forty_lines.json",
        '"success": 0.2617',
        '"success": 0.4321',
        {"record"},
        ">0.43<",
    ),
    "a figure": Change(
        "src/tokenbook/figures/shift.py",
        "读完第 j 个词元",
        "读过第 j 个词元",
        {"still"},
        "读过第 j 个词元",
    ),
    "an algorithm": Change(
        "src/tokencredit/algorithms.py",
        "clip_high=0.28",
        "clip_high=0.279",
        {"zoo", "playground"},
        "0.279",
    ),
    "a task of the playground": Change(
        "src/tokencredit/world/enumerable.py",
        '"☀": -0.85',
        '"☀": -0.86',
        {"playground"},
        "-0.86",
    ),
    "a room of the museum": Change(
        "book/errata/01_min_for_good_max_for_bad.py",
        "A 小于 0 时改取 max",
        "A 小于 0 时竟取 max",
        {"errata"},
        "A 小于 0 时竟取 max",
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_concerns_the_pages_that_show_it(known, kind):
    change = CHANGES[kind]
    assert change.pages <= known[change.file]


def test_a_figure_concerns_its_own_page_alone(known):
    for page, figure in FIGURES.items():
        assert known[f"src/tokenbook/figures/{figure}.py"] == {page}
        mine = [file for file, pages in known.items() if page in pages]
        assert len(mine) < 80, page
    assert known["src/tokenbook/lab/store.py"] == {"runs", "errata"}


@pytest.fixture(scope="module")
def after(tree, before) -> dict[str, str]:
    for change in CHANGES.values():
        path = tree / change.file
        text = path.read_text(encoding="utf-8")
        assert re.search(change.old, text), change.file
        path.write_text(re.sub(change.old, change.new, text), encoding="utf-8")
    return build(tree)


@pytest.mark.parametrize("kind", CHANGES)
def test_a_page_is_made_again_when_its_source_changes(before, after, kind):
    change = CHANGES[kind]
    for page in change.pages:
        assert change.shows not in before[page]
        assert change.shows in after[page], page


def test_a_page_is_made_again_when_a_folder_that_it_lists_holds_another_file(tmp_path):
    env = SimpleNamespace(docname="book/errata")
    depend(env, [str(tmp_path)])
    assert relisted(None, env) == []
    (tmp_path / "__pycache__").mkdir()
    assert relisted(None, env) == []
    (tmp_path / "99_new.py").touch()
    assert relisted(None, env) == ["book/errata"]
    forget(None, env, "book/errata")
    assert relisted(None, env) == []


def test_the_museum_lists_its_rooms(before, tree):
    folders = environment(tree).listed["book/errata"]
    assert str(tree / "book" / "errata") in folders


def test_nothing_is_made_again_when_nothing_has_changed(tree, after):
    env = environment(tree)
    for page, files in env.dependencies.items():
        for file in files:  # as Sphinx asks, in microseconds
            path = Path(env.srcdir, file)
            assert path.is_file() and path.stat().st_mtime_ns / 1e3 < env.all_docs[page]
    assert relisted(None, env) == []
