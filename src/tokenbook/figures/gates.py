"""Gates (门控): how hard a token is pushed, against its ratio, under four losses."""

from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, legend, number, scene, tile
from tokenbook.languages.glossary import terms
from tokencredit import ALGORITHMS

METHODS = ("GRPO", "SAPO", "DPPO", "CISPO")
CHANCES = [0.01, 0.04, 0.1, 0.3, 0.65, 0.9]  # of the token, when it was sampled
RATIOS = [0.1, 0.25, 0.45, 0.75, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0, 2.4, 3.0, 4.0, 5.5]
RIGHT = 6.0  # end of the axis, where no probability ends earlier
ENDS = {0.3: 4.8, 0.65: 2.2, 0.9: 1.6}  # of a token that was likely, by its chance
MARKS = {6.0: [0, 1, 2, 4, 6], 4.8: [0, 1, 2, 3, 4], 2.2: [0, 0.5, 1, 1.5, 2]}
MARKS[1.6] = [0, 0.25, 0.5, 0.75, 1]
RANGE, DIFFERENCE, CAP = 0.2, 0.15, 5.0  # of the rows: 1 +- 0.2, 0.15, at most 5
JUST = 1e-6  # beside an edge, never on it
GRID = [round(0.01 * k, 2) for k in range(1, 101)]  # of the axis


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
    step, right = edge(method, chance, sign), ENDS.get(chance, RIGHT)
    knots = [right * part for part in GRID]
    for value in (step, CAP):  # two points beside each; the same number in every state
        value = value if value and value < right else right / 2
        knots += [value - JUST, value + JUST]
    knots = sorted(min(x, 1 / chance) for x in knots)  # a probability ends at 1
    return list(zip(knots, pushes(method, chance, knots, sign), strict=True))


def draw(L, rho, chance, method):
    right = ENDS.get(chance, RIGHT)
    top = 0.93 * right
    mark = 5 if right == RIGHT else 3 if right > 3 else 1
    last = min(1 / chance, right)
    now = min(rho, 1 / chance)
    plot = Plot(
        x=(0, right),
        y=(-top, top),
        x_name=L("ρ = 现在的概率 ÷ 采样时的概率", "ρ = probability now ÷ when sampled"),
        y_name=L("对 log π 的推力", "push on log π"),
        x_ticks=MARKS[right],
        y_ticks=[-mark, 0, mark],
        height=270,
    )
    found = {}
    for sign, look in ((1, "up"), (-1, "down")):
        step = edge(method, chance, sign)
        begin, end = (step or 0, last) if sign > 0 else (0, step or 0)
        plot.area(
            min(begin, right),
            min(end, right),
            0,
            sign * top,
            "off",
            show=bool(step and begin < right),
        )
        free = min(last, top)
        plot.line([(0, 0), (free, sign * free)], "old thin dashed")
        plot.line(curve(method, chance, sign), look)
    plot.rule(y=0)
    plot.rule(x=1, look="dashed")
    plot.rule(x=last, look="old")
    plot.rule(x=now, look="dotted")
    for sign, look in ((1, "up"), (-1, "down")):
        (push,) = pushes(method, chance, [now + sign * JUST], sign)
        found[sign] = 0.0 if abs(push) < 1e-9 else push
        plot.dot(now, found[sign], look if found[sign] else "off")
    good, bad = L("A > 0：往上推", "A > 0: up"), L("A < 0：往下推", "A < 0: down")
    plot.text(0.02 * right, 0.8 * top, good, "up strong boxed", align="left")
    plot.text(0.02 * right, -0.8 * top, bad, "down strong boxed", align="left")
    wall = L("概率到 1 了", "probability 1")
    spot = last + 0.02 * right
    plot.text(spot, 0.68 * top, wall, "quiet", align="left", show=last < right)
    plot.drag(x=("rho", RATIOS))
    plot.grip((now, -top), x=("rho", RATIOS))

    def tell(label, sign, look):
        push = found[sign]
        note = L("还在推", "still pushed") if push else L("不再推", "no push")
        return tile(label, number(push, sign=True), note, look=look if push else "off")

    says = {
        "GRPO": L(
            "硬门控：出了 0.8 到 1.2，走够了的那一侧不再推",
            "A hard gate: beyond 0.8 to 1.2, a token far enough out is not pushed",
        ),
        "SAPO": L(
            "软门控：往右慢慢关上，不会突然归零，也不看 A 的正负",
            "A soft gate: it closes slowly to the right, whatever the sign of A",
        ),
        "DPPO": L(
            "限制的是概率之差：涨过 0.15 或跌过 0.15 才不再推",
            "The difference counts: no push beyond a rise or a fall of 0.15",
        ),
        "CISPO": L(
            "没有门控：权重就是 ρ，只在 5 封顶",
            "No gate: the weight is ρ, at most 5",
        ),
    }
    return scene(
        plot,
        legend(
            ("old dashed line", L("没有门控时", "without a gate")),
            ("off", L("不再推", "no push")),
        ),
        says=says[method],
        tiles=[
            tile(
                L("现在的概率", "probability now"),
                number(chance * now, 3 if chance < 0.1 else 2),
                L(f"采样时是 {chance:g}", f"it was {chance:g}"),
            ),
            tell(L("A = +1 的推力", "push, A = +1"), 1, "up"),
            tell(L("A = −1 的推力", "push, A = −1"), -1, "down"),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "method",
            METHODS,
            "GRPO",
            terms("gate"),
            "",
            fmt="",
            kind="choice",
            options=[(name, name) for name in METHODS],
        ),
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
        "词元走远以后还受多大的推力，由门控决定",
        "A gate decides how hard a token is pushed once it has moved",
    ),
    alt=(
        "横轴是比率 ρ，纵轴是对数概率受到的推力。上半是优势为正的词元，下半是优势为负"
        "的词元；斜线区里没有推力，虚线是不设门控时的推力。",
        "The ratio ρ across, the push on the log-probability upwards. Upper half: "
        "tokens of positive advantage, lower half: of negative. Hatched: no push; "
        "dashed: the push without any gate.",
    ),
    note=(
        "采样时越常见的词元，概率越早到 1：横轴、纵轴随之放大。",
        "The likelier the token, the sooner its probability is 1: both axes zoom in.",
    ),
    presets=[
        Preset(("GRPO，翻了一倍", "GRPO, doubled"), method="GRPO", rho=2.0, chance=0.1),
        Preset(("SAPO，同一个", "SAPO, the same"), method="SAPO", rho=2.0, chance=0.1),
        Preset(("DPPO，少见的词", "DPPO, rare"), method="DPPO", rho=4.0, chance=0.01),
        Preset(
            ("DPPO，常见的词", "DPPO, frequent"), method="DPPO", rho=0.75, chance=0.9
        ),
        Preset(("CISPO，封顶", "CISPO, its cap"), method="CISPO", rho=5.5, chance=0.1),
    ],
    wide=True,
)
