"""Base of the text environments (环境): turns, limits, parsing, words, two seeds.

The interface is that of Gymnasium, with text on both sides: an observation is a line of
words, an action of `step` is the whole reply of one turn.

    reply = [<think> any words </think>] action || action || ... [<end>]

Limits and the penalty are the published defaults of RAGEN (2504.20073, appendix C.2):
5 turns, 5 actions a turn, 10 actions an episode, -0.1 for breaking the format.
"""

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tokencredit.tensors.checks import whole

SEPARATOR = "||"
THINK, END_THINK, END = "<think>", "</think>", "<end>"
SPECIALS = ("<pad>", END, "<obs>", "<act>", THINK, END_THINK, SEPARATOR)
DIRECTIONS = ("left", "down", "right", "up")  # Gymnasium's order: 0, 1, 2, 3


class EpisodeOver(RuntimeError):
    """An answer came after the end of the episode, or before the first reset."""


class Parsed(NamedTuple):
    """The actions that could be read, and why the reply is invalid (None: valid)."""

    actions: tuple[str, ...]
    reason: str | None


def stream(name: str, seed: int) -> random.Random:
    """A separate random stream: one name and seed, one sequence on every machine."""
    return random.Random(f"{name} {seed}")


def fit_context(tokens: list, context: int, *, keep: str = "tail") -> tuple[list, int]:
    """Cut a sequence to the context (截断到上下文) and count what was lost.

    Args:
        tokens: words or ids, oldest first.
        context: most tokens that fit.
        keep: "tail" drops the oldest tokens, "head" the newest.

    Returns:
        The kept tokens and the number of dropped ones (0 when everything fits).

    >>> fit_context([1, 2, 3, 4], 3)
    ([2, 3, 4], 1)
    """
    whole("context", context)
    if keep not in ("head", "tail"):
        raise ValueError(f"keep must be 'head' or 'tail', got {keep!r}")
    dropped = max(len(tokens) - context, 0)
    kept = tokens[dropped:] if keep == "tail" else tokens[: len(tokens) - dropped]
    return kept, dropped


