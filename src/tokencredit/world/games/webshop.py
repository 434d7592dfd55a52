"""WebShop in miniature (微型网店): search -> results -> item -> options -> buy.

The reward is graded as in WebShop (2207.01206), for the item bought and the options
chosen:

    r = r_type * (attributes matched + options matched + [price <= budget])
               / (attributes wanted + options wanted + 1)

r_type is 1 for the wanted type, 0.5 for another type of the same department, else 0.
Success is r = 1. Left out: free text, fuzzy matching, more than one page of results.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tokencredit.tensors.checks import whole
from tokencredit.world.games.base import Environment, stream

DEPARTMENTS = {
    "clothing": ("shirt", "jacket", "shoes"),
    "kitchen": ("mug", "pan", "kettle"),
    "home": ("pillow", "lamp", "rug"),
}
TYPES = tuple(kind for kinds in DEPARTMENTS.values() for kind in kinds)
ATTRIBUTES = (
    "cotton",
    "soft",
    "light",
    "warm",
    "washable",
    "sturdy",
    "handmade",
    "organic",
    "compact",
    "quiet",
)
COLORS = ("red", "blue", "green", "black", "white")
SIZES = ("small", "medium", "large")
PRICES = (10, 20, 30, 40, 50, 60)
BUDGETS = (*PRICES[1:], 70, 80)
QUERY_WORDS = frozenset(TYPES + ATTRIBUTES + COLORS + SIZES)


class Item(NamedTuple):
    """One article of the catalogue."""

    kind: str
    attributes: tuple[str, ...]
    colors: tuple[str, ...]
    sizes: tuple[str, ...]
    price: int

    def text(self) -> str:
        """The line that a results page shows."""
        return " ".join((self.kind, *self.attributes, str(self.price)))


class Goal(NamedTuple):
    """The wanted item; it must not cost more than the budget."""

    kind: str
    attributes: tuple[str, ...]
    color: str
    size: str
    budget: int

    def text(self) -> str:
        """The instruction, repeated on every page."""
        wanted = ("want", self.color, self.size, self.kind, *self.attributes)
        return " ".join((*wanted, "budget", str(self.budget)))


class State(NamedTuple):
    """The page shown: results of a search, an item with its chosen options, a sale."""

    page: str = "search"
    results: tuple[int, ...] = ()
    item: int | None = None
    color: str | None = None
    size: str | None = None
    reward: float = 0.0


@lru_cache(maxsize=8)
def catalogue(seed: int, items: int) -> tuple[Item, ...]:
    """A synthetic catalogue: types in turn, everything else drawn."""
    rng = stream("catalogue", seed)

    def some(words, count):
        chosen = rng.sample(words, count)
        return tuple(word for word in words if word in chosen)

    return tuple(
        Item(
            TYPES[number % len(TYPES)],
            some(ATTRIBUTES, 3),
            some(COLORS, 3),
            some(SIZES, 2),
            rng.choice(PRICES),
        )
        for number in range(items)
    )


def search(items: tuple[Item, ...], query: list[str], page_size: int) -> tuple:
    """Items that share most words with the query, earlier items first among equals."""
    wanted = set(query)
    scores = [len(wanted.intersection((i.kind, *i.attributes))) for i in items]
    order = sorted(range(len(items)), key=lambda number: -scores[number])
    return tuple(number for number in order[:page_size] if scores[number])


def department(kind: str) -> str:
    """The department that sells a type."""
    return next(name for name, kinds in DEPARTMENTS.items() if kind in kinds)


def graded_reward(item: Item, color: str | None, size: str | None, goal: Goal) -> float:
    """The graded reward (分级奖励) of a sale; the formula heads this module."""
    same_department = department(item.kind) == department(goal.kind)
    type_match = 1.0 if item.kind == goal.kind else 0.5 * same_department
    attributes = len(set(item.attributes).intersection(goal.attributes))
    options = (color == goal.color) + (size == goal.size)
    affordable = item.price <= goal.budget
    wanted = len(goal.attributes) + 2 + 1
    return type_match * (attributes + options + affordable) / wanted


def fits(item: Item, goal: Goal) -> bool:
    """Whether this item, with the right options, earns the full reward."""
    offered = goal.color in item.colors and goal.size in item.sizes
    return offered and graded_reward(item, goal.color, goal.size, goal) == 1


def looks_right(item: Item, goal: Goal) -> bool:
    """Whether the item meets the goal as far as a results page shows."""
    attributes = set(goal.attributes) <= set(item.attributes)
    return item.kind == goal.kind and attributes and item.price <= goal.budget


@lru_cache(maxsize=4096)
def random_goal(seed: int, items: tuple[Item, ...], page_size: int) -> Goal:
    """A wish fulfilled by one of the first three results that look right.

    Colours and sizes are on the item's page alone, and five turns leave time to open
    three.
    """
    rng = stream("goal", seed)
    while True:
        item = rng.choice(items)
        chosen = rng.sample(item.attributes, 2)
        goal = Goal(
            item.kind,
            tuple(word for word in ATTRIBUTES if word in chosen),
            rng.choice(item.colors),
            rng.choice(item.sizes),
            item.price + rng.choice((10, 20)),
        )
        found = search(items, [goal.kind, *goal.attributes], page_size)
        shown = [items[n] for n in found if looks_right(items[n], goal)]
        if any(fits(item, goal) for item in shown[:3]):
            return goal


@dataclass(kw_only=True)
class WebShop(Environment):
    """Buy the item of an instruction from a small shop.

    Actions: `search WORDS`, `click N` (a result), `click COLOR`, `click SIZE`,
    `click back`, `buy`. A click on anything not on the page has no effect.
    The instance is the instruction; the shop is the same for all; nothing is random.

    Args:
        items: size of the catalogue.
        catalogue_seed: which catalogue.
        page_size: results on a page.
    """

    items: int = 72
    catalogue_seed: int = 0
    page_size: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, low in (("items", 1), ("catalogue_seed", 0), ("page_size", 1)):
            whole(name, getattr(self, name), low)
        self.shop = catalogue(self.catalogue_seed, self.items)
        self._places = tuple(str(n + 1) for n in range(self.page_size))
        self._clicks = {*self._places, *COLORS, *SIZES, "back"}

    def instance_of(self, seed):
        return random_goal(seed, self.shop, self.page_size)

    def start(self):
        return State()

    def move(self, state, action):
        verb, *words = action.split()
        if verb == "search":
            found = search(self.shop, words, self.page_size)
            return State("results", found), 0.0, False
        if verb == "click":
            return self._click(state, words[0]), 0.0, False
        if state.page != "item":
            return state, 0.0, False
        item = self.shop[state.item]
        reward = graded_reward(item, state.color, state.size, self.instance)
        return state._replace(page="bought", reward=reward), reward, True

    def _click(self, state, word):
        if state.page == "results":
            if word == "back":
                return State()
            if word in self._places[: len(state.results)]:
                item = state.results[int(word) - 1]
                return State("item", state.results, item)
        if state.page == "item":
            if word == "back":
                return State("results", state.results)
            if word in self.shop[state.item].colors:
                return state._replace(color=word)
            if word in self.shop[state.item].sizes:
                return state._replace(size=word)
        return state

    def knows(self, action):
        verb, *words = action.split() or [""]
        if verb == "search":
            return bool(words) and QUERY_WORDS.issuperset(words)
        if verb == "click":
            return len(words) == 1 and words[0] in self._clicks
        return action == "buy"

    def won(self, state):
        return state.reward == 1

    def scene(self, state):
        parts = [self.instance.text(), "page", state.page]
        if state.page == "results":
            for number, item in zip(self._places, state.results, strict=False):
                parts += [number, self.shop[item].text()]
        if state.page in ("item", "bought"):
            item = self.shop[state.item]
            parts += [item.text(), "colors", *item.colors, "sizes", *item.sizes]
            parts += ["chosen", *filter(None, (state.color, state.size))]
        return " ".join(parts)

    def picture(self, state):
        lines = [self.instance.text(), f"--- {state.page} ---"]
        if state.page == "results":
            for number, item in zip(self._places, state.results, strict=False):
                lines.append(f"[{number}] {self.shop[item].text()}")
        if state.page in ("item", "bought"):
            item = self.shop[state.item]
            lines.append(item.text())
            for options, chosen in (
                (item.colors, state.color),
                (item.sizes, state.size),
            ):
                marks = (f"<{o}>" if o == chosen else f"[{o}]" for o in options)
                lines.append(" ".join(marks))
            bought = state.page == "bought"
            lines.append(f"reward {state.reward:.2f}" if bought else "[buy]")
        return "\n".join(lines)

    def available(self):
        state = self.state
        searches = [f"search {kind}" for kind in TYPES]
        if state.page == "results":
            places = self._places[: len(state.results)]
            return [*searches, *(f"click {n}" for n in places), "click back"]
        if state.page == "item":
            item = self.shop[state.item]
            options = (f"click {word}" for word in (*item.colors, *item.sizes))
            return [*searches, *options, "click back", "buy"]
        return searches

    def expert(self):
        """It uses only the pages shown so far, and opens results in turn."""
        state, goal = self.state, self.instance
        if state.page == "item":
            if fits(self.shop[state.item], goal):
                return [f"click {goal.color}", f"click {goal.size}", "buy"]
            seen = state.results.index(state.item) + 1
            unseen = self._promising(state.results, seen)
            if unseen:
                return ["click back", f"click {unseen[0]}"]
        if state.page == "results":
            promising = self._promising(state.results)
            if promising:
                return [f"click {promising[0]}"]
        return [" ".join(("search", goal.kind, *goal.attributes))]

    def _promising(self, results, seen=0):
        """Places of the results that look right, those before `seen` last."""
        right = [
            place
            for place, number in enumerate(results, 1)
            if looks_right(self.shop[number], self.instance) and place != seen
        ]
        return sorted(right, key=lambda place: place < seen)

    @property
    def words(self):
        return (
            *("want", "budget", "page", "search", "results", "item", "bought"),
            *("colors", "sizes", "chosen", "click", "back", "buy"),
            *TYPES,
            *ATTRIBUTES,
            *COLORS,
            *SIZES,
            *self._places,
            *(str(price) for price in sorted({*PRICES, *BUDGETS})),
        )

    @property
    def scene_length(self):
        instruction, title = 8, 5
        results = self.page_size * (title + 1)
        item = title + 1 + 3 + 1 + 2 + 1 + 2
        return instruction + 2 + max(results, item)
