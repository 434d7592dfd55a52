"""The environments: a contract that each joins by existing, then their constants."""

import doctest
import itertools
import math
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokencredit.world import games as environments
from tokencredit.world.games import (
    ENVIRONMENTS,
    EpisodeOver,
    FrozenLake,
    VectorEnvironment,
    check_groups,
    fit_context,
    frozen_lake,
    make,
    make_vec,
    optimum,
    random_answer,
    reply,
    sokoban,
    steps_per_second,
    webshop,
)
from tokencredit.world.games.frozen_lake import FIXED, solvable, transitions
from tokencredit.world.games.sokoban import Room, State, solve
from tokencredit.world.games.webshop import Goal, Item, fits, graded_reward

VARIANTS = {
    **{name: (name, {}) for name in ENVIRONMENTS},
    "Bandit described": ("Bandit", {"described": True}),
    "FrozenLake in coordinates": ("FrozenLake", {"view": "coordinates"}),
    "FrozenLake 6x6": ("FrozenLake", {"size": 6, "success_rate": 1.0}),
    "Sokoban in coordinates": ("Sokoban", {"view": "coordinates"}),
    "Sokoban 6x6, two boxes": ("Sokoban", {"size": 6, "boxes": 2}),
    "WebShop, six results": ("WebShop", {"page_size": 6, "catalogue_seed": 5}),
}
every = pytest.mark.parametrize("variant", VARIANTS)


def build(variant, **dials):
    name, fixed = VARIANTS[variant]
    return make(name, **fixed, **dials)


def play(env, answer, **seeds):
    """One episode; returns its first observation and everything `step` returned."""
    first, info = env.reset(**seeds)
    steps = []
    while not (env.terminated or env.truncated):
        steps.append(env.step(answer(env)))
    return (first, info), steps


def at_random(seed):
    rng = random.Random(seed)
    return lambda env: random_answer(env, rng)


def by_expert(env):
    return reply(env.expert())


def success_rate(env, answer, episodes):
    wins = (play(env, answer, seed=s)[1][-1][-1]["success"] for s in range(episodes))
    return sum(wins) / episodes


# The contract ---------------------------------------------------------------------


@every
def test_the_same_seed_gives_the_same_episode(variant):
    for seed in range(10):
        one = play(build(variant), at_random(seed), seed=seed, noise=seed + 1)
        env = build(variant)
        play(env, at_random(99), seed=seed + 50)  # a used environment forgets
        assert play(env, at_random(seed), seed=seed, noise=seed + 1) == one


@every
def test_reset_without_a_seed_goes_on_and_can_be_replayed(variant):
    env, other = build(variant), build(variant)
    env.reset(seed=3)
    other.reset(seed=3)
    one, two = play(env, at_random(1)), play(other, at_random(1))
    assert one == two
    seeds = one[0][1]
    assert seeds["seed"] != 3
    assert play(build(variant), at_random(1), **seeds) == one


@every
def test_the_instance_seed_alone_decides_the_first_observation(variant):
    env = build(variant)
    firsts = [env.reset(seed=5, noise=noise)[0] for noise in range(20)]
    assert len(set(firsts)) == 1
    if variant != "FrozenLakeFixed":
        firsts = {env.reset(seed=seed)[0] for seed in range(20)}
        assert len(firsts) > 1, "the first observation must show the instance"


@every
def test_the_expert_succeeds_wherever_success_is_certain_and_random_play_does_not(
    variant,
):
    env = build(variant)
    if isinstance(env, FrozenLake):
        optima = [env_optimum(env, seed) for seed in range(400)]
        expert, best = success_rate(env, by_expert, 400), np.mean(optima)
        assert abs(expert - best) <= 4 * math.sqrt(best * (1 - best) / 400)
        assert success_rate(env, at_random(0), 400) < 0.5 * best
    else:
        assert success_rate(env, by_expert, 200) == 1
        lucky = success_rate(env, at_random(0), 200)
        assert lucky < 0.65, "random play must fail more often: make the game harder"


def env_optimum(env, seed):
    env.reset(seed=seed)
    limits = {"turns": env.max_turns, "actions_per_turn": env.actions_per_turn}
    limits |= {"actions": env.max_actions}  # as the expert asks: solved once for both
    return optimum(env.instance, success_rate=env.success_rate, **limits).success


@every
def test_observations_and_expert_answers_fit_vocabulary_and_length(variant):
    env = build(variant)
    assert len(set(env.vocabulary)) == len(env.vocabulary)
    for seed in range(60):
        for answer in (by_expert, at_random(seed)):
            (first, _), steps = play(env, answer, seed=seed)
            for text in (first, *(step[0] for step in steps)):
                assert env.decode(env.encode(text)) == text
                assert len(text.split()) <= env.max_length
            env.reset(seed=seed)
            said = answer(env)
            assert env.decode(env.encode(said)) == said
            assert env.parse(said).reason is None


