"""The YAML files of the book, parsed once per text."""

import functools
from pathlib import Path

import yaml

parsed = functools.cache(yaml.safe_load)


def load(file: Path):
    """Return the cached contents of a file; callers must not change them."""
    return parsed(file.read_text(encoding="utf-8"))
