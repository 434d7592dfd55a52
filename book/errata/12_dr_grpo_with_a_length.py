"""Dr. GRPO that keeps 1/n."""

import torch

ARROW = "weight"
SHOWN = "08_grpo.ipynb#dr-grpo-two-changes-two-reasons"
SPEAKS_OF = {"loss": "pads", "aggregate": "pads"}
WORDS = {
    "zh": {
        "purpose": "Dr. GRPO 的聚合",
        "mistake": "Dr. GRPO 还留着 1/n",
        "what": (
            "论文的代码把它换成常数，正是为了不再按长度加权；“先求平均再除以常数”，等于没换。"
        ),
        "law": "长回答和短回答里的词元，权重相同。",
    },
    "en": {
        "purpose": "The aggregation of Dr. GRPO",
        "mistake": "Dr. GRPO that keeps 1/n",
        "what": (
            "The paper's code puts a constant in its place so that length has no "
            "weight; a mean per response, then the constant, has changed nothing."
        ),
        "law": "Tokens of long and of short responses weigh the same.",
    },
}


def wrong(responses, constant):
    return sum(row.mean() for row in responses) / (len(responses) * constant)


def right(responses, constant):
    return sum(row.sum() for row in responses) / (len(responses) * constant)


def law(f):
    tokens = torch.zeros(10, requires_grad=True)
    f(tokens.split([2, 8]), 16).backward()
    return (tokens.grad == tokens.grad[0]).all()
