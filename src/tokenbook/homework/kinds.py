"""Convert a student's value to the type of the published answer's.

A check compares what the task asks for, ``got == [0.5, 1.0]``; a student may return a
tuple, an array, a tensor, fractions or a generator that say the same. ``fit`` converts
it to the type that the published solution returns for the same arguments. Only types
change: a wrong number, length or shape stays wrong.
"""

import random
from collections.abc import Callable
from fractions import Fraction
from numbers import Number

import numpy
import torch

from tokenbook.homework import exchange

NUMBERS = (Number, numpy.generic)


def fit(value, model):
    """Return the value in the type of the model, unchanged if that is impossible.

    >>> fit((1, Fraction(1, 2)), [1.0, 0.5]), fit(torch.tensor([2.0]), 7)
    ([1.0, 0.5], 2)
    >>> fit(0.5, True), fit({1, 2}, [1, 2])
    (0.5, {1, 2})
    """
    try:
        return fitted(value, model)
    except (ValueError, TypeError, OverflowError, RuntimeError):
        return value


def fitted(value, model):
    if isinstance(model, torch.Tensor):
        return as_tensor(value, model)
    if isinstance(model, (bool, int, float)):
        return as_number(value, type(model))
    if isinstance(model, (list, tuple)):
        return type(model)(as_items(value, model))
    if isinstance(model, dict) and isinstance(value, dict):
        return {
            key: fit(item, model[key]) if key in model else item
            for key, item in value.items()
        }
    return value


def as_number(value, kind: type):
    """One number as bool, int or float, unless that would change it."""
    if isinstance(value, (torch.Tensor, numpy.ndarray)):
        value = value.item()  # raises if there are several
    if not isinstance(value, NUMBERS):
        return value
    if kind is float:
        return float(value)
    return kind(value) if kind(value) == value else value


def as_items(value, model: list | tuple) -> list:
    """The items of a sequence, each in the kind of the model's item."""
    if isinstance(value, torch.Tensor):
        tensors = any(isinstance(item, torch.Tensor) for item in model)
        value = list(value.unbind()) if tensors else value.tolist()
    elif isinstance(value, numpy.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise TypeError(type(value).__name__)
    same = len(value) == len(model)
    return [
        fit(item, model[index] if same else model[0]) if model else item
        for index, item in enumerate(value)
    ]


def as_tensor(value, model: torch.Tensor) -> torch.Tensor:
    """A tensor of the model's dtype; one number in the model's shape."""
    if not isinstance(value, torch.Tensor):
        value = stacked(value)
    if value.numel() == model.numel() == 1:
        value = value.reshape(model.shape)
    cast = value.to(model.dtype)
    if model.dtype.is_floating_point or bool((cast == value).all()):
        return cast
    return value


def stacked(value) -> torch.Tensor:
    """Nested sequences, arrays and numbers as one tensor; gradients stay."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, (list, tuple)):
        items = [stacked(item) for item in value]
        return torch.stack(items) if items else torch.tensor([])
    if isinstance(value, Fraction):
        value = float(value)
    return torch.tensor(value)


class Models:
    """The published answers, called with copies of the arguments of a check."""

    def __init__(self, solutions: list[str], execute: Callable):
        self.solutions, self.execute, self.names = solutions, execute, None
        self.none = False  # whether an answer returned None and should not

    def read(self, setup: dict) -> None:
        """Run the solutions once, where the setup has run."""
        if self.names is None:
            self.names = dict(setup)
            for source in self.solutions:
                self.execute(source, "<solution>", self.names)

    def fit(self, name: str, value):
        """A student's value of that name."""
        return fit(value, self.names.get(name))

    def fit_result(self, name: str, arguments, value):
        """Result of a student's function of that name for encoded arguments."""
        state = torch.get_rng_state(), random.getstate(), numpy.random.get_state()
        try:
            args, kwargs = exchange.decode(arguments)
            model = self.names[name](*args, **kwargs)
        except Exception:  # the published answer fails here, too: no type to convert to
            return value
        finally:
            torch.set_rng_state(state[0])
            random.setstate(state[1])
            numpy.random.set_state(state[2])
        self.none = self.none or (value is None and model is not None)
        return fit(value, model)
