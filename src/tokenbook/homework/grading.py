"""Grade a submission; no submission stops the grading of the class.

A student's cells run in their own process (``sandbox.py``). The chapter's original
checks run here, each in a fresh copy of the chapter's setup, with a stand-in for every
function that the exercise asks for.
"""

import ast
import builtins
import contextlib
import functools
import io
import random
import re
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch

from tokenbook.homework.intake import NOTEBOOK, Submission, candidates
from tokenbook.homework.kinds import Models
from tokenbook.homework.sandbox import Sandbox, Student, StudentError
from tokenbook.homework.source import (
    EXERCISE_LINE,
    PACKAGES,
    Check,
    Exercise,
    Homework,
    defined,
    defined_by,
    grader,
    imported,
)
from tokenbook.homework.words import REASONS, SPOKEN, WORDS
from tokenbook.languages import HAN, LANGUAGES
from tokenbook.languages.code_cells import in_language, tree
from tokenbook.languages.pages import NotebookError, as_dict, read_notebook

SECONDS = 10.0  # of waiting for a student, per exercise and per cell
WHOLE = 6  # times that: of waiting for one submission
SPARE = 2  # times that: for cells that answer nothing
SLOW = 0.1  # times that: least time of a cell after the budget is spent
RESTARTS = 100  # processes that one submission may use up
SOURCE_LIMIT = 2**20  # characters of code in one submission
LOST = {"timeout", "over", "died", "lost", "forged", "MemoryError", "SystemExit"}
STUBS = {"", *WORDS["stub"].values()}  # marks an untouched answer


@dataclass
class Outcome:
    """One check of one student: passed, or its error."""

    check: Check
    passed: bool
    report: dict = field(default_factory=dict)


