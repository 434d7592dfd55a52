"""A denominator that counts the dropped."""

import torch
from torch import tensor

ARROW = "weight"
SHOWN = "10_dapo.ipynb#do-dropped-groups-count-in-the-denominator"
SPEAKS_OF = {"loss": "batch", "aggregate": "batch"}
WORDS = {
    "zh": {
        "purpose": "过滤被截断的回答之后求平均",
        "mistake": "丢掉的词元还算在分母里",
        "what": (
            "被截断的回答不训练，它的损失清零了，词元数却还留在分母里。这一批里被截断的越多，"
            "留下的词元就越轻，而被截断的回答恰好最长。Adam 会抵消固定的倍数，"
            "抵消不了每批都不同的倍数。"
        ),
        "law": "批里多一条不训练的回答，损失不变。",
    },
    "en": {
        "purpose": "A mean after responses that were cut off are dropped",
        "mistake": "A denominator that counts the dropped",
        "what": (
            "A response that was cut off is not trained and its loss is set to 0, but "
            "its tokens still count in the denominator. The more responses are cut "
            "off, the less the others weigh, and those that are cut off are the "
            "longest. Adam undoes a constant factor, but not one that changes with "
            "every batch."
        ),
        "law": "One more response that is not trained leaves the loss as it is.",
    },
}


def wrong(losses, mask, truncated):
    kept = mask & ~truncated[:, None]
    return torch.where(kept, losses, 0).sum() / mask.sum().clamp(min=1)


def right(losses, mask, truncated):
    kept = mask & ~truncated[:, None]
    return torch.where(kept, losses, 0).sum() / kept.sum().clamp(min=1)


def law(f):
    losses, truncated = tensor([[1.0, 3.0], [5.0, 5.0]]), tensor([False, True])
    mask = losses > 0
    return f(losses, mask, truncated) == f(losses[:1], mask[:1], truncated[:1])
