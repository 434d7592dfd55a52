"""A baseline (基线) on three actions: what it shifts, and what variance it leaves."""

import functools

import torch

from tokencredit import token_log_probs
from tokencredit.figures import COLORS, Dial, Explorer, canvas

REWARDS = (1.0, 0.0, 3.0)
LEVELS = [-2.0, 0.0, 2.0]  # added to all rewards
TILTS = [-2.0, -1.0, 0.0, 1.0, 2.0]  # logit of the best action
BASELINES = [round(-3 + 0.25 * i, 2) for i in range(33)]  # -3 ... 5


@functools.cache
def world(tilt):
    """Probabilities of the three actions and their scores (得分函数), by autograd.

    Args:
        tilt: logit of the third action; those of the others are 0 and 0.5.

    Returns:
        probabilities `[3]`, scores `[3, 3]`: grad log pi(a), one row per action.
    """
    logits = torch.tensor([0.0, 0.5, tilt], dtype=torch.float64, requires_grad=True)
    actions = torch.arange(3)
    log_probs = token_log_probs(logits.expand(3, -1), actions)
    scores = [torch.autograd.grad(x, logits, retain_graph=True)[0] for x in log_probs]
    return log_probs.detach().exp(), torch.stack(scores)


@functools.cache
def mean_variance(tilt, level, baseline):
    """Expected one-sample estimate and its variance, exact over the three actions.

    Args:
        tilt: logit of the third action.
        level: added to all rewards.
        baseline: subtracted from all rewards.

    Returns:
        the mean estimate `[3]` and the variance, summed over the parameters.
    """
    prob, scores = world(tilt)
    delta = torch.tensor(REWARDS, dtype=torch.float64) + level - baseline
    estimates = scores * delta[:, None]
    mean = prob @ estimates
    return mean, (prob @ (estimates - mean).square().sum(1)).item()


def best_baseline(tilt, level):
    """b* = E[|g|^2 R] / E[|g|^2] and the mean reward E[R] (最优基线与平均奖励).

    Args:
        tilt: logit of the third action.
        level: added to all rewards.

    Returns:
        (b*, E[R]).
    """
    prob, scores = world(tilt)
    rewards = torch.tensor(REWARDS, dtype=torch.float64) + level
    size = prob * scores.square().sum(1)
    return (size @ rewards / size.sum()).item(), (prob @ rewards).item()


def figure():
    """Left R - b per action, right the variance over b."""
    fig, (left, right) = canvas(1, 2, left=0.62)
    left.axhline(0, color=COLORS["grey"], linewidth=0.8)
    bars = left.bar(range(3), [0.0] * 3, width=0.55, color=COLORS["blue"])
    names = [left.text(x, -7.6, "", ha="center", fontsize=8) for x in range(3)]
    left.set(xlim=(-0.6, 2.6), ylim=(-8, 8.5), ylabel="$R - b$")
    left.set_xticks(range(3), ["$a_1$", "$a_2$", "$a_3$"])
    right.set(xlim=(-3.1, 5.1), ylim=(0, 8), xlabel="$b$", ylabel=r"$\sigma^2$")
    (curve,) = right.plot([], [], color=COLORS["blue"])
    (mean,) = right.plot([0, 0], [0, 8], ":", color=COLORS["grey"])
    (star,) = right.plot([0, 0], [0, 8], "--", color=COLORS["green"])
    mean_name = right.text(0, 7.4, "", color=COLORS["grey"], ha="right")
    star_name = right.text(0, 6.6, "", color=COLORS["green"])
    (point,) = right.plot([0], [0], "o", color=COLORS["vermilion"])

    def update(b=0.0, tilt=0.0, level=0.0):
        prob, _ = world(tilt)
        for x, bar, name in zip(range(3), bars, names, strict=True):
            bar.set_height(REWARDS[x] + level - b)
            name.set_text(f"{prob[x]:.2f}")
        best, average = best_baseline(tilt, level)
        curve.set_data(BASELINES, [mean_variance(tilt, level, x)[1] for x in BASELINES])
        mean.set_xdata([average, average])
        star.set_xdata([best, best])
        mean_name.set_text(r"$\mathrm{E}[R]$ ")
        star_name.set_text(" $b^*$")
        mean_name.set_x(average)
        star_name.set_x(best)
        gradient, variance = mean_variance(tilt, level, b)
        point.set_data([b], [variance])
        return {
            "gradient": gradient.norm().item(),
            "variance": variance,
            "best": best,
            "least": mean_variance(tilt, level, best)[1],
            "average": average,
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "b",
            BASELINES,
            start=0.0,
            symbol="b",
            name={"zh": "基线", "en": "baseline"},
        ),
        Dial(
            "tilt",
            TILTS,
            start=0.0,
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
        "zh": "基线移动什么，留下多大方差",
        "en": "What a baseline shifts, and the variance it leaves",
    },
    readout={
        "zh": "梯度的长 {gradient:.3f}，方差 {variance:.3f}；"
        "b* = {best:.2f} 处最小，为 {least:.3f}；E[R] = {average:.2f}",
        "en": "length of the gradient {gradient:.3f}, variance {variance:.3f}; least "
        "at b* = {best:.2f}: {least:.3f}; E[R] = {average:.2f}",
    },
    alt={
        "zh": "左图：三个动作的奖励减基线的柱，下面写着各自的概率。"
        "右图：一个样本的梯度估计的方差随基线变化的抛物线，"
        "绿色虚线是最优基线，灰色点线是平均奖励，圆点是当前的基线。",
        "en": "Left: bars of reward minus baseline for three actions, with their "
        "probabilities below. Right: the variance of a one-sample gradient estimate, a "
        "parabola over the baseline, with the optimal baseline as a green dashed line, "
        "the mean reward as a grey dotted one, and a dot at the current baseline.",
    },
)
