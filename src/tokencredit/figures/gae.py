"""Advantages of GAE, and their bias and variance against a known truth (偏差与方差)."""

import functools
import math

import torch
import torch.nn.functional as F

from tokencredit import gae
from tokencredit.figures import COLORS, Dial, Explorer, canvas

LENGTH = 7  # tokens of a response
GOOD = 0.6  # probability that the policy writes a good token
EXAMPLE = (1, 0, 1, 1, 0, 1, 0)  # the response of the left panel: it passes
RESPONSES = 64  # averaged in the right panel
GAMMAS = [0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 1.0]
LAMS = [round(0.05 * i, 2) for i in range(21)]
CRITICS = [0.3, 0.45, 0.6]


@functools.cache
def world():
    """Every response of the small world (小世界), with its probability.

    A response has LENGTH tokens, each good with probability GOOD; it passes, and is
    paid 1 on its last token, if the good ones are the majority. A state is the pair
    (tokens written, good ones among them), numbered row by row.

    Returns:
        tokens `[N, T]`, prob `[N]`, rewards `[N, T]`, state `[N, T]`, N = 2**T.
    """
    tokens = torch.arange(2**LENGTH)[:, None] >> torch.arange(LENGTH) & 1
    prob = torch.where(tokens == 1, GOOD, 1 - GOOD).double().prod(1)
    passed = (tokens.sum(1) > LENGTH // 2).double()
    rewards = F.pad(passed[:, None], (LENGTH - 1, 0))
    state = torch.arange(LENGTH) * (LENGTH + 1) + tokens.cumsum(1) - tokens
    return tokens, prob, rewards, state


@functools.cache
def exact_values(good, gamma):
    """Values of all states (价值) when good tokens have probability `good`.

    V = (I - gamma P)^-1 r, solved as a linear system; states that cannot be reached,
    and those after the last token, have value 0.

    Args:
        good: probability of a good token under the policy that is evaluated.
        gamma: discount.

    Returns:
        one value per state, `[(LENGTH + 1)**2]`, float64.
    """
    size = LENGTH + 1
    step = torch.zeros(size, size, size, size, dtype=torch.float64)
    pay = torch.zeros(size, size, dtype=torch.float64)
    for t in range(LENGTH):
        for x in range(t + 1):
            step[t, x, t + 1, x + 1], step[t, x, t + 1, x] = good, 1 - good
    last = torch.arange(LENGTH)
    half = LENGTH // 2
    pay[-2, :-1] = good * (last + 1 > half) + (1 - good) * (last > half)
    system = torch.eye(size**2) - gamma * step.reshape(size**2, size**2)
    return torch.linalg.solve(system, pay.ravel())


@functools.cache
def true_gradient():
    """Gradient of P(pass) with respect to one logit per state (真梯度), by autograd."""
    tokens, _, rewards, state = world()
    logit = math.log(GOOD / (1 - GOOD))
    logits = torch.full(((LENGTH + 1) ** 2,), logit, dtype=torch.float64)
    logits.requires_grad_()
    signed = torch.where(tokens == 1, logits[state], -logits[state])
    chance = F.logsigmoid(signed).sum(1).exp() @ rewards[:, -1]
    return torch.autograd.grad(chance, logits)[0]


@functools.cache
def advantages(gamma, lam, critic):
    """Advantages of every response `[N, T]`, by the course's `gae`.

    Args:
        gamma: discount.
        lam: GAE's mixing dial.
        critic: good-token probability of the policy that the critic evaluates.

    Returns:
        `[N, T]`, float64.
    """
    _, _, rewards, state = world()
    values = exact_values(critic, gamma)[state]
    return gae(rewards, values, gamma=gamma, lam=lam)


@functools.cache
def bias_variance(gamma, lam, critic):
    """Squared bias and variance of one response's policy gradient, both exact.

    In units of the squared length of the true gradient (gamma = 1). One response
    estimates g = sum_t A_t grad log pi(a_t | s_t); the expectation runs over all
    responses.

    Args:
        gamma: discount.
        lam: GAE's mixing dial.
        critic: good-token probability of the policy that the critic evaluates.

    Returns:
        (squared bias, variance).
    """
    tokens, prob, _, state = world()
    score = (tokens - GOOD) * advantages(gamma, lam, critic)
    truth = true_gradient()
    grads = torch.zeros(len(prob), len(truth), dtype=torch.float64)
    grads = grads.scatter_add(1, state, score)
    mean = prob @ grads
    unit = truth.square().sum()
    bias2 = (mean - truth).square().sum() / unit
    variance = prob @ (grads - mean).square().sum(1) / unit
    return bias2.item(), variance.item()


def figure():
    """Left one response's advantages, right bias and variance over lambda."""
    fig, (left, right) = canvas(1, 2, left=0.62)
    row = sum(bit << t for t, bit in enumerate(EXAMPLE))
    true = advantages(1.0, 0.0, GOOD)[row].tolist()
    left.set(xlim=(-0.6, LENGTH - 0.4), ylim=(-0.25, 1.0))
    left.set(xlabel="$t$", ylabel="$A_t$")
    left.set_xticks(range(LENGTH), [f"{'✗✓'[bit]}" for bit in EXAMPLE])
    left.axhline(0, color=COLORS["grey"], linewidth=0.6)
    bars = left.bar(range(LENGTH), [0.0] * LENGTH, width=0.6, color=COLORS["blue"])
    left.hlines(
        true,
        [t - 0.4 for t in range(LENGTH)],
        [t + 0.4 for t in range(LENGTH)],
        color=COLORS["vermilion"],
        linewidth=2,
    )
    left.text(-0.5, 0.9, r"$A_t$", color=COLORS["blue"])
    left.text(-0.5, 0.78, r"$A^\pi$", color=COLORS["vermilion"])
    right.set(xlim=(-0.02, 1.02), ylim=(0, 0.7), xlabel=r"$\lambda$")
    names = {
        r"$b^2$": COLORS["vermilion"],
        rf"$\sigma^2$ / {RESPONSES}": COLORS["blue"],
        rf"$b^2 + \sigma^2$ / {RESPONSES}": COLORS["ink"],
    }
    curves = []
    for place, (name, color) in enumerate(names.items()):
        curves += right.plot([], [], color=color, linewidth=2)
        right.text(0.03, 0.64 - 0.06 * place, name, color=color)
    (marker,) = right.plot([0, 0], [0, 0.7], "--", color=COLORS["grey"], linewidth=1)

    def update(gamma=1.0, lam=0.95, q=0.3):
        heights = advantages(gamma, lam, q)[row].tolist()
        for bar, height in zip(bars, heights, strict=True):
            bar.set_height(height)
        pairs = [bias_variance(gamma, x, q) for x in LAMS]
        bias2 = [b for b, _ in pairs]
        noise = [v / RESPONSES for _, v in pairs]
        total = [b + n for b, n in zip(bias2, noise, strict=True)]
        for curve, numbers in zip(curves, (bias2, noise, total), strict=True):
            curve.set_data(LAMS, numbers)
        marker.set_xdata([lam, lam])
        now_bias2, now_variance = bias_variance(gamma, lam, q)
        return {
            "bias2": now_bias2,
            "noise": now_variance / RESPONSES,
            "total": now_bias2 + now_variance / RESPONSES,
            "best": LAMS[total.index(min(total))],
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "gamma",
            GAMMAS,
            start=1.0,
            symbol="γ",
            name={"zh": "折扣因子", "en": "discount"},
        ),
        Dial(
            "lam",
            LAMS,
            start=0.95,
            symbol="λ",
            name={"zh": "GAE 参数", "en": "GAE parameter"},
        ),
        Dial(
            "q",
            CRITICS,
            start=0.3,
            symbol="q",
            name={
                "zh": "价值网络评估的旧策略（0.6 为精确）",
                "en": "older policy the critic evaluates (0.6: exact)",
            },
        ),
    ],
    title={
        "zh": "每个词元的优势，以及估计的偏差与方差",
        "en": "Advantages per token; bias and variance of the estimate",
    },
    readout={
        "zh": "偏差 b² {bias2:.3f} + 方差 σ²/64 {noise:.3f} = {total:.3f}；"
        "此时最好的 λ 是 {best:.2f}",
        "en": "bias b² {bias2:.3f} + variance σ²/64 {noise:.3f} = {total:.3f}; "
        "the best λ here is {best:.2f}",
    },
    alt={
        "zh": "左图：一个通过的回答里七个词元的优势柱，短横线是真优势。"
        "右图：偏差平方、方差除以 64 与两者之和随 λ 变化的三条曲线，"
        "竖线是当前的 λ。",
        "en": "Left: bars for the advantages of the seven tokens of one passing "
        "response, dashes at the true advantages. Right: squared bias, variance over "
        "64 and their sum as curves over λ, with a vertical line at the current λ.",
    },
)
