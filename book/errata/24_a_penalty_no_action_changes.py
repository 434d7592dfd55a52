"""A penalty that no action changes."""

import torch
from torch import tensor

ARROW = "credit"
SHOWN = (
    "16_what_came_after.ipynb"
    "#reward-on-policy-distillation-a-teacher-scores-every-token"
)
SPEAKS_OF = {"distillation": "column"}
WORDS = {
    "zh": {
        "purpose": "同策略蒸馏的优势",
        "mistake": "惩罚与采样到的词元无关",
        "axis": "成功率",
        "lines": ("每个位置一个惩罚", "每个词元一个分"),
        "what": (
            "每个位置先对整个词表算出离老师的 KL，再把这个数当作采样到的词元的优势。"
            "可是在同一个位置，抽到哪个词元，惩罚都一样大。它就是一个基线，"
            "期望梯度恰好为 0。"
        ),
        "trained": (
            "没有判分，只有老师，每条曲线是一个种子：这种惩罚只让策略来回摇摆，"
            "给每个词元各打各的分才学得会。"
        ),
        "law": "按策略求平均，策略梯度就是 −KL 的梯度。",
    },
    "en": {
        "purpose": "The advantages of on-policy distillation",
        "mistake": "A penalty that no action changes",
        "axis": "success rate",
        "lines": ("a penalty a position", "a score a token"),
        "what": (
            "At every position the KL to the teacher is computed over the whole "
            "vocabulary, and this number becomes the advantage of the token that was "
            "drawn. But at one position the penalty is the same whichever token is "
            "drawn. It is a baseline, and its expected gradient is exactly 0."
        ),
        "trained": (
            "No verdict, only a teacher, a line per seed: under such a "
            "penalty the policy wanders, and a score for each token teaches the task."
        ),
        "law": "Averaged over the policy, the policy gradient is that of −KL.",
    },
}
TRAINED = (("one penalty a position", "success"), ("a score a token", "success"))


def wrong(log_probs, teacher):
    kl = (log_probs.exp() * (log_probs - teacher)).sum()
    return -kl.expand_as(log_probs)  # of every token that could be drawn


def right(log_probs, teacher):
    return teacher - log_probs


def law(f):
    logits = tensor([1.0, 0.0, -1.0], requires_grad=True)
    ours, teacher = logits.log_softmax(0), tensor([0.2, 0.3, 0.5]).log()
    p = ours.exp()
    A = f(ours, teacher).detach()
    drawn, kl = (p.detach() * A * ours).sum(), (p * (ours - teacher)).sum()
    (ours_moves,) = torch.autograd.grad(drawn, logits, retain_graph=True)
    (kl_moves,) = torch.autograd.grad(-kl, logits)
    return torch.allclose(ours_moves, kl_moves, atol=1e-6)