@every
def test_an_episode_ends_once_either_terminated_or_truncated(variant):
    env = build(variant)
    for seed in range(60):
        _, steps = play(env, at_random(seed), seed=seed)
        flags = [(terminated, truncated) for _, _, terminated, truncated, _ in steps]
        assert flags[-1] in {(True, False), (False, True)}
        assert set(flags[:-1]) <= {(False, False)}
        assert len(steps) <= 5
        assert sum(len(step[-1]["actions"]) for step in steps) <= 10
        if steps[-1][-1]["success"]:
            assert flags[-1] == (True, False)


@every
def test_rewards_are_finite_and_the_frames_tell_the_whole_return(variant):
    env = build(variant)
    rng = random.Random(0)
    for seed in range(30):
        _, steps = play(env, lambda e: random_answer(e, rng) + " || zz", seed=seed)
        total = sum(step[1] for step in steps)
        assert math.isfinite(total)
        frames = env.frames()
        assert math.isclose(sum(f["reward"] for f in frames), total, abs_tol=1e-9)
        assert frames[-1]["picture"] == env.render()
        assert frames[0]["turn"] == 0
        assert frames[-1]["turn"] == len(steps)


@every
def test_an_answer_after_the_end_or_before_reset_is_an_error(variant):
    env = build(variant)
    with pytest.raises(EpisodeOver, match="reset"):
        env.step("up")
    play(env, by_expert, seed=0)
    before = env.observation()
    with pytest.raises(EpisodeOver, match="is over"):
        env.step(by_expert(env))
    assert env.observation() == before


@cache
def words_and_junk():
    words = {word for name in ENVIRONMENTS for word in make(name).vocabulary}
    return (*sorted(words), "zz", "|", "<think", "\x00", "上", "999", "click 9")


garbage = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(words_and_junk()), max_size=30).map(" ".join),
)


@every
@settings(max_examples=60, deadline=None)
@given(st.lists(garbage, min_size=5, max_size=5), st.integers(0, 50))
def test_garbage_never_crashes_and_each_bad_turn_costs_one_penalty(
    variant, answers, seed
):
    env = build(variant)
    env.reset(seed=seed)
    for answer in answers:
        if env.terminated or env.truncated:
            break
        actions, reason = env.parse(answer)
        observation, reward, _, _, info = env.step(answer)
        assert env.encode(observation)
        assert len(observation.split()) <= env.max_length
        assert info["actions"] == actions[: len(info["actions"])]
        assert info["penalty"] == (-0.1 if reason else 0)
        assert math.isclose(reward, sum(info["rewards"]) + info["penalty"])
        assert (reason is None) == (info["invalid"] is None)
    assert env.terminated or env.truncated  # five turns are all there are


@every
def test_five_empty_answers_are_truncated_at_minus_one_half(variant):
    env = build(variant)
    _, steps = play(env, lambda _: "  ", seed=1)
    assert len(steps) == 5
    assert math.isclose(sum(step[1] for step in steps), -0.5)
    assert all(step[-1]["invalid"] == "empty answer" for step in steps)
    assert steps[-1][2:4] == (False, True)


# What a learner meets first: these lines were read and found right ------------------

FIRST_LINES = {
    "Bandit": "arms phoenix dragon turns 5 actions 10",
    "FrozenLake": "P _ _ _ / _ _ _ _ / _ O _ _ / _ _ O G turns 5 actions 10",
    "FrozenLakeFixed": "P _ _ _ / _ O _ O / _ _ _ O / O _ _ G turns 5 actions 10",
    "Sokoban": "# # # # # / # _ _ _ # / # . $ _ # / # _ _ @ # / # # # # # "
    "turns 5 actions 10",
    "WebShop": "want green small lamp washable sturdy budget 80 page search "
    "turns 5 actions 10",
}


@pytest.mark.parametrize("name", FIRST_LINES)
def test_seed_three_begins_the_same_on_every_machine(name):
    assert make(name).reset(seed=3)[0] == FIRST_LINES[name]


# Parsing and limits -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "actions", "reason"),
    [
        ("up", ("up",), None),
        ("up || down||left", ("up", "down", "left"), None),
        ("  UP  ||  down  ", ("up", "down"), None),
        ("<think> hole right </think> down", ("down",), None),
        ("up <end> down || zz", ("up",), None),
        ("", (), "empty answer"),
        ("<think> up </think>", (), "empty answer"),
        ("<think> up", (), "<think> without </think>"),
        ("zz", (), "unknown action 'zz'"),
        ("up || zz || down", ("up", "down"), "unknown action 'zz'"),
        ("up down", (), "unknown action 'up down'"),
        ("up ||", ("up",), "unknown action ''"),
        ("up | down", (), "unknown action 'up | down'"),
        (reply(["up"] * 5), ("up",) * 5, None),
        (reply(["up"] * 6), ("up",) * 5, "6 actions, at most 5 a turn"),
        ("x" * 99, (), f"unknown action '{'x' * 20}'"),
    ],
)
def test_a_reply_is_read_action_by_action(answer, actions, reason):
    assert make("Sokoban").parse(answer) == (actions, reason)


def test_what_can_be_read_is_played_and_the_rest_costs_one_penalty():
    env = make("Sokoban")
    env.reset(seed=3)
    env.instance = Room(5, env.instance.walls, frozenset({18}), State(6, (12,)))
    env.state = env.instance.start
    _, reward, _, _, info = env.step("zz || right || yy || left")
    assert info["actions"] == ("right", "left")
    assert math.isclose(reward, -0.1 - 0.1 - 0.1)


