"""Kinds of functions 函数的种类: how each stands in for the function of a room.

A room's law calls a function with the room's own values. An adapter hands them to the
function that was given: by name, in a trainer's shapes, [B, T] for tokens.
"""

from functools import partial
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, as_tensor, ones_like, tensor, zeros_like
from torch.nn.utils.rnn import pad_sequence

from tokencredit.laws.calls import Mine, Skip, names


def live(x: Tensor) -> Tensor:
    return torch.ones(x.shape, dtype=torch.bool)


def plain(mine: Mine, *values, **more):
    """By the names of the room, its values as they are."""
    own = dict(zip(mine.order, values, strict=False))
    return mine(**more, **{name: x for k, x in own.items() for name in names(k)})


def column(mine: Mine, *x: Tensor) -> Tensor:
    """Likewise; every token is a response of its own."""
    tall = [y.reshape(-1, 1) for y in x]
    return plain(mine, *tall, mask=live(tall[0])).reshape(x[0].shape)


def summed_up(mine: Mine, *x: Tensor) -> Tensor:
    """Likewise; the tokens are one response, of which the sum is wanted."""
    return plain(mine, *(y[None] for y in x), mask=live(x[0][None])).sum()


# --- a policy loss: of one token, or of a batch ------------------------------------


def loss(mine, log_probs, old, A, mask=None, ref=None, **more):
    both = {"log_ratio": log_probs - old, "ratio": (log_probs - old).exp()}
    others = {"sampler_log_probs": old, "ref_log_probs": old if ref is None else ref}
    mask = live(A) if mask is None else mask
    both |= {"log_probs": log_probs, "old_log_probs": old, "entropies": zeros_like(A)}
    return mine(advantages=A, mask=mask, **both, **others, **more)


def gain(mine, log_probs, old, A, ref=None):
    """What the advantages add to minus the loss: neither KL nor a bonus is in it."""
    without = loss(mine, log_probs, old, zeros_like(A), ref=ref)
    mine.calls.pop()  # shows nothing
    return without - loss(mine, log_probs, old, A, ref=ref)


def slope(mine, log_probs, *others):
    """Its derivative by log_probs; rounded, as two losses are subtracted."""
    log_probs = log_probs.detach().requires_grad_()
    objective = gain(mine, log_probs, *others).sum()
    if not objective.requires_grad:
        raise Skip("its result has no gradient by log_probs")
    (by,) = torch.autograd.grad(objective, log_probs, materialize_grads=True)
    return by.round(decimals=5)


def is_whole(mine: Mine) -> bool:
    """Whether a loss is one number for a batch, not one for each token."""
    x = -torch.ones(2, 2)
    out = loss(mine, x, x, x)
    mine.calls.clear()
    return out.ndim == 0


def each(mine, how, *values):
    """One token after the other; a batch's loss in units of that at ratio 1, A = 1."""
    one = -torch.ones(1, 1)
    unit = slope(mine, one, one, -one).abs().item() if is_whole(mine) else 1
    if how is gain and (gain(mine, one, one, -one).sum() - unit).abs() > 1e-4:
        raise Skip("its value is no ratio times A; only its gradient counts")
    mine.calls.clear()
    cells = torch.broadcast_tensors(*values)
    tokens = zip(*(x.reshape(-1, 1, 1) for x in cells), strict=True)
    done = torch.stack([how(mine, *token).sum() for token in tokens])
    return done.reshape(cells[0].shape) / (unit or 1)


def pushed(mine, rho, A, how=slope):
    return each(mine, how, rho.detach().log() - 1, -ones_like(rho), A)


def alive(mine, rho, A):
    return pushed(mine, rho, A) != 0


def ratio(mine, log_probs, old, *ref, how=slope):
    return each(mine, how, log_probs, old, ones_like(old), *ref)


def of_response(mine, log_ratio):
    x = log_ratio[None]
    return loss(mine, x - 2, zeros_like(x) - 2, -ones_like(x)).mean()


def of_tokens(mine, log_ratio):
    x = log_ratio[None]
    both = {"log_probs": x - 2, "old_log_probs": zeros_like(x) - 2}
    return mine(log_ratio=x, mask=live(x), **both).mean()


def step(mine, *x):
    return loss(mine, *(y.reshape(1, 1) for y in x)).sum()


# --- an aggregation: of losses, or inside the loss of a batch -----------------------


def needs_mask(mine, mask):
    if not mask.all():
        mine.needs("mask")


def summed(mine, losses, mask, **more):
    needs_mask(mine, mask)
    return mine(losses=losses, mask=mask, **more)