@dataclass
class Result:
    """The result of one student; `open` lists the limits that are not enforced."""

    student: str
    id: str = ""
    lang: str = ""
    file: str = ""
    flags: set[str] = field(default_factory=set)
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    notes: dict[str, set[str]] = field(default_factory=dict)
    problem: str = ""
    slow: list[str] = field(default_factory=list)
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
    """The submission's notebook: that with most answers, then the latest."""
    paths = candidates(submission.paths, space, result.flags)
    readable, problems = [], []
    for path in paths:
        try:
            notebook = read_notebook(path, NOTEBOOK)
        except (NotebookError, OSError) as error:
            problems.append(f"{path.name}: {error}")
            continue
        written = answered(notebook, homework)
        score = sum(bool(written & set(e.names)) for e in homework.exercises)
        stem = str(path.with_suffix(""))
        order = [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", stem)]
        readable.append((score, path.stat().st_mtime, order, path, notebook))
    if len(paths) > 1:
        result.flags.add("several-notebooks")
    if not readable:
        result.problem = "; ".join(problems) or "no notebook"
        result.flags.add("unreadable" if problems else "no-notebook")
        return None
    *_, path, notebook = max(readable, key=lambda item: item[:3])
    result.file = str(path)
    return notebook


def of_another_chapter(notebook: dict, homework: Homework, answers: dict) -> bool:
    """Whether a notebook was made for other exercises."""
    made_for = as_dict(notebook["metadata"].get("tokencredit")).get("chapter")
    if isinstance(made_for, str):
        return made_for != homework.name
    asked = any(EXERCISE_LINE.search(cell["source"]) for cell in notebook["cells"])
    return asked and not answers


def language(notebook: dict) -> str:
    """The language of the student's file."""
    named = as_dict(notebook["metadata"].get("tokencredit")).get("lang")
    if named in SPOKEN:
        return named
    text = "".join(cell["source"] for cell in notebook["cells"])
    return "zh" if len(re.findall(f"[{HAN}]", text)) * 20 > len(text) else "en"


def answer_cells(notebook: dict, homework: Homework) -> dict[str, list[int]]:
    """Cells that answer each exercise: by first line, metadata, or defined names.

    A check cell that holds an answer counts, too.
    """
    found: dict[str, list[int]] = {}
    names = {name: e.id for e in homework.exercises for name in e.names}
    known = {exercise.id for exercise in homework.exercises}
    checks = originals(homework)
    for index, cell in enumerate(notebook["cells"]):
        source = cell["source"]
        if cell.get("cell_type") != "code" or shape(source) in checks:
            continue
        owners = [names[name] for name in written_in(source) if name in names]
        if not grader(cell).get("grade"):
            line = EXERCISE_LINE.search(source)
            told = [line[1] if line else None, grader(cell).get("grade_id")]
            owners += [name for name in told if name in known]
        for owner in dict.fromkeys(owners):
            found.setdefault(owner, []).append(index)
    return found


def originals(homework: Homework) -> set[str]:
    """The shapes of our own cells, checks and setup, in every language."""
    texts = list(homework.setup)
    for check in (check for e in homework.exercises for check in e.checks):
        texts += [check.source, *(in_language(check.source, x) for x in LANGUAGES)]
    empty = shape("")
    return {shape(text) for text in texts} - {empty, None}


@functools.lru_cache(4096)
def plain(source: str) -> str:
    """Python without notebook syntax; line numbers stay.

    >>> plain("%%time\\nfiles = !ls\\nlen?\\nx = 1")
    '\\nfiles = []\\n\\nx = 1'
    """
    if tree(source):
        return source
    source = re.sub(r"(?m)^(\s*[\w, ]+=)\s*[!%].*$", r"\1 []", source)
    source = re.sub(r"(?m)^\s*\?{1,2}[\w.]+\s*$|^\s*[\w.]+\?{1,2}\s*$", "", source)
    return re.sub(r"(?m)^\s*[%!].*$", "", source)


def written_in(source: str) -> list[str]:
    """Names that a cell defines; guessed if it is no valid Python."""
    source = plain(source)
    if tree(source):
        return defined(source)
    return re.findall(r"(?m)^(?:async +)?(?:def|class) +(\w+)|^(?:\w+) *=", source)


def answered(notebook: dict, homework: Homework) -> set[str]:
    """The wanted names that a notebook defines by more than the untouched stub."""
    cells = (c for c in notebook["cells"] if c.get("cell_type") == "code")
    found = {name for cell in cells for name in done_in(cell["source"])}
    return found & set(homework.names)


def done_in(source: str) -> list[str]:
    """Names that a cell defines, without those that only raise NotImplementedError."""
    module = tree(plain(source))
    found = [] if module else written_in(source)
    for node in module.body if module else []:
        if not_implemented(node):
            break  # the rest is not reached
        if not is_stub(node):
            found += defined_by(node)
    return found


def is_stub(node: ast.AST) -> bool:
    """Whether a function only raises NotImplementedError."""
    for step in getattr(node, "body", []) if defined_by(node) else []:
        if not_implemented(step):
            return True
        if any(isinstance(part, (ast.Return, ast.Yield)) for part in ast.walk(step)):
            return False
    return False


def not_implemented(node: ast.AST) -> bool:
    return isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node)


@functools.lru_cache(4096)
def shape(source: str) -> str | None:
    """A cell's syntax tree without comments and docstrings, to compare answers."""
    source = plain(source)
    module = ast.parse(source) if tree(source) else None
    for node in ast.walk(module) if module else []:
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(module) if module else None


# --- one student -------------------------------------------------------------


