"""Sampled at one temperature, trained at another."""

import torch
from torch import tensor

ARROW = "tokens"
SHOWN = "01_tokens_as_actions.ipynb#sampled-at-one-temperature-trained-at-another"
SPEAKS_OF = {"log-probs": "gathered"}
WORDS = {
    "zh": {
        "purpose": "训练时的对数概率",
        "mistake": "采样一个温度，训练一个温度",
        "what": "采样时除以 0.7，训练时忘了。第一步的比率就不是 1，以后每一步也都错。",
        "law": "什么都没更新时，训练算出的对数概率等于采样时记下的。",
    },
    "en": {
        "purpose": "The log-probs of training",
        "mistake": "Sampled at one temperature, trained at another",
        "what": (
            "Sampling divides by 0.7, training forgets. The ratio is not 1 on the "
            "first step, and stays wrong at every step."
        ),
        "law": (
            "Before any update training finds the log-probs that sampling wrote down."
        ),
    },
}


def wrong(logits, temperature):
    return logits.log_softmax(-1)


def right(logits, temperature):
    return (logits / temperature).log_softmax(-1)


def law(f):
    logits, temperature = tensor([2.0, 0.0, 1.0]), 0.7
    scaled = (logits / temperature).exp()
    sampled = (scaled / scaled.sum()).log()
    return torch.allclose(f(logits, temperature), sampled)
