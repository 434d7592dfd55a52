"""GiGPO (同一局面里比较): eight episodes with shared states.

The episodes are those that chapter 13 samples; `[...]` in its output is a turn here.
"""

from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, legend, number, scene, tile
from tokenbook.languages.glossary import terms
from tokencredit import group_relative

EPISODES = (  # the calculator's answers, and between them the policy's tokens
    ("9-5-7=", "-3✗", "9+5+7=", "21✗", "$"),
    ("9+5+7=", "21✗", "$"),
    ("9-5-7=", "-3✗", "$"),
    ("9-5-7=", "-3✗", "9-5+7=", "11✓", "$"),
    ("9+5+7=", "21✗", "$"),
    ("9-5-7=", "-3✗", "9-5+7=", "11✓", "$"),
    ("9-5-7=", "-3✗", "$"),
    ("9+5+7=", "21✗", "9+5-7=", "7✗", "9-5+7=", "11✓", "$"),
)

WON = (0, 0, 0, 1, 0, 1, 0, 1)
ORDER = (7, 1, 4, 3, 5, 0, 2, 6)  # so that equal situations lie together
SHARED = ("", "9+5+7=21✗", "9-5-7=-3✗")  # situations of more than one episode
DISCOUNT = 0.95  # of a turn
LEFT = (0.28, 1.88, 3.48, 5.08)  # of the columns, one per turn
NODE, CELL, LAST = 0.56, 1.58, 6.6  # widths of a situation and a turn; the end


@cache
def turns(last):
    """Every turn (轮次): episode, number, situation, words, discounted return.

    Args:
        last: reward of the eighth episode, 0 or 1.
    """
    found = []
    for i, parts in enumerate(EPISODES):
        said = parts[::2]
        won = last if i == len(EPISODES) - 1 else WON[i]
        for k, words in enumerate(said):
            situation = "".join(parts[: 2 * k])
            found.append(
                (i, k, situation, words, won * DISCOUNT ** (len(said) - 1 - k))
            )
    return found


@cache
def credits(last, omega):
    """Advantage of every turn (优势): of its episode, and of its situation.

    Args:
        last: reward of the eighth episode.
        omega: weight of the second level, the comparison in the same situation.
    """
    found = turns(last)
    won = torch.tensor([*WON[:-1], last], dtype=torch.float64)
    whole = group_relative(won, torch.zeros(len(WON)).long(), scale=False)
    names = [situation for _, _, situation, *_ in found]
    ids = torch.tensor([names.index(name) for name in names])
    returns = torch.tensor([G for *_, G in found], dtype=torch.float64)
    near = group_relative(returns, ids, scale=False)
    return (whole[[i for i, *_ in found]] + omega * near).tolist()


