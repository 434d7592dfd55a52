"""Homework: make students' notebooks from chapters, grade a class, report.

python -m tokenbook homework make 5 --lang zh --out DIR
python -m tokenbook homework make all --lang en --out DIR --start 2026-09-07
python -m tokenbook homework verify all
python -m tokenbook homework grade 5 SUBMISSIONS --out DIR [--lang zh] [--jobs 4]
python -m tokenbook homework report DIR --lang en
python -m tokenbook homework rubric 5 SUBMISSIONS --out DIR --lang en
python -m tokenbook homework gradebook DIR EXPORT.csv [--column WORDS]
python -m tokenbook homework similar 5 SUBMISSIONS
"""

import argparse
from datetime import date
from pathlib import Path

from tokenbook.homework.words import SPOKEN


def add_actions(parser: argparse.ArgumentParser) -> None:
    """Add the actions, ``make`` to ``similar``, to a command line."""
    actions = parser.add_subparsers(dest="action", required=True)
    making = actions.add_parser("make", help="write the student's notebook")
    making.add_argument("chapter", help="a chapter's notebook, its number, or all")
    making.add_argument("--lang", choices=SPOKEN, required=True)
    making.add_argument("--out", type=Path, required=True, metavar="DIR")
    making.add_argument(
        "--install",
        default="",
        metavar="SPEC",
        help="what pip installs where the package is missing, as on Colab",
    )
    making.add_argument(
        "--start",
        type=date.fromisoformat,
        metavar="DAY",
        help="with all: write a calendar whose first homework is set on this day",
    )
    making.add_argument(
        "--weeks", type=int, metavar="N", help="with --start: default one per homework"
    )
    making.set_defaults(run=said("make"))
    verifying = actions.add_parser(
        "verify", help="see that solutions get full marks and untouched files none"
    )
    verifying.add_argument("chapter", help="a chapter's notebook, its number, or all")
    verifying.add_argument("--more", type=Path, metavar="NOTEBOOK", help="see grade")
    verifying.add_argument(
        "--answers",
        type=Path,
        metavar="DIR",
        help="also grade stored wrong and right answers, one YAML file per chapter",
    )
    verifying.set_defaults(run=said("verify"))
    grading = actions.add_parser(
        "grade",
        help="grade a class: a folder or a zip, as Canvas and Moodle export it",
        description=(
            "Stopped, the same command goes on. Exit status: 0 when every submission "
            "has its grade (0 points and a flag where it is not readable), 1 when the "
            "grader itself failed on one, 2 when the command is wrong."
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
    grading.add_argument(
        "--lang",
        choices=SPOKEN,
        default="",
        help="of all feedback (default: that of each student's notebook)",
    )
    grading.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    grading.add_argument("--again", action="store_true", help="grade everybody anew")
    grading.set_defaults(run=said("grade"))
    reporting = actions.add_parser("report", help="one HTML page about a graded class")
    reporting.add_argument("results", type=Path, help="what grade wrote")
    reporting.add_argument("--lang", choices=SPOKEN, required=True)
    reporting.set_defaults(run=said("report"))
    marking = actions.add_parser(
        "rubric", help="a form for marks by hand: students' words beside the rubric"
    )
    marking.add_argument("chapter", help="a chapter's notebook or its number")
    marking.add_argument("submissions", type=Path)
    marking.add_argument("--out", type=Path, required=True, metavar="DIR")
    marking.add_argument("--lang", choices=SPOKEN, required=True, help="of the form")
    marking.set_defaults(run=said("rubric"))
    booking = actions.add_parser(
        "gradebook", help="fill the marks into what Canvas or Moodle exported"
    )
    booking.add_argument("results", type=Path, help="what grade wrote")
    booking.add_argument("export", type=Path, help="gradebook or grading worksheet")
    booking.add_argument(
        "--column", default="", metavar="WORDS", help="of Canvas: the assignment's name"
    )
    booking.set_defaults(run=said("gradebook"))
    comparing = actions.add_parser(
        "similar", help="list answers that are much alike: a hint, not a verdict"
    )
    comparing.add_argument("chapter", help="a chapter's notebook or its number")
    comparing.add_argument("submissions", type=Path)
    comparing.set_defaults(run=said("similar"))


def said(action: str):
    """The action of that name, loaded when it is called."""

    def run(args: argparse.Namespace) -> int:
        from tokenbook.homework import command

        return command.run(action, args)

    return run
