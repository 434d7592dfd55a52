"""The KL estimators (KL 估计): their values, and their expected gradients as a loss."""

import torch

from tokencredit import kl_penalty
from tokencredit.figures import COLORS, Dial, Explorer, canvas

CHANCES = [round(0.05 * i, 2) for i in range(1, 20)]  # 0.05 ... 0.95
REFERENCES = [0.01, 0.02, *CHANCES, 0.98, 0.99]
GAPS = [round(-4 + 0.2 * i, 1) for i in range(41)]  # the axis of d
SHOWN = {"k1": "grey", "k2": "vermilion", "k3": "blue"}


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


def figure():
    """Left the estimators over d with the two tokens, right their gradients over p."""
    fig, (left, right) = canvas(1, 2)
    gaps = torch.tensor(GAPS, dtype=torch.float64)
    dots, curves = {}, {}
    for k, (name, color) in enumerate(SHOWN.items()):
        values = kl_penalty(gaps, torch.zeros_like(gaps), name)
        left.plot(GAPS, values.tolist(), color=COLORS[color], linewidth=1)
        (dots[name],) = left.plot([], [], "o", color=COLORS[color])
        left.text(0.2, 8 - 1.2 * k, f"$k_{name[1]}$", color=COLORS[color])
        (curves[name],) = right.plot([], [], color=COLORS[color])
    left.axhline(0, color=COLORS["ink"], linewidth=0.6)
    left.set(xlim=(-4.2, 4.7), ylim=(-4.2, 9), xlabel="$d$", ylabel="$k$")
    (here,) = right.plot([0, 0], [-1.6, 1.6], ":", color=COLORS["ink"], linewidth=1)
    right.set(xlim=(0, 1), ylim=(-1.6, 1.6), xlabel=r"$\pi(a_1)$")
    right.set_ylabel(r"$\partial\,/\,\partial z_1$")

    def update(p=0.8, q=0.3):
        gap = both(p) - both(q)
        for name, dot in dots.items():
            values = kl_penalty(both(p), both(q), name)
            dot.set_data(gap.tolist(), values.tolist())
            curves[name].set_data(CHANCES, expected_gradient(CHANCES, q, name))
        here.set_xdata([p, p])
        return {
            "kl": moments(p, q, "k1")[0],
            "k2": moments(p, q, "k2")[0],
            "std1": moments(p, q, "k1")[1],
            "std3": moments(p, q, "k3")[1],
            "reverse": expected_gradient([p], q, "k2")[0],
            "forward": expected_gradient([p], q, "k3")[0],
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "p",
            CHANCES,
            start=0.8,
            symbol="π",
            name={"zh": "策略给第一个词元的概率", "en": "policy, first token"},
        ),
        Dial(
            "q",
            REFERENCES,
            start=0.3,
            symbol="ref",
            name={"zh": "参考给第一个词元的概率", "en": "reference, first token"},
        ),
    ],
    title={
        "zh": "两个词元：三种 KL 估计和它们的梯度",
        "en": "Two tokens: three KL estimators and their gradients",
    },
    readout={
        "zh": "KL {kl:.3f}；k2 的均值 {k2:.3f}；标准差 k1 {std1:.3f}、k3 {std3:.3f}；"
        "作为损失的期望梯度：k1 0，k2 {reverse:+.3f}，k3 {forward:+.3f}",
        "en": "KL {kl:.3f}; mean of k2 {k2:.3f}; std k1 {std1:.3f}, k3 {std3:.3f}; "
        "expected gradient as a loss: k1 0, k2 {reverse:+.3f}, k3 {forward:+.3f}",
    },
    alt={
        "zh": "左：k1、k2、k3 随对数比 d 变化的曲线，圆点是两个词元各自的值。"
        "右：三种估计作为损失时，期望梯度随策略概率变化的曲线，k1 恒为零，"
        "竖虚线是当前策略。",
        "en": "Left: k1, k2 and k3 against the log-ratio d, dots at the two tokens. "
        "Right: the expected gradient of each as a loss against the policy's "
        "probability, zero throughout for k1, a dotted line at the current policy.",
    },
)
