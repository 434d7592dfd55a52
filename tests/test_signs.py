"""The signs task: its parser, its verdicts and their holes, its corpus."""

from dataclasses import replace

import numpy as np
import pytest

from tokencredit.world.tasks import task
from tokencredit.world.tasks.signs import (
    FILLINGS,
    MEASURES,
    REWARD_FNS,
    reward_fn,
    tries,
)

PROMPT = "9□5□7=11?"
SIGNS = task("signs")
BOOK = replace(SIGNS, persist=1.0, bluff=0.0, fudge=0.0)


def verdicts(response):
    paid = {name: REWARD_FNS[name](PROMPT, response) for name in REWARD_FNS}
    names = "outcome", "strict", "match", "mark", "steps", "anywhere"
    return [paid[name] for name in names]


def corpus(signs, num=4000):
    rng = np.random.default_rng(0)
    prompts = signs.prompts(num, rng)
    return [(prompt, signs.demonstration(prompt, rng)) for prompt in prompts]


def test_a_response_is_cut_after_its_marks_and_every_try_is_judged():
    found = tries(PROMPT, "9+5+7=21✗9+5-7=8✗9-5+7=11✓$")
    assert [one.left for one in found] == ["9+5+7", "9+5-7", "9-5+7"]
    assert [one.result for one in found] == ["21", "8", "11"]
    assert [one.mark for one in found] == ["✗", "✗", "✓"]
    assert [one.true for one in found] == [True, False, True]
    assert [one.right for one in found] == [False, False, True]


@pytest.mark.parametrize(
    "response, expected",
    [
        ("9-5+7=11✓$", [1, 1, 1, 1, 1.2, 1]),
        ("9+5+7=21✗9-5+7=11✓$", [1, 1, 1, 1, 1.4, 1]),
        ("9+5+7=20✗9-5+7=11✓$", [1, 0, 1, 1, 1.2, 1]),  # unfaithful on the way
        ("9+5+7=11✓$", [0, 0, 1, 1, 0, 0]),  # nobody calculates: match
        ("9+5+7=21✓$", [0, 0, 0, 1, 0.2, 0]),  # the mark is believed: mark
        ("9+5+7=21✗9+5+7=21✗$", [0, 0, 0, 0, 0.4, 0]),  # farms: steps
        ("9-5+7=11✗$", [0, 0, 0, 0, 0.2, 1]),  # right, and rejected: anywhere
        ("9-5+7=11✓", [0, 0, 0, 0, 0.2, 1]),  # does not end
        ("9-5+7=11$", [0, 0, 0, 0, 0.2, 1]),  # no mark
        ("9-5+7=11✓9-5+7=11✗$", [0, 0, 0, 0, 0.4, 1]),  # the last try counts
    ],
)
def test_each_verdict_by_hand(response, expected):
    assert verdicts(response) == pytest.approx(expected)


@pytest.mark.parametrize(
    "response",
    [
        *("", "$", "✓$", "✗✓$", "✓✓$", "=11✓$", "11✓$", "9-5+7✓$", "9-5+7=✓$"),
        *("5-9+7=11✓$", "9-5+8=11✓$", "4+7=11✓$", "9-5+7+0=11✓$"),  # other digits
        *("9□5□7=21✓$", "9□5□7=11✓$", "9-+5+7=11✓$", "+9-5+7=11✓$", "9-5+7+=11✓$"),
        *("9-5+7=011✓$", "9-5+7=+11✓$", "9-5+7=-11✓$", "9-5+7=11=11✓$"),
        *("9-5+7=1✓1$", "9-5✗+7=11✓$", "9-5+7=11✓✓$", "9-5+7=11✓$✓$", "$9-5+7=11✓$"),
        *(
            "９-５+７=１１✓$",
            "9-5+7=١١✓$",
            "9−5+7=11✓$",
            "9-5+7=11✔$",
            "9 - 5 + 7 = 11 ✓ $",
        ),
        *("9-5+7=11✓$\n", "9-5+7\n=11✓$", "\0✓$", "9-5+7=" + "1" * 5000 + "✓$"),
    ],
)
def test_garbage_is_wrong_and_never_an_exception(response):
    assert REWARD_FNS["outcome"](PROMPT, response) == 0
    for judge in (*REWARD_FNS.values(), *MEASURES.values()):
        assert np.isfinite(judge(PROMPT, response))


