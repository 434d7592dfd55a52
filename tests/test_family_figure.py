"""The map of what came after: what is typed about a method agrees with the table."""

import pytest

from tokenbook.figures import family
from tokenbook.figures._thread import STAGES
from tokenbook.lab.experiments.distillation import PLAIN, TAUGHT
from tokencredit import ALGORITHMS

ROWS = [method for method in family.METHODS if not method.code]


@pytest.mark.parametrize("method", family.METHODS, ids=lambda method: method.name)
def test_a_card_fits_its_place(method):
    assert method.stage in list(STAGES)[1:]
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
    }
    assert {m.name for m in family.METHODS} & set(ALGORITHMS) == {m.name for m in ROWS}


@pytest.mark.parametrize("method", ROWS, ids=lambda method: method.name)
def test_the_arrow_of_a_row_is_that_of_the_field_it_changes(method):
    changed = {line.split(" = ")[0] for line in family.code_of(method)}
    assert {"weight": "loss", "credit": "advantage"}[method.stage] in changed


def test_the_code_of_distillation_is_that_of_the_experiment():
    """Its card is typed: every choice that the experiment changes is on it."""
    card = " ".join(family.METHODS[family.start("OPD")].code)
    changed = [
        name
        for name in family.CHOICES
        if family.value_text(getattr(TAUGHT, name))
        != family.value_text(getattr(PLAIN, name))
    ]
    told = {"kl_estimator": "k1", "advantage": "discounted_return(gamma=0)"}
    for name in set(changed) - {"aggregation"}:
        assert told.get(name, name) in card, name
