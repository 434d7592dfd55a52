"""A class as an LMS exports it: nobody is lost, no zip reaches this machine."""

import csv
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from datetime import date
from functools import partial
from glob import glob
from pathlib import Path

import pytest
import yaml
from test_homework import CENTRED, ROOT, SAMPLE, WRONG, lose_metadata, submission

from tokenbook.__main__ import main
from tokenbook.homework import intake, page, schedule
from tokenbook.homework.grading import blank, grade_student
from tokenbook.homework.intake import Submission, submissions, unpack
from tokenbook.homework.pool import grade_all
from tokenbook.homework.progress import read
from tokenbook.homework.sandbox import Sandbox
from tokenbook.homework.source import find_chapter, read_homework, student_notebook
from tokenbook.languages import foreign
from tokenbook.languages.pages import NotebookError


def text(notebook: dict) -> str:
    return json.dumps(notebook, ensure_ascii=False)


RIGHT, BAD = text(submission()), text(submission(WRONG))
CANVAS = {
    "doejane_12_345_hw.ipynb": RIGHT,
    "doejane_13_346_hw.ipynb": BAD,  # another person of the same name
    "leebo_LATE_14_347_hw-1.ipynb": RIGHT,
    "王芳_15_348_作业.ipynb": RIGHT,
    "anon_Ab3xY_349_hw.ipynb": RIGHT,
    "roe_16_350_essay.docx": "PK",
}
MOODLE = {
    "Jane Doe_71_assignsubmission_file/hw.ipynb": RIGHT,
    "Jane Doe_71_assignsubmission_onlinetext/onlinetext.html": "see the file",
    "李 四_72_assignsubmission_file_/week 1/作业.ipynb": BAD,
    "Ann O_73_assignsubmission_file_hw.ipynb": RIGHT,
}


def write(folder: Path, files: dict) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def zipped(files: dict) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return held.getvalue()


def grade(given: Path, out: Path, *more: str, chapter=SAMPLE) -> int:
    words = ["homework", "grade", str(chapter), str(given), "--out", str(out)]
    return main([*words, *more])


def grades(out: Path) -> dict[str, dict]:
    table = (out / "grades.csv").read_text("utf-8-sig").splitlines()
    return {row["student"]: row for row in csv.DictReader(table)}


def names(folder: Path) -> dict[str, list[str]]:
    found, _ = submissions(folder, folder / "out")
    return {s.student: [path.name for path in s.paths] for s in found}


# --- who handed in ---------------------------------------------------------------


def test_canvas_names_give_students_ids_and_lateness(tmp_path):
    found, ignored = submissions(write(tmp_path, CANVAS), tmp_path / "out")
    known = {s.student: (s.id, s.flags) for s in found}
    assert known == {
        "doejane_12": ("12", {"same-name"}),
        "doejane_13": ("13", {"same-name"}),
        "leebo_14": ("14", {"late"}),
        "王芳_15": ("15", set()),
        "anon_Ab3xY": ("Ab3xY", set()),
        "roe_16": ("16", set()),
    }
    assert not ignored


def test_moodle_names_give_one_student_for_several_folders(tmp_path):
    assert names(write(tmp_path, MOODLE)) == {
        "Ann O_73": ["Ann O_73_assignsubmission_file_hw.ipynb"],
        "Jane Doe_71": [
            "Jane Doe_71_assignsubmission_file",
            "Jane Doe_71_assignsubmission_onlinetext",
        ],
        "李 四_72": ["李 四_72_assignsubmission_file_"],
    }


@pytest.mark.parametrize("wrap", ["Assignment 5/", "a/b/"])
def test_wrappers_and_sections_are_gone_through(tmp_path, wrap):
    plain = {"ada/a.ipynb": RIGHT, "emmy/x/b.ipynb": RIGHT}
    write(tmp_path / "one", {wrap + name: c for name, c in plain.items()})
    assert set(names(tmp_path / "one")) == {"ada", "emmy"}
    write(tmp_path / "two", {f"A/{wrap}{n}": c for n, c in MOODLE.items()})
    write(tmp_path / "two", {f"A/{wrap}{n}": c for n, c in CANVAS.items()})
    assert len(names(tmp_path / "two")) == 9
    sections = {f"section {i % 2}/ada_{i}_2_h.ipynb": RIGHT for i in range(4)}
    assert len(names(write(tmp_path / "three", sections))) == 4


