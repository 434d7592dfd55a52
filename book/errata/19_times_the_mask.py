"""Multiplying by 0 instead of selecting."""

import torch
from torch import tensor

ARROW = "weight"
SHOWN = "04_returns_credit.ipynb#the-loss-only-action-tokens-enter"
SPEAKS_OF = {"loss": "batch", "aggregate": "batch"}
WORDS = {
    "zh": {
        "purpose": "只对训练的位置求平均",
        "mistake": "用乘以 0 代替选择",
        "what": (
            "0 乘 NaN 还是 NaN。不训练的位置上可能写着任何东西，"
            "所以应当选择，不应当相乘。"
        ),
        "law": "不训练的位置上写什么，结果都不变。",
    },
    "en": {
        "purpose": "A mean over what is trained",
        "mistake": "Multiplying by 0 instead of selecting",
        "what": (
            "0 times NaN is NaN. Anything may stand in a place that is not trained, "
            "so select instead of multiplying."
        ),
        "law": (
            "Whatever stands in a place that is not trained, the result is the same."
        ),
    },
}


def wrong(losses, mask):
    return (losses * mask).sum() / mask.sum().clamp(min=1)


def right(losses, mask):
    return torch.where(mask, losses, 0.0).sum() / mask.sum().clamp(min=1)


def law(f):
    mask = tensor([True, True, False])
    clean, dirty = tensor([1.0, 3.0, 0.0]), tensor([1.0, 3.0, float("nan")])
    return f(clean, mask) == f(dirty, mask)
