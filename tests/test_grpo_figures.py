"""What the live figures of the chapter on GRPO claim."""

import math
from itertools import product

import pytest
import torch

from tokenbook.figures import difficulty, group_size
from tokencredit import group_relative


@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("q", [0.1, 0.3, 0.5])
def test_the_factor_is_what_going_through_every_group_gives(q, size):
    score = {1.0: 1 / q, 0.0: -1 / (1 - q)}  # mean score, in units of the gradient of q
    total = 0.0
    for group in product((0.0, 1.0), repeat=size):
        rewards = torch.tensor(group, dtype=torch.float64)
        ids = torch.zeros(size, dtype=torch.long)
        credit = group_relative(rewards, ids, eps=0.0).tolist()
        chance = math.prod(q if reward else 1 - q for reward in group)
        pushed = zip(credit, group, strict=True)
        total += chance * sum(a * score[reward] for a, reward in pushed) / size
    assert difficulty.weight(q, size) == pytest.approx(total, abs=1e-9)


def test_groups_of_two_treat_all_prompts_alike_and_large_ones_do_not():
    two = {round(difficulty.weight(q, 2), 9) for q in difficulty.CHANCES}
    assert two == {round(math.sqrt(0.5), 9)}
    assert difficulty.weight(0.1, 64) > 1.6 * difficulty.weight(0.5, 64)
    for q in difficulty.CHANCES:
        limit = 1 / math.sqrt(q * (1 - q))
        assert difficulty.weight(q, 64) < limit


def test_the_share_of_groups_all_alike_is_counted():
    for q in difficulty.CHANCES:
        groups = list(product((True, False), repeat=4))
        alike = [g for g in groups if len(set(g)) == 1]
        chance = sum(math.prod(q if one else 1 - q for one in g) for g in alike)
        assert difficulty.alike(q, 4) == pytest.approx(chance)


@pytest.mark.parametrize("size", group_size.SIZES)
@pytest.mark.parametrize("right", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("level", [0.0, 1.0])
def test_estimates_with_the_group_mean_are_a_smaller_copy_of_leave_one_out(
    size, right, level
):
    centre, ring = group_size.cloud("leave-one-out", size, right, level)
    short, small = group_size.cloud("group mean", size, right, level)
    assert centre == pytest.approx([1, 0], abs=1e-9)
    assert short == pytest.approx([1 - 1 / size, 0], abs=1e-9)
    for large, little in zip(ring, small, strict=True):
        wanted = [(1 - 1 / size) * x for x in large]
        assert little == pytest.approx(wanted, abs=1e-9)
