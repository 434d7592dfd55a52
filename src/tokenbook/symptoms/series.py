"""From rows of keys to series in the book's words; ``reader.js`` does the same."""

import functools
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import yaml

from tokenbook.symptoms.parse import STEPS

FOLDER = Path(__file__).parent
PREFIXES = ("train/", "eval/", "grpo/", "metrics/", "actor/")
SILENT = ("any", "lab")  # libraries without a vote
BATCH_OF_ONE_REWARD = "flat_batch"
RIGHT = re.compile("acc|correct|answer|exact|solve")
Line = list[float | None]


@functools.cache
def load(name: str):
    """Return a data file of this package."""
    return yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8"))


def table() -> list[tuple[str, str, str, str | None]]:
    """Return (key, quantity, library, trap) of every key and alias, each once."""
    rows = [
        (one["key"], one["quantity"], one["library"], one["trap"])
        for one in load("keys")
    ]
    rows += [(*alias, None) for alias in load("aliases")]
    once = {}
    for row in rows:
        once.setdefault((row[0].lower(), row[2]), row)
    return list(once.values())


@dataclass
class Series:
    """The numbers of a log by quantity, a place for each row; None where not logged."""

    lines: dict[str, Line]
    names: dict[str, tuple]  # key as logged -> (quantity, library, trap)
    unknown: list[str]  # keys without a name here
    steps: Line
    library: str | None
    parts: dict[str, Line]  # one line for each of several rewards
    rows: int


class Keys:
    """The keys of all libraries, and the quantity of a logged key."""

    def __init__(self, rows: list[tuple]):
        self.exact, self.patterns, self.boards = {}, [], {}
        for key, *found in rows:
            key = key.lower()
            if "*" in key:
                parts = (re.escape(part) for part in key.split("*"))
                self.patterns.append((re.compile("[^ ]+?".join(parts)), tuple(found)))
            else:
                self.exact.setdefault(key, []).append(tuple(found))
                self.boards.setdefault(key.replace("/", "_"), key)

    def name(self, key: str, library: str | None) -> tuple | None:
        """Return (quantity, library, trap) of a key, preferably of its own library."""
        key = tidy(key)
        if key.endswith(("@min", "@max")):
            return None
        short = [key[len(one) :] for one in PREFIXES if key.startswith(one)]
        for one in [key, *short, *filter(None, [self.boards.get(key)])]:
            if found := self.exact.get(one):
                return next((row for row in found if row[1] == library), found[0])
            for pattern, row in self.patterns:
                if pattern.fullmatch(one):
                    return row
        return None

    def library(self, rows: list[dict]) -> str | None:
        """Return the library that most keys point to which only one library has."""
        votes = {}
        for key in dict.fromkeys(key for row in rows[:200] for key in row):
            key = tidy(key)
            if key.startswith("train/") and key[6:] in self.exact:
                continue  # so writes a callback before every key
            found = self.exact.get(key, ())
            if len(found) == 1 and found[0][1] not in SILENT:
                votes[found[0][1]] = votes.get(found[0][1], 0) + 1
        return max(votes, key=votes.get) if votes else None


@functools.cache
def keys() -> Keys:
    """Return the keys of all libraries."""
    return Keys(table())


@functools.lru_cache(4096)
def tidy(key: str) -> str:
    """Return a key as libraries write it: of wandb's column the metric alone.

    >>> tidy("run 7 - train/reward__MAX"), tidy("Reward / mean")
    ('train/reward@max', 'reward/mean')
    """
    key = key.strip().strip("'\"").lower().split(" - ")[-1]
    return re.sub(r"__(min|max)\Z", r"@\1", re.sub(" */ *", "/", key))


def is_step(key: str) -> bool:
    """Whether a tidy key counts steps."""
    return key in STEPS or key.replace("train/", "") in STEPS


def series_of(rows: list[dict[str, float]]) -> Series:
    """Return the series of some rows, and those that follow from them."""
    library = keys().library(rows)
    log = Series({}, {}, [], [None] * len(rows), library, {}, len(rows))
    unknown, stds = {}, {}
    for i, row in enumerate(rows):
        for key, value in row.items():
            short = tidy(key)
            if is_step(short):
                if math.isfinite(value) and (log.steps[i] is None or short != "_step"):
                    log.steps[i] = value
                continue
            found = log.names.get(key) or (
                None if key in unknown else keys().name(key, library)
            )
            if not found:
                unknown[key] = True
                continue
            log.names[key] = found
            into, name = log.lines, found[0]
            if name == "-":
                continue
            if name == "component":
                into, name = log.parts, short.replace("train/", "")
                name = name.removesuffix("/mean")
            elif name == "component_std":
                into, name = stds, short
            if short == "ref_kl":
                log.lines["kl_sum"] = [1.0]
            line = into.setdefault(name, [None] * len(rows))
            if line[i] is None:
                line[i] = value
    log.unknown = list(unknown)
    derive(log, stds)
    return log


def finite(line: Line) -> list[float]:
    """Return the values of a series that are numbers, NaN left out."""
    return [x for x in line if x is not None and math.isfinite(x)]


def each(log: Series, f, *names: str) -> Line:
    """Return f of several series, place by place; None where one is no number."""
    places = zip(*(log.lines[name] for name in names), strict=True)
    return [
        None if any(x is None or not math.isfinite(x) for x in xs) else f(*xs)
        for xs in places
    ]


