"""Calling a function of anybody's by the names of its parameters 按参数名调用."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import shorten

import torch

# The names that other people's functions have for parameters, by the course's name.
LINES = Path(__file__).with_name("names.txt").read_text("utf-8").splitlines()
NAMES = {name: also.split() for name, also in (line.split(": ") for line in LINES)}


def names(own: str) -> list[str]:
    """Return what a parameter may stand for: its own name, then the course's."""
    return [own, *(name for name, also in NAMES.items() if own in also)]


class Skip(Exception):
    """A law that a function cannot be held against; the message says why."""


class Mine:
    """A function of anybody's: called by name, each call remembered as text.

    Args:
        kind: one of KINDS.
        function: what was handed in.
        dials: values of its parameters, or names of things that a law gives.
        things: what is known of the algorithm, whatever the law.
    """

    def __init__(self, kind: str, function: Callable, dials: Mapping, **things):
        try:
            every = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            raise ValueError(
                f"the parameters of {function!r} cannot be read: wrap it in a def"
            ) from None
        self.parameters = {p.name: p for p in every if "VAR_" not in p.kind.name}
        for name in dials.keys() - self.parameters.keys():
            if all(p.kind is not p.VAR_KEYWORD for p in every):
                raise ValueError(f"{function!r} has no parameter {name}")
            free = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
            self.parameters[name] = free  # one of its **kwargs
        self.kind, self.function = kind, function
        self.dials, self.things = dials, things
        self.calls, self.order = [], []  # of the room: the names of its values

    def needs(self, name: str) -> inspect.Parameter:
        """Return the parameter that stands for this thing; Skip where none does."""
        for own, parameter in self.parameters.items():
            if name in (*names(own), self.dials.get(own)):
                return parameter
        raise Skip(f"it has no parameter {name}, which this law needs")

    def __call__(self, **things):
        """Return its result for what a law gives; of several results the first."""
        there = {k: x for k, x in (self.things | things).items() if x is not None}
        args, kwargs = [], {}
        for own, parameter in self.parameters.items():
            dial = self.dials.get(own)
            stands = isinstance(dial, str) and dial in {*NAMES, *there}
            known = [there[k] for k in ([dial] if stands else names(own)) if k in there]
            if own in self.dials and not stands:
                known = [dial]
            if known and parameter.kind is parameter.POSITIONAL_ONLY:
                args.append(known[0])
            elif known:
                kwargs[own] = known[0]
            elif parameter.default is parameter.empty:
                raise Skip(f"its parameter {own} is none of {', '.join(sorted(there))}")
        said = [*map(shown, args), *(f"{k}={shown(x)}" for k, x in kwargs.items())]
        self.calls.append(f"({', '.join(said)})")
        try:
            out = self.function(*args, **kwargs)
        except (TypeError, RuntimeError) as error:  # 1 - mask, mask @ x
            if "bool" not in str(error).lower():
                raise
            floats = {k: x.float() if is_mask(x) else x for k, x in kwargs.items()}
            out = self.function(*args, **floats)
        out = out[0] if isinstance(out, tuple) and out else out
        self.calls[-1] += f" -> {shown(out)}"
        if out is None:
            raise Skip("it returned None")
        return out


def is_mask(x) -> bool:
    return isinstance(x, torch.Tensor) and x.dtype == torch.bool


def shown(x) -> str:
    """Return a value in one short line.

    >>> shown(torch.ones(1, 2))
    'tensor([[1., 1.]])'
    """
    return shorten(repr(x.detach() if isinstance(x, torch.Tensor) else x), 160)
