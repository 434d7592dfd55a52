"""Reading rows 读结果: curves per seed, ends of runs, and their spread."""

from __future__ import annotations

import numpy as np
from pandas import DataFrame

from tokenbook.lab.store import where


def per_seed(rows: DataFrame, column: str, **values) -> np.ndarray:
    """A column as ``[seeds, steps]``, for rows with these values.

    Raises:
        ValueError: no such rows, or seeds of different length.
    """
    chosen = where(rows, **values)
    curves = [run[column].to_numpy(float) for _, run in chosen.groupby("seed")]
    if len({len(curve) for curve in curves}) != 1:
        sizes = chosen.groupby("seed").size().to_dict()
        raise ValueError(f"{column} where {values}: rows per seed are {sizes}")
    return np.array(curves)


def final(rows: DataFrame, column: str, *, last: int = 1, **values) -> np.ndarray:
    """Mean of the last rows of each seed: one number per seed."""
    return per_seed(rows, column, **values)[:, -last:].mean(1)


def spread(numbers: np.ndarray) -> str:
    """Median and range as text.

    >>> spread(np.array([0.5, 0.75, 1.0]))
    '0.75 (0.50 to 1.00)'
    >>> spread(np.array([-0.5, -0.001, 0.25]))
    '0.00 (-0.50 to 0.25)'
    """
    return f"{np.median(numbers):z.2f} ({numbers.min():z.2f} to {numbers.max():z.2f})"
