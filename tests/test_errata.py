"""The errata museum: every law catches its mistake and lets the repair pass."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "book" / "_ext"))
from exhibits import Exhibit

EXHIBITS = Exhibit.__subclasses__()


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.__name__)
def test_the_law_catches_the_mistake_and_lets_the_repair_pass(exhibit):
    assert not exhibit.law(exhibit.wrong)
    assert exhibit.law(exhibit.right)