class Run:
    """One submission's cells, run again whenever the process is lost.

    `own` are the cells that answer an exercise. The others share a time of their own:
    a plot or an experiment that is slow costs no answer its turn.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        homework: Homework,
        cells: list[tuple[str, str]],
        own: set[str],
    ):
        self.sandbox, self.homework, self.cells, self.own = (
            sandbox,
            homework,
            cells,
            own,
        )
        self.models = Models([e.solution for e in homework.exercises], execute)
        self.errors: dict[str, dict] = {}
        self.poison: set[str] = set()
        self.slow: set[str] = set()
        self.tried: set[str] = set()
        self.student: Student | None = None
        self.restarts = 0
        self.whole, self.spare = WHOLE * sandbox.seconds, SPARE * sandbox.seconds
        self.took: dict[str, float] = {}
        self.clock = {e.id: sandbox.seconds for e in homework.exercises}
        self.lost: dict[str, dict] = {}
        self.changed: set[str] = set()

    def process(self) -> Student:
        """A process in which every cell has run that does not end it."""
        while self.student is None or not self.student.alive:
            self.restarts += 1
            if self.restarts > RESTARTS:
                raise StudentError({"kind": "lost"})
            if self.whole <= 0:
                raise StudentError({"kind": "over"})
            fonts = any(DRAWS.search(source) for _, source in self.cells)
            self.student = self.sandbox.student(len(self.cells), fonts)
            self.run_cells(self.student)
        return self.student

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[list[float]]:
        """Wait for the student at most so long; append the time to the list."""
        student, took = self.student, []
        student.left = min(seconds, self.whole)
        before = student.waited
        try:
            yield took
        finally:
            took.append(student.waited - before)
            self.whole -= took[0]

    def run_cells(self, student: Student) -> None:
        asked = self.homework.names
        with self.within(self.sandbox.seconds):
            for source in self.homework.setup:
                student.ask("setup", source=source, asked=asked)
        for name, source in self.cells:
            if name in self.poison:
                continue
            limit, least = self.sandbox.seconds, SLOW * self.sandbox.seconds
            if name not in self.own:
                late = self.whole < WHOLE / 2 * self.sandbox.seconds
                if late or (self.spare <= 0 and self.took.get(name, 0) > least):
                    self.slow.add(name)
                    continue
                limit = min(limit, max(self.spare, least))
            try:
                with self.within(limit) as took:
                    student.ask("run", source=source, cell=name)
            except StudentError as error:
                self.errors[name] = error.report
                if error.report["kind"] in LOST - {"SystemExit"}:
                    self.poison.add(name)
                    if error.report["kind"] == "timeout":
                        self.slow.add(name)
                    self.drop()
                    return
            finally:
                self.took[name] = took[0]
                self.spare -= took[0] if name not in self.own else 0

    def drop(self) -> None:
        """End the process; the next use starts a fresh one."""
        if self.student:
            self.tried |= self.student.tried
            self.student.end()

    def outcomes(self) -> dict[str, list[Outcome]]:
        """Run the original checks of every exercise.

        Hidden ones come last, so that no later message of the student can reveal them.
        """
        found: dict[str, dict[str, Outcome]] = {}
        for hidden in (False, True):
            for exercise in self.homework.exercises:
                for check in exercise.checks:
                    if check.hidden == hidden:
                        outcome = self.check(exercise, check)
                        found.setdefault(exercise.id, {})[check.id] = outcome
        return {
            e.id: [found[e.id][check.id] for check in e.checks]
            for e in self.homework.exercises
        }

    def check(self, exercise: Exercise, check: Check) -> Outcome:
        """Run one check, within the remaining time of the exercise."""
        if exercise.id in self.lost:
            return Outcome(check, False, self.lost[exercise.id])
        self.models.none, took = False, [0.0]
        try:
            student = self.process()
            student.changed = False
            with self.within(self.clock[exercise.id]) as took:
                run_check(check, self.homework, student, self.models)
            return Outcome(check, True)
        except Exception as error:
            report = explain(error)
            if report["kind"] == "missing" and self.student:
                report = self.student.unsent.get(report["text"], report)
            if report["kind"] == "check" and self.models.none:
                report = {"kind": "None"}
            if report["kind"] == "timeout" and self.whole <= 0:
                report = {"kind": "over"}
            if report["kind"] in LOST:
                if report["kind"] != "SystemExit":
                    self.lost[exercise.id] = report
                self.drop()
            return Outcome(check, False, discreet(report) if check.hidden else report)
        finally:
            self.clock[exercise.id] -= sum(took)
            if self.student and self.student.changed:
                self.changed.add(exercise.id)


DRAWS = re.compile(r"matplotlib|seaborn|pylab|\.plot\(|\.hist\(")


def discreet(report: dict) -> dict:
    """A report about a held-back check: nothing in it is of the student's wording."""
    kind = report["kind"]
    if kind == "check":
        return report | {"text": report["text"].partition(":")[0]}
    if kind == "Unsendable":
        name = str(report.get("text", ""))
        return report | {"text": name if name in KNOWN_TYPES else "?"}
    if kind == "PackageAbsent":
        return report | {"text": "tokencredit"}
    if kind in REASONS:
        return report
    known = isinstance(getattr(builtins, kind, None), type)
    return report | {"kind": kind if known else "Exception", "text": "", "quiet": True}


