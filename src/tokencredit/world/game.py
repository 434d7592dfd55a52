"""A game to train on 可训练的游戏: a registered environment with its demonstrations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from tokencredit.batch import Batch
from tokencredit.tensors.checks import number, whole
from tokencredit.world.episodes import ACT, OBSERVE, play
from tokencredit.world.games import END, make, make_vec, random_answer, reply
from tokencredit.world.games.base import stream
from tokencredit.world.scoring import RewardFunction


@dataclass(frozen=True, kw_only=True)
class Game:
    """A registered environment as something to train on 可训练的游戏.

    Args:
        id: of the environment, see `tokencredit.world.games.make`.
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
        whole("instances", self.instances)
        whole("max_reply", self.max_reply)
        number("mistakes", self.mistakes, 0, 1)
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

    def sample(
        self,
        policy: nn.Module,
        num: int,
        group_size: int,
        *,
        temperature: float,
        rng: np.random.Generator,
        generator: torch.Generator,
        reward_fn: RewardFunction | None = None,
        measure: Mapping[str, RewardFunction] | None = None,
        missing: str = "refuse",
    ) -> tuple[Batch, dict[str, Tensor]]:
        """Episodes on fresh instances; see `World`. The numbers are those of `play`."""
        if reward_fn or measure or missing != "refuse":
            raise ValueError("reward_fn, measure, missing: a game pays its own reward")
        return play(
            policy,
            make_vec(self.id, num * group_size, **self.dials),
            rng.integers(self.instances, size=num).tolist(),
            noise=int(rng.integers(2**62)),
            max_reply=self.max_reply,
            temperature=temperature,
            generator=generator,
        )


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

    Args:
        policy: that plays.
        game: whose instances from `game.instances` on are used.
        episodes: one on each of that many instances.
        temperature: of sampling.
        seed: of sampling and of the transitions.

    Returns:
        The mean of every number of `play`.

    Raises:
        ValueError: see `play`.
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
