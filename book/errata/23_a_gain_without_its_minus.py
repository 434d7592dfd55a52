"""A gain without its minus."""

import torch
from torch import tensor

ARROW = "gradient"
SHOWN = "11_gspo_cispo.ipynb#two-common-mistakes-and-a-one-line-test-for-each"
SPEAKS_OF = {"loss": "column"}
WORDS = {
    "zh": {
        "purpose": "CISPO 的损失",
        "mistake": "收益没有加负号",
        "axis": "成功率",
        "lines": ("少一个负号", "CISPO"),
        "what": (
            "论文写的是要最大化的目标，优化器做的却是最小化。少了负号不会报错，"
            "于是好的词元被压低，坏的词元反而被抬高。"
        ),
        "trained": "填符号，每条曲线是一个种子：少一个负号，策略几次迭代就忘光了。",
        "law": "沿着损失的负梯度走一小步，优势为正的词元概率变大。",
    },
    "en": {
        "purpose": "The loss of CISPO",
        "mistake": "A gain without its minus",
        "axis": "success rate",
        "lines": ("without the minus", "CISPO"),
        "what": (
            "The paper writes an objective to be maximised, but an optimizer "
            "minimises. Nothing complains about the missing sign, and so good tokens "
            "are pushed down and bad ones up."
        ),
        "trained": (
            "Filling in signs, a line per seed: without the minus the policy unlearns "
            "the task within a few iterations."
        ),
        "law": (
            "A small step down the gradient of the loss makes a token with a positive "
            "advantage more probable."
        ),
    },
}
TRAINED = (("CISPO, no minus", "success"), ("CISPO", "success"))


def wrong(log_probs, old_log_probs, A):
    weight = (log_probs - old_log_probs).exp().clamp(max=5).detach()
    return (weight * A * log_probs).mean()


def right(log_probs, old_log_probs, A):
    weight = (log_probs - old_log_probs).exp().clamp(max=5).detach()
    return -(weight * A * log_probs).mean()


def law(f):
    logits = torch.zeros(3, requires_grad=True)
    drawn = logits.log_softmax(0)[0]
    f(drawn, drawn.detach(), tensor(1.0)).backward()
    moved = logits - 0.1 * logits.grad
    return moved.log_softmax(0)[0] > drawn
