"""GAE as a triangle (三角表): every look ahead, its weight, its TD errors."""

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Preset,
    chip,
    legend,
    number,
    row,
    scene,
    shade,
    tile,
)
from tokenbook.languages.glossary import terms
from tokencredit import gae

VALUES = (0.5, 0.8, 0.4)  # the forecasts before the three tokens
LAMS = [round(0.05 * i, 2) for i in range(21)]
DIGITS = "₀₁₂"
POWERS = ("1", "λ", "λ²")


def td_errors(reward):
    """TD errors (TD 误差) of the three tokens, gamma = 1, paid at the end."""
    rewards = torch.tensor([[0.0, 0.0, reward]], dtype=torch.float64)
    values = torch.tensor([VALUES], dtype=torch.float64)
    return gae(rewards, values, lam=0.0)[0].tolist()


def weights(lam):
    """Weights (权重) of the 1-, 2- and 3-step estimates; the last takes the rest."""
    return [1 - lam, (1 - lam) * lam, lam**2]


def draw(L, lam, reward):
    deltas, shares = td_errors(reward), weights(lam)
    heads = [
        chip(f"δ{DIGITS[k]} {number(d, sign=True)}", trained=False, look="plain")
        for k, d in enumerate(deltas)
    ]
    ahead = L("权重", "weight")
    drawn = [row(L("TD 误差", "TD errors"), heads, "", sub=ahead + " →", look="heads")]
    for n, share in enumerate(shares, 1):
        cells = [
            chip(
                number(share) if k < n else "·",
                credit=shade(share if d > 0 else -share) if k < n else 0.0,
                trained=k < n,
                look="" if k < n else "plain",
            )
            for k, d in enumerate(deltas)
        ]
        name = L(f"往前看 {n} 步", f"look {n} ahead")
        worth = f"A⁽{'¹²³'[n - 1]}⁾ = {number(sum(deltas[:n]), sign=True)}"
        drawn.append(row(name, cells, number(share), sub=worth, end_sub=ahead))
    sums = [sum(shares[k:]) for k in range(3)]
    cells = [
        chip(
            f"{POWERS[k]} = {number(total)}",
            credit=shade(total if d > 0 else -total),
        )
        for k, (total, d) in enumerate(zip(sums, deltas, strict=True))
    ]
    total = sum(s * d for s, d in zip(sums, deltas, strict=True))
    drawn.append(
        row(
            L("每列合计", "column sums"),
            cells,
            number(sum(shares)),
            sub=L("每个 δ 的系数", "factor of each δ"),
            end_sub=L("权重合计", "all weights"),
        )
    )
    terms = " + ".join(
        f"{number(s)}·({number(d, sign=True)})"
        for s, d in zip(sums, deltas, strict=True)
    )
    return scene(
        *drawn,
        legend(
            ("up chip", L("这个 TD 误差为正", "a TD error above 0")),
            ("down chip", L("为负", "below 0")),
        ),
        tiles=[
            tile(
                L("第一个词元的优势 A₀", "advantage A₀ of the first token"),
                number(total, sign=True),
                terms,
                look="up" if total >= 0 else "down",
            ),
            tile(
                L("只看 1 步（λ = 0）", "one step only (λ = 0)"),
                number(deltas[0], sign=True),
                L("信价值网络", "trusts the critic"),
            ),
            tile(
                L("看到结尾（λ = 1）", "to the end (λ = 1)"),
                number(sum(deltas), sign=True),
                L("信结果", "trusts the outcome"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("lam", LAMS, 0.5, terms("gae_lambda"), "λ", fmt=".2f"),
        Dial(
            "reward",
            [1.0, 0.0],
            1.0,
            ("结尾的奖励", "reward at the end"),
            "R",
            kind="choice",
            options=[("对，1", "correct, 1"), ("错，0", "incorrect, 0")],
        ),
    ],
    title=(
        "三种看法加权平均，每个 TD 误差的系数恰好是 1、λ、λ²",
        "Average the three looks ahead: the TD errors get the factors 1, λ and λ²",
    ),
    alt=(
        "三行三列的三角表：往前看一步、两步、三步，各自的权重和其中的 TD 误差；"
        "最后一行是每列的合计。",
        "A triangle of three rows: looking one, two and three steps ahead, the weight "
        "of each and the TD errors in it; the last row holds the sums of the columns.",
    ),
    presets=[
        Preset(("λ = 0.5", "λ = 0.5"), lam=0.5, reward=1.0),
        Preset(("只信价值网络", "trust the critic"), lam=0.0),
        Preset(("只信结果", "trust the outcome"), lam=1.0),
        Preset(("λ = 0.95", "λ = 0.95"), lam=0.95),
    ],
    wide=True,
)
