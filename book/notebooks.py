"""Keep the chapters' stored outputs in step with their code.

    python book/notebooks.py run [NOTEBOOK ...]     execute, normalise, stamp
    python book/notebooks.py check [NOTEBOOK ...]   say what is out of step
    python book/notebooks.py new 07_kl              a chapter from the template

Without a name, ``run`` and ``check`` take every chapter. ``run`` starts a fresh
kernel and leaves nothing of the machine in the file, so that a second run gives no
diff. Its stamp holds one hash per code cell and one per file of the package that
the chapter reaches; ``check`` compares them without executing anything.
"""

import argparse
import ast
import hashlib
import json
import re
import sys
import warnings
from functools import cache
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ROOT / "chapters"
PACKAGE = ROOT / "src" / "tokencredit"
TEMPLATE = ROOT / "book" / "template.ipynb"
OUTPUT_LIMIT = 400_000  # bytes of stored outputs in one notebook
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
CELL_METADATA = {"figure", "jupyter", "mystnb", "nbgrader", "tags"}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
MACHINE = {
    "a memory address": re.compile(r"\b0x[0-9a-fA-F]{6,}\b"),
    "a local path": re.compile(
        rf"{re.escape(str(ROOT))}|/(?:home|Users|root|tmp)/\w|\b[A-Z]:\\\\?\w"
    ),
}


def digest(text: str) -> str:
    """A short hash."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def tree(source: str) -> ast.Module | None:
    """The syntax tree without docstrings, or None where a cell is not plain Python."""
    try:
        module = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(module):
        documented = isinstance(
            node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        )
        if documented and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return module


def imports(module: ast.Module, package: str = "") -> dict[str, tuple[str, str]]:
    """Local names of the package's parts: each with its module and its name there."""
    found = {}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom):
            home = node.module or ""
            if node.level:
                above = package.rsplit(".", node.level - 1)[0] if package else ""
                home = f"{above}.{home}".rstrip(".")
            if home.partition(".")[0] == PACKAGE.name:
                found |= {a.asname or a.name: (home, a.name) for a in node.names}
        elif isinstance(node, ast.Import):
            for a in node.names:
                if a.name.partition(".")[0] == PACKAGE.name:
                    found[a.asname or PACKAGE.name] = (a.name if a.asname else "", "")
    return found


def parts(node: ast.AST, known: dict[str, tuple[str, str]], home: str) -> set:
    """What a piece of code uses, as pairs of module and name: its own and imported."""
    found = {(home, part.id) for part in ast.walk(node) if isinstance(part, ast.Name)}
    found |= {known[name] for _, name in found if name in known}
    for part in ast.walk(node):
        names = []
        while isinstance(part, ast.Attribute):
            names, part = [part.attr, *names], part.value
        if names and isinstance(part, ast.Name) and part.id in known:
            place = ".".join(filter(None, known[part.id])) or part.id
            for name in names:
                found.add((place, name))
                place = f"{place}.{name}"
    return found


def definitions(module: ast.Module) -> list[tuple[set[str], ast.stmt]]:
    """Top-level statements with the names that each defines."""
    listed = []
    for node in module.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names = {node.name}
        else:
            stored = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
            names = {n.id for n in stored if isinstance(n.ctx, ast.Store)}
        listed.append((names, node))
    return listed


@cache
def sources(package: Path) -> dict[str, tuple[str, list, dict]]:
    """The package's modules: file, definitions, names imported from the package."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        inner = path.relative_to(package).with_suffix("").parts
        home = ".".join((package.name, *inner)).removesuffix(".__init__")
        above = home if path.name == "__init__.py" else home.rpartition(".")[0]
        module = tree(path.read_text(encoding="utf-8"))
        file = path.relative_to(package).as_posix()
        found[home] = file, definitions(module), imports(module, above)
    return found


def package_hashes(cells: list[ast.Module], package: Path = PACKAGE) -> dict[str, str]:
    """Hash the definitions that the cells reach in the package, one hash per file.

    A one-word string reaches the figure, or the stored results, of that name. So a
    new module, another chapter's figure or a docstring leaves a stamp alone.
    """
    modules = sources(package)
    local = {name: place for cell in cells for name, place in imports(cell).items()}
    wanted = {place for cell in cells for place in parts(cell, local, "")}
    wanted |= set(local.values())
    strings = {
        node.value
        for cell in cells
        for node in ast.walk(cell)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    figures = {f"{package.name}.figures.{name}" for name in strings}
    wanted |= {(home, "EXPLORER") for home in figures & modules.keys()}
    seen, reached = set(), {}
    while wanted:
        home, name = place = wanted.pop()
        if place in seen or home not in modules:
            continue
        seen.add(place)
        _, nodes, known = modules[home]
        if name in known:
            wanted.add(known[name])
        for index, (names, node) in enumerate(nodes):
            if name in names or (not names and home in reached):
                reached.setdefault(home, set()).add(index)
                wanted |= parts(node, known, home)
    hashes = {}
    for home, found in reached.items():
        file, nodes, _ = modules[home]
        hashes[file] = digest("".join(ast.dump(nodes[i][1]) for i in sorted(found)))
    for path in sorted((package / "results").glob("*")):
        if path.is_file() and path.stem in strings and path.suffix != ".py":
            name = path.relative_to(package).as_posix()
            hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return dict(sorted(hashes.items()))


def code_cells(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def stamp(notebook, package: Path = PACKAGE) -> dict[str, list | dict[str, str]]:
    """What the stored outputs depend on: each code cell and the package it reaches."""
    trees = {cell.id: tree(cell.source) for cell in code_cells(notebook)}
    known = [module for module in trees.values() if module]
    cells = {
        cell.id: digest(ast.dump(trees[cell.id]) if trees[cell.id] else cell.source)
        for cell in code_cells(notebook)
    }
    # pairs, because nbformat sorts the keys of what it writes
    return {
        "cells": [[name, value] for name, value in cells.items()],
        "package": package_hashes(known, package),
    }


def merge_streams(outputs: list) -> list:
    """Join the pieces in which a stream happened to arrive."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else {}
        if output.output_type == "stream" and last.get("name") == output.name:
            last["text"] += output.text
        else:
            merged.append(output)
    return merged