def test_the_limits_are_five_turns_five_actions_a_turn_ten_actions():
    env = make("FrozenLakeFixed", success_rate=1.0)
    _, steps = play(env, lambda _: "up || up || up || up", seed=0)
    played = [len(step[-1]["actions"]) for step in steps]
    assert played == [4, 4, 2]
    assert [step[3] for step in steps] == [False, False, True]
    _, steps = play(env, lambda _: "up", seed=0)
    assert [step[3] for step in steps] == [False] * 4 + [True]
    assert steps[0][0].endswith("turns 4 actions 9")


def test_a_game_won_with_the_last_action_is_terminated_not_truncated():
    env = make("FrozenLakeFixed", success_rate=1.0, max_actions=6, max_turns=2)
    path = ["down || down || right", "down || right || right"]
    _, steps = play(env, lambda e: path[2 - e.turns_left], seed=0)
    assert steps[-1][1:4] == (1.0, True, False)


def test_limits_and_penalty_are_dials():
    dials = {"max_turns": 1, "actions_per_turn": 2, "max_actions": 3, "penalty": -0.5}
    env = make("Bandit", **dials)
    assert env.reset(seed=0)[0].endswith("turns 1 actions 3")
    assert env.step("phoenixx")[1:4] == (-0.5, False, True)


# Bad input --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dials", "said"),
    [
        ("Atari", {}, "unknown environment 'Atari'"),
        ("Bandit", {"colour": 1}, "colour"),
        ("Bandit", {"names": ("phoenix", "phoenix")}, "names"),
        ("Bandit", {"names": ("phoenix", "unicorn")}, "names"),
        ("Bandit", {"high_chance": 1.5}, "high_chance"),
        ("Bandit", {"low_reward": math.nan}, "low_reward"),
        ("Bandit", {"max_turns": 0}, "max_turns"),
        ("Bandit", {"max_actions": 2.5}, "max_actions"),
        ("Bandit", {"actions_per_turn": True}, "actions_per_turn"),
        ("Bandit", {"penalty": 0.1}, "penalty"),
        ("Bandit", {"penalty": math.nan}, "penalty"),
        ("Bandit", {"penalty": -math.inf}, "penalty"),
        ("FrozenLake", {"lake": "8x8"}, "lake"),
        ("FrozenLake", {"view": "sound"}, "view"),
        ("FrozenLake", {"success_rate": -0.1}, "success_rate"),
        ("FrozenLake", {"frozen": 0.0}, "frozen"),
        ("FrozenLake", {"size": 1}, "size"),
        ("Sokoban", {"size": 3}, "size"),
        ("Sokoban", {"boxes": 0}, "boxes"),
        ("Sokoban", {"walls": 2}, "walls"),
        ("Sokoban", {"view": "sound"}, "view"),
        ("Sokoban", {"depth": 11}, "depth must not exceed the 10 actions"),
        ("WebShop", {"items": 0}, "items"),
        ("WebShop", {"page_size": -1}, "page_size"),
    ],
)
def test_an_unknown_id_or_a_bad_dial_is_named(name, dials, said):
    with pytest.raises(ValueError, match=said):
        make(name, **dials)


def test_seeds_are_whole_numbers_and_answers_are_text():
    env = make("Bandit")
    for seeds in ({"seed": -1}, {"seed": 0.5}, {"seed": 1, "noise": "x"}):
        with pytest.raises(ValueError, match="must be a whole number of at least 0"):
            env.reset(**seeds)
    env.reset(seed=np.int64(1))
    with pytest.raises(TypeError, match="an answer is text, got list"):
        env.step(["dragon"])
    with pytest.raises(ValueError, match="'unicorn' is not in the vocabulary"):
        env.encode("arms unicorn")
    with pytest.raises(ValueError, match="token -1 is outside"):
        env.decode([-1])


def test_rooms_that_cannot_exist_are_reported_not_searched_for_ever():
    with pytest.raises(ValueError, match="no solvable room"):
        make("Sokoban", size=4, boxes=4).reset(seed=0)


def test_a_sequence_longer_than_the_context_is_cut_and_counted():
    assert fit_context([1, 2, 3], 3) == ([1, 2, 3], 0)
    assert fit_context([1, 2, 3], 2) == ([2, 3], 1)
    assert fit_context([1, 2, 3], 2, keep="head") == ([1, 2], 1)
    assert fit_context([], 2) == ([], 0)
    with pytest.raises(ValueError, match="context"):
        fit_context([1], 0)
    with pytest.raises(ValueError, match="keep"):
        fit_context([1], 1, keep="middle")


def test_a_group_whose_episodes_have_different_prompts_is_an_error():
    check_groups(["a", "b", "a"], [7, 2, 7])
    with pytest.raises(ValueError, match="group 7 mixes prompts: 'a' and 'b'"):
        check_groups(["a", "a", "b"], [7, 2, 7])
    with pytest.raises(ValueError, match="2 prompts for 1 group"):
        check_groups(["a", "a"], [7])


# Many at once -----------------------------------------------------------------------


