"""The figures of chapter 6: their numbers by hand, and the recorded run."""

import math
from itertools import product

import pytest
import torch

from tokenbook.figures import (
    epochs,
    horizon,
    importance,
    ppo_loop,
    reuse,
    three_attempts,
)
from tokenbook.lab import results
from tokenbook.lab.experiments import signs_epochs
from tokencredit import ppo_clip_loss


def test_a_walk_to_the_right_counts_nine_times_and_a_hundred_are_worth_twelve():
    left, right = importance.weights(0.1, 0.9)
    assert (left, right) == pytest.approx((1 / 9, 9))
    # 1 / (0.9 / 81 + 0.1 * 81)
    assert importance.effective_share(0.1, 0.9) == pytest.approx(0.12329, abs=1e-5)
    assert importance.effective_share(0.3, 0.3) == pytest.approx(1.0)


@pytest.mark.parametrize("rho", [1.01, 1.2])
def test_the_surrogate_sums_what_the_old_policy_says_and_the_truth_multiplies(rho):
    right, T = 0.8, 3  # all eight responses of three tokens, right (True) or not
    says = truth = 0.0
    for y in product((True, False), repeat=T):
        chance = math.prod(right if x else 1 - right for x in y)
        new = math.prod(rho * right if x else 1 - rho * right for x in y)
        truth += new * all(y)
        for t, x in enumerate(y):
            alive = all(y[:t])
            value, after = (
                right ** (T - t) * alive,
                right ** (T - t - 1) * all(y[: t + 1]),
            )
            ratio = rho if x else (1 - rho * right) / (1 - right)
            says += chance * ratio * (after - value)
    assert horizon.factors(T, rho) == pytest.approx(
        (truth / right**T, 1 + says / right**T)
    )


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


@pytest.mark.parametrize("low", three_attempts.LOWS)
@pytest.mark.parametrize("high", three_attempts.HIGHS)
def test_the_attempt_with_min_is_the_loss_of_ppo_for_every_range(low, high):
    for sign in (1, -1):
        for rho in (*three_attempts.RATIOS, 1 - low, 1 + high):
            value, slope = three_attempts.at(3, sign, rho, 1 - low, 1 + high)
            near = rho + (1e-6 if rho > 1 else -1e-6)
            leaf = torch.tensor([[near]], dtype=torch.float64).log().requires_grad_()
            A = torch.full_like(leaf, sign)
            loss = ppo_clip_loss(leaf, leaf, A, clip_low=low, clip_high=high)
            (gradient,) = torch.autograd.grad(loss.sum(), leaf)
            assert value == pytest.approx(-loss.item())
            assert slope == pytest.approx(-gradient.item(), abs=1e-9)


def test_a_flag_stands_where_the_median_first_is_at_the_mark():
    rows = results("signs-epochs")
    for arm, (lr, passes, loss) in enumerate(epochs.ARMS):
        mine = rows[(rows.lr == lr) & (rows.epochs == passes) & (rows.loss == loss)]
        middle = mine.groupby("step").success.median()
        for mark in epochs.MARKS:
            there = middle[middle >= mark]
            first = int(there.index[0]) if len(there) else None
            assert epochs.reached(arm, mark) == first
    # small steps: four passes are there in two thirds of the batches; large: never
    small = [epochs.reached(arm, 0.8) for arm in (0, 1)]
    assert small == [12, 8] and epochs.reached(6, 0.8) is None


def quick(loss, epochs):
    variant = {"lr": 5e-4, "epochs": epochs, "loss": loss}
    return signs_epochs.pass_by_pass(variant, 0, True)


@pytest.mark.parametrize(
    ("loss", "epochs"), [("min", 2), ("critic once", 1), ("own head", 1)]
)
def test_the_loop_with_its_own_passes_is_train_where_they_are_not_changed(loss, epochs):
    variant = {"lr": 5e-4, "epochs": epochs, "loss": "min"}
    for row, mine in zip(
        signs_epochs.run(variant, 0, True, None), quick(loss, epochs), strict=True
    ):
        assert mine.pop("updates") == 2 * epochs
        assert mine.pop("seconds") >= 0
        assert mine == {name: row[name] for name in mine}


def test_the_critic_that_learns_once_learns_in_the_first_pass_only(monkeypatch):
    seen, update = [], signs_epochs.update

    def watched(policy, optimizer, algorithm, part, dials):
        seen.append(algorithm.value_coef)
        return update(policy, optimizer, algorithm, part, dials)

    monkeypatch.setattr(signs_epochs, "update", watched)
    quick("critic once", 3)
    assert seen == [0.5, 0.5, 0, 0, 0, 0] * 2  # two mini-batches, two iterations


def test_the_policy_that_learns_once_is_asked_for_nothing_later(monkeypatch):
    seen, update = [], signs_epochs.update

    def watched(policy, optimizer, algorithm, part, dials):
        before = [x.clone() for x in policy.parameters()]
        told = update(policy, optimizer, algorithm, part, dials)
        moved = [
            not torch.equal(*pair)
            for pair in zip(before, policy.parameters(), strict=True)
        ]
        head = len(list(policy.value_head.parameters()))
        seen.append((told["no_gradient"], sum(moved) > head))
        return told

    monkeypatch.setattr(signs_epochs, "update", watched)
    quick("policy once", 2)
    silent, trunk = zip(*seen, strict=True)
    assert [x == 1 for x in silent] == [False, False, True, True] * 2
    assert all(trunk)  # the critic moves the network
    seen.clear()
    quick("head alone", 2)
    silent, trunk = zip(*seen, strict=True)
    assert [x == 1 for x in silent] == [False, False, True, True] * 2
    assert trunk == (True, True, False, False) * 2


def test_a_batch_ends_after_the_first_update_that_is_too_far(monkeypatch):
    monkeypatch.setattr(signs_epochs, "LIMIT", 1e-5)  # the second one is
    assert [row["updates"] for row in quick("KL stop", 3)] == [2, 2]
    monkeypatch.setattr(signs_epochs, "LIMIT", 1e9)
    assert [row["updates"] for row in quick("KL stop", 3)] == [6, 6]
