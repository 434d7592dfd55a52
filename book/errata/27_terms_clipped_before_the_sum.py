"""Terms clipped before the sum."""

import torch

ARROW = "reward"
SHOWN = "07_kl.ipynb#reverse-and-forward-kl-it-depends-on-who-samples"
SPEAKS_OF = {"forward-kl": "plain"}
WORDS = {
    "zh": {
        "purpose": "对整个词表求离老师的 KL，再限制它的大小",
        "mistake": "先截断每一项，再求和",
        "axis": "离老师的 KL",
        "lines": ("先截断每一项", "只求和"),
        "what": (
            "每个位置的 KL 是词表上各项之和，有正有负。如果先截断每一项，"
            "正的受限，负的不受限，和就会小于 0。被截断的正是老师最看重的词元，"
            "它们没有梯度；剩下的梯度反而去抬高老师很少写的词元。"
        ),
        "trained": (
            "一个位置、32 个词元，学生做梯度下降，每条曲线是一个种子："
            "截断各项的停在离老师很远的地方，只求和的走到老师身边。"
        ),
        "law": "它从不小于 0，与老师相同时恰好是 0。",
    },
    "en": {
        "purpose": "The KL to a teacher over the vocabulary, and a limit on its size",
        "mistake": "Terms clipped before the sum",
        "axis": "KL to the teacher",
        "lines": ("each term clipped", "the plain sum"),
        "what": (
            "The KL of a position is a sum over the vocabulary whose terms have both "
            "signs. If each term is clipped first, the positive ones are limited and "
            "the negative ones are not, so that the sum falls below 0. The clipped "
            "terms are those of the tokens that the teacher likes best, and they have "
            "no gradient. What is left pushes up tokens that the teacher seldom writes."
        ),
        "trained": (
            "One position, 32 tokens, gradient descent, a line per seed: with its "
            "terms clipped the student stops far from the teacher, with the plain sum "
            "it gets there."
        ),
        "law": "It is never below 0, and it is 0 where the two agree.",
    },
}
TRAINED = (("terms clipped", "distance"), ("sum", "distance"))


def wrong(teacher, log_probs, cap):
    terms = teacher * (teacher.log() - log_probs)
    return terms.clamp(max=cap).sum()


def right(teacher, log_probs, cap):
    terms = teacher * (teacher.log() - log_probs)
    return terms.sum().clamp(max=cap)


def law(f):
    teacher = torch.tensor([0.9, 0.1])
    same, other = teacher.log(), teacher.flip(0).log()
    return abs(f(teacher, same, 0.06)) < 1e-6 and f(teacher, other, 0.06) >= 0
