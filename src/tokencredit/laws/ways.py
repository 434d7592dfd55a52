"""Ways to put a user's function in a room 每种函数怎样代替展室里的那一个.

A law calls the function of its room with the room's own values. A way passes them to
the user's function: by name, in a trainer's shapes, [B, T] for tokens. SPEAKS_OF of a
room maps each kind of function to its ways; one of them has to keep the law.
"""

from contextlib import suppress
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from torch import as_tensor, full_like, ones_like, tensor, zeros_like
from torch.nn.utils.rnn import pad_sequence

from tokencredit.laws.calls import Mine, Skip, names

live = partial(ones_like, dtype=torch.bool)
pad = partial(pad_sequence, batch_first=True)


def tokens(*, log_probs=None, log_ratio=None, ratio=None, **x):
    """Return all that a trainer has of tokens, of which a law gives some."""
    if ratio is not None:
        log_ratio = ratio.log()
    if log_probs is None:
        x["old_log_probs"] = full_like(log_ratio, -1)
        log_probs = log_ratio - 1
    old = x.get("old_log_probs", log_probs.detach())
    d = log_probs - old
    same = dict.fromkeys(("old_log_probs", "ref_log_probs", "sampler_log_probs"), old)
    others = {"mask": live(old), "advantages": ones_like(old)}
    others["entropies"] = zeros_like(old)  # also where old is NaN, outside the mask
    now = {"log_probs": log_probs, "log_ratio": d, "ratio": d.exp()}
    return same | others | now | x


def course(mine: Mine, values) -> dict:
    """Return the values of a room by the course's names."""
    return {names(k)[-1]: x for k, x in zip(mine.order, values, strict=False)}


def plain(mine, *values):
    """Way: by the names of the room, values unchanged."""
    own = dict(zip(mine.order, values, strict=False))
    return mine(**{name: x for k, x in own.items() for name in names(k)})


def column(mine, *x):
    """Way: every token is a separate response."""
    tall = tokens(**course(mine, [y.reshape(-1, 1) for y in x]))
    return mine(**tall).reshape(x[0].shape)


def row(mine, *x):
    """The tokens are one response."""
    things = course(mine, [as_tensor(y)[None] for y in x])
    out = mine(**{"mask": live(next(iter(things.values())))} | things, gamma=1.0)
    return out[0] if out.ndim else out


def mean(mine, log_ratio):
    """The tokens are one response with a bad advantage; the mean of its results."""
    bad = -ones_like(log_ratio[None])
    return mine(**tokens(log_ratio=log_ratio[None], advantages=bad)).mean()


# --- a policy loss: one token after the other, next to one of ratio 1 and A = 1 -------


def gain_of(mine, **x):
    """The advantages' part of minus the loss, without KL and entropy bonus."""
    without = mine(**x | {"advantages": zeros_like(x["advantages"])})
    mine.calls.pop()  # shows nothing
    return (without - mine(**x)).sum()


def slope_of(mine, log_probs, **x):
    """Its derivative by log_probs; rounded, as two losses are subtracted."""
    log_probs = log_probs.detach().requires_grad_()
    out = gain_of(mine, **tokens(log_probs=log_probs, **x))
    (by,) = torch.autograd.grad(out, log_probs, materialize_grads=True)
    return by.sum().round(decimals=5)


def slope(mine, *values, how=slope_of):
    one = tokens(log_probs=-torch.ones(1, 1))
    unit = slope_of(mine, **one).abs() if mine(**one).ndim == 0 else 1
    if how is gain_of and abs(gain_of(mine, **one) - unit) > 1e-4:
        raise Skip("its value is no ratio times A; only its gradient counts")
    mine.calls.clear()
    cells = torch.broadcast_tensors(*values)
    each = zip(*(x.reshape(-1, 1, 1) for x in cells), strict=True)
    done = [how(mine, **tokens(**course(mine, token))) for token in each]
    return torch.stack(done).reshape(cells[0].shape) / (unit or 1)


value = partial(slope, how=gain_of)


def alive(mine, *values):
    return slope(mine, *values) != 0


# --- an aggregation: of losses, or inside the loss of a batch -----------------------


def total(mine, losses, mask, **more):
    """Of losses that are 0 where not trained; a policy loss has them by log_probs."""
    if not mask.all():
        mine.needs("mask")
    if mine.kind != "loss":
        return mine(losses=losses, mask=mask, **more)
    now = losses - losses.detach() - 1  # at a ratio of 1 a loss can be anything
    A = -losses.detach().masked_fill(losses == 0, 1)
    things = {"log_probs": now, "old_log_probs": now.detach(), "advantages": A}
    out = mine(**tokens(**things, mask=mask, **more))
    if out.ndim:
        raise Skip("it returns a loss for each token and aggregates nothing")
    return out


def batch(mine, losses, mask, cut=None):
    losses, mask = torch.atleast_2d(losses, mask)
    return total(mine, losses, mask if cut is None else mask & ~cut[:, None])


def joins(mine, parts):
    mine.needs("denominator")
    n, rows = sum(map(len, parts)), [part[None] for part in parts]
    return sum(total(mine, part, live(part), denominator=n) for part in rows)


def pads(mine, rows, constant):
    return total(mine, pad([*rows]), pad([*map(live, rows)]))


def weighs(mine, lengths):
    mask = torch.arange(max(lengths)) < tensor(lengths)[:, None]
    losses = torch.zeros(mask.shape, dtype=torch.float64, requires_grad=True)
    total(mine, losses, mask).backward()
    return losses.grad[0, 0].item()


# --- credit, log-probs ----------------------------------------------------------------


def grouped(mine, *values):
    """Rewards of responses to prompts; to one prompt if the law names none."""
    things = course(mine, values)
    rewards = things["rewards"]
    ids = things.pop("groups", torch.zeros(len(rewards))).tolist()
    prompts = things.setdefault("prompts", ids)
    things |= {"token_level_rewards": rewards[:, None], "mask": live(rewards[:, None])}
    things |= dict.fromkeys(("index", "uid"), np.array(prompts, dtype=object))
    groups = tensor([prompts.index(prompt) for prompt in prompts])
    return mine(groups=groups, **things).reshape(len(rewards), -1)[:, 0]


def unscaled(mine, rewards, word):
    """Way: by the room's word; by False if it is a flag or refuses the word."""
    if not isinstance(mine.needs("scale").default, bool):
        with suppress(ValueError):
            return grouped(mine, rewards, word)
    return grouped(mine, rewards, False)


def episodes(mine, rewards, values, ended):
    ends = [-1, *as_tensor(ended).nonzero().flatten().tolist()]
    lengths = [b - a for a, b in pairwise(ends)]
    r, V = (as_tensor(x).float().split(lengths) for x in (rewards, values))
    mask = pad([*map(live, r)])
    out = mine(rewards=pad(r), values=pad(V), mask=mask, gamma=1.0, lam=0.9)
    return out[mask].tolist()


def gathered(mine, logits, temperature):
    mine.needs("temperature")
    things = {"logits": logits[None, None], "temperature": temperature}
    every = [mine(tokens=tensor([[v]]), **things) for v in range(len(logits))]
    return torch.cat([x.flatten() for x in every])[: len(logits)]
