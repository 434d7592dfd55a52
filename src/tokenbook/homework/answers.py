"""Grade wrong and right answers to every exercise, to test the checks.

One YAML file per chapter, named like its notebook: under each exercise ``wrong`` and
``right``, each a description and the whole answer, or edits of the published one as
pairs ``[old, new]``. Right answers of other types are added (`variants`).
"""

import contextlib
import copy
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
import yaml

from tokenbook.homework import variants
from tokenbook.homework.grading import Result, execute, grade_notebook
from tokenbook.homework.sandbox import Sandbox
from tokenbook.homework.source import Exercise, Homework, grader, student_notebook
from tokenbook.homework.verify import sandbox_for, solved
from tokenbook.languages.code_cells import tree
from tokenbook.languages.pages import NotebookError

WRONG, RIGHT = 3, 6  # answers that an exercise has at least
VARIED = Path(variants.__file__).read_text("utf-8")


class AnswersError(NotebookError):
    """A file of answers that cannot be read; the message names the place."""


@dataclass
class Answer:
    """One answer: its description and its cell."""

    exercise: str
    name: str
    source: str
    right: bool


@dataclass
class Tried:
    """One exercise: the graded answers, and those with an unexpected result."""

    chapter: str
    exercise: Exercise
    wrong: int = 0
    lost: int = 0
    right: int = 0
    kept: int = 0
    faults: list[str] = field(default_factory=list)


def read_answers(path: Path, homework: Homework) -> list[Answer]:
    """The stored answers to a homework; none without a file.

    Raises:
        AnswersError: naming file, exercise and description.
    """
    try:
        data = yaml.safe_load(path.read_text("utf-8")) if path.exists() else {}
    except yaml.YAMLError as error:
        raise AnswersError(f"{path.name}: {error}") from None
    solutions = {exercise.id: exercise.solution for exercise in homework.exercises}
    found = []
    for exercise, kinds in need(data or {}, dict, path.name).items():
        if exercise not in solutions:
            raise AnswersError(f"{path.name}: no exercise {exercise}")
        for kind, answers in need(kinds, dict, f"{path.name}: {exercise}").items():
            place = f"{path.name}: {exercise}"
            if kind not in ("wrong", "right"):
                raise AnswersError(f"{place}: {kind} is neither wrong nor right")
            for name, text in need(answers or {}, dict, f"{place}: {kind}").items():
                source = edited(solutions[exercise], text, f"{place}: {name}")
                found.append(Answer(exercise, str(name), source, kind == "right"))
    return found


def need(value, kind: type, place: str):
    if not isinstance(value, kind):
        raise AnswersError(f"{place}: a {kind.__name__} is wanted")
    return value


def edited(solution: str, text, place: str) -> str:
    """An answer from its entry: the whole cell, or edits of the solution."""
    source = solution
    if isinstance(text, str):
        source = text
    else:
        for edit in need(text, list, place):
            if not (isinstance(edit, list) and len(edit) == 2):
                raise AnswersError(f"{place}: an edit is a pair [old, new]")
            old, new = map(str, edit)
            if (count := source.count(old)) != 1:
                raise AnswersError(f"{place}: {old!r} occurs {count} times, not once")
            source = source.replace(old, new)
    if tree(source) is None:
        raise AnswersError(f"{place}: no Python")
    if "".join(source.split()) == "".join(solution.split()):
        raise AnswersError(f"{place}: this is the published solution")
    return source


# --- right answers of other types --------------------------------------------


def varied(homework: Homework, exercise: Exercise) -> Iterator[Answer]:
    """The published answer in every other type that its checks would get to see."""
    values, functions = results(homework, exercise)
    changes = variants.VARIANTS.items()
    names = [n for n, change in changes if any(change(v) is not None for v in values)]
    for name in [*names, *(variants.FORMS if functions else ())]:
        wraps = [f"{part} = told({name!r}, {part})" for part in exercise.names]
        source = "\n".join([VARIED, exercise.solution, *wraps])
        yield Answer(exercise.id, name, source, True)


