"""Token ratios (词元比率) and the sequence ratio (序列比率): who is clipped."""

import torch

from tokencredit import (
    cispo_loss,
    ppo_clip_loss,
    sequence_log_ratio,
    token_log_ratio,
)
from tokencredit.figures import COLORS, Dial, Explorer, canvas

QUIET = [0.06, -0.04, 0.02, -0.06, 0.05, 0.03, -0.03, 0.04, -0.02, 0.01, -0.05, 0.02]
COUNT = len(QUIET)
PLACES = [4, 7, 9, 2, 10, 6, 0, 11]  # where the odd tokens stand, in order
GAPS = [round(0.5 * i, 1) for i in range(-8, 4)]  # -4 ... 1.5 nats
RANGES = [3.5e-4, 0.03, 0.2]


def token_gaps(gap, odd):
    """Log-ratios (对数比率) of twelve tokens, `odd` of them replaced by `gap`.

    Args:
        gap: log-ratio of an odd token, in nats.
        odd: how many there are.

    Returns:
        a [1, 12] tensor.
    """
    gaps = torch.tensor([QUIET], dtype=torch.float64)
    gaps[0, PLACES[:odd]] = gap
    return gaps


def weights(gaps, advantage, clip):
    """What multiplies A grad log pi at each token (权重), under three losses.

    Args:
        gaps: log-ratios of one sequence, [1, n].
        advantage: 1 or -1, the same for all tokens.
        clip: range of the sequence ratio, both sides.

    Returns:
        three lists: GRPO (range 0.2), GSPO (times n), CISPO (at most 5).
    """
    old, every = torch.full_like(gaps, -6.0), torch.ones_like(gaps, dtype=torch.bool)
    rows = []
    for ratio, loss in (
        (token_log_ratio, ppo_clip_loss),
        (
            sequence_log_ratio,
            lambda *x: ppo_clip_loss(*x, clip_low=clip, clip_high=clip),
        ),
        (token_log_ratio, cispo_loss),
    ):
        log_probs = (old + gaps).requires_grad_()
        A = torch.full_like(gaps, advantage)
        each = loss(log_probs, ratio(log_probs, old, every), A)
        (slope,) = torch.autograd.grad(each.sum(), log_probs)
        rows.append((-slope[0] / advantage).tolist())
    return rows


def figure():
    """Left the log-ratios and their mean, right the weight of each token."""
    fig, axes = canvas(1, 2)
    gap_ax, weight_ax = axes
    xs = list(range(1, COUNT + 1))
    gap_ax.set(xlim=(0.2, COUNT + 0.8), ylim=(-4.3, 2.1), xlabel="$t$")
    gap_ax.set_ylabel(r"$\log \rho_t$")
    gap_ax.axhline(0, color=COLORS["grey"], linewidth=0.6)
    bars = gap_ax.bar(xs, [0] * COUNT, 0.6, color=COLORS["grey"])
    (mean,) = gap_ax.plot([0.2, COUNT + 0.8], [0, 0], color=COLORS["vermilion"])
    gap_ax.text(0.5, -4.1, r"$\log s$", color=COLORS["vermilion"])
    weight_ax.set(xlim=(0.2, COUNT + 0.8), ylim=(-0.2, 5.8), xlabel="$t$")
    weight_ax.set_ylabel(r"$-\partial L\,/\,(A\,\partial \log\pi_t)$")
    marks = {}
    for name, marker, color, size in (
        ("GRPO", "o", "blue", 7),
        ("GSPO", "_", "vermilion", 11),
        ("CISPO", ".", "orange", 4),
    ):
        (marks[name],) = weight_ax.plot(
            xs,
            [0] * COUNT,
            marker,
            color=COLORS[color],
            markersize=size,
            markeredgewidth=2 if marker == "_" else 0.5,
            label=name,
        )
    weight_ax.legend(loc="upper left", ncols=3, columnspacing=0.8, handletextpad=0.1)

    def update(gap=-3.0, odd=2, clip=0.2, advantage=1):
        gaps = token_gaps(gap, odd)
        for bar, height in zip(bars, gaps[0].tolist(), strict=True):
            bar.set_height(height)
        middle = gaps.mean().item()
        mean.set_ydata([middle, middle])
        rows = weights(gaps, advantage, clip)
        for mark, row in zip(marks.values(), rows, strict=True):
            mark.set_ydata(row)
        return {
            "arithmetic": gaps.exp().mean().item(),
            "geometric": gaps.mean().exp().item(),
            "grpo": rows[0].count(0.0),
            "gspo": rows[1].count(0.0),
            "cispo": rows[2].count(0.0),
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "gap",
            GAPS,
            start=-3.0,
            symbol="log ρ",
            name={"zh": "异常词元的对数比率", "en": "log-ratio of an odd token"},
        ),
        Dial(
            "odd",
            [0, 1, 2, 4, 8],
            start=2,
            symbol="k",
            name={"zh": "异常词元的个数", "en": "number of odd tokens"},
            fine=False,
        ),
        Dial(
            "clip",
            RANGES,
            start=0.2,
            symbol="ε",
            name={"zh": "序列比率的裁剪范围", "en": "clip range of the sequence ratio"},
            fine=False,
        ),
        Dial(
            "advantage",
            [-1, 1],
            start=1,
            symbol="A",
            name={"zh": "优势的符号", "en": "sign of the advantage"},
        ),
    ],
    title={
        "zh": "词元比率与序列比率：谁被裁剪，谁有权重",
        "en": "Token ratios and the sequence ratio: who is clipped, who counts",
    },
    readout={
        "zh": "算术平均 {arithmetic:.3f}，几何平均 s = {geometric:.3f}；"
        "12 个词元里没有梯度的：GRPO {grpo:.0f}，GSPO {gspo:.0f}，CISPO {cispo:.0f}",
        "en": "arithmetic mean {arithmetic:.3f}, geometric mean s = {geometric:.3f}; "
        "without gradient, of 12 tokens: GRPO {grpo:.0f}, GSPO {gspo:.0f}, "
        "CISPO {cispo:.0f}",
    },
    alt={
        "zh": "左图：12 个词元的对数比率，横线是它们的平均 log s。"
        "右图：每个词元的权重，圆点是 GRPO，横杠是 GSPO，小点是 CISPO；"
        "落在 0 上的没有梯度。",
        "en": "Left: log-ratios of 12 tokens, the line is their mean log s. "
        "Right: the weight of each token, discs GRPO, dashes GSPO, dots CISPO; "
        "at 0 there is no gradient.",
    },
)
