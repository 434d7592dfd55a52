"""Group mean against leave-one-out (留一法): the norm and the noise over G."""

import math
from functools import cache, partial

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, legend, number, scene, tile
from tokenbook.figures._three import (
    LEVEL,
    RIGHT,
    mean_variance,
    policy,
    rewards,
)
from tokenbook.languages.glossary import terms
from tokencredit import group_relative, leave_one_out

SIZES = [2, 3, 4, 6, 8, 16]
ROUND = 24  # points of an ellipse
FAR = 2.2  # end of the axis
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
def spread(rule, size, right, level):
    """Mean and covariance of a group's estimate (估计的均值与协方差), by enumeration.

    Args:
        rule: a key of RULES.
        size: responses per group.
        right: probability of the right response.
        level: added to every reward.
    """
    prob, scores = policy(right)
    members, orders = groups(size)
    ids = torch.arange(len(members)).repeat_interleave(size)
    weights = RULES[rule](rewards(level)[members].flatten(), ids).view(members.shape)
    estimates = (weights[..., None] * scores[members]).mean(1)
    chance = orders * prob[members].prod(1)
    mean = chance @ estimates
    off = estimates - mean
    return mean, (chance[:, None] * off).T @ off


@cache
def mean_noise(rule, size, right, level):
    """Norm of a group's mean estimate and its noise (噪声与信号之比).

    Returns:
        the norm of the mean over that of the true gradient; the standard deviation of
        the estimate over the norm of its own mean.
    """
    mean, covariance = spread(rule, size, right, level)
    truth = mean_variance(right, 0.0, 0.0)[0]
    noise = covariance.trace().sqrt() / mean.norm()
    return (mean.norm() / truth.norm()).item(), noise.item()


@cache
def cloud(rule, size, right, level):
    """Distribution of the estimates (落点): centre and ellipse in the plane of logits.

    The plane holds all gradients, since logits have one direction without effect. Its
    first axis points along the true gradient, whose length is the unit.

    Returns:
        the centre, and ROUND points of the ellipse of one standard deviation.
    """
    mean, covariance = spread(rule, size, right, level)
    truth = mean_variance(right, 0.0, 0.0)[0]
    along = truth / truth.norm()
    across = torch.linalg.cross(along, torch.full((3,), 3**-0.5, dtype=along.dtype))
    plane = torch.stack([along, across]) / truth.norm()
    centre, flat = plane @ mean, plane @ covariance @ plane.T
    values, vectors = torch.linalg.eigh(flat)
    half = vectors @ values.clamp(min=0).sqrt().diag() @ vectors.T  # without a sign
    angles = torch.arange(ROUND + 1, dtype=along.dtype) * (2 * math.pi / ROUND)
    ring = half @ torch.stack([angles.cos(), angles.sin()]) + centre[:, None]
    return centre.tolist(), ring.T.tolist()


def draw(L, size, right, level):
    size = round(size)
    now = {rule: mean_noise(rule, size, right, level) for rule in RULES}
    plot = Plot(
        x=(-0.1, FAR),
        y=(-1.5, 1.5),
        x_name=L("沿真梯度，真梯度长 1", "along the true gradient, whose length is 1"),
        y_name=L("横向偏离", "off to the side"),
        x_ticks=[0, 0.5, 1, 1.5, 2],
        y_ticks=[-1, 0, 1],
        height=260,
    )
    plot.rule(x=1, look="dashed")
    for rule, look in (
        ("no baseline", "old"),
        ("leave-one-out", "ink"),
        ("group mean", "alt"),
    ):
        centre, ring = cloud(rule, size, right, level)
        ring = [(min(max(x, -0.1), FAR), min(max(y, -1.5), 1.5)) for x, y in ring]
        plot.line(ring, f"{look} thin" + " dashed" * (look == "old"))
        if rule != "no baseline":
            plot.dot(*centre, look)
    plot.dot(1, 0, "sel")
    centre, _ = cloud("group mean", size, right, level)
    plot.arrow(0, 0, centre[0], 0, "alt")
    return scene(
        plot,
        legend(
            ("sel dot", L("靶心：真梯度", "bull's-eye: the true gradient")),
            ("alt line", L("组均值", "group mean")),
            ("ink line", L("留一法", "leave-one-out")),
            ("old dashed line", L("不减基线", "no baseline")),
        ),
        tiles=[
            tile(
                L("组均值", "group mean"),
                "× " + number(now["group mean"][0], 3),
                L("1 − 1/G", "1 − 1/G"),
            ),
            tile(
                L("留一法", "leave-one-out"), "× " + number(now["leave-one-out"][0], 3)
            ),
            tile(
                L("误差 ÷ 信号，减基线", "error ÷ signal, either"),
                number(now["leave-one-out"][1]),
            ),
            tile(
                L("误差 ÷ 信号，不减", "error ÷ signal, none"),
                number(now["no baseline"][1]),
            ),
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
        "组均值缩小梯度，留一法不缩小，两者的误差与信号之比相同",
        "The group mean shrinks the gradient; its error ÷ signal is leave-one-out's",
    ),
    alt=(
        "一张靶：靶心是真梯度，每种做法一个椭圆，是估计散布的范围。留一法的中心在靶心，"
        "组均值的中心差 1/G，椭圆同比例缩小。",
        "A target with the true gradient as its bull's-eye, and an ellipse for the "
        "spread of each estimate. That of leave-one-out is centred on it, that of the "
        "group mean falls short by 1/G and is smaller in proportion.",
    ),
    presets=[
        Preset(("每组四条", "groups of four"), size=4, right=0.3, level=0.0),
        Preset(("每组两条", "groups of two"), size=2, right=0.3, level=0.0),
        Preset(("九成正确", "nine in ten correct"), size=2, right=0.9, level=0.0),
        Preset(("奖励都加 1", "rewards plus 1"), size=4, right=0.3, level=1.0),
    ],
    wide=True,
)
