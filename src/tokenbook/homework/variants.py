"""Right answers of other types, made from the published one, for the checks.

Each function of ``VARIANTS`` converts a value to another type, and returns None if it
has no such form. The module's source is put into a student's cell, so it imports
nothing of the course.
"""

import math
from collections import OrderedDict, UserDict, defaultdict, deque, namedtuple
from enum import Enum
from fractions import Fraction
from functools import partial
from types import MappingProxyType

import numpy
import torch


class Text(str):
    """A subclass of str."""


class Own(torch.Tensor):
    """A subclass of Tensor."""


def is_number(value) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def numbers_only(value) -> bool:
    """A list of numbers that fits an array, nested or not."""
    try:
        array = numpy.array(value)
    except ValueError:
        return False
    return bool(value) and array.dtype.kind in "biuf"


def inside(change):
    """A change of single values, made everywhere in lists, tuples and dicts."""

    def changed(value):
        if type(value) in (list, tuple):
            parts = [changed(item) for item in value]
        elif type(value) is dict:
            parts = [changed(item) for item in value.values()]
        else:
            return change(value)
        if all(part is None for part in parts):
            return None
        old = value.values() if type(value) is dict else value
        new = [b if a is None else a for a, b in zip(parts, old, strict=True)]
        if type(value) is dict:
            return dict(zip(value, new, strict=True))
        return type(value)(new)

    return changed


def outside(change):
    """A change of the outermost lists; in a tuple or dict, of those in it."""

    def changed(value):
        if type(value) is list:
            return change(value)
        if type(value) not in (tuple, dict):
            return None
        parts = value.values() if type(value) is dict else value
        found = [changed(part) for part in parts]
        if all(part is None for part in found):
            return None
        new = [b if a is None else a for a, b in zip(found, parts, strict=True)]
        return dict(zip(value, new, strict=True)) if type(value) is dict else (*new,)

    return changed


def pair(value):
    """A tuple as a named one."""
    if type(value) is not tuple or not value:
        return None
    return namedtuple("Result", [f"part{i}" for i in range(len(value))])(*value)


def integral(value):
    """7 for 7.0, which compares equal."""
    if type(value) is float and math.isfinite(value) and value == int(value):
        return int(value)
    return None


def negative_zero(value):
    """-0.0 for 0.0, in a tensor too, whose gradients stay."""
    if is_float_tensor(value):
        copy = value.clone()
        copy.detach()[value.detach() == 0] = -0.0
        return copy
    return -0.0 if type(value) in (int, float) and value == 0 else None


def double(value):
    """A float64 tensor for one of float32."""
    single = type(value) is torch.Tensor and value.dtype == torch.float32
    return value.double() if single else None


def is_float_tensor(value) -> bool:
    return type(value) is torch.Tensor and value.is_floating_point()


def is_data(value) -> bool:
    """A tensor through which no gradient goes."""
    return type(value) is torch.Tensor and not value.requires_grad


def strided(value):
    """A tensor whose numbers do not lie side by side."""
    if type(value) is not torch.Tensor:
        return None
    return torch.stack([value, value], -1)[..., 0]


VARIANTS = {
    "tuple": outside(tuple),
    "list of a tuple": lambda v: list(v) if type(v) is tuple else None,
    "array": outside(lambda v: numpy.array(v) if numbers_only(v) else None),
    "tensor of a list": outside(
        lambda v: torch.tensor(v, dtype=torch.float64) if numbers_only(v) else None
    ),
    "map": outside(lambda v: map(lambda item: item, v)),
    "generator": outside(lambda v: (item for item in v)),
    "view of a dict": outside(lambda v: dict(enumerate(v)).values()),
    "deque": outside(deque),
    "named tuple": pair,
    "OrderedDict": lambda v: OrderedDict(v) if type(v) is dict else None,
    "read-only dict": lambda v: MappingProxyType(v) if type(v) is dict else None,
    "defaultdict": lambda v: defaultdict(int, v) if type(v) is dict else None,
    "UserDict": lambda v: UserDict(v) if type(v) is dict else None,
    "fraction": inside(lambda v: Fraction(v) if is_number(v) else None),
    "numpy number": inside(lambda v: numpy.array(v)[()] if is_number(v) else None),
    "array of one number": inside(lambda v: numpy.array(v) if is_number(v) else None),
    "tensor of one number": inside(
        lambda v: torch.tensor(v, dtype=torch.float64) if is_number(v) else None
    ),
    "tensor of one number, in a list": inside(
        lambda v: torch.tensor([v], dtype=torch.float64) if is_number(v) else None
    ),
    "tensor of one number, with a gradient": inside(
        lambda v: (
            torch.tensor(float(v), dtype=torch.float64, requires_grad=True)
            if is_number(v)
            else None
        )
    ),
    "float of an int": inside(lambda v: float(v) if type(v) is int else None),
    "int of a float": inside(integral),
    "infinity of numpy": inside(
        lambda v: numpy.float64(v) if type(v) is float and math.isinf(v) else None
    ),
    "numpy bool": inside(lambda v: numpy.bool_(v) if type(v) is bool else None),
    "0 and 1 for a bool": inside(lambda v: int(v) if type(v) is bool else None),
    "tensor of a bool": inside(lambda v: torch.tensor(v) if type(v) is bool else None),
    "numpy text": inside(lambda v: numpy.str_(v) if type(v) is str else None),
    "subclass of text": inside(lambda v: Text(v) if type(v) is str else None),
    "member of a text enum": inside(
        lambda v: Enum("Word", {"word": v}, type=str).word if type(v) is str else None
    ),
    "negative zero": inside(negative_zero),
    "float64": inside(double),
    "subclass of Tensor": inside(
        lambda v: v.as_subclass(Own) if type(v) is torch.Tensor else None
    ),
    "strided": inside(strided),
    "one number with a dimension": inside(
        lambda v: v[None] if type(v) is torch.Tensor and v.ndim == 0 else None
    ),
    "float of a bool tensor": inside(
        lambda v: v.float() if is_data(v) and v.dtype == torch.bool else None
    ),
    "array of a tensor": inside(lambda v: v.numpy() if is_data(v) else None),
    "list of a tensor": inside(lambda v: v.tolist() if is_data(v) else None),
    "with a gradient": inside(
        lambda v: (
            v.clone().requires_grad_() if is_data(v) and is_float_tensor(v) else None
        )
    ),
    "list of tensors": inside(
        lambda v: [*v.unbind()] if type(v) is torch.Tensor and v.ndim == 1 else None
    ),
}


class Callable:
    """An object that is called like the function."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


FORMS = {
    "callable object": Callable,
    "method": lambda function: Callable(function).__call__,
    "partial": partial,
}


def told(name, answer):
    """An answer converted to another type if possible, a function or a value."""
    if name in FORMS:
        return FORMS[name](answer) if callable(answer) else answer
    change = VARIANTS[name]

    def other(value):
        changed = change(value)
        return value if changed is None else changed

    def varied(*args, **kwargs):
        return other(answer(*args, **kwargs))

    return varied if callable(answer) else other(answer)
