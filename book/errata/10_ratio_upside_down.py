"""CISPO's ratio upside down."""

import torch
from torch import tensor

ARROW = "weight"
SHOWN = "11_gspo_cispo.ipynb#two-common-mistakes-and-a-one-line-test-for-each"
SPEAKS_OF = {"ratio": "column"}
WORDS = {
    "zh": {
        "purpose": "CISPO 的权重，裁剪之前",
        "mistake": "CISPO 的比率写反了",
        "what": (
            "权重写成了 $\\pi_{\\text{old}}/\\pi_\\theta$。方向一样，所以照样在学；只"
            "是越该重视的词元，权重越小。"
        ),
        "law": "没有裁剪时，用旧策略抽样再加权，等于用新策略抽样。",
    },
    "en": {
        "purpose": "The weight of CISPO before the clip",
        "mistake": "CISPO's ratio upside down",
        "what": (
            "The weight became $\\pi_{\\text{old}}/\\pi_\\theta$. The sign is the "
            "same, so it still learns; but the more a token matters, the less it "
            "weighs."
        ),
        "law": (
            "Without a clip, the mean of weighted draws from the old policy is that "
            "of the new one."
        ),
    },
}


def wrong(log_probs, old_log_probs):
    return (old_log_probs - log_probs).exp()


def right(log_probs, old_log_probs):
    return (log_probs - old_log_probs).exp()


def law(f):
    old, new = tensor([0.9, 0.1]), tensor([0.1, 0.9])
    reward = tensor([0.0, 1.0])
    mean = (old * f(new.log(), old.log()) * reward).sum()
    return torch.isclose(mean, (new * reward).sum())
