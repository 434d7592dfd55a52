"""The clipped value loss (价值裁剪) and its gradient, against the new prediction."""

from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, number, scene, tile
from tokenbook.languages.glossary import terms
from tokencredit import value_loss

CLIPS = [0.1, 0.2, 0.3, 0.5, 0.7, 1.0]
RETURNS = [-0.8, -0.4, 0.2, 0.6, 1.0, 1.4]
VALUES = [-0.95, -0.65, -0.35, -0.15, 0.05, 0.25, 0.45, 0.65, 0.85, 1.05, 1.35]
GRID = [round(-1.0 + 0.1 * i, 1) for i in range(26)]  # -1 ... 1.5
JUST = 1e-6  # beside an edge, never on it: the gradient jumps there
TOP = 2.0


@cache
def loss_and_slope(value, target, clip):
    """Clipped value loss and its slope at one prediction, by the course's loss.

    The recorded prediction is 0: L = max((v - G)^2, (clamp(v, -e, e) - G)^2) / 2.

    Args:
        value: the new prediction, relative to the recorded one.
        target: the return G, relative to the recorded prediction.
        clip: the range e; None for the plain half square.

    Returns:
        the loss and its slope dL/dv.
    """
    v = torch.tensor([value], dtype=torch.float64, requires_grad=True)
    goal = torch.full_like(v, target)
    loss = value_loss(v, torch.zeros_like(v), goal, clip=clip)
    (slope,) = torch.autograd.grad(loss.sum(), v)
    return loss.item(), slope.item()


def dead_zone(target, clip):
    """Interval of zero gradient: from the clip edge to its mirror image in G.

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


@cache
def curve(target, clip):
    """The loss over the axis; with a clip, its two kinks are points of it."""
    low, high = dead_zone(target, clip) if clip else (0.0, 0.0)
    knots = sorted([*GRID, max(low, -1.0), min(high, 1.5)])
    return [(v, loss_and_slope(v, target, clip)[0]) for v in knots]


def draw(L, clip, target, value):
    low, high = dead_zone(target, clip)
    loss, slope = loss_and_slope(value, target, clip)
    _, pull = loss_and_slope(value, target, None)
    dead = abs(slope) < 1e-9
    plot = Plot(
        x=(-1.05, 1.55),
        y=(-0.1, TOP),
        x_name=L("新预测 − 旧预测", "new prediction − old one"),
        y_name=L("损失", "loss"),
        x_ticks=[-1, -0.5, 0, 0.5, 1, 1.5],
        y_ticks=[0, 1, 2],
        height=250,
    )
    plot.area(max(low, -1.05), min(high, 1.55), -0.1, TOP, "off", show=high > low)
    plot.rule(y=0)
    plot.rule(x=0, look="dotted")
    plot.rule(x=target, look="dashed")
    plot.line(curve(target, None), "old thin dashed")
    plot.line(curve(target, clip), "ink")
    plot.text(0, TOP - 0.7, L("旧预测", "old"), "boxed quiet")
    goal = min(target, 1.3)  # below the grip, inside the edge
    plot.text(goal, TOP - 0.4, L("目标 G", "target G"), "boxed strong")
    words = L("梯度是 0", "no gradient")
    plot.text(
        (max(low, -1.05) + min(high, 1.55)) / 2,
        TOP - 1.05,
        words,
        "boxed",
        show=not (high - low < 0.5),
    )
    tip = max(-1.0, min(1.5, value - 0.3 * slope))
    plot.arrow(value, loss, tip, loss, "ink", show=not dead)
    plot.dot(value, loss, "off" if dead else "sel")
    plot.drag(x=("value", VALUES))
    plot.grip((clip, TOP - 0.1), x=("clip", CLIPS), look="edge")
    plot.grip((value, -0.1), x=("value", VALUES))
    return scene(
        plot,
        tiles=[
            tile(
                L("裁剪后的梯度", "gradient, clipped"),
                number(slope),
                L("停在这里", "it stays here") if dead else L("还在走", "it moves"),
                look="off" if dead else "",
            ),
            tile(
                L("不裁剪的梯度", "gradient, plain"),
                number(pull),
                L("平方误差", "squared error"),
            ),
            tile(
                L("死区宽", "width of dead zone"),
                number(high - low),
                L("梯度是 0 的一段", "where the gradient is 0"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("value", VALUES, 0.65, ("新预测", "new prediction"), "v", fmt=".2f"),
        Dial("clip", CLIPS, 0.5, terms("clip_range"), "e"),
        Dial("target", RETURNS, 1.0, ("目标", "target"), "G"),
    ],
    title=(
        "预测朝目标走够 e，价值裁剪就不再推它，走反了仍拉得回来",
        "A value clip stops a prediction after a move of e, but not on the wrong side",
    ),
    alt=(
        "横轴是新预测，纵轴是损失。虚线是平方误差，实线是裁剪后的损失；斜线区里梯度为"
        "零，箭头是预测将要移动的方向。",
        "The new prediction across, the loss upwards. Dashed is the squared error, "
        "solid the clipped loss; the hatched zone has no gradient, the arrow shows "
        "where the prediction is moved.",
    ),
    presets=[
        Preset(("走够了 e", "moved by e"), value=0.65, clip=0.5, target=1.0),
        Preset(("走反了", "the wrong way"), value=-0.95, clip=0.5, target=1.0),
        Preset(("范围放宽", "a wider range"), value=0.65, clip=1.0, target=1.0),
        Preset(("目标就在范围内", "target in range"), value=0.65, clip=0.5, target=0.2),
    ],
)
