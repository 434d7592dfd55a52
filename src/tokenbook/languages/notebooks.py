"""Keep the chapters' stored outputs in step with their code.

    python -m tokenbook.languages.notebooks run [NOTEBOOK ...]    execute and stamp
    python -m tokenbook.languages.notebooks run --stale           where it is needed
    python -m tokenbook.languages.notebooks check [NOTEBOOK ...]  what is out of step
    python -m tokenbook.languages.notebooks new 07_kl             a chapter anew

Without a name, ``run`` and ``check`` take every chapter. ``run`` starts a fresh kernel
and leaves nothing of the machine in the file, so that a second run gives no diff. Its
stamp holds one hash per code cell and one per module of the packages, of the parts that
the cells used (``stamps.py``); ``check`` compares them without running a cell.
"""

import argparse
import ast
import json
import re
import sys
import warnings
from pathlib import Path

import nbformat
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tokenbook.languages import marks, pages, stamps

ROOT = stamps.SRC.parent
# Loaded before the cells run: their tables count by the entry.
PACKAGES = ("tokencredit", "tokenbook.explorer", "tokenbook.languages.glossary")
CHAPTERS = ROOT / "chapters"
TEMPLATE = ROOT / "book" / "template.ipynb"
APPENDIX = ROOT / "book" / "sorting.ipynb"
OUTPUT_LIMIT = 400_000  # bytes of stored outputs in one notebook
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
CELL_METADATA = {
    "figure",
    "holds",
    "jupyter",
    "mystnb",
    "nbgrader",
    "predict",
    "tags",
}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
MACHINE = {
    "a memory address": re.compile(r"\b0x[0-9a-fA-F]{6,}\b"),
    "a local path": re.compile(
        rf"{re.escape(str(ROOT))}|/(?:home|Users|root|tmp)/\w|\b[A-Z]:\\\\?\w"
    ),
}
NAME = re.compile(
    r"[^\s\[]+(?:\[[^\]]*\])?"
)  # names of used parts: f, Class.f, TABLE[a key]


