"""Many episodes side by side (批量环境): a plain loop over independent games."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from tokencredit.tensors.checks import whole
from tokencredit.world.games.base import Environment, reply, stream


class VectorEnvironment:
    """`num_envs` copies of one environment, stepped together.

    A finished episode is not restarted: its answer is None and its report constant
    (reward 0). `live` marks the others.

    Args:
        make: returns one fresh environment.
        num_envs: how many.
    """

    def __init__(self, make: Callable[[], Environment], num_envs: int):
        whole("num_envs", num_envs)
        self.envs = [make() for _ in range(num_envs)]

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The words of every observation and answer."""
        return self.envs[0].vocabulary

    @property
    def live(self) -> np.ndarray:
        """True where the episode has not ended."""
        return ~(self.terminated | self.truncated)

    def reset(
        self, seeds: Sequence[int], noises: Sequence[int] | None = None
    ) -> tuple[list[str], list[dict]]:
        """Begin every episode, each with its instance seed and noise seed."""
        noises = seeds if noises is None else noises
        for name, given in (("seeds", seeds), ("noises", noises)):
            if len(given) != len(self.envs):
                raise ValueError(f"{name}: {len(self.envs)} wanted, got {len(given)}")
        started = [
            env.reset(seed=int(seed), noise=int(noise))
            for env, seed, noise in zip(self.envs, seeds, noises, strict=True)
        ]
        self.observations, self.infos = map(list, zip(*started, strict=True))
        self.terminated = np.zeros(len(self.envs), dtype=bool)
        self.truncated = np.zeros(len(self.envs), dtype=bool)
        return list(self.observations), list(self.infos)

    def reset_groups(
        self, seeds: Sequence[int], *, noise: int
    ) -> tuple[list[str], np.ndarray]:
        """Begin groups: one instance for each seed, fresh noise for each episode.

        Args:
            seeds: one instance seed for each group; `num_envs` must be a multiple.
            noise: seed from which every episode's own noise seed is drawn.

        Returns:
            First observations and the group id of every episode.
        """
        if not len(seeds) or len(self.envs) % len(seeds):
            raise ValueError(
                f"seeds: a divisor of num_envs={len(self.envs)} wanted, "
                f"got {len(seeds)}"
            )
        draw = stream("noises", noise)
        groups = np.repeat(np.arange(len(seeds)), len(self.envs) // len(seeds))
        noises = [draw.getrandbits(62) for _ in self.envs]
        prompts, _ = self.reset([seeds[group] for group in groups], noises)
        check_groups(prompts, groups)
        return prompts, groups

    def step(
        self, answers: Sequence[str | None]
    ) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        """One turn of every live episode.

        Args:
            answers: one for each episode, None exactly where it has ended.

        Returns:
            As `Environment.step`, a list or an array over the episodes.

        Raises:
            ValueError: if the number of answers differs, or a live one is missing.
            EpisodeOver: if an ended episode is given an answer.
        """
        if len(answers) != len(self.envs):
            raise ValueError(f"answers: {len(self.envs)} wanted, got {len(answers)}")
        missing = [i for i in np.flatnonzero(self.live) if answers[i] is None]
        if missing:
            raise ValueError(f"answers: none for the live episodes {missing[:5]}")
        rewards = np.zeros(len(self.envs))
        for i, (env, answer) in enumerate(zip(self.envs, answers, strict=True)):
            if answer is not None:
                played = env.step(answer)
                self.observations[i], rewards[i], self.terminated[i] = played[:3]
                self.truncated[i], self.infos[i] = played[3:]
        return (
            list(self.observations),
            rewards,
            self.terminated.copy(),
            self.truncated.copy(),
            list(self.infos),
        )

    def expert(self) -> list[str | None]:
        """The scripted expert's answer for every live episode."""
        return [
            reply(env.expert()) if live else None
            for env, live in zip(self.envs, self.live, strict=True)
        ]


def check_groups(prompts: Sequence[str], groups: Sequence[int]) -> None:
    """Raise ValueError if two episodes of one group began from different prompts."""
    if len(prompts) != len(groups):
        raise ValueError(f"{len(prompts)} prompts for {len(groups)} group ids")
    first = {}
    for prompt, group in zip(prompts, groups, strict=True):
        if first.setdefault(int(group), prompt) != prompt:
            raise ValueError(
                f"group {int(group)} mixes prompts: {first[int(group)]!r} "
                f"and {prompt!r}"
            )


def random_answer(env: Environment, rng) -> str:
    """A well-formed answer of random actions, up to the limit of a turn."""
    count = rng.randint(1, env.actions_per_turn)
    return reply([rng.choice(env.available()) for _ in range(count)])


def steps_per_second(vector: VectorEnvironment, seconds: float = 1.0) -> dict:
    """Speed of random play, resets with new instances included.

    Returns:
        "turns", "actions" and "episodes" per second.
    """
    rng, seed, size = stream("speed", 0), 0, len(vector.envs)
    counts = {"turns": 0, "actions": 0, "episodes": 0}
    began = time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        vector.reset(range(seed, seed + size))
        seed += size
        while (live := vector.live).any():
            answers = [
                random_answer(env, rng) if alive else None
                for env, alive in zip(vector.envs, live, strict=True)
            ]
            infos = vector.step(answers)[-1]
            counts["turns"] += int(live.sum())
            counts["actions"] += sum(
                len(infos[i]["actions"]) for i in np.flatnonzero(live)
            )
        counts["episodes"] += size
    return {name: count / spent for name, count in counts.items()}
