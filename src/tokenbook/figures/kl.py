"""The KL estimators (KL 估计): their values, and their expected gradients as a loss."""

from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    number,
    scene,
    side,
    stack,
    tile,
)
from tokenbook.languages.glossary import terms
from tokencredit import kl_penalty

CHANCES = [round(0.05 * i, 2) for i in range(1, 20)]  # 0.05 ... 0.95
REFERENCES = [0.01, 0.05, *(round(0.1 * i, 1) for i in range(1, 10)), 0.95, 0.99]
GAPS = [round(-2.6 + 0.2 * i, 1) for i in range(34)]  # the axis of d
SHOWN = {"k1": "old", "k2": "ink", "k3": "alt"}
DEEPEST, HIGHEST = -2.8, 4.2  # of the axis of d; a dot beyond is drawn at the edge
TALLEST = 9.0


def both(chance):
    """Log-probabilities of two tokens (两个词元) from the probability of the first."""
    p = torch.as_tensor(chance, dtype=torch.float64)
    return torch.stack([p, 1 - p], -1).log()


def moments(p, q, name):
    """Mean and standard deviation of an estimator (期望与标准差), over both tokens.

    Args:
        p: probability of the first token under the policy.
        q: the same under the reference.
        name: "k1", "k2" or "k3".
    """
    chance = both(p).exp()
    values = kl_penalty(both(p), both(q), name)
    mean = chance @ values
    return mean.item(), (chance @ (values - mean).square()).sqrt().item()


def expected_gradient(chances, q, name):
    """Expected gradient of the estimator as a loss (期望梯度), in the first logit.

    Samples come from the policy; only the estimator is differentiated.

    Args:
        chances: probabilities of the first token under the policy.
        q: the same under the reference.
        name: "k1", "k2" or "k3".
    """
    log_p = both(chances)
    logits = log_p.clone().requires_grad_()
    taken = logits.log_softmax(-1)
    loss = log_p.exp() * kl_penalty(taken, both(q).expand_as(taken), name)
    (slope,) = torch.autograd.grad(loss.sum(), logits)
    return slope[:, 0].tolist()


@cache
def values_of(name):
    """The estimator along the axis of d, as points."""
    gaps = torch.tensor(GAPS, dtype=torch.float64)
    values = kl_penalty(gaps, torch.zeros_like(gaps), name).tolist()
    return list(zip(GAPS, values, strict=True))


@cache
def slopes_of(q, name):
    """The expected gradient for every policy, as points."""
    return list(zip(CHANCES, expected_gradient(CHANCES, q, name), strict=True))


@cache
def at(p, q):
    """The log-ratios of both tokens, and the numbers of the readout."""
    gaps = both(p) - both(q)
    dots = {name: kl_penalty(both(p), both(q), name).tolist() for name in SHOWN}
    slopes = {name: expected_gradient([p], q, name)[0] for name in SHOWN}
    return gaps.tolist(), dots, slopes


def draw(L, p, q):
    gaps, dots, slopes = at(p, q)
    left = Plot(
        x=(DEEPEST, HIGHEST + 0.7),  # room for the names of the lines
        y=(-3, TALLEST),
        x_name=L("对数比 d", "log-ratio d"),
        y_name=L("估计的值", "value"),
        x_ticks=[-2, 0, 2, 4],
        y_ticks=[0, 4, 8],
        height=230,
    )
    left.rule(y=0)
    left.rule(x=0, look="dashed")
    right = Plot(
        x=(0, 1.07),
        y=(-1.25, 1.25),
        x_name=L("策略给第一个词元的概率", "policy's probability of the first token"),
        y_name=L("期望梯度", "mean gradient"),
        x_ticks=[0, 0.5, 1],
        y_ticks=[-1, 0, 1],
        height=230,
    )
    right.rule(y=0)
    right.rule(x=q, look="dashed")
    for name, look in SHOWN.items():
        left.line(values_of(name), look)
        right.line(slopes_of(q, name), look)
        for gap, value in zip(gaps, dots[name], strict=True):
            inside = (
                min(max(gap, DEEPEST), HIGHEST),
                min(max(value, -3), TALLEST),
            )
            left.dot(*inside, look)
        right.dot(p, slopes[name], look)
    names = zip(("k₁", "k₂", "k₃"), SHOWN.items(), strict=True)
    ends = [
        (values_of(key)[-1][1], slopes_of(q, key)[-1][1], name, look)
        for name, (key, look) in names
    ]
    left.names(HIGHEST + 0.15, [(min(y, TALLEST), *rest) for y, _, *rest in ends])
    right.names(CHANCES[-1] + 0.02, [(y, *rest) for _, y, *rest in ends])
    right.drag(x=("p", CHANCES))
    right.grip((p, -1.25), x=("p", CHANCES))
    return scene(
        side(
            stack(
                caption(L("抽到一个词元时，估计的值", "Value, for the token drawn")),
                left,
            ),
            stack(
                caption(L("当作损失时的期望梯度", "Mean gradient, used as a loss")),
                right,
            ),
        ),
        tiles=[
            tile(
                L("反向 KL", "reverse KL"),
                number(moments(p, q, "k1")[0], 3),
                L("k₂ 的均值 ", "mean of k₂ ") + number(moments(p, q, "k2")[0], 3),
            ),
            tile(
                L("k₃ 的标准差", "std of k₃"),
                number(moments(p, q, "k3")[1], 3),
                L("k₁ 的 ", "of k₁ ") + number(moments(p, q, "k1")[1], 3),
            ),
            tile(
                L("k₂ 的梯度", "gradient of k₂"),
                number(slopes["k2"], 3, sign=True),
                L("反向 KL", "reverse KL"),
            ),
            tile(
                L("k₃ 的梯度", "gradient of k₃"),
                number(slopes["k3"], 3, sign=True),
                L("正向 KL", "forward KL"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("p", CHANCES, 0.8, terms("policy"), "π", fmt=".2f"),
        Dial("q", REFERENCES, 0.5, ("参考", "reference"), "ref", fmt=".2f"),
    ],
    title=(
        "三种估计都在量同一个 KL，当作损失时的梯度却各不相同",
        "The three estimators measure one KL, but as losses their gradients differ",
    ),
    alt=(
        "左：k1、k2、k3 随对数比 d 变化的曲线，圆点是两个词元各自的值。"
        "右：三种估计作为损失时的期望梯度，k1 恒为零，虚线是参考的概率。",
        "Left: k1, k2 and k3 against the log-ratio d, dots at the two tokens. Right: "
        "the expected gradient of each as a loss, zero throughout for k1; the dashed "
        "line is the reference.",
    ),
    presets=[
        Preset(("两枚硬币", "two coins"), p=0.8, q=0.5),
        Preset(("靠得很近", "close together"), p=0.35, q=0.3),
        Preset(("策略放弃了反面", "policy drops tails"), p=0.95, q=0.5),
        Preset(("参考很集中", "a peaked reference"), p=0.5, q=0.95),
    ],
    wide=True,
    note=(
        "只有两个词元，图中写的都是第一个。落在“估计的值”图外的点画在它的边上。",
        "There are two tokens; the figure speaks of the first. A dot that lies outside "
        "the plot of the values is drawn at its edge.",
    ),
)
