"""The actions of the command line; see `homework`."""

import argparse
import contextlib
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tqdm import tqdm

from tokenbook.homework.gradebook import fill
from tokenbook.homework.intake import CLASS, names_in, submissions, unpack
from tokenbook.homework.page import page
from tokenbook.homework.progress import Log, results_of
from tokenbook.homework.report import save, write_feedback, write_grades
from tokenbook.homework.rubric import MANUAL, form, own_words
from tokenbook.homework.schedule import as_calendar, as_table, schedule
from tokenbook.homework.similar import alike
from tokenbook.homework.source import (
    Homework,
    add_private,
    find_chapter,
    has_homework,
    read_homework,
    student_notebook,
)
from tokenbook.homework.words import SPOKEN
from tokenbook.languages import pick
from tokenbook.languages.pages import NotebookError, language_of, read_notebook

NAMES = 20  # names of a cut export in the message


def run(action: str, args: argparse.Namespace) -> int:
    """Run one action. A user error prints one sentence and returns 2."""
    try:
        return ACTIONS[action](args)
    except (NotebookError, OSError) as error:
        print(f"homework {action}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130


def chapters_of(name: str) -> list[Path]:
    """One chapter, or all that have homework, in order."""
    if name != "all":
        return [find_chapter(name)]
    home = find_chapter("1").parent
    found = sorted(home.glob("[0-9][0-9]_*.ipynb"))
    return [path for path in found if has_homework(path)]


def make(args: argparse.Namespace) -> int:
    """Write students' notebooks, and with a first day their calendar."""
    chapters = chapters_of(args.chapter)
    weeks = len(chapters) if args.weeks is None else args.weeks
    if args.weeks is not None and (args.weeks < 1 or not args.start):
        raise NotebookError("--weeks must be at least 1 and comes with --start")
    args.out.mkdir(parents=True, exist_ok=True)
    titles = {}
    for chapter in chapters:
        notebook = student_notebook(chapter, args.lang, args.install)
        path = args.out / f"{chapter.stem}_{args.lang}.ipynb"
        text = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
        path.write_text(text, encoding="utf-8", newline="\n")
        titles[chapter.stem] = title_of(chapter, args.lang)
        print(path)
    if args.start:
        plan = schedule([*titles], args.start, weeks)
        for end, write in (("md", as_table), ("ics", as_calendar)):
            path = args.out / f"calendar_{args.lang}.{end}"
            text = write(plan, titles, args.lang)
            path.write_text(text, encoding="utf-8", newline="")
            print(path)
    return 0


def title_of(chapter: Path, lang: str) -> str:
    """A chapter's first heading in one language."""
    cells = read_notebook(chapter)["cells"]
    sources = [c["source"] for c in cells if language_of(c) in (None, lang)]
    line = next(source for source in sources if source.startswith("# "))
    return pick(line.partition("\n")[0].removeprefix("# "), lang)


def verify_all(args: argparse.Namespace) -> int:
    """Grade every chapter's solution and stub; 1 where marks are not full and none."""
    chapters = [(path, read(path, args.more)) for path in chapters_of(args.chapter)]
    hidden = [chapters[0][0].parent.parent, *([args.more] if args.more else [])]
    wrong = 0
    from tokenbook.homework.verify import verify

    for verdict in verify(chapters, hidden):
        wrong += not verdict.holds
        print(
            f"{'ok' if verdict.holds else 'WRONG':5}  {verdict.homework.name:28}"
            f" {verdict.lang}  solution {verdict.solution.total:g}/{verdict.points:g}"
            f"  stub {verdict.stub.total:g}/{verdict.points:g}"
        )
        for outcomes in verdict.solution.outcomes.values():
            for outcome in outcomes:
                if not outcome.passed:
                    print(f"       {outcome.check.id}: {outcome.report}")
    if args.answers:
        wrong += tried_answers(chapters, hidden, args.answers)
    return 1 if wrong else 0


def tried_answers(chapters: list, hidden: list, folder: Path) -> int:
    """Print the results of stored answers by exercise; return the number of faults."""
    from tokenbook.homework.answers import table

    faults = 0
    print("\nexercise, wrong answers tried and caught, right ones tried and kept")
    for tried in table(chapters, hidden, folder):
        faults += len(tried.faults)
        numbers = f"{tried.wrong:5}{tried.lost:5}{tried.right:5}{tried.kept:5}"
        print(f"{tried.chapter:28} {tried.exercise.id:26}{numbers}", flush=True)
        for fault in tried.faults:
            print(f"       {fault}")
    return faults


def read(chapter: Path, more: Path | None) -> Homework:
    """A chapter's homework with the teacher's own checks."""
    homework = read_homework(chapter)
    if more:
        add_private(homework, more)
    return homework


def grade(args: argparse.Namespace) -> int:
    """Grade a class; see the exit status in ``--help``."""
    chapter = find_chapter(args.chapter)
    homework = read(chapter, args.more)
    given, out = args.submissions, args.out
    if args.jobs < 1:
        raise NotebookError(f"--jobs must be at least 1, got {args.jobs}")
    with handed_in(given, out) as (folder, found, ignored):
        out.mkdir(parents=True, exist_ok=True)
        for path in ignored:
            print(f"homework grade: nobody's, left out: {path.name}", file=sys.stderr)
        hidden = [chapter.parent.parent, given, folder, out]
        hidden += [args.more] if args.more else []
        rows, left_open = graded(homework, found, hidden, args)
    write_grades(rows, homework, out)
    for row in rows:
        score = f"{row['score']:g}/{row['points']:g}"
        flags = f"  [{' '.join(row['flags'])}]" if row["flags"] else ""
        line = f"{score:>8}  {row['student']}{flags}"
        print(line.encode(errors="backslashreplace").decode())
    if left_open:
        print(
            "homework grade: this system keeps students' processes apart in part "
            f"only, not by {', '.join(sorted(left_open))}; use the teachers' page's "
            "container",
            file=sys.stderr,
        )
    print(out / "grades.csv")
    return 1 if any("grader-error" in row["flags"] for row in rows) else 0


@contextlib.contextmanager
def handed_in(given: Path, out: Path):
    """Yield the folder of a class, its submissions, and files without an owner.

    `out` is the folder of results; inside the submissions it is skipped.
    """
    if not given.exists():
        raise NotebookError(f"no folder and no zip {given}")
    if out.resolve() == given.resolve():
        raise NotebookError("--out must not be the folder of the submissions")
    with tempfile.TemporaryDirectory(prefix="export-") as unpacked:
        folder = given if given.is_dir() else Path(unpacked)
        if folder is not given:
            opened_export(given, folder)
        found, ignored = submissions(folder, out)
        if not found:
            raise NotebookError(f"no submission in {given}")
        yield folder, found, ignored


def opened_export(given: Path, folder: Path) -> None:
    """Unpack an LMS's export; a truncated export is an error."""
    try:
        refused = unpack(given, folder, CLASS)
    except NotebookError as error:
        message = f"{error}; was the download interrupted? export it again"
        names = [f"\n  {name}" for name in names_in(given)]
        more = [f"\n  and {len(names) - NAMES} more"] if len(names) > NAMES else []
        said = [".", "\nNames that could be read:", *names[:NAMES], *more]
        message += "".join(said if names else ["."])
        raise NotebookError(message) from None
    if refused:
        print(
            f"homework grade: {given.name} names paths outside itself; left out",
            file=sys.stderr,
        )


def graded(homework: Homework, found: list, hidden: list, args) -> tuple:
    """The students' data in order, and the limits that this system cannot enforce."""
    from tokenbook.homework.pool import (
        grade_all,  # torch, which `make` and `report` do not need
    )

    lang = args.lang or class_language(found)
    log = Log(args.out, homework, args.seconds, args.lang or lang)
    stamps = {submission.student: log.stamp(submission) for submission in found}
    done = {} if args.again else {n: log.kept(stamp) for n, stamp in stamps.items()}
    done = {name: row for name, row in done.items() if row}
    log.write([*done.values()])
    todo = [submission for submission in found if submission.student not in done]
    left_open = set()
    bar = tqdm(total=len(found), initial=len(done), desc="grading", unit="student")
    with bar:
        limits = args.seconds, args.jobs, args.lang
        for result in grade_all(homework, todo, hidden, *limits):
            result.lang = result.lang or lang  # of a submission without a notebook
            row = write_feedback(result, homework, args.out)
            done[result.student] = {"stamp": stamps[result.student]} | row
            log.add(done[result.student])
            left_open |= result.open
            bar.update()
    rows = [done[submission.student] for submission in found]
    log.write(rows)
    return rows, left_open


def class_language(found: list, enough: int = 9) -> str:
    """The language of most notebooks among the first that can be read."""
    from tokenbook.homework.grading import language

    spoken = Counter()
    paths = [path for s in found for path in s.paths if not path.is_symlink()]
    files = (file for path in paths for file in (path, *path.rglob("*.ipynb")))
    for path in files:
        with contextlib.suppress(NotebookError, OSError):
            if path.is_file() and not path.is_symlink():
                spoken[language(read_notebook(path))] += 1
        if spoken.total() == enough:
            break
    return spoken.most_common(1)[0][0] if spoken else SPOKEN[0]


def report(args: argparse.Namespace) -> int:
    """Write the page about a class."""
    path = args.results / "report.html"
    save(path, page(results_of(args.results), args.lang))
    print(path)
    return 0


def gradebook(args: argparse.Namespace) -> int:
    """Fill a platform's export; return 1 if a student is in one list only."""
    rows = results_of(args.results)
    files, missing = fill(rows, args.results, args.export, args.column)
    for line in missing:
        print(f"homework gradebook: {line}", file=sys.stderr)
    print(*files, sep="\n")
    return 1 if missing else 0


def rubric(args: argparse.Namespace) -> int:
    """Write the form for marks by hand."""
    from tokenbook.homework.grading import language, notebook_of  # torch

    chapter = find_chapter(args.chapter)
    homework = read_homework(chapter)
    with handed_in(args.submissions, args.out) as (_, found, _):
        read = {one.student: notebook_of(one, homework) for one in found}
    words = {
        student: own_words(notebook, chapter, language(notebook)) if notebook else ""
        for student, notebook in read.items()
    }
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "rubric.html"
    save(path, form(chapter, words, args.lang, args.out / MANUAL))
    print(path)
    return 0


def similar(args: argparse.Namespace) -> int:
    """Print pairs of answers that are much alike."""
    from tokenbook.homework.grading import answers_of  # torch

    homework = read_homework(find_chapter(args.chapter))
    with handed_in(args.submissions, Path()) as (_, found, _):
        said = {one.student: answers_of(one, homework) for one in found}
    published = {exercise.id: exercise.solution for exercise in homework.exercises}
    for pair in alike(said, published):
        print(f"{pair.share:5.0%}  {pair.exercise:26} {pair.first}  {pair.second}")
    return 0


ACTIONS = {
    "make": make,
    "verify": verify_all,
    "grade": grade,
    "report": report,
    "rubric": rubric,
    "gradebook": gradebook,
    "similar": similar,
}
