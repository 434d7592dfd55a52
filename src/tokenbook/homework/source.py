"""Read a chapter's homework and write the student's notebook from it.

The chapter is the only source: its exercises, their checks and their points. Cells
are told apart by nbgrader's metadata (schema 3) and regions by nbgrader's markers.
A short text in both languages is written once, as ``中文 | English``.
"""

import ast
import copy
import re
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from tokenbook.homework.words import WORDS
from tokenbook.languages.code_cells import in_language, tree
from tokenbook.languages.pages import (
    HIDDEN,
    MARKERS,
    NotebookError,
    as_dict,
    chapter_number,
    is_held_back,
    language_of,
    read_notebook,
)

PACKAGES = ("tokencredit", "tokenbook")  # no student needs them to answer
EXERCISE_LINE = re.compile(r"^#\s*exercise:\s*([\w-]+)(?:\s+points=([\d.]+))?", re.M)
SOLUTION = re.compile(
    r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION *\n?", re.M | re.S
)


@dataclass
class Check:
    """One graded cell of the source."""

    id: str
    source: str
    points: float
    hidden: bool


@dataclass
class Exercise:
    """One answer with its checks."""

    id: str
    solution: str
    checks: list[Check] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Names that the answer must define."""
        return defined(self.solution)

    @property
    def points(self) -> float:
        return sum(check.points for check in self.checks)


@dataclass
class Homework:
    """A chapter's exercises in order and the setup that they share."""

    name: str
    setup: list[str]
    exercises: list[Exercise]

    @property
    def names(self) -> list[str]:
        """All names that answers must define."""
        return [name for exercise in self.exercises for name in exercise.names]

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)


def grader(cell: dict) -> dict:
    """A cell's nbgrader metadata, empty for any other cell."""
    return as_dict(cell["metadata"].get("nbgrader"))


def is_setup(cell: dict) -> bool:
    meta = grader(cell)
    return bool(meta.get("locked")) and not (meta.get("grade") or meta.get("solution"))


def has_homework(path: Path) -> bool:
    """Whether a notebook has an exercise."""
    return any(grader(cell).get("solution") for cell in read_notebook(path)["cells"])


def defined(source: str) -> list[str]:
    """The functions and values that a cell defines at its top level."""
    body = getattr(tree(source), "body", [])
    return [name for node in body for name in defined_by(node)]


def defined_by(node: ast.AST) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        walked = [part for target in targets for part in ast.walk(target)]
        return [part.id for part in walked if isinstance(part, ast.Name)]
    return []


def used_names(*nodes: ast.AST) -> set[str]:
    """The names that occur in some code."""
    walked = (part for node in nodes for part in ast.walk(node))
    return {part.id for part in walked if isinstance(part, ast.Name)}


def lean(setups: list[str], users: list[str], asked: list[str]) -> list[str]:
    """Setup cells without unused parts of the package, and without the asked names.

    Values made with removed parts are removed too: ``GRPO = tc.ALGORITHMS["GRPO"]``.

    >>> lean(["import math\\nimport tokencredit as tc\\nGRPO = tc.x"], ["math.pi"], [])
    ['import math']
    """
    trees = [tree(source) for source in setups]
    if None in trees:
        return setups
    needed = used_names(*filter(None, map(tree, users))) - set(asked)
    kept = {node: None for module in trees for node in module.body}
    package: set[str] = set()  # names of parts of it
    for node in kept:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            root = getattr(node, "module", None) or node.names[0].name
            if root.partition(".")[0] in PACKAGES:
                package |= {alias.asname or alias.name for alias in node.names}
                kept[node] = list(node.names)
        elif own := defined_by(node):
            package |= set(own) if used_names(node) & package else set()
    while True:
        others = {node: used_names(node) for node in kept if defined_by(node)}
        plain = [n for n in kept if n not in others and kept[n] is None]
        gone = []
        for node in kept:
            rest = (names for other, names in others.items() if other is not node)
            used = needed.union(used_names(*plain), *rest)
            if kept[node] is not None:
                kept[node] = [a for a in kept[node] if (a.asname or a.name) in used]
                gone += [] if kept[node] else [node]
            elif (own := defined_by(node)) and used_names(node) & package:
                gone += [] if used & set(own) else [node]
        if not gone:
            break
        for node in gone:
            del kept[node]
    return [
        without(source, module, kept)
        for source, module in zip(setups, trees, strict=True)
    ]


