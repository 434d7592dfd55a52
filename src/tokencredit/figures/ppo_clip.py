"""PPO's clipped objective (裁剪目标) and its gradient, for either sign of A."""

import torch

from tokencredit import ppo_clip_loss
from tokencredit.figures import COLORS, Dial, Explorer, canvas

LOWS = [round(0.05 * i, 2) for i in range(13)]  # 0 ... 0.6
HIGHS = [round(0.04 * i, 2) for i in range(16)]  # 0 ... 0.6, with 0.20 and 0.28
SIGNS = [-1, 1]
LARGEST = 2.0  # right end of the ratio axis
SLOPE = r"$\partial L\,/\,\partial \log \pi$"
JUST = 1e-6  # beside an edge, never on it: the gradient jumps there


def objective(ratios, sign, low, high):
    """Value and slope of the objective (目标) at each ratio, by the course's loss.

    L = min(rho A, clip(rho, 1 - low, 1 + high) A) and dL/d log pi, for A = sign.

    Args:
        ratios: points on the ratio axis, above 0.
        sign: the advantage, -1 or 1.
        low: distance of the lower bound from 1.
        high: distance of the upper bound from 1.

    Returns:
        two lists: the values and the slopes.
    """
    log_ratio = torch.tensor(ratios, dtype=torch.float64).log().requires_grad_()
    advantages = torch.full_like(log_ratio, sign)
    value = -ppo_clip_loss(
        log_ratio, log_ratio, advantages, clip_low=low, clip_high=high
    )
    (slope,) = torch.autograd.grad(value.sum(), log_ratio)
    return value.tolist(), slope.tolist()


def figure():
    """Left the objective over the ratio, right its gradient, dead zone shaded."""
    fig, axes = canvas(1, 2)
    lines, zones = [], []
    for ax, label in zip(axes, ("$L$", SLOPE), strict=True):
        ax.set(xlim=(0, LARGEST), ylim=(-2.1, 2.1), xlabel=r"$\rho$", ylabel=label)
        ax.set_xticks([0, 0.5, 1, 1.5, 2])
        ax.axhline(0, color=COLORS["grey"], linewidth=0.6)
        ax.axvline(1, color=COLORS["grey"], linewidth=0.6)
        zones.append(ax.axvspan(0, 1, color=COLORS["vermilion"], alpha=0.15, lw=0))
        (plain,) = ax.plot([], [], "--", color=COLORS["grey"], linewidth=1)
        (line,) = ax.plot([], [], color=COLORS["blue"], linewidth=2)
        lines.append((plain, line))
    axes[0].text(1.03, -1.95, r"$\rho = 1$", color=COLORS["grey"], fontsize=8)

    def update(clip_low=0.2, clip_high=0.2, advantage=1):
        down, up = 1 - clip_low, 1 + clip_high
        dead = (up, LARGEST) if advantage > 0 else (0.0, down)
        edge = up if advantage > 0 else down
        knots = sorted([JUST, edge - JUST, edge + JUST, LARGEST])
        curves = objective(knots, advantage, clip_low, clip_high)
        for (plain, line), numbers in zip(lines, curves, strict=True):
            plain.set_data([0, LARGEST], [0, advantage * LARGEST])
            line.set_data(knots, numbers)
        for zone in zones:
            zone.set_bounds(dead[0], 0, dead[1] - dead[0], 1)
        value, slope = objective([0.5, 1.5], advantage, clip_low, clip_high)
        return {
            "edge": edge,
            "value_low": value[0],
            "slope_low": slope[0],
            "value_high": value[1],
            "slope_high": slope[1],
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "clip_low",
            LOWS,
            start=0.2,
            symbol="ε₋",
            name={"zh": "下侧裁剪范围", "en": "clip range below"},
        ),
        Dial(
            "clip_high",
            HIGHS,
            start=0.2,
            symbol="ε₊",
            name={"zh": "上侧裁剪范围", "en": "clip range above"},
        ),
        Dial(
            "advantage",
            SIGNS,
            start=1,
            symbol="A",
            name={"zh": "优势的符号", "en": "sign of the advantage"},
        ),
    ],
    title={
        "zh": "裁剪后的目标，和它的死区",
        "en": "The clipped objective and its dead zone",
    },
    readout={
        "zh": "死区从 ρ = {edge:.2f} 开始；"
        "ρ = 0.5：值 {value_low:.2f}，梯度 {slope_low:.2f}；"
        "ρ = 1.5：值 {value_high:.2f}，梯度 {slope_high:.2f}",
        "en": "the dead zone starts at ρ = {edge:.2f}; "
        "ρ = 0.5: value {value_low:.2f}, gradient {slope_low:.2f}; "
        "ρ = 1.5: value {value_high:.2f}, gradient {slope_high:.2f}",
    },
    alt={
        "zh": "左图：目标 L 随比率 ρ 变化的折线，虚线是不裁剪的 ρA。"
        "右图：目标对 log π 的梯度，在阴影死区里等于零。",
        "en": "Left: the objective L against the ratio ρ, the unclipped ρA dashed. "
        "Right: its gradient with respect to log π, zero in the shaded dead zone.",
    },
)
