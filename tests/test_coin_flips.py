"""The verdict that is a coin, and the training without a clip."""

import numpy as np
import torch

from tokenbook.lab.experiments import coin_flips


def test_the_coin_is_fair_looks_at_nothing_and_every_seed_has_its_own():
    one, other = (coin_flips.coin(seed) for seed in (0, 1))
    flips = np.array([[one("a", "b"), other("c", "d")] for _ in range(2000)])
    assert set(flips.ravel()) == {0.0, 1.0}
    assert (abs(flips.mean(0) - 0.5) < 0.04).all()
    assert abs(np.corrcoef(flips.T)[0, 1]) < 0.07


def test_without_the_clip_a_token_far_away_keeps_its_gradient():
    far = torch.tensor([0.5], requires_grad=True)  # a ratio of 1.65, A = 1
    for row, alive in ((coin_flips.PLAIN, False), (coin_flips.NO_CLIP, True)):
        loss = row.loss(log_probs=far, log_ratio=far, advantages=torch.ones(1)).sum()
        (slope,) = torch.autograd.grad(loss, far)
        assert bool(slope.abs() > 0) == alive
