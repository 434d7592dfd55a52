"""Batch 批: the data of a round, from the sampled tokens to the loss."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from tokencredit.tensors.checks import whole
from tokencredit.tensors.shapes import (
    GroupIds,
    PerSequence,
    PerToken,
    SequenceMask,
    TokenIds,
    TokenMask,
)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows of tokens 批, prompt first, padded on the right, with values per token.

    Column j of every [B, T] field belongs to `tokens[:, j]`: `old_log_probs` is its
    log-probability given the tokens before it, `values` is V of the state in which it
    was chosen. So nothing has to be shifted. A row holds all turns of an agent; the
    mask is False on tokens of the environment.

    A field has the name of the parameter that takes it: a stage with a parameter
    `groups` gets `batch.groups`.

    Easy to break: values where `mask` is False, or after a row's end, are undefined.
    """

    tokens: TokenIds
    mask: TokenMask  # True where the policy chose the token
    old_log_probs: PerToken  # before the update, 0 where masked
    rewards: PerToken  # on the token that earned them, 0 where masked
    groups: GroupIds  # which prompt a row answers
    truncated: SequenceMask  # cut by the length limit rather than ended
    max_length: int | None = None  # most tokens that a row may sample
    values: PerToken | None = None  # the critic's, when the batch was sampled
    last_values: PerSequence | None = None  # V after a truncated row, else 0
    ref_log_probs: PerToken | None = None  # under the frozen reference
    sampler_log_probs: PerToken | None = None  # where old_log_probs are the trainer's
    turn_ends: TokenMask | None = None  # the last token of every turn
    advantages: PerToken | None = None  # filled in by `assign_credit`
    returns: PerToken | None = None  # the critic's targets, likewise
    filtered: bool = False  # the algorithm's filter has been applied

    def __len__(self) -> int:
        return len(self.tokens)

    def select(self, rows: Tensor | slice) -> Batch:
        """The same batch with some rows: a bool per row, indices or a slice."""
        return replace(self, **{name: x[rows] for name, x in self.tensors().items()})

    def split(self, size: int) -> list[Batch]:
        """Parts of at most `size` rows, in order; none of an empty batch.

        Raises:
            ValueError: a size below 1.
        """
        whole("size", size)
        return [self.select(slice(i, i + size)) for i in range(0, len(self), size)]

    def by_length(self) -> Batch:
        """The same rows, shortest first: parts of like length need little padding."""
        return self.select(self.lengths().argsort(stable=True))

    def trimmed(self) -> Batch:
        """The same rows without the columns after the last live token of all."""
        width = max([1, *self.lengths().tolist()])
        tensors = self.tensors().items()
        return replace(self, **{n: x[:, :width] for n, x in tensors if x.dim() == 2})

    def lengths(self) -> Tensor:
        """Columns of each row up to its last live token, 0 without one."""
        places = torch.arange(self.mask.shape[1] + 1, device=self.mask.device)
        live = F.pad(self.mask, (1, 0))  # an extra column 0 stands for no token
        return torch.where(live, places, 0).amax(1)

    def shuffled(self, generator: torch.Generator | None = None) -> Batch:
        """The same rows in a random order."""
        return self.select(torch.randperm(len(self), generator=generator))

    def as_dict(self) -> dict[str, object]:
        """All fields that are not None, by name."""
        there = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: x for name, x in there.items() if x is not None}

    def tensors(self) -> dict[str, Tensor]:
        """The tensors among them."""
        return {name: x for name, x in self.as_dict().items() if isinstance(x, Tensor)}


def join(batches: list[Batch]) -> Batch:
    """Batches under each other, padded to the widest; their groups stay apart.

    Raises:
        ValueError: nothing to join, or a field that only some of them have.
    """
    if not batches:
        raise ValueError("there are no batches to join")
    names = set(batches[0].tensors())
    width = max(batch.tokens.shape[1] for batch in batches)
    first, parts = 0, []
    for batch in batches:
        given = batch.tensors()
        if set(given) != names:
            raise ValueError(f"only some batches have {sorted(set(given) ^ names)}")
        lowest = int(batch.groups.min()) if len(batch) else 0
        given["groups"] = batch.groups + (first - min(lowest, 0))
        first = int(given["groups"].max()) + 1 if len(batch) else first
        room = width - batch.tokens.shape[1]
        parts.append(
            {n: F.pad(x, (0, room)) if x.dim() == 2 else x for n, x in given.items()}
        )
    joined = {name: torch.cat([part[name] for part in parts]) for name in names}
    return replace(batches[0], **joined)
