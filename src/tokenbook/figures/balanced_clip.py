"""BAPO's bounds (自适应裁剪): the search under two measures of the share."""

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
from tokencredit import ALGORITHMS
from tokencredit.weight.losses import NEAR

COUNT = 400  # tokens of either sign, at the quantiles of their ratio
BINS = 26  # of the ratio, from 0 to TOP
TOP = 2.6
HEIGHT = 0.1  # of the axis; taller bars end there
RELEASED, UNCLIPPED = 0, 1
RULES = ("BAPO", "BAPO, un-clipped")
SHARES = [round(0.05 * k, 2) for k in range(2, 13)]
SPREADS = [0.2, 0.5, 0.8]
MOST = 51  # steps of the longer search
ZOOMS = {  # ends of the axis of shares -> its ticks; the first that fits is used
    (0.3, 0.7): [0.3, 0.4, 0.5, 0.6, 0.7],
    (0.2, 0.6): [0.2, 0.3, 0.4, 0.5, 0.6],
    (0, 0.55): [0, 0.1, 0.2, 0.3, 0.4],
    (0, 0.8): [0, 0.2, 0.4, 0.6, 0.8],
}


def dials_of(rule):
    """Dials of the entry of ALGORITHMS: target, ends and steps of its bounds."""
    return ALGORITHMS[RULES[rule]].clip_rule.keywords


@cache
def log_ratios(spread):
    """Log-ratios (对数比率) of `COUNT` tokens: the quantiles of a normal law.

    Args:
        spread: its standard deviation, how stale the data are.

    Returns:
        a [COUNT] tensor of mean -spread**2 / 2, so that the mean ratio is 1.
    """
    levels = (torch.arange(COUNT, dtype=torch.float64) + 0.5) / COUNT
    normal = torch.distributions.Normal(0.0, 1.0)
    return spread * normal.icdf(levels) - spread**2 / 2


def walk(rule):
    """The bounds in the order in which a search tries them 搜索的次序."""
    dials = dials_of(rule)

    def steps(name, default):
        low, high = dials[name]
        step = dials.get(f"{name}_step", default)
        return [low + step * k for k in range(round((high - low) / step) + 1)]

    lows, highs = steps("low", 0.02), steps("high", 0.05)
    if dials["first"] == "low":
        return [(low, highs[0]) for low in lows] + [(lows[-1], h) for h in highs[1:]]
    return [(lows[0], h) for h in highs] + [(low, highs[-1]) for low in lows[1:]]


def share(rule, positive, spread, low, high):
    """The share of positives that a rule counts 正词元的份额, for A = +1 and -1.

    Args:
        rule: RELEASED counts clipped values, UNCLIPPED the tokens with a gradient.
        positive: share of positive tokens.
        spread: how stale the data are.
        low, high: bounds on the ratio.
    """
    ratio = log_ratios(spread).exp()
    if dials_of(rule)["measure"] == "clipped":
        up, down = ratio.clamp(max=high), ratio.clamp(min=low)
    else:
        up = ratio * (ratio < high - NEAR)
        down = ratio * (ratio > low + NEAR)
    pos, neg = positive * up.sum().item(), (1 - positive) * down.sum().item()
    return pos / (pos + neg)


@cache
def found(rule, positive, spread):
    """The bounds that the package's own search stops at."""
    log_ratio = log_ratios(spread).expand(2, COUNT)
    A = torch.tensor([[positive], [positive - 1]], dtype=torch.float64)
    A = A.expand(2, COUNT)
    search = ALGORITHMS[RULES[rule]].clip_rule
    clip_low, clip_high = search(log_ratio, A, A != 0)
    return 1 - clip_low, 1 + clip_high


