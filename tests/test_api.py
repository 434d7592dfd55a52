"""The API page: every public name of the package is on it, under its arrow."""

import ast
import re
from pathlib import Path

import pytest
from api_page import TREE, ApiReference, public

from coursebook.languages import LANGUAGES

PACKAGE = Path(__file__).parents[1] / "src" / "tokencredit"


class Page(ApiReference):
    """The directive without Sphinx."""

    def __init__(self):
        pass

    def depends_on(self, path):
        assert path.is_file(), path


def all_of_the_package() -> set[str]:
    """What every ``__all__`` of the package says, read as text."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
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
    assert {"rollout", "train", "read", "Batch", "AGGREGATIONS", "RowTrainer"} <= names


def test_the_sections_are_the_folders_in_the_order_of_the_arrows():
    arrows = ["world", "credit", "weight", "training"]
    assert [part for part in TREE if part in arrows] == arrows
    parts = {path.stem for path in PACKAGE.iterdir() if path.name[0] != "_"}
    assert set(TREE) == parts
    assert "gae" in public()["credit"] and "read" in public()["training"]
