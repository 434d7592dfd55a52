"""Importance sampling (重要性采样) between two walkers: weights and what they cost."""

import math

import torch

from tokencredit import token_log_ratio
from tokencredit.figures import COLORS, Dial, Explorer, canvas

CHANCES = [0.01, *(round(0.05 * i, 2) for i in range(1, 20)), 0.99]
WALKS = 100  # the size of the record, as in the example of chapter 6


def weights(old, new):
    """Ratio (重要性采样比率) of going left and of going right.

    Args:
        old: probability of going right under the policy that walked.
        new: a list of the same under policies to be judged.

    Returns:
        rho = pi / pi_old, one row (left, right) per entry of `new`.
    """
    new = torch.tensor(new, dtype=torch.float64)
    now = torch.stack([1 - new, new], dim=1)
    then = torch.tensor([1 - old, old], dtype=torch.float64).expand_as(now)
    every = torch.ones_like(now, dtype=torch.bool)
    return token_log_ratio(now.log(), then.log(), every).exp()


def effective_share(old, new):
    """Effective sample size (有效样本量) as a share of n: 1 / E_old[rho^2].

    Args:
        old: probability of going right under the policy that walked.
        new: a list of the same under policies to be judged.

    Returns:
        one share, at most 1, per entry of `new`.
    """
    then = torch.tensor([1 - old, old], dtype=torch.float64)
    return (1 / (weights(old, new) ** 2 @ then)).tolist()


def figure():
    """Probabilities, weights, and the share of the record that is left."""
    fig, axes = canvas(1, 3, width=2.4, height=2.3)
    chance, weight, share = axes
    arrows = ["←", "→"]
    then = chance.bar([-0.2, 0.8], [0, 0], 0.4, color=COLORS["grey"])
    now = chance.bar([0.2, 1.2], [0, 0], 0.4, color=COLORS["blue"])
    chance.text(0.5, 0.92, r"$\pi_{\mathrm{old}}$", color=COLORS["grey"], ha="right")
    chance.text(0.6, 0.92, r"$\pi$", color=COLORS["blue"])
    chance.set(ylim=(0, 1), xticks=[0, 1], xticklabels=arrows)
    chance.set_ylabel(r"$\pi_{\mathrm{old}},\ \pi$")
    bars = weight.bar([0, 1], [1, 1], 0.5, color=COLORS["orange"])
    weight.axhline(0, color=COLORS["grey"], linewidth=0.8)
    weight.set(ylim=(-2, 2), xticks=[0, 1], xticklabels=arrows)
    weight.set(yticks=[-2, -1, 0, 1, 2], ylabel=r"$\rho$")
    weight.set_yticklabels(["0.01", "0.1", "1", "10", "100"])
    (curve,) = share.plot(CHANCES, CHANCES, color=COLORS["grey"], linewidth=1.2)
    (point,) = share.plot([0], [0], "o", color=COLORS["blue"])
    share.set(xlim=(0, 1), ylim=(0, 1.05), xlabel=r"$\pi(\rightarrow)$")
    share.set(ylabel=r"$n_{\mathrm{eff}}\,/\,n$")

    def update(old=0.1, new=0.9):
        left, right = weights(old, [new])[0].tolist()
        heights = (1 - old, old, 1 - new, new, math.log10(left), math.log10(right))
        for bar, height in zip([*then, *now, *bars], heights, strict=True):
            bar.set_height(height)
        curve.set_ydata(effective_share(old, CHANCES))
        (kept,) = effective_share(old, [new])
        point.set_data([new], [kept])
        spread = old * right**2 - new**2  # variance of rho R, where R = 1 on the right
        return {
            "left": left,
            "right": right,
            "effective": WALKS * kept,
            "std": math.sqrt(spread / WALKS),
            "fresh": math.sqrt(new * (1 - new) / WALKS),
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "old",
            CHANCES,
            start=0.1,
            symbol="π_old",
            name={"zh": "旧策略向右的概率", "en": "old policy goes right"},
        ),
        Dial(
            "new",
            CHANCES,
            start=0.9,
            symbol="π",
            name={"zh": "新策略向右的概率", "en": "new policy goes right"},
        ),
    ],
    title={
        "zh": "两种习惯：权重，和它的代价",
        "en": "Two habits: the weights and their price",
    },
    readout={
        "zh": "ρ(←) = {left:.2f}、ρ(→) = {right:.2f}；"
        "100 次记录只值 {effective:.1f} 次；"
        "估计的标准差 {std:.3f}，新策略自己走 100 次是 {fresh:.3f}",
        "en": "ρ(←) = {left:.2f}, ρ(→) = {right:.2f}; "
        "100 walks are worth {effective:.1f}; "
        "std of the estimate {std:.3f}, of 100 fresh walks {fresh:.3f}",
    },
    alt={
        "zh": "三幅小图：旧策略（灰）和新策略（蓝）向左向右的概率；"
        "两个动作的权重 ρ（对数轴）；有效样本量占比随新策略变化的曲线。",
        "en": "Three panels: chances of left and right under the old (grey) and "
        "the new policy (blue); the weight ρ of each action on a log axis; "
        "the effective share of the sample against the new policy.",
    },
)
