"""DAPO's soft overlong penalty (软超长惩罚), and the reward with it."""

import torch

from tokencredit import soft_overlong
from tokencredit.figures import COLORS, Dial, Explorer, canvas

LIMITS = [16384, 20480]
CACHES = [1024, 2048, 4096, 8192]
LENGTHS = list(range(2048, 24577, 2048))
GRID = list(range(0, 24577, 512))


def penalty(lengths, limit, cache):
    """The penalty (惩罚) at each length, by the course's function."""
    return soft_overlong(torch.tensor(lengths), max_length=limit, cache=cache).tolist()


def figure():
    """Left the penalty over the length, right the rewards of right and wrong."""
    fig, axes = canvas(1, 2, left=0.66)
    curve, total = axes
    (bare,) = curve.plot(GRID, [0] * len(GRID), "--", color=COLORS["grey"], lw=1)
    (line,) = curve.plot(GRID, [0] * len(GRID), color=COLORS["blue"])
    (point,) = curve.plot([0], [0], "o", color=COLORS["vermilion"])
    (right,) = total.plot(GRID, [1] * len(GRID), color=COLORS["blue"])
    (wrong,) = total.plot(GRID, [-1] * len(GRID), color=COLORS["vermilion"])
    total.axhline(0, color=COLORS["grey"], linewidth=0.6)
    total.text(600, 1.1, "$R = +1$", color=COLORS["blue"], fontsize=8)
    total.text(600, -0.85, "$R = -1$", color=COLORS["vermilion"], fontsize=8)
    for ax in axes:
        ax.set(xlim=(0, 24576), xlabel="$n$")
        ax.set_xticks([0, 8192, 16384, 24576])
    curve.set(ylim=(-2.1, 0.15), ylabel=r"$R_{\mathrm{length}}$")
    total.set(ylim=(-2.3, 1.4), ylabel=r"$R + R_{\mathrm{length}}$")

    def update(limit=20480, cache=4096, length=18432):
        drop = penalty(GRID, limit, cache)
        line.set_ydata(drop)
        bare.set_ydata([min(0.0, (limit - cache - n) / cache) for n in GRID])
        (here,) = penalty([length], limit, cache)
        point.set_data([length], [here])
        right.set_ydata([1 + x for x in drop])
        wrong.set_ydata([-1 + x for x in drop])
        return {
            "begin": limit - cache,
            "penalty": here,
            "good": 1 + here,
            "bad": -1 + here,
            "bare": min(0.0, (limit - cache - length) / cache),
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "limit",
            LIMITS,
            start=20480,
            symbol="L_max",
            name={"zh": "生成上限", "en": "generation limit"},
        ),
        Dial(
            "cache",
            CACHES,
            start=4096,
            symbol="L_cache",
            name={"zh": "斜坡的宽度", "en": "width of the ramp"},
            fine=False,
        ),
        Dial(
            "length",
            LENGTHS,
            start=18432,
            symbol="n",
            name={"zh": "回答的词元数", "en": "tokens of the response"},
        ),
    ],
    title={
        "zh": "软超长惩罚：从哪里开始，到哪里为止",
        "en": "The soft overlong penalty: where it begins and ends",
    },
    readout={
        "zh": "斜坡从 {begin:.0f} 开始；这里扣 {penalty:.3f}（没有下限时 {bare:.3f}）；"
        "答对得 {good:.3f}，答错得 {bad:.3f}",
        "en": "the ramp begins at {begin:.0f}; here {penalty:.3f} "
        "(without a floor {bare:.3f}); right gives {good:.3f}, wrong {bad:.3f}",
    },
    alt={
        "zh": "左图：惩罚随长度的折线，先是 0，再线性降到 −1，之后不变；"
        "虚线是没有下限的写法。右图：答对与答错的总奖励。",
        "en": "Left: the penalty against the length, 0, then a ramp down to −1, then "
        "flat; dashed without the floor. Right: total reward of right and wrong.",
    },
)
