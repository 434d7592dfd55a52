"""Copied from the clipped branch."""

import torch
from torch import tensor

ARROW = "weight"
SHOWN = "06_ppo.ipynb#min-or-max-when-the-advantage-is-negative"
SPEAKS_OF = {"loss": "alive", "gradient-table": "plain"}
WORDS = {
    "zh": {
        "purpose": "裁剪之后谁还有梯度",
        "mistake": "抄了裁剪的那一支",
        "what": (
            "表里写着 $A<0$ 时“比率太大也没有梯度”。这是从裁剪那一支抄来的：坏动作的"
            "比率太大时，梯度恰恰还在。"
        ),
        "law": "表说有梯度的地方，正是自动求导给出非零的地方。",
    },
    "en": {
        "purpose": "Who still has a gradient after the clip",
        "mistake": "Copied from the clipped branch",
        "what": (
            'A table says of $A<0$ "no gradient once the ratio is too large either". '
            "That was copied from the clipped branch: for a bad action of large ratio "
            "the gradient is alive."
        ),
        "law": "The table says alive exactly where autograd is not zero.",
    },
}


def wrong(rho, A):
    return torch.where(A > 0, rho < 1.2, (rho > 0.8) & (rho < 1.2))


def right(rho, A):
    return torch.where(A > 0, rho < 1.2, rho > 0.8) & (A != 0)


def law(f):
    rho = tensor([0.5, 1.0, 1.5] * 3, requires_grad=True)
    A = tensor([1.0] * 3 + [-1.0] * 3 + [0.0] * 3)
    objective = torch.minimum(rho * A, rho.clamp(0.8, 1.2) * A)
    (gradient,) = torch.autograd.grad(objective.sum(), rho)
    return torch.equal(f(rho, A), gradient != 0)
