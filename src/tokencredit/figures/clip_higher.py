"""Clip-higher (上侧放宽): how far a token may rise in one batch, and in how many."""

import math

import torch

from tokencredit import ppo_clip_loss
from tokencredit.figures import COLORS, Dial, Explorer, canvas

HIGHS = [round(0.04 * i, 2) for i in range(1, 16)]  # 0.04 ... 0.6, with 0.20 and 0.28
CHANCES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9]
GOAL = 0.5


def reach(old, high):
    """The largest probability (可达概率) at which a good token is still pushed up.

    Args:
        old: a list of probabilities when the batch was sampled.
        high: distance of the upper bound from 1.

    Returns:
        one probability per entry of `old`, at most 1.

    Raises:
        ValueError: the gradient of the course's loss does not end there.
    """
    edge = torch.tensor([1 - 1e-9, 1 + 1e-9], dtype=torch.float64) * (1 + high)
    log_ratio = edge.log().requires_grad_()
    loss = ppo_clip_loss(log_ratio, log_ratio, torch.ones(2), clip_high=high)
    (slope,) = torch.autograd.grad(loss.sum(), log_ratio)
    if slope[0] == 0 or slope[1] != 0:
        raise ValueError(f"the gradient does not end at a ratio of {1 + high}")
    return [min(p * (1 + high), 1.0) for p in old]


def batches(old, high):
    """Batches (批数) to grow from `old` to `GOAL` when each ends at the edge."""
    return max(0, math.ceil(math.log(GOAL / old) / math.log(1 + high) - 1e-12))


def figure():
    """Left the room above each probability, right the batches a token needs."""
    fig, axes = canvas(1, 2, left=0.66)
    room, count = axes
    grid = sorted([i / 50 for i in range(1, 50)] + [1 / 1.2, 1 / 1.28])
    usual = [top - p for top, p in zip(reach(grid, 0.2), grid, strict=True)]
    room.plot(grid, usual, "--", color=COLORS["grey"], linewidth=1)
    (line,) = room.plot(grid, usual, color=COLORS["blue"])
    (point,) = room.plot([0], [0], "o", color=COLORS["vermilion"])
    room.set(xlim=(0, 1), ylim=(0, 0.4), xlabel=r"$\pi_{\mathrm{old}}$")
    room.set(ylabel=r"$\pi_{\max} - \pi_{\mathrm{old}}$")
    (curve,) = count.plot(HIGHS, [1] * len(HIGHS), color=COLORS["blue"])
    (here,) = count.plot([0], [1], "o", color=COLORS["vermilion"])
    count.set(yscale="log", ylim=(0.8, 200), xlim=(0, 0.62), ylabel="$k$")
    count.set(xlabel=r"$\epsilon_{\mathrm{high}}$")
    count.set_yticks([1, 10, 100], ["1", "10", "100"])
    count.minorticks_off()

    def update(clip_high=0.28, old=0.01):
        *tops, top = reach([*grid, old], clip_high)
        line.set_ydata([x - p for x, p in zip(tops, grid, strict=True)])
        point.set_data([old], [top - old])
        needed = [max(batches(old, high), 0.8) for high in HIGHS]
        curve.set_ydata(needed)
        here.set_data([clip_high], [max(batches(old, clip_high), 0.8)])
        return {
            "top": top,
            "edge": old * (1 + clip_high),
            "room": top - old,
            "batches": batches(old, clip_high),
            "usual": batches(old, 0.2),
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "clip_high",
            HIGHS,
            start=0.28,
            symbol="ε₊",
            name={"zh": "上侧裁剪范围", "en": "clip range above"},
        ),
        Dial(
            "old",
            CHANCES,
            start=0.01,
            symbol="π_old",
            name={"zh": "词元采样时的概率", "en": "probability when sampled"},
            fine=False,
        ),
    ],
    title={
        "zh": "罕见的词元一批之内能升到多少",
        "en": "How far a rare token may rise in one batch",
    },
    readout={
        "zh": "推到 {top:.4f} 为止（上界 {edge:.4f}），一批至多升 {room:.4f}；"
        "到 0.5 至少要 {batches:.0f} 批，ε₊ = 0.2 时要 {usual:.0f} 批",
        "en": "pushed up to {top:.4f} (bound {edge:.4f}), at most {room:.4f} a batch; "
        "to 0.5 it takes {batches:.0f} batches, with ε₊ = 0.2 {usual:.0f}",
    },
    alt={
        "zh": "左图：采样时的概率与一批之内可升的幅度，虚线是 0.2；"
        "中等概率的词元余地最大，罕见的几乎没有。"
        "右图：升到 0.5 所需的批数随上侧范围下降，对数轴。",
        "en": "Left: the room to rise in a batch against the probability when sampled, "
        "0.2 dashed; the most for likely tokens, next to nothing for rare ones. "
        "Right: batches needed to reach 0.5 against the upper range, log axis.",
    },
)
