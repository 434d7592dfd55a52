"""Running experiments 跑实验: every variant with every seed, and nothing twice."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from pandas import DataFrame, concat
from tqdm.auto import tqdm

from tokenbook.lab.experiment import BARS, Experiment
from tokenbook.lab.stamping import changed
from tokenbook.lab.store import (
    STORE,
    lacking,
    load,
    path_of,
    said_in,
    save,
    where,
    words,
)
from tokenbook.lab.sweep import sweep


def run_experiment(
    chosen: Experiment,
    *,
    seeds: int | None = None,
    quick: bool = False,
    again: bool = False,
    jobs: int = 1,
    cluster: str | None = None,
    store: Path | str = STORE,
    stamp: Callable[[str], dict] | None = None,
    report: Callable[[str], None] = tqdm.write,
    progress: bool = True,
) -> DataFrame:
    """Run the runs that the store lacks: every variant with every seed.

    Interrupted, it loses the current runs at most. With `quick` a run takes seconds and
    nothing is stored in the lab's own store. It first prints the time of earlier runs;
    bars show the runs and the rounds of the current one. Only this process writes the
    store, and the rows equal those of a sequential run, except `seconds`.

    Args:
        chosen: the experiment.
        seeds: how many; None is all of it.
        quick: a short run of one seed, for a look.
        again: anew, what is stored stays until all is done.
        jobs: processes on this machine.
        cluster: the address of a Dask scheduler, whose workers run instead.
        store: the folder of the results.
        stamp: returns the stamp of today's code by the experiment's name; it is stored
            with the first rows. None: no stamp.
        report: called with a line per run.
        progress: whether bars are shown.

    Raises:
        ValueError: the experiment is finished, or its settings or its code have
            changed since (`again` starts it anew, and replaces the file when all is
            done), or another process is running it; see `sweep` for `jobs` and
            `cluster`.
    """
    seeds = seeds or (1 if quick else chosen.seeds)
    final = path_of(chosen, store)
    path = final.with_suffix(".again.csv") if again else final
    settings = json.loads(
        json.dumps(dict(chosen.settings) | {"quick": quick}, default=str)
    )
    rows, said, stored = DataFrame(), DataFrame(), {}
    if path.exists():
        stored, rows = load(path)
        if stored["settings"] != settings:
            raise ValueError(f"{path.name} has other settings; --again starts it anew")
        said = load(said_in(path))[1] if chosen.speaks else said
    left = lacking(chosen, rows, seeds)
    if not left and not again:
        raise ValueError(
            f"{chosen.name} is finished: {path.name} holds {seeds} seeds; "
            f"--again runs it anew, --seeds {seeds + 1} adds one"
        )
    if "stamp" in stored and (modules := changed(stored["stamp"])):
        raise ValueError(
            f"{path.name} was computed by other code of {', '.join(modules)}; "
            f"python -m tokenbook lab stamp {chosen.name} compares the numbers, "
            f"--again starts it anew"
        )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    report(f"{chosen.name}: {len(left)} runs, {expected(chosen, left, quick)}")
    bars = BARS.set(progress)
    plain = {"experiment": chosen.name, "settings": settings}
    plain["versions"] = versions() | {"jobs": "cluster" if cluster else jobs}
    if stamp and rows.empty:
        stored["stamp"] = stamp(chosen.name)
    head = plain | {k: v for k, v in stored.items() if k == "stamp"}
    owner = lock(path)

    def checkpoint(variant: dict, seed: int) -> Path:
        run = words(variant, seed)
        return path.with_name(f".{chosen.name}-{run}.pt".replace("/", "_")).absolute()

    todo = [(*run, quick, checkpoint(*run)) for run in left]
    try:
        ended = sweep(chosen.run, todo, jobs=jobs, cluster=cluster)
        for variant, seed, new, spent in tqdm(
            ended, total=len(left), desc=chosen.name, unit="run", disable=not progress
        ):
            if chosen.speaks:
                new, kept = new
                said = in_order(chosen, added(said, variant, seed, kept))
                save(said_in(path), plain, said)
            rows = in_order(chosen, added(rows, variant, seed, new))
            save(path, head, rows)
            checkpoint(variant, seed).unlink(missing_ok=True)
            report(f"{words(variant, seed)}: {line(new, spent)}")
    finally:
        owner.unlink()
        BARS.reset(bars)
        torch.set_num_threads(threads)
    if again:
        if chosen.speaks:
            os.replace(said_in(path), said_in(final))
        os.replace(path, final)
    return rows


def added(rows: DataFrame, variant: dict, seed: int, new: list[dict]) -> DataFrame:
    """The rows with those of one run; rows of a stopped run are replaced.

    Raises:
        ValueError: a new row that has another value where the variant has its own.
    """
    run = variant | {"seed": seed}
    if twice := {name for row in new for name in row if name in run}:
        raise ValueError(f"{sorted(twice)} are columns of the variant and of its rows")
    if not rows.empty:
        rows = rows.drop(where(rows, **run).index)
    return concat([rows, DataFrame([run | row for row in new])], ignore_index=True)


def in_order(chosen: Experiment, rows: DataFrame) -> DataFrame:
    """The rows as one run after the other gives them: by seed, then by variant."""
    names = list(chosen.variants[0])
    place = {tuple(v.values()): i for i, v in enumerate(chosen.variants)}
    variants = [
        place.get(run, len(place))
        for run in rows[names].itertuples(index=False, name=None)
    ]
    order = np.lexsort((variants, rows["seed"]))
    return rows.iloc[order].reset_index(drop=True)


def expected(chosen: Experiment, left: list[tuple[dict, int]], quick: bool) -> str:
    """Expected time of the runs as text, from the lab's own store."""
    if quick:
        return "seconds each"
    path = path_of(chosen)
    rows = load(path)[1] if path.exists() else DataFrame()
    if "seconds" not in rows:
        return "the bar will say how long after the first"
    took = rows.groupby([*chosen.variants[0], "seed"])["seconds"].max()
    minutes = took.mean() * len(left) / 60
    return f"about {minutes:.1f} CPU minutes (as the {len(took)} stored runs)"


def versions() -> dict:
    """Versions on which the numbers depend."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "threads": torch.get_num_threads(),
    }


def lock(path: Path) -> Path:
    """A lock on a results file; an error if another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    owned = path.with_name(f".{path.name}.lock")
    try:
        owner = int(owned.read_text())
        os.kill(owner, 0)
    except (FileNotFoundError, ValueError, ProcessLookupError):
        owned.write_text(str(os.getpid()))
        return owned
    raise ValueError(f"{path.name} is being written by process {owner}")


def line(rows: list[dict], spent: float) -> str:
    """The last row of a run as text, with its speed."""
    last = rows[-1]
    said = f"success {last['success']:.3f}, " if "success" in last else ""
    if last.get("tokens") and last.get("seconds"):
        said += f"{last['tokens'] / last['seconds']:.0f} tokens/s, "
        said += f"{last['seconds'] / last['step']:.3f} s/round, "
    return said + f"{spent:.1f} CPU s"
