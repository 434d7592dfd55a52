"""Three kinds of response to one prompt, and a policy over them, for the baselines."""

from functools import cache

import torch

from tokenbook.explorer import Dial
from tokencredit import token_log_probs

KINDS = ("9-5+7=11✓", "9+5-7=7✗", "9-5-7=-3✓")  # right, stops, a false claim
REWARDS = (1.0, 0.5, 0.0)
RIGHT = Dial(
    "right",
    [0.05, 0.3, 0.6, 0.9],
    0.3,
    ("正确回答的概率", "probability correct"),
    kind="choice",
)
LEVEL = Dial(
    "level",
    [0.0, 0.5, 1.0],
    0.0,
    ("给所有奖励加", "add to every reward"),
    kind="choice",
)


@cache
def policy(right):
    """Probabilities of the three kinds and their scores (得分函数), by autograd.

    Args:
        right: probability of the right one; the others keep the proportion 5 to 2.

    Returns:
        probabilities `[3]`, scores `[3, 3]`: grad log pi(y), one row per kind.
    """
    rest = 1 - right
    prob = torch.tensor([right, rest * 5 / 7, rest * 2 / 7], dtype=torch.float64)
    logits = prob.log().requires_grad_()
    log_probs = token_log_probs(logits.expand(3, -1), torch.arange(3))
    scores = [torch.autograd.grad(x, logits, retain_graph=True)[0] for x in log_probs]
    return prob, torch.stack(scores)


def rewards(level):
    """The rewards of the three kinds, raised by `level`."""
    return torch.tensor(REWARDS, dtype=torch.float64) + level


@cache
def estimates(right, level, b):
    """The gradient estimate (R - b) grad log pi of each kind, one row per kind."""
    return policy(right)[1] * (rewards(level) - b)[:, None]


@cache
def mean_variance(right, level, b):
    """The mean of the estimate `[3]` and its variance, exact over the three kinds."""
    prob, found = policy(right)[0], estimates(right, level, b)
    mean = prob @ found
    return mean, (prob @ (found - mean).square().sum(1)).item()
