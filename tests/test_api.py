"""The API page: every public name of the package is on it, under its arrow."""

import ast
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
import yaml

from tokenbook.languages import LANGUAGES
from tokenbook.site.pages.api import TREE, ApiReference, plain_prose, public

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
PACKAGE = SRC / "tokencredit"
OF_THE_BOOK = [SRC / "tokenbook" / part for part in ("lab", "figures")]


class Page(ApiReference):
    """The directive without Sphinx."""

    def __init__(self):
        pass

    def depends_on(self, path):
        assert path.is_file(), path


def all_of_the_package() -> set[str]:
    """What every ``__all__`` of the package says, read as text."""
    found = set()
    for path in [
        file for part in (PACKAGE, *OF_THE_BOOK) for file in part.rglob("*.py")
    ]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and "__all__" in ast.dump(node.targets[0]):
                found |= set(ast.literal_eval(node.value))
    return found


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_public_name_is_missing(lang):
    shown = re.findall(r"^\.\. [\w:]+:: ([\w.]+)$", Page().markdown(lang), re.M)
    names = {address.rpartition(".")[2] for address in shown}
    missing = all_of_the_package() - names
    assert not missing and len(shown) == len(set(shown))
    assert {
        "rollout",
        "train",
        "forward",
        "Batch",
        "AGGREGATIONS",
        "RowTrainer",
    } <= names


def test_the_sections_are_the_folders_in_the_order_of_the_arrows():
    arrows = ["world", "credit", "weight", "training"]
    assert [part for part in TREE if part in arrows] == arrows
    parts = {path.stem for path in PACKAGE.iterdir() if path.name[0] != "_"} - {"py"}
    assert set(TREE) == parts | {path.name for path in OF_THE_BOOK}
    assert "gae" in public()["credit"] and "forward" in public()["training"]


def as_text(source: Path) -> str:
    """The page as text, set by Sphinx with the settings of the book."""
    from sphinx.application import Sphinx

    book = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    book = book["sphinx"]["config"]
    settings = {k: v for k, v in book.items() if k.startswith("autodoc_")}
    used = [name for name in book["extensions"] if name.startswith("sphinx.ext.")]
    blocks = re.findall(r"```{eval-rst}\n(.*?)```", Page().markdown("en"), re.S)
    (source / "index.rst").write_text("\n".join(["API", "===", *blocks]), "utf-8")
    app = Sphinx(
        source,
        None,
        source / "_out",
        source / "_trees",
        "text",
        confoverrides=settings | {"extensions": used},
        status=None,
        warning=None,
    )
    app.add_config_value("edition", "en", "env")
    app.connect("autodoc-process-docstring", plain_prose, priority=400)
    app.build()
    return (source / "_out/index.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> str:
    """Set in a process of its own: autodoc gives functions other signatures."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(as_text, tmp_path_factory.mktemp("api")).result()


def test_a_default_is_shown_as_the_code_says_it_on_every_machine(words):
    assert "tokenbook.lab.results(" in words and "store=STORE" in words
    own = [
        str(ROOT),
        str(Path.home()),
        "PosixPath",
        "WindowsPath",
        "<function",
        " at 0x",
    ]
    assert [text for text in own if text in words] == []
