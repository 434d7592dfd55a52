"""Slides: the page makes as many as the notebook says, and moves nothing for good."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tokenbook.site.slides.page import minutes, plan, problems

pytestmark = pytest.mark.browser
CHAPTERS = sorted(
    (Path(__file__).resolve().parents[1] / "chapters").glob("[0-9]*.ipynb")
)
NOTEBOOKS = {path.stem: json.loads(path.read_text("utf-8")) for path in CHAPTERS}


def address(folder, lang, chapter, more=""):
    return (folder / lang / "chapters" / f"{chapter}.html").as_uri() + more


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_chapter_has_the_slides_that_its_notebook_promises(folder, page, lang):
    for chapter, notebook in NOTEBOOKS.items():
        page.goto(address(folder, lang, chapter, "?slides=print"))
        page.wait_for_selector("html[data-slides]", state="attached")
        kinds = page.eval_on_selector_all(
            ".slide", "slides => slides.map((slide) => slide.classList[1])"
        )
        assert Counter(kinds) == +plan(notebook), chapter
        assert not problems(notebook), chapter


def turn_to(page, what):
    """Turn on until a slide shows it; the keys work whatever had the focus."""
    for _ in range(60):
        if page.locator(what).count():
            return
        page.keyboard.press("ArrowRight")
    raise AssertionError(f"no slide shows {what}")


def test_keys_turn_the_slides_and_the_page_is_whole_again(folder, page):
    page.goto(address(folder, "en", "08_grpo"))
    page.wait_for_function("window.practised")  # comes after the page, too
    blocks = "document.querySelectorAll('article.bd-article *').length"
    before = page.evaluate(blocks)
    page.click("#to-slides")
    page.wait_for_selector("dialog.slides[open]")
    count = sum(plan(NOTEBOOKS["08_grpo"]).values())
    status = page.locator(".slides-bar [role=status]")
    assert status.inner_text() == f"1 / {count}"
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert status.inner_text() == f"5 / {count}"
    assert page.evaluate("location.hash") == "#slide-5"
    assert not page.locator(".slide-notes").is_visible()
    page.keyboard.press("n")
    assert page.locator(".slide-notes").is_visible()
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    assert status.inner_text() == f"{count} / {count}"
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.slides", state="detached")
    assert page.evaluate(blocks) == before
    assert page.evaluate("location.hash") == ""


def test_a_figure_moves_on_its_slide_and_a_prediction_is_asked(folder, page):
    page.goto(address(folder, "en", "08_grpo", "#slide-1"))
    page.wait_for_selector("dialog.slides[open]")
    turn_to(page, ".slide.prediction")
    choice = page.locator(".slide .predict-choice").first
    choice.click()
    assert page.locator(".slide .predict-says").inner_text()
    turn_to(page, ".slide .explorer[data-xp]")
    pressed = "button[aria-pressed=true]"
    stage = page.locator(".slide .explorer[data-xp]")
    before = stage.locator(".ex-presets " + pressed).inner_text()
    stage.locator(".ex-presets button[aria-pressed=false]").first.click()
    assert stage.locator(".ex-presets " + pressed).inner_text() != before


def test_a_chapter_without_marks_is_refused_by_name():
    bare = {"cells": [{"cell_type": "markdown", "metadata": {}, "source": "# A"}]}
    assert problems(bare)[0] == "no prediction on the main road"
    assert minutes(Counter(title=1, figure=2)) == 8
