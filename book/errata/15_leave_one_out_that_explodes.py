"""The scale leaves one out as well."""

import torch
from torch import tensor

ARROW = "credit"
SHOWN = "03_baselines.ipynb#exercise-2-find-the-bug-leave-one-out-that-explodes"
SPEAKS_OF = {"advantage": "grouped"}
WORDS = {
    "zh": {
        "purpose": "留一法，再除以尺度",
        "mistake": "尺度也留一",
        "what": (
            "基线取其余几条的平均，标准差也取其余几条的。其余几条全都一样时，标准差是 "
            "0，优势上百万。"
        ),
        "law": "一组 $G$ 条，优势的绝对值不超过 $\\sqrt G$。",
    },
    "en": {
        "purpose": "Leave-one-out, and then a scale",
        "mistake": "The scale leaves one out as well",
        "what": (
            "The baseline is the mean of the others, and the scale their standard "
            "deviation. When the others are all alike that is 0, and the advantage is "
            "in the millions."
        ),
        "law": "In a group of $G$ no advantage exceeds $\\sqrt G$.",
    },
}


def wrong(rewards):
    out = []
    for i in range(len(rewards)):
        others = torch.cat([rewards[:i], rewards[i + 1 :]])
        out.append((rewards[i] - others.mean()) / (others.std() + 1e-6))
    return torch.stack(out)


def right(rewards):
    n = len(rewards)
    leave_one_out = (rewards - rewards.mean()) * n / (n - 1)
    return leave_one_out / (rewards.std() + 1e-6)


def law(f):
    rewards = tensor([1.0, 0.0, 0.0, 0.0])
    return (f(rewards).abs() <= len(rewards) ** 0.5).all()
