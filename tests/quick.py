"""Values of a parameter: `make test` tries some of them, `make test-all` every one."""

from collections.abc import Iterable

import pytest


def some(values: Iterable, *quick) -> list:
    """Return the values, marked slow but for those that are named."""
    values = [*values]
    assert set(quick) <= set(values), f"{quick} of {values}"
    return [
        v if v in quick else pytest.param(v, marks=pytest.mark.slow) for v in values
    ]
