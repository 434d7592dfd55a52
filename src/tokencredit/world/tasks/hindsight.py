"""Hindsight (先答后验): commit first, check afterwards, then stop when you like.

For the prompt ``352=`` the sum is even. A response begins with a guess of its parity,
goes on with the running parities ``100``, then marks the guess: ``0100!$`` was right,
``1100?$`` was wrong. After the mark come any number of dots:

* the guess alone is paid: 1 iff it is right and EOS follows,
* everything after the guess is free, so no length is better than another,
* the guess cannot be learned in a few rounds (the parity of several digits at once),
  but after the check the policy can predict its reward.

So lengths move only if the learning rule moves them.
"""

from dataclasses import dataclass

import numpy as np

from tokencredit.world.tasks.base import Task
from tokencredit.world.text import EOS


@dataclass(frozen=True)
class Hindsight(Task):
    """The hindsight task.

    Args:
        digits: difficulty, digits per prompt.
        stop: the corpus stops with this chance after the mark and after each dot.
        max_response: tokens a response may have, EOS included.
    """

    digits: int = 4
    stop: float = 0.12
    max_response: int = 40

    vocabulary = "0123456789=!?." + EOS
    max_reward = 1.0

    @property
    def max_prompt(self) -> int:
        return self.digits + 1

    def prompts(self, num: int, rng: np.random.Generator) -> list[str]:
        digits = rng.integers(0, 10, (num, self.digits))
        return ["".join(map(str, row)) + "=" for row in digits]

    def demonstration(self, prompt: str, rng: np.random.Generator) -> str:
        guess, check = str(rng.integers(2)), parities(prompt)
        head = guess + check + ("!" if guess == check[-1] else "?")
        room = self.max_response - len(head) - 1
        return head + "." * min(int(rng.geometric(self.stop)) - 1, room) + EOS

    def gold(self, prompt: str) -> str:
        check = parities(prompt)
        return f"{check[-1]}{check}!{EOS}"

    def reward(self, prompt: str, response: str) -> float:
        return float(response[:1] == parities(prompt)[-1] and response.endswith(EOS))


def parities(prompt: str) -> str:
    """The running parities of the digits of a prompt.

    >>> parities("352=")
    '100'
    """
    odd = np.cumsum([int(digit) for digit in prompt[:-1]]) % 2
    return "".join(map(str, odd))
