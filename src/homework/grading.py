"""Grade a submission: whatever was handed in, the class goes on.

A student's cells run in their own process (``sandbox.py``). The chapter's original
checks run here, each in a fresh copy of the chapter's setup, with a stand-in for every
function that the exercise asks for.
"""

import ast
import contextlib
import io
import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch

from coursebook.code_cells import in_language, tree
from coursebook.languages import HAN, LANGUAGES
from coursebook.pages import NotebookError, as_dict, read_notebook
from homework.intake import NOTEBOOK, Submission, candidates
from homework.kinds import Models
from homework.sandbox import Sandbox, Student, StudentError
from homework.source import (
    EXERCISE_LINE,
    Check,
    Exercise,
    Homework,
    defined,
    grader,
)
from homework.words import SPOKEN

SECONDS = 10.0  # of waiting for a student, per exercise and per cell
RESTARTS = 20  # processes that one submission may use up
SOURCE_LIMIT = 2**20  # characters of code in one submission
LOST = {"timeout", "died", "lost", "forged", "MemoryError", "SystemExit"}


@dataclass
class Outcome:
    """One check of one student: passed, or what went wrong."""

    check: Check
    passed: bool
    report: dict = field(default_factory=dict)


@dataclass
class Result:
    """Everything about one student; `open` is what this system cannot close."""

    student: str
    id: str = ""
    lang: str = "zh"
    file: str = ""
    flags: set[str] = field(default_factory=set)
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    notes: dict[str, set[str]] = field(default_factory=dict)
    problem: str = ""
    open: set[str] = field(default_factory=set)

    def score(self, exercise: str) -> float:
        outcomes = self.outcomes.get(exercise, [])
        return sum(outcome.check.points for outcome in outcomes if outcome.passed)

    @property
    def total(self) -> float:
        return sum(self.score(exercise) for exercise in self.outcomes)


# --- reading a submission ----------------------------------------------------


def pick(
    submission: Submission, homework: Homework, space: Path, result: Result
) -> dict | None:
    """The submission's notebook: the one that answers most, then the latest."""
    paths = candidates(submission.paths, space, result.flags)
    readable, problems = [], []
    for path in paths:
        try:
            notebook = read_notebook(path, NOTEBOOK)
        except (NotebookError, OSError) as error:
            problems.append(f"{path.name}: {error}")
            continue
        answers = answer_cells(notebook, homework)
        readable.append((len(answers), path.stat().st_mtime, str(path), notebook))
    if len(paths) > 1:
        result.flags.add("several-notebooks")
    if not readable:
        result.problem = "; ".join(problems) or "no notebook"
        result.flags.add("unreadable" if problems else "no-notebook")
        return None
    _, _, result.file, notebook = max(readable, key=lambda item: item[:3])
    return notebook


def of_another_chapter(notebook: dict, homework: Homework) -> bool:
    """Whether a notebook that answers nothing here was made for other exercises."""
    made_for = as_dict(notebook["metadata"].get("tokencredit")).get("chapter")
    if isinstance(made_for, str):
        return made_for != homework.name
    return any(EXERCISE_LINE.search(cell["source"]) for cell in notebook["cells"])


def language(notebook: dict) -> str:
    """The language of the student's file."""
    named = as_dict(notebook["metadata"].get("tokencredit")).get("lang")
    if named in SPOKEN:
        return named
    text = "".join(cell["source"] for cell in notebook["cells"])
    return "zh" if len(re.findall(f"[{HAN}]", text)) * 20 > len(text) else "en"


def answer_cells(notebook: dict, homework: Homework) -> dict[str, list[int]]:
    """Cells that answer each exercise: by first line, else metadata, else names."""
    found: dict[str, list[int]] = {}
    names = {name: e.id for e in homework.exercises for name in e.names}
    known = {exercise.id for exercise in homework.exercises}
    for index, cell in enumerate(notebook["cells"]):
        if cell.get("cell_type") != "code" or grader(cell).get("grade"):
            continue
        line = EXERCISE_LINE.search(cell["source"])
        owners = [line[1] if line else None, grader(cell).get("grade_id")]
        written = defined(plain(cell["source"]))
        owners += [names[name] for name in written if name in names]
        owner = next((name for name in owners if name in known), None)
        if owner:
            found.setdefault(owner, []).append(index)
    return found


def plain(source: str) -> str:
    """Python without notebook magics; line numbers stay."""
    if tree(source):
        return source
    return re.sub(r"(?m)^\s*[%!].*$", "", source)


def is_stub(source: str) -> bool:
    module = tree(source)
    return module is not None and any(
        isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node)
        for node in ast.walk(module)
    )


