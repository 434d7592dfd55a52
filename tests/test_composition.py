"""The task of functions one after the other, and its exact exam."""

import numpy as np
import pytest
import torch

from tokenbook.lab.experiments import composition
from tokenbook.lab.experiments.composition import FUNCTIONS, PLACES, Relay
from tokencredit.world.policy import Policy
from tokencredit.world.text import decode


def test_every_digit_on_the_way_is_written_and_dots_leave_it_alone():
    goal, a, c = Relay(), FUNCTIONS["a"], FUNCTIONS["c"]
    after_a = a[3]
    after_c = c[int(after_a)]
    right = f"3{after_a}{after_a}{after_c}$"
    assert goal.gold("3.a.c?") == right and goal.reward("3.a.c?", right) == 1
    for wrong in (right[:-1], right[1:], f"3333{after_c}$", "", right + "$"):
        assert goal.reward("3.a.c?", wrong) == 0


def test_no_function_leaves_a_digit_so_skipping_one_is_never_right():
    for table in FUNCTIONS.values():
        assert sorted(table) == list("0123456789")
        assert all(
            digit != place for digit, place in zip(table, "0123456789", strict=True)
        )


@pytest.mark.parametrize("depth", range(1, PLACES + 1))
def test_a_prompt_has_as_many_functions_as_its_depth_says(depth):
    for prompt in Relay(depths=(depth,)).prompts(50, np.random.default_rng(1)):
        assert sum(letter in FUNCTIONS for letter in prompt) == depth
        assert prompt[0].isdigit() and prompt.endswith("?") and len(prompt) == 6


def test_the_chance_of_a_response_is_the_product_of_the_chances_of_its_tokens():
    torch.manual_seed(0)
    goal = Relay()
    policy = Policy(len(goal.vocabulary), context=goal.context)
    ids = composition.questions()[3][:5]
    for row, chance in zip(ids, composition.chances(policy, ids), strict=True):
        product = 1.0
        for at in range(PLACES + 2, len(row)):
            logits, _ = policy(row[None, :at])
            product *= logits[0, -1].double().softmax(-1)[row[at]].item()
        assert chance.item() == pytest.approx(product, rel=1e-4)
        prompt, response = (
            decode(part.tolist(), goal.vocabulary) for part in (row[:6], row[6:])
        )
        assert goal.reward(prompt, response) == 1


def test_the_exam_is_the_mean_over_prompts_of_one_minus_all_misses():
    torch.manual_seed(0)
    goal = Relay()
    policy = Policy(len(goal.vocabulary), context=goal.context)
    row = composition.exam(policy)
    for depth, ids in composition.questions().items():
        p = composition.chances(policy, ids)
        for k in composition.KS:
            by_hand = (1 - (1 - p) ** k).mean().item()
            assert row[f"depth{depth}_pass{k}"] == pytest.approx(by_hand, abs=1e-9)
