"""Episodes 多轮轨迹: a policy plays a text game over several turns, into one `Batch`.

A row is a whole episode, observations and responses in turn:

    <obs> words of the state <act> sampled words <end> <obs> words <act> ...

Only sampled words are actions: the mask is True on them, the end of a response
included, and nowhere else. A turn's reward is on the last word sampled in it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tokencredit.batch import Batch
from tokencredit.credit.returns import row_sum
from tokencredit.tensors.checks import number
from tokencredit.world.games import END, VectorEnvironment, fit_context
from tokencredit.world.rollout import Drawn, draw

OBSERVE, ACT = "<obs>", "<act>"


@torch.no_grad()
def play(
    policy: nn.Module,
    games: VectorEnvironment,
    seeds: list[int],
    *,
    noise: int,
    max_reply: int = 12,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> tuple[Batch, dict[str, Tensor]]:
    """Play one episode in every game 多轮采样; a group shares its instance.

    All live games are read and answered together. A row's cache is kept; only the
    response and the next observation are new. A row whose limits ran out is truncated,
    not terminated: with a critic, `last_values` is V after the observation that would
    have followed, else 0.

    An observation that does not fit the context loses its oldest words; a row with no
    room for even one word is truncated there. Both are counted in "cut".

    Args:
        policy: gives ``(logits, values)``; see `Policy`.
        games: as many episodes as are wanted.
        seeds: one instance per group; the number of games is a multiple.
        noise: seed of the transitions, which differ within a group.
        max_reply: most tokens of a response, the end token included.
        temperature, generator: see `rollout`.

    Returns:
        The batch, with `turn_ends`, and numbers per episode ``[B]``: reward, success,
        turns, invalid (share of its turns whose response broke the format), length
        (sampled tokens), truncated, cut (tokens that did not fit).

    Raises:
        ValueError: another vocabulary size, a context without room for one word and a
            response, a bad temperature, groups of unequal size.
    """
    env, size = games.envs[0], len(games.envs)
    if policy.vocab_size != len(env.vocabulary):
        raise ValueError(
            f"the policy has {policy.vocab_size} tokens, "
            f"the game's vocabulary {len(env.vocabulary)}"
        )
    if policy.context < max_reply + 3:
        raise ValueError(
            f"a context of {policy.context} has no room for a word and a response of "
            f"{max_reply}"
        )
    temperature = number("temperature", temperature)
    observations, groups = games.reset_groups(seeds, noise=noise)
    written = Written(size, policy.context)
    rows, cache = torch.arange(size), policy.cache(size)
    last_values, turns, invalid, cut = torch.zeros(4, size)

    def hear(i: int) -> int:
        """Append the observation to row i; return its tokens, 0 without room."""
        words = env.encode(observations[i])
        left = 0 if games.truncated[i] else max_reply
        room = policy.context - int(written.length[i]) - left - 2
        kept, lost = fit_context(words, room) if room > 0 else ([], len(words))
        cut[i] += lost
        heard = env.encode(OBSERVE) + kept + env.encode(ACT) if room > 0 else []
        written.hear(i, heard)
        return len(heard)

    while len(rows):
        heard = torch.tensor([hear(i) for i in rows.tolist()])
        games.truncated[rows[heard == 0]] = True
        cache, rows = cache.rows(heard > 0), rows[heard > 0]
        if not len(rows):
            break
        logits, values = written.forward(policy, rows, cache)

        over = torch.from_numpy(games.truncated)[rows]
        if policy.critic:
            last_values[rows[over]] = values[over]
            values = values[~over]
        written.forget(rows[over])
        rows, cache, logits = rows[~over], cache.rows(~over), logits[~over]
        drawn = draw(
            policy,
            cache,
            logits,
            values,
            written.length[rows],
            limit=max_reply,
            end=env.encode(END)[0],
            temperature=temperature,
            generator=generator,
        )
        written.say(rows, drawn)
        said: list[str | None] = [None] * size
        for row, ids, live in zip(rows.tolist(), drawn.tokens, drawn.live, strict=True):
            said[row] = env.decode(ids[live].tolist())
        observations, paid, terminated, truncated, infos = games.step(said)
        written.earn(rows, torch.from_numpy(paid))
        turns[rows] += 1
        broken = [float(infos[row]["invalid"] is not None) for row in rows.tolist()]
        invalid[rows] += torch.tensor(broken)
        done = terminated if policy.critic else terminated | truncated
        on = torch.from_numpy(~done)[rows]
        rows, cache = rows[on], cache.rows(on)

    batch = written.batch(
        groups=torch.from_numpy(groups),
        truncated=torch.from_numpy(games.truncated.copy()),
        max_length=env.max_turns * max_reply,
        last_values=last_values if policy.critic else None,
    )
    return batch, {
        "reward": row_sum(batch.rewards),
        "success": torch.tensor([info.get("success", False) for info in games.infos]),
        "turns": turns,
        "invalid": invalid / turns.clamp(min=1),
        "length": batch.mask.sum(1),
        "truncated": batch.truncated,
        "cut": cut,
    }


class Written:
    """The rows of a batch while they are written, observation by response."""

    def __init__(self, size: int, context: int):
        shape = (size, context)
        self.tokens = torch.zeros(shape, dtype=torch.long)
        self.mask, self.turn_ends = torch.zeros(2, *shape, dtype=torch.bool)
        self.log_probs, self.rewards, self.values = torch.zeros(3, *shape)
        self.length, self.seen, self.said = torch.zeros(3, size, dtype=torch.long)

    def hear(self, row: int, ids: list[int]):
        """Append an observation."""
        start = int(self.length[row])
        self.tokens[row, start : start + len(ids)] = torch.tensor(ids, dtype=torch.long)
        self.length[row] += len(ids)

    def forward(self, policy: nn.Module, rows: Tensor, cache):
        """Logits and values after the new tokens of these rows, by one forward pass."""
        full = self.length[rows]
        width = int((full - self.seen[rows]).max())
        start = (full - width).clamp(min=0)  # to read a token twice changes nothing
        block = self.tokens[rows[:, None], start[:, None] + torch.arange(width)]
        logits, values = policy(block, cache, start)
        last = torch.arange(len(rows)), full - start - 1
        self.seen[rows] = full
        return logits[last], values[last] if policy.critic else None

    def forget(self, rows: Tensor):
        """Remove the last observation, which gets no response."""
        self.length[rows] = self.said[rows]

    def say(self, rows: Tensor, drawn: Drawn):
        """Append a sampled response, the end of a turn."""
        i, t = drawn.live.nonzero(as_tuple=True)
        place = rows[i], self.length[rows[i]] + t
        self.tokens[place], self.mask[place] = drawn.tokens[i, t], True
        self.log_probs[place] = drawn.log_probs[i, t]
        self.values[place] = drawn.values[i, t]
        self.length[rows] += drawn.live.sum(1)
        self.said[rows] = self.length[rows]
        self.turn_ends[rows, self.length[rows] - 1] = True

    def earn(self, rows: Tensor, paid: Tensor):
        """Rewards ``[size]`` of the turn that has just ended, on its last token."""
        self.rewards[rows, self.length[rows] - 1] = paid.to(self.rewards)[rows]

    def batch(self, *, last_values: Tensor | None, **more) -> Batch:
        """All rows, as wide as the longest; `more` are the other fields."""
        width = int(self.length.max())
        unread = torch.arange(width) >= self.length[:, None]
        return Batch(
            tokens=self.tokens[:, :width].masked_fill(unread, 0),
            mask=self.mask[:, :width],
            old_log_probs=self.log_probs[:, :width],
            rewards=self.rewards[:, :width],
            turn_ends=self.turn_ends[:, :width],
            values=None if last_values is None else self.values[:, :width],
            last_values=last_values,
            **more,
        )
