"""What the live figures of the agents' chapter claim."""

import pytest
import torch

from tokencredit.figures import episode, explore, keep_groups, turn_masks
from tokencredit.world.games import make


@pytest.mark.parametrize("unit", turn_masks.UNITS)
def test_only_discounting_every_token_makes_credit_depend_on_the_tool(unit):
    short, *longer = (turn_masks.credit(unit, 0.9, 0.7, n)[0] for n in turn_masks.TOOL)
    depends = [first != pytest.approx(short) for first in longer]
    assert depends == [unit == "t"] * len(longer)


def test_credit_over_three_turns_is_what_hand_arithmetic_gives():
    assert turn_masks.credit("m", 0.9, 1.0, 4) == pytest.approx(
        [0.9**k for k in range(8, -1, -1)]
    )
    gaps = [14, 13, 12, 7, 6, 5, 2, 1, 0]  # 4 words of the tool, then 2
    assert turn_masks.credit("t", 0.9, 1.0, 4) == pytest.approx([0.9**k for k in gaps])
    assert turn_masks.credit("k", 1.0, 0.5, 4) == [0.25] * 3 + [0.5] * 3 + [1.0] * 3
    assert turn_masks.credit("k", 0.9, 0.5, 4)[:3] == pytest.approx(
        [0.25 * 0.9**k for k in (2, 1, 0)]
    )


def test_a_mask_shifted_by_one_trains_three_wrong_tokens_and_misses_three():
    _, update = explore("turn_masks").make()
    for tool in turn_masks.TOOL:
        state = {"unit": "m", "tool": tool, "gamma": 0.9, "turn_gamma": 1.0}
        right, shifted = (update(state | {"shift": s}) for s in (0, 1))
        assert (right["wrong"], right["lost"]) == (0, 0)
        assert (shifted["wrong"], shifted["lost"]) == (3, 3)


def test_the_filter_keeps_more_signal_than_its_share_and_all_of_it_at_one():
    shares = torch.tensor(keep_groups.SHARES)
    for chance in keep_groups.CHANCES:
        for spread in keep_groups.SPREADS:
            for curve in keep_groups.curves(chance, spread):
                assert curve == pytest.approx(sorted(curve))
                assert (torch.tensor(curve) >= shares - 1e-6).all()
                assert curve[-1] == pytest.approx(1)


def test_the_number_of_groups_kept_is_the_dial():
    for count, p in enumerate(keep_groups.SHARES, start=1):
        kept, _ = keep_groups.kept_groups(0.5, 4, p)
        assert sum(kept) == count


@pytest.mark.parametrize("env", episode.EPISODES)
def test_the_first_episode_is_the_experts_and_wins_and_the_others_differ(env):
    plays = [episode.episode(env, play) for play in (1, 2, 3)]
    assert plays[0][-1]["won"]
    assert len({plays[i][0]["picture"] for i in range(3)}) == 1, "one group, one start"
    assert len({round(frames[-1]["total"], 6) for frames in plays}) == 3
    for frames in plays:
        assert len(frames) - 1 <= episode.ROWS
        assert frames[-1]["terminated"] != frames[-1]["truncated"]
        assert frames[-1]["total"] == pytest.approx(sum(f["reward"] for f in frames))
    seed, recorded = episode.EPISODES[env]
    game = make(env)
    game.reset(seed=seed, noise=recorded[0][0])
    while not (game.terminated or game.truncated):
        game.step(" || ".join(game.expert()))
    played = [frame["picture"] for frame in game.frames()]
    assert [frame["picture"] for frame in plays[0]] == played


def test_the_lake_slips_and_the_box_shows_every_penalty():
    assert any("→" in frame["said"] for frame in episode.episode("FrozenLake", 1))
    first, *middle, last = episode.episode("Sokoban", 2)[1:]
    assert (first["said"], first["reward"]) == ("up ×", -0.1)
    invalid = [frame for frame in middle if not frame["valid"]]
    assert [frame["reward"] for frame in invalid] == [-0.1]
    assert last["reward"] == pytest.approx(10.9)
    assert last["total"] == pytest.approx(10.9 - 7 * 0.1)
