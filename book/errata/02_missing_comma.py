"""A min without its comma."""

import torch
from torch import tensor

ARROW = "weight"
SHOWN = "06_ppo.ipynb#min-or-max-when-the-advantage-is-negative"
SPEAKS_OF = {"loss": "slope", "objective": "plain"}
WORDS = {
    "zh": {
        "purpose": "裁剪目标，另一种写法",
        "mistake": "min 里少了逗号",
        "what": (
            "$\\min(\\rho A\\ \\operatorname{clip}(\\rho) A)$ 照着写成代码，两项就乘"
            "在了一起，里面有 $A^2$：好坏不分。"
        ),
        "law": "比率为 1 时，目标就是 $A$。",
    },
    "en": {
        "purpose": "The clipped objective, written in another way",
        "mistake": "A min without its comma",
        "what": (
            "$\\min(\\rho A\\ \\operatorname{clip}(\\rho) A)$, typed as printed, "
            "multiplies the two terms. $A^2$ is in it, so good and bad are alike."
        ),
        "law": "At ratio 1 the objective is $A$.",
    },
}


def wrong(rho, A):
    return rho * A * rho.clamp(0.8, 1.2) * A


def right(rho, A):
    return torch.minimum(rho * A, rho.clamp(0.8, 1.2) * A)


def law(f):
    A = tensor([2.0, -1.0])
    return torch.equal(f(torch.ones(2), A), A)