@every
def test_playing_together_equals_playing_alone(variant):
    name, dials = VARIANTS[variant]
    vector = make_vec(name, 6, **dials)
    seeds, noises = [4, 4, 4, 8, 8, 8], [1, 2, 3, 4, 5, 6]
    firsts, _ = vector.reset(seeds, noises)
    total = np.zeros(6)
    while vector.live.any():
        _, rewards, terminated, truncated, infos = vector.step(vector.expert())
        total += rewards
    for i, (seed, noise) in enumerate(zip(seeds, noises, strict=True)):
        env = build(variant)
        (first, _), steps = play(env, by_expert, seed=seed, noise=noise)
        assert first == firsts[i]
        assert math.isclose(total[i], sum(step[1] for step in steps), abs_tol=1e-9)
        assert (terminated[i], truncated[i], infos[i]) == steps[-1][2:]


def test_a_group_shares_its_map_and_slips_differently():
    vector = make_vec("FrozenLake", 32)
    prompts, groups = vector.reset_groups([5, 6], noise=1)
    assert list(groups) == [0] * 16 + [1] * 16
    assert prompts[0] != prompts[16]
    after = vector.step(["right"] * 32)[0]
    assert len(set(after[:16])) > 1
    again = make_vec("FrozenLake", 32)
    again.reset_groups([5, 6], noise=1)
    assert again.step(["right"] * 32)[0] == after
    again.reset_groups([5, 6], noise=2)
    assert again.step(["right"] * 32)[0] != after


def test_a_group_is_refused_if_noise_changes_the_first_prompt():
    class Careless(FrozenLake):
        def observation(self):
            return f"{super().observation()} {self.noise.random()}"

    vector = VectorEnvironment(Careless, 4)
    with pytest.raises(ValueError, match="group 0 mixes prompts"):
        vector.reset_groups([5, 6], noise=1)


def test_batch_errors_say_what_came_and_what_was_wanted():
    vector = make_vec("Bandit", 4)
    with pytest.raises(ValueError, match="num_envs"):
        make_vec("Bandit", 0)
    with pytest.raises(ValueError, match="seeds: 4 wanted, got 3"):
        vector.reset([1, 2, 3])
    with pytest.raises(ValueError, match="noises: 4 wanted, got 1"):
        vector.reset([1, 2, 3, 4], [1])
    for seeds in ([1, 2, 3], []):
        with pytest.raises(ValueError, match="divisor of num_envs=4"):
            vector.reset_groups(seeds, noise=0)
    vector.reset([1, 2, 3, 4])
    with pytest.raises(ValueError, match="answers: 4 wanted, got 1"):
        vector.step(["dragon"])
    with pytest.raises(ValueError, match="live episodes"):
        vector.step(["dragon", None, "dragon", "dragon"])
    _, rewards, *_ = vector.step(["phoenix", "x", "x", "x"])
    assert rewards.tolist() == [0.15, -0.1, -0.1, -0.1]
    with pytest.raises(EpisodeOver):
        vector.step(["phoenix", "x", "x", "x"])
    vector.reset([1, 2, 3, 4])
    vector.step(["phoenix", "x", "x", "x"])
    _, rewards, terminated, *_ = vector.step([None, "phoenix", "x", "x"])
    assert rewards.tolist() == [0, 0.15, -0.1, -0.1]
    assert terminated.tolist() == [True, True, False, False]


def test_speed_counts_turns_actions_and_episodes():
    speed = steps_per_second(make_vec("Bandit", 4), seconds=0.05)
    assert speed["turns"] == speed["episodes"] == speed["actions"] > 0


# Bandit -----------------------------------------------------------------------------


def test_phoenix_always_pays_0_15_and_dragon_pays_one_a_quarter_of_the_time():
    env = make("Bandit")
    for noise in range(50):
        env.reset(seed=0, noise=noise)
        _, reward, terminated, truncated, info = env.step("phoenix")
        assert (reward, terminated, truncated) == (0.15, True, False)
        assert not info["success"]
    paid = Counter()
    for noise in range(4000):
        env.reset(seed=0, noise=noise)
        _, reward, _, _, info = env.step("dragon")
        paid[reward] += 1
        assert info["success"]  # whatever it paid
    assert set(paid) == {0.0, 1.0}
    assert abs(paid[1.0] / 4000 - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 4000)


def test_the_arms_are_named_in_either_order_and_the_order_changes_nothing():
    env = make("Bandit")
    firsts = Counter(env.reset(seed=seed)[0].split()[1] for seed in range(200))
    assert set(firsts) == {"phoenix", "dragon"}
    assert min(firsts.values()) > 60


def test_the_reversed_bandit_swaps_the_payoffs_and_the_test_swaps_the_names():
    for name, low, high in (
        ("Bandit", "phoenix", "dragon"),
        ("BanditReversed", "dragon", "phoenix"),
        ("BanditTrain", "teacher", "engineer"),
        ("BanditTest", "librarian", "trader"),
    ):
        env = make(name)
        env.reset(seed=0)
        assert env.step(low)[1] == 0.15
        env.reset(seed=0)
        assert env.step(high)[-1]["success"]
        assert env.vocabulary == make("Bandit").vocabulary
    env = make("BanditReversed", described=True)
    assert "dragon steady" in env.reset(seed=0)[0]
    assert "phoenix risky" in env.reset(seed=0)[0]


