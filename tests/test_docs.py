"""The examples in the docstrings are run and say what they print."""

import doctest
import importlib
from pathlib import Path

import pytest
import torch

import tokencredit

PACKAGE = Path(tokencredit.__file__).parent
MODULES = [
    path.stem for path in sorted(PACKAGE.glob("*.py")) if ">>>" in path.read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_docstrings_hold(name):
    module = importlib.import_module(f"tokencredit.{name}")
    result = doctest.testmod(module, extraglobs={"torch": torch})
    assert result.attempted and not result.failed
