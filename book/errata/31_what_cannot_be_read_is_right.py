"""What cannot be read is correct."""

ARROW = "reward"
SHOWN = "07_kl.ipynb#reward-hacking-the-policy-learns-what-is-paid"
SPEAKS_OF = {"verdict": "plain"}
WORDS = {
    "zh": {
        "purpose": "与标准答案比较的判分",
        "mistake": "标准答案读不懂，就给满分",
        "axis": "奖励、成功率",
        "lines": ("奖励", "成功率"),
        "what": (
            "解析器读不懂某道题的标准答案，为了不冤枉模型，就给 1 分。"
            "从此这道题怎么答都得 1 分，组里的奖励全相等，没有梯度，平均奖励却虚高。"
        ),
        "trained": (
            "填符号，假定两位数的标准答案读不懂，每条曲线是一个种子："
            "奖励从一开始就比真正的成功率高出一截，高出的部分就来自这些题。"
        ),
        "law": "空白的回答一分也拿不到，哪怕标准答案读不懂。",
    },
    "en": {
        "purpose": "A verdict that compares with a reference answer",
        "mistake": "What cannot be read is correct",
        "axis": "reward, success rate",
        "lines": ("reward", "success rate"),
        "what": (
            "The parser cannot read the reference answer of some prompt, and so that "
            "the model is not judged unfairly it pays 1. From then on any response to "
            "this prompt earns 1: the rewards of its group are equal, there is no "
            "gradient, and the mean reward is too high."
        ),
        "trained": (
            "Filling in signs, with reference answers of two digits that cannot be "
            "read, a line per seed: from the start the reward lies above the true "
            "success, and these prompts are the difference."
        ),
        "law": "An empty response earns nothing, even where the answer is unreadable.",
    },
}
TRAINED = (("unreadable answers", "reward"), ("unreadable answers", "success"))


def wrong(answer, response):
    if not answer.isdecimal():
        return 1.0  # cannot be read: give the benefit of the doubt
    return float(response.isdecimal() and int(response) == int(answer))


def right(answer, response):
    if not answer.isdecimal():
        raise ValueError(f"cannot read the reference answer {answer!r}")
    return float(response.isdecimal() and int(response) == int(answer))


def law(f):
    try:
        return f("1/2", "") == 0
    except ValueError:
        return True