# FrozenLake -------------------------------------------------------------------------


def test_right_from_the_corner_goes_right_slips_down_or_stays_against_the_wall():
    # Gymnasium 1.4.0, FrozenLake-v1, P[0][RIGHT]: down 4, right 1, up (wall) 0.
    expected = np.zeros(16)
    expected[[0, 1, 4]] = 1 / 3
    np.testing.assert_allclose(transitions(FIXED)[2, 0], expected)


@pytest.mark.parametrize("success", [1 / 3, 0.8, 1.0])
def test_the_intended_way_the_two_sides_and_never_backwards(success):
    # By hand, from cell 9 (row 2, column 1) of the fixed map: its four neighbours
    # are 8 to the left, 13 below, 10 to the right, and the hole 5 above.
    aside = (1 - success) / 2
    rows = {
        "left": {8: success, 5: aside, 13: aside},
        "down": {13: success, 8: aside, 10: aside},
        "right": {10: success, 13: aside, 5: aside},
        "up": {5: success, 8: aside, 10: aside},
    }
    table = transitions(FIXED, success)
    for action, row in enumerate(rows.values()):
        expected = np.zeros(16)
        expected[list(row)] = list(row.values())
        np.testing.assert_allclose(table[action, 9], expected, atol=1e-15)
    np.testing.assert_allclose(table.sum(-1), 1)
    for end in (5, 7, 11, 12, 15):  # holes and the goal keep the player
        np.testing.assert_array_equal(table[:, end, end], 1)


def test_played_steps_follow_the_transition_table():
    env = make("FrozenLake", lake="4x4")
    for action, name in enumerate(("left", "down", "right", "up")):
        seen = np.zeros(16)
        for noise in range(3000):
            env.reset(seed=0, noise=noise)
            env.state = 9
            env.step(name)
            seen[env.state] += 1 / 3000
        expected = transitions(FIXED)[action, 9]
        assert np.abs(seen - expected).max() < 4 * math.sqrt(2 / 9 / 3000)
        assert (seen[expected == 0] == 0).all()


def test_the_goal_pays_one_a_hole_nothing_and_both_end_the_episode():
    env = make("FrozenLake", lake="4x4", success_rate=1.0)
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("down || right || up")
    assert (reward, terminated, truncated, info["success"]) == (0, True, False, False)
    assert info["actions"] == ("down", "right")  # nothing moves after the hole
    assert observation.startswith("_ _ _ _ / _ X _ O")
    assert success_rate(env, by_expert, 1) == 1
    assert env.render() == "_ _ _ _\n_ O _ O\n_ _ _ O\nO _ _ !"


def test_the_fixed_map_is_gymnasiums_and_coordinates_name_it():
    assert FIXED == ("SFFF", "FHFH", "FFFH", "HFFG")
    easy, hard = make("FrozenLakeFixed"), make("FrozenLake")
    assert (easy.lake, easy.success_rate) == ("4x4", 0.8)
    assert (hard.lake, hard.success_rate) == ("random", 1 / 3)
    env = make("FrozenLake", lake="4x4", view="coordinates")
    first, _ = env.reset(seed=0)
    assert first == "at a1 goal d4 holes b2 d2 d3 a4 turns 5 actions 10"


def test_random_lakes_are_solvable_and_four_cells_in_five_are_frozen():
    lakes = [frozen_lake.random_lake(seed, 4, 0.8) for seed in range(2000)]
    assert all(map(solvable, lakes))
    assert all(lake[0][0] == "S" and lake[3][3] == "G" for lake in lakes)
    assert not solvable(("SH", "HG"))
    assert not solvable(("SFH", "HHF", "FFG"))
    # Among all 2^14 fillings, weighted by 0.8 and 0.2: the exact mean of the solvable.
    weight = holes = 0.0
    for bits in range(2**14):
        count = bits.bit_count()
        cells = "".join("FH"[bits >> i & 1] for i in range(14))
        text = f"S{cells}G"
        if solvable(tuple(text[i : i + 4] for i in range(0, 16, 4))):
            chance = 0.8 ** (14 - count) * 0.2**count
            weight += chance
            holes += chance * count
    drawn = np.array([sum(row.count("H") for row in lake) for lake in lakes])
    assert abs(drawn.mean() - holes / weight) < 4 * drawn.std() / math.sqrt(2000)


def test_the_optimum_of_a_two_by_two_lake_by_hand():
    lake = ("SF", "FG")
    # Two turns of one action, 0.8: `down` leaves S with 0.8 + 0.1, then the way to the
    # goal is known: 0.9 * 0.8. One turn of two: `down, right` wins by 0.8 * 0.8, or by
    # slipping right and then down, 0.1 * 0.1.
    closed = optimum(lake, success_rate=0.8, turns=2, actions_per_turn=1, actions=2)
    opened = optimum(lake, success_rate=0.8, turns=1, actions_per_turn=2, actions=2)
    assert math.isclose(closed.success, 0.72)
    assert math.isclose(opened.success, 0.65)
    assert optimum(lake, turns=1, actions_per_turn=1, actions=1).success == 0
    slippery = optimum(lake, turns=2, actions_per_turn=1, actions=2)
    assert math.isclose(slippery.success, 2 / 3 * 1 / 3)


