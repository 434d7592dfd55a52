"""Chain (连加): the last digit of a sum, answered at once, in steps, or rambling.

The warm-up corpus mixes three habits. For the prompt ``47=`` and its answer 1:

* guess: ``#7$`` (the last digit again: right one time in ten),
* steps: ``41#1$`` (the running sums modulo 10, then the answer),
* ramble: ``.....#7$`` (dots, then the same guess).

Nothing in the reward mentions steps: it is 1 iff the digit after ``#`` is right and EOS
follows. The thing to watch: under RL, answers in steps take over.
"""

from dataclasses import dataclass

import numpy as np

from tokencredit.world.tasks.base import Task
from tokencredit.world.text import EOS


@dataclass(frozen=True)
class Chain(Task):
    """The chain task.

    Args:
        min_digits, max_digits: difficulty; each prompt draws its length between them.
        steps, ramble: shares of the corpus with that habit; the rest guesses.
        slip: chance that a running sum of a demonstration is wrong.
        max_dots: a ramble has 1 to this many dots.
        max_response: tokens a response may have, EOS included.
    """

    min_digits: int = 2
    max_digits: int = 4
    steps: float = 0.2
    ramble: float = 0.25
    slip: float = 0.02
    max_dots: int = 10
    max_response: int = 14

    vocabulary = "0123456789=#." + EOS
    max_reward = 1.0

    @property
    def max_prompt(self) -> int:
        return self.max_digits + 1

    def prompts(self, num: int, rng: np.random.Generator) -> list[str]:
        sizes = rng.integers(self.min_digits, self.max_digits + 1, num)
        return ["".join(map(str, rng.integers(0, 10, k))) + "=" for k in sizes]

    def demonstration(self, prompt: str, rng: np.random.Generator) -> str:
        habit = rng.random()
        if habit < self.steps:
            return self._steps(prompt, rng)
        dots = (
            rng.integers(1, self.max_dots + 1)
            if habit < self.steps + self.ramble
            else 0
        )
        return f"{'.' * dots}#{prompt[-2]}{EOS}"

    def gold(self, prompt: str) -> str:
        return self._steps(prompt)

    def reward(self, prompt: str, response: str) -> float:
        answer = sum(map(int, prompt[:-1])) % 10
        return float(response.endswith(f"#{answer}{EOS}") and response.count("#") == 1)

    def _steps(self, prompt: str, rng: np.random.Generator | None = None) -> str:
        sums, total = "", 0
        for digit in prompt[:-1]:
            total = (total + int(digit)) % 10
            if rng is not None and rng.random() < self.slip:
                total = int(rng.integers(10))
            sums += str(total)
        return f"{sums}#{total}{EOS}"


def reasons(prompt: str, response: str) -> bool:
    """Whether a response of `Chain` writes one digit per prompt digit before ``#``."""
    steps, _, _ = response.partition("#")
    return steps.isdigit() and len(steps) == len(prompt) - 1
