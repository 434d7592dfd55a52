"""The minutes of a chapter: what counts, what is folded away, and whose road it is."""

import pytest
from test_marks import asked, code, prose, side

from tokenbook.languages import minutes

TEXT = "one two three four five six seven eight nine ten " * 20  # 200 words: a minute


def took(*cells: dict) -> float:
    """Minutes of the English edition by the formula, before they are rounded."""
    cells = [prose("# T", "lang-zh"), prose("# T", "lang-en"), *cells]
    found = minutes.sections({"cells": list(cells)})
    return sum(minutes.seconds(one.counts["en"], "en") for one in found) / 60


def printed(text: str, *tags: str, **data) -> dict:
    output = {"output_type": "stream", "text": "a\nb\n"}
    drawn = {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>"}}
    return code(text, *tags) | {"outputs": [drawn if data else output]}


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        (prose(TEXT, "lang-en"), 60),
        (prose(TEXT, "lang-zh"), 0),
        (prose("$a$ and $b$", "lang-en"), 4.3),
        (prose("$$a \\\\ b$$ (eq-one)"), 50),
        (prose("```python\nx\n\ny\n```", "lang-en"), 6),
        (prose("<details><summary>One two</summary>\n\nlong\n\n</details>"), 0.6),
        (prose(f":::{{dropdown}} One\n{TEXT}\n:::", "lang-en"), 0.3),
        (asked(0), 40),
        (printed("x\n\ny"), 9),
        (printed("x", "setup"), 0),
        (printed("x", "hide-cell"), 0),
        (printed("x", "hide-input"), 3),
        (printed("x", "hide-output"), 3),
        (printed("x", drawn=True), 33),
        (printed("explore('a')", "picture"), 78),
        (printed("show_strip(a)", "remove-input"), 33),
    ],
)
def test_what_stands_open_counts(cell, seconds):
    assert took(cell) * 60 == pytest.approx(seconds, abs=0.5)


def test_a_side_and_what_is_below_it_are_not_on_the_road():
    def both(text):
        return [prose(text, "lang-zh"), prose(text, "lang-en")]

    cells = [
        *both("# T"),
        *both(f"## Road\n\n{TEXT * 20}"),
        *side("### Side\n\nA line."),
        *both(f"#### Below\n\n{TEXT * 30}"),
        *both(f"### Road again\n\n{TEXT}"),
        *both("## Exercises"),
        *both(f"### Exercise 1\n\n{TEXT * 30}"),
    ]
    found = minutes.sections({"cells": cells})
    assert [one.anchor for one in found if one.side] == ["side", "below"]
    assert [one.anchor for one in found if not one.read] == ["exercises", "exercise-1"]
    assert minutes.exercises(found) == 1
    road = sum(one.minutes for one in found if one.read and not one.side)
    assert minutes.road(found) == 5 * round(road / 5) < minutes.rounded(found)
