"""A method that is not there."""

import copy

import torch
from torch import nn

ARROW = "reward"
SHOWN = "../book/sorting.ipynb#a-wrong-ratio"
SPEAKS_OF = {"reference": "plain"}
WORDS = {
    "zh": {
        "purpose": "参考模型",
        "mistake": "不存在的方法",
        "what": (
            "参考模型用 `model.clone()` 复制。网络没有这个方法；那一支从没有人跑过，"
            "所以没有人看见。"
        ),
        "law": "那一支能跑；策略再动，参考不动。",
    },
    "en": {
        "purpose": "A reference model",
        "mistake": "A method that is not there",
        "what": (
            "The reference model is copied with `model.clone()`. Networks have no "
            "such method; nobody ran that branch, so nobody saw it."
        ),
        "law": "The branch runs, and the reference stays when the policy moves.",
    },
}


def wrong(model):
    return model.clone()


def right(model):
    return copy.deepcopy(model).requires_grad_(False)


def law(f):
    policy = nn.Linear(2, 2)
    try:
        reference = f(policy)
    except AttributeError:
        return False
    before = reference.weight.clone()
    nn.init.zeros_(policy.weight)
    return torch.equal(reference.weight, before)
