"""Arithmetic and geometric mean (算术平均与几何平均) of the ratios of a response."""

from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, legend, number, scene, tile
from tokencredit import ppo_clip_loss, sequence_log_ratio, token_log_ratio

RISES = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]  # log-ratio of the token that rose
FALLS = [0.0, -0.5, -1.0, -1.5, -2.0, -2.5, -3.0]  # and of the one that fell
LENGTHS = [10, 100, 1000]
OTHERS = (0.06, -0.1, 0.03, -0.04, 0.09, -0.05, 0.05, -0.04)  # they add up to 0
LOW, HIGH = 3e-4, 4e-4  # GSPO's range
FREE = {"clip_low": 1.0, "clip_high": 1e9}  # no clip: the weight is the mean itself
NEAR = 0.0012  # from 1, on the lower line


@cache
def log_ratios(up, down, length):
    """All log-ratios of the response: two odd tokens, and calm ones."""
    calm = OTHERS * (length // 8 + 1)
    rest = length - 2
    return [up, down, *calm[: rest - rest % 8], *[0.0] * (rest % 8)]


@cache
def means(up, down, length):
    """Weight of the response (整条的权重) under GRPO and GSPO, without a clip, A = 1.

    Args:
        up, down: log-ratios of the two odd tokens.
        length: tokens of the response.

    Returns:
        the arithmetic and the geometric mean of its ratios.
    """
    new = torch.tensor([log_ratios(up, down, length)], dtype=torch.float64)
    old, every, good = torch.zeros_like(new), new > -torch.inf, torch.ones_like(new)
    pair = []
    for ratio in (token_log_ratio, sequence_log_ratio):
        each = ppo_clip_loss(new, ratio(new, old, every), good, **FREE)
        pair.append(-each.mean().item())
    return tuple(pair)


def draw(L, up, down, length):
    length = round(length)
    plain, calm = means(up, down, length)
    line = Plot(
        x=(0.04, 25),
        y=(0, 1),
        x_name=L("一个词元的比率 ρ（对数轴）", "ratio ρ of a token (log axis)"),
        y_name=L(
            f"画出十个词元，平均取全部 {length} 个",
            f"ten tokens drawn, two means of all {length}",
        ),
        x_ticks={0.05: "0.05", 0.2: "0.2", 1: "1", 5: "5", 20: "20"},
        height=150,
        log="x",
    )
    line.rule(x=1, look="dashed")
    line.line([(plain, 0), (plain, 0.95)], "alt")
    line.line([(calm, 0), (calm, 0.95)], "ink")
    for k, x in enumerate(OTHERS):
        line.dot(torch.tensor(x).exp().item(), 0.2 + 0.045 * k, "old")
    for x, key, values, look in (
        (up, "up", RISES, "up"),
        (down, "down", FALLS, "down"),
    ):
        places = torch.tensor(values, dtype=torch.float64).exp().tolist()
        there = torch.tensor(x, dtype=torch.float64).exp().item()
        line.dot(there, 0.74, look)
        line.grip((there, 0.74), x=(key, places), look="edge")
    zoom = Plot(
        x=(1 - NEAR, 1 + NEAR),
        y=(0, 1),
        x_name=L(
            "几何平均 s，放大约三百倍", "the geometric mean s, about 300 times finer"
        ),
        y_name=L("GSPO 的范围", "the range of GSPO"),
        x_ticks={0.999: "0.999", 1 - LOW: "0.9997", 1.001: "1.001"},
        height=70,
    )
    zoom.area(1 - NEAR, 1 - LOW, 0, 1, "off")
    zoom.area(1 + HIGH, 1 + NEAR, 0, 1, "off")
    zoom.rule(x=1, look="dashed")
    shown = min(max(calm, 1 - NEAR), 1 + NEAR)
    zoom.line([(shown, 0), (shown, 1)], "ink")
    zoom.dot(shown, 0.5, "sel")
    if calm > 1 + HIGH:
        state = L("高于范围", "above the range")
    elif calm < 1 - LOW:
        state = L("低于范围", "below the range")
    else:
        state = L("在范围里", "inside the range")
    return scene(
        line,
        legend(
            ("alt line", L("算术平均，GRPO 的权重", "arithmetic mean, weight of GRPO")),
            (
                "ink line",
                L("几何平均 s，GSPO 的权重", "geometric mean s, weight of GSPO"),
            ),
        ),
        zoom,
        tiles=[
            tile(
                L("算术平均", "arithmetic mean"), number(plain, 3), "GRPO", look="alt"
            ),
            tile(L("几何平均 s", "geometric mean s"), number(calm, 4), state),
            tile(
                L("词元数", "tokens"),
                f"{length}",
                L("两个离群，其余贴近 1", "two odd ones, the rest near 1"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("up", RISES, 2.5, ("一个涨了，log ρ", "one rose, log ρ"), fine=False),
        Dial("down", FALLS, -2.5, ("一个跌了，log ρ", "one fell, log ρ"), fine=False),
        Dial("length", LENGTHS, 10, ("回答有几个词元", "tokens"), "n", kind="choice"),
    ],
    title=(
        "算术平均跟着最大的比率走，几何平均看整条回答",
        "The arithmetic mean follows the largest ratio, the geometric one the whole",
    ),
    alt=(
        "一条对数轴上十个词元的比率，两个离群；紫线是算术平均，黑线是几何平均。"
        "下面把几何平均附近放大，斜线区在 GSPO 的范围之外。",
        "Ten ratios on a log axis, two far out; a purple line at the arithmetic "
        "mean, a black one at the geometric mean. Below, a magnified axis around the "
        "latter, hatched outside the range of GSPO.",
    ),
    presets=[
        Preset(("一涨一跌", "one up, one down"), up=2.5, down=-2.5, length=10),
        Preset(("只有一个涨了", "one rose"), up=1.0, down=0.0, length=10),
        Preset(
            ("千分之一涨了", "one of a thousand rose"), up=1.0, down=0.0, length=1000
        ),
        Preset(("都没动", "nothing odd"), up=0.0, down=0.0, length=1000),
    ],
    note=(
        "一千个词元里，一个涨了 1 nat，s = e^0.001 = 1.0010，就出了范围 1.0004。",
        "One of a thousand tokens up by 1 nat: s = e^0.001 = 1.0010, beyond 1.0004.",
    ),
    wide=True,
)
