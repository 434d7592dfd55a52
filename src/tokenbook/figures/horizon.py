"""Range of a token surrogate (替代目标): T tokens, all of which must be right."""

import math

from tokenbook.explorer import Dial, Figure, Plot, Preset, number, scene, tile

LENGTHS = [1, 3, 10, 30, 100, 300, 1000, 3000]
RATIOS = [1.0001, 1.0003, 1.001, 1.003, 1.01, 1.03, 1.1, 1.2]
CLIP = 1.2  # of a token; the same limit is drawn for the whole response
FAR = 1e5  # the largest ratio of a whole response that is drawn
TICKS = {1: "1", 10: "10", 100: "100", 1000: "1000", 1e4: "10⁴", 1e5: "10⁵"}
CURVE = [10 ** (k / 20) for k in range(101)]  # 1 to FAR


def factors(T, rho):
    """The success rate of the new policy over that of the old one.

    Args:
        T: tokens of a response, all of which must be right.
        rho: ratio (重要性采样比率) of a right token, the same at each place.

    Returns:
        the true factor, and that of the surrogate (替代目标).
    """
    return rho**T, 1 + T * (rho - 1)


def short(x):
    """A factor in few signs, near 1 in more of them."""
    if x < 100:
        return number(x, 4 if x < 1.5 else 2)
    return f"{x:,.0f}".replace(",", " ") if x < 1e6 else f"10^{math.log10(x):.0f}"


def draw(L, T, rho):
    truth, said = factors(T, rho)
    drawn = truth <= FAR
    plot = Plot(
        x=(1, FAR),
        y=(0.7, FAR),
        x_name=L("整条回答的比率 ρ^T", "ratio of the whole response, ρ^T"),
        y_name=L("成功率变成几倍", "factor of the success rate"),
        x_ticks=TICKS,
        y_ticks=TICKS,
        log="xy",
        height=260,
    )
    plot.rule(x=CLIP, look="dashed")
    plot.text(
        CLIP * 1.15, 3e4, L("整条 1.2", "the whole at 1.2"), "quiet", align="left"
    )
    plot.line([(w, w) for w in CURVE], "ink")
    plot.line([(w, 1 + math.log(w)) for w in CURVE], "old dashed")
    plot.text(2e3, 1.2e4, L("真正的倍数", "the truth"), "boxed", align="right")
    plot.text(2e4, 4, L("替代目标说的", "the surrogate"), "boxed old", align="right")
    at = min(truth, FAR)
    plot.dot(at, at, "sel", show=drawn)
    plot.dot(at, min(said, FAR), "old", show=drawn)
    inside = L("在 0.8 到 1.2 之内", "inside 0.8 to 1.2")
    return scene(
        plot,
        tiles=[
            tile(L("写对的词元的比率", "ratio of a right token"), f"{rho:g}", inside),
            tile(L("整条的比率", "ratio of the whole"), short(truth)),
            tile(L("其实是", "in truth"), short(truth), L("倍", "times")),
            tile(L("替代目标说", "the surrogate says"), short(said), L("倍", "times")),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("T", LENGTHS, 1000, ("回答的长度", "response length"), "T"),
        Dial("rho", RATIOS, 1.001, ("写对的词元的比率", "ratio if right"), "ρ"),
    ],
    title=(
        "全对才得分的一族：误差只看整条的比率，不看一个词元的",
        "All tokens must be right: the error depends on the ratio of the whole alone",
    ),
    alt=(
        "两条曲线，横轴是整条回答的比率，纵轴是成功率的倍数，都是对数刻度。真正的倍数是"
        "直线，替代目标说的倍数弯在它下面，离 1 越远差得越多。",
        "Two curves over the ratio of the whole response, both axes logarithmic: the "
        "true factor of the success rate is a straight line, the surrogate's bends "
        "below it, further the larger the ratio.",
    ),
    presets=[
        Preset(("长，小步子", "long, a small step"), T=1000, rho=1.001),
        Preset(("一个词元", "one token"), T=1, rho=1.2),
        Preset(("长，很小的步子", "long, a tiny step"), T=1000, rho=1.0001),
        Preset(
            ("同样的长度，十倍的步子", "as long, ten times the step"), T=1000, rho=1.01
        ),
    ],
)