KNOWN_TYPES = {"function", "coroutine", "method", "module", "bytes", "bytearray"}
KNOWN_TYPES |= {"complex", "object", "type", "generator", "Tensor"}


def run_check(
    check: Check, homework: Homework, student: Student, models: Models
) -> None:
    """Run one check here, with stand-ins; its error is raised."""
    namespace = {"__name__": "__check__"}
    dtype = torch.get_default_dtype()
    state = torch.get_rng_state(), random.getstate()
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # float() of an answer with a gradient
            for source in homework.setup:
                execute(source, "<setup>", namespace)
            for name in homework.names:
                namespace.pop(name, None)  # names that the student has to define
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
    """Names for the checks: the student's functions as stand-ins, values as values."""
    kinds = student.ask("kinds", names=homework.names).get("kinds")
    kinds = kinds if isinstance(kinds, dict) else {}
    made = {}
    for name in homework.names:
        if kinds.get(name) is True:
            made[name] = student.function(name, models)
        elif name in kinds:
            try:
                made[name] = models.fit(name, student.fetch(name))
            except StudentError as error:
                student.unsent[name] = error.report
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
    result.lang = result.lang or language(notebook)
    answers = answer_cells(notebook, homework)
    if of_another_chapter(notebook, homework, answers):
        result.flags.add("other-chapter")
    skipped = skipped_cells(notebook, homework, answers, result)
    cells = [
        (f"cell {index + 1}", plain(cell["source"]))
        for index, cell in enumerate(notebook["cells"])
        if cell.get("cell_type") == "code" and index not in skipped
    ]
    if sum(len(source) for _, source in cells) > SOURCE_LIMIT:
        raise NotebookError("more than 1 MB of code")
    own = {f"cell {index + 1}" for found in answers.values() for index in found}
    run = Run(sandbox, homework, cells, own)
    try:
        result.outcomes |= run.outcomes()
        for exercise in homework.exercises:
            where = [f"cell {index + 1}" for index in answers.get(exercise.id, [])]
            written = [source for name, source in cells if name in where]
            note_answer(result, exercise, written, run, where)
            if exercise.id in run.changed:
                result.notes.setdefault(exercise.id, set()).add("changes-arguments")
    finally:
        run.drop()
    note_misplaced(notebook, homework, result)
    result.flags |= run.tried
    result.slow = [name.partition(" ")[2] for name, _ in cells if name in run.slow]
    if result.slow:
        result.flags.add("timeout")
    if any({*PACKAGES} & {*imported(s)} for name, s in cells if name in own):
        result.flags.add("imports-package")