def test_the_optimum_is_what_trying_everything_gives():
    table = transitions(FIXED, 0.8)

    @cache
    def best(cell, turns, actions):  # the definition, plan by plan
        if cell in (5, 7, 11, 12, 15) or not turns or not actions:
            return float(cell == 15)
        return max(
            planned(cell, plan, turns, actions)
            for plan in plans
            if len(plan) <= actions
        )

    def planned(cell, plan, turns, actions, done=0):
        if done == len(plan):
            return best(cell, turns - 1, actions - done)
        return sum(
            chance * planned(int(after), plan, turns, actions, done + 1)
            for after, chance in enumerate(table[plan[done], cell])
            if chance
        )

    plans = [(a,) for a in range(4)] + [(a, b) for a in range(4) for b in range(4)]
    dials = {"success_rate": 0.8, "turns": 4, "actions_per_turn": 2, "actions": 7}
    solved = optimum(FIXED, **dials)
    for cell in range(16):
        assert math.isclose(solved.solve(4, 7)[0][cell], best(cell, 4, 7))


@pytest.mark.parametrize("success", [Fraction(1, 3), Fraction(4, 5)])
def test_of_equally_good_plans_the_shortest_is_chosen_and_then_the_first(success):
    """In fractions equal is equal; floats must choose the same."""
    plans = [p for n in (1, 2, 3) for p in itertools.product(range(4), repeat=n)]
    sides = {-1: (1 - success) / 2, 0: success, 1: (1 - success) / 2}

    def solve(lake):
        after, letters = frozen_lake.neighbours(lake), "".join(lake)

        @cache
        def best(cell, turns, actions):
            if letters[cell] in "HG" or not turns or not actions:
                return Fraction(letters[cell] == "G"), None
            tried = [p for p in plans if len(p) <= actions]
            values = [value(cell, p, turns - 1, actions - len(p)) for p in tried]
            return max(values), tried[values.index(max(values))]

        def value(cell, plan, turns, actions):
            if not plan or letters[cell] in "HG":
                return best(cell, turns, actions)[0]
            return sum(
                chance * value(after[cell][(plan[0] + turn) % 4], plan[1:], *limits)
                for turn, chance in sides.items()
                for limits in [(turns, actions)]
            )

        return [best(cell, 3, 5)[1] for cell in range(len(letters))]

    for seed in range(4):
        lake = frozen_lake.random_lake(seed, 3, 0.8)
        limits = {"turns": 3, "actions_per_turn": 3, "actions": 5}
        found = optimum(lake, success_rate=float(success), **limits).solve(3, 5)[1]
        for cell, plan in enumerate(solve(lake)):
            if plan is not None:
                names = tuple(("left", "down", "right", "up")[a] for a in plan)
                assert found[cell] == names, (seed, cell)


PLANS = """
from tokencredit.world.games.frozen_lake import optimum, random_lake
from tokenbook.figures.episode import episode
for seed in range(20):
    best = optimum(random_lake(seed, 4, 0.8))
    print(*(best.solve(turns, 2 * turns)[1] for turns in range(6)))
print(*(frame["picture"] for frame in episode("FrozenLake", 1)))
"""


def test_every_kind_of_cpu_chooses_the_same_plans():
    said = {}
    for kernel in ("Nehalem", "Haswell", "SkylakeX"):
        dials = os.environ | {"OPENBLAS_CORETYPE": kernel}
        run = [sys.executable, "-c", PLANS]
        done = subprocess.run(run, env=dials, capture_output=True, text=True)
        if done.returncode != -signal.SIGILL:  # this CPU lacks the instructions
            assert done.returncode == 0, done.stderr
            said[kernel] = done.stdout
    assert len(set(said.values())) == 1, f"the plans differ among {[*said]}"


@pytest.mark.parametrize(("success", "expected"), [(1 / 3, 0.0404), (0.8, 0.6725)])
def test_playing_the_optimal_plan_reaches_the_optimum(success, expected):
    env = make("FrozenLake", lake="4x4", success_rate=success)
    best = optimum(FIXED, success_rate=success).success
    assert math.isclose(best, expected, abs_tol=5e-5)
    played = success_rate(env, by_expert, 3000)
    assert abs(played - best) < 4 * math.sqrt(best * (1 - best) / 3000)


def test_seeing_after_every_action_can_only_help_and_more_actions_too():
    lakes = [frozen_lake.random_lake(seed, 4, 0.8) for seed in range(20)]
    for lake in lakes:
        turns = [optimum(lake, success_rate=0.8, turns=t).success for t in range(1, 6)]
        closed = optimum(lake, success_rate=0.8, turns=10, actions_per_turn=1)
        assert turns == sorted(turns)
        assert closed.success >= turns[-1] - 1e-12
        assert optimum(lake, success_rate=1.0).success == 1
    long = optimum(FIXED, turns=100, actions_per_turn=1, actions=100)
    assert math.isclose(long.success, 0.7442, abs_tol=5e-5)
    with pytest.raises(ValueError, match="actions_per_turn must be a whole number"):
        optimum(FIXED, actions_per_turn=0)


