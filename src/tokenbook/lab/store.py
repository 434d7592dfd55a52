"""The store 实验结果的存放处: one CSV file per experiment, readable and diffable.

The first line has the versions, the settings and the stamp of the code, the last the
number of rows, both after "#"; every other line is one row of numbers, "nan" where a
run has none. Responses that an experiment kept stand in a second file, written the same
way.
"""

from __future__ import annotations

import json
import os
from io import StringIO
from pathlib import Path

import pandas
from pandas import DataFrame, Series

from tokenbook.lab.experiment import Experiment, experiment, experiments

STORE = Path(__file__).parent / "results"
TEXTS = ("prompt", "response")  # columns that are always text


def results(name: str, *, store: Path | str = STORE) -> DataFrame:
    """The stored rows of an experiment 实验结果, all of them.

    Raises:
        ValueError: an unknown experiment, nothing stored yet, runs that are missing, a
            file that is cut short or was edited.
    """
    chosen = experiment(name)
    rows = load(path_of(chosen, store))[1]
    if left := lacking(chosen, rows, chosen.seeds):
        raise ValueError(
            f"{name}: {len(left)} of {len(chosen.variants) * chosen.seeds} runs are "
            f"missing, {words(*left[0])} first; "
            f"run: python -m tokenbook lab run {name}"
        )
    return rows


def responses(name: str, *, store: Path | str = STORE) -> DataFrame:
    """The sampled responses that an experiment kept 留下的回答.

    Columns: those of the variants, seed, step (rounds of training before it was
    sampled), prompt, response, right.

    Raises:
        ValueError: an experiment that keeps none; see `results`.

    >>> said = where(responses("algorithms"), algorithm="GRPO", seed=0, step=40)
    >>> said.prompt.iloc[0]
    '9□5□7=11?'
    """
    chosen = experiment(name)
    if not chosen.speaks:
        known = ", ".join(e.name for e in experiments().values() if e.speaks)
        raise ValueError(f"{name} keeps no responses; {known} do")
    results(name, store=store)
    return load(said_in(path_of(chosen, store)))[1]


def path_of(chosen: Experiment, store: Path | str = STORE) -> Path:
    """The file of an experiment in a store."""
    return Path(store) / f"{chosen.name}.csv"


def said_in(path: Path) -> Path:
    """The file of the responses beside a results file."""
    return path.with_suffix(".responses.csv")


def load(path: Path) -> tuple[dict, DataFrame]:
    """Head and rows of a results file; see `results`."""
    if not path.exists():
        raise ValueError(
            f"{path.name}: nothing stored yet; run: "
            f"python -m tokenbook lab run {path.stem}"
        )
    text = path.read_text(encoding="utf-8")
    head, *body, foot = *text.splitlines(), *[""] * 2 * (text.count("\n") < 2)
    if not foot.startswith("# rows ") or not text.endswith("\n"):
        raise ValueError(
            f"{path.name} is cut short: its last line does not say how many rows; "
            f"restore it, or remove it and run it"
        )
    try:
        table = pandas.read_csv(StringIO("\n".join(body)), dtype=str, na_filter=False)
        rows = table.apply(lambda x: x if x.name in TEXTS else typed(x))
    except pandas.errors.ParserError as error:
        raise ValueError(f"{path.name} is not a table: {error}") from None
    if len(rows) != int(foot.split()[2]):
        raise ValueError(f"{path.name} has {len(rows)} rows and should have {foot[7:]}")
    return json.loads(head.removeprefix("#")), rows


def typed(column: Series) -> Series:
    """A column of words as numbers; where some are none, cell by cell.

    >>> typed(Series(["0.5", "bare", "True"])).tolist()
    [0.5, 'bare', True]
    """
    try:
        return pandas.to_numeric(column)
    except ValueError:
        return column.map(cell)


def cell(word: str):
    """A word as an int, float or bool if it is one."""
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return {"True": True, "False": False}.get(word, word)


def save(path: Path, head: dict, rows: DataFrame):
    """Write a results file, whole or not at all."""
    table = rows.to_csv(
        index=False, float_format="%.4g", na_rep="nan", lineterminator="\n"
    )
    write(path, head, f"{table}# rows {len(rows)}\n")


def rewrite(path: Path, head: dict):
    """Replace the head of a results file; its rows stay byte for byte."""
    write(path, head, path.read_text(encoding="utf-8").partition("\n")[2])


def write(path: Path, head: dict, below: str):
    first = json.dumps(head, ensure_ascii=False, sort_keys=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(f"# {first}\n{below}", encoding="utf-8")
    os.replace(new, path)


def lacking(chosen: Experiment, rows: DataFrame, seeds: int) -> list[tuple[dict, int]]:
    """The runs (variant, seed) that these rows do not have."""
    names = [*chosen.variants[0], "seed"]
    there = () if rows.empty else rows[names].itertuples(index=False, name=None)
    known = set(there)
    return [
        (variant, seed)
        for seed in range(seeds)
        for variant in chosen.variants
        if (*map(variant.get, names[:-1]), seed) not in known
    ]


def words(variant: dict, seed: int) -> str:
    """A run as text.

    >>> words({"lam": 0.5}, 3)
    'lam=0.5 seed=3'
    """
    return " ".join(f"{k}={v}" for k, v in (variant | {"seed": seed}).items())


def where(rows: DataFrame, **values) -> DataFrame:
    """The rows with these values.

    >>> where(DataFrame({"lam": [0.5, 1.0], "seed": [0, 0]}), lam=1).to_dict("records")
    [{'lam': 1.0, 'seed': 0}]
    """
    for column, value in values.items():
        rows = rows[rows[column] == value]
    return rows
