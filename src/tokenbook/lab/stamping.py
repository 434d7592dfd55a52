"""Stamps of stored runs 结果的印记: the code that computed them, and its changes.

A stamp has two parts. `code` lists the parts of each module that an experiment's run
uses, with their hash from `tokenbook.languages.stamps`: docstrings, comments, new
functions and the experiment's claims and texts do not change it. `quick` has the means
of the columns of its quick run: code that was only rewritten computes the same ones.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from pandas import DataFrame

from tokenbook.lab.experiment import Experiment, experiment
from tokenbook.lab.store import STORE, load, path_of, rewrite
from tokenbook.languages import stamps

CLOSE = 1e-3  # relative: above the effect of another CPU, below that of other code
BESIDE = ("tokenbook.lab.experiment", __name__)  # used here, not by the run


def stamp_of(name: str) -> dict:
    """Return the stamp of an experiment by today's code, in a process of its own.

    Raises:
        ValueError: the quick run fails.
    """
    call = f"from {__name__} import tell; tell({name!r})"
    command = [sys.executable, "-W", "ignore", "-c", call]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"{name}: its quick run fails:\n{done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def changed(stamp: dict) -> list[str]:
    """Return the modules and files that differ from a stamp, in order."""
    code = {module: parts(said) for module, said in sorted(stamp["code"].items())}
    return [m for m, (said, *names) in code.items() if said != stamps.stands(m, names)]


def parts(written: str) -> list[str]:
    """Return the hash and the names of a module's line; a table's key may have spaces.

    >>> parts("25af42 ARMS[CISPO, no minus] fit")
    ['25af42', 'ARMS[CISPO, no minus]', 'fit']
    """
    return re.findall(r"[^\s\[]*\[[^\]]*\]\S*|\S+", written)


def other_numbers(old: dict, new: dict) -> list[str]:
    """Return the differences of two quick runs as text; [] if they agree.

    >>> other_numbers({"quick": {"reward": 0.5, "kl": 0.1}}, {"quick": {"reward": 0.5}})
    ['kl was 0.1 and is missing']
    >>> other_numbers({"quick": {"kl": 0.1}}, {"quick": {"kl": 0.1002, "new": 1.0}})
    ['kl was 0.1 and is 0.1002']
    """
    words = []
    for column, was in old["quick"].items():
        now = new["quick"].get(column)
        if now is None:
            words.append(f"{column} was {was:g} and is missing")
        elif abs(now - was) > CLOSE * max(abs(now), abs(was)) + 1e-6:
            words.append(f"{column} was {was:g} and is {now:g}")
    return words


def restamp(name: str, store: Path | str = STORE) -> list[str]:
    """Stamp stored results anew, if today's code computes the same numbers.

    Args:
        name: of the experiment.
        store: the folder of its results.

    Returns:
        The modules that had changed; none: nothing was to be done.

    Raises:
        ValueError: the quick run gives other numbers than the stamp.
    """
    path = path_of(experiment(name), store)
    head, _ = load(path)
    old = head.get("stamp")
    if old and not changed(old):
        return []
    new = stamp_of(name)
    if old and (words := other_numbers(old, new)):
        raise ValueError(
            f"{name}: today's code computes other numbers: {'; '.join(words)}; run: "
            f"python -m tokenbook lab run {name} --again"
        )
    rewrite(path, head | {"stamp": new})
    return changed(old) if old else ["all of them: there was no stamp"]


def quick_means(chosen: Experiment, folder: Path) -> dict[str, float]:
    """Return the mean of each column over the quick runs of all variants."""
    rows = []
    for k, variant in enumerate(chosen.variants):
        new = chosen.run(variant, 0, True, folder / f"{k}.pt")
        rows += new[0] if chosen.speaks else new
    table = DataFrame(rows).select_dtypes(["number", "bool"])
    means = table.astype(float).mean().dropna().to_dict()
    means.pop("seconds", None)
    return {column: float(f"{mean:.6g}") for column, mean in means.items()}


def tell(name: str) -> None:
    """Print the stamp of an experiment; the packages are under watch from here on."""
    torch.set_num_threads(1)
    chosen = experiment(name)  # imports all of them, before the watch begins
    stamps.WATCH.start("tokencredit")
    with tempfile.TemporaryDirectory() as folder:
        quick = quick_means(chosen, Path(folder))
    code = {
        module: " ".join([stamps.stands(module, names), *names])
        for module, names in sorted(json.loads(stamps.WATCH.stop()).items())
        if module not in BESIDE and not module.startswith("__")
    }
    print(json.dumps({"code": code, "quick": quick}))
