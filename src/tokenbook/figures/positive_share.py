"""The share of the positive tokens (正词元的份额): length, mean, clip."""

import math
from functools import cache
from statistics import NormalDist

from tokenbook.explorer import Dial, Figure, Plot, Preset, number, scene, tile

RIGHT = [0.1, 0.3, 0.5, 0.9]  # fraction of correct responses
LONGER = [1, 2, 4]  # length of an incorrect one over that of a correct one
SPREADS = [0.0, 0.1, 0.3, 0.6]  # std of log rho: staleness of the data
LOW, HIGH = 0.8, 1.2


@cache
def kept(spread):
    """Weight left by the clip (裁剪留下的): shares of + and of - tokens.

    log rho is normal with mean -spread^2 / 2, so that the mean of rho is 1; a positive
    token above HIGH and a negative one below LOW lose their gradient.
    """
    if not spread:
        return 1.0, 1.0
    density = NormalDist(spread**2 / 2, spread)  # of log rho, weighed by rho
    return density.cdf(math.log(HIGH)), 1 - density.cdf(math.log(LOW))


@cache
def weights(right, longer, centred, spread):
    """W+ and W- (两边的权重), in units of a response times a token of a correct one.

    Args:
        right: fraction of correct responses.
        longer: tokens of an incorrect response over those of a correct one.
        centred: whether the mean of the group is subtracted; else rewards are 1 and -1.
        spread: standard deviation of log rho.
    """
    good, bad = (1 - right, right) if centred else (1.0, 1.0)
    more, less = kept(spread)
    return right * good * more, (1 - right) * bad * longer * less


def draw(L, centred, longer, spread, right):
    alone = right, 1 - right
    steps = [
        (L("回答：做对 | 做错", "responses: correct | incorrect"), alone),
        (L("乘以优势", "times the advantage"), weights(right, 1, centred, 0.0)),
        (L("乘以长度", "times the length"), weights(right, longer, centred, 0.0)),
        (
            L("减去裁掉的", "less what is clipped"),
            weights(right, longer, centred, spread),
        ),
    ]
    plot = Plot(x=(0, 1), y=(0, 4.6), axes=False, height=230)
    plot.line([(0.5, 0), (0.5, 4.2)], "dashed old")
    plot.text(0.5, 4.42, "0.5", "quiet")
    for k, (words, (plus, minus)) in enumerate(steps):
        share = plus / (plus + minus)
        y = 3.1 - k
        plot.area(0, share, y, y + 0.5, "up" if k == 3 else "up pale")
        plot.area(share, 1, y, y + 0.5, "down" if k == 3 else "down pale")
        plot.text(0, y + 0.74, words, "boxed", align="left")
        plot.text(1, y + 0.74, number(share, 3), "boxed strong", align="right")
    plus, minus = weights(right, longer, centred, spread)
    more, less = kept(spread)
    share = plus / (plus + minus)
    return scene(
        plot,
        tiles=[
            tile(L("正词元的份额", "positive share φ"), number(share, 3), look="up"),
            tile(L("一份正对几份负", "negative per positive"), number(minus / plus, 1)),
            tile(
                L("裁剪留下，正", "clip leaves, +"),
                number(more, 2),
                L("按系数", "of weight"),
            ),
            tile(
                L("裁剪留下，负", "clip leaves, −"),
                number(less, 2),
                L("按系数", "of weight"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("centred", [0, 1], 1, ("减去组均值", "mean subtracted"), kind="toggle"),
        Dial(
            "longer",
            LONGER,
            4,
            ("做错的长几倍", "incorrect ones longer by"),
            fmt="g",
            kind="choice",
        ),
        Dial(
            "spread",
            SPREADS,
            0.3,
            ("log ρ 的标准差", "std of log ρ"),
            "σ",
            kind="choice",
        ),
        Dial(
            "right", RIGHT, 0.1, ("做对的比例", "fraction correct"), "q", kind="choice"
        ),
    ],
    title=(
        "减了均值，做对得少并不吃亏；错的更长、不减均值、裁剪才吃掉正词元的份额",
        "Length, a missing mean and the clip eat the share of the positive tokens",
    ),
    alt=(
        "四条横条，蓝的属于做对的回答，橙的属于做错的。第一条是回答的条数，"
        "往下依次乘以优势、乘以长度、减去裁掉的。",
        "Four bars, blue for correct and orange for incorrect responses. The first "
        "counts responses; below it they are multiplied by the advantage, by the "
        "length, and what is clipped is taken away.",
    ),
    presets=[
        Preset(
            ("错的长四倍", "mistakes 4× as long"),
            centred=1,
            longer=4,
            spread=0.3,
            right=0.1,
        ),
        Preset(("一样长", "equal lengths"), centred=1, longer=1, spread=0.0, right=0.1),
        Preset(("不减均值", "no mean"), centred=0, longer=1, spread=0.0, right=0.1),
        Preset(
            ("只有裁剪", "the clip alone"), centred=1, longer=1, spread=0.6, right=0.1
        ),
    ],
)
