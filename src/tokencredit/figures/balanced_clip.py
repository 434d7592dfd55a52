"""BAPO's bounds (自适应裁剪): how far they open for a share of positives."""

import torch

from tokencredit import balanced_clip
from tokencredit.figures import COLORS, Dial, Explorer, canvas

COUNT = 400  # tokens of either sign, at the quantiles of their ratio
LOW, HIGH = (0.6, 0.9), (1.2, 3.0)  # start and end of the two bounds
STEPS = [(LOW[0], HIGH[0] + 0.05 * k) for k in range(37)]
STEPS += [(LOW[0] + 0.02 * k, HIGH[1]) for k in range(1, 16)]
SHARES = [round(0.05 * i, 2) for i in range(1, 13)]
TARGETS = [round(0.05 * i, 2) for i in range(2, 13)]
SPREADS = [0.2, 0.5, 0.8]


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


def positive_share(ratio, positive, low, high):
    """Share of A > 0 among the un-clipped weight (正样本的份额), for A = +1 and -1.

    Args:
        ratio: of the tokens of either sign, the same for both.
        positive: share of positive tokens before any clip.
        low: bound below, it silences A < 0.
        high: bound above, it silences A > 0.

    Returns:
        pos / (pos + neg).
    """
    pos = positive * ratio[ratio < high].sum().item()
    neg = (1 - positive) * ratio[ratio > low].sum().item()
    return pos / (pos + neg)


def figure():
    """Left the tokens and the bounds, right the share after every step."""
    fig, axes = canvas(1, 2)
    tokens, path = axes
    edges = torch.linspace(0, 3.2, 33, dtype=torch.float64)
    centres = ((edges[1:] + edges[:-1]) / 2).tolist()
    span = tokens.axvspan(*STEPS[0], color=COLORS["sky"], alpha=0.25, lw=0)
    ups = tokens.bar(centres, [0] * 32, 0.08, color=COLORS["blue"])
    downs = tokens.bar(centres, [0] * 32, 0.08, color=COLORS["vermilion"])
    tokens.axhline(0, color=COLORS["grey"], linewidth=0.6)
    tokens.set(xlim=(0, 3.2), ylim=(-0.14, 0.14), xlabel=r"$\rho$")
    tokens.set_yticks([])
    tokens.text(2.3, 0.11, "$A > 0$", color=COLORS["blue"])
    tokens.text(2.3, -0.125, "$A < 0$", color=COLORS["vermilion"])
    (curve,) = path.plot(range(52), [0] * 52, color=COLORS["grey"])
    (goal,) = path.plot([0, 51], [0, 0], "--", color=COLORS["green"], linewidth=1.2)
    (stop,) = path.plot([0], [0], "o", color=COLORS["blue"])
    path.axvline(36, color=COLORS["grey"], linewidth=0.6)
    path.set(xlim=(-1, 52), ylim=(0, 0.7), xlabel="$k$")
    path.set_ylabel(r"$\mathrm{pos}\,/\,(\mathrm{pos}+\mathrm{neg})$")

    def update(positive=0.4, target=0.4, spread=0.5):
        log_ratio = log_ratios(spread)
        ratio = log_ratio.exp()
        weights = torch.tensor([positive, 1 - positive], dtype=torch.float64)
        both = torch.stack([log_ratio, log_ratio])
        signs = torch.stack([weights[0].expand(COUNT), -weights[1].expand(COUNT)])
        every = torch.ones_like(both, dtype=torch.bool)
        clip_low, clip_high = balanced_clip(both, signs, every, target=target)
        low, high = 1 - clip_low, 1 + clip_high
        shares = [positive_share(ratio, positive, *bounds) for bounds in STEPS]
        k = round((high - HIGH[0]) / 0.05) + round((low - LOW[0]) / 0.02)
        counts = torch.histogram(ratio, edges).hist / COUNT
        for up, down, mass in zip(ups, downs, counts.tolist(), strict=True):
            up.set_height(positive * mass)
            down.set_height((positive - 1) * mass)
        span.set_bounds(low, 0, high - low, 1)
        curve.set_ydata(shares)
        goal.set_ydata([target, target])
        stop.set_data([k], [shares[k]])
        return {"low": low, "high": high, "first": shares[0], "share": shares[k]}

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "positive",
            SHARES,
            start=0.4,
            symbol="p",
            name={"zh": "正优势词元的比例", "en": "share of positive tokens"},
        ),
        Dial(
            "target",
            TARGETS,
            start=0.4,
            symbol="ρ₀",
            name={"zh": "目标份额", "en": "target share"},
        ),
        Dial(
            "spread",
            SPREADS,
            start=0.5,
            symbol="σ",
            name={"zh": "数据有多旧", "en": "how stale the data are"},
            fine=False,
        ),
    ],
    title={
        "zh": "平衡裁剪：上下界开到哪里",
        "en": "Balanced clip: how far the bounds open",
    },
    readout={
        "zh": "比率的界 [{low:.2f}, {high:.2f}]；"
        "正词元的份额从 {first:.3f} 变成 {share:.3f}",
        "en": "bounds on the ratio [{low:.2f}, {high:.2f}]; "
        "share of positive tokens from {first:.3f} to {share:.3f}",
    },
    alt={
        "zh": "左图：正（上）负（下）词元的比率分布，浅色是界内。"
        "右图：份额随步数 k 的变化，虚线是目标，圆点是停下的地方；"
        "竖线左边抬上界，右边抬下界。",
        "en": "Left: ratios of positive (up) and negative (down) tokens, the bounds "
        "shaded. Right: the share after k steps, the target dashed, a dot where it "
        "stops; left of the vertical line the upper bound rises, right of it the "
        "lower one.",
    },
)
