"""Checks of the input: a ValueError names the value and the allowed ones."""

import math
from numbers import Integral, Real

import torch
from torch import Tensor

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def describe(value):
    """A short description of a value.

    >>> describe(torch.zeros(2, 3))
    'float32 [2, 3] on cpu'
    """
    if isinstance(value, Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return f"{dtype} {list(value.shape)} on {value.device}"
    return f"{type(value).__name__} {value!r}"[:60]


def refuse(name, allowed, value):
    """Raise an error with the argument, the allowed values and the given one."""
    raise ValueError(f"{name} must be {allowed}; got {describe(value)}")


def require(condition, name, allowed, value):
    """Refuse unless `condition`."""
    if not condition:
        refuse(name, allowed, value)


def tensor(name, value, dtypes, kind, *, ndim=None, like=None):
    """One tensor of the right kind, number of axes, and shape and device of `like`."""
    require(isinstance(value, Tensor), name, f"a tensor of {kind}", value)
    require(value.dtype in dtypes, name, f"a tensor of {kind}", value)
    if ndim is not None and value.ndim != ndim:
        refuse(name, "of shape " + {1: "[B]", 2: "[B, T]"}[ndim], value)
    if like is not None and (value.shape, value.device) != (like.shape, like.device):
        refuse(name, f"of shape {list(like.shape)} on {like.device}", value)
    return value


def floats(ndim=None, /, **tensors):
    """Float tensors of one shape, in their common dtype, float32 or wider.

    >>> a, b = floats(a=torch.ones(2, dtype=torch.bfloat16), b=torch.ones(2))
    >>> a.dtype
    torch.float32
    """
    first, dtype = None, torch.float32
    for name, value in tensors.items():
        tensor(name, value, FLOATS, "floats", ndim=ndim, like=first)
        first, dtype = value, torch.promote_types(dtype, value.dtype)
    return [value.to(dtype) for value in tensors.values()]


def token_mask(mask, like=None, name="mask"):
    """A bool tensor [B, T], of the shape and device of `like`."""
    return tensor(name, mask, (torch.bool,), "bools", ndim=2, like=like)


def group_ids(groups, like):
    """Integer ids [B], one per entry of `like`."""
    return tensor("groups", groups, INTEGERS, "integers", ndim=1, like=like)


def number(name, value, low=0.0, high=math.inf, *, open_low=False):
    """A finite number in [low, high], or in (low, high] if `open_low`.

    >>> number("gamma", 1.5, 0, 1)
    Traceback (most recent call last):
    ValueError: gamma must be a number in [0, 1]; got float 1.5
    """
    real = isinstance(value, Real) and not isinstance(value, bool)
    inside = real and math.isfinite(value) and low <= value <= high
    if not inside or (open_low and value == low):
        left = "(" if open_low else "["
        right = ")" if high == math.inf else "]"
        refuse(name, f"a number in {left}{low:g}, {high:g}{right}", value)
    return float(value)


def whole(name, value, low=1):
    """A whole number of at least `low`.

    >>> whole("steps", 0)
    Traceback (most recent call last):
    ValueError: steps must be a whole number of at least 1; got int 0
    """
    fine = isinstance(value, Integral) and not isinstance(value, bool)
    fine = fine and value >= low
    require(fine, name, f"a whole number of at least {low}", value)
    return value


def choice(name, value, allowed):
    """One of the known names."""
    if not (isinstance(value, str) and value in allowed):
        require(False, name, "one of " + ", ".join(map(repr, allowed)), value)
    return value


def rewards_only_where(allowed, rewards, where):
    """No reward off the allowed tokens: it would vanish (NaN does not count as 0)."""
    vanishing = rewards.ne(0) & ~allowed
    if vanishing.count_nonzero():  # several times faster than any()
        row, column = vanishing.nonzero()[0].tolist()
        raise ValueError(
            f"rewards must be 0 except on {where}, or they vanish; "
            f"got {rewards[row, column].item()} at [{row}, {column}]"
        )
