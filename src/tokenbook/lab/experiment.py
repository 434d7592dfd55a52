"""Experiments 实验: their class, and the table of all."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pandas import DataFrame

BARS: ContextVar[bool] = ContextVar("bars", default=False)
"""Whether a run shows a bar over its rounds."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One question to the lab 一个实验.

    Args:
        name: of the experiment and of its file in the store.
        chapter: where the book draws it.
        question: per language.
        variants: the settings that are compared; their keys are columns.
        run: ``run(variant, seed, quick, checkpoint)`` gives the rows of one run, or a
            pair: its rows, and the responses that were kept.
        columns: meaning of each column of those rows.
        settings: shared by all variants; stored with the results.
        claims: sentence -> whether it holds of the rows; prose may say no more.
        seeds: how many seeds the stored results have.
        speaks: responses are kept: rows of step, prompt, response and numbers.
        message: title of the figure, per language; None: the question.
        shows: contents of the figure, a block of panels for each: columns, one axis.
        panels: the values of each panel; None: those of each variant.
        table: rows -> a Markdown table, if it has one.
    """

    name: str
    chapter: int
    question: Mapping[str, str]
    variants: tuple[dict, ...]
    run: Callable[[dict, int, bool, Path | None], list[dict] | tuple]
    columns: Mapping[str, str]
    settings: Mapping[str, object] = field(default_factory=dict)
    claims: Mapping[str, Callable[[DataFrame], bool]] = field(default_factory=dict)
    seeds: int = 5
    speaks: bool = False
    message: Mapping[str, str] | None = None
    shows: tuple[tuple[str, ...], ...] = (("success",),)
    panels: tuple[dict, ...] | None = None
    table: Callable[[DataFrame], str] | None = None


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of the chapters."""
    package = importlib.import_module("tokenbook.lab.experiments")
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            found.append(module.EXPERIMENT)
    return {e.name: e for e in sorted(found, key=lambda e: (e.chapter, e.name))}


def experiment(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        ValueError: an unknown name (the message lists the known ones).
    """
    if name not in experiments():
        known = ", ".join(experiments())
        raise ValueError(f"unknown experiment {name!r}; known: {known}")
    return experiments()[name]
