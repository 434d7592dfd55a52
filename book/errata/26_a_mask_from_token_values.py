"""A mask from token values."""

import torch
from torch import tensor

ARROW = "tokens"
SHOWN = "01_tokens_as_actions.ipynb#where-a-response-ends"
SPEAKS_OF = {"mask": "plain"}
WORDS = {
    "zh": {
        "purpose": "哪些词元是回答，填充符就是结束符",
        "mistake": "按词元的值做掩码",
        "axis": "成功率",
        "lines": ("结束符不训练", "训练"),
        "what": (
            "分词器没有填充符，于是拿结束符来填充，再把等于它的位置都当成填充。"
            "真正的结束符也一起去掉了：在哪里停下，从此不训练。"
        ),
        "trained": (
            "填符号，每条曲线是一个种子：结束符不参加训练，"
            "策略就迟迟学不会写完 ✗ 以后再试一次，五次迭代后仍有两到五成回答停在 ✗。"
        ),
        "law": "每行参加训练的词元，恰好到第一个结束符为止，连它在内。",
    },
    "en": {
        "purpose": "Which tokens are the response, padding being the end token",
        "mistake": "A mask from token values",
        "axis": "success rate",
        "lines": ("end token not trained", "trained"),
        "what": (
            "The tokenizer has no padding token, so the end token pads, and whatever "
            "equals it counts as padding. The real end token goes with it: where to "
            "stop is no longer trained."
        ),
        "trained": (
            "Filling in signs, a line per seed: if the end token is not trained, the "
            "policy is slow to learn to try again after ✗, and five iterations later "
            "two to five responses in ten still stop there."
        ),
        "law": "In each row the mask ends with the first end token and includes it.",
    },
}
TRAINED = (("end token not trained", "success"), ("GRPO", "success"))


def wrong(tokens, end):
    return tokens != end


def right(tokens, end):
    ends = tokens == end
    return ends.cumsum(1) - ends.long() == 0  # no end token before this one


def law(f):
    tokens = tensor([[5, 7, 0, 0], [5, 7, 9, 0]])
    live = tensor([[1, 1, 1, 0], [1, 1, 1, 1]]).bool()
    return torch.equal(f(tokens, 0), live)