@dataclass(kw_only=True)
class Environment(ABC):
    """One text game (文本环境); a subclass supplies the rules, this class the turns.

    Two seeds, not one: `seed` draws the instance (map, room, goal), which a group
    shares; `noise` draws the transitions, which differ inside a group.

    Args:
        max_turns: turns an episode may have.
        actions_per_turn: actions one reply may hold.
        max_actions: actions an episode may have, over all turns.
        penalty: added once to the reward of a turn whose reply breaks the format.
    """

    max_turns: int = 5
    actions_per_turn: int = 5
    max_actions: int = 10
    penalty: float = -0.1

    def __post_init__(self) -> None:
        for name in ("max_turns", "actions_per_turn", "max_actions"):
            whole(name, getattr(self, name))
        if not -float("inf") < self.penalty <= 0:
            raise ValueError(f"penalty must be finite and <= 0, got {self.penalty!r}")
        self.terminated = self.truncated = False
        self.state = None
        self._seeds = random.Random()

    # The rules of one game ---------------------------------------------------------

    @abstractmethod
    def instance_of(self, seed: int) -> Any:
        """Draw the instance: everything that a group shares."""

    @abstractmethod
    def start(self) -> Any:
        """The first state of `self.instance`; states are immutable."""

    @abstractmethod
    def move(self, state: Any, action: str) -> tuple[Any, float, bool]:
        """One action: next state, reward, and whether the game has ended."""

    @abstractmethod
    def knows(self, action: str) -> bool:
        """Whether the game can read this action (it may still have no effect)."""

    @abstractmethod
    def won(self, state: Any) -> bool:
        """Whether this state counts as success."""

    @abstractmethod
    def scene(self, state: Any) -> str:
        """The state in words of the vocabulary."""

    @abstractmethod
    def picture(self, state: Any) -> str:
        """The state as a plain-text frame for a reader."""

    @abstractmethod
    def available(self) -> list[str]:
        """Actions worth trying here, for random play."""

    @abstractmethod
    def expert(self) -> list[str]:
        """Actions of a scripted expert for the coming turn."""

    @property
    @abstractmethod
    def words(self) -> tuple[str, ...]:
        """Words of this game's scenes and actions."""

    @property
    @abstractmethod
    def scene_length(self) -> int:
        """Words of the longest scene."""

    # The interface -----------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, noise: int | None = None
    ) -> tuple[str, dict]:
        """Begin an episode.

        Args:
            seed: the instance; None draws the next one from the last seed given.
            noise: the transitions; None uses `seed` (in a stream of its own).

        Returns:
            The first observation and {"seed", "noise"}, enough to replay it.
        """
        if seed is None:
            seed = self._seeds.getrandbits(31)
        else:
            whole("seed", seed, 0)
            self._seeds = stream("seeds", seed)
        noise = seed if noise is None else noise
        whole("noise", noise, 0)
        self.instance = self.instance_of(seed)
        self.noise = stream("noise", noise)
        self.state = self.start()
        self.turns_left, self.actions_left = self.max_turns, self.max_actions
        self.terminated = self.truncated = False
        self.trace = [(0, None, 0.0, self.state)]
        return self.observation(), {"seed": seed, "noise": noise}

    def step(self, answer: str) -> tuple[str, float, bool, bool, dict]:
        """Play one turn: every action that can be read, in order, until the game ends.

        Actions beyond the episode's limit are not played. An answer that breaks the
        format uses up the turn and costs `penalty` once, whatever else it does.

        Returns:
            observation, reward (actions plus penalty), terminated (the game ended),
            truncated (a limit was reached first), and info: "actions" played, their
            "rewards", "invalid" (the reason or None), "penalty", "success".

        Raises:
            EpisodeOver: after the end, or before `reset`.
        """
        if self.state is None:
            raise EpisodeOver("no episode yet: call reset() before step()")
        if self.terminated or self.truncated:
            raise EpisodeOver("the episode is over: call reset() before step()")
        actions, reason = self.parse(answer)
        rewards = []
        self.turns_left -= 1
        turn = self.max_turns - self.turns_left
        for action in actions[: self.actions_left]:
            self.state, reward, self.terminated = self.move(self.state, action)
            self.actions_left -= 1
            rewards.append(reward)
            self.trace.append((turn, action, reward, self.state))
            if self.terminated:
                break
        spent = self.turns_left == 0 or self.actions_left == 0
        self.truncated = spent and not self.terminated
        penalty = self.penalty if reason else 0.0
        if reason:
            self.trace.append((turn, reason, penalty, self.state))
        info = {
            "actions": actions[: len(rewards)],
            "rewards": rewards,
            "invalid": reason,
            "penalty": penalty,
            "success": self.won(self.state),
        }
        reward = sum(rewards) + penalty
        return self.observation(), reward, self.terminated, self.truncated, info

    def parse(self, answer: str) -> Parsed:
        """Parse the actions of a reply; no text raises an error.

        Unreadable pieces are left out and named in `reason`; so are an empty answer,
        an unclosed <think> and actions beyond the limit of a turn.

        Raises:
            TypeError: if `answer` is not text (a fault of the caller).
        """
        if not isinstance(answer, str):
            raise TypeError(f"an answer is text, got {type(answer).__name__}")
        text = answer.lower().split(END, 1)[0].strip()
        if text.startswith(THINK):
            _, closed, text = text.partition(END_THINK)
            if not closed:
                return Parsed((), f"{THINK} without {END_THINK}")
        pieces = [" ".join(piece.split()) for piece in text.split(SEPARATOR)]
        if pieces == [""]:
            return Parsed((), "empty answer")
        actions = tuple(filter(self.knows, pieces))
        reason = None
        if len(actions) < len(pieces):
            unknown = next(piece for piece in pieces if not self.knows(piece))
            reason = f"unknown action {unknown[:20]!r}"
        elif len(actions) > self.actions_per_turn:
            reason = f"{len(actions)} actions, at most {self.actions_per_turn} a turn"
        return Parsed(actions[: self.actions_per_turn], reason)

    def observation(self) -> str:
        """The state and the turns and actions left, in words of the vocabulary."""
        left = f"turns {self.turns_left} actions {self.actions_left}"
        return f"{self.scene(self.state)} {left}"

    def render(self) -> str:
        """The present frame, in plain text, for a reader."""
        return self.picture(self.state)

    def frames(self) -> list[dict]:
        """Every frame since `reset`; their rewards add up to the episode's return.

        A frame holds the turn (0 at the start), the event (an action, the reason of a
        penalty, None at the start), its reward, and the picture after it.
        """
        return [
            {"turn": turn, "did": did, "reward": reward, "picture": self.picture(state)}
            for turn, did, reward, state in self.trace
        ]

    # Words and tokens --------------------------------------------------------------

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every word of observations and actions, specials first; ids are places."""
        counts = range(max(self.max_actions, self.max_turns) + 1)
        numbers = tuple(str(count) for count in counts)
        return tuple(
            dict.fromkeys((*SPECIALS, "turns", "actions", *numbers, *self.words))
        )

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.vocabulary)}

    @property
    def max_length(self) -> int:
        """Words of the longest observation."""
        return self.scene_length + 4

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; ValueError names a word outside the vocabulary."""
        try:
            return [self._ids[word] for word in text.split()]
        except KeyError as unknown:
            raise ValueError(f"{unknown} is not in the vocabulary") from None

    def decode(self, ids: list[int]) -> str:
        """The text of token ids; ValueError names an id outside the vocabulary."""
        for token in ids:
            if not 0 <= token < len(self.vocabulary):
                raise ValueError(
                    f"token {token} is outside 0..{len(self.vocabulary) - 1}"
                )
        return " ".join(self.vocabulary[token] for token in ids)


def reply(actions: list[str] | tuple[str, ...]) -> str:
    """The reply with these actions.

    >>> reply(["down", "right"])
    'down || right'
    """
    return f" {SEPARATOR} ".join(actions)


def place(cell: tuple[int, int]) -> str:
    """The name of a cell: column letter, row number from the top.

    >>> place((0, 2))
    'c1'
    """
    row, column = cell
    return f"{chr(ord('a') + column)}{row + 1}"
