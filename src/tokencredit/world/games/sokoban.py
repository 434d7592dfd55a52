"""Sokoban (推箱子): push every box onto a target; a box can be pushed, never pulled.

Rewards of gym-sokoban: -0.1 for every action, +1 when a box is pushed onto a target,
-1 when one is pushed off, +10 when all are on. They are paid for the change, not for
each step a box stays: the last push of one box pays -0.1 + 1 + 10 = 10.9.
"""

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tokencredit.tensors.checks import number, whole
from tokencredit.world.games.base import (
    DIRECTIONS,
    Environment,
    place,
    stream,
)

STEP, ON_TARGET, OFF_TARGET, ALL_ON = -0.1, 1.0, -1.0, 10.0
TRIES = 10_000


class State(NamedTuple):
    """The player's cell and the boxes' cells, in order; cells count row by row."""

    player: int
    boxes: tuple[int, ...]


class Room(NamedTuple):
    """The fixed cells of a room, and the start of player and boxes."""

    size: int
    walls: frozenset[int]
    targets: frozenset[int]
    start: State


def strides(size: int) -> tuple[int, int, int, int]:
    """Offsets of left, down, right and up in a cell's number."""
    return -1, size, 1, -size


def push(room: Room, state: State, direction: int) -> State:
    """The state after one move; a blocked move changes nothing."""
    stride = strides(room.size)[direction]
    ahead = state.player + stride
    if ahead in room.walls:
        return state
    if ahead not in state.boxes:
        return State(ahead, state.boxes)
    beyond = ahead + stride
    if beyond in room.walls or beyond in state.boxes:
        return state
    boxes = (beyond if box == ahead else box for box in state.boxes)
    return State(ahead, tuple(sorted(boxes)))


def before(room: Room, state: State, direction: int) -> list[State]:
    """The states that `push` in this direction leads here from (pushing undone)."""
    stride = strides(room.size)[direction]
    back, front = state.player - stride, state.player + stride
    if back in room.walls or back in state.boxes:
        return []
    walked = State(back, state.boxes)
    if front not in state.boxes:
        return [walked]
    boxes = (state.player if box == front else box for box in state.boxes)
    return [walked, State(back, tuple(sorted(boxes)))]


@lru_cache(maxsize=65536)
def solve(room: Room, state: State) -> tuple[int, ...] | None:
    """A shortest solution (最短解) by breadth-first search: directions, or None."""
    paths, frontier = {state: ()}, deque([state])
    while frontier:
        here = frontier.popleft()
        path = paths[here]
        if room.targets.issuperset(here.boxes):
            return path
        for direction in range(4):
            after = push(room, here, direction)
            if after not in paths:
                paths[after] = (*path, direction)
                frontier.append(after)
    return None


def reverse_play(room: Room, depth: int) -> list[list[State]]:
    """States by the length of their shortest solution, 0 to `depth`, from the end."""
    inside = set(range(room.size**2)) - room.walls - room.targets
    solved = [State(player, tuple(sorted(room.targets))) for player in sorted(inside)]
    layers, reached = [solved], set(solved)
    for _ in range(depth):
        layer = []
        for state in layers[-1]:
            for direction in range(4):
                for earlier in before(room, state, direction):
                    if earlier not in reached:
                        reached.add(earlier)
                        layer.append(earlier)
        layers.append(layer)
    return layers


@lru_cache(maxsize=4096)
def random_room(seed: int, size: int, boxes: int, depth: int, walls: float) -> Room:
    """A random room that is solvable by construction: it is played from its end.

    Inner walls and targets are drawn, then a length of solution among those that
    reverse play reaches with every box off its target, then a start of that length.
    """
    rng = stream("room", seed)
    border = {
        cell for cell in range(size * size) if {0, size - 1} & set(divmod(cell, size))
    }
    inside = [cell for cell in range(size * size) if cell not in border]
    for _ in range(TRIES):
        blocks = {cell for cell in inside if rng.random() < walls}
        free = [cell for cell in inside if cell not in blocks]
        if len(free) < 2 * boxes + 1:
            continue
        targets = frozenset(rng.sample(free, boxes))
        room = Room(size, frozenset(border | blocks), targets, State(0, ()))
        layers = [
            [state for state in layer if targets.isdisjoint(state.boxes)]
            for layer in reverse_play(room, depth)
        ]
        if any(layers):
            return room._replace(start=rng.choice(rng.choice([*filter(None, layers)])))
    raise ValueError(
        f"no solvable room in {TRIES} tries: size={size}, boxes={boxes}, "
        f"depth={depth}, walls={walls}"
    )


