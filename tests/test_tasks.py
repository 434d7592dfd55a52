"""Tasks: the contract that every one of them joins, and verdicts by hand."""

import numpy as np
import pytest

from tokencredit.world.tasks import TASKS, task
from tokencredit.world.tasks.chain import reasons
from tokencredit.world.tasks.hindsight import parities
from tokencredit.world.tasks.sort import inclusion_ordering_reward, position_reward
from tokencredit.world.text import EOS, decode, encode


@pytest.fixture(params=TASKS)
def any_task(request):
    return task(request.param)


def test_the_same_seed_gives_the_same_prompts_and_demonstrations(any_task):
    def draw(seed):
        rng = np.random.default_rng(seed)
        prompts = any_task.prompts(20, rng)
        return prompts, [any_task.demonstration(p, rng) for p in prompts]

    assert draw(3) == draw(3)
    is_fixed = hasattr(any_task, "fixed")
    assert (draw(3) == draw(4)) == is_fixed


def test_the_gold_answer_earns_the_full_reward_and_fits_the_limits(any_task):
    for prompt in any_task.prompts(50, np.random.default_rng(0)):
        gold = any_task.gold(prompt)
        assert any_task.reward(prompt, gold) == any_task.max_reward
        assert len(gold) <= any_task.max_response
        assert len(prompt) <= any_task.max_prompt


def test_an_empty_answer_earns_nothing(any_task):
    for prompt in any_task.prompts(20, np.random.default_rng(0)):
        assert any_task.reward(prompt, "") == 0


def test_random_play_never_crashes_a_verdict_nor_beats_gold(any_task):
    rng = np.random.default_rng(0)
    for prompt in any_task.prompts(200, rng):
        size = rng.integers(1, any_task.max_response + 1)
        answer = "".join(rng.choice(list(any_task.vocabulary), size))
        assert 0 <= any_task.reward(prompt, answer) <= any_task.max_reward


def test_prompts_and_demonstrations_use_the_vocabulary_and_its_limits(any_task):
    rng = np.random.default_rng(0)
    for prompt in any_task.prompts(200, rng):
        answer = any_task.demonstration(prompt, rng)
        text = prompt + answer
        ids = encode(text, any_task.vocabulary)
        assert decode(ids, any_task.vocabulary) == text
        assert len(answer) <= any_task.max_response
        if EOS in any_task.vocabulary:
            assert answer.endswith(EOS) and EOS not in answer[:-1]


def test_an_unfinished_answer_is_not_right(any_task):
    if EOS not in any_task.vocabulary:
        return
    (prompt,) = any_task.prompts(1, np.random.default_rng(0))
    assert any_task.reward(prompt, any_task.gold(prompt)[:-1]) < any_task.max_reward


def test_an_unknown_task_names_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown task 'sorting'.*chain.*note-sort"):
        task("sorting")


def test_a_character_outside_the_vocabulary_is_named():
    with pytest.raises(ValueError, match="'x', not in the vocabulary"):
        encode("1x", "0123")


def test_the_sort_rewards_are_those_of_the_note():
    answers = ("0123", "7225", "0312")
    assert [position_reward("3102", a) for a in answers] == [4, 1, 1]
    assert [inclusion_ordering_reward("3102", a) for a in answers] == [7, 3, 6]


def test_inclusion_pays_one_token_once_per_equal_prompt_token():
    assert inclusion_ordering_reward("113", "100") == 2 + 1


def test_note_sort_knows_two_rewards():
    assert task("note-sort", pays="inclusion").max_reward == 5
    with pytest.raises(ValueError, match="'position' or 'inclusion', got 'order'"):
        task("note-sort", pays="order")


def test_chain_writes_running_sums_modulo_ten():
    chain = task("chain")
    assert chain.gold("471=") == "412#2$"
    assert chain.reward("471=", "#2$") == 1
    assert chain.reward("471=", "412#2$") == 1
    assert chain.reward("471=", "412#3$") == 0
    assert chain.reward("471=", "#3#2$") == 0, "one answer, not a list of guesses"
    assert reasons("471=", "412#2$") and reasons("471=", "999#9$")
    assert not reasons("471=", "#2$") and not reasons("471=", "...#2$")


def test_the_shares_of_chains_habits_are_those_of_its_dials():
    chain, rng = task("chain", steps=0.3, ramble=0.2), np.random.default_rng(0)
    prompts = chain.prompts(4000, rng)
    answers = [chain.demonstration(p, rng) for p in prompts]
    pairs = zip(prompts, answers, strict=True)
    assert np.mean([reasons(p, a) for p, a in pairs]) == pytest.approx(0.3, abs=0.03)
    assert np.mean([a[0] == "." for a in answers]) == pytest.approx(0.2, abs=0.03)


def test_guessing_is_right_one_time_in_ten():
    chain = task("chain", steps=0.0, ramble=0.5, min_digits=2)
    rng = np.random.default_rng(0)
    prompts = chain.prompts(4000, rng)
    right = [chain.reward(p, chain.demonstration(p, rng)) for p in prompts]
    assert np.mean(right) == pytest.approx(0.1, abs=0.02)


def test_addition_shows_digit_and_carry_of_each_column():
    addition = task("addition")
    assert addition.gold("38+47=") == "5180#85$"
    assert addition.gold("99+99=") == "8191#198$"
    assert addition.reward("38+47=", "#85$") == 1
    assert addition.reward("38+47=", "#085$") == 0


def test_sort_pays_the_share_of_right_places_or_all_or_nothing():
    assert task("sort", digits=3).gold("312=") == "123$"
    assert task("sort", digits=3).reward("312=", "132$") == 2 / 4
    assert task("sort", digits=3, partial=False).reward("312=", "132$") == 0


def test_hindsight_pays_the_guess_and_nothing_that_follows_it():
    goal = task("hindsight", digits=3)
    assert goal.gold("352=") == "0100!$"
    for rest in ("$", "100!$", "100?......$", "111111111$"):
        assert goal.reward("352=", "0" + rest) == 1
        assert goal.reward("352=", "1" + rest) == 0
    assert goal.reward("352=", "0100!....") == 0, "it must end"


def test_hindsights_corpus_guesses_blindly_checks_rightly_and_stops_blindly():
    goal, rng = task("hindsight", digits=3, max_response=200), np.random.default_rng(0)
    prompts = goal.prompts(4000, rng)
    answers = [goal.demonstration(p, rng) for p in prompts]
    pairs = list(zip(prompts, answers, strict=True))
    right = np.array([goal.reward(p, a) == 1 for p, a in pairs])
    dots = np.array([a.count(".") for a in answers])
    assert right.mean() == pytest.approx(0.5, abs=0.03)
    assert [a[4] == "!" for a in answers] == right.tolist()
    assert all(a[1:4] == parities(p) for p, a in pairs)
    for kind in (right, ~right):
        assert dots[kind].mean() == pytest.approx(0.88 / 0.12, rel=0.1)
