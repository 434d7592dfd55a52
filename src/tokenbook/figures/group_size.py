"""Group mean against leave-one-out (留一法): the norm and the noise over G."""

import math
from functools import cache, partial

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, number, scene, side, tile
from tokenbook.figures._three import (
    LEVEL,
    RIGHT,
    mean_variance,
    policy,
    rewards,
)
from tokenbook.languages.glossary import terms
from tokencredit import group_relative, leave_one_out

SIZES = list(range(2, 17))
RULES = {
    "group mean": partial(group_relative, scale=False),
    "leave-one-out": leave_one_out,
    "no baseline": lambda paid, groups: paid,
}


@cache
def groups(size):
    """Every group of that size, up to the order of its members.

    Args:
        size: responses per group.

    Returns:
        members `[N, size]`, kinds in rising order, and the number of orders `[N]`.
    """
    counts = [
        (i, j, size - i - j) for i in range(size + 1) for j in range(size + 1 - i)
    ]
    members = [[0] * i + [1] * j + [2] * k for i, j, k in counts]
    orders = [math.comb(size, i) * math.comb(size - i, j) for i, j, _ in counts]
    return torch.tensor(members), torch.tensor(orders, dtype=torch.float64)


@cache
def mean_noise(rule, size, right, level):
    """Norm of a group's mean estimate and its noise (噪声与信号之比), by enumeration.

    Args:
        rule: a key of RULES.
        size: responses per group.
        right: probability of the right response.
        level: added to every reward.

    Returns:
        the norm of the mean over that of the true gradient; the standard deviation of
        the estimate over the norm of its own mean.
    """
    prob, scores = policy(right)
    members, orders = groups(size)
    ids = torch.arange(len(members)).repeat_interleave(size)
    weights = RULES[rule](rewards(level)[members].flatten(), ids).view(members.shape)
    estimates = (weights[..., None] * scores[members]).mean(1)
    chance = orders * prob[members].prod(1)
    mean = chance @ estimates
    variance = chance @ (estimates - mean).square().sum(1)
    truth = mean_variance(right, 0.0, 0.0)[0]
    return (mean.norm() / truth.norm()).item(), (variance.sqrt() / mean.norm()).item()


def draw(L, size, right, level):
    found = {rule: [mean_noise(rule, n, right, level) for n in SIZES] for rule in RULES}
    now = {rule: values[SIZES.index(round(size))] for rule, values in found.items()}
    ticks = [2, 4, 8, 16]
    norm = Plot(
        x=(1.4, 16.6),
        y=(0, 1.2),
        x_name=L("组大小 G", "group size G"),
        y_name=L("平均梯度 ÷ 真梯度", "mean ÷ true gradient"),
        x_ticks=ticks,
        y_ticks=[0, 0.5, 1],
        height=200,
    )
    noise = Plot(
        x=(1.4, 16.6),
        y=(0.15, 12),
        x_name=L("组大小 G", "group size G"),
        y_name=L("噪声 ÷ 信号", "noise ÷ signal"),
        x_ticks=ticks,
        y_ticks=[0.2, 1, 5],
        height=200,
        log="y",
    )
    for plot, place in ((norm, 0), (noise, 1)):
        plot.rule(x=size, look="dotted")
        for rule, look in (
            ("no baseline", "old"),
            ("leave-one-out", "ink"),
            ("group mean", "alt dashed"),
        ):
            points = zip(SIZES, (value[place] for value in found[rule]), strict=True)
            plot.line(list(points), look)
            plot.dot(size, now[rule][place], look.partition(" ")[0])
        plot.drag(x=("size", SIZES))
    norm.text(
        16.4, 1.12, L("留一法，不减基线", "leave-one-out, no baseline"), align="right"
    )
    norm.text(
        16.4, 0.72, L("组均值 1 − 1/G", "group mean 1 − 1/G"), "alt", align="right"
    )
    bare, kept = found["no baseline"][-1][1], found["leave-one-out"][-1][1]
    upper = "no baseline" if bare >= kept else "leave-one-out"
    middle = found[upper][SIZES.index(8)][1]  # where the words begin on a phone
    above, below = middle * 1.6, min(bare, kept) / 1.75
    noise.text(
        16.4,
        above if bare >= kept else below,
        L("不减基线", "no baseline"),
        "old boxed",
        align="right",
    )
    noise.text(
        16.4,
        below if bare >= kept else above,
        L("组均值 = 留一法", "group mean = leave-one-out"),
        "boxed",
        align="right",
    )
    return scene(
        side(norm, noise),
        tiles=[
            tile(
                L("组均值", "group mean"),
                "× " + number(now["group mean"][0], 3),
                L("1 − 1/G", "1 − 1/G"),
            ),
            tile(
                L("留一法", "leave-one-out"), "× " + number(now["leave-one-out"][0], 3)
            ),
            tile(L("噪声，减基线", "noise, either"), number(now["leave-one-out"][1])),
            tile(L("噪声，不减", "noise, none"), number(now["no baseline"][1])),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("size", SIZES, 4, terms("group_size"), "G"),
        RIGHT,
        LEVEL,
    ],
    title=(
        "组均值缩小梯度，留一法不缩小，两者的噪声与信号之比相同",
        "The group mean shrinks the gradient, leave-one-out does not; equal noise",
    ),
    alt=(
        "左边是平均梯度与真梯度之比随组大小的变化，组均值沿 1 − 1/G 上升，"
        "留一法恒为 1。右边是噪声与信号之比，对数坐标，组均值与留一法重合。",
        "Left: the mean gradient over the true one by group size. The group mean rises "
        "along 1 − 1/G, leave-one-out is 1. Right: noise over signal on a log axis, "
        "where the group mean and leave-one-out coincide.",
    ),
    presets=[
        Preset(("每组四条", "groups of four"), size=4, right=0.3, level=0.0),
        Preset(("每组两条", "groups of two"), size=2, right=0.3, level=0.0),
        Preset(("九成正确", "nine in ten correct"), size=2, right=0.9, level=0.0),
        Preset(("奖励都加 1", "rewards plus 1"), size=4, right=0.3, level=1.0),
    ],
    wide=True,
)