def test_one_student_with_folders_of_their_own_stays_one(tmp_path):
    write(tmp_path, {"ada/week 5/a.ipynb": RIGHT, "emmy/hw_1_2_final.ipynb": RIGHT})
    assert set(names(tmp_path)) == {"ada", "emmy"}


def test_two_submissions_under_one_name_are_both_graded_and_flagged(tmp_path):
    files = {
        "ada.ipynb": RIGHT,
        "ada/a.ipynb": BAD,
        "Ada.zip": zipped({"b.ipynb": BAD}),
    }
    files |= {"José/a.ipynb": RIGHT, "Jose\u0301/a.ipynb": BAD, "emmy/a.ipynb": RIGHT}
    found, _ = submissions(write(tmp_path, files), tmp_path / "out")
    flagged = {s.student for s in found if "same-name" in s.flags}
    assert flagged == {"ada.ipynb", "ada", "Ada", "José", "Jose\u0301"}
    assert len(found) == 6


def test_loose_files_that_are_nobodys_are_named(tmp_path, capsys):
    write(tmp_path / "in", {"ada/a.ipynb": RIGHT, "roster.xlsx": "PK"})
    assert grade(tmp_path / "in", tmp_path / "out") == 0
    assert "nobody's, left out: roster.xlsx" in capsys.readouterr().err


# --- zips ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_class_in_a_zip_is_graded_like_its_folder(tmp_path):
    students = CANVAS | MOODLE | {"zed_99_1_all.zip": zipped({"x/hw.ipynb": RIGHT})}
    write(tmp_path / "folder", students)
    (tmp_path / "class.zip").write_bytes(zipped(students))
    assert grade(tmp_path / "folder", tmp_path / "a") == 0
    assert grade(tmp_path / "class.zip", tmp_path / "b", "--jobs", "2") == 0
    for name in (
        "grades.csv",
        *(f"feedback/{x}/feedback.md" for x in grades(tmp_path / "a")),
    ):
        assert (tmp_path / "a" / name).read_bytes() == (
            tmp_path / "b" / name
        ).read_bytes()
    rows = grades(tmp_path / "b")
    assert {name: row["total"] for name, row in rows.items()} == {
        "Ann O_73": "5",
        "Jane Doe_71": "5",
        "anon_Ab3xY": "5",
        "doejane_12": "5",
        "doejane_13": "2",
        "leebo_14": "5",
        "roe_16": "0",
        "zed_99": "5",
        "李 四_72": "2",
        "王芳_15": "5",
    }
    assert rows["roe_16"]["flags"] == "no-notebook"
    assert rows["leebo_14"]["flags"] == "late" and rows["leebo_14"]["id"] == "14"


def bomb(size: int) -> bytes:
    return zipped({"a.ipynb": bytes(size)})


