"""Read a chapter's homework and write the student's notebook from it.

The chapter is the only source: its exercises, their checks and their points. Cells
are told apart by nbgrader's metadata (schema 3) and regions by nbgrader's markers.
A short text in both languages is written once, as ``中文 | English``.
"""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

from coursebook.code_cells import in_language, tree
from coursebook.pages import (
    HIDDEN,
    MARKERS,
    NotebookError,
    as_dict,
    language_of,
    read_notebook,
)
from homework.words import WORDS

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
        """What the answer must define."""
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
    names = []
    for node in getattr(tree(source), "body", []):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            walked = [part for target in targets for part in ast.walk(target)]
            names += [part.id for part in walked if isinstance(part, ast.Name)]
    return names


def lean(setup: str, users: list[str]) -> str:
    """A setup cell without the parts of the package that nobody uses."""
    module, used = tree(setup), set()
    if module is None:
        return setup
    for node in [
        *module.body,
        *(n for u in users for n in getattr(tree(u), "body", [])),
    ]:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            used |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    lines = setup.splitlines()
    for node in reversed(module.body):
        span = slice(node.lineno - 1, node.end_lineno)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            root = getattr(node, "module", None) or node.names[0].name
            kept = [a for a in node.names if (a.asname or a.name) in used]
            if root.partition(".")[0] == "tokencredit" and kept != node.names:
                node.names = kept
                lines[span] = [ast.unparse(node)] if kept else []
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
    homework.setup = [lean(source, users) for source in homework.setup]
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


INSTALL = """\
try:
    import tokencredit
except ModuleNotFoundError:
    %pip install -q --no-deps {spec}"""


def student_notebook(path: Path, lang: str, install: str = "") -> dict:
    """The chapter's exercises in one language, without solutions and hidden checks.

    Where the checks that students see need the package, ``install`` is what pip
    installs on a machine that lacks it, Colab for example.
    """
    homework, cells = read_homework(path), read_notebook(path)["cells"]
    cells = [cell for cell in cells if language_of(cell) in (None, lang)]
    graded = [i for i, cell in enumerate(cells) if grader(cell) and not is_setup(cell)]
    start = graded[0]
    while start > 0 and not cells[start]["source"].startswith("## "):
        start -= 1
    section = cells[start : graded[-1] + 1]
    code = [student_code(cell, lang) for cell in section if cell["cell_type"] == "code"]
    title = next(c["source"] for c in cells if c["source"].startswith("# "))
    intro = WORDS["title"][lang].format(title=title.splitlines()[0][2:])
    made = [new_cell("markdown", "homework", intro, {})]
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
            source = lean(cell["source"], code)
        elif cell["cell_type"] == "code":
            source = student_code(cell, lang)
        else:
            source = plain_prose(cell["source"])
            for label in re.findall(r"\{eq\}`([^`]+)`", cell["source"]):
                if formulas.get(label, source) not in shown:
                    shown.add(formulas[label])
                    source += "\n\n" + plain_prose(formulas[label])
        if source:
            made.append(new_cell(cell["cell_type"], cell["id"], source, meta))
    if install and any("tokencredit" in "".join(c["source"]) for c in made[2:]):
        cell = INSTALL.format(spec=install)
        made.insert(2, new_cell("code", "install", cell, {}))
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


def new_cell(kind: str, name: str, source: str, meta: dict) -> dict:
    lines = source.splitlines(keepends=True)
    cell = {"cell_type": kind, "id": name, "metadata": meta, "source": lines}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def student_code(cell: dict, lang: str) -> str:
    """A code cell as the student gets it."""
    meta, source = grader(cell), cell["source"]
    source = HIDDEN.sub("", source)
    if meta.get("grade") and not source.strip():
        return WORDS["held back"][lang]
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
