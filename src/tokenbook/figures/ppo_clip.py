"""PPO's clipped objective (裁剪目标): where it still pushes, for both signs of A."""

from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, number, scene, tile
from tokencredit import ppo_clip_loss

RATIOS = [round(0.05 * i, 2) for i in range(1, 41)]  # 0.05 ... 2
LOWS = [0.0, 0.1, 0.2, 0.3, 0.4]
HIGHS = [0.0, 0.1, 0.2, 0.28, 0.4, 0.6]
LARGEST = 2.0  # right end of the ratio axis
JUST = 1e-6  # beside an edge, never on it: the gradient jumps there


def objective(ratios, sign, low, high):
    """Value and slope of the objective (目标) at each ratio, by the course's loss.

    L = min(rho A, clip(rho, 1 - low, 1 + high) A) and dL/d log pi, for A = sign.

    Args:
        ratios: points on the ratio axis, above 0.
        sign: the advantage, -1 or 1.
        low: distance of the lower bound from 1.
        high: distance of the upper bound from 1.

    Returns:
        two lists: the values and the slopes.
    """
    log_ratio = torch.tensor(ratios, dtype=torch.float64).log().requires_grad_()
    advantages = torch.full_like(log_ratio, sign)
    value = -ppo_clip_loss(
        log_ratio, log_ratio, advantages, clip_low=low, clip_high=high
    )
    (slope,) = torch.autograd.grad(value.sum(), log_ratio)
    return value.tolist(), slope.tolist()


@cache
def curve(sign, low, high):
    """The objective from one end of the axis to the other, with its kink."""
    edge = 1 + high if sign > 0 else 1 - low
    knots = sorted([JUST, max(edge, JUST), LARGEST])
    return list(zip(knots, objective(knots, sign, low, high)[0], strict=True))


@cache
def at(ratio, sign, low, high):
    """Value and slope at one ratio; on an edge, just past it."""
    (value,), (slope,) = objective([max(ratio + sign * JUST, JUST)], sign, low, high)
    return value, slope


def draw(L, rho, clip_low, clip_high):
    down, up = 1 - clip_low, 1 + clip_high
    plot = Plot(
        x=(0, LARGEST),
        y=(-2.05, 2.05),
        x_name=L("ρ = 现在的概率 ÷ 采样时的概率", "ρ = probability now ÷ when sampled"),
        y_name=L("目标 L", "objective L"),
        x_ticks=[0, 0.5, 1, 1.5, 2],
        y_ticks=[-2, 0, 2],
        height=270,
    )
    plot.area(up, LARGEST, 0, 2.05, "off")
    plot.area(0, down, -2.05, 0, "off")
    plot.rule(y=0)
    plot.rule(x=1, look="dashed")
    plot.rule(x=rho, look="dotted")
    slopes = []
    for sign, look in ((1, "up"), (-1, "down")):
        plot.line([(0, 0), (LARGEST, sign * LARGEST)], "old thin dashed")
        plot.line(curve(sign, clip_low, clip_high), look)
        value, slope = at(rho, sign, clip_low, clip_high)
        dead = abs(slope) < 1e-9
        plot.arrow(rho, value, rho + 0.3 * slope, value, look, show=not dead)
        plot.dot(rho, value, "off" if dead else look)
        slopes.append(0.0 if dead else slope)
    good, bad = L("A > 0：往上推", "A > 0: up"), L("A < 0：往下推", "A < 0: down")
    plot.text(0.04, 1.75, good, "up strong boxed", align="left")
    plot.text(1.96, -0.3, bad, "down strong boxed", align="right")
    enough = L("走够了\n不再推", "far enough:\nno push")
    plot.text(1.98, 0.42, enough, "boxed", align="right")
    plot.text(down / 2, -(down + 2.05) / 2, enough, "boxed")
    wrong = L("走反了\n照推", "wrong way:\nstill pushed")
    plot.text(0.3, 0.95, wrong, "quiet")
    plot.text(1.73, -1.0, wrong, "quiet")
    plot.drag(x=("rho", RATIOS))
    plot.grip((up, 1.0), x=("clip_high", [1 + h for h in HIGHS]), look="edge")
    plot.grip((down, -1.0), x=("clip_low", [1 - low for low in LOWS]), look="edge")
    plot.grip((rho, -2.05), x=("rho", RATIOS))

    def push(label, slope, look):
        note = L("还在推", "still pushed") if slope else L("不再推", "no push")
        return tile(
            label, number(slope, sign=True), note, look=look if slope else "off"
        )

    return scene(
        plot,
        tiles=[
            tile("ρ", number(rho), L("倍于采样时", "times as likely")),
            push(L("A = +1 的梯度", "gradient, A = +1"), slopes[0], "up"),
            push(L("A = −1 的梯度", "gradient, A = −1"), slopes[1], "down"),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("rho", RATIOS, 1.4, ("概率之比", "ratio"), "ρ", fmt=".2f"),
        Dial("clip_low", LOWS, 0.2, ("下侧裁剪范围", "range below"), "ε_low"),
        Dial("clip_high", HIGHS, 0.2, ("上侧裁剪范围", "range above"), "ε_high"),
    ],
    title=(
        "朝对的方向走够了，PPO 就松手；走反了，照推不误",
        "PPO lets go only when a token went far enough the right way",
    ),
    alt=(
        "横轴是比率 ρ。上半是优势为正时的目标，下半是优势为负时的；斜线区里没有梯度，"
        "箭头的长度是梯度。",
        "The ratio ρ across. Upper half: the objective for a positive advantage, lower "
        "half for a negative one. Hatched zones have no gradient; an arrow is as long "
        "as the gradient.",
    ),
    presets=[
        Preset(("涨过了头", "risen far"), rho=1.4, clip_low=0.2, clip_high=0.2),
        Preset(("刚采样", "just sampled"), rho=1.0, clip_low=0.2, clip_high=0.2),
        Preset(("跌过了头", "fallen far"), rho=0.6, clip_low=0.2, clip_high=0.2),
        Preset(("DAPO 放宽上侧", "DAPO's wider top"), rho=1.25, clip_high=0.28),
        Preset(("范围缩到 0", "a range of 0"), clip_low=0.0, clip_high=0.0),
    ],
    wide=True,
)