def linked() -> bytes:
    link = zipfile.ZipInfo("a.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zipped({link: str(SAMPLE)})


def many_names() -> bytes:
    return zipped({f"{i}.txt": "" for i in range(intake.ENTRIES + 1)})


def encrypted() -> bytes:
    data = bytearray(zipped({"a.ipynb": RIGHT}))
    data[6] |= 1
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


ZIPS = {  # name: (a student's zip, points of `centred`, flag)
    "good": (zipped({"week 5/hw.ipynb": RIGHT, "readme.txt": "x"}), 3, ""),
    "of a Mac": (zipped({"hw.ipynb": RIGHT, "__MACOSX/._hw.ipynb": "x"}), 3, ""),
    "two in one": (
        zipped({"a.ipynb": RIGHT, "b.ipynb": BAD}),
        None,
        "several-notebooks",
    ),
    "bomb": (bomb(2**30), 0, "unreadable"),
    "many notebooks of 19 MB": (
        zipped({f"{i}.ipynb": bytes(19 * 2**20) for i in range(6)}),
        0,
        "unreadable",
    ),
    "too many entries": (many_names(), 0, "unreadable"),
    "up and out": (
        zipped({"../../evil.ipynb": BAD, "/tmp/evil.ipynb": BAD, "a.ipynb": RIGHT}),
        3,
        "outside-zip",
    ),
    "up and out, Windows": (
        zipped({"..\\evil.ipynb": BAD, "C:\\evil.ipynb": BAD, "a.ipynb": RIGHT}),
        3,
        "outside-zip",
    ),
    "a link": (linked(), 0, "link no-notebook"),
    "cut short": (zipped({"a.ipynb": RIGHT})[:-40], 0, "unreadable"),
    "not a zip": (b"PK homework", 0, "unreadable"),
    "damaged": (
        zipped({"a.ipynb": RIGHT}).replace(b"PK\x03\x04", b"PK\x03\x05"),
        0,
        "unreadable",
    ),
    "encrypted": (encrypted(), 0, "unreadable"),
    "a zip in a zip": (zipped({"b.zip": zipped({"a.ipynb": RIGHT})}), 0, "no-notebook"),
    "empty": (zipped({}), 0, "no-notebook"),
    "one path twice": (zipped({"a/h.ipynb": RIGHT, "a": "file", "a/h": "x"}), 3, ""),
}


@pytest.fixture(scope="module")
def sample():
    """The sample's homework and a sandbox for it."""
    homework = read_homework(SAMPLE)
    with Sandbox(10, ["torch"]) as sandbox:
        yield homework, sandbox


@pytest.mark.parametrize("name", ZIPS)
def test_a_students_zip_is_opened_within_bounds(sample, name, tmp_path):
    data, points, flag = ZIPS[name]
    (tmp_path / "a.zip").write_bytes(data)
    given = Submission("ada", "ada", [tmp_path / "a.zip"])
    result = grade_student(given, *sample)
    if points is not None:
        assert result.score("centred") == points, result
    assert result.flags == set(flag.split())
    assert [*tmp_path.iterdir()] == [tmp_path / "a.zip"]
    assert not Path("/tmp/evil.ipynb").exists()


def test_a_bomb_costs_neither_memory_nor_disk(tmp_path):
    (tmp_path / "a.zip").write_bytes(bomb(2**30))
    unpack(tmp_path / "a.zip", tmp_path / "in", intake.STUDENT)
    written = sum(f.stat().st_size for f in (tmp_path / "in").iterdir())
    assert written == intake.NOTEBOOK + 1


def test_chinese_names_of_old_windows_zips_are_read(tmp_path):
    member = zipfile.ZipInfo("x/张三_7_8_h.ipynb")
    data = zipped({member: RIGHT}).replace("张三".encode(), b"\xd5\xc5\xc8\xfd??")
    old = bytearray(data)
    for mark, place in ((b"PK\x03\x04", 7), (b"PK\x01\x02", 9)):
        old[old.index(mark) + place] &= 0xF7  # the bit that says UTF-8
    (tmp_path / "a.zip").write_bytes(old)
    unpack(tmp_path / "a.zip", tmp_path / "in", intake.CLASS)
    assert set(names(tmp_path / "in" / "x")) == {"张三??_7"}


@pytest.mark.parametrize("end", [10, -1, -200])
def test_an_interrupted_export_is_refused_whole(tmp_path, capsys, end):
    (tmp_path / "class.zip").write_bytes(zipped(CANVAS)[:end])
    assert grade(tmp_path / "class.zip", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert "class.zip is not a whole zip; was the download interrupted?" in said
    assert not (tmp_path / "out").exists()


def stored(files: dict) -> bytes:
    """A zip whose entries are not compressed, as of zips and by some exports."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return held.getvalue()


@pytest.mark.parametrize("first", [True, False])
def test_a_cut_export_with_a_students_whole_zip_is_refused_with_its_names(
    tmp_path, capsys, first
):
    own = {"lee_2_20_hw.zip": zipped({"hw/09.ipynb": RIGHT})}
    files = {"ada_1_10_hw.ipynb": RIGHT, "王芳_3_30_hw.ipynb": RIGHT}
    files = own | files if first else files | own
    data = stored(files | {"zoe_4_40_hw.ipynb": RIGHT})
    cut = data[: data.index(b"zoe_4_40_hw.ipynb") + 500]
    (tmp_path / "class.zip").write_bytes(cut)
    assert zipfile.is_zipfile(tmp_path / "class.zip")  # the student's, inside
    assert grade(tmp_path / "class.zip", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert "class.zip is not a whole zip; was the download interrupted?" in said
    assert {line.strip() for line in said.splitlines()[2:]} == {
        *files,
        "zoe_4_40_hw.ipynb",
    }
    assert not (tmp_path / "out").exists()


def test_an_export_that_names_paths_outside_says_so(tmp_path, capsys):
    files = {"../evil_1_2_h.ipynb": RIGHT, "ada_3_4_h.ipynb": RIGHT}
    (tmp_path / "in" / "x").mkdir(parents=True)
    (tmp_path / "in" / "x" / "class.zip").write_bytes(zipped(files))
    assert grade(tmp_path / "in" / "x" / "class.zip", tmp_path / "out") == 0
    assert "names paths outside itself; left out" in capsys.readouterr().err
    assert set(grades(tmp_path / "out")) == {"ada_3"}


# --- which notebook counts ------------------------------------------------------


HALF = text(submission(clip="raise NotImplementedError"))
BLANK = text(student_notebook(SAMPLE, "zh"))


def dated(files: list[tuple[str, str, int]]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content, day in files:
            archive.writestr(zipfile.ZipInfo(name, (2026, 9, day, 8, 0, 0)), content)
    return held.getvalue()


@pytest.mark.parametrize(
    ("files", "total"),
    [
        ([("a.ipynb", RIGHT, 1), ("b.ipynb", BLANK, 9)], 5),
        ([("a.ipynb", BLANK, 9), ("b.ipynb", RIGHT, 1)], 5),
        ([("a.ipynb", RIGHT, 1), ("b.ipynb", HALF, 9)], 5),
        ([("a.ipynb", RIGHT, 9), ("b.ipynb", BAD, 1)], 5),
        ([("a.ipynb", RIGHT, 1), ("b.ipynb", BAD, 9)], 2),
        ([("a.ipynb", BAD, 5), ("a-2.ipynb", BAD, 5), ("a-10.ipynb", RIGHT, 5)], 5),
    ],
)
@pytest.mark.parametrize("form", ["folder", "zip"])
def test_the_fullest_then_latest_attempt_counts_and_a_blank_one_never(
    sample, tmp_path, files, total, form
):
    if form == "zip":
        (tmp_path / "a.zip").write_bytes(dated(files))
    for name, content, day in files if form == "folder" else ():
        write(tmp_path, {name: content})
        os.utime(tmp_path / name, (day * 86400, day * 86400))
    given = Submission("ada", "ada", [*tmp_path.iterdir()])
    result = grade_student(given, *sample)
    assert result.total == total and result.flags == {"several-notebooks"}


@pytest.mark.parametrize(
    "name", ["hw.ipynb.txt", "hw.ipynb.json", "HW.IPYNB", "a.ipynb (1).txt"]
)
@pytest.mark.parametrize("code", ["utf-8", "utf-8-sig", "utf-16", "gbk"])
def test_a_notebook_is_read_whatever_a_browser_or_an_editor_made_of_it(
    sample, tmp_path, name, code
):
    data = RIGHT.replace("raise", "raise  # 标准差").encode(code)
    write(
        tmp_path / "in",
        {f"ada/{name}": data, f"bo_1_2_{name}": data, f"cy-{name}": data},
    )
    found, ignored = submissions(tmp_path / "in", tmp_path / "out")
    assert [s.student for s in found] == ["ada", "bo_1", "cy-" + name.partition(".")[0]]
    assert not ignored
    given = Submission("ada", "ada", [tmp_path / "in" / "ada"])
    assert grade_student(given, *sample).total == 5
    (tmp_path / "a.zip").write_bytes(zipped({name: data}))
    given = Submission("ada", "ada", [tmp_path / "a.zip"])
    assert grade_student(given, *sample).total == 5


# --- the language of the class -----------------------------------------------------


def feedback(out: Path, student: str) -> str:
    return (out / "feedback" / student / "feedback.md").read_text("utf-8")


ENGLISH = text(submission(lang="en"))


def test_who_has_no_readable_notebook_reads_the_language_of_the_class(tmp_path):
    for number in range(2):
        write(tmp_path / "in", {f"en{number}/a.ipynb": ENGLISH})
    write(tmp_path / "in", {"zh/a.ipynb": RIGHT, "cut/a.ipynb": ENGLISH[:99]})
    write(tmp_path / "in", {"large/a.ipynb": bytes(21 * 2**20), "pdf/a.pdf": b"%PDF"})
    (tmp_path / "in" / "link").mkdir()
    (tmp_path / "in" / "link" / "a.ipynb").symlink_to(SAMPLE)
    assert grade(tmp_path / "in", tmp_path / "out") == 0
    says = {name: feedback(tmp_path / "out", name) for name in names(tmp_path / "in")}
    assert says["zh"].startswith("# 批改结果") and says["en0"].startswith("# Feedback")
    assert "the file is not a readable notebook" in says["cut"]
    assert "larger than 20 MB; clear all outputs" in says["large"]
    assert "there is no notebook file" in says["pdf"]
    assert "a link was handed in; please upload the notebook itself" in says["link"]


def test_lang_is_the_language_of_all_feedback_and_of_the_report(tmp_path):
    files = {"zh/a.ipynb": BAD, "en/a.ipynb": ENGLISH, "pdf/a.pdf": b"%PDF"}
    write(tmp_path / "in", files)
    assert grade(tmp_path / "in", tmp_path / "out", "--lang", "en") == 0
    for name in ("zh", "en", "pdf"):
        assert not foreign(feedback(tmp_path / "out", name), "en")
    assert grade(tmp_path / "in", tmp_path / "out", "--lang", "zh") == 0
    assert feedback(tmp_path / "out", "pdf").startswith("# 批改结果")
    assert main(["homework", "report", str(tmp_path / "out"), "--lang", "en"]) == 0
    assert not foreign((tmp_path / "out" / "report.html").read_text("utf-8"), "en")


# --- another chapter's notebook --------------------------------------------------


def test_a_notebook_of_another_chapter_is_flagged(sample):
    def flags(notebook: dict) -> set[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.ipynb")
            path.write_text(text(notebook))
            result = grade_student(Submission("ada", "ada", [path]), *sample)
        assert result.total == 0
        return result.flags

    other = student_notebook(find_chapter("5"), "zh")
    assert flags(other) == {"other-chapter"}
    lose_metadata(other)
    assert flags(other) == {"other-chapter"}
    stub = student_notebook(SAMPLE, "zh")
    assert flags(stub) == set()
    assert flags({"cells": [], "metadata": {}, "nbformat": 4}) == set()
    same_names = submission(WRONG, "raise NotImplementedError")
    same_names["metadata"]["tokencredit"]["chapter"] = "91_other"
    path = write(Path(tempfile.mkdtemp()), {"a.ipynb": text(same_names)}) / "a.ipynb"
    result = grade_student(Submission("ada", "ada", [path]), *sample)
    assert "other-chapter" in result.flags
    shutil.rmtree(path.parent)


# --- going on, and going wrong ---------------------------------------------------


def test_who_is_graded_already_is_not_graded_again(tmp_path, monkeypatch):
    write(tmp_path / "in", {"ada/a.ipynb": RIGHT, "bo/a.ipynb": BAD})
    asked = []

    def counting(homework, todo, *_):
        asked.append([submission.student for submission in todo])
        yield from (blank(submission, homework) for submission in todo)

    monkeypatch.setattr("tokenbook.homework.pool.grade_all", counting)
    out = tmp_path / "out"
    assert grade(tmp_path / "in", out) == 0
    first = (out / "grades.csv").read_bytes()
    log = out / "results.jsonl"
    log.write_text(log.read_text()[:-30])  # stopped while it wrote the second line
    assert grade(tmp_path / "in", out) == 0
    assert (out / "grades.csv").read_bytes() == first
    write(tmp_path / "in", {"ada/a.ipynb": BAD, "cy/a.ipynb": RIGHT})
    shutil.rmtree(tmp_path / "in" / "bo")
    assert grade(tmp_path / "in", out) == 0
    assert set(grades(out)) == {"ada", "cy"}
    assert grade(tmp_path / "in", out, "--seconds", "9") == 0
    (out / "feedback" / "cy" / "feedback.md").unlink()
    assert grade(tmp_path / "in", out, "--seconds", "9") == 0
    assert grade(tmp_path / "in", out, "--seconds", "9", "--again") == 0
    both = ["ada", "cy"]
    assert asked == [["ada", "bo"], ["bo"], both, both, ["cy"], both]
    assert [row["student"] for row in read(log)] == both


@pytest.mark.slow
def test_a_grader_that_is_killed_costs_one_student_and_nobody_else(
    tmp_path, monkeypatch
):
    write(tmp_path / "in", {f"{i}/a.ipynb": RIGHT for i in range(4)})
    found, _ = submissions(tmp_path / "in", tmp_path / "out")
    found[1].paths = [Killer()]
    results = {}
    for result in grade_all(read_homework(SAMPLE), found, [], 10, 2):
        results[result.student] = result
    assert results["1"].flags == {"grader-error"} and results["1"].total == 0
    assert [results[name].total for name in "023"] == [5, 5, 5]


class Killer:
    """A path that ends whoever looks at it."""

    def is_symlink(self):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_leaves_no_process_and_the_same_command_goes_on(tmp_path, jobs):
    sleeps = CENTRED.replace(
        "    centre", "    import time; time.sleep(99)\n    centre", 1
    )
    slow = text(submission(sleeps))
    write(tmp_path / "in", {"a/a.ipynb": RIGHT, "b/a.ipynb": slow, "c/a.ipynb": slow})
    ours = tmp_path / "tmp"
    ours.mkdir()
    arguments = ["grade", str(SAMPLE), str(tmp_path / "in"), "--jobs", jobs]
    arguments += ["--out", str(tmp_path / "out"), "--seconds", "60"]
    driver = subprocess.Popen(
        [sys.executable, "-m", "tokenbook.homework", *arguments],
        env=os.environ | {"TMPDIR": str(ours)},
        start_new_session=True,
        # In the background of a shell Ctrl-C is ignored, also by what is started there.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        stderr=subprocess.PIPE,
        text=True,
    )
    log = tmp_path / "out" / "results.jsonl"
    until = time.monotonic() + 120
    # glob, unlike Path.rglob, goes past a folder that is removed while it looks.
    while not read(log) or not glob("**/student-*", root_dir=ours, recursive=True):
        assert time.monotonic() < until
        time.sleep(0.05)
    os.killpg(driver.pid, signal.SIGINT)
    assert "stopped; the same command goes on from here" in driver.communicate()[1]
    assert driver.returncode == 130
    assert [row["student"] for row in read(log)] == ["a"]
    assert not [*ours.iterdir()]
    while mine := [p for p in Path("/proc").glob("[0-9]*/environ") if holds(p, ours)]:
        assert time.monotonic() < until, mine
        time.sleep(0.05)


def holds(environ: Path, folder: Path) -> bool:
    try:
        return bytes(folder) in environ.read_bytes()
    except OSError:
        return False


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
def test_students_run_behind_bubblewrap_where_it_is_installed():
    with Sandbox(10, ["torch"], [ROOT]) as sandbox:
        if not sandbox.wall:
            pytest.skip("this system lets bubblewrap start nothing")
        student = sandbox.student(0)
        try:
            seen = [p for p in Path("/proc").glob("[0-9]*") if behind(p, sandbox)]
            assert seen
            for process in seen:
                here = os.readlink("/proc/self/ns/mnt")
                assert os.readlink(process / "ns/mnt") != here
                assert not (process / "root" / SAMPLE.relative_to("/")).exists()
                assert not (process / "root/etc/passwd").exists()
            assert not sandbox.open & {"network", "files"}
        finally:
            student.end()


def behind(process: Path, sandbox: Sandbox) -> bool:
    """Whether a process is a worker of this sandbox's, not bubblewrap itself."""
    try:
        command = (process / "cmdline").read_bytes()
        ours = sandbox.folder.name.encode() in (process / "environ").read_bytes()
    except OSError:
        return False
    return ours and command.startswith(sys.executable.encode())


# --- calendar, verify, report, recipe --------------------------------------------


def test_all_chapters_are_made_with_a_calendar(tmp_path, capsys):
    make = ["homework", "make", "all", "--lang", "en", "--out", str(tmp_path)]
    assert main([*make, "--start", "2026-09-07", "--weeks", "7"]) == 0
    made = sorted(path.name for path in tmp_path.glob("*.ipynb"))
    assert len(made) >= 16 and made[1] == "01_tokens_as_actions_en.ipynb"
    table = (tmp_path / "calendar_en.md").read_text("utf-8").splitlines()[4:]
    assert len(table) == len(made)
    assert table[0].endswith("| 2026-09-07 | 2026-09-14 |")
    assert table[-1].endswith("| 2026-10-19 | 2026-10-26 |")
    events = (tmp_path / "calendar_en.ics").read_bytes().split(b"BEGIN:VEVENT")
    assert len(events) == len(made) + 1
    assert b"DTSTART;VALUE=DATE:20260914\r\nDTEND;VALUE=DATE:20260915" in events[1]
    lines = b"".join(events).split(b"\r\n")
    assert all(len(line) <= 75 and b"\n" not in line for line in lines)


@pytest.mark.parametrize(
    "module", ["tokenbook.homework.command", "tokenbook.homework.page"]
)
def test_making_and_reporting_load_no_torch(module):
    see = f"import sys, {module}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", see], check=True)