def code_cells(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def cell_hashes(notebook) -> list[str]:
    """Each code cell's id and a hash of its code without comments, in order."""
    trees = {cell.id: stamps.plain(cell.source) for cell in code_cells(notebook)}
    codes = [
        ast.unparse(trees[c.id] or ast.Constant(c.source)) for c in code_cells(notebook)
    ]
    return [
        f"{name} {stamps.digest(code)}" for name, code in zip(trees, codes, strict=True)
    ]


def use_hashes(used: dict[str, list[str]]) -> dict[str, str]:
    """By module the names of the parts that the cells used, and their hash."""
    return {
        module: " ".join([stamps.stands(module, names), *names])
        for module, names in used.items()
    }


def merge_streams(outputs: list) -> list:
    """Join the pieces of an output stream."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else {}
        if output.output_type == "stream" and last.get("name") == output.name:
            last["text"] += output.text
        else:
            merged.append(output)
    return merged


def normalise(notebook) -> None:
    """Drop the traces of one machine, one run or one editor."""
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    kept = notebook.metadata.get("stamp")
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    if kept:
        notebook.metadata["stamp"] = kept
    for number, cell in enumerate(notebook.cells, 1):
        cell.setdefault("id", f"cell-{number:02d}")
        cell.source = cell.source.rstrip()
        for key in set(cell.metadata) - CELL_METADATA:
            del cell.metadata[key]
    for count, cell in enumerate(code_cells(notebook), 1):
        cell.execution_count = count
        cell.outputs = merge_streams(cell.outputs)
        for output in cell.outputs:
            output.get("data", {}).pop(WIDGET_VIEW, None)
            if output.output_type == "execute_result":
                output.execution_count = count


def run(path: Path) -> list[str]:
    """Execute one notebook in a fresh kernel and store it; return its problems."""
    notebook = nbformat.read(path, as_version=4)
    watch = "__import__('tokenbook.languages.stamps').languages.stamps.WATCH"
    first = nbformat.v4.new_code_cell(f"{watch}.start(*{PACKAGES})")
    last = nbformat.v4.new_code_cell(f"print({watch}.stop())")
    notebook.cells = [first, *notebook.cells, last]
    client = NotebookClient(
        notebook,
        timeout=600,
        record_timing=False,
        store_widget_state=False,
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return [f"{path.name}: not stored, a cell raised\n{error}"]
    used = json.loads(notebook.cells[-1].outputs[0].text)
    notebook.cells = notebook.cells[1:-1]
    normalise(notebook)
    notebook.metadata["stamp"] = {
        "cells": cell_hashes(notebook),
        "uses": use_hashes(used),
    }
    text = nbformat.writes(notebook) + "\n"
    if text != path.read_text(encoding="utf-8"):
        path.write_text(text, encoding="utf-8", newline="\n")
    return check(path)


def output_text(output) -> str:
    """The text of an output, as shown and as nbval compares it."""
    if output.output_type == "stream":
        return output.text
    data = output.get("data", {})
    return "\n".join(
        text if isinstance(text, str) else str(text)
        for mime, text in data.items()
        if mime.startswith("text/") or mime == "image/svg+xml"
    )


def output_problems(cell) -> list[str]:
    """Faults of one cell's stored outputs."""
    problems = []
    for output in cell.outputs:
        if output.output_type == "error":
            problems.append(f"shows an error ({output.ename})")
        if output.get("name") == "stderr":
            problems.append("writes to stderr; a chapter shows no warning")
        if {WIDGET_VIEW, WIDGET_STATE} & set(output.get("data", {})):
            problems.append("stores a widget")
        problems += [
            f"shows {what} ({found.group()!r})"
            for what, pattern in MACHINE.items()
            if (found := pattern.search(output_text(output)))
        ]
    return problems


def stamp_problems(notebook) -> list[str]:
    """Places where the stored outputs are older than the code."""
    stored = notebook.metadata.get("stamp", {})
    if "uses" not in stored:
        return ["was never run by this tool"]
    before, after = (
        dict(cell.split(" ") for cell in cells)
        for cells in (stored["cells"], cell_hashes(notebook))
    )
    changed = [
        f"cell {cell.id!r} changed after its output was stored"
        for cell in code_cells(notebook)
        if before.get(cell.id) != after[cell.id]
    ]
    changed += [
        f"a code cell ({name!r}) was removed after the outputs were stored"
        for name in before.keys() - after.keys()
    ]
    if not changed and list(before) != list(after):
        changed.append("code cells were reordered after the outputs were stored")
    used = stored["uses"]
    now = use_hashes({module: NAME.findall(used[module])[1:] for module in used})
    old = [module for module in used if now[module] != used[module]]
    if old:
        changed.append(f"{', '.join(old)} changed after the outputs were stored")
    return changed


def place_problems(path: Path) -> list[str]:
    """Gaps of a chapter in the table of contents or on the map."""
    if path.parent != CHAPTERS:
        return []
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    plan = yaml.safe_load((ROOT / "book" / "course.yml").read_text(encoding="utf-8"))
    problems = []
    if f"file: chapters/{path.stem}\n" not in toc:
        problems.append(
            f"is on no page: add to _toc.yml:  - file: chapters/{path.stem}"
        )
    if pages.chapter_number(path.stem) not in [row["number"] for row in plan]:
        problems.append(
            "is not on the map of the course: add to book/course.yml its row"
        )
    return problems


def check(path: Path) -> list[str]:
    """All problems of one notebook, each with its place."""
    where = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    command = f"run: python -m tokenbook.languages.notebooks run {where}"
    text = path.read_text(encoding="utf-8")
    try:
        identifiers = [cell.get("id") for cell in json.loads(text)["cells"]]
        with warnings.catch_warnings(action="ignore"):  # it repairs ids that repeat
            notebook = nbformat.reads(text, as_version=4)
    except Exception as error:
        return [f"{where}: not a notebook ({error})"]
    problems = [f"{problem}; {command}" for problem in stamp_problems(notebook)]
    problems += place_problems(path)
    problems += marks.problems(notebook)
    problems += [
        f"two cells have the id {name!r}; give one another id"
        for name in sorted({i for i in identifiers if identifiers.count(i) > 1})
    ]
    missing = []
    for count, cell in enumerate(code_cells(notebook), 1):
        place = f"cell {cell.id!r} (code cell {count})"
        if cell.execution_count != count:
            missing.append(f"{place} has execution count {cell.execution_count}")
        problems += [f"{place} {what}" for what in output_problems(cell)]
    if missing:
        problems.append(
            f"{missing[0]}; {len(missing)} code cells have none of a run from the top, "
            f"so nbval would compare nothing; {command}"
        )
    size = sum(len(str(cell.outputs).encode()) for cell in code_cells(notebook))
    if size > OUTPUT_LIMIT:
        problems.append(f"stores {size} bytes of outputs, more than {OUTPUT_LIMIT}")
    if not problems:
        normalise(notebook)
        if nbformat.writes(notebook) + "\n" != text:
            problems.append(f"is not in normal form; {command}")
    return [f"{where}: {problem}" for problem in problems]


def new(name: str, folder: Path = CHAPTERS) -> list[str]:
    """Make a chapter from the template; return its problems."""
    if not re.fullmatch(r"\d\d_[a-z][a-z0-9_]*", name):
        return [f"{name!r}: a chapter is named like 07_kl"]
    path = folder / f"{name}.ipynb"
    if list(folder.glob(f"{name[:2]}_*.ipynb")):
        return [f"{path.name}: there is a chapter {name[:2]} already"]
    path.write_text(TEMPLATE.read_text(encoding="utf-8"), encoding="utf-8")
    print("\n".join([f"made {path.name}; it", *place_problems(path)]))
    return []


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["run", "check", "new"])
    parser.add_argument("names", nargs="*", metavar="NOTEBOOK")
    parser.add_argument("--stale", action="store_true", help="run what is out of step")
    args = parser.parse_intermixed_args(argv)
    if args.action == "new":
        if len(args.names) != 1:
            parser.error("new takes one name, like 07_kl")
        problems = new(args.names[0])
    else:
        paths = [Path(name).resolve() for name in args.names]
        paths = paths or [*sorted(CHAPTERS.glob("*.ipynb")), APPENDIX, TEMPLATE]
        if args.stale:
            paths = [path for path in paths if check(path)]
            print(f"{len(paths)} to run: {', '.join(path.stem for path in paths)}")
        action = run if args.action == "run" else check
        problems = [problem for path in paths for problem in action(path)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
