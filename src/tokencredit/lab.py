"""The lab 实验室: experiments by name, and the store that the book draws from.

    python -m tokencredit lab list
    python -m tokencredit lab run NAME [--quick] [--seeds N] [--again] [--out DIR]
    python -m tokencredit lab table [NAME]

An experiment is a file in `experiments/`. Its results are one CSV file in `results/`:
the first line says the versions and settings, the last how many rows there must be,
both after "#"; every other line is one row of numbers, "nan" where a run has none.
The file is written anew, whole or not at all, after each run of a variant with a seed.

>>> sorted(name for name in experiments() if name.startswith("ppo"))
['ppo-epochs']
"""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import json
import os
import pkgutil
import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import torch

STORE = Path(__file__).parent / "results"

Rows = list[dict]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One question to the lab 一个实验.

    Args:
        name: of the experiment and of its file in the store.
        chapter: where the book draws it.
        question: what it answers, per language.
        variants: the settings that are compared; their keys are columns.
        run: ``run(variant, seed, quick, checkpoint)`` gives the rows of one run.
        columns: what each column of those rows means.
        settings: what is the same in all variants; stored with the results.
        claims: sentence -> whether it holds of the rows; prose may say no more.
        seeds: how many seeds the stored results have.
        table: rows -> a Markdown table, if it has one.
    """

    name: str
    chapter: int
    question: Mapping[str, str]
    variants: tuple[dict, ...]
    run: Callable[[dict, int, bool, Path | None], Rows]
    columns: Mapping[str, str]
    settings: Mapping[str, object] = field(default_factory=dict)
    claims: Mapping[str, Callable[[Rows], bool]] = field(default_factory=dict)
    seeds: int = 5
    table: Callable[[Rows], str] | None = None


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of the chapters."""
    package = importlib.import_module(f"{__package__}.experiments")
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


# ---- the store -----------------------------------------------------------------


def results(name: str, *, store: Path | str = STORE) -> Rows:
    """The stored rows of an experiment 实验结果: numbers as int or float, words as str.

    Raises:
        ValueError: an unknown experiment, nothing stored yet, a file that is cut short
            or was edited.
    """
    return load(path_of(experiment(name), store))[1]


def path_of(chosen: Experiment, store: Path | str = STORE) -> Path:
    """The file of an experiment in a store."""
    return Path(store) / f"{chosen.name}.csv"


def load(path: Path) -> tuple[dict, Rows]:
    """Head and rows of a results file; see `results`."""
    if not path.exists():
        raise ValueError(
            f"{path.name}: nothing stored yet; "
            f"python -m tokencredit lab run {path.stem} fills it"
        )
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    last = lines[-1].split() if lines else []
    if last[:2] != ["#", "rows"] or not text.endswith("\n"):
        raise ValueError(
            f"{path.name} is cut short: its last line does not say how many rows; "
            f"restore it, or remove it and run it"
        )
    rows = list(csv.DictReader(x for x in lines if not x.startswith("#")))
    if len(rows) != int(last[2]) or any(None in row.values() for row in rows):
        raise ValueError(f"{path.name} has {len(rows)} rows and should have {last[2]}")
    return json.loads(lines[0].removeprefix("#")), [
        {name: _number(word) for name, word in row.items()} for row in rows
    ]


def save(path: Path, head: dict, rows: Rows):
    """Write a results file, whole or not at all."""
    out = io.StringIO()
    out.write("# " + json.dumps(head, ensure_ascii=False, sort_keys=True) + "\n")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = csv.DictWriter(out, columns, restval="nan", lineterminator="\n")
    table.writeheader()
    table.writerows({k: _word(v) for k, v in row.items()} for row in rows)
    out.write(f"# rows {len(rows)}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(out.getvalue(), encoding="utf-8")
    os.replace(new, path)


def _number(word: str):
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return {"True": True, "False": False}.get(word, word)


def _word(value):
    return f"{value:.4g}" if isinstance(value, float) else value


def missing(chosen: Experiment, store: Path | str = STORE) -> list[tuple[dict, int]]:
    """The runs (variant, seed) that the stored results still lack."""
    path = path_of(chosen, store)
    return _missing(chosen, load(path)[1] if path.exists() else [], chosen.seeds)


def _missing(chosen: Experiment, rows: Rows, seeds: int) -> list[tuple[dict, int]]:
    return [
        (variant, seed)
        for seed in range(seeds)
        for variant in chosen.variants
        if not where(rows, seed=seed, **variant)
    ]


def versions() -> dict:
    """What the numbers depend on."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "threads": torch.get_num_threads(),
    }


def run_experiment(
    chosen: Experiment,
    *,
    seeds: int | None = None,
    quick: bool = False,
    again: bool = False,
    store: Path | str = STORE,
    report: Callable[[str], None] = print,
) -> Rows:
    """Run what the store lacks: every variant with every seed.

    Interrupted, it loses at most the current round of the current run. With `quick` a
    run takes seconds and nothing is stored in the lab's own store.

    Raises:
        ValueError: the experiment is finished, or its settings have changed since
            (`again` starts it anew, and replaces the file when all is done), or
            another process is running it.
    """
    seeds = seeds or (1 if quick else chosen.seeds)
    final = path_of(chosen, store)
    path = final.with_suffix(".again.csv") if again else final
    settings = json.loads(
        json.dumps(dict(chosen.settings) | {"quick": quick}, default=str)
    )
    rows: Rows = []
    if path.exists():
        stored, rows = load(path)
        if stored["settings"] != settings:
            raise ValueError(f"{path.name} has other settings; --again starts it anew")
    left = _missing(chosen, rows, seeds)
    if not left and not again:
        raise ValueError(
            f"{chosen.name} is finished: {path.name} holds {seeds} seeds; "
            f"--again runs it anew, --seeds {seeds + 1} adds one"
        )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    lock = _lock(path)
    head = {"experiment": chosen.name, "settings": settings, "versions": versions()}
    try:
        for number, (variant, seed) in enumerate(left, 1):
            words = " ".join(f"{k}={v}" for k, v in variant.items())
            file = path.with_name(f".{chosen.name}-{words}-{seed}.pt".replace("/", "_"))
            clock = time.process_time()
            new = chosen.run(variant, seed, quick, file)
            spent = time.process_time() - clock
            rows += [variant | {"seed": seed} | row for row in new]
            save(path, head, rows)
            file.unlink(missing_ok=True)
            report(f"{number}/{len(left)} {words} seed={seed}: {_line(new, spent)}")
    finally:
        lock.unlink()
        torch.set_num_threads(threads)
    if again:
        os.replace(path, final)
    return rows


def _lock(path: Path) -> Path:
    """A file that says which process writes this results file; an error if one does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f".{path.name}.lock")
    try:
        owner = int(lock.read_text())
        os.kill(owner, 0)
    except (FileNotFoundError, ValueError, ProcessLookupError):
        lock.write_text(str(os.getpid()))
        return lock
    raise ValueError(f"{path.name} is being written by process {owner}")


