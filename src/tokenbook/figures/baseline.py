"""A baseline (基线) on three kinds of response: the variance it leaves."""

from functools import cache

from tokenbook.explorer import Dial, Figure, Plot, Preset, number, scene, side, tile
from tokenbook.figures._three import (
    LEVEL,
    RIGHT,
    mean_variance,
    policy,
    rewards,
)
from tokenbook.languages.glossary import terms

BASELINES = [round(-0.25 + 0.05 * i, 2) for i in range(46)]  # -0.25 ... 2
SMALL = 1e-9  # a rounding


@cache
def best_baseline(right, level):
    """b* = E[|g|^2 R] / E[|g|^2] and the mean reward E[R] (最优基线与平均奖励).

    Args:
        right: probability of the right response.
        level: added to every reward.

    Returns:
        (b*, E[R]).
    """
    prob, scores = policy(right)
    size = prob * scores.square().sum(1)
    paid = rewards(level)
    return (size @ paid / size.sum()).item(), (prob @ paid).item()


def draw(L, b, right, level):
    prob, _ = policy(right)
    best, average = best_baseline(right, level)
    mean, variance = mean_variance(right, level, b)
    least = mean_variance(right, level, best)[1]
    names = (L("正确", "correct"), L("放弃", "gives up"), L("谎称", "false"))
    bars = Plot(
        x=(0, 3),
        y=(-2.6, 2.8),
        x_name=L("三种回答和它们的概率", "three responses, their probabilities"),
        y_name="R − b",
        x_ticks={
            k + 0.5: f"{name} {number(p.item())}"
            for k, (name, p) in enumerate(zip(names, prob, strict=True))
        },
        y_ticks=[-2, 0, 2],
        height=230,
    )
    bars.rule(y=0)
    for k, weight in enumerate((rewards(level) - b).tolist()):
        look = "up" if weight > SMALL else "down" if weight < -SMALL else "old"
        bars.area(k + 0.25, k + 0.75, 0, weight, look)
        high = weight + (-0.28 if look == "down" else 0.28)
        bars.text(k + 0.5, high, number(weight, sign=True), look)
    curve = Plot(
        x=(-0.25, 2),
        y=(0, 2.1),
        x_name=L("基线 b", "baseline b"),
        y_name=L("方差 σ²", "variance σ²"),
        x_ticks=[0, 0.5, 1, 1.5, 2],
        y_ticks=[0, 1, 2],
        height=230,
    )
    curve.rule(x=average, look="dotted")
    curve.rule(x=best, look="dashed")
    curve.line([(x, mean_variance(right, level, x)[1]) for x in BASELINES])
    low, high = ("right", "left") if best <= average else ("left", "right")
    curve.text(best, 1.97, " b* ", "strong boxed", align=low)
    high = high if average < 1.6 else "right"
    curve.text(average, 1.74, " E[R] ", "old boxed", align=high)
    curve.drag(x=("b", BASELINES))
    curve.grip((b, variance), x=("b", BASELINES))
    return scene(
        side(bars, curve),
        tiles=[
            tile(
                L("平均梯度的模", "norm of mean"),
                number(mean.norm().item(), 3),
                L("与 b 无关", "for every b"),
            ),
            tile(
                L("方差", "variance"),
                number(variance, 3),
                L("最小 ", "least ") + number(least, 3),
            ),
            tile("b*", number(best), L("方差最小处", "least variance")),
            tile("E[R]", number(average), L("平均奖励", "mean reward")),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("b", BASELINES, 0.0, terms("baseline"), "b"),
        RIGHT,
        LEVEL,
    ],
    title=(
        "基线不改变平均梯度，只改变方差，方差在 b* 处最小",
        "A baseline keeps the mean gradient and changes the variance, least at b*",
    ),
    alt=(
        "左边是三种回答的奖励减基线。右边是方差随基线变化的抛物线，"
        "虚线是方差最小的基线，点线是平均奖励，旋钮是当前的基线。",
        "Left: reward minus baseline of three responses. Right: the variance as a "
        "parabola over the baseline, a dashed line at the baseline of least variance, "
        "a dotted one at the mean reward, and a knob at the present baseline.",
    ),
    presets=[
        Preset(("没有基线", "no baseline"), b=0.0, right=0.3, level=0.0),
        Preset(("平均奖励", "mean reward"), b=0.55, right=0.3, level=0.0),
        Preset(("奖励都加 1", "rewards plus 1"), b=0.0, right=0.3, level=1.0),
        Preset(("九成正确", "nine in ten correct"), b=0.0, right=0.9, level=0.0),
    ],
    wide=True,
)