def shape(source: str) -> str | None:
    """A cell's syntax tree without comments and docstrings, to compare answers."""
    module = tree(source)
    for node in ast.walk(module) if module else []:
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(module) if module else None


def imported(source: str) -> set[str]:
    """The top-level packages that a cell imports."""
    names = []
    for node in ast.walk(tree(source) or ast.Module([], [])):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return {name.partition(".")[0] for name in names}


# --- one student -------------------------------------------------------------


class Run:
    """One submission's cells, run again whenever the process is lost."""

    def __init__(
        self, sandbox: Sandbox, homework: Homework, cells: list[tuple[str, str]]
    ):
        self.sandbox, self.homework, self.cells = sandbox, homework, cells
        self.models = Models([e.solution for e in homework.exercises], execute)
        self.errors: dict[str, dict] = {}
        self.poison: set[str] = set()
        self.tried: set[str] = set()
        self.student: Student | None = None
        self.restarts = 0

    def process(self) -> Student:
        """A process in which every cell has run that does not end it."""
        while self.student is None or not self.student.alive:
            self.restarts += 1
            if self.restarts > RESTARTS:
                raise StudentError({"kind": "lost"})
            self.student = self.sandbox.student(len(self.cells))
            self.run_cells(self.student)
        return self.student

    def run_cells(self, student: Student) -> None:
        for source in self.homework.setup:
            student.refill()
            student.ask("setup", source=source)
        for name, source in self.cells:
            if name in self.poison:
                continue
            try:
                student.refill()
                student.ask("run", source=source, cell=name)
            except StudentError as error:
                self.errors[name] = error.report
                if error.report["kind"] in LOST - {"SystemExit"}:
                    self.poison.add(name)
                    self.drop()
                    return
        student.refill()

    def drop(self) -> None:
        """End the process; the next use starts a fresh one."""
        if self.student:
            self.tried |= self.student.tried
            self.student.end()

    def exercise(self, exercise: Exercise) -> list[Outcome]:
        """Run the original checks of one exercise."""
        outcomes, lost = [], None
        for number, check in enumerate(exercise.checks):
            if lost:
                outcomes.append(Outcome(check, False, lost))
                continue
            try:
                student = self.process()
                if number == 0:
                    student.refill()
                run_check(check, self.homework, student, self.models)
                outcomes.append(Outcome(check, True))
            except Exception as error:
                outcomes.append(Outcome(check, False, explain(error)))
                kind = outcomes[-1].report["kind"]
                if kind in LOST:
                    lost = outcomes[-1].report if kind != "SystemExit" else None
                    self.drop()
        return outcomes


def run_check(
    check: Check, homework: Homework, student: Student, models: Models
) -> None:
    """Run one check here, with stand-ins; raises what fails."""
    namespace = {"__name__": "__check__"}
    dtype = torch.get_default_dtype()
    state = torch.get_rng_state(), random.getstate()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for source in homework.setup:
                execute(source, "<setup>", namespace)
            models.read(namespace)
            namespace |= stand_ins(homework, student, models)
            torch.manual_seed(0)
            execute(check.source, "<check>", namespace)
    finally:
        torch.set_default_dtype(dtype)
        torch.set_rng_state(state[0])
        random.setstate(state[1])


def execute(source: str, name: str, namespace: dict) -> None:
    """Run a cell of ours; its asserts count even under ``python -O``."""
    exec(compile(plain(source), name, "exec", optimize=0), namespace)


def stand_ins(homework: Homework, student: Student, models: Models) -> dict:
    """What the checks see of the student: functions as stand-ins, values as values."""
    names = [name for exercise in homework.exercises for name in exercise.names]
    kinds = student.ask("kinds", names=names).get("kinds")
    kinds = kinds if isinstance(kinds, dict) else {}
    made = {}
    for name in names:
        if kinds.get(name) is True:
            made[name] = student.function(name, models)
        elif name in kinds:
            with contextlib.suppress(StudentError):
                made[name] = models.fit(name, student.fetch(name))
    return made


def explain(error: Exception) -> dict:
    """An exception during a check as a report for the feedback."""
    if isinstance(error, StudentError):
        return error.report
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
        return {"kind": "missing", "text": error.name or ""}
    if isinstance(error, AssertionError):
        return {"kind": "assert", "text": str(error)[:1000]}
    return {"kind": "check", "text": f"{type(error).__name__}: {error}"[:500]}