def test_a_calendar_keeps_every_sign():
    plan = schedule.schedule(["a"], date(2026, 12, 28), 1)
    title = "逗号, 分号; 反斜线\\" + "很长" * 40
    lines = schedule.as_calendar(plan, {"a": title}, "zh").replace("\r\n ", "")
    assert "DTSTART;VALUE=DATE:20270104" in lines
    said = "作业截止：" + title.replace("\\", "\\\\").replace(",", "\\,")
    assert f"SUMMARY:{said.replace(';', chr(92) + ';')}\r\n" in lines


@pytest.mark.slow
def test_verify_finds_a_solution_that_is_wrong(tmp_path, capsys):
    assert main(["homework", "verify", str(SAMPLE)]) == 0
    assert "solution 5/5  stub 0/5" in capsys.readouterr().out
    source = "# exercise: centred points=4\nassert centred(torch.ones(2))[0] == 7"
    cell = {"cell_type": "code", "metadata": {}, "source": source, "outputs": []}
    more = {"cells": [cell], "metadata": {}, "nbformat": 4}
    (tmp_path / "more.ipynb").write_text(text(more))
    command = [
        "homework",
        "verify",
        str(SAMPLE),
        "--more",
        str(tmp_path / "more.ipynb"),
    ]
    assert main(command) == 1
    said = capsys.readouterr().out
    assert "WRONG" in said and "solution 5/9" in said and "centred-private" in said


