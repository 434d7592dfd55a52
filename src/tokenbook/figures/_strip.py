"""The token strip (词元条) of one row of a batch, by the course's own functions."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from tokenbook.explorer import Strip, Words
from tokencredit import Algorithm, Batch, policy_loss
from tokencredit.algorithm import named
from tokencredit.training import assign_credit


def strip_of(
    batch: Batch,
    i: int,
    vocabulary: Sequence[str],
    algorithm: Algorithm | str,
    log_probs: torch.Tensor | None = None,
    *,
    label: str | Words | None = None,
    **more,
) -> Strip:
    """The tokens of row `i` with their credit and their push 一行的词元条.

    Credit is the advantage: the batch's own, or that of the row of ALGORITHMS. Push is
    minus the gradient of the row's loss on the log-probability of each token, the whole
    batch taken together; a trained token without push is hatched.

    Args:
        batch: from `rollout`, with its rewards.
        i: which row of it.
        vocabulary: the word of each token number.
        algorithm: an entry of ALGORITHMS or its name.
        log_probs: of all tokens under the policy being trained, [B, T]; by default
            `old_log_probs`, as at the first step.
        label: a name above the strip, or words in every language; by default the
            algorithm's name.
        more: other arguments of `policy_loss` for this algorithm, such as `max_length`.

    Returns:
        a `Strip`; it shows itself, and `show_strip` shows several.

    Raises:
        ValueError: no such row, or a field that a stage of the algorithm needs.
    """
    if not 0 <= i < len(batch):
        raise ValueError(f"i must be a row, 0 to {len(batch) - 1}, got {i}")
    algorithm = named(algorithm)
    if batch.advantages is None:
        batch = assign_credit(replace(algorithm, keep=None), batch)
    leaf = batch.old_log_probs if log_probs is None else log_probs
    leaf = leaf.detach().double().requires_grad_()
    loss = policy_loss(algorithm, leaf, **batch.as_dict(), **more)
    (slope,) = torch.autograd.grad(loss, leaf)
    live = slice(0, int(batch.lengths()[i]))
    return Strip(
        [vocabulary[token] for token in batch.tokens[i, live].tolist()],
        mask=batch.mask[i, live].tolist(),
        credit=batch.advantages[i, live].tolist(),
        push=(-slope)[i, live].tolist(),
        label=algorithm.name if label is None else label,
    )
