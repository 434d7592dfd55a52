"""Rules over series, with unknown values; ``reader.js`` evaluates the same trees.

A rule's `when` is an expression of Python's grammar: names and calls of quantities,
numbers, + - * /, one comparison, and, or, not. A quantity that is not in the log is
unknown (None).
"""

import ast
import functools
import math
import operator
from dataclasses import dataclass

from tokenbook.symptoms.series import (
    Series,
    finite,
    in_noise,
    load,
    median,
    noise,
    total,
    trend,
)

SHOWN = 3  # places to look, at most
ALARMS = ("definition", "look")
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: a / b if b else None,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
}
WORDS = ("and", "or", "not")
Tree = str | float | list
SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Lt: "<",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Eq: "==",
}


def tree(text: str) -> Tree:
    """Return an expression as nested lists, which JSON can carry.

    A name is a string, a number itself, and all else a list that its sign begins.

    >>> tree("not z(reward) > 2"), tree("tiny(loss, 0.1) and components")
    (['not', ['>', ['z', 'reward'], 2]], ['and', ['tiny', 'loss', 0.1], 'components'])
    """
    return _tree(ast.parse(text, mode="eval").body)


def _tree(node: ast.expr) -> Tree:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            return name
        case ast.UnaryOp(op=ast.Not(), operand=one):
            return ["not", _tree(one)]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
            return -value
        case ast.BoolOp(op=op, values=values):
            return ["and" if isinstance(op, ast.And) else "or", *map(_tree, values)]
        case ast.BinOp(left=left, op=op, right=right):
            return [SIGNS[type(op)], _tree(left), _tree(right)]
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return [SIGNS[type(op)], _tree(left), _tree(right)]
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=of)]):
            return [name, of]
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=of), argument]):
            return [name, of, _tree(argument)]
    raise ValueError(f"not the grammar of rules: {ast.unparse(node)}")


def quantities(node: Tree) -> list[str]:
    """Return the quantities of a tree, each once, in their order."""
    if isinstance(node, str):
        return [node]
    parts = node[1:] if isinstance(node, list) else []
    return list(dict.fromkeys(name for one in parts for name in quantities(one)))


@functools.cache
def rules() -> list[dict]:
    """Return the rules, each with the tree of its `when`."""
    return [
        one | {"tree": tree(one["when"]) if "when" in one else None}
        for one in load("rules")
    ]


@dataclass
class Verdict:
    """Result of one rule on a log: True, False, or None if unknown."""

    rule: dict
    holds: bool | None
    missing: list[str]  # quantities to log, or "rows"


def judge(log: Series) -> list[Verdict]:
    """Return a verdict for every rule."""
    return [verdict(rule, log) for rule in rules()]


def verdict(rule: dict, log: Series) -> Verdict:
    """Return the verdict of a rule on a log.

    If a part is unknown, a second evaluation takes an `or` by its known parts and the
    `not` of an unknown part as true.
    """
    if not rule["tree"]:
        return Verdict(rule, None, [])
    there = [name for name in rule["needs"] if name in log.lines]
    if not there:
        return Verdict(rule, None, rule["needs"])
    if len(finite(log.lines[there[0]])) < rule.get("rows", 0):
        return Verdict(rule, None, ["rows"])
    holds = value(rule["tree"], log)
    if holds is None:
        holds = value(rule["tree"], log, lenient=True)
    names = quantities(rule["tree"]) if holds is None else []
    return Verdict(rule, holds, [name for name in names if name not in log.lines])


def places(verdicts: list[Verdict]) -> list[Verdict]:
    """Return the places to look, at most three, causes first."""
    held = [one for one in verdicts if one.holds and one.rule["level"] in ALARMS]
    return held[:SHOWN]


def value(node: Tree, log: Series, *, lenient: bool = False):
    """Return the value of a tree: a number, True, False, or None for unknown."""
    if isinstance(node, str):
        return last(node, log)
    if not isinstance(node, list):
        return node
    kind, *parts = node
    if kind not in OPERATORS and kind not in WORDS:
        argument = value(parts[1], log) if len(parts) > 1 else None
        return call(kind, parts[0], argument, log)
    if kind == "not":
        one = value(parts[0], log, lenient=lenient)
        return (True if lenient else None) if one is None else not one
    if kind in ("and", "or"):
        found = [value(one, log, lenient=lenient) for one in parts]
        decides = kind == "or"
        if decides in found:
            return decides
        if kind == "or" and lenient:
            found = [one for one in found if one is not None] or [None]
        return None if None in found else not decides
    a, b = (value(one, log) for one in parts)
    return None if a is None or b is None else OPERATORS[kind](a, b)


