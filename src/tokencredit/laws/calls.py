"""Calling a function of anybody's by the names of its parameters 按参数名调用."""

import inspect
from collections.abc import Callable, Mapping
from textwrap import shorten

import torch
from torch import Tensor

from tokencredit.laws.names import NAMES

STARS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
FREE = inspect.Parameter("free", inspect.Parameter.KEYWORD_ONLY)  # one of **kwargs


def names(own: str) -> list[str]:
    """Return what a parameter may stand for: its own name, then the course's."""
    return [own, *(name for name, also in NAMES.items() if own in also.split())]


class Skip(Exception):
    """A law that a function cannot be held against; the message says why."""


class Mine:
    """A function of anybody's: called by name, each call remembered as text.

    Args:
        function: what was handed in.
        dials: values of its parameters, or names of things that a law gives.
        things: what is known of the algorithm, whatever the law.
    """

    def __init__(self, function: Callable, dials: Mapping, **things):
        try:
            self.parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            raise ValueError(
                f"the parameters of {function!r} cannot be read: wrap it in a def"
            ) from None
        self.function, self.dials, self.things = function, dials, things
        self.calls, self.order = [], []  # of the room: the names of its values
        for name in dials.keys() - self.parameters.keys():
            if all(p.kind is not p.VAR_KEYWORD for p in self.parameters.values()):
                raise ValueError(f"{function!r} has no parameter {name}")

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
        for own in dict.fromkeys([*self.parameters, *self.dials]):
            parameter = self.parameters.get(own, FREE)
            known = [there[name] for name in names(own) if name in there]
            if own in self.dials:
                dial = self.dials[own]
                is_name = isinstance(dial, str) and dial in {*NAMES, *there}
                known = (
                    [dial] if not is_name else [there[dial]] if dial in there else []
                )
            if known and parameter.kind is parameter.POSITIONAL_ONLY:
                args.append(known[0])
            elif known and parameter.kind not in STARS:
                kwargs[own] = known[0]
            elif parameter.default is parameter.empty and parameter.kind not in STARS:
                raise Skip(f"its parameter {own} is none of {', '.join(sorted(there))}")
        said = [*map(shown, args), *(f"{k}={shown(x)}" for k, x in kwargs.items())]
        self.calls.append(f"({', '.join(said)})")
        try:
            out = self.function(*args, **kwargs)
        except (TypeError, RuntimeError) as error:  # 1 - mask, mask @ x
            if "bool" not in str(error).lower():
                raise
            out = self.function(*args, **{k: unbool(x) for k, x in kwargs.items()})
        out = out[0] if isinstance(out, tuple) and out else out
        self.calls[-1] += f" -> {shown(out)}"
        if out is None:
            raise Skip("it returned None")
        return out


def unbool(x):
    return x.float() if isinstance(x, Tensor) and x.dtype == torch.bool else x


def shown(x) -> str:
    """Return a value in one short line.

    >>> shown(torch.ones(1, 2))
    'tensor([[1., 1.]])'
    """
    return shorten(repr(x.detach() if isinstance(x, Tensor) else x), 160)
