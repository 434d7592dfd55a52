"""Group mean against leave-one-out (留一法): bias and variance over the group size."""

import functools
import math

import torch

from tokencredit import group_relative, leave_one_out
from tokencredit.figures import COLORS, Dial, Explorer, canvas

REWARDS = (1.0, 0.0, 3.0)
SIZES = list(range(2, 17))
LEVELS = [0.0, 0.5, 1.0, 2.0, 4.0]  # added to all rewards
TILTS = [-2.0, -1.5, -1.0, -0.5, 0.5, 1.0]  # logit of the best action
RULES = ("centred", "leave-one-out", "raw")


@functools.cache
def groups(size):
    """Every group of that size, up to the order of its members.

    Args:
        size: responses per group.

    Returns:
        members `[N, size]`, actions in rising order, and the number of orders `[N]`.
    """
    counts = [
        (i, j, size - i - j) for i in range(size + 1) for j in range(size + 1 - i)
    ]
    members = [[0] * i + [1] * j + [2] * k for i, j, k in counts]
    orders = [math.comb(size, i) * math.comb(size - i, j) for i, j, _ in counts]
    return torch.tensor(members), torch.tensor(orders, dtype=torch.float64)


def policy(tilt):
    """Probabilities of three actions `[3]` and their scores `[3, 3]`."""
    logits = torch.tensor([0.0, 0.5, tilt], dtype=torch.float64)
    prob = logits.softmax(0)
    return prob, torch.eye(3, dtype=torch.float64) - prob


def true_gradient(tilt):
    """Gradient of the expected reward (真梯度); adding a number changes nothing."""
    prob, scores = policy(tilt)
    return prob @ (scores * torch.tensor(REWARDS, dtype=torch.float64)[:, None])


@functools.cache
def bias_variance(rule, size, tilt, level):
    """Squared bias and variance of a group's gradient estimate, exact.

    In units of the squared length of the true gradient.

    Args:
        rule: "centred" (minus the group mean), "leave-one-out" or "raw".
        size: responses per group.
        tilt: logit of the third action.
        level: added to all rewards.

    Returns:
        (squared bias, variance).
    """
    prob, scores = policy(tilt)
    members, orders = groups(size)
    rewards = (torch.tensor(REWARDS, dtype=torch.float64) + level)[members]
    ids = torch.arange(len(members))[:, None].expand_as(members).reshape(-1)
    deltas = {
        "centred": lambda flat: group_relative(flat, ids, scale=False),
        "leave-one-out": lambda flat: leave_one_out(flat, ids),
        "raw": lambda flat: flat,
    }[rule](rewards.reshape(-1))
    estimates = (deltas.reshape(members.shape)[..., None] * scores[members]).mean(1)
    chance = orders * prob[members].prod(1)
    mean = chance @ estimates
    truth = true_gradient(tilt)
    unit = truth.square().sum()
    variance = chance @ (estimates - mean).square().sum(1)
    bias2 = (mean - truth).square().sum()
    return (bias2 / unit).item(), (variance / unit).item()


def figure():
    """Left the variance of three rules over G, right bias against variance."""
    fig, (left, right) = canvas(1, 2, width=3.2, height=2.3, left=0.62)
    left.set(xlim=(1.5, 16.5), ylim=(0.03, 120), yscale="log", xlabel="$G$")
    left.set_ylabel(r"$\sigma^2$")
    right.set(xlim=(1.5, 16.5), ylim=(0, 1.6), xlabel="$G$")
    right.set_ylabel(r"$\Delta^2,\ \sigma^2$")
    for ax in (left, right):
        ax.set_xticks([2, 4, 8, 16])
    left.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    left.minorticks_off()
    lines, colors = {}, ("vermilion", "blue", "grey")
    signs = (r"$\bar R$", r"$\bar R_{-i}$", "$0$")
    for place, rule in enumerate(RULES):
        color = COLORS[colors[place]]
        (lines[rule],) = left.plot(SIZES, [1] * len(SIZES), ".-", color=color)
        left.text(10 + 2.2 * place, 55, signs[place], color=color)
    left.text(8.4, 55, "$b =$")
    (bias,) = right.plot(SIZES, [0] * len(SIZES), "--", color=COLORS["vermilion"])
    (noise,) = right.plot(SIZES, [0] * len(SIZES), color=COLORS["vermilion"])
    (free,) = right.plot(SIZES, [0] * len(SIZES), color=COLORS["blue"])
    right.text(
        8, 1.42, r"$\bar R$: $\Delta^2$ (- -), $\sigma^2$", color=COLORS["vermilion"]
    )
    right.text(8, 1.26, r"$\bar R_{-i}$: $\sigma^2$", color=COLORS["blue"])
    marks = [ax.plot([2, 2], [0, 120], ":", color=COLORS["ink"])[0] for ax in fig.axes]

    def update(size=4, tilt=-0.5, level=0.0):
        size = int(size)
        found = {
            rule: [bias_variance(rule, n, tilt, level) for n in SIZES] for rule in RULES
        }
        for rule, line in lines.items():
            line.set_ydata([v for _, v in found[rule]])
        bias.set_ydata([b for b, _ in found["centred"]])
        noise.set_ydata([v for _, v in found["centred"]])
        free.set_ydata([v for _, v in found["leave-one-out"]])
        for mark in marks:
            mark.set_xdata([size, size])
        now = {rule: found[rule][SIZES.index(size)] for rule in RULES}
        return {
            "bias2": now["centred"][0],
            "noise": now["centred"][1],
            "free": now["leave-one-out"][1],
            "raw": now["raw"][1],
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "size",
            SIZES,
            start=4,
            symbol="G",
            name={"zh": "组大小", "en": "group size"},
        ),
        Dial(
            "tilt",
            TILTS,
            start=-0.5,
            symbol="z₃",
            name={"zh": "最好动作的 logit", "en": "logit of the best action"},
        ),
        Dial(
            "level",
            LEVELS,
            start=0.0,
            symbol="c",
            name={"zh": "给所有奖励加的数", "en": "added to every reward"},
        ),
    ],
    title={
        "zh": "组均值与留一法：偏差和方差随组大小的变化",
        "en": "Group mean and leave-one-out: bias and variance over the group size",
    },
    readout={
        "zh": "组均值：偏差² {bias2:.3f}，方差 {noise:.3f}；"
        "留一法：偏差² 0，方差 {free:.3f}；不减基线：方差 {raw:.3f}",
        "en": "group mean: bias² {bias2:.3f}, variance {noise:.3f}; leave-one-out: "
        "bias² 0, variance {free:.3f}; no baseline: variance {raw:.3f}",
    },
    alt={
        "zh": "左图：组均值、留一法、不减基线三种估计的方差随组大小下降的曲线，"
        "对数坐标。右图：组均值的偏差平方与方差，以及留一法的方差。竖线是当前的组大小。",
        "en": "Left: variance over the group size, on a log scale, for the group mean, "
        "leave-one-out and no baseline. Right: squared bias and variance of the group "
        "mean, and the variance of leave-one-out. A vertical line marks the current "
        "group size.",
    },
)