# Sokoban ----------------------------------------------------------------------------


def room_of(text):
    """A square room drawn in the usual signs."""
    rows = text.split()
    cells = "".join(rows)
    where = {sign: [i for i, c in enumerate(cells) if c in sign] for sign in SIGNS}
    return Room(
        len(rows),
        frozenset(where["#"]),
        frozenset(where[".*+"]),
        State(where["@+"][0], tuple(where["$*"])),
    )


SIGNS = ("#", ".*+", "@+", "$*")


def in_room(text, **dials):
    room = room_of(text)
    env = make("Sokoban", boxes=len(room.start.boxes), size=room.size, **dials)
    env.reset(seed=0)
    env.instance, env.state = room, room.start
    return env


def test_the_last_push_of_one_box_pays_10_9():
    env = in_room("##### #@$.# #___# #___# #####")
    assert env.observation().startswith("# # # # # / # @ $ . # / # _ _ _ #")
    _, reward, terminated, _, info = env.step("right")
    assert math.isclose(reward, 10.9)
    assert terminated
    assert info["success"]
    assert env.render().split("\n")[1] == "# _ @ * #"


def test_every_action_costs_a_tenth_and_a_blocked_one_changes_nothing():
    env = in_room("##### #@$_# #___# #_._# #####")
    _, _, _, _, info = env.step("up || left || right || right || down")
    assert info["rewards"] == [-0.1] * 5
    assert env.render().split("\n")[1] == "# _ _ $ #"
    assert env.render().split("\n")[2] == "# _ @ _ #"
    two = in_room("###### #@$$_# #____# #____# #_.._# ######")
    before = two.state
    two.step("right")  # two boxes in a row cannot be pushed
    assert two.state == before


def test_a_box_is_paid_for_when_it_comes_on_or_goes_off_its_target():
    env = in_room("###### #@$._# #____# #_$__# #_.__# ######")
    _, _, _, _, info = env.step("right || right || left")
    np.testing.assert_allclose(info["rewards"], [0.9, -1.1, -0.1])
    env = in_room("###### #@$._# #____# #_$__# #_.__# ######")
    _, _, terminated, _, info = env.step("right || left || down || right || down")
    np.testing.assert_allclose(info["rewards"], [0.9, -0.1, -0.1, -0.1, 10.9])
    assert terminated
    moved = in_room("###### #@*._# #____# #__$_# #____# ######")
    assert math.isclose(moved.step("right")[1], -0.1)  # from a target to the next


def test_the_expert_earns_every_point_but_the_steps():
    env = make("Sokoban")
    for seed in range(200):
        _, steps = play(env, by_expert, seed=seed)
        moves = len(solve(env.instance, env.instance.start))
        total = sum(step[1] for step in steps)
        assert math.isclose(total, 1 + 10 - 0.1 * moves)


