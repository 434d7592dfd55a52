"""Every symptom has the shape of its log beside it."""

from pathlib import Path

from symptoms_page import SHAPES, curves, sketch

from coursebook.pages import headings, pieces, slug
from tokencredit.lab import responses, where

PAGE = Path(__file__).parents[1] / "book" / "symptoms.md"


def symptoms() -> list[str]:
    english = [text for lang, text in pieces(PAGE.read_text("utf-8")) if lang == "en"]
    heads = [head for text in english for head in headings(text)]
    last = [title for level, title in heads if level == 2][-1]
    before = heads[: heads.index((2, last))]  # the last part lists what to log
    return [slug(title) for level, title in before if level == 3]


def test_every_symptom_has_a_curve_and_every_curve_a_symptom():
    assert set(symptoms()) == set(curves())


def test_every_shape_is_drawn_inside_its_box_and_by_somebody():
    used = {row["shape"] for rows in curves().values() for row in rows}
    assert used == set(SHAPES)
    for name, shape in SHAPES.items():
        heights = [shape(k / 48) for k in range(49)]
        assert -0.05 <= min(heights) and max(heights) <= 1.05, name


def test_a_sketch_names_its_curves_in_the_language_of_the_page():
    rows = curves()["the-loss-is-0-yet-it-learns"]
    assert "奖励" in sketch(rows, "zh") and "reward" in sketch(rows, "en")
    assert sketch(rows, "en").count("<polyline") == 2


def test_the_responses_of_a_hacked_reward_are_those_that_are_stored():
    said = where(responses("hacks"), paid="mark", kl_coef=0.0, seed=0)
    said = where(said, prompt="6□3□9=12?")
    stored = {step: where(said, step=step).response.item() for step in (0, 16)}
    pages = [text for lang, text in pieces(PAGE.read_text("utf-8")) if lang]
    for text in pages[:2]:
        first, last = (text.index(f"`{stored[step]}`") for step in (0, 16))
        assert text.index("`6□3□9=12?`") < first < last