def grade_notebook(
    notebook: dict, homework: Homework, sandbox: Sandbox, result: Result
) -> None:
    """Fill in a result from one readable notebook."""
    result.lang = language(notebook)
    answers = answer_cells(notebook, homework)
    if not answers and of_another_chapter(notebook, homework):
        result.flags.add("other-chapter")
    skipped = skipped_cells(notebook, homework, answers, result)
    cells = [
        (f"cell {index + 1}", plain(cell["source"]))
        for index, cell in enumerate(notebook["cells"])
        if cell.get("cell_type") == "code" and index not in skipped
    ]
    if sum(len(source) for _, source in cells) > SOURCE_LIMIT:
        raise NotebookError("more than 1 MB of code")
    run = Run(sandbox, homework, cells)
    own = {f"cell {index + 1}" for found in answers.values() for index in found}
    try:
        for exercise in homework.exercises:
            outcomes = run.exercise(exercise)
            where = [f"cell {index + 1}" for index in answers.get(exercise.id, [])]
            sources = dict(cells)
            written = [sources[name] for name in where if name in sources]
            note_answer(result, exercise, outcomes, written, run, where)
            result.outcomes[exercise.id] = outcomes
            if run.student and run.student.changed:
                result.notes.setdefault(exercise.id, set()).add("changes-arguments")
                run.student.changed = False
    finally:
        run.drop()
    result.flags |= run.tried
    if any("tokencredit" in imported(source) for name, source in cells if name in own):
        result.flags.add("imports-package")


def skipped_cells(notebook, homework, answers, result) -> set[int]:
    """Cells that are not the student's: checks, our setup, stubs beside an answer."""
    ours = {"".join(source.split()) for source in homework.setup}
    for exercise in homework.exercises:
        for check in exercise.checks:
            texts = [check.source, *(in_language(check.source, x) for x in LANGUAGES)]
            ours |= {"".join(text.split()) for text in texts}
    skipped = set()
    for index, cell in enumerate(notebook["cells"]):
        if grader(cell).get("grade") or "".join(cell["source"].split()) in ours:
            skipped.add(index)
    for found in answers.values():
        if len(found) > 1:
            result.flags.add("duplicates")
            stubs = {i for i in found if is_stub(notebook["cells"][i]["source"])}
            if stubs != set(found):
                skipped |= stubs
    return skipped


def note_answer(result, exercise, outcomes, written, run, where) -> None:
    """Say more than the check could: why a name is missing, whose answer it is."""
    broken = next((run.errors[name] for name in where if name in run.errors), None)
    for outcome in outcomes:
        if outcome.report.get("kind") in ("missing", "lost") and broken:
            outcome.report = broken
        if outcome.report.get("kind") == "NotImplementedError":
            outcome.report = {"kind": "stub"}
    kinds = {outcome.report.get("kind") for outcome in outcomes}
    result.flags |= {"timeout", "died", "forged"} & kinds
    if "PackageAbsent" in kinds:
        result.flags.add("imports-package")
    if any(shape(source) == shape(exercise.solution) for source in written):
        result.flags.add("published-answer")
        result.notes.setdefault(exercise.id, set()).add("published-answer")


def blank(submission: Submission, homework: Homework) -> Result:
    """A result with nothing in it yet."""
    return Result(
        submission.student,
        submission.id,
        flags=set(submission.flags),
        outcomes={exercise.id: [] for exercise in homework.exercises},
    )


def failed(submission: Submission, homework: Homework, error: Exception) -> Result:
    """The result of a submission on which the grader itself failed."""
    result = blank(submission, homework)
    result.problem = f"{type(error).__name__}: {error}"[:500]
    result.flags.add("grader-error")
    return result


def grade_student(
    submission: Submission, homework: Homework, sandbox: Sandbox
) -> Result:
    """One student's result, whatever was handed in."""
    result = blank(submission, homework)
    try:
        with tempfile.TemporaryDirectory(prefix="unpacked-") as space:
            notebook = pick(submission, homework, Path(space), result)
        if notebook:
            grade_notebook(notebook, homework, sandbox, result)
            result.open = sandbox.open
    except NotebookError as error:
        result.problem = str(error)
        result.flags.add("unreadable")
    except Exception as error:
        return failed(submission, homework, error)
    return result


@contextlib.contextmanager
def opened(
    homework: Homework, hidden: list, seconds: float, folder: Path | str
) -> Iterator[Sandbox]:
    """A sandbox in `folder` that has what the homework's setup imports."""
    modules = {name for source in homework.setup for name in imported(plain(source))}
    with Sandbox(seconds, sorted(modules - {"tokencredit"}), hidden, folder) as sandbox:
        yield sandbox
