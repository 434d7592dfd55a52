"""The clipped value loss (价值裁剪) and its gradient, against the new prediction."""

import torch

from tokencredit import value_loss
from tokencredit.figures import COLORS, Dial, Explorer, canvas

CLIPS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0]
RETURNS = [-1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0, 1.5]
VALUES = [-0.95, -0.65, -0.35, -0.15, 0.05, 0.25, 0.45, 0.65, 0.85, 1.05, 1.35]
GRID = [round(-1.0 + 0.1 * i, 1) for i in range(26)]  # -1 ... 1.5
JUST = 1e-6  # beside an edge, never on it: the gradient jumps there


def loss_and_slope(values, target, clip):
    """Clipped value loss and its slope at each prediction, by the course's loss.

    The recorded prediction is 0: L = max((v - R)^2, (clamp(v, -e, e) - R)^2) / 2.

    Args:
        values: new predictions, relative to the recorded one.
        target: the return R, relative to the recorded prediction.
        clip: the range e; None for the plain half square.

    Returns:
        two lists: the losses and the slopes dL/dv.
    """
    v = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    returns = torch.full_like(v, target)
    loss = value_loss(v, torch.zeros_like(v), returns, clip=clip)
    (slope,) = torch.autograd.grad(loss.sum(), v)
    return loss.tolist(), slope.tolist()


def dead_zone(target, clip):
    """Where the gradient is 0: between the clip edge and its mirror image in R.

    Args:
        target: the return, relative to the recorded prediction.
        clip: the range e.

    Returns:
        (low, high), or (0, 0) when the return is within reach.
    """
    if abs(target) <= clip:
        return 0.0, 0.0
    edge = clip if target > 0 else -clip
    return tuple(sorted((edge, 2 * target - edge)))


def figure():
    """Left the loss over the new prediction, right its gradient, dead zone shaded."""
    fig, axes = canvas(1, 2, left=0.62)
    lines, dots, zones = [], [], []
    for ax, label, top in zip(axes, ("$L$", r"$dL\,/\,dv$"), (2.2, 2.6), strict=True):
        low = -0.1 if label == "$L$" else -top
        ax.set(xlim=(-1.05, 1.55), ylim=(low, top), ylabel=label)
        ax.set_xlabel(r"$v - V_{\mathrm{old}}$")
        ax.axhline(0, color=COLORS["grey"], linewidth=0.6)
        zones.append(ax.axvspan(0, 1, color=COLORS["vermilion"], alpha=0.15, lw=0))
        (plain,) = ax.plot([], [], "--", color=COLORS["grey"], linewidth=1)
        (line,) = ax.plot([], [], color=COLORS["blue"], linewidth=2)
        (dot,) = ax.plot([], [], "o", color=COLORS["ink"])
        lines.append((plain, line))
        dots.append(dot)
    (goal,) = axes[0].plot([0, 0], [-0.1, 2.2], ":", color=COLORS["green"])
    goal_name = axes[0].text(0, 2.0, " $R$", color=COLORS["green"])

    def update(clip=0.5, target=1.0, value=0.65):
        low, high = dead_zone(target, clip)
        knots = sorted({*GRID, low - JUST, low + JUST, high - JUST, high + JUST})
        clipped = loss_and_slope(knots, target, clip)
        plain = loss_and_slope(GRID, target, None)
        here = loss_and_slope([value], target, clip)
        for i, zone in enumerate(zones):
            zone.set_bounds(low, 0, high - low, 1)
            lines[i][0].set_data(GRID, plain[i])
            lines[i][1].set_data(knots, clipped[i])
            dots[i].set_data([value], here[i])
        goal.set_xdata([target, target])
        goal_name.set_x(target)
        return {"loss": here[0][0], "slope": here[1][0], "width": high - low}

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "clip",
            CLIPS,
            start=0.5,
            symbol="e",
            name={"zh": "价值裁剪范围", "en": "value clip range"},
        ),
        Dial(
            "target",
            RETURNS,
            start=1.0,
            symbol="R",
            name={"zh": "回报减旧预测", "en": "return minus old prediction"},
        ),
        Dial(
            "value",
            VALUES,
            start=0.65,
            symbol="v",
            name={"zh": "新预测减旧预测", "en": "new prediction minus old"},
        ),
    ],
    title={
        "zh": "价值裁剪：价值网络一次能走多远",
        "en": "Value clip: how far a critic may move",
    },
    readout={
        "zh": "损失 {loss:.3f}，梯度 {slope:.3f}；死区宽 {width:.2f}",
        "en": "loss {loss:.3f}, gradient {slope:.3f}; dead zone {width:.2f} wide",
    },
    alt={
        "zh": "左图：裁剪后的价值损失随新预测变化的曲线，虚线是不裁剪的平方损失，"
        "点线是回报。右图：它的梯度，在阴影死区里等于零。",
        "en": "Left: the clipped value loss against the new prediction, the plain "
        "square dashed, the return dotted. Right: its gradient, zero in the shaded "
        "dead zone.",
    },
)
