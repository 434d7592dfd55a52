"""Sampling temperature (采样温度) and nucleus: distribution, entropy, first ratios."""

import torch

from tokencredit import entropy, token_log_probs
from tokencredit.figures import COLORS, Dial, Explorer, canvas

LOGITS = torch.tensor([3.0, 2.2, 1.5, 0.6, -0.4, -1.5], dtype=torch.float64)
TAUS = [round(0.1 * i, 1) for i in range(1, 31)]
NUCLEI = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0]


def sampler(tau, top_p):
    """Probabilities that tokens are drawn with (采样分布).

    The logits are divided by the temperature; then the most likely tokens are kept, as
    few as reach `top_p` together, and the rest gets probability 0.

    Args:
        tau: temperature, > 0.
        top_p: mass to keep, in (0, 1]; 1 keeps every token.

    Returns:
        one probability per token, and the mass that was kept.
    """
    tokens = torch.arange(len(LOGITS))
    rows = LOGITS.expand(len(LOGITS), -1)
    p = token_log_probs(rows, tokens, temperature=tau).exp()
    before = p.cumsum(0) - p  # the logits stand in falling order
    live = (before < top_p) | (top_p == 1)
    kept = p.where(live, torch.zeros_like(p))
    return kept / kept.sum(), kept.sum().item()


def nats(p):
    """Entropy (熵) of a distribution that may hold zeros."""
    return entropy(p.log()).item()


def figure():
    """Left the distribution that is sampled from, right its entropy over tau."""
    fig, (left, right) = canvas(1, 2)
    places = range(len(LOGITS))
    plain, _ = sampler(1.0, 1.0)
    bars = left.bar(places, [0.0] * len(places), width=0.6, color=COLORS["blue"])
    left.hlines(
        plain.tolist(),
        [k - 0.4 for k in places],
        [k + 0.4 for k in places],
        color=COLORS["vermilion"],
        linewidth=2,
    )
    left.set(xlim=(-0.6, len(places) - 0.4), ylim=(0, 1.02), ylabel="$p$")
    left.set_xticks(places, [f"$a_{k + 1}$" for k in places])
    left.text(5.4, 0.92, r"$\tau$, top-$p$", color=COLORS["blue"], ha="right")
    left.text(5.4, 0.82, r"$\tau = 1$", color=COLORS["vermilion"], ha="right")
    top = nats(torch.ones_like(plain) / len(plain))
    right.axhline(top, color=COLORS["grey"], linewidth=1, linestyle="--")
    right.text(0.1, top + 0.04, r"$\log V$", color=COLORS["grey"])
    (curve,) = right.plot([], [], color=COLORS["blue"])
    (point,) = right.plot([0], [0], "o", color=COLORS["blue"])
    right.set(xlim=(0, 3.05), ylim=(-0.05, 2.0), xlabel=r"$\tau$", ylabel="$H$")

    def update(tau=1.0, top_p=1.0):
        p, mass = sampler(tau, top_p)
        for bar, height in zip(bars, p.tolist(), strict=True):
            bar.set_height(height)
        curve.set_data(TAUS, [nats(sampler(x, top_p)[0]) for x in TAUS])
        now = nats(p)
        point.set_data([tau], [now])
        return {
            "entropy": now,
            "drawn": (p > 0).sum().item(),
            "mass": mass,
            "ratio": (plain[0] / p[0]).item(),
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "tau",
            TAUS,
            start=1.0,
            symbol="τ",
            name={"zh": "采样温度", "en": "sampling temperature"},
        ),
        Dial(
            "top_p",
            NUCLEI,
            start=1.0,
            symbol="top-p",
            name={"zh": "保留的概率", "en": "mass to keep"},
        ),
    ],
    title={
        "zh": "温度：采样分布与它的熵",
        "en": "Temperature: what is sampled from, and its entropy",
    },
    readout={
        "zh": "熵 {entropy:.3f} nat；还能抽到的词元 {drawn:.0f} 个；"
        "若训练时按 τ = 1 且不截，第一个词元的比率一开始就是 {ratio:.3f}",
        "en": "entropy {entropy:.3f} nats; {drawn:.0f} tokens can be drawn; "
        "if training reads τ = 1 without a cut, the first token's ratio starts at "
        "{ratio:.3f}",
    },
    alt={
        "zh": "左：六个词元的采样概率（蓝柱）和温度 1 时的概率（橙色短横线）。"
        "右：熵随温度变化的曲线，圆点是当前温度，虚线是上限 log V。",
        "en": "Left: the probabilities of six tokens as sampled (blue bars) and at "
        "temperature 1 (orange dashes). Right: entropy over temperature, a dot at the "
        "current one, a dashed line at the bound log V.",
    },
)