def last(name: str, log: Series):
    """Return the last value of a series, and whether a KL is a sum of tokens."""
    if name == "kl_is_sum":
        return "kl_sum" in log.lines
    xs = finite(log.lines.get(name, []))
    return xs[-1] if xs else None


def call(name: str, of: str, argument: float | None, log: Series):
    """Return a function of one series; None where it has no value."""
    line = log.lines.get(of)
    if name == "known":
        return line is not None and any(x is not None for x in line)
    if name == "n":
        return len(finite(line or []))
    if line is None:
        return None
    if name == "nan":
        logged = [x for x in line if x is not None]
        lost = sum(not math.isfinite(x) for x in logged)
        return lost / len(logged) if logged else None
    if name == "start":
        places = zip(log.steps, line, strict=False)
        return next((s for s, x in places if x is not None and math.isfinite(x)), None)
    xs = finite(line)
    return FUNCTIONS[name](xs, argument) if xs else None


def width(xs: list[float]) -> int:
    """Return one fifth of the number of values, at least 1."""
    return max(1, len(xs) // 5)


def head(xs: list[float]) -> float:
    """Return the median of the first fifth."""
    return median(xs[: width(xs)])


def tail(xs: list[float]) -> float:
    """Return the median of the last fifth."""
    return median(xs[-width(xs) :])


def share(xs: list[float], test) -> float:
    """Return the share of values that pass a test."""
    return sum(map(test, xs)) / len(xs)


def smooth(xs: list[float]) -> list[float]:
    """Return medians of three neighbours."""
    triples = zip(xs, xs[1:], xs[2:], strict=False)
    return [median(list(one)) for one in triples] if len(xs) >= 5 else xs


def size(*xs: float) -> float:
    """Return the largest magnitude, never 0."""
    return max(*map(abs, xs), 1e-12)


def jump(xs: list[float]) -> float | None:
    """Return the largest value over the median of the ten before it."""
    if len(xs) < 8:
        return None
    floor = 0.1 * median(xs)  # gradients near 0 jump by any factor
    best = 0.0
    for i in range(4, len(xs)):
        before = max(median(xs[max(0, i - 10) : i]), floor)
        if before > 0:
            best = max(best, xs[i] / before)
    return best


def fall(xs: list[float]) -> float | None:
    """Return z2, the last fifth minus the peak in units of noise."""
    if len(xs) < 6:
        return None
    wide = max(2, width(xs))
    change = total(xs[-wide:]) / wide - max(smooth(xs))
    return in_noise(change, noise(xs) * math.sqrt(1 / wide + 1 / 3), xs)


def late(xs: list[float]) -> float:
    """Return the relative change from the middle fifth to the last."""
    half, k = len(xs) // 2, width(xs)
    middle = median(xs[half - k // 2 : half + (k + 1) // 2])
    return (tail(xs) - middle) / size(middle, tail(xs))


def lost(xs: list[float]) -> float:
    """Return the lost share of the peak, or of the rise to it, at the end."""
    ys = smooth(xs)
    peak = max(ys)
    return (peak - tail(xs)) / max(abs(peak), peak - min(ys), 1e-12)


def growth(xs: list[float]) -> float | None:
    """Return the last fifth over the first."""
    return tail(xs) / head(xs) if head(xs) > 0 and tail(xs) >= 0 else None


def three(f):
    """Make a function unknown on fewer than three values."""
    return lambda xs, _: f(xs) if len(xs) >= 3 else None


FUNCTIONS = {
    "first": lambda xs, _: xs[0],
    "last": lambda xs, _: xs[-1],
    "head": lambda xs, _: head(xs),
    "tail": lambda xs, _: tail(xs),
    "med": lambda xs, _: median(xs),
    "max": lambda xs, _: max(xs),
    "min": lambda xs, _: min(xs),
    "zeros": lambda xs, _: share(xs, lambda x: abs(x) <= 1e-8),
    "unit": lambda xs, _: min(xs) >= 0 and max(xs) <= 1,
    "tiny": lambda xs, a: share(xs, lambda x: abs(x) <= a),
    "above": lambda xs, a: share(xs, lambda x: x > a),
    "below": lambda xs, a: share(xs, lambda x: x < a),
    "z": lambda xs, _: trend(xs),
    "z2": lambda xs, _: fall(xs),
    "jump": lambda xs, _: jump(xs),
    "rel": three(lambda xs: (tail(xs) - head(xs)) / size(head(xs), tail(xs))),
    "growth": three(growth),
    "late": three(late),
    "lost": three(lost),
}
