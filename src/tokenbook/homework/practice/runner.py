"""The verdict on one answer: setup, earlier answers, this answer, its public checks.

Each check begins from nothing and runs the cells in the notebook's order, so that no
name is left over from an older attempt. The page puts the result into words.
"""

import ast
import contextlib
import io
import random
import sys
from collections.abc import Callable
from types import CodeType, ModuleType

LIMIT = 8000  # characters of printed output that are kept
GRADER = (3, 11)  # the oldest Python that grades: newer syntax is refused here, too


class NotHere(AttributeError):
    """The page's Python lacks this name."""


class Absent(ModuleType):
    """A stand-in for a missing package, or for something made with one."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotHere(f"{self.__name__}.{name}")

    def __call__(self, *_, **__):
        raise NotHere(self.__name__)


class Printed(io.StringIO):
    """Printed text up to a limit; `cut` is True if there was more."""

    cut = False

    def write(self, text: str) -> int:
        room = max(0, LIMIT - self.tell())
        self.cut |= len(text) > room
        return super().write(text[:room])


def compiled(source: str, name: str) -> CodeType:
    """Return the code of a cell, in the syntax of the grader's Python."""
    return compile(ast.parse(source, name, feature_version=GRADER), name, "exec")


def lacking(error: BaseException) -> str | None:
    """Return the name that the page's Python lacks, if that is the error."""
    if type(error).__name__ == "NotHere":  # the small torch has a class of its own
        return str(error)
    return error.name if isinstance(error, ModuleNotFoundError) else None


def targets(node: ast.stmt) -> list[str]:
    """Return the names that a statement sets."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(a.asname or a.name).partition(".")[0] for a in node.names]
    if isinstance(node, ast.Assign):
        walked = [part for target in node.targets for part in ast.walk(target)]
        return [part.id for part in walked if isinstance(part, ast.Name)]
    return [node.name] if hasattr(node, "name") else []


def run_setup(source: str, space: dict) -> None:
    """Run a cell of the book; names that need an absent package become `Absent`."""
    for node in ast.parse(source).body:
        try:
            exec(compile(ast.Module([node], []), "<setup>", "exec"), space)
        except (NotHere, ImportError, AttributeError):
            space |= {name: Absent(name) for name in targets(node)}


def lines_of(error: BaseException, name: str, source: str) -> list[list]:
    """Return [number, text] of the answer's lines in a traceback, innermost last."""
    numbers, trace = [], error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == name:
            numbers.append(trace.tb_lineno)
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename == name:
        numbers.append(error.lineno or 1)
    lines = source.splitlines()
    found = [[n, lines[n - 1].strip() if n <= len(lines) else ""] for n in numbers]
    return found[-4:]


def report(error: BaseException, name: str, source: str, asked: list[str]) -> dict:
    """Return the kind of an error, its type, its text and the answer's lines."""
    lines = lines_of(error, name, source)
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    said = {"kind": "raised", "type": type(error).__name__, "text": str(text)[:1000]}
    if isinstance(error, AssertionError) and not lines:
        said["kind"] = "assert"
    elif isinstance(error, NotImplementedError):
        said["kind"] = "stub"
    elif missing := lacking(error):
        said |= {"kind": "absent", "text": missing}
    elif isinstance(error, NameError) and not lines and error.name in asked:
        said |= {"kind": "missing", "text": error.name}
    elif not lines:
        said["kind"] = "check"
    return said | {"lines": lines}


def fresh() -> None:
    """Set the random numbers and torch's default type back to their start."""
    random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float32)


def check(
    cells: list[dict],
    exercise: str,
    answers: dict[str, str],
    asked: list[str],
    stage: Callable[[str], None] = lambda name: None,
) -> dict:
    """Return the verdict on the answer to one exercise.

    Args:
        cells: the notebook's cells in order: {"kind": "setup" | "answer" | "check",
            "id", "source", and for a check "of", its exercise}.
        exercise: id of the answer that is checked.
        answers: source of every answer by id. asked: names that answers define.
        stage: called with the id of the running answer, so that an endless one is
            named.

    Returns:
        {"kind": "passed" | ..., "printed", "cut"}, for an error the `report`.
    """
    space, printed = {"__name__": "__main__"}, Printed()
    source, name = answers[exercise], f"<{exercise}>"
    fresh()
    with contextlib.redirect_stdout(printed):
        try:
            for cell in cells:
                kind = cell["kind"]
                if kind == "setup":
                    stage("setup")
                    run_setup(cell["source"], space)
                elif kind == "answer" and cell["id"] != exercise:
                    stage(cell["id"])
                    run_earlier(answers[cell["id"]], cell["id"], space)
                elif kind == "answer":
                    stage(exercise)
                    exec(compiled(source, name), space)
                elif cell["of"] == exercise:
                    fresh()
                    exec(compile(cell["source"], "<check>", "exec"), space)
            said = {"kind": "passed"}
        except BaseException as error:
            said = report(error, name, source, asked)
    return said | {"printed": printed.getvalue(), "cut": printed.cut}


def run_earlier(source: str, name: str, space: dict) -> None:
    """Run another answer for the names it defines, without its errors and prints."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(BaseException):
        exec(compiled(source, f"<{name}>"), space)
