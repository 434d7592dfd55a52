"""A token mean per micro-batch."""

import torch
from torch import tensor

ARROW = "gradient"
SHOWN = "09_aggregation.ipynb#cut-into-micro-batches"
SPEAKS_OF = {"loss": "joins", "aggregate": "joins"}
WORDS = {
    "zh": {
        "purpose": "几个微批的词元平均",
        "mistake": "每个微批各自求平均",
        "what": "先在微批里按词元平均，再把几个平均数平均。短微批里的词元，从此更重。",
        "law": "怎么切，损失都一样。",
    },
    "en": {
        "purpose": "The token mean of several micro-batches",
        "mistake": "A token mean per micro-batch",
        "what": (
            "The mean over the tokens of a micro-batch, then the mean of those means. "
            "From now on tokens of short micro-batches weigh more."
        ),
        "law": "However it is cut, the loss is the same.",
    },
}


def wrong(parts):
    return torch.stack([part.mean() for part in parts]).mean()


def right(parts):
    return sum(part.sum() for part in parts) / sum(map(len, parts))


def law(f):
    a, b = tensor([1.0, 2.0]), tensor([3.0, 4.0, 5.0, 6.0])
    return f([a, b]) == f([torch.cat([a, b])])
