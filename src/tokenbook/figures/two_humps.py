"""Two humps (两座峰): reverse and forward KL differ in who draws the samples."""

from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    legend,
    number,
    scene,
    side,
    stack,
    tile,
)
from tokenbook.languages.glossary import terms

PLACES = torch.arange(41, dtype=torch.float64)
CENTRES = [4, 7, 10, 13, 16, 20, 25, 30, 35]
WIDTHS = [2, 4, 8, 12]
POLICY, REFERENCE = 0, 1  # who draws the samples


def hump(centre, width):
    """Log-probabilities of one hump 一座峰 over the 41 places."""
    return (-0.5 * ((PLACES - centre) / width) ** 2).log_softmax(-1)


TWO = (0.6 * hump(10.0, 2.0).exp() + 0.4 * hump(30.0, 2.0).exp()).log()


@cache
def parts(centre, width, sampler):
    """Each place's share of the KL 各处的贡献: probability of a sample, times its d.

    Args:
        centre: of the policy.
        width: of the policy.
        sampler: POLICY for the reverse KL, REFERENCE for the forward.
    """
    mine, other = hump(centre, width), TWO
    if sampler == REFERENCE:
        mine, other = other, mine
    return (mine.exp() * (mine - other)).tolist()


def divergence(centre, width, sampler):
    """The KL itself, the sum of its parts."""
    return sum(parts(centre, width, sampler))


def draw(L, centre, width, sampler):
    chances = Plot(
        x=(-0.5, 40.5),
        y=(0, 0.22),
        x_name=L("可能的写法，编号 0 到 40", "possible outputs, numbered 0 to 40"),
        y_name=L("概率", "probability"),
        x_ticks=[0, 10, 20, 30, 40],
        y_ticks={0: "0", 0.1: "0.10", 0.2: "0.20"},
        height=170,
    )
    points = list(zip(PLACES.tolist(), TWO.exp().tolist(), strict=True))
    chances.fill([(0, 0), *points, (40, 0)], "old")
    mine = hump(centre, width).exp().tolist()
    chances.line(list(zip(PLACES.tolist(), mine, strict=True)), "ink")
    chances.drag(x=("centre", CENTRES))
    chances.grip((centre, 0.018), x=("centre", CENTRES))
    top = 0.5
    shares = Plot(
        x=(-0.5, 40.5),
        y=(-0.06, top),
        x_name=L("同样的写法，0 到 40", "the same outputs, 0 to 40"),
        y_name=L("各处的贡献", "share of the KL"),
        x_ticks=[0, 10, 20, 30, 40],
        y_ticks={0: "0", 0.25: "0.25", 0.5: "0.50"},
        height=170,
    )
    shares.rule(y=0)
    for place, part in enumerate(parts(centre, width, sampler)):
        low, high = sorted((0.0, max(min(part, top), -0.06)))
        shares.area(place - 0.4, place + 0.4, low, high, "ink")
    reverse = divergence(centre, width, POLICY)
    forward = divergence(centre, width, REFERENCE)
    return scene(
        stack(
            caption(
                L(
                    "由策略来采样：只有策略会写的地方才计入（反向 KL）",
                    "The policy samples: only what it writes counts (reverse KL)",
                )
                if sampler == POLICY
                else L(
                    "由参考来采样：参考会写的地方都要计入（正向 KL）",
                    "The reference samples: all it writes counts (forward\u00a0KL)",
                )
            ),
            side(chances, shares),
            legend(
                ("old pale", L("参考：两座峰", "reference: two humps")),
                ("ink line", L("策略：只能是一座", "policy: one hump only")),
            ),
        ),
        tiles=[
            tile(
                L("反向 KL", "reverse KL"),
                number(reverse, 2),
                L("样本来自策略", "samples of the policy"),
                look="ink" if sampler == POLICY else "",
            ),
            tile(
                L("正向 KL", "forward KL"),
                number(forward, 2),
                L("样本来自参考", "of the reference"),
                look="ink" if sampler == REFERENCE else "",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("centre", CENTRES, 10, ("策略的中心", "centre of the policy"), fine=False),
        Dial("width", WIDTHS, 2, ("策略的宽度", "its width"), fine=False),
        Dial(
            "sampler",
            [POLICY, REFERENCE],
            POLICY,
            ("谁来采样", "who samples"),
            kind="choice",
            options=[terms("policy"), ("参考", "reference")],
        ),
    ],
    title=(
        "反向 KL 只看策略会写的，正向 KL 要看参考会写的全部",
        "The reverse KL averages over the policy's samples, "
        "the forward KL over the reference's",
    ),
    alt=(
        "左图：灰色的参考有左右两座峰，策略是一座可以移动、可以变宽的峰。"
        "右图：每一处对 KL 的贡献，随谁来采样而变。",
        "Left: a grey reference with two humps, and a policy of one hump that can be "
        "moved and widened. Right: what each place adds to the KL, which depends on "
        "who draws the samples.",
    ),
    presets=[
        Preset(("压在一座峰上", "on one hump"), centre=10, width=2, sampler=POLICY),
        Preset(("同一处，参考采样", "same, ref samples"), centre=10, sampler=REFERENCE),
        Preset(("横跨两座峰", "across both"), centre=16, width=12, sampler=REFERENCE),
        Preset(
            ("横跨，策略采样", "across, policy samples"),
            centre=16,
            width=12,
            sampler=POLICY,
        ),
    ],
    wide=True,
    note=(
        "大于 0.5 的柱子画到 0.5 为止。",
        "Bars taller than 0.5 end at 0.5.",
    ),
)
