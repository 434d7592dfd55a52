"""The closed form (闭式解) of reward minus KL: a reference tilted by exp(R / beta)."""

from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    legend,
    number,
    scene,
    side,
    stack,
    tile,
)

KINDS = (  # of responses: name, pay, whether people want it
    (("做对", "correct"), 1.0, True),
    (("一半", "half"), 0.5, False),
    (("做错", "wrong"), 0.0, False),
)
HOLE = ("漏洞", "hole")  # a fourth kind, not wanted, with a pay of its own
PLAIN = (0.3, 0.4, 0.3)  # shares of the three under the reference, without a hole
BETAS = [2.0, 1.0, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02]
RARE = [0.0001, 0.01, 0.1]  # share of the hole under the reference
PAYS = [0.8, 1.0, 1.3]  # of the hole
FAR = 10.0  # nats on the axis


@cache
def tilted(beta, rare, pay):
    """Reference and optimal policy (最优策略) over the four kinds.

    Args:
        beta: coefficient of the KL.
        rare: share of the hole under the reference.
        pay: reward of the hole.

    Returns:
        shares of the reference, of the optimum, and the KL between them.
    """
    ref = torch.tensor([*(p * (1 - rare) for p in PLAIN), rare], dtype=torch.float64)
    paid = torch.tensor([*(pay for _, pay, _ in KINDS), pay], dtype=torch.float64)
    star = (ref.log() + paid / beta).softmax(-1)
    kl = (star * (star / ref).log()).sum().item()
    return ref.tolist(), star.tolist(), kl


def worth(shares, pay):
    """Mean reward of a policy, and its share of correct responses."""
    paid = [pay for _, pay, _ in KINDS] + [pay]
    return sum(p * r for p, r in zip(shares, paid, strict=True)), shares[0]


def draw(L, beta, rare, pay):
    ref, star, kl = tilted(beta, rare, pay)
    kinds = [*((name, paid) for name, paid, _ in KINDS), (HOLE, pay)]
    bars = Plot(
        x=(0, 4),
        y=(0, 1.45),
        x_name=L(
            "四种回答，上面是各自的奖励 R",
            "four kinds of responses, with their rewards R",
        ),
        y_name=L("占多少", "share"),
        x_ticks={k + 0.5: L(name) for k, (name, _) in enumerate(kinds)},
        y_ticks=[0, 0.5, 1],
        height=185,
    )
    looks = ["up" if wanted else "old" for *_, wanted in KINDS] + ["down"]
    for k, (before, after, look) in enumerate(zip(ref, star, looks, strict=True)):
        bars.area(k + 0.12, k + 0.48, 0, before, "old pale")
        bars.area(k + 0.52, k + 0.88, 0, after, look)
        bars.text(k + 0.7, after, number(after), "above")
        bars.text(k + 0.5, 1.37, f"R = {number(kinds[k][1], 1)}", "quiet")
    curve = Plot(
        x=(0, FAR),
        y=(0, 1.4),
        x_name=L("离参考多远，KL（nat）", "distance from the reference, KL (nats)"),
        y_name=L("平均", "mean"),
        x_ticks=[0, 2, 4, 6, 8, 10],
        y_ticks=[0, 0.5, 1],
        height=185,
    )
    ways = []
    for each in BETAS:
        _, shares, far = tilted(each, rare, pay)
        ways.append((far, *worth(shares, pay)))
    curve.line([(far, paid) for far, paid, _ in ways], "alt dashed")
    curve.line([(far, right) for far, _, right in ways], "up")
    paid, right = worth(star, pay)
    curve.rule(x=kl, look="dotted")
    curve.dot(kl, paid, "alt")
    curve.dot(kl, right, "up")
    return scene(
        side(
            stack(
                bars,
                legend(
                    ("old", L("参考", "reference")),
                    ("up", L("最优，做对", "optimum, correct")),
                    ("down", L("最优，漏洞", "optimum, the hole")),
                ),
            ),
            stack(
                curve,
                legend(
                    ("alt dashed line", L("得到的奖励", "reward paid")),
                    ("up line", L("真正做对", "really correct")),
                ),
            ),
        ),
        tiles=[
            tile(L("得到的奖励", "reward paid"), number(paid), look="alt"),
            tile(L("真正做对", "really correct"), number(right), look="up"),
            tile(L("离参考", "distance"), number(kl), "KL"),
            tile(
                L("漏洞放大", "the hole grew"),
                number(star[3] / rare, 1) + "×",
                L("倍于参考", "of the reference"),
                look="down",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("beta", BETAS, 0.2, ("KL 的系数", "coefficient"), "β", fine=False),
        Dial(
            "rare",
            RARE,
            0.01,
            ("漏洞在参考里占", "the hole, under the reference"),
            kind="choice",
        ),
        Dial("pay", PAYS, 1.3, ("漏洞的奖励", "the hole pays"), kind="choice"),
    ],
    title=(
        "最优策略是参考乘以 exp(R/β)：β 越小，奖励越说了算",
        "The optimum tilts the reference by exp(R/β): a small β lets the reward decide",
    ),
    alt=(
        "左边每种回答两根柱：参考里的份额和最优策略里的份额。"
        "右边随 β 变小，离参考越来越远，"
        "得到的奖励一直升，真正做对的先升后降。",
        "Left two bars for each kind of response: its share under the reference and "
        "under the optimum. Right: as β falls the optimum moves away from the "
        "reference, the reward paid rises all the way, and the correct share "
        "falls again if the hole pays more.",
    ),
    presets=[
        Preset(("适中的 β", "a medium β"), beta=0.2, rare=0.01, pay=1.3),
        Preset(("β 太小", "β too small"), beta=0.05, rare=0.01, pay=1.3),
        Preset(("β 太大", "β too large"), beta=2.0, rare=0.01, pay=1.3),
        Preset(("漏洞很罕见", "a very rare hole"), beta=0.1, rare=0.0001, pay=1.3),
        Preset(("漏洞给得少", "the hole pays less"), beta=0.05, rare=0.01, pay=0.8),
    ],
    wide=True,
)
