"""The max when A is negative."""

import torch
from torch import tensor

ARROW = "weight"
SHOWN = "06_ppo.ipynb#min-or-max-when-the-advantage-is-negative"
SPEAKS_OF = {"loss": "value", "objective": "plain"}
WORDS = {
    "zh": {
        "purpose": "裁剪目标",
        "mistake": "A 小于 0 时改取 max",
        "what": (
            "有人觉得“悲观”对坏动作应当反过来。于是比率过了 1.2 的坏动作，目标停在 "
            "$1.2A$，再也不压低；已经降到 0.8 以下的，反而继续往下压。"
        ),
        "law": "目标是下界：它从不大于没有裁剪的 $\\rho A$。",
    },
    "en": {
        "purpose": "The clipped objective",
        "mistake": "The max when A is negative",
        "what": (
            "It seems that pessimism must turn round for a bad action. Then a bad "
            "action with a ratio above 1.2 stays at $1.2A$ and is pushed down no more, "
            "while one already below 0.8 is pushed further down."
        ),
        "law": "The objective is a lower bound: never above the unclipped $\\rho A$.",
    },
}


def wrong(rho, A):
    plain, clipped = rho * A, rho.clamp(0.8, 1.2) * A
    return torch.where(A >= 0, plain.min(clipped), plain.max(clipped))


def right(rho, A):
    plain, clipped = rho * A, rho.clamp(0.8, 1.2) * A
    return plain.min(clipped)


def law(f):
    rho, A = tensor([0.5, 1.0, 1.5]), tensor([[1.0], [-1.0]])
    return (f(rho, A) <= rho * A).all()
