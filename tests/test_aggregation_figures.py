"""What the live figures of the chapter on loss aggregation claim."""

import math

import pytest

from tokenbook.figures import (
    aggregation,
    micro_batches,
    stop_push,
    three_rules,
    token_weights,
)


@pytest.mark.parametrize("tries", [1, 2, 3])
def test_the_weights_of_two_responses_are_those_of_the_three_rules(tries):
    first = len(token_weights.SHORT)
    second = len(token_weights.LONG[1][tries])
    rules = token_weights.RULES
    found = {
        name: token_weights.weights((first, second), rules[name]) for name in rules
    }
    assert found["GRPO"] == pytest.approx([0.5 / first, 0.5 / second])
    assert found["DAPO"] == pytest.approx([1 / (first + second)] * 2)
    assert found["Dr. GRPO"] == pytest.approx([1 / (2 * token_weights.LIMIT)] * 2)


def test_a_short_and_a_long_response_weigh_as_the_chapter_says():
    assert three_rules.LENGTHS[:2] == (len(three_rules.SHORT), len(three_rules.LONG))
    found = {name: three_rules.short_long(name) for name in three_rules.RULES}
    assert found["GRPO"] == pytest.approx([1 / 80, 1 / 288])
    assert found["DAPO"] == pytest.approx([1 / 114] * 2)
    assert found["Dr. GRPO"] == pytest.approx([1 / 320] * 2)
    assert three_rules.advantage() == pytest.approx(1.2076, abs=1e-3)


def test_the_responses_fit_the_columns_and_end():
    for told in token_weights.LONG.values():
        assert all(words.endswith("$") for words in told.values())
        assert max(map(len, told.values())) == token_weights.COLUMNS


def test_six_rules_have_two_shapes():
    shares = {round(aggregation.share(2, 88, 1, rule), 6) for rule in aggregation.RULES}
    assert shares == {0.5, round(88 / 90, 6)}


@pytest.mark.parametrize("long", micro_batches.LONG)
@pytest.mark.parametrize("ranks", micro_batches.RANKS)
@pytest.mark.parametrize("size", micro_batches.SIZES)
def test_counts_of_the_step_make_the_cut_invisible(long, size, ranks):
    ones = micro_batches.split_weights(long, size, ranks, micro_batches.STEP)
    assert ones == pytest.approx([1] * 8)
    less = micro_batches.split_weights(long, size, ranks, micro_batches.FORGOTTEN)
    assert less == pytest.approx([1 / ranks] * 8)
    own = micro_batches.split_weights(long, size, ranks, micro_batches.OWN)
    lengths = [n or long for n in micro_batches.LENGTHS]
    if size == 1:  # GRPO's rule
        assert own == pytest.approx([sum(lengths) / (8 * n) for n in lengths])
    total = sum(w * n for w, n in zip(own, lengths, strict=True))
    assert total == pytest.approx(sum(lengths)), "every cut spends the same weight"
    assert micro_batches.cosine(own, lengths) <= 1 + 1e-9


def test_a_phone_shows_the_extreme_weights_and_no_number_over_another():
    middles = {0: 0.04, 1: 0.3, 4: 0.8, 5: 0.84, 6: 0.9}
    weights = [2.6, 0.2, 0.2, 0.2, 2.6, 2.9, 2.6]
    assert set(micro_batches.spread(middles, weights)) == {0, 1, 5}


@pytest.mark.parametrize("mean", stop_push.MEANS)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_effect_on_stopping_is_the_closed_form(mean, sign):
    h = 1 / mean
    inverse = h * math.log(1 / h) / (1 - h)
    assert sum(stop_push.parts(mean, stop_push.SAME, sign)) == pytest.approx(
        0, abs=1e-9
    )
    total = sum(stop_push.parts(mean, stop_push.INVERSE, sign))
    assert total == pytest.approx(sign * (inverse - h) / inverse)
    assert sign * total > 0
