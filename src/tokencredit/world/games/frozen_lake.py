"""FrozenLake (冰湖): reach the goal over slippery ice.

Dynamics of Gymnasium's FrozenLake-v1: the move goes in its direction with
`success_rate`, to each perpendicular side with (1 - success_rate) / 2, never backwards;
a wall leaves the player in place; +1 at the goal, 0 elsewhere; holes end the episode.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tokencredit.tensors.checks import number, whole
from tokencredit.world.games.base import (
    DIRECTIONS,
    Environment,
    place,
    stream,
)

FIXED = ("SFFF", "FHFH", "FFFH", "HFFG")
STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))  # left, down, right, up
TIE = 1e-12  # values closer than this are equal: their last bits depend on the CPU


def solvable(lake: tuple[str, ...]) -> bool:
    """Whether a path of frozen cells joins S to G."""
    after = neighbours(lake)
    letters = "".join(lake)
    seen, frontier = {0}, [0]
    while frontier:
        for cell in after[frontier.pop()]:
            if letters[cell] != "H" and cell not in seen:
                seen.add(cell)
                frontier.append(cell)
    return letters.index("G") in seen


@lru_cache(maxsize=4096)
def random_lake(seed: int, size: int, frozen: float) -> tuple[str, ...]:
    """A random solvable map: S and G in the corners, other cells frozen or holes."""
    rng = stream("lake", seed)
    while True:
        cells = ["F" if rng.random() < frozen else "H" for _ in range(size * size)]
        cells[0], cells[-1] = "S", "G"
        text = "".join(cells)
        lake = tuple(text[i : i + size] for i in range(0, size * size, size))
        if solvable(lake):
            return lake


@lru_cache(maxsize=4096)
def neighbours(lake: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """For each cell (row-major), the cell to the left, below, right, above."""
    rows, columns = len(lake), len(lake[0])
    return tuple(
        tuple(
            min(max(row + dr, 0), rows - 1) * columns
            + min(max(column + dc, 0), columns - 1)
            for dr, dc in STEPS
        )
        for row in range(rows)
        for column in range(columns)
    )


def transitions(lake: tuple[str, ...], success_rate: float = 1 / 3) -> np.ndarray:
    """Transition probabilities (转移概率) [4 actions, cells, cells].

    P[a, s, s'] = success_rate [s' = a from s] + (1 - success_rate)/2 for each of the
    two directions perpendicular to a; holes and the goal keep the player.
    """
    after, letters = neighbours(lake), "".join(lake)
    table = np.zeros((4, len(letters), len(letters)))
    for cell, letter in enumerate(letters):
        for action in range(4):
            if letter in "HG":
                table[action, cell, cell] = 1
                continue
            for turn in (-1, 0, 1):
                chance = (1 - success_rate) / 2 if turn else success_rate
                table[action, cell, after[cell][(action + turn) % 4]] += chance
    return table


class Optimum:
    """The best success a player can reach under the limits (动态规划最优).

    Inside a turn the plan is fixed before it is played (open loop); between turns the
    player observes his cell. With V = 1 at the goal, 0 in holes and 0 when a limit is
    reached elsewhere,

        V[t, a] = max over plans p, 1 <= |p| <= k, of P_p1 P_p2 ... V[t - 1, a - |p|]

    for t turns and a actions left, k = min(a, actions_per_turn). All 4^k plans are
    tried: the value is exact, and turns of more than 6 actions are slow.
    `actions_per_turn = 1` with as many turns as actions is the closed-loop optimum.
    Among equals the best plan is the shortest, then the first in the order of
    `DIRECTIONS`. Values within `TIE` are equal: the last bits of a matrix product are
    not the same on every CPU, and must not choose.

    Args:
        lake: the map, rows of S, F, H, G.
        success_rate: chance that a move goes in its direction.
        turns, actions_per_turn, actions: the limits.
    """

    def __init__(self, lake, success_rate, turns, actions_per_turn, actions):
        number("success_rate", success_rate, 0, 1)
        whole("turns", turns, 0)
        whole("actions_per_turn", actions_per_turn)
        whole("actions", actions, 0)
        self.table = transitions(lake, success_rate)
        self.actions_per_turn = actions_per_turn
        self.turns, self.actions = turns, actions
        self.goal = np.array([float(letter == "G") for letter in "".join(lake)])
        self._solved = {}

    def solve(self, turns: int, actions: int) -> tuple[np.ndarray, list[tuple]]:
        """Values and best plans of every cell with these turns and actions left."""
        if turns == 0 or actions == 0:
            return self.goal, [()] * len(self.goal)
        if (turns, actions) not in self._solved:
            best = np.full(len(self.goal), -1.0)
            plans = [()] * len(self.goal)
            for length in range(1, min(actions, self.actions_per_turn) + 1):
                later, _ = self.solve(turns - 1, actions - length)
                values = later[:, None]
                for _ in range(length):  # the last action of the plan first
                    values = np.concatenate(list(self.table @ values), axis=1)
                highest = values.max(1)
                first = (values > highest[:, None] - TIE).argmax(1)  # of the equals
                for cell in np.flatnonzero(highest > best + TIE):
                    plan = int(first[cell])
                    digits = np.base_repr(plan, 4).zfill(length)
                    best[cell] = values[cell, plan]
                    plans[cell] = tuple(DIRECTIONS[int(digit)] for digit in digits)
            self._solved[turns, actions] = best, plans
        return self._solved[turns, actions]

    @property
    def success(self) -> float:
        """Chance of reaching the goal from the first cell with every limit unspent."""
        return float(self.solve(self.turns, self.actions)[0][0])


@lru_cache(maxsize=1024)
def optimum(
    lake: tuple[str, ...],
    *,
    success_rate: float = 1 / 3,
    turns: int = 5,
    actions_per_turn: int = 5,
    actions: int = 10,
) -> Optimum:
    """`Optimum` of a map, remembered (see there).

    >>> round(optimum(FIXED, success_rate=1.0).success, 4)
    1.0
    """
    return Optimum(lake, success_rate, turns, actions_per_turn, actions)


@dataclass(kw_only=True)
class FrozenLake(Environment):
    """Walk from the upper left to the lower right corner of a frozen lake.

    The instance is the map, the noise is the slipping: one draw for each action.

    Args:
        lake: "random" for a random solvable map, "4x4" for Gymnasium's fixed map.
        size: side of the random map.
        frozen: share of frozen cells before unsolvable maps are thrown away.
        success_rate: chance of going where meant; Gymnasium's 1/3 if not given, 0.8 in
            the games of ENVIRONMENTS; 1 is ice that does not slip.
        view: "grid" shows the map cell by cell, "coordinates" names the cells.
    """

    lake: str = "random"
    size: int = 4
    frozen: float = 0.8
    success_rate: float = 1 / 3
    view: str = "grid"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lake not in ("random", "4x4"):
            raise ValueError(f"lake must be 'random' or '4x4', got {self.lake!r}")
        if self.view not in ("grid", "coordinates"):
            raise ValueError(f"view must be 'grid' or 'coordinates', got {self.view!r}")
        whole("size", self.size, 2)
        number("success_rate", self.success_rate, 0, 1)
        number("frozen", self.frozen, 0, 1)
        if self.frozen == 0:
            raise ValueError("frozen must be above 0, or no map is solvable")
        if self.lake == "4x4":
            self.size = 4

    def instance_of(self, seed):
        if self.lake == "4x4":
            return FIXED
        return random_lake(seed, self.size, self.frozen)

    def start(self):
        self._after, self._letters = neighbours(self.instance), "".join(self.instance)
        return 0

    def move(self, state, action):
        direction = DIRECTIONS.index(action)
        draw = self.noise.random() - self.success_rate
        if draw >= 0:
            direction += 1 if draw < (1 - self.success_rate) / 2 else -1
        state = self._after[state][direction % 4]
        letter = self._letters[state]
        return state, float(letter == "G"), letter in "GH"

    def knows(self, action):
        return action in DIRECTIONS

    def won(self, state):
        return self._letters[state] == "G"

    def _grid(self, state):
        cells = list(self._letters.translate({83: "_", 70: "_", 72: "O"}))
        cells[state] = {"O": "X", "G": "!"}.get(cells[state], "P")
        return [cells[i : i + self.size] for i in range(0, len(cells), self.size)]

    def scene(self, state):
        if self.view == "grid":
            return " / ".join(" ".join(row) for row in self._grid(state))
        names = [place(divmod(cell, self.size)) for cell in range(self.size**2)]
        holes = [
            n for n, letter in zip(names, self._letters, strict=True) if letter == "H"
        ]
        goal = names[self._letters.index("G")]
        return " ".join(["at", names[state], "goal", goal, "holes", *holes])

    def picture(self, state):
        return "\n".join(" ".join(row) for row in self._grid(state))

    def available(self):
        return list(DIRECTIONS)

    def expert(self):
        best = optimum(
            self.instance,
            success_rate=self.success_rate,
            turns=self.max_turns,
            actions_per_turn=self.actions_per_turn,
            actions=self.max_actions,
        )
        return list(best.solve(self.turns_left, self.actions_left)[1][self.state])

    @property
    def words(self):
        if self.view == "grid":
            return (*DIRECTIONS, "/", "P", "_", "O", "G", "X", "!")
        cells = (divmod(cell, self.size) for cell in range(self.size**2))
        return (*DIRECTIONS, "at", "goal", "holes", *map(place, cells))

    @property
    def scene_length(self):
        if self.view == "grid":
            return self.size**2 + self.size - 1
        return 5 + self.size**2 - (2 * self.size - 1)  # a path is never a hole
