"""Three actions on the simplex (单纯形): the mean step, and the step of each draw."""

import math
from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    legend,
    number,
    scene,
    side,
    stack,
    tile,
)
from tokenbook.languages.glossary import terms
from tokencredit import reinforce_loss, token_log_probs

REWARDS = torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64)
STARTS = {1: (0.2, 0.5, 0.3), 2: (0.34, 0.33, 0.33), 3: (0.02, 0.9, 0.08)}
RATES = [0.5, 1.0, 2.0, 4.0]
SCALES = [-1.0, 0.5, 1.0, 2.0]
SHIFTS = [-1.0, 0.0, 1.0, 2.0]
STEPS = 24
CORNERS = torch.tensor(
    [[0.5, math.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]], dtype=torch.float64
)


def policy_gradient(logits, rewards):
    """Expected and per-action gradients (策略梯度) of J = sum_a pi(a) R(a).

    Action a, when it is drawn, moves the logits along R(a) grad log pi(a); the mean of
    these over the policy is the gradient of J.

    Args:
        logits: `[3]`.
        rewards: `[3]`, one per action.

    Returns:
        gradient `[3]`, and one row per action `[3, 3]`.
    """
    rows = logits.detach().expand(3, 3).clone().requires_grad_()
    log_probs = token_log_probs(rows, torch.arange(3))
    each = reinforce_loss(log_probs, log_probs.detach() * 0, rewards)
    (slopes,) = torch.autograd.grad(each.sum(), rows)
    return log_probs.detach().exp() @ -slopes, -slopes


@cache
def climb(start, scale, rate):
    """The policy along the mean direction, ``STEPS`` steps: places and J.

    A constant added to the rewards would change nothing, so there is none here.
    """
    logits = torch.tensor(STARTS[start], dtype=torch.float64).log()
    places, means = [], []
    for _ in range(STEPS + 1):
        places.append(tuple((logits.softmax(-1) @ CORNERS).tolist()))
        means.append((REWARDS @ logits.softmax(-1)).item())
        logits = logits + rate * policy_gradient(logits, scale * REWARDS)[0]
    return places, means


def draw(L, rate, scale, shift, start):
    rewards = scale * REWARDS + shift
    logits = torch.tensor(STARTS[start], dtype=torch.float64).log()
    gradient, drawn = policy_gradient(logits, rewards)
    places, means = climb(start, scale, rate)
    here = places[0]

    def reached(step):
        return tuple(((logits + rate * step).softmax(-1) @ CORNERS).tolist())

    triangle = Plot(x=(-0.12, 1.12), y=(-0.13, 1.05), height=256, axes=False)
    triangle.line([tuple(c) for c in (*CORNERS.tolist(), CORNERS[0].tolist())], "old")
    for k, (x, y) in enumerate(CORNERS.tolist()):
        words = f"a{'₁₂₃'[k]}: R = {rewards[k]:g}"
        if y > 0:
            triangle.text(x, y + 0.12, words, "strong")
        else:  # at the edge of the drawing, whatever the words' width
            at, end = (1.12, "right") if x else (-0.12, "left")
            triangle.text(at, y - 0.07, words, "strong", align=end)
    triangle.line(places, "alt thin")
    for step in drawn:
        triangle.line([here, reached(step)], "down")
        triangle.dot(*reached(step), "down")
    triangle.line([here, reached(gradient)], "up")
    triangle.dot(*reached(gradient), "up")
    triangle.dot(*here, "sel")
    curve = Plot(
        x=(0, STEPS),
        y=(0, 1.05),
        x_name=L("更新步", "optimizer steps"),
        y_name=L("平均奖励 J（未加未乘）", "mean reward J (unscaled)"),
        x_ticks=[0, 8, 16, 24],
        y_ticks=[0, 0.5, 1],
        height=210,
    )
    curve.line(list(enumerate(means)), "alt")
    p = logits.softmax(-1)
    noise = (p @ (drawn - gradient).square().sum(1)).sqrt().item()
    size = gradient.norm().item()
    return scene(
        side(
            stack(
                triangle,
                legend(
                    ("up line", L("平均的一步", "mean step")),
                    (
                        "down line",
                        L("抽到某一个动作时的一步", "step when one action is drawn"),
                    ),
                    ("alt line", L("沿平均走 24 步", "24 mean steps")),
                ),
            ),
            stack(
                caption(
                    L(
                        "沿平均方向走，平均奖励怎样变",
                        "Mean reward along the mean direction",
                    )
                ),
                curve,
            ),
            shares=(1.25, 1),
        ),
        tiles=[
            tile(
                L("平均方向的模", "norm of the mean"), number(size), L("信号", "signal")
            ),
            tile(
                L("单次的标准差", "std of one draw"), number(noise), L("噪声", "noise")
            ),
            tile(
                L("噪声 ÷ 信号", "noise ÷ signal"),
                number(noise / size, 1),
                L("单次抽样", "of one draw"),
            ),
            tile(
                L("24 步后的 J", "J after 24 steps"),
                number(means[-1]),
                L("起初 ", "at first ") + number(means[0]),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("rate", RATES, 2.0, terms("learning_rate"), "η", fine=False),
        Dial("scale", SCALES, 1.0, ("奖励乘以", "rewards times"), "×", fine=False),
        Dial("shift", SHIFTS, 0.0, ("奖励加上", "rewards plus"), "+", fine=False),
        Dial(
            "start",
            list(STARTS),
            1,
            ("初始分布的熵", "initial entropy"),
            kind="choice",
            options=[("中", "medium"), ("高", "high"), ("低", "low")],
        ),
    ],
    title=(
        "平均的一步方向正确，单独抽到一个动作的一步常常不对",
        "The mean step points the right way, and the step of one draw often does not",
    ),
    alt=(
        "左：三个动作的概率三角形，琥珀色的点是当前策略，蓝线是平均的一步，"
        "三条橙线是抽到各动作时的一步，紫线是沿平均方向走 24 步。"
        "右：平均奖励随步数变化。",
        "Left: the triangle of three probabilities with the policy as an amber dot, "
        "the mean step in blue, the steps of the three draws in orange, and 24 mean "
        "steps in violet. Right: the mean reward by step.",
    ),
    presets=[
        Preset(("开始", "start"), rate=2.0, scale=1.0, shift=0.0, start=1),
        Preset(("奖励都加 2", "all rewards plus 2"), scale=1.0, shift=2.0),
        Preset(("奖励都减 1", "all rewards minus 1"), scale=1.0, shift=-1.0),
        Preset(("熵很低", "low entropy"), scale=1.0, shift=0.0, start=3),
        Preset(("奖励反号", "rewards reversed"), scale=-1.0, shift=0.0),
    ],
    wide=True,
)
