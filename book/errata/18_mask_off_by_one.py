"""A mask off by one."""

import torch
from torch import tensor

ARROW = "tokens"
SHOWN = "13_trajectories.ipynb#the-mask-goes-with-the-targets"
SPEAKS_OF = {"shift": "row plain"}
WORDS = {
    "zh": {
        "purpose": "哪些输出参加训练",
        "mistake": "掩码错开一格",
        "what": (
            "位置 $j$ 的输出预测第 $j+1$ 个词元，掩码却跟着输入走：第一个动作没有训练，"
            "观测的第一个词元却训练了。"
        ),
        "law": "被训练的输出所预测的，恰好是动作词元。",
    },
    "en": {
        "purpose": "Which outputs are trained",
        "mistake": "A mask off by one",
        "what": (
            "The output at place $j$ predicts token $j+1$, but the mask went with the "
            "input: the first action is not trained, and the first token of the "
            "observation is."
        ),
        "law": "What the trained outputs predict is exactly the action tokens.",
    },
}


def wrong(mask):
    return mask[:-1]


def right(mask):
    return mask[1:]


def law(f):
    mask = tensor([False, False, True, True, False])
    predicted = 1 + f(mask).nonzero()
    return torch.equal(predicted, mask.nonzero())
