"""Enumerable tasks 逐条可数的任务: so small that every response can be listed.

The playground of the book trains on these tasks in the browser, and `train` does here.
A task has a handful of words and responses of a few words; `PrefixPolicy` keeps a row
of logits for each prefix. So the value of a policy is a finite sum, not an estimate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tokencredit.batch import Batch
from tokencredit.world.scoring import on_last_token
from tokencredit.world.tasks.base import Task
from tokencredit.world.text import EOS

SHARING = ("nothing", "prompts", "last word", "everything")


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """Rewards of one prompt 一道题怎样计分.

    Args:
        pays: patterns and amounts; the reward is the sum of the amounts whose pattern
            is found in the response.
        right: the pattern of a correct response.
    """

    pays: Mapping[str, float]
    right: str


class Tree(NamedTuple):
    """Every prefix of a response, shortest first, and where each word leads."""

    prefixes: list[str]
    child: list[list[int | None]]  # [S][V]: -1 ends the response, None: not allowed

    def responses(self, words: str) -> list[str]:
        """All possible responses."""
        rows = zip(self.prefixes, self.child, strict=True)
        return [
            p + w for p, row in rows for w, s in zip(words, row, strict=True) if s == -1
        ]


@dataclass(frozen=True, kw_only=True)
class EnumerableTask(Task):
    """A task whose responses can all be listed 可枚举的任务.

    A response ends with "$" or after `max_response` words. The reward (`reward`) and
    correctness (`right`) may differ: some tasks have a hole in their reward.

    Args:
        name: of the task.
        words: one character each; "$" ends a response, where there is one.
        max_response: words a response may have, "$" included.
        asked: its prompts; their texts are ①, ②, ...
        start: the logit a word starts with, 0 if not named; "^w" is for the first word.
        world: words of the environment, one at each place of `world_at`; they are
            masked, and the words between two of them are a turn.
        world_at: those places, counted from 0.
        noise: standard deviation of the noise on each reward.
        offset: added to each reward.
        seed: of the noise.
    """

    name: str
    words: str
    max_response: int
    asked: tuple[Prompt, ...]
    start: Mapping[str, float] = field(default_factory=dict)
    world: str = ""
    world_at: tuple[int, ...] = ()
    noise: float = 0.0
    offset: float = 0.0
    seed: int = 0

    max_prompt = 1

    @property
    def texts(self) -> str:
        """The prompts, one character each."""
        return "①②③④"[: len(self.asked)]

    @property
    def vocabulary(self) -> str:
        """The words, then the prompts."""
        return self.words + self.texts

    @cached_property
    def tree(self) -> Tree:
        """All prefixes."""
        prefixes, child = [""], []
        for prefix in prefixes:  # it grows while we go
            told = len(prefix) in self.world_at
            child.append([])
            for word in self.words:
                if (word in self.world) != told:
                    child[-1].append(None)
                elif word == EOS or len(prefix) == self.max_response - 1:
                    child[-1].append(-1)
                else:
                    child[-1].append(len(prefixes))
                    prefixes.append(prefix + word)
        return Tree(prefixes, child)

    @cached_property
    def dice(self) -> np.random.Generator:
        """The stream of the noise."""
        return np.random.default_rng(self.seed)

    def prompts(self, num: int, rng: np.random.Generator) -> list[str]:
        """The prompts in turn, from a random one on."""
        first = int(rng.integers(len(self.texts)))
        return [self.texts[(first + i) % len(self.texts)] for i in range(num)]

    def of(self, prompt: str) -> Prompt:
        """The prompt with that text.

        Raises:
            ValueError: no such prompt.
        """
        if len(prompt) != 1 or prompt not in self.texts:
            raise ValueError(f"prompt must be one of {self.texts!r}, got {prompt!r}")
        return self.asked[self.texts.index(prompt)]

    def paid(self, prompt: str, response: str) -> float:
        """Reward of a response before noise and offset."""
        pays = self.of(prompt).pays.items()
        return float(sum(amount for like, amount in pays if re.search(like, response)))

    def right(self, prompt: str, response: str) -> float:
        """1 for a correct response, whatever its reward; see `measure` of `train`."""
        return float(bool(re.search(self.of(prompt).right, response)))

    def reward(self, prompt: str, response: str) -> float:
        """Reward of a response: `paid`, plus noise and offset."""
        noise = self.noise * self.dice.standard_normal() if self.noise else 0.0
        return self.paid(prompt, response) + self.offset + noise

    def sample(
        self, policy: nn.Module, num: int, group_size: int, **how
    ) -> tuple[Batch, dict[str, Tensor]]:
        """Responses, the world's words in them masked; see `Task`."""
        batch, metrics = super().sample(policy, num, group_size, **how)
        places = torch.arange(-self.max_prompt, batch.mask.shape[1] - self.max_prompt)
        told = torch.isin(places, torch.tensor(self.world_at, dtype=torch.long))
        mask = batch.mask & ~told
        return replace(
            batch,
            mask=mask,
            rewards=on_last_token(batch.rewards.sum(1), mask),
            turn_ends=mask & ~F.pad(mask[:, 1:], (0, 1)),
        ), metrics

    def gold(self, prompt: str) -> str:
        """The first of the best-paid responses."""
        responses = self.tree.responses(self.words)
        return max(responses, key=lambda response: self.paid(prompt, response))

    def demonstration(self, prompt: str, rng: np.random.Generator) -> str:
        """The gold response."""
        return self.gold(prompt)

    @cached_property
    def max_reward(self) -> float:
        """The most that a prompt pays."""
        return (
            max(self.paid(text, self.gold(text)) for text in self.texts) + self.offset
        )


