"""2 and 88, divided by 100."""

ARROW = "weight"
SHOWN = "09_aggregation.ipynb#six-rules"
SPEAKS_OF = {"loss": "weighs", "aggregate": "weighs"}
WORDS = {
    "zh": {
        "purpose": "长度 2 和 88：一个词元的权重",
        "mistake": "2 和 88，除以 100",
        "what": "例子里一共 90 个词元，权重却写成 1/100。顺手的整数，不是平均。",
        "law": "所有词元的权重加起来是 1。",
    },
    "en": {
        "purpose": "Lengths 2 and 88: the weight of a token",
        "mistake": "2 and 88, divided by 100",
        "what": (
            "The example has 90 tokens and a weight of 1/100. A handy number is no "
            "mean."
        ),
        "law": "The weights of all tokens add up to 1.",
    },
}


def wrong(lengths):
    return 1 / 100


def right(lengths):
    return 1 / sum(lengths)


def law(f):
    return sum([2, 88]) * f([2, 88]) == 1
