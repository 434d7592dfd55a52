"""The page for teachers: its plans hold, and what it shows of grading is real."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tokenbook.homework.source import has_homework, needs_package, student_notebook
from tokenbook.languages import LANGUAGES, minutes
from tokenbook.languages.pages import chapter_number, one_language_page, read_notebook
from tokenbook.site.pages.course import plan

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "book" / "teachers.md").read_text(encoding="utf-8")
ADA = {  # one right answer, one with the wrong standard deviation
    "group_advantages": """def group_advantages(rewards):
    mean = sum(rewards) / len(rewards)
    std = (sum((r - mean) ** 2 for r in rewards) / len(rewards)) ** 0.5
    return [(r - mean) / std for r in rewards]""",
    "centred_by_group": """def centred_by_group(groups):
    return [[r - sum(g) / len(g) for r in g] for g in groups]""",
}


def homework(*args) -> None:
    command = [sys.executable, "-m", "tokenbook.homework", *map(str, args)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize("weeks", [7, 14])
def test_a_plan_holds_every_chapter_once_after_those_it_needs(weeks):
    rows = plan(ROOT)
    week = {row["number"]: row["weeks"][weeks] for row in rows}
    assert len(week) == len(rows) == len([*ROOT.glob("chapters/[0-9]*.ipynb")])
    assert sorted(set(week.values())) == [*range(1, weeks + 1)]
    for row in rows:
        assert all(week[need] <= week[row["number"]] for need in row["needs"])
    took = {
        chapter_number(path.name): minutes.road(minutes.sections(read_notebook(path)))
        for path in ROOT.glob("chapters/[0-9]*.ipynb")
    }
    load = [sum(took[n] for n in week if week[n] == w) for w in week.values()]
    assert max(load) <= {7: 100, 14: 60}[weeks], "too much to read in a week"


def test_the_chapters_that_may_be_left_out_are_needed_by_no_other():
    out = {16, 15, 12, 11}
    needed = {n for row in plan(ROOT) if row["number"] not in out for n in row["needs"]}
    assert not needed & out
    assert "16、15" in PAGE and "12、11" in PAGE and "16 and 15, then 12 and 11" in PAGE


def test_the_chapters_whose_public_checks_need_the_package_are_named():
    chapters = [
        p for p in sorted(ROOT.glob("chapters/[0-9]*.ipynb")) if has_homework(p)
    ]
    need = [p for p in chapters if needs_package(student_notebook(p, "en")["cells"])]
    assert [chapter_number(path.name) for path in need] == [6, 7, 8]
    assert "第 6 到 8 章的公开检查" in PAGE and "checks of chapters 6 to 8" in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_feedback_and_the_grades_of_the_page_are_what_the_grader_writes(
    lang, tmp_path
):
    homework("make", 0, "--lang", lang, "--out", tmp_path)
    (made,) = tmp_path.glob("*.ipynb")
    notebook = json.loads(made.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        for name, answer in ADA.items():
            if source.startswith(f"# exercise: {name}\n"):
                cell["source"] = f"# exercise: {name}\n{answer}"
    folder = tmp_path / "collected" / "ada"
    folder.mkdir(parents=True)
    (folder / made.name).write_text(json.dumps(notebook), encoding="utf-8")
    out = tmp_path / "results"
    homework("grade", 0, tmp_path / "collected", "--out", out)
    page = one_language_page(PAGE, lang)
    feedback = (out / "feedback" / "ada" / "feedback.md").read_text(encoding="utf-8")
    told = [
        line.strip() for line in re.sub("## (.*)", r"**\1**", feedback).splitlines()
    ]
    shown = [line.strip() for line in re.findall("^>(.*)$", page, re.M)]
    assert [line for line in shown if line] == [
        line for line in told[told.index(shown[0]) :] if line and "ipynb" not in line
    ][: len([line for line in shown if line])]
    (table,) = re.findall(r"^```text\n(student,.*?)^```", page, re.M | re.S)
    rows = (out / "grades.csv").read_text("utf-8-sig").splitlines()
    assert table.splitlines() == [row.replace(f",{lang},", ",en,") for row in rows]