def derive(log: Series, stds: dict[str, Line]) -> None:
    """Add to a log's series those that follow from others."""
    lines = log.lines
    if "score" in lines and ("reward" not in lines or log.library == "slime"):
        lines["reward"] = lines["score"]
    if "equal_groups" in lines:
        lines["equal_groups_logged"] = lines["equal_groups"]
    elif equal := equal_groups(log):
        lines["equal_groups"] = equal
    if "reward_max" in lines and "reward_min" in lines:
        lines["reward_spread"] = each(log, lambda a, b: a - b, *SPREAD)
    if stds:
        lines[BATCH_OF_ONE_REWARD] = [
            None if all(x is None for x in xs) else float(not any(x for x in xs))
            for xs in zip(*stds.values(), strict=True)
        ]
    elif "reward_std" in lines:
        lines[BATCH_OF_ONE_REWARD] = each(log, lambda x: float(x == 0), "reward_std")
    if log.parts:
        up, down, stuck = moved(log.parts)
        lines |= {
            "components": [float(len(log.parts))],
            "comp_up": [float(up)],
            "comp_down": [float(down)],
            "stuck_component": [float(stuck)],
        }
    if solve := solved(log):
        lines["solve"] = solve
    if all(name in lines for name in ("loss", "reward", "length")):
        rewards = sum(x is not None for x in lines["reward"])
        losses = sum(x is not None for x in lines["loss"])
        if rewards:
            lines["old_rows"] = [1 - rewards / max(1, losses)]


SPREAD = ("reward_max", "reward_min")
COUNTS = ("solve_none_count", "solve_all_count")


def equal_groups(log: Series) -> Line | None:
    """Return the share of groups of equal rewards, if it can be derived."""
    lines = log.lines
    if "all_wrong" in lines and "all_right" in lines:
        return each(log, lambda a, b: a + b, "all_wrong", "all_right")
    if all(name in lines for name in COUNTS):
        rest = [x or 0.0 for x in lines.get("solve_partial_count", [0.0] * log.rows)]
        ends = each(log, lambda a, b: a + b, *COUNTS)
        return [
            None if a is None or a + c == 0 else a / (a + c)
            for a, c in zip(ends, rest, strict=True)
        ]
    if "adv_max" in lines and "adv_min" in lines:
        line = each(
            log, lambda a, b: 1.0 if a == b == 0 else None, "adv_max", "adv_min"
        )
    elif "group_std" in lines:
        line = [1.0 if x == 0 else None for x in lines["group_std"]]
    else:
        return None
    return line if any(x is not None for x in line) else None


def moved(parts: dict[str, Line]) -> tuple[int, int, int]:
    """Return the numbers of rewards that rise, fall, and never change."""
    up = down = stuck = 0
    for line in parts.values():
        xs = finite(line)
        if len(xs) >= 6:
            up, down = up + (trend(xs) > 2), down + (trend(xs) < -2)
        elif len(xs) >= 3 and abs(xs[-1] - xs[0]) > 0.2 * max(map(abs, xs)):
            steps = list(pairwise(xs))
            up += all(b > a for a, b in steps)
            down += all(b < a for a, b in steps)
        stuck += len(xs) >= 3 and min(xs) == max(xs) and xs[0] not in (0.0, 1.0)
    return up, down, stuck


def is_share(line: Line) -> bool:
    """Whether all numbers of a series lie in [0, 1]."""
    xs = finite(line)
    return bool(xs) and min(xs) >= 0 and max(xs) <= 1


def solved(log: Series) -> Line | None:
    """Return the series of the share of prompts solved, if there is one."""
    lines = log.lines
    if "success" in lines and is_share(lines["success"]):
        return lines["success"]
    for name, line in log.parts.items():
        if RIGHT.search(name) and "format" not in name and is_share(line):
            return line
    top = finite(lines.get("reward_max", []))
    if is_share(lines.get("reward", [])) and (not top or max(top) <= 1):
        return lines["reward"]
    return None


def total(xs: list[float]) -> float:
    """Return a sum, added from left to right as JavaScript does."""
    return functools.reduce(lambda a, b: a + b, xs, 0.0)


def median(xs: list[float]) -> float:
    """Return the median."""
    ys, k = sorted(xs), len(xs) // 2
    return ys[k] if len(ys) % 2 else (ys[k - 1] + ys[k]) / 2


def noise(xs: list[float]) -> float:
    """Return the noise from line to line, as a normal's standard deviation."""
    steps = [abs(b - a) for a, b in pairwise(xs)]
    return 1.4826 * median(steps) / math.sqrt(2)


def in_noise(change: float, unit: float, xs: list[float]) -> float:
    """Return a change in units of noise, at most 99; without noise 0 or 99."""
    if unit <= 1e-12 * max(1e-300, max(map(abs, xs))):
        return 0.0 if abs(change) < 1e-12 else math.copysign(99.0, change)
    return max(-99.0, min(99.0, change / unit))


def trend(xs: list[float]) -> float | None:
    """Return z, the last third minus the first in units of noise; six values or None.

    >>> trend([0, 1, 0, 1, 0, 1]), trend([1, 1, 1, 2, 2, 2])
    (0.0, 99.0)
    """
    if len(xs) < 6:
        return None
    k = len(xs) // 3
    change = total(xs[-k:]) / k - total(xs[:k]) / k
    return in_noise(change, noise(xs) * math.sqrt(2 / k), xs)
