"""The map of what came after: what is typed about a method agrees with the table."""

import re
from functools import partial
from pathlib import Path

import pytest
import yaml

from tokenbook.figures import family
from tokenbook.figures._thread import STAGES
from tokencredit import ALGORITHMS

ROOT = Path(__file__).parents[1]
ROWS = [method for method in family.METHODS if not method.code]


@pytest.mark.parametrize("method", family.METHODS, ids=lambda method: method.name)
def test_a_card_fits_its_place(method):
    assert {*method.stages} <= {*list(STAGES)[1:]}
    assert 1 <= len(family.code_of(method)) <= family.LINES
    assert 2 <= len(family.line_of(method)) <= family.DEEP
    assert 0 <= method.ships <= 16


@pytest.mark.parametrize("lang", ("zh", "en"))
def test_a_count_of_libraries_is_that_of_the_survey(lang):
    """A card whose name the survey did not count says what was counted instead."""
    text = yaml.safe_load((ROOT / "book/wild/16.yml").read_text("utf-8"))[lang]
    lines = re.findall(r"^\| ([^|]+) \| (\d+) \|", text, re.M)
    names = {
        "OPD": {"zh": "同策略蒸馏", "en": "on-policy distillation"},
        "GRPO + TIS": {"zh": "TIS", "en": "TIS"},
        "ScaleRL": {"zh": "异步", "en": "asynchrony"},
    }
    for method in family.METHODS:
        name = names.get(method.name, {}).get(lang, method.name)
        (found,) = [
            int(n) for line, n in lines if re.search(rf"\b{re.escape(name)}", line)
        ]
        assert method.ships == found, method.name
    counted = {m.name for m in family.METHODS if m.counts != family.Method.counts}
    assert counted == {"ScaleRL", "GRPO + TIS"}


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


def chosen(value):
    """What makes two values of a field the same choice."""
    if isinstance(value, partial):
        return value.func, value.keywords
    return value


@pytest.mark.parametrize("name", [x for x, row in ALGORITHMS.items() if row.parent])
def test_the_differences_of_every_row_are_told_and_are_all(name):
    """A reader may put any row into the cell of chapter 16."""
    row, parent = ALGORITHMS[name], ALGORITHMS[ALGORITHMS[name].parent]
    told = [line.split(" = ", 1) for line in family.differences(row)]
    assert told
    for field in family.CHOICES:
        if family.acts(row, field):
            left, right = chosen(getattr(row, field)), chosen(getattr(parent, field))
            assert (field in dict(told)) == (left != right), field


def test_what_is_no_number_is_written_as_code():
    cispo, bapo = ALGORITHMS["CISPO"], ALGORITHMS["BAPO"]
    assert "loss = cispo_loss(clip_low=None, clip_high=4)" in family.differences(cispo)
    assert any("'" in line for line in family.differences(bapo))
