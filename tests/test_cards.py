"""A letter leads to what it means in its chapter, or nowhere."""

import re
from pathlib import Path

import pytest

from tokenbook.site.chapter.cards import rows, symbols

ROOT = Path(__file__).parents[1]
CHAPTERS = range(17)


def said() -> dict[str, list[set[int]]]:
    """What the page of the glossary says of letters: the chapters of each meaning."""
    text = (ROOT / "book" / "glossary.md").read_text("utf-8")
    table = text.split("| Letter | Meaning (chapter) |")[1]
    lines = re.findall(r"^\| \$([^$]+)\$ \| (.*) \|$", table, re.M)
    return {
        letter: [
            {int(n) for n in re.findall(r"\d+", found[1])}
            for part in meanings.split("; ")
            if (found := re.search(r"\(((?:\d+(?:, )?)+)\)$", part))
        ]
        for letter, meanings in lines
    }


@pytest.mark.parametrize(
    ("letter", "chapter", "term"),
    [
        (r"\mu", 8, None),  # the mean of the group
        (r"\mu", 7, None),  # a multiplier
        (r"\mu", 12, "sampler_policy"),
        (r"\mu", 15, "sampler_policy"),
        (r"\mu", 16, None),  # both
        (r"\Phi", 4, "potential_shaping"),
        (r"\Phi", 12, None),  # of the normal distribution
        ("r_t", 5, "reward"),
        ("r_t", 6, None),  # the ratio, in the paper
        ("w_t", 11, None),
        ("w_t", 12, "sampler_weight"),
        (r"\rho_t", 6, "ratio"),
        ("d", 7, None),  # no bare letter is linked
    ],
)
def test_a_letter_leads_to_its_meaning(letter, chapter, term):
    assert symbols(chapter).get(letter) == term


def test_a_letter_of_several_meanings_is_linked_in_chapters_of_one_of_them():
    letters = said()
    assert {r"\mu", r"\Phi", "r_t", r"\kappa"} <= letters.keys()
    for chapter in CHAPTERS:
        for letter, term in symbols(chapter).items():
            meanings = letters.get(letter, [])
            if len(meanings) > 1:
                assert sum(chapter in meaning for meaning in meanings) == 1, letter
                assert chapter in rows()[term]["chapters"]
