"""The errata museum: every law catches its mistake and lets the repair pass."""

import re

import pytest

from tokenbook.figures import STAGES
from tokenbook.lab import per_seed, responses, results, where
from tokenbook.languages import LANGUAGES
from tokenbook.languages.glossary import retired
from tokenbook.languages.pages import headings, slug
from tokenbook.site.pages.errata import (
    WORDS,
    ErrataExhibits,
    exhibits,
    index,
    learned,
    trained,
)
from tokencredit.world.tasks import task

EXHIBITS = exhibits()
WORD_OF_TWO = WORDS["en"] | {"trained": "Two", "axis": "y", "lines": ("a", "b")}


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_law_catches_the_mistake_and_lets_the_repair_pass(name):
    exhibit = EXHIBITS[name]
    assert not exhibit["law"](exhibit["wrong"])
    assert exhibit["law"](exhibit["right"])


class Page(ErrataExhibits):
    """The directive without Sphinx."""

    def __init__(self):
        pass

    def depends_on(self, path):
        pass


@pytest.mark.parametrize("name", EXHIBITS)
def test_a_mistake_lies_on_an_arrow_of_the_thread(name):
    assert EXHIBITS[name]["ARROW"] in [*STAGES][1:]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_index_leads_to_every_room_in_the_order_of_the_page(lang):
    english = [title for _, title in headings(Page().markdown("en"))]
    said = index(EXHIBITS, lang)
    assert re.findall(r'href="#(.*?)"', said) == [slug(title) for title in english]
    assert len({*english}) == len(english) > len(EXHIBITS)
    for room in EXHIBITS.values():
        assert said.count(f">{room['WORDS'][lang]['purpose']}</a>") == 1


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


@pytest.mark.parametrize("name", EXHIBITS)
def test_a_room_uses_no_retired_word(name):
    for lang, words in EXHIBITS[name]["WORDS"].items():
        for said in words.values():
            for text in (said,) if isinstance(said, str) else said:
                assert not [*retired(text, lang)], text


def test_a_room_draws_every_seed_of_its_mistake_and_of_what_it_is_compared_with():
    rooms = [exhibit for exhibit in EXHIBITS.values() if "TRAINED" in exhibit]
    assert len(rooms) >= 6
    rows = results("mistakes")
    for exhibit in rooms:
        html = trained(exhibit["TRAINED"], WORDS["en"] | exhibit["WORDS"]["en"])
        for look, (arm, column) in zip(("down", "up"), exhibit["TRAINED"], strict=True):
            seeds = per_seed(rows, column, arm=arm)
            assert html.count(f'class="{look} thin"') == len(seeds) == 5
            assert html.count(f'class="{look}"') == 2  # the median, and its name
            for line in exhibit["WORDS"]["en"]["lines"]:
                assert f">{line}<" in html


def test_a_curve_stands_at_the_height_of_its_numbers():
    html = trained((("GRPO", "success"), ("CISPO", "success")), WORD_OF_TWO)
    drawn = re.findall(r'class="down thin" d="M(.*?)"', html)
    ticks = re.findall(r'd="M28 ([\d.]+)H', html)  # of 0, one half and 1
    low, _, high = map(float, ticks)
    stored = per_seed(results("mistakes"), "success", arm="GRPO")
    for path, numbers in zip(drawn, stored, strict=True):
        heights = [float(point.split()[1]) for point in path.split("L")]
        told = [(low - height) / (low - high) for height in heights]
        assert told == pytest.approx(numbers.tolist(), abs=0.001)
