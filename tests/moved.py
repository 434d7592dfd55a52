"""Read the pinned libraries again, and print what moved 钉住的库里什么变了.

    make moved                                   the versions that the book cites
    make moved VERSIONS="trl==1.17.0 verl==0.9.2"    others

    python tests/moved.py FOLDER                 wheels that lie there already

Three things are read in each wheel: the defaults in config.yml, the keys of the log in
keys.yml and, for TRL, the sentences of tests/test_libraries.py. Nothing is installed.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import config_wheels
import log_sources

from tokenbook.symptoms.config import data

TESTS = Path(__file__).parent
LIBRARIES = data()["libraries"]
MISSING = "(gone)"


def trl_defaults(text: str) -> dict[str, object]:
    """Every literal default of GRPOConfig, in the source of its file."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        words = {word.arg: word.value for word in getattr(node.value, "keywords", ())}
        try:
            found[node.target.id] = ast.literal_eval(words.get("default", node.value))
        except (TypeError, ValueError):
            continue
    return found


def defaults(library: str, folder: Path, text: str | None = None) -> dict:
    """What a library does when nothing is said, by the names of its own."""
    if library == "trl":
        from transformers import TrainingArguments

        (file,) = folder.rglob("trl/trainer/grpo_config.py")
        base = {x.name: x.default for x in fields(TrainingArguments)}
        return base | trl_defaults(file.read_text(encoding="utf-8"))
    return config_wheels.verl_defaults() if library == "verl" else config_wheels.flags()


def changed(library: str, theirs: dict) -> Iterator[str]:
    """A line for each default of config.yml that is another one now."""
    table = LIBRARIES[library]
    for name, short in table["at"].items():
        told, now = table["fields"][short], theirs.get(name, MISSING)
        if name == "reward_model.reward_manager":  # verl reads it, its default is None
            continue
        if now != told and not (now == MISSING and told is None):
            yield f"default of {name}: {told!r}, now {now!r}"


def sentences(folder: Path) -> list[str]:
    """The sentences on TRL that are not true of the sources in this folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "--tb=no"]
    command += ["-p", "no:cacheprovider", "--deselect"]
    file = "test_libraries.py"
    first = f"{file}::test_the_statements_are_about_the_version_that_is_installed"
    told = subprocess.run(
        [*command, first, file, "-rfE"],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [x for x in told.stdout.splitlines() if x.startswith(("FAILED", "ERROR"))]
    if told.returncode > 1 and not lines:
        return ["its sentences could not be read: " + told.stdout[-200:]]
    names = [x.split("::test_")[-1].split(" - ")[0] for x in lines]
    return ["no longer true: " + name.replace("_", " ") for name in names]


def moved(wheel: Path) -> Iterator[str]:
    """What moved in one wheel, a line each; the first says what was read."""
    library, version, *_ = wheel.name.lower().split("-")
    table = LIBRARIES[library]
    yield f"{library} {version} against {table['version']}: {len(table['at'])} defaults"
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        with zipfile.ZipFile(wheel) as files:
            files.extractall(folder)
        config_wheels.FOLDER, config_wheels.VERSIONS = wheel.parent, {library: version}
        yield from changed(library, defaults(library, folder))
        yield from log_sources.moved(library, folder)
        if library == "trl":
            yield from sentences(folder)


def main(folder: str):
    """Print what moved in every wheel of a folder, or that nothing did."""
    for wheel in sorted(Path(folder).glob("*.whl")):
        if wheel.name.lower().split("-")[0] in LIBRARIES:
            head, *lines = moved(wheel)
            print(head, *(lines or ["nothing moved"]), sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1])
