"""Advantages of GAE, and their bias and variance against a known truth (偏差与方差)."""

import math
from functools import cache

import torch
import torch.nn.functional as F

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    legend,
    number,
    scene,
    side,
    stack,
    tile,
)
from tokenbook.languages.glossary import terms
from tokencredit import gae

LENGTH = 7  # tokens of a response
GOOD = 0.6  # probability that the policy writes a good token
EXAMPLE = (1, 0, 1, 1, 0, 1, 0)  # the response on the left: it passes
COUNTS = [16, 64, 256, 1024]  # responses that are averaged
GAMMAS = [0.8, 0.95, 1.0]
LAMS = [round(0.05 * i, 2) for i in range(21)]
CRITICS = {"exact": GOOD, "stale": 0.3, "zero": None}  # the policy that it evaluates
TOPS = {0.42: [0, 0.2, 0.4], 1.15: [0, 0.5, 1]}  # of the axis of errors -> its ticks


@cache
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


@cache
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


@cache
def true_gradient():
    """Gradient of P(pass) with respect to one logit per state (真梯度), by autograd."""
    tokens, _, rewards, state = world()
    logit = math.log(GOOD / (1 - GOOD))
    logits = torch.full(((LENGTH + 1) ** 2,), logit, dtype=torch.float64)
    logits.requires_grad_()
    signed = torch.where(tokens == 1, logits[state], -logits[state])
    chance = F.logsigmoid(signed).sum(1).exp() @ rewards[:, -1]
    return torch.autograd.grad(chance, logits)[0]


@cache
def advantages(gamma, lam, critic):
    """Advantages of every response `[N, T]`, by the course's `gae`.

    Args:
        gamma: discount.
        lam: GAE's mixing dial.
        critic: one of CRITICS.

    Returns:
        `[N, T]`, float64.
    """
    _, _, rewards, state = world()
    good = CRITICS[critic]
    values = 0 * rewards if good is None else exact_values(good, gamma)[state]
    return gae(rewards, values, gamma=gamma, lam=lam)