def without(source: str, module: ast.Module, kept: dict) -> str:
    """A cell's source without the statements that are not kept."""
    lines = source.splitlines()
    for node in reversed(module.body):
        span = slice(node.lineno - 1, node.end_lineno)
        if node not in kept:
            lines[span] = []
        elif kept[node] is not None and kept[node] != node.names:
            part = copy.copy(node)
            part.names = kept[node]
            lines[span] = [ast.unparse(part)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def find_chapter(name: str) -> Path:
    """A notebook's path, or the chapter of that number."""
    path = Path(name)
    if path.suffix == ".ipynb":
        if path.is_file():
            return path.resolve()
        raise NotebookError(f"no notebook {name}")
    homes = [Path.cwd(), *Path.cwd().parents, *Path(__file__).resolve().parents]
    number = f"{int(name):02d}" if name.isdecimal() else None
    for home in homes:
        for chapter in sorted((home / "chapters").glob("[0-9][0-9]_*.ipynb")):
            if chapter.stem == name or chapter.stem[:2] == number:
                return chapter.resolve()
    raise NotebookError(f"no chapter {name} in a folder chapters/ here or above")


def read_homework(path: Path) -> Homework:
    """A chapter's homework; NotebookError where it cannot be graded."""
    cells = read_notebook(path)["cells"]
    homework = Homework(path.stem, [], [])
    for cell in cells:
        meta = grader(cell)
        if meta.get("solution"):
            solution = MARKERS.sub("", cell["source"])
            homework.exercises.append(Exercise(str(meta["grade_id"]), solution))
        elif is_setup(cell):
            homework.setup.append(cell["source"])
    if not homework.exercises:
        raise NotebookError(f"{path.name} has no exercise (nbgrader solution cell)")
    add_checks(homework, cells, path)
    users = [check.source for e in homework.exercises for check in e.checks]
    homework.setup = [*filter(None, lean(homework.setup, users, homework.names))]
    for exercise in homework.exercises:
        if not exercise.names or not exercise.checks:
            lacks = "check" if exercise.names else "name that its answer defines"
            raise NotebookError(f"{path.name}: exercise {exercise.id} has no {lacks}")
    return homework


def add_checks(homework: Homework, cells: list[dict], path: Path) -> None:
    """Give each check cell to the exercise whose id begins its own."""
    for cell in cells:
        meta, line = grader(cell), EXERCISE_LINE.match(cell["source"])
        if meta.get("grade") and not meta.get("solution"):
            name, points = str(meta.get("grade_id")), meta.get("points", 0)
        elif line and line[2] and not meta:
            name, points = f"{line[1]}-private", float(line[2])
        else:
            continue
        owners = [e for e in homework.exercises if f"{name}-".startswith(f"{e.id}-")]
        if not owners:
            raise NotebookError(f"{path.name}: check {name!r} belongs to no exercise")
        owner = max(owners, key=lambda exercise: len(exercise.id))
        hidden = HIDDEN.search(cell["source"]) is not None or not meta
        source = MARKERS.sub("", cell["source"])
        owner.checks.append(Check(name, source, float(points), hidden))


def add_private(homework: Homework, path: Path) -> None:
    """A teacher's own checks: nbgrader cells or ``# exercise: NAME points=2``."""
    cells = read_notebook(path)["cells"]
    code = [cell for cell in cells if cell.get("cell_type") == "code"]
    before = [len(exercise.checks) for exercise in homework.exercises]
    add_checks(homework, code, path)
    homework.setup += [cell["source"] for cell in code if is_setup(cell)]
    added = 0
    for exercise, count in zip(homework.exercises, before, strict=True):
        for check in exercise.checks[count:]:
            check.hidden, added = True, added + 1
    if not added:
        raise NotebookError(f"{path.name} has no check for {homework.name}")


# --- the student's notebook --------------------------------------------------


INSTALL = {  # by pip, or from a file beside the notebook
    True: """\
# {words}
import importlib.util

if importlib.util.find_spec("tokencredit") is None:
    get_ipython().run_line_magic("pip", "install -q {spec}")""",
    False: """\
# {words}
import glob
import importlib.util

if importlib.util.find_spec("tokencredit") is None:
    if not (found := glob.glob("tokencredit-*.whl")):
        raise ModuleNotFoundError("{missing}")
    get_ipython().run_line_magic("pip", "install -q " + found[0])""",
}


def student_notebook(path: Path, lang: str, install: str = "") -> dict:
    """The chapter's exercises in one language, without solutions and hidden checks.

    If the public checks need the package, the first cell installs it on a machine
    without it, such as Colab: ``install`` is the argument of pip, else a wheel beside
    the notebook is used.
    """
    homework, cells = read_homework(path), read_notebook(path)["cells"]
    cells = [cell for cell in cells if language_of(cell) in (None, lang)]
    graded = [i for i, cell in enumerate(cells) if grader(cell) and not is_setup(cell)]
    start = graded[0]
    while start > 0 and not cells[start]["source"].startswith("## "):
        start -= 1
    section = cells[start : graded[-1] + 1]
    setups = [cell for cell in cells[: graded[-1]] if is_setup(cell)]
    code = [
        student_code(cell, lang)
        for cell in section
        if cell["cell_type"] == "code" and not is_setup(cell)
    ]
    sources = lean([cell["source"] for cell in setups], code, homework.names)
    sources = {c["id"]: lean_one for c, lean_one in zip(setups, sources, strict=True)}
    made = [new_cell("markdown", "homework", heading(cells, homework, lang), {})]
    made.append(new_cell("markdown", "rules", WORDS["instructions"][lang], {}))
    formulas = {
        found[1]: cell["source"]
        for cell in cells
        if (found := re.search(r"(?m)^\$\$ *\(([\w:-]+)\)$", cell["source"]))
    }
    shown = {cell["source"] for cell in section}
    for cell in [cell for cell in cells[:start] if is_setup(cell)] + section:
        meta = {"nbgrader": grader(cell)} if grader(cell) else {}
        if is_setup(cell):
            source = sources[cell["id"]]
        elif cell["cell_type"] == "code":
            source = with_points(cell, student_code(cell, lang), lang)
        else:
            source = plain_prose(cell["source"])
            for label in re.findall(r"\{eq\}`([^`]+)`", cell["source"]):
                if label in formulas and formulas[label] not in shown:
                    shown.add(formulas[label])
                    source += "\n\n" + plain_prose(formulas[label])
        if source:
            made.append(new_cell(cell["cell_type"], cell["id"], source, meta))
    if needs_package(made):
        words = WORDS["installs" if install else "no package"][lang]
        missing = WORDS["put package"][lang]
        source = INSTALL[bool(install)].format(
            words=words, missing=missing, spec=install
        )
        made.insert(2, new_cell("code", "install", source, {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": made,
        "metadata": {
            "kernelspec": kernel,
            "language_info": {"name": "python"},
            "tokencredit": {"chapter": homework.name, "lang": lang},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def heading(cells: list[dict], homework: Homework, lang: str) -> str:
    """The first cell: chapter, points, versions."""
    title = next(c["source"] for c in cells if c["source"].startswith("# "))
    lines = [WORDS["title"][lang].format(title=title.splitlines()[0][2:]), ""]
    number = chapter_number(homework.name)
    if number is not None:
        lines.append(WORDS["where"][lang].format(number=number))
    lines.append(WORDS["points in all"][lang].format(points=f"{homework.points:g}"))
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    torch = ".".join(version("torch").split(".")[:2])
    lines.append(WORDS["versions"][lang].format(python=python, torch=torch))
    return "\n".join(lines)


def with_points(cell: dict, source: str, lang: str) -> str:
    """A check for the student, with its points in the first line."""
    meta = grader(cell)
    if not meta.get("grade"):
        return source
    points = f"{meta.get('points', 0):g}"
    word = WORDS["point" if points == "1" else "points"][lang].format(points=points)
    if is_held_back(cell):
        return f"# {WORDS['held back'][lang].format(points=word)}"
    return f"# {WORDS['public'][lang].capitalize()}: {word}\n{source}".replace(
        ": ", "：" if lang == "zh" else ": ", 1
    )


def needs_package(cells: list[dict]) -> bool:
    """Whether a cell imports the package."""
    return any({*PACKAGES} & {*imported("".join(c["source"]))} for c in cells)


def imported(source: str) -> set[str]:
    """The top-level packages that a cell imports."""
    names = []
    for node in ast.walk(tree(source) or ast.Module([], [])):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return {name.partition(".")[0] for name in names}


def new_cell(kind: str, name: str, source: str, meta: dict) -> dict:
    lines = source.splitlines(keepends=True)
    cell = {"cell_type": kind, "id": name, "metadata": meta, "source": lines}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def student_code(cell: dict, lang: str) -> str:
    """A code cell for the student."""
    meta, source = grader(cell), cell["source"]
    source = HIDDEN.sub("", source)
    if meta.get("grade") and not source.strip():
        return ""
    source = MARKERS.sub("", SOLUTION.sub(rf"\1{stub(lang)}\n", source))
    source = in_language(source, lang).rstrip()
    if meta.get("solution") and not EXERCISE_LINE.match(source):
        source = f"# exercise: {meta['grade_id']}\n{source}"
    return source


def stub(lang: str) -> str:
    return f'raise NotImplementedError("{WORDS["stub"][lang]}")'


def plain_prose(source: str) -> str:
    """Prose as plain Jupyter shows it: no roles, links to the book, solutions."""
    solution = r'<details class="[^"]*\bsolution\b[^"]*">.*?</details>\n?'
    source = re.sub(solution, "", source, flags=re.S)
    source = re.sub(r"(?m)^\$\$ *\((?:eq-)?([\w:-]+)\)$", r"\\tag{\1}\n$$", source)
    source = re.sub(r"\{cite(?::\w+)?\}`([^`]+)`", r"[\1]", source)
    source = re.sub(r"\{eq\}`(?:eq-)?([^`]+)`", r"(\1)", source)
    source = re.sub(r"\{\w+\}`([^`]+)`", r"\1", source)
    source = re.sub(r"\[([^\]]+)\]\([^)]*\.(?:ipynb|md)(?:#[^)]*)?\)", r"\1", source)
    return re.sub(r"<a data-xp=[^>]*>(.*?)</a>", r"\1", source).strip()
