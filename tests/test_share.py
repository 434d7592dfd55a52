"""Share it yourself: its numbers by hand, its link, its training, its page."""

import math
from itertools import pairwise

import pytest
from v8 import V8

from tokenbook.lab.token_values import SIGNS, score
from tokenbook.languages import LANGUAGES
from tokenbook.site.share import page

TOOLS = "\nvar tool = (name, ...given) => globalThis[name](...given);"
TOOLS += "var share = (name, ...given) => globalThis.shareTools[name](...given);"


@pytest.fixture(scope="module")
def v8():
    program = (page.FOLDER / "share.js").read_text("utf-8")
    engine = V8(page.simulation() + program + TOOLS)
    yield engine
    engine.close()


def one(text: str) -> dict:
    return next(r for r in page.responses() if r["text"] == text)


def test_there_are_six_responses_with_numbers_for_every_token():
    assert len({r["text"] for r in page.responses()}) == 6
    for r in page.responses():
        size = len(r["text"])
        assert size <= SIGNS.max_response
        assert r["score"] == score(r["text"])
        assert {len(row) for row in r["rows"].values()} == {size}
        assert len(r["values"]) == len(r["odds"]) == size


def test_the_credit_of_the_short_response_by_hand():
    rows = one("9-5+7=11✓$")["rows"]
    values = [0.34, 0.34, 0.54, 0.52, 0.99, 1, 0.99, 1, 1, 1, 1]
    changes = [b - a for a, b in pairwise(values)]
    assert rows["measured"] == pytest.approx(changes, abs=0.005)
    assert rows["REINFORCE"] == [1] * 10
    deviation = math.sqrt((3 * 0.625**2 + 5 * 0.375**2) / 7)  # 3 of 8 are right
    assert rows["GRPO"] == rows["GSPO"]
    assert rows["GRPO"] == pytest.approx([0.625 / deviation] * 10, abs=0.005)
    assert rows["PPO"][-1] == pytest.approx(1 - 0.82)  # the critic's last value
    assert rows["PPO"][-2] == pytest.approx(0.82 - 0.83 + 0.95 * 0.18, abs=0.006)


def test_a_wrong_response_earns_less_than_its_group():
    rows = one("9-5+7=13✓$")["rows"]
    assert set(rows["REINFORCE"]) == {0}
    assert set(rows["GRPO"]) == {-0.72}
    assert min(rows["measured"]) == rows["measured"][7] == -1  # the 3 for a 1


def test_the_long_response_shares_the_values_of_what_begins_alike():
    long, short = page.values(page.THREE), page.values("9+5-7=7✗$")
    for a, b in zip(long[:3], short[:3], strict=True):
        assert abs(a - b) < 5 * 0.021


@pytest.mark.parametrize(
    ("given", "credit", "expected"),
    [
        ([1, 0], [0, 1], 0),
        ([1, 1], [1, 0], 1 / math.sqrt(2)),
        ([3, 4], [4, 3], 24 / 25),
        ([1, -1], [-2, 2], -1),
        ([0, 0], [1, 2], None),
    ],
)
def test_the_cosine_by_hand(v8, given, credit, expected):
    found = v8.call("share", "cosine", given, credit)
    if expected is None:
        assert found is None or math.isnan(found)
    else:
        assert found == pytest.approx(expected)


def test_a_link_says_every_credit_and_comes_back(v8):
    lengths = [len(r["text"]) for r in page.responses()]
    for place, size in enumerate(lengths):
        given = [(7 * t + place) % 9 - 4 for t in range(size)]
        code = v8.call("share", "encode", place, given, page.LEVELS)
        assert len(code) == size + 2
        back = v8.call("share", "decode", code, lengths, page.LEVELS)
        assert back == {"place": place, "given": given}


@pytest.mark.parametrize("code", ["", "7.aaa", "0.e", "2.eeeeeeeeez", "2eeee", "x.e"])
def test_a_link_that_fits_nothing_is_refused(v8, code):
    lengths = [len(r["text"]) for r in page.responses()]
    assert v8.call("share", "decode", code, lengths, page.LEVELS) is None


def test_the_squares_are_a_line_for_each_try(v8):
    given = [1, 0, -4, *[0] * 6, *[2] * 9]
    text = v8.call("share", "squares", "9+5-7=7✗9-5+7=11✓$", given)
    assert text == "🟦⬜🟧⬜⬜⬜⬜⬜\n⬜🟦🟦🟦🟦🟦🟦🟦🟦🟦"


def test_training_starts_at_the_measured_value_and_no_credit_learns_nothing(v8):
    for r in page.responses():
        still = v8.call("tool", "shareTrain", r, [0] * len(r["text"]), page.STEPS)
        assert len(still) == page.STEPS + 1
        assert still == [still[0]] * len(still)
        assert still[0] == pytest.approx(0.34, abs=0.02)


def test_a_step_of_training_by_hand(v8):
    # one token of probability 1/2, right with it and wrong without
    r = {"odds": [0], "values": [0.5], "score": 1}
    rates = v8.call("tool", "shareTrain", r, [3], 1)
    # its log-odds move by 2 * 0.5 * (1 - 1/2)
    assert rates == pytest.approx([0.5, 1 / (1 + math.exp(-0.5))])


def test_measured_credit_teaches_most_and_equal_credit_forgets_after_a_slip(v8):
    for r in page.responses():
        last = {
            name: v8.call("tool", "shareTrain", r, row, page.STEPS)[-1]
            for name, row in r["rows"].items()
        }
        assert max(last, key=last.get) == "measured"
        if r["text"] == "9-5+7=13✓$":
            assert last["GRPO"] < 0.2 < 0.5 < last["measured"]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_without_a_script_the_measured_credit_is_there(lang):
    html = page.still(lang)
    assert html.count("<b>") == len(page.ORDER[0]) + 1
    assert page.words(lang)["still"] in html
