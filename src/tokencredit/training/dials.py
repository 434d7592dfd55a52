"""The dials of training that belong to no algorithm 与算法无关的旋钮."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch

from tokencredit.tensors.checks import choice, number, whole

OPTIMIZERS = {"adam": partial(torch.optim.Adam, fused=True), "sgd": torch.optim.SGD}


@dataclass(frozen=True, kw_only=True)
class Dials:
    """The dials of `train` that belong to no algorithm 与算法无关的旋钮.

    Args:
        steps: iterations, each with a round of sampling.
        prompts: prompts of a round; it samples ``prompts * group_size`` responses.
        group_size: responses per prompt.
        epochs: passes over a round (K).
        minibatches: optimizer steps per pass.
        micro_size: responses per forward pass; the gradients of the micro-batches add
            up to that of the step, whatever the split. None: all at once.
        optimizer: one of OPTIMIZERS, "adam" or plain gradient steps, "sgd".
        lr: of the optimizer.
        max_grad_norm: a gradient with a larger norm is scaled down to this.
        temperature: of sampling, and so of training.
        refresh: rounds between two copies of the policy's weights to the sampler; above
            1 its responses are stale.
        bootstrap: whether V of the critic replaces the missing rewards of a truncated
            response. False, as in verl and OpenRLHF: the limit is part of the task, and
            such a response ended with nothing.
        refills: most rounds of sampling to fill a batch that a filter thinned, for
            algorithms that refill.

    Raises:
        ValueError: a count below 1, an unknown optimizer, a rate that is not positive
            and finite.
    """

    steps: int = 100
    prompts: int = 32
    group_size: int = 8
    epochs: int = 1
    minibatches: int = 1
    micro_size: int | None = None
    optimizer: str = "adam"
    lr: float = 1e-3
    max_grad_norm: float = 1.0
    temperature: float = 1.0
    refresh: int = 1
    refills: int = 3
    bootstrap: bool = False

    def __post_init__(self):
        counts = ("steps", "prompts", "group_size", "epochs", "minibatches")
        for name in (*counts, "refresh", "refills"):
            whole(name, getattr(self, name))
        if self.micro_size is not None:
            whole("micro_size", self.micro_size)
        choice("optimizer", self.optimizer, OPTIMIZERS)
        for name in ("lr", "max_grad_norm", "temperature"):
            number(name, getattr(self, name), open_low=True)
