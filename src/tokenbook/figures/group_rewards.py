"""A group of rewards (一组奖励): advantages with and without the std; their pull."""

from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    card,
    grid,
    legend,
    number,
    scene,
    side,
    stack,
    tile,
)
from tokencredit import group_relative

SIZE = 5  # responses in the group
RIGHT = "9−5+7"
WRONG = ["9+5+7", "9+5−7", "9−5−7", "9+5+7", "9+5−7"]
START = (1, 0, 0, 0, 0)
LONGEST = 2.75  # half the height of the arrows: room for a number beyond a tip


@cache
def advantages(rewards, scale):
    """Advantages (优势) of one group, by the course's function.

    Args:
        rewards: the rewards of the group, a tuple of numbers.
        scale: divide by the standard deviation of the group.

    Returns:
        a list, one advantage per response.
    """
    scores = torch.tensor(rewards, dtype=torch.float64)
    one_group = torch.zeros(len(rewards), dtype=torch.long)
    return group_relative(scores, one_group, scale=scale, eps=0.0).tolist()


def pull(scores):
    """Mean size of the advantages (拉力) of a question."""
    return sum(abs(score) for score in scores) / len(scores)


def group(right):
    """A group with a given number of right responses."""
    return (1.0,) * right + (0.0,) * (SIZE - right)


def draw(L, r1, r2, r3, r4, r5):
    rewards = tuple(float(r) for r in (r1, r2, r3, r4, r5))
    right = int(sum(rewards))
    plain, scaled = (advantages(rewards, scale) for scale in (False, True))
    dead = right in (0, SIZE)
    cards = [
        card(
            RIGHT if reward else WRONG[k],
            flip=f"r{k + 1}",
            pressed=bool(reward),
            mark="1" if reward else "0",
            look="up" if reward else "down",
        )
        for k, reward in enumerate(rewards)
    ]
    arrows = Plot(x=(0, SIZE), y=(-LONGEST, LONGEST), height=170, axes=False)
    arrows.rule(y=0)
    for k, (low, high) in enumerate(zip(plain, scaled, strict=True)):
        look = "up" if high > 0 else "down"
        arrows.arrow(k + 0.36, 0, k + 0.36, low, "old", show=not dead)
        arrows.arrow(k + 0.58, 0, k + 0.58, high, look, show=not dead)
        words = "0" if dead else number(high, sign=True)
        tip = high + (0.2 if high > 0 else -0.2)
        beyond = "above" if high > 0 else "below"
        at = (k + 0.5, 0, words, "quiet above") if dead else None
        arrows.text(*(at or (k + 0.58, tip, words, f"{look} {beyond}")))
    arrows.area(0, SIZE, -LONGEST, LONGEST, "off", show=dead)
    same = L(
        "全对或全错：没有可比的，没有梯度", "all alike: nothing to compare, no gradient"
    )
    arrows.text(SIZE / 2, 1.5, same, "boxed strong", show=dead)
    curve = Plot(
        x=(-0.06, 1.06),
        y=(0, 1.2),
        x_name=L("这一组答对的比例", "share of right responses"),
        y_name=L("拉力：优势大小的平均", "pull: mean size of the advantages"),
        x_ticks={k / SIZE: f"{k}/{SIZE}" for k in range(SIZE + 1)},
        y_ticks=[0, 0.5, 1],
        height=170,
    )
    for scale, look in ((False, "old"), (True, "ink")):
        heights = [pull(advantages(group(k), scale)) for k in range(SIZE + 1)]
        places = [k / SIZE for k in range(SIZE + 1)]
        curve.line(list(zip(places, heights, strict=True)), look)
    curve.text(0.5, 1.09, L("除以标准差", "divided by the std"), "strong")
    curve.text(0.5, 0.18, L("只减均值", "mean subtracted only"), "old")
    curve.dot(right / SIZE, pull(plain), "old")
    curve.dot(right / SIZE, pull(scaled), "sel")
    size = (
        ("0", "0") if dead else tuple(number(f(scaled), sign=True) for f in (max, min))
    )
    return scene(
        side(
            stack(
                caption(
                    L(
                        "提示 9□5□7=11? 的五条回答。点一下，换成对的或错的。",
                        "Five responses to 9□5□7=11? Click to swap right and wrong.",
                    )
                ),
                grid(*cards, columns=SIZE),
                arrows,
                legend(
                    ("old line", L("奖励 − 均值", "reward − mean")),
                    ("up line", L("再 ÷ 标准差：对", "then ÷ std: right")),
                    ("down line", L("错", "wrong")),
                ),
            ),
            curve,
            shares=(1.25, 1),
        ),
        tiles=[
            tile(L("答对", "right"), f"{right}/{SIZE}", ""),
            tile(
                L("对的优势", "A, if right"),
                size[0],
                "",
                look="off" if dead else "up",
            ),
            tile(
                L("错的优势", "A, if wrong"),
                size[1],
                "",
                look="off" if dead else "down",
            ),
            tile(
                L("拉力", "pull"),
                number(pull(scaled)),
                L("不除：", "plain: ") + number(pull(plain)),
            ),
        ],
    )


def state(*rewards):
    return {f"r{k + 1}": reward for k, reward in enumerate(rewards)}


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            f"r{k + 1}",
            [0, 1],
            START[k],
            (f"第 {k + 1} 条回答", f"response {k + 1}"),
            f"R{k + 1}",
            kind="hidden",
        )
        for k in range(SIZE)
    ],
    title=(
        "同题的回答互为基线：稀有的那一种，一条顶几条",
        "Responses to one prompt are each other's baseline, and a rare one counts more",
    ),
    alt=(
        "五张回答卡片，每张下面两支箭：灰色是奖励减均值，彩色再除以标准差。"
        "右边是整组拉力随答对比例的变化。",
        "Five cards of responses, two arrows each: grey is reward minus mean, coloured "
        "is divided by the std as well. Beside them the pull of the group over the "
        "share of right responses.",
    ),
    presets=[
        Preset(("只有一条对", "one right"), **state(1, 0, 0, 0, 0)),
        Preset(("对两条", "two right"), **state(1, 1, 0, 0, 0)),
        Preset(("只有一条错", "one wrong"), **state(1, 1, 1, 1, 0)),
        Preset(("全对", "all right"), **state(1, 1, 1, 1, 1)),
        Preset(("全错", "all wrong"), **state(0, 0, 0, 0, 0)),
    ],
    wide=True,
)
