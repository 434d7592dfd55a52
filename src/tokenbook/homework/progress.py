"""The log of a class's grading: one line per student, written at once."""

import hashlib
import json
import os
from pathlib import Path

from tokenbook.homework.intake import NOTEBOOK, Submission
from tokenbook.homework.report import feedback_of
from tokenbook.homework.source import Homework
from tokenbook.languages.pages import NotebookError


class Log:
    """``results.jsonl``: every student's data, with a stamp of its inputs.

    A student with the same stamp is not graded again: the same files, exercises,
    checks, limit, language and grader. A truncated line is ignored.
    """

    def __init__(self, out: Path, homework: Homework, seconds: float, lang: str):
        self.path, self.out = out / "results.jsonl", out
        own = sorted(Path(__file__).parent.glob("*.py"))
        self.grader = [
            homework,
            seconds,
            lang,
            *(file.read_text("utf-8") for file in own),
        ]
        self.grader = repr(self.grader).encode()
        self.rows = {row["stamp"]: row for row in read(self.path)}

    def stamp(self, submission: Submission) -> str:
        """A hash of everything that decides a submission's result."""
        found = hashlib.sha256(self.grader)
        found.update(repr((submission.student, sorted(submission.flags))).encode())
        for path in submission.paths:
            inside = sorted(path.rglob("*")) if not path.is_symlink() else []
            for file in (path, *inside):
                found.update(f"{file.relative_to(path.parent)!r}".encode())
                if file.is_symlink() or not file.is_file():
                    continue
                size = file.stat().st_size
                found.update(f"{size} {file.stat().st_mtime}".encode())
                if size <= NOTEBOOK:
                    found.update(file.read_bytes())
        return found.hexdigest()

    def kept(self, stamp: str) -> dict | None:
        """The data under a stamp, if the student's feedback still exists."""
        row = self.rows.get(stamp)
        if row and (feedback_of(row["student"], self.out) / "feedback.md").exists():
            return None if "grader-error" in row["flags"] else row
        return None

    def add(self, row: dict) -> None:
        """Append one student's data to the file."""
        with open(self.path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(json.dumps(row) + "\n")

    def write(self, rows: list[dict]) -> None:
        """Replace the log by these rows."""
        new = self.path.with_suffix(".new")
        new.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        os.replace(new, self.path)


def read(path: Path) -> list[dict]:
    """The complete rows of a log; none without a file."""
    found = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return [row for row in found if isinstance(row, dict) and "stamp" in row]


def results_of(folder: Path) -> list[dict]:
    """The rows of a folder of results; NotebookError where nothing was graded."""
    if rows := read(folder / "results.jsonl"):
        return rows
    raise NotebookError(f"{folder} holds no results: grade into it first")
