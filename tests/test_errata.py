"""The errata museum: every law catches its mistake and lets the repair pass."""

import pytest
from errata_page import WORDS, exhibits, learned

from tokencredit.lab import responses, where
from tokencredit.world.tasks import task

EXHIBITS = exhibits()


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_law_catches_the_mistake_and_lets_the_repair_pass(name):
    exhibit = EXHIBITS[name]
    assert not exhibit["law"](exhibit["wrong"])
    assert exhibit["law"](exhibit["right"])


def test_a_room_shows_what_a_policy_really_wrote_and_that_the_mistake_paid_for_it():
    rooms = [exhibit for exhibit in EXHIBITS.values() if "LEARNED" in exhibit]
    assert rooms
    for exhibit in rooms:
        said = where(responses("hacks"), **exhibit["LEARNED"])
        shown = learned(exhibit["LEARNED"], WORDS["en"] | exhibit["WORDS"]["en"])
        pay = {}
        for step in (said.step.min(), said.step.max()):
            row = where(said, step=step)
            pairs = list(zip(row.prompt, row.response, strict=True))
            assert all(f"`{p}` |" in shown and f"`{r}` |" in shown for p, r in pairs)
            pay[step] = [float(exhibit["wrong"](p, r)) for p, r in pairs]
            wrongly = [
                exhibit["wrong"](p, r) > exhibit["right"](p, r) for p, r in pairs
            ]
            goal = [task("signs").reward(p, r) for p, r in pairs]
            assert row.right.tolist() == goal
        before, after = pay.values()
        assert sum(after) > sum(before) and sum(wrongly) >= 4