def _line(rows: Rows, spent: float) -> str:
    """The last row of a run in words, with its speed."""
    last = rows[-1]
    words = f"success {last['success']:.3f}, " if "success" in last else ""
    if last.get("tokens") and last.get("seconds"):
        words += f"{last['tokens'] / last['seconds']:.0f} tokens/s, "
        words += f"{last['seconds'] / last['step']:.3f} s/round, "
    return words + f"{spent:.1f} CPU s"


# ---- reading rows --------------------------------------------------------------


def where(rows: Rows, **values) -> Rows:
    """The rows with these values.

    >>> where([{"lam": 0.5, "seed": 0}, {"lam": 1, "seed": 0}], lam=1)
    [{'lam': 1, 'seed': 0}]
    """
    return [row for row in rows if all(row[k] == v for k, v in values.items())]


def per_seed(rows: Rows, column: str, **values) -> np.ndarray:
    """A column as ``[seeds, steps]``, for rows with these values.

    Raises:
        ValueError: no such rows, or seeds of different length.
    """
    seeds: dict[int, list] = {}
    for row in where(rows, **values):
        seeds.setdefault(row["seed"], []).append(row[column])
    if not seeds or len({len(xs) for xs in seeds.values()}) != 1:
        sizes = {seed: len(xs) for seed, xs in seeds.items()}
        raise ValueError(f"{column} where {values}: rows per seed are {sizes}")
    return np.array([seeds[seed] for seed in sorted(seeds)], dtype=float)


def final(rows: Rows, column: str, *, last: int = 1, **values) -> np.ndarray:
    """Mean of the last rows of each seed: one number per seed."""
    return per_seed(rows, column, **values)[:, -last:].mean(1)


def spread(numbers: np.ndarray) -> str:
    """Median and range in words.

    >>> spread(np.array([0.5, 0.75, 1.0]))
    '0.75 (0.50 to 1.00)'
    """
    return f"{np.median(numbers):.2f} ({numbers.min():.2f} to {numbers.max():.2f})"


# ---- the command ---------------------------------------------------------------


def add_command(subparsers):
    """Add ``lab`` to the command line."""
    parser = subparsers.add_parser("lab", help="experiments and their stored results")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("list", help="all experiments and what is stored")
    verb.set_defaults(run=_list)
    verb = verbs.add_parser("run", help="run an experiment, or the rest of it")
    verb.add_argument("name")
    verb.add_argument("--quick", action="store_true", help="seconds; not for the store")
    verb.add_argument("--seeds", type=int, help="how many seeds (default: all of it)")
    verb.add_argument("--again", action="store_true", help="anew; replaces at the end")
    verb.add_argument("--out", type=Path, help="another store")
    verb.set_defaults(run=_run)
    verb = verbs.add_parser("table", help="a Markdown table of stored results")
    verb.add_argument("name", nargs="?", default="algorithms")
    verb.set_defaults(run=_table)


def _said(do: Callable[[argparse.Namespace], None]):
    """A verb whose ValueErrors are messages, not tracebacks."""

    def run(args: argparse.Namespace) -> int:
        try:
            do(args)
        except ValueError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("stopped; the same command goes on from here", file=sys.stderr)
            return 130
        return 0

    return run


@_said
def _list(args):
    for chosen in experiments().values():
        path = path_of(chosen)
        seeds = len({row["seed"] for row in load(path)[1]}) if path.exists() else 0
        print(
            f"{chosen.name:16} chapter {chosen.chapter:2}  {seeds}/{chosen.seeds} seeds"
            f"  {chosen.question['en']}"
        )


@_said
def _run(args):
    chosen = experiment(args.name)
    if args.seeds is not None and args.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {args.seeds}")
    store = args.out or (STORE / "quick" if args.quick else STORE)
    if args.quick and args.out is None:
        again = path_of(chosen, store).exists()
    else:
        again = args.again
    run_experiment(chosen, seeds=args.seeds, quick=args.quick, again=again, store=store)
    print(path_of(chosen, store))


@_said
def _table(args):
    chosen = experiment(args.name)
    if chosen.table is None:
        tables = ", ".join(e.name for e in experiments().values() if e.table)
        raise ValueError(f"{chosen.name} has no table; {tables} have")
    print(chosen.table(results(chosen.name)))
