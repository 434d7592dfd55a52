"""One gradient step of a softmax policy with three arms, on the simplex (单纯形)."""

import math

import torch

from tokencredit import reinforce_loss, token_log_probs
from tokencredit.figures import COLORS, Dial, Explorer, canvas

REWARDS = torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64)
STARTS = {
    1.0: (0.2, 0.5, 0.3),
    2.0: (0.34, 0.33, 0.33),
    3.0: (0.02, 0.9, 0.08),
}
RATES = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
SCALES = [-1.0, 0.5, 1.0, 2.0, 4.0]
SHIFTS = [-2.0, -1.0, 0.0, 1.0, 2.0]
STEPS = 24
CORNERS = torch.tensor(
    [[0.5, math.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]], dtype=torch.float64
)


def policy_gradient(logits, rewards):
    """Expected and per-arm gradients (策略梯度) of J = sum_a pi(a) R(a).

    Arm a, when it is drawn, moves the logits along R(a) grad log pi(a); the mean of
    these over the policy is the gradient of J.

    Args:
        logits: `[3]`.
        rewards: `[3]`, one per arm.

    Returns:
        gradient `[3]`, and one row per arm `[3, 3]`.
    """
    arms = torch.arange(3)
    rows = logits.detach().expand(3, 3).clone().requires_grad_()
    log_probs = token_log_probs(rows, arms)
    reinforce_loss(
        log_probs[:, None], torch.zeros(3, 1), rewards[:, None]
    ).sum().backward()
    drawn = -rows.grad
    return log_probs.detach().exp() @ drawn, drawn


def figure():
    """Left the path and the arrows on the simplex, right the expected reward."""
    fig, (left, right) = canvas(1, 2, height=2.8)
    outline = torch.cat([CORNERS, CORNERS[:1]]).T.tolist()
    left.plot(*outline, color=COLORS["grey"], linewidth=1)
    for (x, y), name in zip(CORNERS.tolist(), ("1", "2", "3"), strict=True):
        below = y == 0
        left.text(x, y - 0.09 if below else y + 0.04, f"$a_{name}$", ha="center")
    left.set(xlim=(-0.12, 1.12), ylim=(-0.12, 0.96), aspect="equal")
    left.axis("off")
    tips = [
        left.plot([], [], color=COLORS["orange"], linewidth=1.2)[0] for _ in range(3)
    ]
    (path,) = left.plot([], [], color=COLORS["sky"], linewidth=1.2)
    (step,) = left.plot([], [], color=COLORS["blue"], linewidth=2.4)
    (here,) = left.plot([], [], "o", color=COLORS["ink"], markersize=5)
    (curve,) = right.plot([], [], color=COLORS["blue"])
    right.set(xlim=(0, STEPS), ylim=(-0.03, 1.05), xlabel="$k$", ylabel="$J_k$")
    right.axhline(1, color=COLORS["grey"], linewidth=1, linestyle="--")

    def place(logits):
        return logits.softmax(-1) @ CORNERS

    def update(rate=2.0, scale=1.0, shift=0.0, start=1.0):
        rewards = scale * REWARDS + shift
        logits = torch.tensor(STARTS[start], dtype=torch.float64).log()
        gradient, drawn = policy_gradient(logits, rewards)
        origin = place(logits)
        for tip, direction in zip(tips, drawn, strict=True):
            tip.set_data(*torch.stack([origin, place(logits + rate * direction)]).T)
        step.set_data(*torch.stack([origin, place(logits + rate * gradient)]).T)
        here.set_data([origin[0]], [origin[1]])
        p = logits.softmax(-1)
        variance = p @ (drawn - gradient).square().sum(1)
        size = gradient.norm()
        first = REWARDS @ (logits + rate * gradient).softmax(-1)
        points, scores = [], []
        for _ in range(STEPS + 1):
            points.append(place(logits))
            scores.append((REWARDS @ logits.softmax(-1)).item())
            logits = logits + rate * policy_gradient(logits, rewards)[0]
        path.set_data(*torch.stack(points).T)
        curve.set_data(range(STEPS + 1), scores)
        return {
            "before": scores[0],
            "after": first.item(),
            "size": size.item(),
            "noise": variance.sqrt().item(),
            "last": scores[-1],
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "rate",
            RATES,
            start=2.0,
            symbol="α",
            name={"zh": "学习率", "en": "learning rate"},
        ),
        Dial(
            "scale",
            SCALES,
            start=1.0,
            symbol="c",
            name={"zh": "奖励乘以", "en": "rewards times"},
        ),
        Dial(
            "shift",
            SHIFTS,
            start=0.0,
            symbol="b",
            name={"zh": "奖励加上", "en": "rewards plus"},
        ),
        Dial(
            "start",
            list(STARTS),
            start=1.0,
            symbol="#",
            name={
                "zh": "起点：1 一般，2 均匀，3 尖锐",
                "en": "start: 1 plain, 2 uniform, 3 peaked",
            },
        ),
    ],
    title={
        "zh": "三个动作：单纯形上的一步",
        "en": "Three arms: one step on the simplex",
    },
    readout={
        "zh": "J 从 {before:.3f} 到 {after:.3f}；梯度长 {size:.3f}，"
        "一次抽样的标准差 {noise:.3f}；24 步之后 J = {last:.3f}",
        "en": "J goes from {before:.3f} to {after:.3f}; the gradient has length "
        "{size:.3f}, one draw a standard deviation of {noise:.3f}; "
        "after 24 steps J = {last:.3f}",
    },
    alt={
        "zh": "左：三个动作的概率三角形，黑点是当前策略，蓝线是期望梯度的一步，"
        "三条橙线是抽到各动作时的一步，浅蓝线是之后 24 步的路径。"
        "右：期望奖励随步数的曲线。",
        "en": "Left: the triangle of three probabilities with the policy (black), the "
        "step of the expected gradient (blue), the step when each arm is drawn "
        "(orange) and the next 24 steps (light blue). Right: expected reward by step.",
    },
)
