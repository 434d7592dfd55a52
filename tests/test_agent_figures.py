"""What the live figures of the agents' chapter claim."""

import json
import re
from pathlib import Path

import pytest
import torch

from tokenbook.explorer import words_of
from tokenbook.figures import anchor_states, episode, explore, keep_groups, memory
from tokencredit.world.games import make


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
            tree = figure.tree(
                "en", {"env": env, "play": play, "level": 0, "step": step}
            )
            chips = [e for e in tree.iter() if "ex-chip" in e.get("class", "")]
            fills[step] = [e.get("style") for e in chips if "on" in e.get("class")]
        assert len(fills[episode.STEPS]) == played
        (filled,) = set(fills[episode.STEPS])
        assert filled.startswith("--c:-") == (worth[play - 1] < 0)
        assert set(fills[1]) == {"--c:0;--b:0"} or (env == "Bandit" and played == 1)


def test_credit_in_the_same_situation_is_the_one_computed_by_hand():
    """The figure's episodes are the chapter's, and its numbers those of the text."""
    told = {
        (i, k): credit
        for (i, k, *_), credit in zip(
            anchor_states.turns(1), anchor_states.credits(1, 1), strict=True
        )
    }
    # after 21✗: 0.95² = 0.9025, mean 0.3008; the level of the episode is 1 - 3/8
    assert told[7, 1] == pytest.approx(0.625 + 0.9025 - 0.9025 / 3)
    assert told[1, 1] == told[4, 1] == pytest.approx(-0.375 - 0.9025 / 3)
    # a situation of one episode alone adds nothing
    assert told[7, 2] == told[7, 3] == pytest.approx(0.625)
    whole = anchor_states.credits(1, 0)
    assert {round(a, 6) for a in whole} == {0.625, -0.375}


def test_the_episodes_are_those_that_the_chapter_samples():
    path = next((Path(__file__).parents[1] / "chapters").glob("13_*.ipynb"))
    cells = json.loads(path.read_text("utf-8"))["cells"]
    printed = next(c for c in cells if c["id"] == "a9f2407b")["outputs"][0]["text"]
    lines = "".join(printed).splitlines()
    for line, parts, won in zip(
        lines, anchor_states.EPISODES, anchor_states.WON, strict=True
    ):
        said = " ".join(f"[{p}]" if n % 2 == 0 else p for n, p in enumerate(parts))
        assert line == f"{won}  {said}"


def test_the_chapter_prints_the_credit_that_the_figure_shows():
    path = next((Path(__file__).parents[1] / "chapters").glob("13_*.ipynb"))
    cells = json.loads(path.read_text("utf-8"))["cells"]
    printed = "".join(
        next(c for c in cells if c["id"] == "c719778f")["outputs"][0]["text"]
    )
    lines = re.findall(r"episode (\d) writes (\S+) .* -> (\S+)", printed)
    tree = explore("anchor_states").tree("en", {"level": 1, "at": 1, "won": 1})
    shown = " ".join(words_of(tree).split())
    for number, words, credit in lines:
        said = f"{words.rstrip('=')} {credit}".replace("-", "−")
        assert said in shown, f"episode {number}"
    assert len(lines) == 8


def test_a_turns_own_reward_finds_the_bad_turns_and_the_episode_does_not():
    each, whole = episode.turn_credits("Sokoban"), episode.credits("Sokoban")
    flat = [credit for one in each for credit in one]
    assert sum(flat) == pytest.approx(0, abs=1e-4)
    assert whole[1] > 0 and [credit > 0 for credit in each[1]] == [0, 0, 0, 1]
    paid = [f["reward"] for f in episode.episode("Sokoban", 2) if f["turn"] == 4]
    assert sum(paid) == pytest.approx(10.8)
