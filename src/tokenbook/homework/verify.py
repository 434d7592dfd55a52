"""Whether homework is fit to be set: solutions get full marks, untouched files none."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tokenbook.homework.grading import SECONDS, Result, grade_notebook, plain
from tokenbook.homework.sandbox import Sandbox
from tokenbook.homework.source import (
    PACKAGES,
    Homework,
    grader,
    imported,
    student_notebook,
)
from tokenbook.homework.words import SPOKEN


@dataclass
class Verdict:
    """One chapter in one language: the results of its solution and its stub."""

    homework: Homework
    lang: str
    solution: Result
    stub: Result

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.homework.exercises)

    @property
    def holds(self) -> bool:
        return self.solution.total == self.points and self.stub.total == 0


def verify(chapters: list[tuple[Path, Homework]], hidden: list) -> Iterator[Verdict]:
    """Grade solution and stub of every chapter in every language, as a student's."""
    with sandbox_for([homework for _, homework in chapters], hidden) as sandbox:
        for path, homework in chapters:
            yield from verdicts(path, homework, sandbox)


def verdicts(path: Path, homework: Homework, sandbox: Sandbox) -> Iterator[Verdict]:
    """Grade solution and stub of a chapter in every language."""
    for lang in SPOKEN:
        stub, solution = (
            graded(notebook, homework, sandbox)
            for notebook in (
                student_notebook(path, lang),
                solved(student_notebook(path, lang), homework),
            )
        )
        yield Verdict(homework, lang, solution, stub)


def sandbox_for(homeworks: list[Homework], hidden: list) -> Sandbox:
    """A sandbox with the imports of the setups."""
    setup = [source for homework in homeworks for source in homework.setup]
    modules = {name for source in setup for name in imported(plain(source))}
    return Sandbox(SECONDS, sorted(modules - {*PACKAGES}), hidden)


def solved(notebook: dict, homework: Homework) -> dict:
    """A student's notebook with the published solutions in it."""
    solutions = {exercise.id: exercise.solution for exercise in homework.exercises}
    for cell in notebook["cells"]:
        if grader(cell).get("solution"):
            cell["source"] = solutions[grader(cell)["grade_id"]]
    return notebook


def graded(notebook: dict, homework: Homework, sandbox: Sandbox) -> Result:
    """The result of a notebook that was never written to a file."""
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    result = Result("", outcomes={exercise.id: [] for exercise in homework.exercises})
    grade_notebook(notebook, homework, sandbox, result)
    return result