def draw(L, rule, positive, spread):
    low, high = found(rule, positive, spread)
    target = dials_of(rule)["target"]
    path = walk(rule)
    shares = [share(rule, positive, spread, *bounds) for bounds in path]
    stop = min(
        range(len(path)),
        key=lambda k: abs(path[k][0] - low) + abs(path[k][1] - high),
    )
    tokens = Plot(
        x=(0, TOP),
        y=(-HEIGHT, HEIGHT),
        x_name=L("比率 ρ", "ratio ρ"),
        y_name=L("词元的份额", "share of tokens"),
        x_ticks=[0, 0.6, 1, 2],
        y_ticks={0: "0"},
        height=190,
    )
    edges = torch.linspace(0, TOP, BINS + 1, dtype=torch.float64)
    counts = torch.histogram(log_ratios(spread).exp().clamp(max=TOP - 0.01), edges)
    for k, mass in enumerate((counts.hist / COUNT).tolist()):
        x0, x1 = edges[k].item() + 0.01, edges[k + 1].item() - 0.01
        tokens.area(x0, x1, 0, min(positive * mass, HEIGHT), "up")
        tokens.area(x0, x1, max((positive - 1) * mass, -HEIGHT), 0, "down")
    tokens.area(min(high, TOP), TOP, 0, HEIGHT, "off")
    tokens.area(0, low, -HEIGHT, 0, "off")
    tokens.text(
        TOP - 0.05, 0.085, L("正词元，A > 0", "A > 0"), "up boxed", align="right"
    )
    tokens.text(
        TOP - 0.05, -0.085, L("负词元，A < 0", "A < 0"), "down boxed", align="right"
    )
    all_of = [*shares, target]
    low_end, top = next(e for e in ZOOMS if e[0] <= min(all_of) and max(all_of) < e[1])
    search = Plot(
        x=(-2, MOST),
        y=(low_end, top),
        x_name=L("搜索走了几步", "steps of the search"),
        y_name=L("它数到的正词元份额", "share that it counts"),
        x_ticks=[0, 10, 20, 30, 40, 50],
        y_ticks=ZOOMS[low_end, top],
        height=190,
    )
    last = len(path) - 1
    points = [(min(k, last), shares[min(k, last)]) for k in range(MOST + 1)]
    search.line(points, "old")
    search.line(
        [(min(k, stop), y) for k, y in points[: stop + 1]]
        + [points[stop]] * (MOST - stop),
        "ink",
    )
    search.rule(y=target, look="dotted")
    ends = (shares[stop], shares[-1])  # positions of the words at the two lines
    over = min((y - target for y in ends if y >= target), default=1)
    under = min((target - y for y in ends if y < target), default=1)
    words = L("目标 ", "target ") + number(target, 1)
    search.text(
        MOST,
        target,
        words,
        f"{'above' if over > under else 'below'} boxed",
        align="right",
    )
    turn = next(k for k in range(1, len(path)) if _turned(path, k))
    search.rule(x=turn - 1)
    order = L("先抬下界，再抬上界", "first the lower bound, then the upper one")
    if dials_of(rule)["first"] == "high":
        order = L("先抬上界，再抬下界", "first the upper bound, then the lower one")
    search.dot(stop, shares[stop], "sel")
    reached = shares[stop] >= target - NEAR
    return scene(
        side(
            stack(
                caption(
                    L(
                        "正负词元的比率；斜线：没有梯度",
                        "Ratios of both signs; hatched: no gradient",
                    )
                ),
                tokens,
            ),
            stack(caption(order), search),
        ),
        legend(
            ("ink line", L("走过的", "walked")),
            ("old line", L("没有走到的", "not reached"), stop < last),
        ),
        tiles=[
            tile(L("下界", "lower bound"), number(low)),
            tile(L("上界", "upper bound"), number(high)),
            tile(L("起点的份额", "share at the start"), number(shares[0], 3), ""),
            tile(
                L("停下时的份额", "share at the end"),
                number(shares[stop], 3),
                L("达到目标", "reached") if reached else L("没有达到", "not reached"),
            ),
        ],
    )


def _turned(path, k):
    """Whether the second bound moves at step k."""
    first = 0 if path[0][0] != path[1][0] else 1
    return path[k][1 - first] != path[k - 1][1 - first]


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "rule",
            [RELEASED, UNCLIPPED],
            RELEASED,
            ("数什么", "what is counted"),
            kind="choice",
            options=[
                ("裁剪后的值", "clipped values"),
                ("有梯度的词元", "tokens with a gradient"),
            ],
        ),
        Dial(
            "positive",
            SHARES,
            0.4,
            ("正词元的比例", "positive tokens"),
            fine=False,
        ),
        Dial(
            "spread", SPREADS, 0.5, ("数据有多旧", "age of the data"), "σ", fine=False
        ),
    ],
    title=(
        "自适应裁剪：数什么，决定了界往哪里开",
        "What is counted decides how far the bounds open",
    ),
    alt=(
        "左：正负词元的比率分布，界外没有梯度的部分画斜线。右：搜索每一步的份额，"
        "虚线是目标，圆点是停下的地方。",
        "Left: ratios of positive and negative tokens, hatched where the clip leaves "
        "no gradient. Right: the share after each step of the search, the target "
        "dotted, a dot where it stops.",
    ),
    presets=[
        Preset(("作者的代码", "authors' code"), rule=0, positive=0.4, spread=0.5),
        Preset(("正词元再少些", "fewer positives"), rule=0, positive=0.3, spread=0.5),
        Preset(("只数有梯度的", "only with gradient"), rule=1, positive=0.4),
        Preset(("少，而且旧", "few, and stale"), rule=1, positive=0.2, spread=0.8),
    ],
    wide=True,
    note=(
        "优势取 ±1，两种词元的比率同分布，平均是 1。高过坐标的柱子画到边上为止；"
        "份额的纵轴随设置移动。",
        "Advantages are ±1; ratios have the same law for both signs, with mean 1. "
        "Bars taller than the axis end at its edge; the axis of the share moves.",
    ),
)
