"""What one round of sampling leaves behind (一次采样的全部记录)."""

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """B rows of T tokens, prompt first, padded on the right.

    Column j of every ``[B, T]`` field speaks of ``tokens[:, j]``: ``mask`` says whether
    the policy chose it, ``log_probs`` is its log-probability given what stands before,
    ``rewards`` is what came for it and ``values`` is V of the state it was chosen in.
    So nothing has to be shifted. Several turns of an agent stand one after another in a
    row: observations are tokens whose mask is False.

    Args:
        tokens: ids ``[B, T]``.
        mask: bool ``[B, T]``, True where the policy chose the token.
        log_probs: ``[B, T]`` of the policy that sampled (old, 行为策略), 0 where masked.
        rewards: ``[B, T]``, 0 where masked.
        groups: ``[B]``, an integer per prompt.
        truncated: bool ``[B]``, cut by the length limit rather than ended.
        values: ``[B, T]`` of the critic that watched (old), or None.
        last_values: ``[B]``, V after the last token of truncated rows, 0 for the others.
        ref_log_probs: ``[B, T]`` of the reference policy, or None.
        turn_ends: bool ``[B, T]``, the last token of each turn, or None.
    """

    tokens: Tensor
    mask: Tensor
    log_probs: Tensor
    rewards: Tensor
    groups: Tensor
    truncated: Tensor
    values: Tensor | None = None
    last_values: Tensor | None = None
    ref_log_probs: Tensor | None = None
    turn_ends: Tensor | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self, index: Tensor) -> "Batch":
        """A choice of rows, by index or by a bool per row."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(
            self, **{k: v[index] for k, v in given.items() if v is not None}
        )

    @property
    def lengths(self) -> Tensor:
        """Tokens that the policy chose, per row."""
        return self.mask.sum(1)


def join(batches: list[Batch]) -> Batch:
    """Batches under each other, padded to the widest; groups stay apart.

    Raises:
        ValueError: nothing to join, or a field that only some of them have.
    """
    if not batches:
        raise ValueError("no batches to join")
    width = max(b.tokens.shape[1] for b in batches)
    joined, offset = {}, 0
    groups = []
    for b in batches:
        groups.append(b.groups + offset)
        offset = int(groups[-1].max()) + 1 if len(b) else offset
    for f in fields(Batch):
        parts = [getattr(b, f.name) for b in batches]
        if any(p is None for p in parts):
            if not all(p is None for p in parts):
                raise ValueError(f"only some of the batches have {f.name}")
            continue
        if parts[0].dim() == 2:
            parts = [torch.nn.functional.pad(p, (0, width - p.shape[1])) for p in parts]
        joined[f.name] = torch.cat(parts)
    return Batch(**(joined | {"groups": torch.cat(groups)}))
