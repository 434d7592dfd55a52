"""k1 in the loss."""

import torch
from torch import tensor

ARROW = "gradient"
SHOWN = "07_kl.ipynb#as-losses-the-three-have-different-gradients"
SPEAKS_OF = {"kl": "column"}
WORDS = {
    "zh": {
        "purpose": "放进损失的 KL",
        "mistake": "把 k1 放进损失",
        "what": (
            "值是对的，梯度是 $\\nabla\\log\\pi$ 乘 1，平均恰好为 0：看着在罚，其实只"
            "添噪声。"
        ),
        "law": "按策略求平均，梯度就是 KL 的梯度。",
    },
    "en": {
        "purpose": "A KL to put into the loss",
        "mistake": "k1 in the loss",
        "what": (
            "Its value is right, its gradient is $\\nabla\\log\\pi$ times 1, and the "
            "mean of that is exactly 0: a penalty that only adds noise."
        ),
        "law": "Its mean gradient, drawn from the policy, is that of the KL.",
    },
}


def wrong(log_probs, ref_log_probs):
    return log_probs - ref_log_probs


def right(log_probs, ref_log_probs):
    return (log_probs - ref_log_probs).square() / 2


def law(f):
    logits = tensor([1.0, 0.0, -1.0], requires_grad=True)
    ours, ref = logits.log_softmax(0), tensor([0.2, 0.3, 0.5]).log()
    p = ours.exp()
    drawn, kl = (p.detach() * f(ours, ref)).sum(), (p * (ours - ref)).sum()
    (ours_moves,) = torch.autograd.grad(drawn, logits, retain_graph=True)
    (kl_moves,) = torch.autograd.grad(kl, logits)
    return torch.allclose(ours_moves, kl_moves)
