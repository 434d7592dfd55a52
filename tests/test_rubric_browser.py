"""The form for marks by hand, as a teacher fills it."""

import csv

import pytest
from test_gradebook import CHAPTERS, made

from tokenbook.homework.rubric import rubrics

pytestmark = pytest.mark.browser


def test_ticks_add_up_and_are_saved_as_the_csv_that_the_gradebook_reads(page, tmp_path):
    words = {"ann": "The gain is bias, the price variance over N.", "bob": "No idea."}
    made(tmp_path, words)
    page.goto((tmp_path / "out" / "rubric.html").as_uri())
    ann, bob = page.locator("section").all()
    assert ann.locator("h2").inner_text() == "ann: 0 / 3"
    ann.get_by_text("names the gain").click()
    ann.get_by_label("More points").fill("0.5")
    bob.get_by_label("Comment").fill('see "GAE", please')
    assert ann.locator("h2").inner_text() == "ann: 1.5 / 3"
    assert page.locator("header output").inner_text() == "not saved yet"
    with page.expect_download() as saved:
        page.get_by_role("button").click()
    assert page.locator("header output").inner_text() == ""
    assert saved.value.suggested_filename == "manual.csv"
    said = rubrics(CHAPTERS[5], "en").popitem()[1][0].text
    with open(saved.value.path(), encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["student", "points", "item", "comment"],
        ["ann", "1", "6.1", said],
        ["ann", "0.5", "", ""],
        ["bob", "0", "", 'see "GAE", please'],
    ]
    saved.value.save_as(tmp_path / "out" / "manual.csv")
    made(tmp_path, {})
    page.goto((tmp_path / "out" / "rubric.html").as_uri())
    assert page.locator("h2").first.inner_text() == "ann: 1.5 / 3"
    assert page.get_by_label("Comment").last.input_value() == 'see "GAE", please'
