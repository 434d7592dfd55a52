"""Three attempts (三次尝试) at an objective: rho A, the clip alone, the minimum."""

from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, number, scene, tile

RATIOS = [round(0.1 * i, 1) for i in range(1, 21)]  # 0.1 ... 2
LOWS, HIGHS = [0.1, 0.2, 0.3], [0.1, 0.2, 0.28, 0.4]  # clip ranges, from 1
LARGEST = 2.5  # right end of the axis: room for an arrow at 2
JUST = 1e-6  # beside an edge, never on it: the gradient jumps there
ATTEMPTS = {
    1: lambda rho, sign, low, high: rho * sign,
    2: lambda rho, sign, low, high: rho.clamp(low, high) * sign,
    3: lambda rho, sign, low, high: torch.minimum(
        rho * sign, rho.clamp(low, high) * sign
    ),
}


@cache
def at(attempt, sign, rho, low=0.8, high=1.2):
    """Value and slope (值与梯度) of an attempt at one ratio.

    Args:
        attempt: 1, 2 or 3, of ATTEMPTS.
        sign: the advantage, -1 or 1.
        rho: the ratio; on an edge, just past it as seen from 1.
        low, high: the ends of the clip range.

    Returns:
        the objective, and its derivative by the log-probability.
    """
    rho += JUST if rho > 1 else -JUST
    leaf = torch.tensor(rho, dtype=torch.float64).log().requires_grad_()
    value = ATTEMPTS[attempt](leaf.exp(), sign, low, high)
    (slope,) = torch.autograd.grad(value, leaf)
    return value.item(), slope.item()


@cache
def curve(attempt, sign, low, high):
    """An attempt over the whole axis: its ends and its two kinks."""
    knots = (2 * JUST, low, high, LARGEST)
    return [(x, at(attempt, sign, x, low, high)[0]) for x in knots]


def draw(L, attempt, rho, clip_low, clip_high):
    attempt, low, high = round(attempt), 1 - clip_low, 1 + clip_high
    plot = Plot(
        x=(0, LARGEST),
        y=(-2.55, 2.55),
        x_name=L("ρ = 现在的概率 ÷ 采样时的概率", "ρ = probability now ÷ when sampled"),
        y_name=L("目标", "objective"),
        x_ticks=[0, 0.5, 1, 1.5, 2],
        y_ticks=[-2, 0, 2],
        height=250,
    )
    beyond = {  # where the gradient is zero, by sign and side
        "high up": (high, LARGEST, 0, 2.55, attempt > 1),
        "low down": (0, low, -2.55, 0, attempt > 1),
        "low up": (0, low, 0, 2.55, attempt == 2),
        "high down": (high, LARGEST, -2.55, 0, attempt == 2),
    }
    for *box, there in beyond.values():
        plot.area(*box, "off", show=there)
    plot.rule(y=0)
    plot.rule(x=1, look="dashed")
    plot.rule(x=rho, look="dotted")
    slopes = []
    for sign, look in ((1, "up"), (-1, "down")):
        plot.line([(0, 0), (LARGEST, sign * LARGEST)], "old thin dashed")
        plot.line(curve(attempt, sign, low, high), look)
        value, slope = at(attempt, sign, rho, low, high)
        dead = abs(slope) < 1e-9
        plot.arrow(rho, value, rho + 0.2 * slope, value, look, show=not dead)
        plot.dot(rho, value, "off" if dead else look)
        slopes.append(0.0 if dead else slope)
    good, bad = L("A > 0：往上", "A > 0: up"), L("A < 0：往下", "A < 0: down")
    plot.text(0.72, 1.65, good, "up strong boxed", align="left")
    plot.text(0.72, -0.4, bad, "down strong boxed", align="left")
    never = L("走够了\n也不停", "far enough:\ngoes on")
    plot.text(2.05, 0.92, never, "boxed", show=attempt == 1)
    plot.text(0.4, -1.45, never, "boxed", show=attempt == 1)
    enough = L("走够了\n停下", "far enough:\nstops")
    plot.text(2.05, 0.55, enough, "boxed", show=attempt > 1)
    plot.text(0.4, -1.45, enough, "boxed", show=attempt > 1)
    stuck = L("走反了\n回不来", "wrong way:\nstuck")
    plot.text(0.4, 1.45, stuck, "boxed strong", show=attempt == 2)
    plot.text(2.05, -0.55, stuck, "boxed strong", show=attempt == 2)
    back = L("走反了\n拉回来", "wrong way:\ncomes back")
    plot.text(0.4, 1.45, back, "boxed", show=attempt != 2)
    plot.text(2.0, -1.05, back, "boxed", show=attempt != 2)
    for edge in (low, high):
        plot.rule(x=edge, look="old")
    plot.drag(x=("rho", RATIOS))
    plot.grip((low, 2.3), x=("clip_low", [1 - x for x in LOWS]), look="edge")
    plot.grip((high, 2.3), x=("clip_high", [1 + x for x in HIGHS]), look="edge")
    plot.grip((rho, -2.55), x=("rho", RATIOS))

    def push(label, slope, look):
        note = L("还在推", "still pushed") if slope else L("不再推", "no push")
        return tile(
            label, number(slope, sign=True), note, look=look if slope else "off"
        )

    yes, no = L("✓ 会", "✓ yes"), L("✗ 不会", "✗ no")
    return scene(
        plot,
        tiles=[
            push(L("A = +1 梯度", "gradient, A\u00a0=\u00a0+1"), slopes[0], "up"),
            push(L("A = −1 梯度", "gradient, A\u00a0=\u00a0−1"), slopes[1], "down"),
            tile(
                L("走够了，停吗", "far enough: stops?"),
                yes if attempt > 1 else no,
                look="up" if attempt > 1 else "down",
            ),
            tile(
                L("走反了，回吗", "wrong way: returns?"),
                yes if attempt != 2 else no,
                look="up" if attempt != 2 else "down",
            ),
        ],
    )


