"""The map of what came after: what is typed about a method agrees with the table."""

import pytest

from tokenbook.figures import family
from tokenbook.figures._thread import STAGES
from tokencredit import ALGORITHMS

ROWS = [method for method in family.METHODS if not method.code]


@pytest.mark.parametrize("method", family.METHODS, ids=lambda method: method.name)
def test_a_card_fits_its_place(method):
    assert {*method.stages} <= {*list(STAGES)[1:]}
    assert 1 <= len(family.code_of(method)) <= family.LINES
    assert 2 <= len(family.line_of(method)) <= family.DEEP
    assert 0 <= method.ships <= 16


def test_a_method_with_a_row_is_told_by_its_row():
    assert {method.name for method in ROWS} == {
        "REINFORCE++",
        "GMPO",
        "SAPO",
        "DPPO",
        "GRPO + TIS",
        "OPD",
    }
    assert {m.name for m in family.METHODS} & set(ALGORITHMS) == {m.name for m in ROWS}


@pytest.mark.parametrize("method", ROWS, ids=lambda method: method.name)
def test_the_arrow_of_a_row_is_that_of_the_field_it_changes(method):
    changed = {line.split(" = ")[0] for line in family.code_of(method)}
    fields = {"weight": "loss", "credit": "advantage", "reward": "advantage"}
    assert fields[method.stage] in changed
