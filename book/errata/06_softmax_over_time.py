"""A softmax over time."""

from torch import tensor

ARROW = "reward"
SHOWN = "07_kl.ipynb#three-traps-in-computing-the-kl"
SPEAKS_OF = {"kl": "column"}
WORDS = {
    "zh": {
        "purpose": "一条回答的 KL 估计",
        "mistake": "沿时间做 softmax",
        "what": (
            "把一条回答的对数概率沿时间做 softmax，再算两边的 KL。它们不是任何策略的"
            "分布；长度为 1 时恒为 0。"
        ),
        "law": "两边的对数概率不同，估计就大于 0，一个词元的回答也不例外。",
    },
    "en": {
        "purpose": "Estimating the KL of a response",
        "mistake": "A softmax over time",
        "what": (
            "The log-probs of a response go through a softmax along time, and a KL is "
            "taken of that. No policy has such distributions; at length 1 it is "
            "always 0."
        ),
        "law": (
            "Where the log-probs differ the estimate is above 0, for a response of "
            "one token as well."
        ),
    },
}


def wrong(log_probs, ref_log_probs):
    p, q = log_probs.log_softmax(0), ref_log_probs.log_softmax(0)
    return (p.exp() * (p - q)).sum()


def right(log_probs, ref_log_probs):
    d = ref_log_probs - log_probs
    return (d.exp() - 1 - d).sum()


def law(f):
    return f(tensor([-1.0]), tensor([-3.0])) > 0
