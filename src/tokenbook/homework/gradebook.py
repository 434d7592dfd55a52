"""Gradebooks of Canvas and Moodle, with the marks filled in.

Canvas imports its own export: ``Student``, ``ID``, ``SIS Login ID``, ``Section`` and
the columns of assignments. Moodle imports its offline grading worksheet, matched by
``Identifier``, and a zip of feedback files, a folder a student, named as the folders
of its export of submissions.
"""

import csv
import io
import re
import zipfile
from pathlib import Path

from tokenbook.homework.report import feedback_of, number
from tokenbook.homework.rubric import MANUAL, marked
from tokenbook.homework.words import RUBRIC
from tokenbook.languages.pages import NotebookError

FIXED = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")  # of Canvas
MOODLE = ("Identifier", "Full name", "Grade")


def fill(
    rows: list[dict], results: Path, export: Path, column: str
) -> tuple[list[Path], list[str]]:
    """Write the gradebook with marks, and for Moodle the zip of feedback files.

    Args:
        rows: the students' data, from ``results.jsonl``.
        results: the folder that grade wrote; files are written into it.
        export: the platform's file.
        column: of Canvas, words that occur only in this assignment's heading.

    Returns:
        The files written, and the students in only one of the two lists.

    Raises:
        NotebookError: an export of neither platform, or not exactly one column.
    """
    text = export.read_bytes().decode("utf-8-sig")
    reader = csv.DictReader(io.StringIO(text))
    heads, table = list(reader.fieldnames or []), list(reader)
    marks = {row["id"]: row for row in rows if row["id"]}
    if {"Student", "ID", "Section"} <= {*heads}:
        key, target = "ID", the_column(heads, column)
        kept = [head for head in heads if head in FIXED] + [target]
    elif {*MOODLE} <= {*heads}:
        key, target, kept = "Identifier", "Grade", heads
    else:
        raise NotebookError(
            f"{export.name} is no gradebook of Canvas (Student, ID, Section) and no "
            f"grading worksheet of Moodle ({', '.join(MOODLE)}); it has the columns "
            f"{', '.join(heads[:8]) or 'none'}"
        )
    by_hand, filled = marked(results / MANUAL), set()
    for line in table:
        if row := marks.get(number_at(line[key])):
            own = by_hand.get(row["student"], [])
            line[target] = number(row["score"] + sum(mark["points"] for mark in own))
            filled.add(row["id"])
    written = [results / f"gradebook-{export.stem}.csv"]
    with open(written[0], "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, kept, extrasaction="ignore")
        out.writeheader()
        out.writerows(table)
    if key == "Identifier":
        written.append(feedback_files(rows, table, results, by_hand))
    names = [row["student"] for row in rows if row["id"] not in filled]
    missing = [x for x in table if number_at(x[key]) not in {"", *filled}]
    left = [line.get("Student") or line.get("Full name") or "" for line in missing]
    said = [f"graded, and not in {export.name}: {name}" for name in names]
    graded = {row["student"] for row in rows}
    said += [f"in {MANUAL}, and not graded: {n}" for n in by_hand if n not in graded]
    said += [f"in {export.name}, and not graded: {name.strip()}" for name in left]
    return written, said


def number_at(text: str) -> str:
    """Return the number at the end of an identifier, empty without one.

    >>> number_at("Participant 71"), number_at("")
    ('71', '')
    """
    found = re.search(r"\d+$", text or "")
    return found[0] if found else ""


def the_column(heads: list[str], words: str) -> str:
    """Return the heading of the assignment; Canvas ends it with its number."""
    found = [h for h in heads if re.search(r"\(\d+\)$", h) and words in h]
    if len(found) != 1:
        listed = ", ".join(h for h in heads if re.search(r"\(\d+\)$", h)) or "none"
        raise NotebookError(
            f"--column must be words of exactly one assignment, got {words!r}; "
            f"there are: {listed}"
        )
    return found[0]


def feedback_files(
    rows: list[dict], table: list[dict], results: Path, by_hand: dict
) -> Path:
    """Write the zip that Moodle takes as feedback files, with marks by hand in them."""
    names = {number_at(line["Identifier"]): line["Full name"] for line in table}
    path = results / "feedback-moodle.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for row in rows:
            if row["id"] in names:
                folder = f"{names[row['id']]}_{row['id']}_assignsubmission_file"
                file = feedback_of(row["student"], results) / "feedback.md"
                more = told(by_hand.get(row["student"], []), row["lang"])
                archive.writestr(
                    f"{folder}/feedback.md", file.read_text("utf-8") + more
                )
    return path


def told(marks: list[dict], lang: str) -> str:
    """Return the text on marks by hand for a student, if there are any."""
    if not marks:
        return ""
    points = number(sum(mark["points"] for mark in marks))
    lines = [f"\n## {RUBRIC['by hand'][lang].format(points=points)}\n"]
    for mark in marks:
        words = (number(mark["points"]), mark.get("comment"))
        lines.append(f"- {' · '.join(filter(None, words))}")
    return "\n".join(lines) + "\n"
