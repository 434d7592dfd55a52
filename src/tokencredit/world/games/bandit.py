"""Bandit (两臂老虎机): Phoenix pays little for sure, Dragon pays more on average.

Source: RAGEN (2504.20073), section 3.1 and appendix C. Success is choosing the high
arm, whatever it paid: a lucky or unlucky draw does not change it.
"""

from dataclasses import dataclass
from typing import ClassVar

from tokencredit.tensors.checks import number
from tokencredit.world.games.base import Environment, stream


@dataclass(kw_only=True)
class Bandit(Environment):
    """One choice between a steady arm and a risky arm with the higher mean.

    The instance is the order in which the arms are named; the noise is the payout.

    Args:
        names: (low arm, high arm). The paper's test of generalisation trains on
            ("teacher", "engineer") and evaluates on ("librarian", "trader").
        swapped: swap the payoffs of the two names (the reversed bandit).
        described: say beside each name whether it is steady or risky, so that a
            policy without knowledge of the names can learn the rule itself.
        low_reward: what the low arm always pays (paper 0.15; the repository has 0.1).
        high_chance: the high arm pays 1 with this chance, otherwise 0.
    """

    NAMES: ClassVar = (
        "phoenix",
        "dragon",
        "teacher",
        "engineer",
        "librarian",
        "trader",
    )

    names: tuple[str, str] = ("phoenix", "dragon")
    swapped: bool = False
    described: bool = False
    low_reward: float = 0.15
    high_chance: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        self.names = tuple(self.names)
        if len(set(self.names)) != 2 or not set(self.names) <= set(self.NAMES):
            raise ValueError(f"names must be two of {self.NAMES}, got {self.names!r}")
        number("low_reward", self.low_reward, 0, 1)
        number("high_chance", self.high_chance, 0, 1)
        self.low, self.high = self.names[::-1] if self.swapped else self.names

    def instance_of(self, seed):
        return stream("bandit", seed).choice((self.names, self.names[::-1]))

    def start(self):
        return None, 0.0

    def move(self, state, action):
        paid = self.low_reward
        if action == self.high:
            paid = float(self.noise.random() < self.high_chance)
        return (action, paid), paid, True

    def knows(self, action):
        return action in self.names

    def won(self, state):
        return state[0] == self.high

    def scene(self, state):
        arms = self.instance
        if self.described:
            risk = {self.low: "steady", self.high: "risky"}
            arms = [f"{name} {risk[name]}" for name in arms]
        chosen, paid = state
        if chosen is None:
            return " ".join(("arms", *arms))
        return " ".join(("arms", *arms, chosen, "paid" if paid else "nothing"))

    def picture(self, state):
        chosen, paid = state
        arms = [
            f"[{name}]" if name == chosen else f" {name} " for name in self.instance
        ]
        return "  ".join(arms) + (f"  paid {paid:g}" if chosen else "")

    def available(self):
        return list(self.instance)

    def expert(self):
        return [self.high]

    @property
    def words(self):
        return ("arms", "steady", "risky", "paid", "nothing", *self.NAMES)

    @property
    def scene_length(self):
        return 7 if self.described else 5
