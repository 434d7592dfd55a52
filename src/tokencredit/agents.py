"""Agents 智能体: a policy plays a text game over several turns, into one `Batch`.

A row is a whole episode, what the game says and what the policy replies in turn:

    <obs> words of the state <act> sampled words <end> <obs> words <act> ...

Only sampled words are actions: the mask is True on them, the end of a reply included,
and nowhere else. A turn's reward stands on the last word sampled in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from .batch import Batch
from .environments import END, VectorEnvironment, fit_context, make, make_vec, reply
from .environments.base import check_count, check_share, stream
from .environments.vector import random_answer
from .groups import group_rewards
from .rollout import draw

OBSERVE, ACT = "<obs>", "<act>"


@dataclass(frozen=True, kw_only=True)
class Game:
    """A registered environment as something to train on 可训练的游戏.

    Args:
        id: of the environment, see `tokencredit.environments.make`.
        dials: of the environment, where they differ from its defaults.
        instances: training draws instance seeds below this number; evaluation uses
            seeds from here on, which training never sees.
        max_reply: most tokens of a reply, the end token included.
        mistakes: share of the demonstrations' replies that are random.

    Raises:
        ValueError: an unknown environment (the known ones are named), a dial outside
            its range.
    """

    id: str
    dials: Mapping[str, object] = field(default_factory=dict)
    instances: int = 1000
    max_reply: int = 12
    mistakes: float = 0.5

    def __post_init__(self):
        check_count("instances", self.instances)
        check_count("max_reply", self.max_reply)
        check_share("mistakes", self.mistakes)
        make(self.id, **self.dials)

    @cached_property
    def env(self):
        """One copy of the environment, for its words and limits."""
        return make(self.id, **self.dials)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The words; a token's id is its place."""
        return self.env.vocabulary

    @property
    def max_response(self) -> int:
        """Most tokens that one episode samples."""
        return self.env.max_turns * self.max_reply

    @property
    def context(self) -> int:
        """Tokens of the longest row, with the observation after its last turn."""
        heard = self.env.max_length + 2
        return self.env.max_turns * (heard + self.max_reply) + heard

    def demonstrations(
        self, num: int, rng: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """Episodes of the scripted expert with random replies mixed in 示范.

        Returns:
            Tokens ``[num, T]``, padded on the right, and the mask of the replies.
        """
        rows = [self._demonstration(rng) for _ in range(num)]
        width = max(len(ids) for ids, _ in rows)
        tokens = torch.zeros(num, width, dtype=torch.long)
        mask = torch.zeros(num, width, dtype=torch.bool)
        for i, (ids, said) in enumerate(rows):
            tokens[i, : len(ids)] = torch.tensor(ids)
            mask[i, : len(ids)] = torch.tensor(said)
        return tokens, mask

    def _demonstration(self, rng) -> tuple[list[int], list[bool]]:
        env, ids, said = self.env, [], []
        mistakes = stream("mistakes", int(rng.integers(2**62)))
        observation, _ = env.reset(
            seed=int(rng.integers(self.instances)), noise=int(rng.integers(2**62))
        )
        while not (env.terminated or env.truncated):
            random = mistakes.random() < self.mistakes
            answer = random_answer(env, mistakes) if random else reply(env.expert())
            heard = env.encode(f"{OBSERVE} {observation} {ACT}")
            spoken = env.encode(f"{answer} {END}")[: self.max_reply]
            ids += heard + spoken
            said += [False] * len(heard) + [True] * len(spoken)
            observation = env.step(answer)[0]
        return ids, said


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

    All live games are read and answered together. A row's cache keeps what was read;
    only the reply and the next observation are new. A row whose limits ran out is
    truncated, not terminated: with a critic, `last_values` is V after the observation
    that would have followed, else 0.

    An observation that does not fit the context loses its oldest words; a row with no
    room for even one word is truncated there. Both are counted in "cut".

    Args:
        policy: gives ``(logits, values)``; see `Policy`.
        games: as many episodes as are wanted.
        seeds: one instance per group; the number of games is a multiple.
        noise: seed of the transitions, which differ within a group.
        max_reply: most tokens of a reply, the end token included.
        temperature, generator: see `rollout`.

    Returns:
        The batch, with `turn_ends`, and numbers per episode ``[B]``: reward, success,
        turns, invalid (share of its turns whose reply broke the format), length
        (sampled tokens), truncated, cut (tokens that did not fit).

    Raises:
        ValueError: another vocabulary size, a context without room for one word and a
            reply, a bad temperature, groups of unequal size.
    """
    env, size = games.envs[0], len(games.envs)
    if policy.vocab_size != len(env.vocabulary):
        raise ValueError(
            f"the policy has {policy.vocab_size} tokens, "
            f"the game's vocabulary {len(env.vocabulary)}"
        )
    if policy.context < max_reply + 3:
        raise ValueError(
            f"a context of {policy.context} has no room for a word and a reply of "
            f"{max_reply}"
        )
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be finite and >= 0, got {temperature}")
    observations, groups = games.reset_groups(seeds, noise=noise)
    end = env.encode(END)[0]
    shape = (size, policy.context)
    tokens = torch.zeros(shape, dtype=torch.long)
    mask, turn_ends = torch.zeros(2, *shape, dtype=torch.bool)
    log_probs, rewards, values = torch.zeros(3, *shape)
    last_values, turns, invalid, cut = torch.zeros(4, size)
    length, read = torch.zeros(2, size, dtype=torch.long)
    rows, cache = torch.arange(size), policy.cache(size)

    def hear(i: int) -> int:
        """Write the observation into row i; how many tokens, 0 for no room."""
        answer = 0 if games.truncated[i] else max_reply
        room = policy.context - int(length[i]) - answer - 2
        words = env.encode(observations[i])
        if room < 1:
            cut[i] += len(words)
            return 0
        words, lost = fit_context(words, room)
        cut[i] += lost
        heard = torch.tensor(env.encode(OBSERVE) + words + env.encode(ACT))
        tokens[i, length[i] : length[i] + len(heard)] = heard
        return len(heard)

    while len(rows):
        heard = torch.tensor([hear(i) for i in rows.tolist()])
        games.truncated[rows[heard == 0]] = True
        cache, rows, heard = cache.rows(heard > 0), rows[heard > 0], heard[heard > 0]
        if not len(rows):
            break
        full = length[rows] + heard
        width = int((full - read[rows]).max())
        start = (full - width).clamp(min=0)  # to read a token twice changes nothing
        block = tokens[rows[:, None], start[:, None] + torch.arange(width)]
        logits, v = policy(block, cache, start)
        at = torch.arange(len(rows)), full - start - 1
        logits, v = logits[at], v[at] if policy.critic else None

        over = torch.from_numpy(games.truncated)[rows]
        if policy.critic:
            last_values[rows[over]] = v[over]
            v = v[~over]
        rows, cache, logits = rows[~over], cache.rows(~over), logits[~over]
        read[rows] = length[rows] = full[~over]
        drawn = draw(
            policy,
            cache,
            logits,
            v,
            length[rows],
            limit=max_reply,
            end=end,
            temperature=temperature,
            generator=generator,
        )
        i, t = drawn.live.nonzero(as_tuple=True)
        place = rows[i], length[rows[i]] + t
        tokens[place], mask[place] = drawn.tokens[i, t], True
        log_probs[place], values[place] = drawn.log_probs[i, t], drawn.values[i, t]
        length[rows] += drawn.live.sum(1)
        last = rows, length[rows] - 1
        turn_ends[last] = True

        answers: list[str | None] = [None] * size
        for row, said, live in zip(
            rows.tolist(), drawn.tokens, drawn.live, strict=True
        ):
            answers[row] = env.decode(said[live].tolist())
        observations, paid, terminated, truncated, infos = games.step(answers)
        rewards[last] = torch.from_numpy(paid).to(rewards)[rows]
        turns[rows] += 1
        invalid[rows] += torch.tensor(
            [float(infos[row]["invalid"] is not None) for row in rows.tolist()]
        )
        done = terminated if policy.critic else terminated | truncated
        on = torch.from_numpy(~done)[rows]
        rows, cache = rows[on], cache.rows(on)

    width = int(length.max())
    unread = torch.arange(width) >= length[:, None]  # what came after the last turn
    batch = Batch(
        tokens=tokens[:, :width].masked_fill(unread, 0),
        mask=mask[:, :width],
        old_log_probs=log_probs[:, :width],
        rewards=rewards[:, :width],
        groups=torch.from_numpy(groups),
        truncated=torch.from_numpy(games.truncated.copy()),
        values=values[:, :width] if policy.critic else None,
        last_values=last_values if policy.critic else None,
        turn_ends=turn_ends[:, :width],
    )
    return batch, {
        "reward": batch.rewards.sum(1),
        "success": torch.tensor([info.get("success", False) for info in games.infos]),
        "turns": turns,
        "invalid": invalid / turns.clamp(min=1),
        "length": batch.mask.sum(1),
        "truncated": batch.truncated,
        "cut": cut,
    }


def play_round(
    policy: nn.Module,
    game: Game,
    prompts: int,
    group_size: int,
    temperature: float,
    rng: np.random.Generator,
    generator: torch.Generator,
) -> tuple[Batch, dict[str, Tensor]]:
    """A round of training: fresh instances, `group_size` episodes of each.

    To the numbers of `play` it adds reward_std: of the episode's group.
    """
    batch, seen = play(
        policy,
        make_vec(game.id, prompts * group_size, **game.dials),
        rng.integers(game.instances, size=prompts).tolist(),
        noise=int(rng.integers(2**62)),
        max_reply=game.max_reply,
        temperature=temperature,
        generator=generator,
    )
    index, _, _, std = group_rewards(seen["reward"], batch.groups)
    return batch, seen | {"reward_std": std[index].float()}


def evaluate(
    policy: nn.Module,
    game: Game,
    *,
    episodes: int = 256,
    temperature: float = 0.5,
    seed: int = 0,
) -> dict[str, float]:
    """Means over episodes on instances that training never sees 评估.

    256 fixed prompts at temperature 0.5 are RAGEN's (2504.20073, appendix C.2).
    """
    _, seen = play(
        policy,
        make_vec(game.id, episodes, **game.dials),
        range(game.instances, game.instances + episodes),
        noise=seed,
        max_reply=game.max_reply,
        temperature=temperature,
        generator=torch.Generator().manual_seed(seed),
    )
    return {name: numbers.float().mean().item() for name, numbers in seen.items()}
