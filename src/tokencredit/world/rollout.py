"""Sampling 采样: prompts in, a batch of responses out."""

from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from tokencredit.batch import Batch
from tokencredit.world.text import EOS, HasVocabulary, decode, encode


@torch.no_grad()
def rollout(
    policy: torch.nn.Module,
    task: HasVocabulary,
    prompts: list[str],
    *,
    group_size: int = 1,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> Batch:
    """Sample `group_size` responses to each prompt (采样).

    Each prompt is read once; its cache is repeated for the group. A token is drawn by
    an exponential race, the argmax of ``log p - log e`` with ``e`` standard
    exponential, which has the law of softmax and needs no cumulative sum. Rows that
    have written EOS are dropped. A row of group g answers ``prompts[g]``; rewards are
    still zero.

    Args:
        policy: gives ``(logits, values)``; see `Policy`.
        task: its vocabulary, EOS and limit on the length of a response.
        prompts: texts.
        temperature: of the softmax; 0 takes the most likely token. The log-probs are
            at this temperature (at 1 for 0): training must use the same one.
        generator: the random stream.

    Returns:
        A batch of ``len(prompts) * group_size`` rows.

    Raises:
        ValueError: no prompts, an empty or unknown prompt, one that does not fit the
            context together with its response, a policy with another vocabulary size,
            a group size below 1 or a temperature that is negative or no number.
    """
    size = len(task.vocabulary)
    if policy.vocab_size != size:
        raise ValueError(
            f"the policy has {policy.vocab_size} tokens, the task's vocabulary {size}"
        )
    if group_size < 1:
        raise ValueError(f"group_size must be at least 1, got {group_size}")
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be finite and >= 0, got {temperature}")
    ids, lengths = _pad([encode(p, task.vocabulary) for p in prompts])
    limit = task.max_response
    if ids.shape[1] + limit > policy.context:
        raise ValueError(
            f"a prompt of {ids.shape[1]} tokens and a response of {limit} do not fit "
            f"the context of {policy.context}"
        )
    eos = task.vocabulary.find(EOS)
    cache = policy.cache(len(prompts))
    logits, values = policy(ids, cache, torch.zeros_like(lengths))
    groups = torch.arange(len(prompts)).repeat_interleave(group_size)
    end, lengths = (lengths - 1)[groups], lengths[groups]
    logits = logits[groups, end]
    values = None if values is None else values[groups, end]
    drawn = draw(
        policy,
        cache.rows(groups),
        logits,
        values,
        lengths,
        limit=limit,
        end=eos,
        temperature=temperature,
        generator=generator,
    )

    live = drawn.live
    place = lengths[:, None] + torch.arange(limit)
    width = int((lengths + live.sum(1)).max())

    def put(responses: Tensor, fill: Tensor) -> Tensor:
        responses = responses.where(live, torch.zeros((), dtype=responses.dtype))
        return F.pad(fill, (0, limit)).scatter(1, place, responses)[:, :width]

    empty = torch.zeros_like(ids[groups], dtype=drawn.log_probs.dtype)
    return Batch(
        tokens=put(drawn.tokens, ids[groups]),
        mask=put(live, empty.bool()),
        old_log_probs=put(drawn.log_probs, empty),
        rewards=torch.zeros(len(groups), width),
        groups=groups,
        truncated=drawn.unfinished & (eos >= 0),
        max_length=limit,
        values=put(drawn.values, empty) if policy.critic else None,
        last_values=drawn.last_values * (eos >= 0) if policy.critic else None,
    )


class Drawn(NamedTuple):
    """One reply per row, with the policy's log-probs and values."""

    tokens: Tensor  # [B, limit], from the start of the reply
    live: Tensor  # [B, limit]: up to and including the end token
    log_probs: Tensor  # [B, limit]
    values: Tensor  # [B, limit], 0 without a critic
    last_values: Tensor  # [B]: V after an unfinished reply, else 0
    unfinished: Tensor  # [B]: no end token within the limit


def draw(
    policy: torch.nn.Module,
    cache,
    logits: Tensor,
    values: Tensor | None,
    lengths: Tensor,
    *,
    limit: int,
    end: int,
    temperature: float,
    generator: torch.Generator | None,
) -> Drawn:
    """Sample one reply per row, token by token, until `end` or the limit.

    Args:
        cache: of the tokens read, `lengths` per row.
        logits, values: after the last token read, ``[B, V]`` and ``[B]``.
        limit: most tokens of a reply.
        end: id of the token that ends one; -1: none does.
        temperature, generator: see `rollout`.
    """
    size = len(logits)
    rows, open_ = torch.arange(size), torch.ones(size, dtype=torch.bool)
    drawn = torch.zeros(size, limit, dtype=torch.long)
    log_probs, seen = logits.new_zeros(2, size, limit)
    last_values = logits.new_zeros(size)
    for t in range(limit):
        scaled = (logits / (temperature or 1.0)).log_softmax(-1)
        race = torch.empty(scaled.shape).exponential_(generator=generator).log_()
        token = (scaled - race if temperature else scaled).argmax(-1)
        drawn[rows, t] = token
        log_probs[rows, t] = scaled.gather(1, token[:, None]).squeeze(1)
        if policy.critic:
            seen[rows, t] = values
        open_[rows] &= token != end
        going = open_[rows]
        last = t + 1 == limit
        if not going.any() or (last and not policy.critic):
            break
        if last or going.float().mean() < 0.75:
            rows, token, cache = rows[going], token[going], cache.rows(going)
        logits, values = policy(token[:, None], cache, lengths[rows] + t)
        logits = logits[:, 0]
        values = values[:, 0] if policy.critic else None
        if last:
            last_values[rows] = values
    ended = drawn == end
    live = ended.cumsum(1) - ended.long() == 0
    return Drawn(drawn, live, log_probs, seen, last_values, open_)


def _pad(ids: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Rows of ids padded on the right with 0, and their lengths."""
    if not ids or min(map(len, ids)) == 0:
        raise ValueError("rollout needs at least one prompt, and no empty one")
    lengths = torch.tensor([len(row) for row in ids])
    padded = torch.zeros(len(ids), int(lengths.max()), dtype=torch.long)
    for row, out in zip(ids, padded, strict=True):
        out[: len(row)] = torch.tensor(row)
    return padded, lengths


def texts(batch: Batch, vocabulary: str) -> list[str]:
    """The responses of a single-turn batch as text, EOS included."""
    ids = batch.tokens[batch.mask].tolist()
    ends = batch.mask.sum(1).cumsum(0).tolist()
    return [decode(ids[i:j], vocabulary) for i, j in pairwise([0, *ends])]
