"""Calling a function of anybody's by the names of its parameters 按参数名调用."""

import inspect
from collections.abc import Callable
from pathlib import Path
from textwrap import shorten

from torch import BoolTensor, Tensor

# The names that other people's functions have for parameters, by the course's name.
LINES = Path(__file__).with_name("names.txt").read_text("utf-8").splitlines()
NAMES = {name: also.split() for name, also in (line.split(": ") for line in LINES)}


def names(own: str) -> list[str]:
    """Return the names a parameter may have: its own, then the course's."""
    return [own, *(name for name, also in NAMES.items() if own in also)]


class Skip(BaseException):  # not caught with the errors of a function
    """A law that does not apply to a function; the message gives the reason."""


class Mine:
    """A user's function: called by name, each call recorded as text.

    Args:
        kind: one of KINDS.
        function: the user's.
        more: parameters that are not in its signature.
        things: facts about the algorithm that hold for every law.
    """

    def __init__(self, kind: str, function: Callable, more=(), **things):
        try:
            every = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            raise ValueError(f"{function!r} has no signature: use a def") from None
        own = [p for p in every if "VAR_" not in p.kind.name]
        own += [inspect.Parameter(x, inspect.Parameter.KEYWORD_ONLY) for x in more]
        self.signature = inspect.Signature(own)
        self.kind, self.function, self.things = kind, function, things
        self.calls, self.order = [], []  # of the room: the names of its values

    def needs(self, name: str) -> inspect.Parameter:
        """Return the parameter that takes this thing; raise Skip if there is none."""
        for own, parameter in self.signature.parameters.items():
            if name in names(own):
                return parameter
        raise Skip(f"it has no parameter {name}, which this law needs")

    def __call__(self, **things):
        """Return its result for a law's arguments; the first if there are several."""
        there = {k: x for k, x in (self.things | things).items() if x is not None}
        args = {}
        for own, parameter in self.signature.parameters.items():
            if known := [there[name] for name in names(own) if name in there]:
                args[own] = known[0]
            elif parameter.default is parameter.empty:
                raise Skip(f"its parameter {own} is none of {', '.join(sorted(there))}")
        said = ", ".join(f"{own}={shown(x)}" for own, x in args.items())
        self.calls.append(f"({said})")
        call = inspect.BoundArguments(self.signature, args)
        try:
            out = self.function(*call.args, **call.kwargs)
        except (TypeError, RuntimeError) as error:  # 1 - mask, mask @ x
            if "bool" not in str(error).lower():
                raise
            args |= {k: x.float() for k, x in args.items() if isinstance(x, BoolTensor)}
            out = self.function(*call.args, **call.kwargs)
        out = out[0] if isinstance(out, tuple) and out else out
        self.calls[-1] += f" -> {shown(out)}"
        if out is None:
            raise Skip("it returned None")
        return out


def shown(x) -> str:
    """Return a value in one short line.

    >>> shown(Tensor([[1, 2]]))
    'tensor([[1., 2.]])'
    """
    return shorten(repr(x.detach() if isinstance(x, Tensor) else x), 160)
