"""A class of 200 in a zip: every hostile submission, and the rest as an LMS names them.

    python tests/class_of_200.py [--jobs N]

Prints what went wrong (nothing may), and how long a submission took.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from test_class import ZIPS
from test_homework import ANSWERS, SAMPLE, WRONG, submission, table, write_class

from tokenbook.__main__ import main
from tokenbook.homework import grading
from tokenbook.homework.intake import submissions
from tokenbook.homework.source import read_homework

STUDENTS = 200


def build(folder: Path) -> dict[str, tuple]:
    """Write the class; what each student must get: two scores, flags among others."""
    write_class(folder)
    expected = {name.removeprefix("'"): row for name, *row in table()}
    for name, (data, points, flag) in ZIPS.items():
        (folder / f"zip {name}").mkdir()
        (folder / f"zip {name}" / "a.zip").write_bytes(data)
        clip = None if points is None else 2 if points else 0
        expected[f"zip {name}"] = (points, clip, flag)
    right = json.dumps(submission(), ensure_ascii=False)
    wrong = json.dumps(submission(WRONG), ensure_ascii=False)
    for number in range(STUDENTS - len(submissions(folder, folder / "out")[0])):
        text, points = (right, 3) if number % 3 else (wrong, 0)
        if number % 2:
            name = f"student{number}_{number}_{number + 900}_hw.ipynb"
            student = f"student{number}_{number}"
        else:
            name = f"学生 {number}_{number}_assignsubmission_file/作业.ipynb"
            student = f"学生 {number}_{number}"
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        expected[student] = (points, 2, "")
    return expected


def run(jobs: int) -> int:
    """Grade the class, and compare every mark."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "in"), Path(folder, "out")
        given.mkdir()
        expected = build(given)
        started = time.perf_counter()
        words = ["homework", "grade", str(SAMPLE), str(given), "--out", str(out)]
        status = main([*words, "--jobs", str(jobs)])
        spent = time.perf_counter() - started
        rows = [json.loads(x) for x in (out / "results.jsonl").read_text().splitlines()]
    for row in rows:
        *points, flags = expected.get(row["student"], (None, None, ""))
        scores = [exercise["score"] for exercise in row["exercises"]]
        pairs = zip(points, scores, strict=True)
        if any(must not in (None, is_) for must, is_ in pairs):
            wrong.append((row["student"], points, scores))
        if (
            not set(flags.split()) <= set(row["flags"])
            or "grader-error" in row["flags"]
        ):
            wrong.append((row["student"], flags, row["flags"]))
    print(f"{len(rows)} submissions in {spent:.0f} s, exit status {status}")
    print(f"{len(wrong)} wrong", *wrong, sep="\n")
    return 1 if wrong or status or len(rows) != STUDENTS else 0


def seconds_each(number: int) -> None:
    """Time of single submissions of the table, in this process."""
    homework, spent = read_homework(SAMPLE), []
    with tempfile.TemporaryDirectory() as folder:
        for name, (answer, *_) in list(ANSWERS.items())[:number]:
            path = Path(folder, name, "a.ipynb")
            path.parent.mkdir()
            path.write_text(json.dumps(submission(answer)), encoding="utf-8")
        found, _ = submissions(Path(folder), Path(folder, "out"))
        with grading.opened(homework, [folder], 6, None) as sandbox:
            sandbox.student(0).end()
            for given in found:
                clock = time.perf_counter()
                grading.grade_student(given, homework, sandbox)
                spent.append(time.perf_counter() - clock)
    print(f"{len(spent)} submissions, median {median(spent):.2f} s each on one core")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2)
    jobs = parser.parse_args().jobs
    seconds_each(len(ANSWERS))
    sys.exit(run(jobs))