def spread(mine, losses, mask, **more):
    """At a ratio of 1 a loss can be anything; the gradient enters by log_probs."""
    if not is_whole(mine):
        raise Skip("it returns a loss for each token and aggregates nothing")
    needs_mask(mine, mask)
    x = losses - losses.detach() - 1
    A = -losses.detach().masked_fill(losses == 0, 1)
    return loss(mine, x, x.detach(), A, mask, **more)


def selects(mine, losses, mask, total=summed):
    return total(mine, losses[None], mask[None])


def drops(mine, losses, mask, cut, total=summed):
    return total(mine, losses, mask & ~cut[:, None])


def joins(mine, parts, total=summed):
    mine.needs("denominator")
    N, rows = sum(map(len, parts)), [part[None] for part in parts]
    return sum(total(mine, row, live(row), denominator=N) for row in rows)


def pads(mine, rows, constant, total=summed):
    mask = pad_sequence([live(row) for row in rows], batch_first=True)
    return total(mine, pad_sequence([*rows], batch_first=True), mask)


def weighs(mine, lengths, total=summed):
    mask = torch.arange(max(lengths)) < tensor(lengths)[:, None]
    losses = torch.zeros(mask.shape, dtype=torch.float64, requires_grad=True)
    total(mine, losses, mask).backward()
    return losses.grad[0, 0].item()


# --- credit, tokens ------------------------------------------------------------------


def grouped(mine, prompts, rewards, **more):
    ids = dict.fromkeys(("index", "uid"), np.array(prompts, dtype=object))
    rows = {"token_level_rewards": rewards[:, None], "mask": live(rewards[:, None])}
    groups = tensor([prompts.index(prompt) for prompt in prompts])
    things = rows | ids | more | {"prompts": prompts, "groups": groups}
    return mine(rewards=rewards, **things).reshape(len(rewards), -1)[:, 0]


def one_group(mine, rewards, scale=None):
    if scale is not None and isinstance(mine.needs("scale").default, bool):
        scale = False
    return grouped(mine, ["a"] * len(rewards), rewards, scale=scale)


def episodes(mine, *lists):
    *two, ended = (as_tensor(x) for x in lists)
    ends = [0, *(ended.nonzero().flatten() + 1).tolist()]
    cut = [slice(*pair) for pair in pairwise(ends)]
    r, V, mask = (
        pad_sequence([x[part] for part in cut], batch_first=True)
        for x in (*(x.float() for x in two), live(ended))
    )
    return mine(rewards=r, values=V, mask=mask, gamma=1.0, lam=0.9)[mask].tolist()


def returned(mine, *lists):
    rewards, mask = (as_tensor(x)[None] for x in lists)
    try:
        return mine(rewards=rewards, mask=mask, gamma=1.0)[0]
    except (TypeError, ValueError):  # written for lists
        return plain(mine, *lists)


def shifted(mine, mask):
    out = mine(mask=mask[None])
    return out[0] if out.shape == (1, len(mask) - 1) else mine(mask=mask)


def gathered(mine, logits, temperature):
    mine.needs("temperature")
    things = {"logits": logits[None, None], "temperature": temperature}
    every = [mine(tokens=tensor([[v]]), **things) for v in range(len(logits))]
    return torch.cat([x.flatten() for x in every])[: len(logits)]


BATCH = {"11": joins, "12": pads, "13": weighs, "19": selects, "25": drops}
KINDS = {  # the rooms that speak of a kind, and how a function stands in for theirs
    "loss": [
        ("01", partial(pushed, how=gain)),
        ("02", pushed),
        ("03", alive),
        ("04", partial(ratio, how=gain), ratio),
        ("05", ratio),
        ("09", of_response),
        *((room, partial(f, total=spread)) for room, f in BATCH.items()),
        ("23", step),
    ],
    "objective": [("01", plain), ("02", plain)],
    "gradient-table": [("03", plain)],
    "ratio": [("04", column), ("05", column), ("09", of_tokens), ("10", column)],
    "kl": [("06", summed_up), ("07", column), ("08", column)],
    "forward-kl": [("27", plain)],
    "reverse-kl": [("32", plain)],
    "distillation": [("24", column)],
    "aggregate": [*BATCH.items()],
    "returns": [("17", returned), ("30", returned)],
    "gae": [("14", episodes)],
    "advantage": [("15", one_group), ("28", one_group), ("29", grouped)],
    "log-probs": [("16", gathered)],
    "mask": [("26", plain)],
    "shift": [("18", shifted)],
    "reference": [("20", plain)],
    "verdict": [("31", plain)],
    "signs-verdict": [("21", plain), ("22", plain), ("33", plain)],
}
