"""Masking by a product."""

import torch
from torch import tensor

SHOWN = "04_returns_credit.ipynb#the-loss-only-action-tokens-enter"
WORDS = {
    "zh": {
        "purpose": "遮住之后的平均",
        "mistake": "用乘法去遮",
        "what": "0 乘 NaN 还是 NaN。遮住的位置上有什么，不归你管；要选，不要乘。",
        "law": "遮住的位置上写什么，结果都不变。",
    },
    "en": {
        "purpose": "A mean under a mask",
        "mistake": "Masking by a product",
        "what": (
            "0 times NaN is NaN. What stands in a masked place is none of your "
            "business; select, do not multiply."
        ),
        "law": "Whatever stands in a masked place, the result is the same.",
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