@dataclass(kw_only=True)
class Sokoban(Environment):
    """Push the boxes of a random solvable room onto its targets.

    The instance is the room; moves are certain, so noise has no effect.

    Args:
        size: side of the square room, border included.
        boxes: number of boxes and targets.
        depth: moves of the longest solution; the limits must allow for it.
        walls: share of inner cells that are walls.
        view: "grid" shows the room cell by cell, "coordinates" names the cells.
    """

    size: int = 5
    boxes: int = 1
    depth: int = 10
    walls: float = 0.1
    view: str = "grid"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, low in (("size", 4), ("boxes", 1), ("depth", 1)):
            whole(name, getattr(self, name), low)
        number("walls", self.walls, 0, 1)
        limit = min(self.max_actions, self.max_turns * self.actions_per_turn)
        if self.depth > limit:
            raise ValueError(
                f"depth must not exceed the {limit} actions allowed, got {self.depth}"
            )
        if self.view not in ("grid", "coordinates"):
            raise ValueError(f"view must be 'grid' or 'coordinates', got {self.view!r}")

    def instance_of(self, seed):
        return random_room(seed, self.size, self.boxes, self.depth, self.walls)

    def start(self):
        return self.instance.start

    def move(self, state, action):
        after = push(self.instance, state, DIRECTIONS.index(action))
        before_on, on = self._on_target(state), self._on_target(after)
        reward = STEP
        if on != before_on:
            reward += ON_TARGET if on > before_on else OFF_TARGET
        done = on == self.boxes
        return after, reward + ALL_ON * done, done

    def _on_target(self, state):
        return sum(box in self.instance.targets for box in state.boxes)

    def knows(self, action):
        return action in DIRECTIONS

    def won(self, state):
        return self._on_target(state) == self.boxes

    def _grid(self, state):
        room, cells = self.instance, ["_"] * self.size**2
        for cell in room.walls:
            cells[cell] = "#"
        for cell in room.targets:
            cells[cell] = "."
        for cell in state.boxes:
            cells[cell] = "*" if cell in room.targets else "$"
        cells[state.player] = "+" if state.player in room.targets else "@"
        return [cells[i : i + self.size] for i in range(0, len(cells), self.size)]

    def _names(self, cells):
        return [place(divmod(cell, self.size)) for cell in sorted(cells)]

    def _inner_walls(self):
        last = self.size - 1
        return [
            cell
            for cell in self.instance.walls
            if not {0, last} & set(divmod(cell, self.size))
        ]

    def scene(self, state):
        if self.view == "grid":
            return " / ".join(" ".join(row) for row in self._grid(state))
        parts = ["player", *self._names([state.player])]
        parts += ["boxes", *self._names(state.boxes)]
        parts += ["targets", *self._names(self.instance.targets)]
        return " ".join([*parts, "walls", *self._names(self._inner_walls())])

    def picture(self, state):
        return "\n".join(" ".join(row) for row in self._grid(state))

    def available(self):
        return list(DIRECTIONS)

    def expert(self):
        solution = solve(self.instance, self.state) or (0,)  # lost: any move will do
        return [DIRECTIONS[move] for move in solution[: self.actions_per_turn]]

    @property
    def words(self):
        if self.view == "grid":
            return (*DIRECTIONS, "/", "#", "_", ".", "$", "*", "@", "+")
        cells = (divmod(cell, self.size) for cell in range(self.size**2))
        return (
            *DIRECTIONS,
            "player",
            "boxes",
            "targets",
            "walls",
            *map(place, cells),
        )

    @property
    def scene_length(self):
        if self.view == "grid":
            return self.size**2 + self.size - 1
        inner_walls = (self.size - 2) ** 2 - 2 * self.boxes - 1
        return 5 + 2 * self.boxes + inner_walls