@dataclass
class Place:
    """The state of each row in the tree: the policy's cache."""

    state: Tensor

    def rows(self, index: Tensor) -> Place:
        """The same for a choice of rows."""
        return Place(self.state[index])


class PrefixPolicy(nn.Module):
    """A table with a row of logits for each prefix 前缀表策略.

    It maps a prompt and the words so far to logits, like any policy of the package, and
    its value can be computed exactly (`worth`).

    Args:
        task: gives the tree of prefixes.
        sharing: "nothing": each prefix of each prompt has a row of its own; "prompts":
            prompts share their rows; "last word": prefixes that end alike share a row,
            "everything": there is one row.
        critic: None for no value head, else the factor on its table: the critic's
            learning rate, in units of the policy's.

    Raises:
        ValueError: an unknown way of sharing.

    >>> policy = PrefixPolicy(ENUMERABLE["trap"])
    >>> {name: round(x, 3) for name, x in policy.worth().items()}
    {'reward': 0.021, 'success': 0.004}
    """

    def __init__(
        self,
        task: EnumerableTask,
        *,
        sharing: str = "nothing",
        critic: float | None = None,
    ):
        super().__init__()
        if sharing not in SHARING:
            raise ValueError(f"sharing must be one of {SHARING}, got {sharing!r}")
        self.task, self.critic_scale = task, critic
        self.vocab_size, self.context = len(task.vocabulary), 1 + task.max_response
        prefixes, child = task.tree
        size = len(prefixes)
        closed = size * len(
            task.texts
        )  # the state after the end; then: before a prompt
        step = torch.full((closed + 2, self.vocab_size), closed)
        step[closed + 1, len(task.words) :] = torch.arange(0, closed, size)
        own = torch.zeros(closed + 2, dtype=torch.long)  # the row that a state reads
        told = torch.full((closed + 2,), True)  # where the environment writes
        start = torch.full((closed + 2, self.vocab_size), -math.inf)
        start[closed:, 0] = 0
        rows: dict[object, int] = {}
        logits: list[list[float | None]] = []  # by a word's first place
        for x in range(closed):
            s = x % size
            key = {"nothing": x, "prompts": s, "last word": prefixes[s][-1:]}.get(
                sharing
            )
            own[x] = rows.setdefault(key, len(rows))
            if own[x] == len(logits):
                logits.append([None] * self.vocab_size)
            told[x] = len(prefixes[s]) in task.world_at
            for a, (word, to) in enumerate(zip(task.words, child[s], strict=True)):
                if to is None:
                    continue
                step[x, a] = closed if to < 0 else x - s + to
                logit = task.start.get(word, 0.0)
                if not prefixes[s]:
                    logit = task.start.get("^" + word, logit)
                start[x, a] = logit
                if logits[own[x]][a] is None:
                    logits[own[x]][a] = logit
        table = torch.tensor([[logit or 0.0 for logit in row] for row in logits])
        self.logits = nn.Parameter(table)
        self.values = None if critic is None else nn.Parameter(torch.zeros(closed))
        tables = {"step": step, "own": own, "told": told, "start": start}
        for name, table in tables.items():
            self.register_buffer(name, table)

    @property
    def critic(self) -> bool:
        """Whether it has a value head."""
        return self.critic_scale is not None

    def cache(self, rows: int) -> Place:
        """Rows before the prompt."""
        return Place(torch.full((rows,), len(self.own) - 1))

    def forward(
        self,
        tokens: Tensor,
        cache: Place | None = None,
        start: Tensor | None = None,
        *,
        only: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Logits of the next token, and the value, after each token; see `Policy`."""
        place = self.cache(len(tokens)) if cache is None else cache
        states = []
        for column in tokens.T:
            place.state = self.step[place.state, column]
            states.append(place.state)
        states = torch.stack(states, 1)
        states = states if only is None else states[only]
        if not self.critic:
            return self.logits_of(states), None
        return self.logits_of(states), self.critic_scale * F.pad(self.values, (0, 2))[
            states
        ]

    def logits_of(self, states: Tensor) -> Tensor:
        """The logits of states; the environment's words keep their initial ones."""
        start = self.start[states]
        logits = self.logits[self.own[states]].masked_fill(
            start == -math.inf, -math.inf
        )
        return torch.where(self.told[states][..., None], start, logits)

    @torch.no_grad()
    def worth(self, temperature: float = 1.0) -> dict[str, float]:
        """Expected reward and success, a sum over every response 精确期望."""
        task, (prefixes, child) = self.task, self.task.tree
        reward = success = 0.0
        for q, text in enumerate(task.texts):
            states = torch.arange(len(prefixes)) + q * len(prefixes)
            heat = torch.where(self.told[states], 1.0, temperature)[:, None]
            chance = (self.logits_of(states).double() / heat).softmax(-1).tolist()
            reach = {0: 1.0}
            for s, prefix in enumerate(prefixes):
                for word, to, p in zip(task.words, child[s], chance[s], strict=False):
                    if to is None:
                        continue
                    if to >= 0:
                        reach[to] = reach[s] * p
                        continue
                    reward += reach[s] * p * task.paid(text, prefix + word)
                    success += reach[s] * p * task.right(text, prefix + word)
        mean = 1 / len(task.texts)
        return {"reward": mean * reward + task.offset, "success": mean * success}


ENUMERABLE = {
    task.name: task
    for task in (
        # Luck: the weather pays, the rest of the response is free.
        EnumerableTask(
            name="luck",
            words="☀☁h$",
            max_response=10,
            asked=(Prompt(pays={"^☀": 1.0}, right="^☀"),),
            start={"☀": -0.85},
            world="☀☁",
            world_at=(0,),
        ),
        # Rare: an easy prompt, and one that needs a word of probability 0.02.
        EnumerableTask(
            name="rare",
            words="sw7$",
            max_response=4,
            asked=(
                Prompt(pays={r"7\$": 1.0}, right=r"7\$"),
                Prompt(pays={r"w.*7\$": 1.0}, right=r"w.*7\$"),
            ),
            start={"w": -3.0},
        ),
        # Trap: a guess is paid half at once, checking twice is paid in full.
        EnumerableTask(
            name="trap",
            words="gc7$",
            max_response=4,
            asked=(Prompt(pays={r"^cc7\$": 1.0, r"g.*7\$": 0.5}, right=r"^cc7\$"),),
        ),
        # Hole: every "!" after a right answer pays a little more, up to four.
        EnumerableTask(
            name="hole",
            words="97!$",
            max_response=5,
            asked=(
                Prompt(
                    pays={"^7": 1.0} | {"^7" + ".*!" * n: 0.2 for n in range(1, 5)},
                    right="^7[^!]*$",
                ),
            ),
            start={"!": -2.5, "^$": -2.0},
        ),
        # Pit: one response, far from the right one, is paid twice as much.
        EnumerableTask(
            name="pit",
            words="97!$",
            max_response=4,
            asked=(Prompt(pays={r"^7\$": 1.0, "^7!!": 2.0}, right=r"^7\$"),),
            start={"!": -1.0, "^$": -2.0},
        ),
        # Partial: a third for each 7.
        EnumerableTask(
            name="partial",
            words="ab7$",
            max_response=4,
            asked=(
                Prompt(
                    pays={".*".join("7" * n) + r".*\$": 1 / 3 for n in range(1, 4)},
                    right=r"777\$",
                ),
            ),
        ),
        # Fork: eight turns, and only the fourth decides.
        EnumerableTask(
            name="fork",
            words="←→",
            max_response=8,
            asked=(Prompt(pays={"^.{3}→": 1.0}, right="^.{3}→"),),
        ),
        # Pair: the word that one prompt needs is wrong in excess for the other.
        EnumerableTask(
            name="pair",
            words="ab",
            max_response=3,
            asked=(
                Prompt(pays={"a": 1.0}, right="a"),
                Prompt(pays={"b": 1.0}, right="b"),
            ),
            start={"a": 1.5},
        ),
        # Walk: two turns; the last word of each replies to the environment's word.
        EnumerableTask(
            name="walk",
            words="☀☁←→",
            max_response=6,
            asked=(
                Prompt(
                    pays={
                        "^☀.→": 0.5,
                        "^☁.←": 0.5,
                        "^...☀.→": 0.5,
                        "^...☁.←": 0.5,
                    },
                    right="^(☀.→|☁.←)(☀.→|☁.←)",
                ),
            ),
            world="☀☁",
            world_at=(0, 3),
        ),
    )
}