USUAL = {"clip_low": 0.2, "clip_high": 0.2}
FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "attempt",
            [1, 2, 3],
            1,
            ("第几次尝试", "attempt"),
            "",
            kind="choice",
            options=[("ρA", "ρA"), ("clip(ρ)A", "clip(ρ)A"), ("min", "min")],
        ),
        Dial("rho", RATIOS, 1.6, ("概率之比", "ratio"), "ρ", fmt=".1f", fine=False),
        Dial("clip_low", LOWS, 0.2, ("下侧", "range below"), "ε_low", fine=False),
        Dial("clip_high", HIGHS, 0.2, ("上侧", "range above"), "ε_high", fine=False),
    ],
    title=(
        "走够了要会停，走反了要能回来：三次尝试里只有 min 两样都行",
        "Stop when far enough, come back from the wrong way: only min does both",
    ),
    alt=(
        "横轴是比率 ρ，两条线是优势为正和为负时的目标，斜线区没有梯度。"
        "可以在三种目标之间切换。",
        "The ratio ρ across, and two lines, the objective for a positive and for a "
        "negative advantage. Hatched zones have no gradient. Three objectives to "
        "switch between.",
    ),
    presets=[
        Preset(("什么都不加", "add nothing"), attempt=1, rho=1.6, **USUAL),
        Preset(("只裁剪", "clip alone"), attempt=2, rho=1.6, **USUAL),
        Preset(
            ("只裁剪，走反了", "clip alone, the wrong way"), attempt=2, rho=0.5, **USUAL
        ),
        Preset(("取 min", "take the min"), attempt=3, rho=1.6, **USUAL),
        Preset(
            ("DAPO 放宽上侧", "DAPO's wider top"),
            attempt=3,
            rho=1.3,
            clip_low=0.2,
            clip_high=0.28,
        ),
    ],
    wide=True,
)
