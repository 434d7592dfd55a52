"""Division by the length (除以长度为什么会推动长度): a stopping model."""

from functools import cache

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    number,
    scene,
    side,
    tile,
)
from tokenbook.languages.glossary import terms

MEANS = [2, 4, 10]  # mean length, 1/h
SHOWN = 30  # lengths on the axis
SAME, INVERSE = range(2)
TOP = 0.45  # of the axis, the same for both rules


@cache
def parts(mean, rule, sign):
    """Contribution of each length (各长度的贡献) to the expected push on stopping.

    Chance of a response of n tokens, times its advantage, its weight and its score
    1 - n h; the weights are equal or go as 1 / n, and their mean is 1.

    Args:
        mean: mean length, 1/h.
        rule: SAME or INVERSE.
        sign: of the advantage, 1 or -1.
    """
    h = 1 / mean
    lengths = range(1, 60 * mean)
    chances = [h * (1 - h) ** (n - 1) for n in lengths]
    weights = [1 if rule == SAME else 1 / n for n in lengths]
    usual = sum(p * w for p, w in zip(chances, weights, strict=True))
    each = zip(lengths, chances, weights, strict=True)
    return [p * sign * w / usual * (1 - n * h) for n, p, w in each]


def seesaw(L, sooner, later, total, sign):
    """Two pans on one scale: the push to stop sooner and the push to go on."""
    plot = Plot(x=(0, 10), y=(0, 10), axes=False, height=190)
    tilt = 2.2 * total / (sooner + later)
    plot.fill([(4.6, 0.6), (5.4, 0.6), (5, 3.5)], "old")
    plot.line([(1.5, 3.5 - tilt), (8.5, 3.5 + tilt)], "ink")
    sides = (
        (0.4, 2.6, 3.5 - tilt, sooner, "up", L("更早停", "stop sooner")),
        (7.4, 9.6, 3.5 + tilt, later, "down", L("写下去", "write on")),
    )
    for x0, x1, y, weight, look, words in sides:
        plot.area(x0, x1, y, y + 5 * weight, look)
        plot.text((x0 + x1) / 2, y - 0.75, words, f"{look} strong")
    short = L("短的推向更早停，长的写下去", "short ones: stop sooner")
    long = L("短的推向写下去，长的更早停", "short ones: write on")
    plot.text(5, 9.5, short if sign > 0 else long, "quiet")
    return plot


def draw(L, mean, rule, sign):
    each = parts(mean, rule, sign)
    up, down = (sum(x for x in each if s * x > 0) for s in (1, -1))
    total = sum(each)
    plot = Plot(
        x=(0, SHOWN + 1),
        y=(-TOP, TOP),
        x_name=L("回答的长度 n", "length n of a response"),
        y_name=L("对停止概率的平均贡献", "mean contribution to stopping"),
        x_ticks=[1, 5, 10, 15, 20, 25, 30],
        y_ticks=[-0.4, 0, 0.4],
        height=190,
    )
    plot.rule(y=0)
    for n in range(1, SHOWN + 1):
        x = each[n - 1]
        low, high = sorted((0.0, x))
        # two bars, of which one shows: a bar keeps its colour
        plot.area(n - 0.42, n + 0.42, low, high, "up", show=x > 0)
        plot.area(n - 0.42, n + 0.42, low, high, "down", show=x < 0)
    plot.line([(mean, -TOP), (mean, TOP)], "dashed old")
    words = L(f"平均 {mean}", f"mean {mean}")
    plot.text(mean + 0.4, -0.85 * TOP, words, "old", align="left")
    if abs(total) < 1e-6:
        says = L("正负抵消：长度不动", "They cancel: the length stays")
    elif total > 0:
        says = L("合起来为正：更早停，回答变短", "Positive in all: it stops sooner")
    else:
        says = L("合起来为负：更晚停，回答变长", "Negative in all: it stops later")
    return scene(
        side(plot, seesaw(L, up, -down, total, sign), shares=(1.5, 1)),
        caption(says),
        tiles=[
            tile(
                L("向上的柱之和", "bars upwards"), number(up, 2, sign=True), look="up"
            ),
            tile(
                L("向下的柱之和", "bars downwards"),
                number(down, 2, sign=True),
                look="down",
            ),
            tile(L("合计", "total"), number(total, 2, sign=True)),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "rule",
            [SAME, INVERSE],
            SAME,
            ("权重", "weight"),
            kind="choice",
            options=[("与长度无关", "the same"), ("除以长度", "over the length")],
        ),
        Dial(
            "sign",
            [1, -1],
            1,
            terms("advantage"),
            kind="choice",
            options=[("+1，答对", "+1, correct"), ("−1，答错", "−1, incorrect")],
        ),
        Dial("mean", MEANS, 4, ("平均长度", "mean length"), "1/h", fine=False),
    ],
    title=(
        "权重与长度无关时，对停止的作用正负抵消；除以长度就不再抵消",
        "Equal weights: effects on stopping cancel; divided by length, they do not",
    ),
    alt=(
        "横轴是回答的长度，柱子是这个长度的回答对停止概率的平均贡献。"
        "短于平均的与长于平均的方向相反。旁边的跷跷板把两边各加起来。",
        "Bars over the length of a response: what responses of this length add to the "
        "chance of stopping. Short and long ones point opposite ways. A seesaw "
        "beside them adds up either side.",
    ),
    presets=[
        Preset(("权重相同", "equal weights"), rule=SAME, sign=1),
        Preset(("除以长度，答对", "over length, correct"), rule=INVERSE, sign=1),
        Preset(("除以长度，答错", "over length, incorrect"), rule=INVERSE, sign=-1),
    ],
    note=(
        "两种权重都除以自己的平均（1/n 除以 E[1/n]），好互相比较；长度只画到 30，"
        "刻度不变。",
        "Each weight is divided by its mean (1/n by E[1/n]), to compare the two; "
        "lengths end at 30 here, and the scale is the same throughout.",
    ),
    wide=True,
)