def skipped_cells(notebook, homework, answers, result) -> set[int]:
    """Cells that are not the student's: checks, our setup, stubs beside an answer."""
    ours, own = originals(homework), {i for found in answers.values() for i in found}
    skipped = set()
    for index, cell in enumerate(notebook["cells"]):
        check = grader(cell).get("grade") and index not in own
        if check or shape(cell["source"]) in ours:
            skipped.add(index)
    for exercise in homework.exercises:
        found = answers.get(exercise.id, [])
        done = {i: done_in(notebook["cells"][i]["source"]) for i in found}
        if len(found) > 1:
            result.flags.add("duplicates")
            if any(set(names) & set(exercise.names) for names in done.values()):
                skipped |= {i for i in found if not done[i]}
    return skipped


def note_answer(result, exercise, written, run, where) -> None:
    """Add to a check's message why a name is missing, or whose an answer is."""
    outcomes = result.outcomes[exercise.id]
    broken = next((run.errors[name] for name in where if name in run.errors), None)
    for outcome in outcomes:
        report = outcome.report
        if report.get("kind") in ("missing", "lost") and broken:
            report = outcome.report = broken
        untouched = report.get("quiet") or report.get("text") in STUBS
        if report.get("kind") == "NotImplementedError" and untouched:
            outcome.report = {"kind": "stub"}
    kinds = {outcome.report.get("kind") for outcome in outcomes}
    result.flags |= {"timeout", "died", "forged"} & kinds
    result.flags |= {"timeout"} if "over" in kinds else set()
    if "PackageAbsent" in kinds:
        result.flags.add("imports-package")
    if any(shape(source) == shape(exercise.solution) for source in written):
        result.flags.add("published-answer")
        result.notes.setdefault(exercise.id, set()).add("published-answer")


def note_misplaced(notebook: dict, homework: Homework, result: Result) -> None:
    """Note an answer that was not run because it is in text or inside a class."""
    done = answered(notebook, homework)
    for exercise in homework.exercises:
        missing = set(exercise.names) - done
        for index, cell in enumerate(notebook["cells"] if missing else []):
            source, kind = cell["source"], ""
            if cell.get("cell_type") != "code":
                found = re.findall(r"(?m)^\s*def (\w+)\(|^(\w+) *= ", source)
                found = {name for pair in found for name in pair}
                kind = "in-text" if found & missing else ""
            elif inside_classes(source) & missing:
                kind = "in-class"
            if kind:
                note = f"{kind} {index + 1}"
                result.notes.setdefault(exercise.id, set()).add(note)


def inside_classes(source: str) -> set[str]:
    """The functions that a cell's classes have."""
    nodes = ast.walk(tree(plain(source)) or ast.Module([], []))
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    return {name for c in classes for step in c.body for name in defined_by(step)}


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
    submission: Submission, homework: Homework, sandbox: Sandbox, lang: str = ""
) -> Result:
    """One student's result, for any submission.

    Without `lang` its language is the notebook's, or none without a notebook.
    """
    result = blank(submission, homework)
    result.lang = lang
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


def notebook_of(submission: Submission, homework: Homework) -> dict | None:
    """The notebook that would be graded; None where none can be read."""
    with (
        contextlib.suppress(NotebookError),
        tempfile.TemporaryDirectory(prefix="unpacked-") as space,
    ):
        return pick(submission, homework, Path(space), blank(submission, homework))
    return None


def answers_of(submission: Submission, homework: Homework) -> dict[str, str]:
    """A student's code for each exercise; unreadable files are skipped."""
    notebook = notebook_of(submission, homework)
    cells = notebook["cells"] if notebook else []
    places = answer_cells(notebook, homework) if notebook else {}
    return {
        exercise: plain(cells[where[-1]]["source"])
        for exercise, where in places.items()
    }


@contextlib.contextmanager
def opened(
    homework: Homework, hidden: list, seconds: float, folder: Path | str
) -> Iterator[Sandbox]:
    """A sandbox in `folder` with the imports of the homework's setup."""
    modules = {name for source in homework.setup for name in imported(plain(source))}
    with Sandbox(seconds, sorted(modules - {*PACKAGES}), hidden, folder) as sandbox:
        yield sandbox
