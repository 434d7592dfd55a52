"""Homework: make a student's notebook from a chapter, grade a folder of them.

python -m tokencredit homework make 5 --lang zh --out DIR
python -m tokencredit homework grade 5 SUBMISSIONS --out DIR [--more private.ipynb]
"""

import argparse
import json
import sys
from pathlib import Path

from homework.words import SPOKEN


def add_actions(parser: argparse.ArgumentParser) -> None:
    """Add ``make`` and ``grade`` to a command line."""
    actions = parser.add_subparsers(dest="action", required=True)
    making = actions.add_parser("make", help="write the student's notebook")
    making.add_argument("chapter", help="a chapter's notebook or its number")
    making.add_argument("--lang", choices=SPOKEN, required=True)
    making.add_argument("--out", type=Path, required=True, metavar="DIR")
    making.add_argument(
        "--install",
        default="",
        metavar="SPEC",
        help="what pip installs where the package is missing, as on Colab",
    )
    making.set_defaults(run=make)
    grading = actions.add_parser(
        "grade",
        help="grade a folder with one subfolder per student",
        description=(
            "Exit status: 0 when every submission has its grade (0 points and a flag "
            "where it is not readable), 1 when the grader itself failed on one, 2 when "
            "the command is wrong."
        ),
    )
    grading.add_argument("chapter", help="a chapter's notebook or its number")
    grading.add_argument("submissions", type=Path)
    grading.add_argument("--out", type=Path, required=True, metavar="DIR")
    grading.add_argument(
        "--more", type=Path, metavar="NOTEBOOK", help="your own checks, never published"
    )
    grading.add_argument(
        "--seconds",
        type=float,
        default=10.0,
        help="wall-clock limit per exercise (default: %(default)g)",
    )
    grading.set_defaults(run=grade)


def make(args: argparse.Namespace) -> int:
    """Write one student notebook."""
    from homework.source import NotebookError, find_chapter, student_notebook

    try:
        chapter = find_chapter(args.chapter)
        notebook = student_notebook(chapter, args.lang, args.install)
        args.out.mkdir(parents=True, exist_ok=True)
    except (NotebookError, OSError) as error:
        print(f"homework make: {error}", file=sys.stderr)
        return 2
    path = args.out / f"{chapter.stem}_{args.lang}.ipynb"
    text = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")
    print(path)
    return 0


def grade(args: argparse.Namespace) -> int:
    """Grade a folder; see the exit status in ``--help``."""
    from homework import report
    from homework.grading import grade_folder
    from homework.source import (
        NotebookError,
        add_private,
        find_chapter,
        read_homework,
    )

    try:
        chapter = find_chapter(args.chapter)
        homework = read_homework(chapter)
        if args.more:
            add_private(homework, args.more)
        if not args.submissions.is_dir():
            raise NotebookError(f"no folder {args.submissions}")
        if args.out.resolve() == args.submissions.resolve():
            raise NotebookError("--out must not be the folder of the submissions")
        args.out.mkdir(parents=True, exist_ok=True)
        hidden = [chapter.parent.parent, *([args.more] if args.more else [])]
        results, isolation = grade_folder(
            homework, args.submissions, args.out, hidden, args.seconds
        )
    except (NotebookError, OSError) as error:
        print(f"homework grade: {error}", file=sys.stderr)
        return 2
    report.write(results, homework, args.out)
    points = sum(exercise.points for exercise in homework.exercises)
    for result in results:
        flags = " ".join(sorted(result.flags))
        score = f"{result.total:g}/{points:g}"
        line = f"{score:>8}  {result.student}" + (f"  [{flags}]" if flags else "")
        print(line.encode(errors="backslashreplace").decode())
    missing = [name for name, works in isolation.items() if not works]
    if missing:
        print(
            "homework grade: this system keeps students' processes apart in part "
            f"only, not by {', '.join(missing)}; use the teachers' page's container",
            file=sys.stderr,
        )
    print(args.out / "grades.csv")
    return 1 if any("grader-error" in result.flags for result in results) else 0