def draw(L, level, at, won):
    level, at, won = round(level), round(at), round(won)
    found, given = turns(won), credits(won, level)
    plot = Plot(x=(0, LAST + 0.34), y=(0, 8.6), axes=False, height=390)
    rows = {i: len(ORDER) - 1 - n for n, i in enumerate(ORDER)}
    for k in range(len(LEFT)):
        words = L(f"第 {k + 1} 轮", f"turn {k + 1}")
        here = LEFT[k] + NODE + 0.5 if k < 3 else LAST - 0.5
        plot.text(here, 8.35, words, "quiet")
    blocks = {}
    for i, k, situation, *_ in found:
        blocks.setdefault((k, situation), []).append(rows[i])
    for (k, situation), places in blocks.items():
        groups = [[min(places), max(places)]] if level else [[y, y] for y in places]
        groups += groups[:1] * (len(places) - len(groups))
        chosen = situation == SHARED[at]
        for n, (low, high) in enumerate(groups):
            show = n == 0 or not level
            box = (LEFT[k] + 0.03, LEFT[k] + NODE - 0.03, low + 0.06, high + 0.94)
            plot.area(*box, "old pale", show=show)
            box = (LEFT[k] + 0.03, LEFT[k] + 0.1, low + 0.06, high + 0.94)
            plot.area(*box, "sel", show=show and chosen)
            reply = "?" if not k else EPISODES[ORDER[7 - low]][2 * k - 1]
            plot.text(LEFT[k] + NODE / 2, (low + high + 1) / 2, reply, show=show)
    for (i, k, _, words, _), credit in zip(found, given, strict=True):
        y = rows[i]
        end = LEFT[k] + CELL if k < 3 else LAST - 0.03
        strength = "mid" if abs(credit) > 0.9 else "pale"
        for look, shown in (("up", credit > 0), ("down", credit < 0)):
            for fill in ("mid", "pale"):
                box = (LEFT[k] + NODE, end, y + 0.06, y + 0.94)
                plot.area(*box, f"{look} {fill}", show=shown and fill == strength)
        says = f"{words.rstrip('=')}\n{number(credit, 3, sign=True)}"
        plot.text((LEFT[k] + NODE + end) / 2, y + 0.5, says)
    for i, y in rows.items():
        right = won if i == len(WON) - 1 else WON[i]
        plot.text(0.13, y + 0.5, f"{i + 1}", "quiet")
        plot.text(LAST + 0.17, y + 0.5, "1" if right else "0", "strong")
    here = [G for _, _, situation, _, G in found if situation == SHARED[at]]
    eighth = [
        a for (i, k, *_), a in zip(found, given, strict=True) if i == 7 and k == 1
    ]
    return scene(
        plot,
        legend(
            (
                "old pale",
                L("局面：这一轮之前的文字", "situation: the text before the turn"),
            ),
            ("up mid", L("功劳为正", "credit > 0")),
            ("down mid", L("功劳为负", "credit < 0")),
        ),
        tiles=[
            tile(
                L("从选中的局面出发", "from the chosen one"),
                f"{len(here)}/8",
                L("局", "episodes"),
            ),
            tile(
                L("它们的平均回报", "their mean return"),
                number(sum(here) / len(here), 3),
                L("每轮折扣 0.95", "0.95 per turn"),
            ),
            tile(
                L("第 8 局第 2 轮", "episode 8, turn 2"),
                number(eighth[0], 3, sign=True),
                L("没有放弃", "did not give up"),
                look="up" if eighth[0] > 0 else "down",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "level",
            [0, 1],
            1,
            ("比什么", "compared"),
            kind="choice",
            options=[
                ("只比整局", "whole episodes"),
                ("同一局面再比", "same situation, too"),
            ],
        ),
        Dial(
            "at",
            [0, 1, 2],
            1,
            ("哪个局面之后", "after"),
            kind="choice",
            options=[terms("prompt"), ("21✗", "21✗"), ("−3✗", "−3✗")],
        ),
        Dial("won", [0, 1], 1, ("第 8 局做对", "episode 8 correct"), kind="toggle"),
    ],
    title=(
        "把相同的局面合起来，就能比较同一处的不同选择",
        "Where episodes meet, different choices can be compared",
    ),
    alt=(
        "八局各一行，从左到右是各轮。灰块是轮次之前的局面，相同的合成一块；"
        "旁边是策略写的话和它的功劳，正的蓝，负的橙。行末是判分。",
        "Eight episodes, a row each, their turns from left to right. Grey blocks are "
        "the situations before a turn, equal ones merged; beside them what the policy "
        "wrote and its credit, blue above 0 and orange below. The verdict at the end.",
    ),
    presets=[
        Preset(("同一局面再比", "same situation"), level=1, at=1, won=1),
        Preset(("只比整局", "whole episodes"), level=0, at=1, won=1),
        Preset(("−3✗ 之后", "after −3✗"), level=1, at=2, won=1),
        Preset(("第 8 局也做错", "episode 8 wrong, too"), level=1, at=1, won=0),
    ],
    wide=True,
)
