"""Difficulty bias (难度偏差): factor of a group's std on its prompt."""

import math
from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, legend, number, scene, tile
from tokenbook.languages.glossary import terms

CHANCES = [0.02, *(round(0.05 * i, 2) for i in range(1, 20)), 0.98]
SIZES = [2, 4, 8, 16, 64]
TOP = 7.5  # of the drawing


@cache
def weight(q, size):
    """Factor w(q) (题目的倍数) on a prompt's gradient when groups are standardised.

    Args:
        q: the chance that a response to the prompt is correct, between 0 and 1.
        size: responses in a group.

    Returns:
        sqrt((G-1)/G) * E[sqrt(K(G-K))] / (G q (1-q)), K binomial.
    """
    right = torch.arange(size + 1, dtype=torch.float64)
    chance = torch.distributions.Binomial(size, torch.tensor(q, dtype=torch.float64))
    spread = (chance.log_prob(right).exp() * (right * (size - right)).sqrt()).sum()
    return math.sqrt((size - 1) / size) * spread.item() / (size * q * (1 - q))


def alike(q, size):
    """Chance of a zero-variance group (零方差组的概率)."""
    return q**size + (1 - q) ** size


def draw(L, q, size):
    now, middle = weight(q, size), weight(0.5, size)
    plot = Plot(
        x=(0, 1),
        y=(0, TOP),
        x_name=L("一条回答答对的概率 q", "chance q that a response is correct"),
        y_name=L("这道题的梯度被放大的倍数", "factor on the gradient of the prompt"),
        x_ticks=[0, 0.5, 1],
        y_ticks=[0, 1, 2, 4, 6],
        height=210,
    )
    grid = [0.02 + 0.02 * k for k in range(49)]
    plot.line([(x, 1 / math.sqrt(x * (1 - x))) for x in grid], "old")
    plot.line([(0, 1 - 1 / size), (1, 1 - 1 / size)], "old dashed")
    plot.line([(x, weight(round(x, 2), size)) for x in grid])
    plot.rule(x=q)
    plot.dot(q, now, "sel")
    plot.drag(x=("q", CHANCES))
    plot.grip((q, now), x=("q", CHANCES))
    return scene(
        plot,
        legend(
            ("ink line", L(f"每组 {size} 条", f"groups of {size}")),
            ("old line", L("无穷大的组", "an infinite group")),
            ("old dashed line", L("不除以标准差", "not divided")),
        ),
        tiles=[
            tile(L("这道题的倍数 w", "its factor w"), number(now)),
            tile(L("与半对的题相比", "against q = 0.5"), "× " + number(now / middle)),
            tile(
                L("全对或全错的组", "groups all alike"),
                number(100 * alike(q, size), 0) + "%",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("q", CHANCES, 0.1, ("答对的概率", "success rate"), "q"),
        Dial(
            "size",
            SIZES,
            64,
            terms("group_size"),
            "G",
            kind="choice",
        ),
    ],
    title=(
        "除以组内标准差会放大很难和很易的题，组越大越明显",
        "Dividing by the std magnifies very hard or easy prompts, most in large groups",
    ),
    alt=(
        "横轴是一道题的答对概率，纵轴是它的梯度被放大的倍数。"
        "黑线随组的大小变化，两端翘起；灰线是无穷大的组和不除标准差的情形。",
        "The factor on a prompt's gradient over its chance to be correct. The black "
        "line depends on the group size and rises at both ends; grey lines are an "
        "infinite group and no division.",
    ),
    presets=[
        Preset(("难题，大组", "hard prompt, large group"), q=0.1, size=64),
        Preset(("半对的题", "half correct"), q=0.5, size=64),
        Preset(("难题，小组", "hard prompt, small group"), q=0.1, size=4),
        Preset(("两条一组", "groups of two"), q=0.1, size=2),
    ],
)
