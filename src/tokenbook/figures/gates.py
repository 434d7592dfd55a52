"""Gates (门控): the push on one token under four losses, side by side."""

import math
from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    grid,
    legend,
    number,
    scene,
    tile,
)
from tokencredit import ALGORITHMS

METHODS = ("GRPO", "DPPO", "SAPO", "CISPO")
CHANCES = [0.01, 0.04, 0.1, 0.3, 0.65, 0.9]  # of the token, when it was sampled
RATIOS = [0.1, 0.25, 0.45, 0.75, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0, 2.4, 3.0, 4.0, 5.5]
LEFT, RIGHT = 0.09, 6.0  # ends of the axis
TOP = 2.5  # of the square root of a push
RANGE, DIFFERENCE, CAP = 0.2, 0.15, 5.0  # of the rows: 1 +- 0.2, 0.15, at most 5
JUST = 1e-6  # beside an edge, never on it
GRID = [LEFT * (RIGHT / LEFT) ** (k / 40) for k in range(41)]


def pushes(method, chance, ratios, sign):
    """Push on log pi (推力) at these ratios, per unit of |A|, by the course's loss.

    Args:
        method: a row of ALGORITHMS, of METHODS.
        chance: probability of the token when it was sampled.
        ratios: how its probability has changed since, above 0.
        sign: of the advantage, 1 or -1.

    Returns:
        a number per ratio: positive raises the token, 0 leaves it alone.
    """
    log_ratio = torch.tensor([ratios], dtype=torch.float64).log()
    log_probs = (log_ratio + torch.tensor(chance, dtype=torch.float64).log()).detach()
    log_probs.requires_grad_()
    old = log_probs.detach() - log_ratio
    advantages = torch.full_like(log_ratio, sign)
    loss = ALGORITHMS[method].loss
    inputs = (log_probs - old, advantages)
    each = loss(*inputs) if method == "SAPO" else loss(log_probs, *inputs)
    (slope,) = torch.autograd.grad(each.sum(), log_probs)
    return (-slope[0] + 0.0).tolist()


def edge(method, chance, sign):
    """The ratio from which on a token of this sign is not pushed, or None."""
    if method == "GRPO":
        return 1 + sign * RANGE
    if method == "DPPO":
        found = 1 + sign * DIFFERENCE / chance
        return found if 0 < found < 1 / chance else None
    return None


@cache
def curve(method, chance, sign):
    """The push from one end of the axis to the other, with the step of a hard gate."""
    step, knots = edge(method, chance, sign), [*GRID]
    for value in (step, CAP):  # two points beside each; the same number in every state
        value = value if value and LEFT < value < RIGHT else 1.0
        knots += [value - JUST, value + JUST]
    knots = sorted(min(x, 1 / chance) for x in knots)  # a probability ends at 1
    return list(zip(knots, pushes(method, chance, knots, sign), strict=True))


def root(push):
    """The place of a push on an axis of square roots."""
    return math.copysign(math.sqrt(abs(push)), push)


def panel(L, method, now, chance, found):
    """One gate: both signs, the closed part, the token, its push as an arrow."""
    last = min(1 / chance, RIGHT)
    plot = Plot(
        x=(LEFT, RIGHT),
        y=(-TOP, TOP),
        x_name="ρ",
        y_name=method,
        x_ticks={0.1: "0.1", 0.5: "0.5", 1: "1", 2: "2", 5: "5"},
        height=130,
        log="x",
    )
    for sign, look in ((1, "up"), (-1, "down")):
        step = edge(method, chance, sign)
        ends = (step or RIGHT, last) if sign > 0 else (LEFT, step or LEFT)
        shut = step is not None and LEFT < step < last
        ends = ends if shut else (LEFT, RIGHT)
        plot.area(*ends, 0, sign * TOP, "off", show=shut)
        free = [(min(x, 1 / chance), sign * min(x, 1 / chance)) for x in GRID]
        plot.line([(x, root(y)) for x, y in free], "old thin dashed")
        points = curve(method, chance, sign)
        plot.line([(x, root(y)) for x, y in points], f"{look} thin")
    plot.rule(y=0)
    plot.area(last, RIGHT, -TOP, TOP, "old pale", show=last < RIGHT)
    plot.rule(x=now, look="dotted")
    for sign, look in ((1, "up"), (-1, "down")):
        push = found[method, sign]
        plot.arrow(now, 0, now, root(push), look, show=bool(push))
        plot.dot(now, sign * 0.12, "off", show=not push)
    plot.drag(x=("rho", RATIOS))
    return plot


def draw(L, rho, chance):
    now = min(rho, 1 / chance)
    found = {}
    for method in METHODS:
        for sign in (1, -1):
            (push,) = pushes(method, chance, [now + sign * JUST], sign)
            found[method, sign] = 0.0 if abs(push) < 1e-9 else push

    def tell(method):
        good, bad = (number(found[method, s], sign=True) for s in (1, -1))
        up = good if found[method, 1] else "0"
        return tile(method, up, L("A = −1：", "A = −1: ") + bad)

    panels = [panel(L, method, now, chance, found) for method in METHODS]
    return scene(
        grid(*panels, columns=2),
        legend(
            ("up", L("A > 0，往上推", "A > 0, pushed up")),
            ("down", L("A < 0，往下推", "A < 0, pushed down")),
            ("off", L("门关了", "shut")),
            ("old dashed line", L("没有门：ρA", "no gate: ρA")),
            (
                "old pale",
                L("概率超过 1（常见词元）", "beyond probability 1 (frequent)"),
                1 / chance < RIGHT,
            ),
        ),
        caption(
            L("采样时的概率 ", "probability when sampled ")
            + f"{chance:g}"
            + L("，现在 ", ", now ")
            + number(chance * now, 3)
            + L("；箭头是推力，平方根刻度", "; arrows: the push, on a scale of roots")
        ),
        tiles=[tell(method) for method in METHODS],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("rho", RATIOS, 2.0, ("概率之比", "ratio"), "ρ", fmt=".2f", fine=False),
        Dial(
            "chance",
            CHANCES,
            0.1,
            ("采样时的概率", "its chance when sampled"),
            "",
            fmt=".2f",
            fine=False,
        ),
    ],
    title=(
        "比率相同，四道门开得不一样：突然关、看概率差、慢慢关、不关",
        "One ratio, four gates: shut, asking how likely, closing slowly, wide open",
    ),
    alt=(
        "四幅小图，一种方法一幅，横轴是比率 ρ。上半是优势为正的词元受到的推力，下半是"
        "优势为负的；虚线是没有门时的推力，斜线区里门关了，箭头是这个词元现在受到的推力。",
        "Four small plots, one per method, over the ratio ρ: the push on a token of "
        "positive advantage above, of negative advantage below. Dashed: without a "
        "gate. Hatched: shut. Arrow: the push on this token now.",
    ),
    presets=[
        Preset(("翻了一倍", "doubled"), rho=2.0, chance=0.1),
        Preset(("涨到五倍多", "more than fivefold"), rho=5.5, chance=0.1),
        Preset(("罕见的词，四倍", "a rare one, fourfold"), rho=4.0, chance=0.01),
        Preset(
            ("常见的词，跌四分之一", "a frequent one, down a quarter"),
            rho=0.75,
            chance=0.9,
        ),
    ],
    wide=True,
)
