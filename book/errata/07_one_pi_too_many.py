"""One π too many."""

import torch
from torch import tensor

ARROW = "reward"
SHOWN = "07_kl.ipynb#three-traps-in-computing-the-kl"
SPEAKS_OF = {"kl": "column"}
WORDS = {
    "zh": {
        "purpose": "在抽到的词元上估计 KL",
        "mistake": "多乘了一个 π",
        "what": (
            "在抽到的词元上写 $\\pi(\\log\\pi-\\log\\pi_{\\text{ref}})$。抽样已经按 "
            "$\\pi$ 加过权了，再乘一次就成了 $\\sum\\pi^2 d$。"
        ),
        "law": "按策略对词元求平均，得到的就是 KL。",
    },
    "en": {
        "purpose": "The KL, estimated at the token drawn",
        "mistake": "One π too many",
        "what": (
            "At the token drawn, $\\pi(\\log\\pi-\\log\\pi_{\\text{ref}})$. The draw "
            "has weighted by $\\pi$ already; once more gives $\\sum\\pi^2 d$."
        ),
        "law": "Its mean over tokens, drawn from the policy, is the KL.",
    },
}


def wrong(log_probs, ref_log_probs):
    return log_probs.exp() * (log_probs - ref_log_probs)


def right(log_probs, ref_log_probs):
    return log_probs - ref_log_probs


def law(f):
    p, q = tensor([0.7, 0.2, 0.1]), tensor([0.2, 0.3, 0.5])
    kl = (p * (p / q).log()).sum()
    return torch.isclose((p * f(p.log(), q.log())).sum(), kl)
