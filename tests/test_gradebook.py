"""Marks in the layouts of Canvas and Moodle, marks by hand, answers that are alike."""

import csv
import json
import zipfile
from pathlib import Path

import pytest

from tokenbook.__main__ import main
from tokenbook.homework.gradebook import fill
from tokenbook.homework.rubric import rubrics
from tokenbook.homework.similar import alike
from tokenbook.homework.source import student_notebook
from tokenbook.languages import LANGUAGES
from tokenbook.languages.pages import NotebookError

CHAPTERS = sorted((Path(__file__).parents[1] / "chapters").glob("*.ipynb"))

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
    {"student": "fangwang", "id": "77", "score": 10.5, "lang": "en"},
    {"student": "nobody", "id": "9", "score": 3.0, "lang": "en"},
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
    lines = "student,points,item,comment\nfangwang,2,6.1,says why\nfangwang,0.5,,\n"
    lines += "fang wang,1,,\n"
    (results / "manual.csv").write_text(lines)
    rows, files, said = filled(results, "moodle", MOODLE)
    assert rows[0]["Grade"] == "13"
    with zipfile.ZipFile(files[1]) as archive:
        told = archive.read(*archive.namelist()).decode()
    assert told == "# fangwang\n\n## Marked by hand: 2.5\n\n- 2 · says why\n- 0.5\n"
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


@pytest.mark.parametrize("line", ["fangwang,two", "fangwang,nan", "fangwang,", ",1"])
def test_a_mark_by_hand_that_is_no_number_is_named_by_its_line(results, line):
    (results / "manual.csv").write_text(f"student,points\n{line}\n")
    with pytest.raises(NotebookError, match=r"manual.csv, line 2: it must have"):
        filled(results, "moodle", MOODLE)


# --- the form for marks by hand ------------------------------------------------------


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_every_chapter_has_a_rubric_and_both_editions_give_the_same_points(
    chapter, lang
):
    points = [[x.points for x in items] for items in rubrics(chapter, lang).values()]
    other = rubrics(chapter, "zh" if lang == "en" else "en").values()
    assert points == [[x.points for x in items] for items in other]
    assert all(3 <= sum(of_one) <= 5 for of_one in points)


def test_the_points_of_chapter_3_are_those_in_its_brackets():
    five, six = rubrics(CHAPTERS[3], "en").values()
    assert [x.id for x in five] == ["5.1", "5.2", "5.3"]
    assert [x.points for x in six] == [2, 1, 1, 1]  # its last line gives none


def handed_in(folder, words):
    """A class whose students added these cells to the notebook of chapter 5."""
    folder.mkdir()
    for student, text in words.items():
        notebook = student_notebook(CHAPTERS[5], "en")
        cell = {"cell_type": "markdown", "id": "own", "metadata": {}, "source": text}
        notebook["cells"].append(cell)
        (folder / f"{student}.ipynb").write_text(json.dumps(notebook), "utf-8")
    return folder


def made(tmp_path, words):
    given = tmp_path / "given"
    given = given if given.exists() else handed_in(given, words)
    command = ["homework", "rubric", "5", str(given), "--out", str(tmp_path / "out")]
    assert main([*command, "--lang", "en"]) == 0
    return (tmp_path / "out" / "rubric.html").read_text("utf-8")


def test_the_form_shows_what_students_wrote_and_nothing_of_the_task(tmp_path):
    page = made(tmp_path, {"ann": "The gain is <b>bias</b>.", "bob": " "})
    assert "<pre>The gain is &lt;b&gt;bias&lt;/b&gt;.</pre>" in page
    assert "<pre>No words were written.</pre>" in page
    assert page.count('<input type="checkbox"') == 2 * 3
    for name in ("lang", "how", "save", "title", "students", "said"):
        assert f"{{{name}}}" not in page


def test_the_form_made_again_has_the_ticks_of_the_last_sitting(tmp_path):
    made(tmp_path, {"ann": "bias"})
    lines = "student,points,item,comment\nann,1,6.2,\nann,-0.5,,late\n"
    (tmp_path / "out" / "manual.csv").write_text(lines, "utf-8")
    page = made(tmp_path, {})
    ticked = [part for part in page.split("<label>") if " checked" in part]
    assert len(ticked) == 1 and 'name="6.2"' in ticked[0]
    assert 'value="-0.5"' in page and 'value="late"' in page


def test_results_among_the_submissions_are_none_of_them(tmp_path):
    given = handed_in(tmp_path / "given", {"ann": "bias"})
    handed_in(given / "out", {"old": "an old copy"})
    command = ["homework", "rubric", "5", str(given), "--lang", "en", "--out"]
    assert main([*command, str(given / "out")]) == 0
    page = (given / "out" / "rubric.html").read_text("utf-8")
    assert page.count("<section") == 1 and 'data-student="ann"' in page
    assert main([*command, str(given)]) == 2


def test_a_notebook_without_a_rubric_is_refused(tmp_path, capsys):
    sample = Path(__file__).parent / "homework" / "90_sample.ipynb"
    given = handed_in(tmp_path / "given", {"ann": "words"})
    command = ["homework", "rubric", str(sample), str(given), "--out", str(tmp_path)]
    assert main([*command, "--lang", "en"]) == 2
    assert "90_sample.ipynb has no rubric" in capsys.readouterr().err


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
