"""What the live figures of the chapter on loss aggregation claim."""

import math
from itertools import pairwise, product

import pytest

from tokenbook.figures import (
    aggregation,
    micro_batches,
    stop_push,
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


def test_the_responses_fit_the_columns_and_end():
    for told in token_weights.LONG.values():
        assert all(words.endswith("$") for words in told.values())
        assert max(map(len, told.values())) == token_weights.COLUMNS


def test_six_rules_have_two_shapes():
    shares = {round(aggregation.share(2, 88, 1, rule), 6) for rule in aggregation.RULES}
    assert shares == {0.5, round(88 / 90, 6)}
    for rule in aggregation.RULES:  # each is drawn in the bar where it belongs
        alike = rule in aggregation.EQUAL_RESPONSES
        for others in aggregation.OTHERS:
            long = aggregation.share(2, 88, others, rule)
            tokens = 88 / (88 + 2 * others)
            assert long == pytest.approx(1 / (1 + others) if alike else tokens)


def test_counts_of_the_step_make_the_cut_invisible_and_own_counts_do_not():
    lengths = micro_batches.LENGTHS
    every = [
        tuple(k for k, cut in zip(micro_batches.PLACES, cuts, strict=True) if cut)
        for cuts in product((0, 1), repeat=len(lengths) - 1)
    ]
    for cuts in every:
        step = micro_batches.split_weights(cuts, micro_batches.STEP)
        assert step == pytest.approx([1] * 8)
        half = micro_batches.split_weights(cuts, micro_batches.FORGOTTEN)
        assert half == pytest.approx([1 / micro_batches.RANKS] * 8)
        own = micro_batches.split_weights(cuts, micro_batches.OWN)
        ends = [0, *cuts, 8]
        for a, b in pairwise(ends):  # each micro-batch gets an equal part of the 114
            part = 114 / (len(ends) - 1) / sum(lengths[a:b])
            assert own[a:b] == pytest.approx([part] * (b - a))
        assert (max(own) - min(own) < 1e-9) == (cuts == ()), cuts
        assert micro_batches.compared(own)[0] <= 1 + 1e-9


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
