"""The figures of chapter 5: their numbers, by definition, by hand and measured anew."""

import pytest
import torch

from tokenbook.figures import backwards, gae_triangle, token_value, value_clip
from tokenbook.figures import gae as biased
from tokenbook.lab.token_values import (
    CRITIC,
    MONTE_CARLO,
    RESPONSES,
    fit,
    measure,
    say,
    stored,
)
from tokenbook.lab.token_values import score as verdict
from tokencredit import gae
from tokencredit.world.starts import warm_start


def test_a_stored_value_is_the_mean_score_of_what_the_policy_writes_next():
    generator = torch.Generator().manual_seed(7)
    response, count = RESPONSES[3], 200
    fresh = measure(warm_start("signs", seed=1), response, count, generator)
    kept = token_value.values(1, 0, response)
    for mean, value in zip(fresh, kept, strict=True):
        error = max(value * (1 - value), 0.01) / count
        assert abs(mean - value) < 5 * error**0.5 + 0.02


def test_every_response_has_a_value_for_each_of_its_tokens():
    for table in (MONTE_CARLO, CRITIC):
        for key in table:
            for response in RESPONSES:
                assert len(stored(table, key, response)) == len(response)


def test_responses_that_begin_alike_have_the_same_values_so_far():
    for key in MONTE_CARLO:
        for one in RESPONSES:
            for other in RESPONSES:
                same = next(
                    (
                        k
                        for k, (a, b) in enumerate(zip(one, other, strict=False))
                        if a != b
                    ),
                    min(len(one), len(other)) - 1,
                )
                ours = token_value.values(*key, one)[: same + 1]
                assert ours == token_value.values(*key, other)[: same + 1]


def test_the_verdicts_of_the_five_responses():
    assert [verdict(response) for response in RESPONSES] == [1, 1, 0, 0, 0]


def test_an_untrained_critic_says_the_same_before_every_token():
    start = warm_start("signs", seed=0)
    for response in RESPONSES:
        said = say(fit(start, 0), response)
        assert said == pytest.approx(stored(CRITIC, 0, response), abs=0.006)


def test_the_triangle_adds_up_to_the_advantage_of_gae():
    for lam in (0.0, 0.35, 0.95, 1.0):
        for reward in (0.0, 1.0):
            rewards = torch.tensor([[0.0, 0.0, reward]], dtype=torch.float64)
            values = torch.tensor([gae_triangle.VALUES], dtype=torch.float64)
            whole = gae(rewards, values, lam=lam)[0, 0].item()
            shares = gae_triangle.weights(lam)
            deltas = gae_triangle.td_errors(reward)
            looks = [sum(deltas[:n]) for n in (1, 2, 3)]
            mean = sum(w * a for w, a in zip(shares, looks, strict=True))
            assert sum(shares) == pytest.approx(1)
            assert mean == pytest.approx(whole)


def test_the_weights_of_three_looks_by_hand():
    assert gae_triangle.weights(0.5) == [0.5, 0.25, 0.25]
    assert gae_triangle.td_errors(1.0) == pytest.approx([0.3, -0.4, 0.6])


def test_no_critic_biases_the_gradient_at_lambda_one_and_an_exact_one_never_does():
    for critic in biased.CRITICS:
        assert biased.bias_variance(1.0, 1.0, critic)[0] == pytest.approx(0, abs=1e-12)
    for lam in (0.0, 0.5):
        assert biased.bias_variance(1.0, lam, "exact")[0] == pytest.approx(0, abs=1e-12)
    assert biased.bias_variance(1.0, 0.0, "zero")[0] > 0.5


def test_a_value_clip_has_no_gradient_inside_its_dead_zone_and_one_beside_it():
    for target, clip in ((1.0, 0.5), (-0.8, 0.2), (0.6, 0.1)):
        low, high = value_clip.dead_zone(target, clip)
        inside = value_clip.loss_and_slope((low + high) / 2, target, clip)[1]
        beside = [
            value_clip.loss_and_slope(v, target, clip)[1]
            for v in (low - 0.01, high + 0.01)
        ]
        assert inside == 0 and all(beside)
    assert value_clip.dead_zone(0.2, 0.5) == (0.0, 0.0)


def test_every_fit_puts_a_column_more_right_and_the_errors_are_the_chapters():
    told = {  # printed in the chapter, from a critic that says 0
        0.0: [0.710, 0.609, 0.507, 0.406, 0.304, 0.203, 0.101, 0.000],
        0.5: [0.710, 0.509, 0.319, 0.162, 0.060, 0.014, 0.002, 0.000],
        1.0: [0.710, 0, 0, 0, 0, 0, 0, 0],
    }
    for lam, numbers in told.items():
        found = [backwards.errors(lam, fits)[1] for fits in backwards.FITS]
        assert found == pytest.approx(numbers, abs=6e-4)
    for lam in backwards.LAMS:
        for fits in backwards.FITS[1:]:
            each = backwards.errors(lam, fits)[0]
            assert max(each[-fits:]) < 1e-6, "the columns from the end are right"
            if lam == 0:
                rest = each[:-fits]
                assert not rest or min(rest) > 0.5, "and no other has heard of it"