def test_the_report_counts_by_hand_and_escapes_what_students_write(tmp_path):
    evil = "<script>alert(1)</script>"
    shouts = f"def centred(rewards, eps=1e-6):\n    raise ValueError({evil!r})\n"
    files = {"ada/a.ipynb": RIGHT, "bo/a.ipynb": BAD, "<script>/x.txt": ""}
    files |= dict.fromkeys(("cy/a.ipynb", "di/a.ipynb"), text(submission(shouts)))
    assert grade(write(tmp_path / "in", files), tmp_path / "out") == 0
    assert main(["homework", "report", str(tmp_path / "out"), "--lang", "en"]) == 0
    said = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "5 submissions, median total 2 of 5." in said
    # centred: 3 + 0 + 0 + 0 + 0 of 5; clip: 2 + 2 + 2 + 2 + 0
    assert '<td>centred</td><td class="n">0.6</td><td class="n">3</td>' in said
    assert '<td>clip</td><td class="n">1.6</td><td class="n">2</td>' in said
    assert '<td>centred-check</td><td class="n">3</td>' in said
    assert '<td>4.5 – 5</td><td class="n">1</td>' in said
    assert '<td>no-notebook</td><td class="n">1</td><td>&lt;script&gt;</td>' in said
    assert "ValueError: &lt;script&gt;alert(1)" in said
    assert "<script" not in said and "http" not in said
    assert main(["homework", "report", str(tmp_path / "out"), "--lang", "zh"]) == 0
    chinese = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert '<html lang="zh">' in chinese and "总分中位数 2 / 5" in chinese


