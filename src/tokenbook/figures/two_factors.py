"""Decoupled PPO (解耦 PPO) on one axis: correct from mu, limit from pi_old."""

import math
from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, legend, number, scene, tile
from tokenbook.languages.glossary import terms
from tokencredit import corrected_clip_loss, ppo_clip_loss

WEIGHTS = [0.4, 0.68, 1.0, 1.4, 1.8]  # pi_old / mu; 0.68 is the chapter's `$`
RATIOS = [0.6, 0.75, 0.9, 1.0, 1.1, 1.3, 1.6]  # pi / pi_old
LOW, HIGH = 0.8, 1.2
ENDS = (0.2, 5.5)
JUST = 1e-6  # beside an edge, never on it


@cache
def pushes(weight, ratio, sign):
    """Push on log pi (推力) of a token, per unit of |A|: PPO's, and decoupled PPO's.

    Args:
        weight: w = pi_old / mu.
        ratio: rho_old = pi / pi_old.
        sign: of the advantage, 1 or -1.
    """
    one = torch.ones(1, 1, dtype=torch.float64)
    old = one.log() + math.log(weight)  # mu is the unit
    leaf = (old + math.log(ratio) + sign * JUST).requires_grad_()
    stale = ppo_clip_loss(leaf, leaf, sign * one)
    fresh = corrected_clip_loss(
        leaf, leaf - old, sign * one, old, one.log(), one > 0, cap=None
    )
    return [
        -torch.autograd.grad(loss.sum(), leaf, retain_graph=True)[0].item() + 0.0
        for loss in (stale, fresh)
    ]


def draw(L, weight, ratio, sign):
    now = weight * ratio
    plot = Plot(
        x=ENDS,
        y=(0, 4),
        x_name=L("概率是 μ 写它时的几倍", "times as likely as under μ"),
        y_name=L("从哪里量", "measured from where"),
        x_ticks={0.25: "0.25", 0.5: "0.5", 1: "1", 2: "2", 4: "4"},
        height=240,
        log="x",
    )
    stale, fresh = pushes(weight, ratio, sign)
    look = "up" if sign > 0 else "down"
    for y, base in ((2.15, 1.0), (0.15, weight)):
        edge = base * (HIGH if sign > 0 else LOW)
        ends = (
            (min(edge, ENDS[1]), ENDS[1]) if sign > 0 else (ENDS[0], max(edge, ENDS[0]))
        )
        plot.area(*ends, y, y + 1.6, "off")
    for y, names in (
        (3.55, L("PPO：只有一个分母 μ", "PPO: one denominator, μ")),
        (
            1.55,
            L(
                "解耦：先 μ → π_old，再 π_old → π_θ",
                "decoupled: μ → π_old, then π_old → π",
            ),
        ),
    ):
        plot.text(ENDS[0] * 1.05, y, names, "boxed strong", align="left")
    plot.line([(1, 2.6), (now, 2.6)], look)
    plot.line([(1, 0.6), (weight, 0.6)], "alt")
    plot.line([(weight, 0.6), (now, 0.6)], look)
    for y in (2.6, 0.6):
        plot.dot(1, y, "old")
        plot.dot(weight, y, "alt")
        plot.dot(now, y, "ink small")
    plot.drag(x=("ratio", [weight * r for r in RATIOS]))

    def tell(label, push):
        note = L("还在推", "still pushed") if push else L("不再推", "no push")
        return tile(label, number(push, sign=True), note, look=look if push else "off")

    return scene(
        plot,
        legend(
            ("old dot", L("μ，写它的", "μ, which wrote it")),
            ("alt dot", L("π_old，训练前", "π_old, before training")),
            ("ink dot", L("π_θ，现在", "π_θ, now")),
            ("off", L("不再推", "no push")),
        ),
        tiles=[
            tell(L("PPO 的推力", "push of PPO"), stale),
            tell(L("解耦的推力", "push, decoupled"), fresh),
            tile(L("纠偏 w", "corrects: w"), number(weight), look="alt"),
            tile(L("两者之积 ρ", "product ρ"), number(now)),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "weight",
            WEIGHTS,
            0.68,
            ("数据多旧", "how stale"),
            "π_old/μ",
            fine=False,
        ),
        Dial(
            "ratio",
            RATIOS,
            0.9,
            ("这批走了多远", "moved so far"),
            "π_θ/π_old",
            fine=False,
        ),
        Dial(
            "sign",
            [1, -1],
            -1,
            terms("advantage"),
            kind="choice",
            options=[("+1，推高", "+1, up"), ("−1，压低", "−1, down")],
        ),
    ],
    title=(
        "纠偏从写它的策略量起，限步从训练前的策略量起",
        "Correct from the policy that wrote the token, limit from the one before",
    ),
    alt=(
        "一条概率的对数轴，上面一行从 μ 量比率，下面一行分成两段：μ 到 π_old 纠偏，"
        "π_old 到 π_θ 限步。斜线区里没有推力。",
        "A log axis of probability in two rows. Above, the ratio is measured from μ; "
        "below it has two parts, from μ to π_old, which corrects, and from π_old to "
        "π_θ, which is limited. Hatched: no push.",
    ),
    presets=[
        Preset(("更新之后", "after an update"), weight=0.68, ratio=0.9, sign=-1),
        Preset(("更新之前", "before any update"), weight=0.68, ratio=1.0, sign=-1),
        Preset(("走得更远", "further still"), weight=0.68, ratio=0.75, sign=-1),
        Preset(("数据很新", "fresh data"), weight=1.0, ratio=0.9, sign=-1),
        Preset(("旧得多的好词元", "a stale good one"), weight=1.8, ratio=1.1, sign=1),
    ],
    wide=True,
)
