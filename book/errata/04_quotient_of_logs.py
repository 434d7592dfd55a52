"""A quotient of logarithms for the ratio."""

from torch import tensor

ARROW = "weight"
SHOWN = "../book/sorting.ipynb#a-wrong-ratio"
SPEAKS_OF = {"loss": "value slope", "ratio": "column"}
WORDS = {
    "zh": {
        "purpose": "重要性采样比率",
        "mistake": "两个对数相除当比率",
        "what": (
            "能跑，形状也对。可是对数概率是负数，除一下方向就反了：概率升高，“比率”反"
            "而下降。"
        ),
        "law": "变得更可能的词元，比率大于 1。",
    },
    "en": {
        "purpose": "The importance ratio",
        "mistake": "A quotient of logarithms for the ratio",
        "what": (
            "It runs and the shapes fit. But log-probabilities are negative, and "
            "dividing turns the direction round: the probability rises and the ratio "
            "falls."
        ),
        "law": "A token that has become likelier has a ratio above 1.",
    },
}


def wrong(log_probs, old_log_probs):
    return log_probs / old_log_probs


def right(log_probs, old_log_probs):
    return (log_probs - old_log_probs).exp()


def law(f):
    return f(tensor(0.2).log(), tensor(0.1).log()) > 1
