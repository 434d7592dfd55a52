"""Addition (加法) with an optional chain of carries before the answer."""

from dataclasses import dataclass

import numpy as np

from tokencredit.world.tasks.base import Task
from tokencredit.world.text import EOS


@dataclass(frozen=True)
class Addition(Task):
    """Add two numbers of `digits` digits; the answer may show its columns first.

    ``38+47=`` is answered ``#85$`` (at once) or ``5180#85$``: for each column, units
    first, its digit and its carry. The reward is 1 iff the sum and EOS follow ``#``.

    Args:
        digits: difficulty, digits per number.
        columns: share of the corpus that shows the columns; the rest guesses.
    """

    digits: int = 2
    columns: float = 0.2

    vocabulary = "0123456789+=#" + EOS
    max_reward = 1.0

    @property
    def max_prompt(self) -> int:
        return 2 * self.digits + 2

    @property
    def max_response(self) -> int:
        return 3 * self.digits + 5

    def prompts(self, num: int, rng: np.random.Generator) -> list[str]:
        pairs = rng.integers(0, 10**self.digits, (num, 2))
        return [f"{a:0{self.digits}}+{b:0{self.digits}}=" for a, b in pairs]

    def demonstration(self, prompt: str, rng: np.random.Generator) -> str:
        if rng.random() < self.columns:
            return self.gold(prompt)
        return f"#{rng.integers(2 * 10**self.digits)}{EOS}"

    def gold(self, prompt: str) -> str:
        a, b = prompt[:-1].split("+")
        columns, carry = "", 0
        for x, y in zip(reversed(a), reversed(b), strict=True):
            carry, digit = divmod(int(x) + int(y) + carry, 10)
            columns += f"{digit}{carry}"
        return f"{columns}#{int(a) + int(b)}{EOS}"

    def reward(self, prompt: str, response: str) -> float:
        a, b = map(int, prompt[:-1].split("+"))
        return float(response.endswith(f"#{a + b}{EOS}") and response.count("#") == 1)