def test_the_report_of_a_class_without_a_failed_check():
    row = {"student": "ada", "chapter": "x", "points": 1, "score": 1, "flags": []}
    assert "Checks failed most often</h2><p>-</p>" in page.page(
        [row | {"exercises": [{"id": "e", "points": 1, "score": 1, "checks": []}]}],
        "en",
    )


@pytest.mark.slow
def test_the_recipe_for_github_actions_grades_a_students_push(tmp_path):
    recipe = (ROOT / "src" / "tokenbook" / "homework" / "recipe.yml").read_text("utf-8")
    steps = yaml.safe_load(recipe)["jobs"]["grade"]["steps"]
    graded = next(step for step in steps if step.get("name") == "Grade")
    write(tmp_path, {"hw.ipynb": RIGHT})
    (tmp_path / "course").symlink_to(ROOT)
    environment = (
        os.environ
        | graded.get("env", {})
        | {
            "CHAPTER": str(SAMPLE),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "GITHUB_ACTOR": "ada",
            "RUNNER_TEMP": str(tmp_path / "temp"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
    )
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", graded["run"]],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    assert "5 / 5" in (tmp_path / "summary.md").read_text("utf-8")


def test_unpacking_what_is_no_zip_says_so(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"")
    with pytest.raises(NotebookError, match=r"a\.zip is not a whole zip"):
        unpack(tmp_path / "a.zip", tmp_path / "in", 1)
