"""GSPO without 1/n."""

import torch
from torch import tensor

ARROW = "weight"
SHOWN = "11_gspo_cispo.ipynb#two-common-mistakes-and-a-one-line-test-for-each"
SPEAKS_OF = {"loss": "mean", "ratio": "mean"}
WORDS = {
    "zh": {
        "purpose": "GSPO 的序列比率",
        "mistake": "GSPO 少了 1/n",
        "what": (
            "整条回答的比率写成了连乘。回答一长，它就飞离 1，几乎没有一条还在 3e-4 的"
            "范围里。"
        ),
        "law": "把各词元的对数比率再抄一遍，序列比率不变。",
    },
    "en": {
        "purpose": "The sequence ratio of GSPO",
        "mistake": "GSPO without 1/n",
        "what": (
            "The ratio of a response became the product. A long response flies off "
            "from 1, and hardly one stays within a range of 3e-4."
        ),
        "law": (
            "Copy the log-ratios of all tokens once more, and the sequence ratio stays."
        ),
    },
}


def wrong(log_ratio):
    return log_ratio.sum().exp()


def right(log_ratio):
    return log_ratio.mean().exp()


def law(f):
    d = tensor([0.1, -0.2, 0.3])
    return torch.isclose(f(torch.cat([d, d])), f(d))