@cache
def bias_variance(gamma, lam, critic):
    """Squared bias and variance of one response's policy gradient, both exact.

    In units of the squared norm of the true gradient (gamma = 1). One response
    estimates g = sum_t A_t grad log pi(a_t | s_t); the expectation runs over all
    responses.

    Args:
        gamma: discount.
        lam: GAE's mixing dial.
        critic: one of CRITICS.

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


def bars(L, gamma, lam, critic):
    """The advantages of one response, with marks at the true ones."""
    row = sum(bit << t for t, bit in enumerate(EXAMPLE))
    true = advantages(1.0, 0.0, "exact")[row].tolist()
    given = advantages(gamma, lam, critic)[row].tolist()
    plot = Plot(
        x=(-0.6, LENGTH - 0.4),
        y=(-0.45, 1.05),
        x_name=L("七个词元，✓ 写好，✗ 写坏", "seven tokens, ✓ good, ✗ bad"),
        y_name=L("优势", "advantage"),
        x_ticks={t: "✗✓"[bit] for t, bit in enumerate(EXAMPLE)},
        y_ticks=[0, 0.5, 1],
        height=190,
    )
    plot.rule(y=0)
    for t, (height, truth) in enumerate(zip(given, true, strict=True)):
        look = "up" if height >= 0 else "down"
        plot.area(t - 0.3, t + 0.3, 0, height, f"{look} mid")
        plot.line([(t - 0.42, truth), (t + 0.42, truth)], "ink")
    return stack(
        plot,
        legend(
            ("up mid", L("估计为正", "estimate > 0")),
            ("down mid", L("估计为负", "estimate < 0")),
            ("ink line", L("真优势", "the true one")),
        ),
    )


@cache
def errors(gamma, critic, responses):
    """Squared bias, variance over the responses, and their sum, at each lambda."""
    pairs = [bias_variance(gamma, lam, critic) for lam in LAMS]
    return [(b, v / responses, b + v / responses) for b, v in pairs]


def draw(L, lam, critic, responses, gamma):
    found = errors(gamma, critic, responses)
    bias2, variance = bias_variance(gamma, lam, critic)
    noise, total = variance / responses, bias2 + variance / responses
    best = min(range(len(LAMS)), key=lambda k: found[k][2])
    top = min(TOPS) if max(e[2] for e in found) < min(TOPS) else max(TOPS)
    plot = Plot(
        x=(-0.03, 1.03),
        y=(0, top),
        x_name="λ",
        y_name=L("误差", "error"),
        x_ticks=[0, 0.5, 1],
        y_ticks=TOPS[top],
        height=190,
    )
    for k, look in enumerate(("alt", "old", "ink")):
        points = [(x, min(e[k], 2 * top)) for x, e in zip(LAMS, found, strict=True)]
        plot.line(points, look)
    plot.rule(x=lam, look="dotted")
    plot.dot(LAMS[best], found[best][2], "ink")
    plot.dot(lam, min(total, top), "sel")
    plot.drag(x=("lam", LAMS))
    return scene(
        side(
            bars(L, gamma, lam, critic),
            stack(
                plot,
                legend(
                    ("alt line", L("偏差平方 b²", "squared bias b²")),
                    ("old line", L("方差 σ²/N", "variance σ²/N")),
                    ("ink line", L("两者之和，圆点处最低", "sum, lowest at the dot")),
                ),
            ),
            shares=(1, 1.1),
        ),
        tiles=[
            tile(
                L("偏差平方 b²", "squared bias b²"),
                number(bias2),
                L("再多回答也消不掉", "more data do not help"),
                look="alt",
            ),
            tile(
                L("方差 σ²/N", "variance σ²/N"),
                number(noise),
                L(f"{responses} 条取平均", f"mean of {responses}"),
                look="old",
            ),
            tile(
                L("总误差", "total error"),
                number(total),
                L("1：等于没有梯度", "1: like no gradient"),
            ),
            tile(
                L("此时最好的 λ", "best λ here"),
                f"{LAMS[best]:.2f}",
                L("总误差 ", "total ") + number(found[best][2]),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("lam", LAMS, 1.0, terms("gae_lambda"), "λ"),
        Dial(
            "critic",
            list(CRITICS),
            "stale",
            terms("critic"),
            fmt="",
            kind="choice",
            options=[("精确", "exact"), ("过时", "stale"), ("恒为 0", "always 0")],
        ),
        Dial("responses", COUNTS, 64, ("回答条数", "responses"), "N", fine=False),
        Dial("gamma", GAMMAS, 1.0, terms("discount"), "γ", fine=False),
    ],
    title=(
        "λ 增大，价值网络带来的偏差变小，后面词元带来的方差变大",
        "A larger λ has less bias from the critic and more variance from the outcome",
    ),
    alt=(
        "左图：一条通过的回答里七个词元的优势柱，横线是真优势。右图：偏差平方、方差除"
        "以 N、两者之和随 λ 变化的三条曲线。",
        "Left: bars for the advantages of the seven tokens of a passing response, with "
        "lines at the true ones. Right: squared bias, variance over N and their sum as "
        "curves over λ.",
    ),
    presets=[
        Preset(
            ("过时，λ = 1", "stale, λ = 1"),
            lam=1.0,
            critic="stale",
            responses=64,
            gamma=1.0,
        ),
        Preset(("过时，λ = 0", "stale, λ = 0"), lam=0.0, critic="stale", gamma=1.0),
        Preset(("精确，λ = 0", "exact, λ = 0"), lam=0.0, critic="exact", gamma=1.0),
        Preset(("恒为 0，λ = 1", "always 0, λ = 1"), lam=1.0, critic="zero", gamma=1.0),
        Preset(
            ("1024 条回答", "1024 responses"), lam=0.95, critic="stale", responses=1024
        ),
        Preset(("γ = 0.8", "γ = 0.8"), lam=1.0, critic="exact", gamma=0.8),
    ],
    wide=True,
)