def results(homework: Homework, exercise: Exercise) -> tuple[list, bool]:
    """Results of the published answer in its checks, and whether they call it."""
    seen, functions = [], False

    def watched(function):
        def stand_in(*args, **kwargs):
            seen.append(function(*args, **kwargs))
            return seen[-1]

        return stand_in

    dtype = torch.get_default_dtype()
    try:
        for check in exercise.checks:
            names = {"__name__": "__check__"}
            with contextlib.redirect_stdout(io.StringIO()):
                for source in (
                    *homework.setup,
                    *(e.solution for e in homework.exercises),
                ):
                    execute(source, "<solution>", names)
                for name in exercise.names:
                    if callable(names[name]):
                        names[name], functions = watched(names[name]), True
                    else:
                        seen.append(names[name])
                execute(check.source, "<check>", names)
    finally:
        torch.set_default_dtype(dtype)
    return seen, functions


# --- grading -----------------------------------------------------------------


def grade_answers(
    answers: list[Answer], notebook: dict, homework: Homework, sandbox: Sandbox
) -> Result:
    """The result of a solved notebook with these answers instead of its own."""
    notebook = copy.deepcopy(notebook)
    given = {answer.exercise: answer.source for answer in answers}
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
        if (name := grader(cell).get("grade_id")) in given:
            cell["source"] = f"# exercise: {name}\n{given[name]}"
    asked = [exercise for exercise in homework.exercises if exercise.id in given]
    result = Result("", outcomes={exercise.id: [] for exercise in asked})
    grade_notebook(notebook, replace(homework, exercises=asked), sandbox, result)
    return result


def lost(answer: Answer, result: Result) -> str:
    """The checks of its exercise that an answer failed, with reasons."""
    failed = [o for o in result.outcomes[answer.exercise] if not o.passed]
    return "; ".join(f"{outcome.check.id}: {outcome.report}" for outcome in failed)


def kept_together(
    answers: list[Answer], notebook: dict, homework: Homework, sandbox: Sandbox
) -> list[Answer]:
    """Right answers that pass when one of each exercise is graded at a time."""
    rounds: dict[int, list[Answer]] = {}
    seen = Counter()
    for answer in answers:
        rounds.setdefault(seen[answer.exercise], []).append(answer)
        seen[answer.exercise] += 1
    kept = []
    for batch in rounds.values():
        result = grade_answers(batch, notebook, homework, sandbox)
        kept += [answer for answer in batch if not lost(answer, result)]
    return kept


def try_answers(
    path: Path, homework: Homework, folder: Path, sandbox: Sandbox
) -> Iterator[Tried]:
    """Grade all answers to a chapter's exercises.

    A wrong answer is graded alone, and so is a right one that did not pass together
    with right answers to the other exercises.
    """
    every = read_answers(folder / f"{path.stem}.yml", homework)
    for exercise in homework.exercises:
        every += varied(homework, exercise)
    notebook = solved(student_notebook(path, "en"), homework)
    right = [answer for answer in every if answer.right]
    kept = {id(answer) for answer in kept_together(right, notebook, homework, sandbox)}
    for exercise in homework.exercises:
        tried = Tried(homework.name, exercise)
        for answer in (one for one in every if one.exercise == exercise.id):
            why = ""
            if id(answer) not in kept:
                why = lost(answer, grade_answers([answer], notebook, homework, sandbox))
            if answer.right:
                tried.right, tried.kept = tried.right + 1, tried.kept + (not why)
            else:
                tried.wrong, tried.lost = tried.wrong + 1, tried.lost + bool(why)
            if answer.right == bool(why):
                said = f"loses points: {why}" if answer.right else "keeps all points"
                kind = "right" if answer.right else "wrong"
                tried.faults.append(f"{exercise.id}: {kind} {answer.name!r} {said}")
        if tried.wrong < WRONG:
            tried.faults.append(
                f"{exercise.id}: {tried.wrong} wrong answers, not {WRONG}"
            )
        if tried.right < RIGHT:
            tried.faults.append(f"{exercise.id}: {tried.right} right ones, not {RIGHT}")
        yield tried


def table(chapters: list, hidden: list, folder: Path) -> Iterator[Tried]:
    """Every exercise of some chapters, each with its homework, in one sandbox."""
    with sandbox_for([homework for _, homework in chapters], hidden) as sandbox:
        for path, homework in chapters:
            yield from try_answers(path, homework, folder, sandbox)
