"""The figures of chapter 2 against arithmetic by hand and the definition."""

from itertools import product

import pytest
import torch

from tokenbook.figures import batch_direction, score_function, simplex

P = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
R = torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64)


def test_the_mean_step_on_the_simplex_is_probability_times_reward_above_the_mean():
    gradient, drawn = simplex.policy_gradient(P.log(), R)
    assert gradient.tolist() == pytest.approx([0.11, 0.025, -0.135])
    assert drawn[1].tolist() == pytest.approx([-0.1, 0.25, -0.15]), "only a2 is drawn"


def test_a_constant_on_the_rewards_moves_single_steps_and_not_their_mean():
    plain, drawn = simplex.policy_gradient(P.log(), R)
    shifted, other = simplex.policy_gradient(P.log(), R + 2)
    assert shifted.tolist() == pytest.approx(plain.tolist())
    assert (other - drawn).abs().min() > 0.1


def test_the_push_on_the_token_that_was_written_is_one_minus_its_probability():
    for t in range(len(score_function.RESPONSE)):
        push = score_function.pushes(t, 1)
        now, then = score_function.before_and_after(t, 1, 1.0)
        taken = score_function.token(t)
        assert push[taken] == pytest.approx(1 - now[taken])
        assert sum(push) == pytest.approx(0)
        assert then[taken] >= now[taken]
        assert not any(score_function.pushes(t, 0)), "a reward of 0 pushes nothing"


@pytest.mark.parametrize("start", batch_direction.STARTS)
def test_the_small_policy_has_sixteen_responses_and_score_functions_of_mean_zero(start):
    chances, rewards, scores = batch_direction.world(start)
    assert len(chances) == 16 and rewards.sum() == 4
    assert chances.sum().item() == pytest.approx(1)
    assert (chances @ scores).abs().max() < 1e-12


def test_the_success_rate_of_the_small_policy_is_that_of_the_text():
    chances, rewards, _ = batch_direction.world("usual")
    at_once = 0.55 * 0.48
    later = (1 - at_once) * 0.25 * 0.5 * 0.6
    assert (chances @ rewards).item() == pytest.approx(at_once + later)


@pytest.mark.parametrize("shift", [-0.3, 0.0, 1.0])
def test_the_noise_of_a_batch_of_two_is_that_of_every_pair(shift):
    chances, rewards, scores = batch_direction.world("usual")
    each = (rewards + shift)[:, None] * scores
    truth = chances @ each
    error = 0.0
    for i, j in product(range(16), repeat=2):
        gap = (each[i] + each[j]) / 2 - truth
        error += chances[i] * chances[j] * gap.square().sum()
    found = batch_direction.noise_to_signal("usual", 2, shift)
    assert found == pytest.approx((error / truth.square().sum()).sqrt().item())


def test_larger_batches_point_along_the_gradient_and_a_constant_scatters_them():
    def mean(n, shift):
        found = batch_direction.cosines("usual", n, shift)
        return sum(found) / len(found)

    assert mean(1, 0.0) < mean(8, 0.0) < mean(64, 0.0) < mean(256, 0.0) <= 1
    assert mean(64, 1.0) < mean(64, 0.0) - 0.1


def test_the_text_says_how_much_a_constant_changes_the_noise():
    ratios = [batch_direction.noise_to_signal("usual", 64, b) for b in (-0.3, 0, 1)]
    assert ratios == pytest.approx([0.24, 0.30, 0.81], abs=0.005)


def test_batches_without_a_gradient_are_as_many_as_are_all_wrong():
    chances, rewards, _ = batch_direction.world("rare")
    wrong = (1 - chances @ rewards).item() ** 8
    empty = 1 - len(batch_direction.cosines("rare", 8, 0.0)) / batch_direction.BATCHES
    assert empty == pytest.approx(wrong, abs=0.1)