def normalise(notebook) -> None:
    """Drop everything that belongs to one machine, one run or one editor."""
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
    """Execute one notebook in a fresh kernel and store it; returns what is wrong."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=120,
        record_timing=False,
        store_widget_state=False,
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return [f"{path.name}: not stored, a cell raised\n{error}"]
    normalise(notebook)
    notebook.metadata["stamp"] = stamp(notebook)
    text = nbformat.writes(notebook) + "\n"
    if text != path.read_text(encoding="utf-8"):
        path.write_text(text, encoding="utf-8", newline="\n")
    return check(path)


def output_text(output) -> str:
    """The text of an output: what a reader sees and what nbval compares."""
    if output.output_type == "stream":
        return output.text
    data = output.get("data", {})
    return "\n".join(
        text if isinstance(text, str) else str(text)
        for mime, text in data.items()
        if mime.startswith("text/") or mime == "image/svg+xml"
    )


def output_problems(cell) -> list[str]:
    """What must not be stored in one cell's outputs."""
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


def stamp_problems(notebook, package: Path = PACKAGE) -> list[str]:
    """Where the stored outputs are older than the code."""
    stored = notebook.metadata.get("stamp")
    if not stored:
        return ["was never run by this tool"]
    now = stamp(notebook, package)
    before, after = dict(stored["cells"]), dict(now["cells"])
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
    names = sorted(stored["package"].keys() | now["package"].keys())
    old = [n for n in names if stored["package"].get(n) != now["package"].get(n)]
    if old:
        which = ", ".join(f"src/tokencredit/{name}" for name in old)
        changed.append(f"{which} changed after the outputs were stored")
    return changed


def check(path: Path, package: Path = PACKAGE) -> list[str]:
    """Everything that is out of step in one notebook, each with its place."""
    where = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    command = f"run: python book/notebooks.py run {where}"
    text = path.read_text(encoding="utf-8")
    try:
        identifiers = [cell.get("id") for cell in json.loads(text)["cells"]]
        with warnings.catch_warnings(action="ignore"):  # it repairs ids that repeat
            notebook = nbformat.reads(text, as_version=4)
    except Exception as error:
        return [f"{where}: not a notebook ({error})"]
    problems = [
        f"{problem}; {command}" for problem in stamp_problems(notebook, package)
    ]
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
    """Make a chapter from the template; returns what is wrong."""
    if not re.fullmatch(r"\d\d_[a-z][a-z0-9_]*", name):
        return [f"{name!r}: a chapter is named like 07_kl"]
    path = folder / f"{name}.ipynb"
    if list(folder.glob(f"{name[:2]}_*.ipynb")):
        return [f"{path.name}: there is a chapter {name[:2]} already"]
    path.write_text(TEMPLATE.read_text(encoding="utf-8"), encoding="utf-8")
    print(f"made {path.name}; add to _toc.yml:  - file: chapters/{name}")
    return check(path)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["run", "check", "new"])
    parser.add_argument("names", nargs="*", metavar="NOTEBOOK")
    args = parser.parse_args(argv)
    if args.action == "new":
        if len(args.names) != 1:
            parser.error("new takes one name, like 07_kl")
        problems = new(args.names[0])
    else:
        paths = [Path(name).resolve() for name in args.names]
        paths = paths or [*sorted(CHAPTERS.glob("*.ipynb")), TEMPLATE]
        action = run if args.action == "run" else check
        problems = [problem for path in paths for problem in action(path)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