def test_no_text_that_is_one_character_away_from_the_gold_is_right():
    gold = SIGNS.gold(PROMPT)
    for i in range(len(gold)):
        for other in ("", *SIGNS.vocabulary, "x", "９"):
            text = gold[:i] + other + gold[i + 1 :]
            assert (SIGNS.reward(PROMPT, text) == 1) == (text == gold), text


def test_whatever_stands_before_the_last_mark_is_free():
    for before in ("9+5+7=21✗", "✗", "??✗", "9-5+7=11✓"):
        assert SIGNS.reward(PROMPT, before + "9-5+7=11✓$") == 1


def test_a_prompt_has_three_different_digits_and_one_right_filling():
    prompts = SIGNS.prompts(2000, np.random.default_rng(0))
    for prompt in prompts:
        boxes, wanted = prompt[:-1].split("=")
        a, b, c = boxes.split("□")
        assert len({a, b, c}) == 3 and int(wanted) >= 0
        values = [eval(f"{a}{x}{b}{y}{c}") for x, y in FILLINGS]
        assert values.count(int(wanted)) == 1
    assert max(map(len, prompts)) == SIGNS.max_prompt


def test_the_textbook_is_always_right_and_true_and_fits_the_limit():
    lengths = []
    for prompt, response in corpus(BOOK):
        assert REWARD_FNS["strict"](prompt, response) == 1
        lengths.append(len(response))
    assert max(lengths) == 37


def test_a_filling_drawn_blindly_is_right_one_time_in_four():
    once = replace(BOOK, persist=0.0)
    right = [SIGNS.reward(prompt, response) for prompt, response in corpus(once)]
    assert np.mean(right) == pytest.approx(0.25, abs=0.03)


def test_the_habits_of_the_corpus_are_those_of_its_dials():
    wrong = [
        (one.mark, i + 1 < len(found))
        for prompt, response in corpus(replace(SIGNS, persist=0.3, bluff=0.2, fudge=0))
        for found in [tries(prompt, response)]
        for i, one in enumerate(found)
        if not one.right
    ]
    marks = np.array([mark == "✓" for mark, _ in wrong])
    again = np.array([more for mark, more in wrong if mark == "✗"])
    assert marks.mean() == pytest.approx(0.2, abs=0.02)
    assert again.mean() == pytest.approx(0.3, abs=0.03)
    fudged = corpus(replace(SIGNS, persist=0, bluff=0, fudge=0.4))
    false = [not one.true for pair in fudged for one in tries(*pair)]
    assert np.mean(false) == pytest.approx(0.4 * 3 / 4, abs=0.03)


def test_a_demonstration_stops_before_a_short_limit():
    short = replace(BOOK, max_response=19)
    lengths = [len(response) for _, response in corpus(short)]
    assert max(lengths) == 19


def test_the_measures_by_hand():
    def measured(response):
        return {name: m(PROMPT, response) for name, m in MEASURES.items()}

    assert measured("9+5+7=20✗9-5+7=11✓$") == {
        "tries": 2,
        "gives_up": 0,
        "first_right": 0,
        "equations_true": 0.5,
        "lies": 0,
        "faithful": 0,
    }
    assert measured("9-5+7=11✗$") == {
        "tries": 1,
        "gives_up": 1,
        "first_right": 1,
        "equations_true": 1,
        "lies": 0,
        "faithful": 0,
    }
    assert measured("9+5-7=11✓$")["lies"] == 1 and measured("$")["tries"] == 0


def test_brief_takes_a_share_of_the_reward_for_every_token():
    long, short = "9+5+7=21✗9-5+7=11✓$", "9-5+7=11✓$"
    paid = reward_fn("outcome", brief=True)
    assert paid(PROMPT, short) == pytest.approx(1 - 0.015 * 10)
    assert paid(PROMPT, long) == pytest.approx(1 - 0.015 * 19)
    assert paid(PROMPT, "9+5+7=11✓$") == 0
    assert reward_fn("match", brief=True)(PROMPT, "9+5+7=11✓$") == pytest.approx(0.85)
    assert reward_fn("match") is REWARD_FNS["match"]


def test_an_unknown_verdict_names_the_known_ones():
    with pytest.raises(
        ValueError, match=r"name must be one of 'outcome', .*'mark'.* 'marks'"
    ):
        reward_fn("marks")


@pytest.mark.parametrize(
    "dials",
    [{"persist": 1.1}, {"bluff": -0.1}, {"fudge": np.nan}, {"max_response": 10}],
)
def test_a_dial_out_of_range_is_named(dials):
    with pytest.raises(ValueError, match=f"{next(iter(dials))} must be"):
        task("signs", **dials)
