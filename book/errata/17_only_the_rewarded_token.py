"""Only the rewarded token learns."""

import torch
from torch import tensor

ARROW = "credit"
SHOWN = (
    "02_policy_gradient.ipynb#exercise-2-find-the-bug-only-the-end-token-was-trained"
)
SPEAKS_OF = {"returns": "row plain"}
WORDS = {
    "zh": {
        "purpose": "从末尾的奖励到优势",
        "mistake": "只有得奖励的词元在学",
        "what": "奖励放在最后一个词元上，就直接拿它当优势。至多学会什么时候停。",
        "law": "奖励不是 0，一条回答里的每个动作词元就都分到功劳。",
    },
    "en": {
        "purpose": "From a reward at the end to advantages",
        "mistake": "Only the rewarded token learns",
        "what": (
            "The reward sits on the last token and is taken for the advantage as it "
            "stands. At most it teaches when to stop."
        ),
        "law": (
            "Unless the reward is 0, every action token of the response receives "
            "credit."
        ),
    },
}


def wrong(rewards, mask):
    return torch.where(mask, rewards, 0.0)


def right(rewards, mask):
    return torch.where(mask, rewards[mask].sum(), 0.0)


def law(f):
    mask = tensor([False, True, True, True])
    return (f(tensor([0.0, 0.0, 0.0, 1.0]), mask)[mask] != 0).all()