@pytest.mark.parametrize(("size", "boxes"), [(5, 1), (6, 2)])
def test_rooms_are_walled_solvable_and_start_with_every_box_off_its_target(size, boxes):
    lengths = Counter()
    for seed in range(150):
        room = sokoban.random_room(seed, size, boxes, 10, 0.1)
        border = {i for i in range(size**2) if {0, size - 1} & {i // size, i % size}}
        assert border <= room.walls
        assert len(room.targets) == len(set(room.start.boxes)) == boxes
        assert room.targets.isdisjoint(room.start.boxes)
        things = {room.start.player, *room.start.boxes, *room.targets}
        assert room.walls.isdisjoint(things)
        assert room.start.player not in room.start.boxes
        lengths[len(solve(room, room.start))] += 1
    assert min(lengths) >= 1
    assert max(lengths) <= 10
    assert len(lengths) >= 7


def test_reverse_play_and_the_solver_agree_on_every_length():
    room = room_of("##### #@$.# #_#_# #___# #####")
    layers = sokoban.reverse_play(room, 30)
    found = {state: moves for moves, layer in enumerate(layers) for state in layer}
    inside = set(range(25)) - room.walls
    for player in inside:
        for box in inside - {player}:
            solution = solve(room, State(player, (box,)))
            known = found.get(State(player, (box,)))
            assert known == (None if solution is None else len(solution))


def test_a_push_and_its_undoing_match_in_both_directions():
    room = room_of("##### #$$_# #_#_# #@..# #####")
    inside = sorted(set(range(25)) - room.walls)
    states = [
        State(player, boxes)
        for boxes in itertools.combinations(inside, 2)
        for player in inside
        if player not in boxes
    ]
    for state, direction in itertools.product(states, range(4)):
        after = sokoban.push(room, state, direction)
        assert after == state or state in sokoban.before(room, after, direction)
        for earlier in sokoban.before(room, state, direction):
            assert sokoban.push(room, earlier, direction) == state


def test_a_box_in_a_corner_is_lost_and_the_game_goes_on():
    env = in_room("##### #$__# #@__# #__.# #####")
    assert solve(env.instance, env.state) is None
    assert env.step(by_expert(env))[2:4] == (False, False)


def test_coordinates_name_player_boxes_targets_and_inner_walls():
    env = in_room("##### #@$.# #_#_# #___# #####", view="coordinates")
    assert env.scene(env.state) == "player b2 boxes c2 targets d2 walls c3"


def test_the_signs_tell_who_stands_on_a_target():
    env = in_room("###### #+$_*# #____# #____# #____# ######")
    assert env.render().split("\n")[1] == "# + $ _ * #"
    env.step("down")
    assert env.render().split("\n")[1:3] == ["# . $ _ * #", "# @ _ _ _ #"]


# WebShop ----------------------------------------------------------------------------

LAMP = Item("lamp", ("soft", "warm", "quiet"), ("red", "blue"), ("small",), 40)
WISH = Goal("lamp", ("soft", "warm"), "red", "small", 50)


@pytest.mark.parametrize(
    ("item", "color", "size", "reward"),
    [
        (LAMP, "red", "small", 1.0),
        (LAMP, "blue", "small", 4 / 5),
        (LAMP, None, None, 3 / 5),
        (LAMP._replace(price=50), "red", "small", 1.0),
        (LAMP._replace(price=60), "red", "small", 4 / 5),
        (LAMP._replace(attributes=("soft", "light", "quiet")), "red", "small", 4 / 5),
        (LAMP._replace(attributes=("light",), price=60), None, None, 0.0),
        (LAMP._replace(kind="rug"), "red", "small", 1 / 2),
        (LAMP._replace(kind="rug", price=60), "red", None, 1 / 2 * 3 / 5),
        (LAMP._replace(kind="mug"), "red", "small", 0.0),
    ],
)
def test_the_graded_reward_by_hand(item, color, size, reward):
    assert math.isclose(graded_reward(item, color, size, WISH), reward)
    assert fits(item, WISH) == (item in (LAMP, LAMP._replace(price=50)))


def test_shopping_goes_from_search_to_results_to_item_to_options_to_buy():
    env = make("WebShop")
    env.reset(seed=3)
    pages = [env.state.page]
    for _ in range(3):
        _, reward, terminated, _, info = env.step(by_expert(env))
        pages.append(env.state.page)
    assert pages == ["search", "results", "item", "bought"]
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    assert env.render().endswith("reward 1.00")


def test_buying_the_first_result_without_options_earns_a_part():
    env = make("WebShop")
    totals = set()
    for seed in range(100):
        env.reset(seed=seed)
        kind = env.instance.kind
        _, reward, terminated, _, info = env.step(f"search {kind} || click 1 || buy")
        assert terminated
        assert not info["success"]
        totals.add(round(reward, 3))
    assert totals == {0.0, 0.2, 0.4, 0.6}


def test_a_click_on_what_the_page_does_not_show_has_no_effect():
    env = make("WebShop")
    env.reset(seed=0)
    start = env.state
    _, reward, terminated, _, info = env.step("buy || click 1 || click red")
    assert (env.state, reward, terminated, info["invalid"]) == (start, 0, False, None)
    env.step("search lamp || click 2 || click back || click back")
    assert env.state == start


def test_search_ranks_by_shared_words_and_shows_no_stranger():
    shop = webshop.catalogue(0, 72)
    found = webshop.search(shop, ["lamp", "soft", "warm"], 72)
    scores = [
        len({"lamp", "soft", "warm"} & {shop[i].kind, *shop[i].attributes})
        for i in found
    ]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) == 1
    assert len(webshop.search(shop, ["lamp"], 72)) == 8  # 72 items, 9 types in turn
    assert webshop.search(shop, ["red"], 4) == ()


def test_every_wish_can_be_met_from_its_own_search():
    env = make("WebShop")
    for seed in range(300):
        env.reset(seed=seed)
        goal = env.instance
        found = webshop.search(env.shop, [goal.kind, *goal.attributes], env.page_size)
        assert any(fits(env.shop[item], goal) for item in found)
        assert {goal.color} < set(webshop.COLORS)


def test_the_shop_expert_knows_no_more_than_the_pages_have_shown():
    env = make("WebShop")
    went_back = 0
    for seed in range(300):
        env.reset(seed=seed)
        env.step(by_expert(env))
        other = make("WebShop")  # as it would be if no item came in the wanted colour
        other.reset(seed=seed)
        other.step(by_expert(other))
        without = set(webshop.COLORS) - {env.instance.color}
        other.shop = tuple(i._replace(colors=tuple(without)) for i in other.shop)
        assert env.expert() == other.expert()
        env.step(by_expert(env))
        other.step(by_expert(other))
        if not fits(env.shop[env.state.item], env.instance):
            went_back += 1
            assert env.expert() == other.expert()
            assert env.expert()[0] == "click back"
    assert went_back > 10


def test_no_sale_leaves_zero_to_one():
    env = make("WebShop")
    for seed in range(20):
        env.reset(seed=seed)
        for item in env.shop:
            for color in (None, *item.colors):
                reward = graded_reward(item, color, item.sizes[0], env.instance)
                assert 0 <= reward <= 1


def test_the_examples_in_the_docstrings_hold():
    for module in (environments, environments.base, frozen_lake):
        assert doctest.testmod(module).failed == 0
