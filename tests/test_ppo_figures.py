"""The figures of chapter 6: their numbers by hand, and the recorded run."""

import pytest

from tokenbook.figures import epochs, importance, ppo_loop, reuse, three_attempts
from tokenbook.lab import results


def test_a_walk_to_the_right_counts_nine_times_and_a_hundred_are_worth_twelve():
    left, right = importance.weights(0.1, 0.9)
    assert (left, right) == pytest.approx((1 / 9, 9))
    # 1 / (0.9 / 81 + 0.1 * 81)
    assert importance.effective_share(0.1, 0.9) == pytest.approx(0.12329, abs=1e-5)
    assert importance.effective_share(0.3, 0.3) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("attempt", "sign", "rho", "value", "slope"),
    [
        (1, 1, 1.5, 1.5, 1.5),  # never stops
        (2, 1, 1.5, 1.2, 0.0),
        (3, 1, 1.5, 1.2, 0.0),
        (1, 1, 0.5, 0.5, 0.5),
        (2, 1, 0.5, 0.8, 0.0),  # went the wrong way, and is stuck
        (3, 1, 0.5, 0.5, 0.5),
        (2, -1, 1.5, -1.2, 0.0),  # likewise
        (3, -1, 1.5, -1.5, -1.5),
        (3, -1, 0.5, -0.8, 0.0),
    ],
)
def test_only_the_minimum_stops_and_pulls_back(attempt, sign, rho, value, slope):
    assert three_attempts.at(attempt, sign, rho) == pytest.approx(
        (value, slope), abs=1e-4
    )


def test_the_recorded_ratios_are_those_of_a_run():
    (first,) = reuse.record("min", 1)
    for seen, stored in zip(first, reuse.ratios("min", 1), strict=True):
        assert seen == pytest.approx(stored, abs=0.05)


def test_the_record_has_a_ratio_for_every_token_of_every_pass():
    for name in reuse.LOSSES:
        for passed in range(reuse.PASSES + 1):
            lengths = [len(row) for row in reuse.ratios(name, passed)]
            assert lengths == [len(words) for words in reuse.WORDS]


def test_a_recorded_token_is_silent_where_the_clip_says_so():
    pairs = zip(reuse.ratios("min", 8)[1], reuse.slopes("min", 8)[1], strict=True)
    for rho, slope in pairs:
        assert (slope == 0) == (rho < 0.8)  # its advantage is negative
    # the ticked bluff went the wrong way: the minimum pulls, the clip alone does not
    assert reuse.slopes("min", 3)[2][-2] == pytest.approx(-0.6 * 1.77, rel=1e-3)
    assert reuse.slopes("clip", 3)[2][-2] == 0


def test_the_runs_are_drawn_as_they_are_stored():
    rows = results("signs-epochs")
    chosen = (rows.lr == 5e-4) & (rows.epochs == 8) & (rows.loss == "ratio")
    last = rows[chosen & (rows.step > 10)].groupby("seed").success.mean()
    assert epochs.ends(epochs.ARMS.index((5e-4, 8, "ratio")), "success") == (
        pytest.approx(last.to_numpy())
    )


def test_the_iteration_is_that_of_a_run():
    (old, seen, new), words = ppo_loop.record()
    assert words == ([*ppo_loop.WORDS], [*ppo_loop.NEXT])
    stored = (ppo_loop.OLD, *ppo_loop.RATIOS, ppo_loop.NEW)
    for numbers, lines in zip((old, *seen, new), stored, strict=True):
        for found, line in zip(numbers, lines, strict=True):
            assert found == pytest.approx(ppo_loop.numbers(line), abs=0.05)


def test_every_response_is_used_once_per_epoch_and_its_ratios_drift_away():
    half = ppo_loop.STEPS // ppo_loop.EPOCHS
    for epoch in (ppo_loop.PARTS[:half], ppo_loop.PARTS[half:]):
        assert sorted(k for part in epoch for k in part) == [0, 1, 2, 3]
    far = [
        max(abs(rho - 1) for line in ppo_loop.ratios(step).values() for rho in line)
        for step in range(1, ppo_loop.STEPS + 1)
    ]
    assert far[0] == 0 and far == sorted(far)
    assert far[-1] < ppo_loop.FARTHEST
    rewards, advantages = ppo_loop.judged()
    assert rewards == [1, 0, 0, 0] and advantages[0][2] > 0 > advantages[1][2]


def test_a_token_of_the_iteration_is_silent_outside_the_clip_range():
    for step in range(1, ppo_loop.STEPS + 1):
        for k, ratios in ppo_loop.ratios(step).items():
            pairs = zip(ratios, ppo_loop.judged()[1][k], strict=True)
            out = [rho < 0.8 if a < 0 else rho > 1.2 for rho, a in pairs]
            assert ppo_loop.silent(step)[k] == out
