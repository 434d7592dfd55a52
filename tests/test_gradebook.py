"""Marks in the layouts of Canvas and Moodle, marks by hand, answers that are alike."""

import csv
import zipfile

import pytest

from tokenbook.homework.gradebook import fill
from tokenbook.homework.similar import alike
from tokenbook.languages.pages import NotebookError

CANVAS = """Student,ID,SIS Login ID,Section,Chapter 4 (811),Chapter 5 (812),Final Score
    Points Possible,,,,12,12,
"Fang, Wang",77,fang@x,A,9,,75
"Doe, Jane",78,jane@x,A,,,
"""
MOODLE = """Identifier,Full name,Email address,Status,Grade,Maximum grade,Comments
Participant 77,Fang Wang,f@x,Submitted,,12.00,
Participant 78,"Doe, Jane",j@x,No submission,,12.00,
"""
ROWS = [
    {"student": "fangwang", "id": "77", "score": 10.5},
    {"student": "nobody", "id": "9", "score": 3.0},
]


@pytest.fixture
def results(tmp_path):
    for row in ROWS:
        folder = tmp_path / "out" / "feedback" / row["student"]
        folder.mkdir(parents=True)
        (folder / "feedback.md").write_text(f"# {row['student']}\n", "utf-8")
    return tmp_path / "out"


def filled(results, name, text, column=""):
    export = results.parent / f"{name}.csv"
    export.write_text(text, "utf-8-sig")
    files, said = fill(ROWS, results, export, column)
    with files[0].open(encoding="utf-8") as file:
        return list(csv.DictReader(file)), files, said


def test_canvas_gets_its_fixed_columns_and_the_one_assignment(results):
    rows, files, said = filled(results, "canvas", CANVAS, "Chapter 5")
    assert [*rows[0]] == ["Student", "ID", "SIS Login ID", "Section", "Chapter 5 (812)"]
    marks = [row["Chapter 5 (812)"] for row in rows]
    assert marks == ["12", "10.5", ""]  # the line of points possible stays
    assert len(files) == 1
    assert said == [
        "graded, and not in canvas.csv: nobody",
        "in canvas.csv, and not graded: Doe, Jane",
    ]


def test_moodle_gets_all_its_columns_and_a_zip_of_feedback_in_the_folders_it_knows(
    results,
):
    rows, files, _ = filled(results, "moodle", MOODLE)
    assert [*rows[0]] == MOODLE.split("\n")[0].split(",")
    assert [row["Grade"] for row in rows] == ["10.5", ""]
    with zipfile.ZipFile(files[1]) as archive:
        (name,) = archive.namelist()
        assert name == "Fang Wang_77_assignsubmission_file/feedback.md"
        assert archive.read(name) == b"# fangwang\n"


def test_marks_by_hand_are_added(results):
    lines = "student,points\nfangwang,2\nfangwang,0.5\nfang wang,1\n"
    (results / "manual.csv").write_text(lines)
    rows, _, said = filled(results, "moodle", MOODLE)
    assert rows[0]["Grade"] == "13"
    assert "in manual.csv, and not graded: fang wang" in said


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("a,b\n1,2\n", "", "no gradebook of Canvas"),
        ("", "", "it has the columns none"),
        (CANVAS, "", "exactly one assignment, got ''; there are: Chapter 4"),
        (CANVAS, "Chapter", "exactly one assignment, got 'Chapter'"),
        (CANVAS, "Final", "exactly one assignment, got 'Final'"),
    ],
)
def test_an_export_that_does_not_fit_is_refused(results, text, column, said):
    with pytest.raises(NotebookError, match=said):
        filled(results, "export", text, column)


def test_a_mark_by_hand_that_is_no_number_is_named_by_its_line(results):
    (results / "manual.csv").write_text("student,points\nfangwang,two\n")
    with pytest.raises(NotebookError, match=r"manual.csv, line 2: points must be"):
        filled(results, "moodle", MOODLE)


# --- answers that are alike ---------------------------------------------------------

PUBLISHED = """
def returns(rewards, gamma):
    total, out = 0.0, []
    for r in reversed(rewards):
        total = r + gamma * total
        out.append(total)
    return out[::-1]
"""
ODD = """
def returns(rewards, gamma):
    n = len(rewards)
    table = [[gamma ** (s - t) if s >= t else 0 for s in range(n)] for t in range(n)]
    result = []
    for t in range(n):
        result.append(sum(table[t][s] * rewards[s] for s in range(n)))
    return result
"""
OTHER = """
def returns(rewards, gamma):
    if not rewards:
        return []
    rest = returns(rewards[1:], gamma)
    head = rewards[0] + (gamma * rest[0] if rest else 0)
    return [head, *rest]
"""


def pairs(**answers):
    said = {student: {"returns": code} for student, code in answers.items()}
    return [(p.first, p.second) for p in alike(said, {"returns": PUBLISHED})]


def test_an_odd_answer_with_other_names_is_found():
    copied = ODD.replace("table", "M").replace("result", "gains").replace("n)", "N)")
    assert pairs(ann=ODD, bob=OTHER, cat=copied) == [("ann", "cat")]


def test_what_is_published_or_what_many_wrote_is_nobodys():
    assert not pairs(ann=PUBLISHED, bob=PUBLISHED.replace("total", "sum_"))
    assert not pairs(**{f"s{n}": ODD for n in range(4)})


def test_no_python_is_alike_to_nothing():
    assert not pairs(ann="def (", bob="def (")
