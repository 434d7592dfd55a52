"""What the live figures of the agents' chapter claim."""

import pytest
import torch

from tokencredit.figures import episode, explore, keep_groups, memory, turn_masks
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


def tokens(state):
    """The chips of `turn_masks` in a state as sets of their classes."""
    tree = explore("turn_masks").tree("en", state)
    found = [set(e.get("class", "").split()) for e in tree.iter()]
    return [names for names in found if "ex-chip" in names and "plain" not in names]


def test_a_mask_shifted_by_one_trains_three_wrong_tokens_and_misses_three():
    for tool in turn_masks.TOOL:
        state = {"unit": "m", "tool": tool, "gamma": 0.9}
        for shift, count in ((0, 0), (1, 3)):
            wrong, lost = turn_masks.faults(tool, shift)
            assert (len(wrong), len(lost)) == (count, count)
            drawn = tokens(state | {"shift": shift})
            other = [not names.isdisjoint({"env", "prompt"}) for names in drawn]
            assert len(drawn) == sum(turn_masks.pieces(tool))
            assert sum("on" in names for names in drawn) == 9
            assert wrong == [
                k for k, names in enumerate(drawn) if other[k] and "on" in names
            ]
            assert lost == [
                k for k, names in enumerate(drawn) if not other[k] and "on" not in names
            ]


def test_the_figure_prints_the_credit_of_each_turns_first_token():
    figure = explore("turn_masks")
    for unit, gamma, wanted in (
        ("m", 0.9, [0.9**8, 0.9**5, 0.9**2]),
        ("k", 0.7, [0.49, 0.7, 1.0]),
    ):
        tree = figure.tree("en", {"unit": unit, "tool": 6, "gamma": gamma, "shift": 0})
        ends = [e[0].text for e in tree.iter() if e.get("class") == "ex-end"]
        assert ends[0] is None or ends[0] == ""
        assert [float(end) for end in ends[1:]] == pytest.approx(wanted, abs=5e-3)


def test_memory_is_counted_as_the_paper_of_zero_counts_it():
    for stage, paper in enumerate([120, 31.4, 16.6, 1.9]):  # 7.5e9 on 64 devices
        assert memory.per_device(7.5, 64, stage)[0] == pytest.approx(paper, abs=0.06)


@pytest.mark.parametrize("networks", memory.NETWORKS)
def test_the_memory_of_the_networks_adds_up_and_nothing_is_cut_off(networks):
    figure = explore("memory")
    trained = 2 if networks == "PPO" else 1
    frozen = sum(memory.NETWORKS[networks]) - trained
    for size in memory.SIZES:
        for stage in range(4):
            held = memory.parts(size, networks, 8, stage)
            moving, _, still = memory.per_device(size, 8, stage)
            total = sum(map(sum, held))
            assert total == pytest.approx(trained * moving + frozen * still)
            state = {"networks": networks, "size": size, "devices": 8, "stage": stage}
            for element in figure.tree("en", state).iter():
                style = element.get("style") or ""
                if "area" in (element.get("class") or ""):
                    box = dict(part.split(":") for part in style.split(";"))
                    right = float(box["left"][:-1]) + float(box["width"][:-1])
                    assert right <= 100 * 1.27 / 1.47 + 0.2


def test_the_filter_keeps_more_signal_than_its_share_and_all_of_it_at_one():
    shares = torch.tensor(keep_groups.SHARES)
    for chance in keep_groups.CHANCES:
        for spread in keep_groups.SPREADS:
            for curve in keep_groups.curves(chance, spread):
                assert curve == pytest.approx(sorted(curve))
                assert (torch.tensor(curve) >= shares - 1e-6).all()
                assert curve[-1] == pytest.approx(1)


def test_on_average_a_quarter_of_the_groups_holds_56_percent_of_the_signal():
    """Chapter 14 says so beside the 73% of the draw that the figure shows."""
    solved = (4 * torch.linspace(-1, 1, keep_groups.GROUPS)).sigmoid()[:, None]
    held = []
    for seed in range(2000):
        dice = torch.Generator().manual_seed(seed)
        luck = torch.rand(keep_groups.GROUPS, keep_groups.SIZE, generator=dice)
        right = (luck < solved).double()
        spread = right.var(1)  # the centred advantages of a group, squared
        kept = spread.sort(descending=True).values[: keep_groups.GROUPS // 4]
        held.append((kept.sum() / spread.sum()).item())
    assert sum(held) / len(held) == pytest.approx(0.564, abs=0.005)


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
        assert len(frames) - 1 <= episode.STEPS
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


@pytest.mark.parametrize("env", episode.EPISODES)
def test_every_turn_takes_the_credit_of_its_episode_once_the_group_is_over(env):
    figure, worth = explore("episode"), episode.credits(env)
    assert sum(worth) == pytest.approx(0, abs=1e-5)
    for play in (1, 2, 3):
        played = episode.episode(env, play)[-1]["turn"]
        fills = {}
        for step in range(episode.STEPS + 1):
            tree = figure.tree("en", {"env": env, "play": play, "step": step})
            chips = [e for e in tree.iter() if "ex-chip" in e.get("class", "")]
            fills[step] = [e.get("style") for e in chips if "on" in e.get("class")]
        assert len(fills[episode.STEPS]) == played
        (filled,) = set(fills[episode.STEPS])
        assert filled.startswith("--c:-") == (worth[play - 1] < 0)
        assert set(fills[1]) == {"--c:0;--b:0"} or (env == "Bandit" and played == 1)
