"""Every kind of submission comes out right, and none stops the class."""

import atexit
import builtins
import contextlib
import csv
import inspect
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
import torch

from tokenbook.__main__ import main
from tokenbook.homework import exchange, kinds, worker
from tokenbook.homework.grading import Outcome, Run, grade_student
from tokenbook.homework.intake import Submission
from tokenbook.homework.report import data as as_data
from tokenbook.homework.report import markdown, reason
from tokenbook.homework.sandbox import Sandbox
from tokenbook.homework.source import (
    Check,
    has_homework,
    imported,
    lean,
    read_homework,
    student_notebook,
)
from tokenbook.homework.verify import sandbox_for, verdicts
from tokenbook.homework.words import REASONS, SPOKEN
from tokenbook.languages import foreign, marks, pick
from tokenbook.languages.code_cells import in_language
from tokenbook.languages.pages import is_solution, one_language, read_notebook, tags

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "tests" / "homework" / "90_sample.ipynb"
CHAPTERS = [SAMPLE, *sorted((ROOT / "chapters").glob("*.ipynb"))]

OURS = Path(tempfile.mkdtemp(prefix="class-"))  # where students' processes live
OURS.chmod(0o711)
atexit.register(shutil.rmtree, OURS, ignore_errors=True)

CENTRED = """
def centred(rewards, eps=1e-6):
    centre = rewards - rewards.mean()
    return centre / (rewards.std() + eps)
"""
CLIP = """
def objective(ratio, advantage, clip=0.2):
    clipped = torch.clamp(ratio, 1 - clip, 1 + clip)
    return torch.min(ratio * advantage, clipped * advantage)


predicted = 0
"""
EQUAL = """
class Equal(float):
    def __eq__(self, other):
        return True

    def __lt__(self, other):
        return True

    __hash__ = None

    def __getattr__(self, name):
        return lambda *args, **kwargs: self
"""


def inside(line: str) -> str:
    """A right answer that first does something else."""
    return CENTRED.replace("    centre", f"    {line}\n    centre", 1)


def before(code: str) -> str:
    """Something else at the top of the cell, then a right answer."""
    return code + CENTRED


# name: (answer to `centred`, its score of 3, score of `clip` of 2, flags among others)
ANSWERS = {
    "correct": (CENTRED, 3, 2, ""),
    "no eps": (CENTRED.replace(" + eps", ""), 1, 2, ""),
    "endless loop in the function": (inside("while True: pass"), 0, 2, "timeout"),
    "endless loop in the cell": ("while True:\n    pass\n", 0, 2, "timeout"),
    "sleeps": (inside("import time; time.sleep(99)"), 0, 2, "timeout"),
    "patches torch": (
        "torch.allclose = torch.equal = lambda *args, **kwargs: True\n"
        "torch.testing.assert_close = lambda *args, **kwargs: None\n"
        "def centred(rewards, eps=1e-6):\n    return torch.zeros(1)\n",
        1,
        2,
        "",
    ),
    "patches json and builtins": (
        "import builtins, json\njson.dumps = json.loads = lambda *a, **k: '{}'\n"
        "builtins.isinstance = lambda *args: True\nbuiltins.AssertionError = None\n"
        "def centred(rewards, eps=1e-6):\n    return rewards\n",
        0,
        2,
        "died",
    ),
    "an object equal to everything": (
        EQUAL + "def centred(rewards, eps=1e-6):\n    return Equal()\n",
        0,
        2,
        "",
    ),
    "a tensor subclass equal to everything": (
        "class Same(torch.Tensor):\n    def __torch_function__(*a, **k):\n"
        "        return True\n"
        "def centred(rewards, eps=1e-6):\n    return rewards.as_subclass(Same)\n",
        0,
        2,
        "",
    ),
    "calls the package": (
        "from tokencredit import group_relative\n"
        "def centred(rewards, eps=1e-6):\n"
        "    groups = torch.zeros(len(rewards), dtype=torch.long)\n"
        "    return group_relative(rewards, groups)\n",
        0,
        2,
        "imports-package",
    ),
    "calls the package by another way": (
        "import importlib\ncore = importlib.import_module('tokencredit')\n"
        "def centred(rewards, eps=1e-6):\n"
        "    return core.group_relative(rewards, torch.zeros(len(rewards)).long())\n",
        0,
        2,
        "imports-package",
    ),
    "imports the package only to compare": (
        before("from tokencredit import group_relative\n"),
        3,
        2,
        "imports-package",
    ),
    "searches the disk for the package": (
        f"import sys\nsys.meta_path.pop(0)\nsys.path.append({str(ROOT / 'src')!r})\n"
        "sys.modules.pop('tokencredit', None)\n"
        "def centred(rewards, eps=1e-6):\n"
        "    from tokencredit import group_relative\n"
        "    return group_relative(rewards, torch.zeros(len(rewards)).long())\n",
        0,
        2,
        "imports-package",
    ),
    "os._exit in the function": (inside("import os; os._exit(0)"), 0, 2, "died"),
    "os._exit in the cell": ("import os\nos._exit(0)\n", 0, 2, "died"),
    "crashes": (inside("import ctypes; ctypes.string_at(0)"), 0, 2, "died"),
    "kills everything": (inside("import os; os.kill(-1, 9)"), None, 2, ""),
    "sys.exit in the function": (inside("import sys; sys.exit(0)"), 0, 2, ""),
    "sys.exit in the cell, after the answer": (
        CENTRED + "import sys\nsys.exit()\n",
        3,
        2,
        "",
    ),
    "syntax error": ("def centred(rewards:\n    return 1\n", 0, 2, ""),
    "prints 20,000 lines": (
        before("for i in range(20_000):\n    print(i)\n"),
        3,
        2,
        "",
    ),
    "prints 20,000 lines in the function": (
        inside("[print('x' * 99) for i in range(20_000)]"),
        3,
        2,
        "",
    ),
    "reads the solution": (
        f"source = open({str(SAMPLE)!r}).read()\n" + CENTRED,
        0,
        2,
        "files",
    ),
    "reads the password file": (inside("open('/etc/passwd').read()"), 0, 2, "files"),
    "reads with another program": (
        "import subprocess\nseen = subprocess.run(['/bin/cat', '/etc/passwd'],"
        " capture_output=True).stdout\n"
        "def centred(rewards, eps=1e-6):\n"
        "    return (rewards - rewards.mean()) / (rewards.std() + eps) + len(seen)\n",
        3,
        2,
        "processes",
    ),
    "opens a socket": (
        inside("import socket; socket.create_connection(('127.0.0.1', 80), 1)"),
        0,
        2,
        "network",
    ),
    "opens a socket, prepared for failure": (
        before(
            "import socket\ntry:\n    socket.create_connection(('1.1.1.1', 53), 1)\n"
            "except OSError:\n    pass\n"
        ),
        3,
        2,
        "network",
    ),
    "memory bomb in the function": (
        inside("kept = []\n    while True: kept.append(bytearray(10**7))"),
        0,
        2,
        "",
    ),
    "memory bomb in the cell": (
        "kept = []\nwhile True:\n    kept.append(bytearray(10**7))\n",
        0,
        2,
        "",
    ),
    "asks for 8 GB at once": (inside("bytearray(2**33)"), 0, 2, ""),
    "a huge tensor": (
        "def centred(rewards, eps=1e-6):\n    return torch.zeros(1).expand(10**12)\n",
        0,
        2,
        "",
    ),
    "an endless generator": (
        "def centred(rewards, eps=1e-6):\n    while True:\n        yield 1.0\n",
        0,
        2,
        "",
    ),
    "leaves a child behind": (
        before("import subprocess\nsubprocess.Popen(['/bin/sleep', '4001'])\n"),
        3,
        2,
        "processes",
    ),
    "leaves a child behind in a session of its own": (
        before(
            "import os, time\nif os.fork() == 0:\n    os.setsid()\n"
            "    if os.fork() == 0:\n"
            "        os.execv('/bin/sleep', ['sleep', '4002'])\n"
            "    os._exit(0)\n"
        ),
        3,
        2,
        "processes",
    ),
    "forks and lets both go on": (inside("import os; os.fork()"), 3, 2, "processes"),
    "a fork bomb": (
        "import os\nwhile True:\n    try:\n        os.fork()\n"
        "    except OSError:\n        pass\n",
        0,
        2,
        "timeout",
    ),
    "writes outside its folder": (
        before(f"open('{OURS}-was-here', 'w').write('x')\n"),
        0,
        2,
        "files",
    ),
    "writes outside its folder with another program": (
        before(f"import os\nos.system('touch {OURS}-was-here')\n"),
        3,
        2,
        "processes",
    ),
    "writes inside its folder": (
        before("open('notes.txt', 'w').write('x')\n"),
        3,
        2,
        "",
    ),
    "a 100 MB file of its own": (
        "open('big', 'wb').write(bytes(10**8))\n" + CENTRED,
        0,
        2,
        "",
    ),
    "forges the protocol": (
        "import os\nfor handle in range(3, 64):\n    try:\n"
        "        os.write(handle, b'\\0' * 7 + b'\\x02{}')\n"
        "    except OSError:\n        pass\n",
        0,
        2,
        "died",
    ),
    "closes every handle": (before("import os\nos.closerange(0, 99)\n"), 0, 2, "died"),
    "returns what does not end": (
        "def centred(rewards, eps=1e-6):\n    x = []\n    x.append(x)\n    return x\n",
        0,
        2,
        "",
    ),
    "endless recursion": (
        "import sys\nsys.setrecursionlimit(10**9)\n"
        "def centred(rewards, eps=1e-6):\n    return centred(rewards)\n",
        0,
        2,
        "",
    ),
    "an exception that cannot be shown": (
        "class Odd(BaseException):\n    def __str__(self):\n        raise self\n"
        "def centred(rewards, eps=1e-6):\n    raise Odd\n",
        0,
        2,
        "",
    ),
    "waits for input": (inside("input()"), 0, 2, ""),
    "changes its arguments": (
        "def centred(rewards, eps=1e-6):\n    rewards -= rewards.mean()\n"
        "    return rewards.div_(rewards.std() + eps)\n",
        1,
        2,
        "",
    ),
    "wrong dtype": (inside("rewards = rewards.float()"), None, 2, ""),
    "numpy inside": (
        "import numpy as np\ndef centred(rewards, eps=1e-6):\n"
        "    x = np.array(rewards)\n"
        "    return torch.tensor((x - x.mean()) / (x.std(ddof=1) + eps))\n",
        3,
        2,
        "",
    ),
    "magics": (before("%matplotlib inline\n!pip install nothing\n"), 3, 2, ""),
    "another name": (CENTRED.replace("def centred", "def centered"), 0, 2, ""),
    "Windows line ends": (CENTRED.replace("\n", "\r\n"), 3, 2, ""),
    "starts threads": (
        before(
            "import threading, time\n"
            "threading.Thread(target=time.sleep, args=(99,)).start()\n"
        ),
        3,
        2,
        "",
    ),
    "changes the folder": (before("import os\nos.chdir('/')\n"), 3, 2, ""),
}


def submission(centred: str = CENTRED, clip: str = CLIP, lang: str = "zh") -> dict:
    """A student's notebook with these answers below the first lines."""
    notebook = student_notebook(SAMPLE, lang)
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in ("centred", "clip"):
            answer = centred if name == "centred" else clip
            cell["source"] = f"# exercise: {name}\n{answer}"
    return notebook


def cell_of(notebook: dict, name: str) -> dict:
    return next(
        cell
        for cell in notebook["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == name
    )


def strip_asserts(notebook):
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        cell["source"] = source.replace("assert ", "_ = ")


def edit_check(notebook):
    cell_of(notebook, "centred-check")["source"] = "assert True"
    cell_of(notebook, "centred-check")["metadata"]["nbgrader"]["points"] = 100


def delete_checks(notebook):
    notebook["cells"] = [
        c for c in notebook["cells"] if "assert" not in str(c["source"])
    ]


def delete_answer(notebook):
    notebook["cells"].remove(cell_of(notebook, "centred"))


def duplicate_answer(notebook):
    notebook["cells"].insert(3, cell_of(notebook, "centred"))


def duplicate_stub_after(notebook):
    notebook["cells"].append(cell_of(student_notebook(SAMPLE, "zh"), "centred"))


def lose_metadata(notebook):
    notebook["metadata"] = {}
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id")


def lose_metadata_and_first_lines(notebook):
    lose_metadata(notebook)
    for cell in notebook["cells"]:
        if isinstance(cell["source"], str):
            cell["source"] = cell["source"].partition("\n")[2]


def old_format(notebook):
    cells = [
        {**cell, "input": cell["source"], "language": "python"}
        for cell in notebook["cells"]
    ]
    for cell in cells:
        cell.pop("source")
    notebook.pop("cells")
    notebook |= {"nbformat": 3, "worksheets": [{"cells": cells}]}


def odd_cells(notebook):
    notebook["cells"] += [None, 7, {"cell_type": "code"}, {"source": {"a": 1}}, {}]
    notebook["cells"][0]["metadata"] = ["no", "dict"]


def nothing_changed(notebook):
    fresh = student_notebook(SAMPLE, "zh")
    notebook["cells"] = fresh["cells"]


# name: (what happened to a right notebook, score of `centred`, of `clip`, flags)
EDITS = {
    "strips asserts": (strip_asserts, 3, 2, ""),
    "edits the check": (edit_check, 3, 2, ""),
    "deletes check cells": (delete_checks, 3, 2, ""),
    "deletes the answer": (delete_answer, 0, 2, ""),
    "duplicates a cell": (duplicate_answer, 3, 2, "duplicates"),
    "pastes the stub again below": (duplicate_stub_after, 3, 2, "duplicates"),
    "all metadata lost": (lose_metadata, 3, 2, ""),
    "all metadata and first lines lost": (lose_metadata_and_first_lines, 3, 2, ""),
    "the format of 2014": (old_format, 3, 2, ""),
    "cells that are none": (odd_cells, 3, 2, ""),
    "untouched stub": (nothing_changed, 0, 0, ""),
}
WRONG_EDITS = {  # the same with an answer that is wrong: editing checks gains nothing
    "strips asserts, wrong answer": strip_asserts,
    "edits the check, wrong answer": edit_check,
    "deletes check cells, wrong answer": delete_checks,
}
WRONG = "def centred(rewards, eps=1e-6):\n    return rewards\n"


def not_a_notebook(folder):
    (folder / "a.ipynb").write_text("homework, see attachment")


def not_text(folder):
    (folder / "a.ipynb").write_bytes(b"\xff\xfe\x00homework\x80")


def not_json_depth(folder):
    (folder / "a.ipynb").write_text("[" * 100_000)


def json_but_no_notebook(folder):
    (folder / "a.ipynb").write_text('{"cells": "none"}')


def hundred_megabytes(folder):
    with open(folder / "a.ipynb", "wb") as file:
        file.truncate(100 * 2**20)


def empty_folder(folder):
    (folder / "report.docx").write_bytes(b"PK")


def link_to_the_solution(folder):
    (folder / "a.ipynb").symlink_to(SAMPLE)


def a_folder_called_notebook(folder):
    (folder / "a.ipynb").mkdir()


def a_pipe(folder):
    os.mkfifo(folder / "a.ipynb")


# name: (what lies in the folder, flag)
FILES = {
    "not a notebook": (not_a_notebook, "unreadable"),
    "not text": (not_text, "unreadable"),
    "brackets without end": (not_json_depth, "unreadable"),
    "JSON but no notebook": (json_but_no_notebook, "unreadable"),
    "a 100 MB file": (hundred_megabytes, "unreadable"),
    "nothing to grade": (empty_folder, "no-notebook"),
    "a link to the solution": (link_to_the_solution, "link"),
    "a folder called a.ipynb": (a_folder_called_notebook, "no-notebook"),
    "a pipe": (a_pipe, "no-notebook"),
}


def save(path: Path, notebook: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")


def write_class(folder: Path) -> None:
    """One student per row of the tables above, and a few of other kinds."""
    for name, (answer, *_) in ANSWERS.items():
        save(folder / name / "a.ipynb", submission(answer))
    for name, (edit, *_) in EDITS.items():
        notebook = submission()
        edit(notebook)
        save(folder / name / "a.ipynb", notebook)
    for name, edit in WRONG_EDITS.items():
        notebook = submission(WRONG)
        edit(notebook)
        save(folder / name / "a.ipynb", notebook)
    for name, (fill, _) in FILES.items():
        (folder / name).mkdir()
        fill(folder / name)
    save(folder / "张三" / "作业 一.ipynb", submission())
    save(folder / '李四,\n"四"' / "a.ipynb", submission())
    save(folder / "=1+1" / "a.ipynb", submission(lang="en"))
    save(folder / "nested" / "week 5" / "a.ipynb", submission())
    save(folder / "nested" / ".ipynb_checkpoints" / "a.ipynb", submission(WRONG))
    save(folder / "two notebooks" / "a.ipynb", submission())
    save(folder / "two notebooks" / "b.ipynb", {"cells": []})
    save(folder / "loose.ipynb", submission())
    bom = json.dumps(submission()).encode("utf-8-sig")
    (folder / "byte order mark").mkdir()
    (folder / "byte order mark" / "a.ipynb").write_bytes(bom)
    published = read_homework(SAMPLE).exercises
    answers = [exercise.solution for exercise in published]
    save(folder / "published" / "a.ipynb", submission(*answers))
    both = submission(CENTRED + CLIP, "")
    save(folder / "both answers in one cell" / "a.ipynb", both)
    nothing = submission("raise SystemExit", "raise KeyboardInterrupt", "en")
    save(folder / "English" / "a.ipynb", nothing)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The whole class, graded once: rows of grades.csv and feedback by student."""
    folder = tmp_path_factory.mktemp("class")
    write_class(folder / "in")
    arguments = ["homework", "grade", str(SAMPLE), str(folder / "in")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(OURS))
        out = ["--out", str(folder / "out"), "--seconds", "6", "--jobs", "3"]
        status = main([*arguments, *out])
    assert status == 0
    text = (folder / "out" / "grades.csv").read_bytes()
    assert text.startswith(b"\xef\xbb\xbf")
    rows = csv.DictReader(text.decode("utf-8-sig").splitlines(keepends=True))
    feedback = {
        path.parent.name: (
            json.loads(path.read_text(encoding="utf-8")),
            path.with_suffix(".md").read_text(encoding="utf-8"),
        )
        for path in (folder / "out").rglob("feedback.json")
    }
    return {row["student"]: row for row in rows}, feedback


def table():
    yield from ((name, *row[1:]) for name, row in (ANSWERS | EDITS).items())
    yield from ((name, 0, 2, "") for name in WRONG_EDITS)
    yield from ((name, 0, 0, flag) for name, (_, flag) in FILES.items())
    yield from (
        ("张三", 3, 2, ""),
        ('李四,\n"四"', 3, 2, ""),
        ("'=1+1", 3, 2, ""),
        ("nested", 3, 2, ""),
        ("two notebooks", 3, 2, "several-notebooks"),
        ("loose", 3, 2, ""),
        ("byte order mark", 3, 2, ""),
        ("published", 3, 2, "published-answer"),
        ("both answers in one cell", 3, 2, ""),
        ("English", 0, 0, ""),
    )


@pytest.mark.parametrize(("name", "centred", "clip", "flags"), list(table()))
def test_each_submission_gets_its_score_and_flags(graded, name, centred, clip, flags):
    row = graded[0][name]
    if centred is not None:
        assert row["centred"] == str(centred), graded[1][name.lstrip("'")][1]
    assert row["clip"] == str(clip), graded[1][name.lstrip("'")][1]
    assert set(flags.split()) <= set(row["flags"].split())
    assert "grader-error" not in row["flags"]


def test_a_correct_submission_has_no_flags(graded):
    for name in ("correct", "strips asserts", "张三", "writes inside its folder"):
        assert graded[0][name]["flags"] == ""


def ours() -> dict[str, bytes]:
    """The processes that this grading started: their home lies in its folder."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if bytes(OURS) in Path("/proc", entry, "environ").read_bytes():
                found[entry] = Path("/proc", entry, "cmdline").read_bytes()
    return found


def test_no_process_and_no_file_is_left(graded):
    assert not ours()
    assert not [*OURS.iterdir()]
    assert not Path(f"{OURS}-was-here").exists()


def test_a_process_that_is_left_would_be_seen():
    left = subprocess.Popen(["/bin/sleep", "4003"], env={"HOME": str(OURS)})
    try:
        while b"4003" not in b"".join(ours().values()):  # until it has its environment
            assert left.poll() is None
    finally:
        left.kill()
        left.wait()
    assert not ours()


def test_feedback_has_one_language(graded):
    for name, (data, text) in graded[1].items():
        title = text.partition("\n")[0]
        if data["lang"] == "en":
            assert not foreign(text, "en"), name
            assert title.startswith("# Feedback")
        else:
            assert title.startswith("# 批改结果")
            for english in ("not passed", "The check", "public check", "advantage"):
                assert english not in text, name


def test_feedback_says_what_the_check_teaches(graded):
    assert "奖励全相等时优势应为 0,你得到 nan" in graded[1]["no eps"][1]
    assert "没有在限定时间内结束" in graded[1]["endless loop in the function"][1]
    assert "没有在限定时间内结束" in graded[1]["endless loop in the cell"][1]
    assert "`Equal`" in graded[1]["an object equal to everything"][1]
    assert "这道题还没有作答" in graded[1]["untouched stub"][1]
    assert "没有找到 `centred`" in graded[1]["deletes the answer"][1]
    assert "SyntaxError" in graded[1]["syntax error"][1]
    assert "太多内存" in graded[1]["asks for 8 GB at once"][1]
    assert "改动了传给它的参数" in graded[1]["changes its arguments"][1]
    assert "tokencredit.group_relative" in graded[1]["calls the package"][1]


# --- the chapters themselves -------------------------------------------------


HOMEWORK = [path for path in CHAPTERS if has_homework(path)]


@pytest.fixture(scope="module")
def every():
    """A sandbox for all chapters."""
    with sandbox_for([*map(read_homework, HOMEWORK)], [ROOT]) as sandbox:
        yield sandbox


@pytest.mark.parametrize("path", HOMEWORK, ids=lambda path: path.stem)
def test_the_solution_gets_full_marks_and_the_stub_gets_none(path, every):
    found = [*verdicts(path, read_homework(path), every)]
    assert [verdict.lang for verdict in found] == list(SPOKEN)
    for verdict in found:
        assert verdict.holds, verdict
        assert verdict.solution.total == verdict.points > 0 == verdict.stub.total
        assert "published-answer" in verdict.solution.flags


@pytest.mark.parametrize("path", HOMEWORK, ids=lambda path: path.stem)
@pytest.mark.parametrize("lang", SPOKEN)
def test_the_student_notebook_shows_one_language_and_no_solution(path, lang):
    notebook = student_notebook(path, lang)
    text = "\n".join("".join(cell["source"]) for cell in notebook["cells"])
    assert "SOLUTION" not in text and "HIDDEN TESTS" not in text
    assert "{eq}" not in text and "{cite}" not in text and ".ipynb" not in text
    if lang == "en":
        assert not foreign(text, "en")
    for exercise in read_homework(path).exercises:
        assert exercise.solution not in text
        lines = "".join(cell_of(notebook, exercise.id)["source"]).splitlines()
        assert lines[0] == f"# exercise: {exercise.id}"
        for check in exercise.checks:
            assert not (check.hidden and check.source in text)
    code = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    for cell in code:
        compile("".join(cell["source"]), cell["id"], "exec")


def without_tags(path: Path) -> dict:
    """A chapter whose graded cells have lost their tags, as by a wrong merge."""
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"].pop("tags", None)
    return notebook


@pytest.mark.parametrize("path", HOMEWORK, ids=lambda path: path.stem)
@pytest.mark.parametrize("lang", SPOKEN)
def test_metadata_alone_hide_solutions_and_held_back_checks(path, lang, tmp_path):
    bare = without_tags(path)
    homework = read_homework(path)
    held = [c for e in homework.exercises for c in e.checks if c.hidden]
    page = one_language(bare, lang, keep_places=True)
    assert len(page["cells"]) == len(bare["cells"])
    download = one_language(bare, lang)
    for notebook in (page, download):
        text = "\n".join(
            cell["source"]
            for cell in notebook["cells"]
            if "nbgrader" in cell["metadata"]
        )
        for check in held:
            assert in_language(check.source, lang).strip() not in text
        solutions = [c for c in notebook["cells"] if is_solution(c)]
        assert len(solutions) == len(homework.exercises)
        for cell in solutions:
            assert "hide-cell" in tags(cell)
            assert cell["metadata"]["jupyter"]["source_hidden"] is True
    for check in held:
        cell = cell_of(page, check.id)
        assert (
            not cell["source"] and not cell["outputs"] and "remove-cell" in tags(cell)
        )
        assert check.id not in json.dumps(download)
    tagged = one_language(json.loads(path.read_text("utf-8")), lang, keep_places=True)
    for mine, theirs in zip(page["cells"], tagged["cells"], strict=True):
        if is_solution(mine) or "remove-cell" in tags(mine):
            assert mine["source"] == theirs["source"] and set(tags(mine)) == set(
                tags(theirs)
            )
    (tmp_path / path.name).write_text(json.dumps(bare), "utf-8")
    assert student_notebook(tmp_path / path.name, lang) == student_notebook(path, lang)


def test_held_back_checks_beside_public_ones_go_alone():
    source = (
        "assert a == 1\n### BEGIN HIDDEN TESTS\nassert a == 7\n### END HIDDEN TESTS\n"
    )
    meta = {"nbgrader": {"grade": True, "grade_id": "a-check"}}
    cell = {"cell_type": "code", "metadata": meta, "source": source, "outputs": []}
    for places in (True, False):
        (shown,) = one_language({"cells": [cell]}, "en", keep_places=places)["cells"]
        assert shown["source"] == "assert a == 1"


@pytest.mark.parametrize("marker", ["SOLUTION", "HIDDEN TESTS"])
def test_a_marker_without_metadata_is_refused(marker):
    source = f"### BEGIN {marker}\nx = 1\n### END {marker}"
    cell = {"cell_type": "code", "metadata": {}, "source": source}
    (said,) = marks.problems({"cells": [cell]})
    assert f"would be shown: {marker} without nbgrader's" in said


@pytest.mark.parametrize("path", HOMEWORK, ids=lambda path: path.stem)
def test_every_check_message_is_a_pair_of_languages(path):
    for exercise in read_homework(path).exercises:
        for check in exercise.checks:
            chinese = [x for x in check.source.splitlines() if foreign(x, "en")]
            assert chinese, f"{check.id}: no message in both languages"


@pytest.mark.parametrize("path", HOMEWORK, ids=lambda path: path.stem)
def test_cells_carry_the_metadata_that_nbgrader_demands(path):
    kinds = {"grade": bool, "locked": bool, "solution": bool, "task": bool}
    kinds |= {"grade_id": str, "schema_version": int}
    names = []
    for cell in [*read_notebook(path)["cells"], *student_notebook(path, "en")["cells"]]:
        meta = cell["metadata"].get("nbgrader")
        if meta is None:
            continue
        names.append(meta["grade_id"])
        assert {key: type(meta[key]) for key in kinds} == kinds
        assert meta["schema_version"] == 3
        assert meta["grade_id"].replace("-", "").replace("_", "").isalnum()
        assert set(meta) - kinds.keys() <= {"points", "cell_type", "checksum"}
        assert (type(meta.get("points")) in (int, float)) == meta["grade"]
        assert not (meta["solution"] and meta["locked"])
    assert all(names.count(name) == 2 for name in names)


ABSENT = """
import json, sys
import torch

class Gone:
    def find_spec(name, path=None, target=None):
        if name.startswith("tokencredit"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Gone)
said = []
for cells in json.loads(sys.stdin.read()):
    names, errors = {}, []
    for source in cells:
        try:
            exec(source, names)
        except (NotImplementedError, NameError):  # stubs, and their checks
            pass
        except Exception as error:
            errors.append(repr(error))
    torch.set_default_dtype(torch.float32)
    said.append(errors)
print(json.dumps(said))
"""


WITH_EXERCISES = [path for path in HOMEWORK if path != SAMPLE]


def code_of(notebook: dict) -> list[str]:
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    return ["".join(cell["source"]) for cell in cells]


@pytest.fixture(scope="module")
def without_package():
    """What students' notebooks raise where the package is missing, by chapter."""
    cells = [code_of(student_notebook(path, "en")) for path in WITH_EXERCISES]
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ABSENT],
        input=json.dumps(cells),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(WITH_EXERCISES, json.loads(run.stdout), strict=True))


@pytest.mark.parametrize("path", WITH_EXERCISES, ids=lambda path: path.stem)
def test_a_student_without_the_package_runs_the_notebook_or_reads_how_to_get_it(
    path, without_package
):
    notebook = student_notebook(path, "en", "https://example.org/course.zip")
    needs = any("tokencredit" in imported(cell) for cell in code_of(notebook))
    assert ("https://example.org" in code_of(notebook)[0]) == needs
    plain = student_notebook(path, "en")
    assert (plain["cells"][2]["id"] == "install") == needs
    if needs:
        how = "put your teacher's tokencredit"
        with pytest.raises(ModuleNotFoundError, match=how):
            exec(code_of(plain)[0], lacking())
    else:
        assert not without_package[path]


def lacking() -> dict:
    """Names with which a cell sees no package."""
    return {"__builtins__": {**vars(builtins), "__import__": missing_import}}


def missing_import(name, *args):
    """`import`, under which importlib finds no package of the course."""
    module = __import__(name, *args)
    if name == "importlib.util":
        util = types.SimpleNamespace(find_spec=lambda name: None)
        return types.SimpleNamespace(util=util)
    return module


@pytest.mark.parametrize("path", HOMEWORK, ids=lambda path: path.stem)
@pytest.mark.parametrize("lang", SPOKEN)
def test_a_student_sees_points_chapter_and_versions(path, lang):
    notebook, homework = student_notebook(path, lang), read_homework(path)
    head = "".join(notebook["cells"][0]["source"])
    assert f"{homework.points:g}" in head and f"Python {sys.version_info[0]}" in head
    if path != SAMPLE:
        number = str(int(path.stem[:2]))
        where = {"zh": f"第 {number} 章", "en": f"chapter {number} of Token Credit"}
        assert where[lang] in head
    for check in (check for e in homework.exercises for check in e.checks):
        first = "".join(cell_of(notebook, check.id)["source"]).splitlines()[0]
        word = {"zh": "分", "en": "point" if check.points == 1 else "points"}[lang]
        assert first.startswith("# ") and first.endswith(f"{check.points:g} {word}")


@pytest.mark.parametrize(
    ("setup", "users", "asked", "left"),
    [
        (["import tokencredit as tc\nG = tc.x"], [], [], [""]),
        (["import tokencredit as tc\nG = tc.x"], ["G"], [], None),
        (["from tokencredit import a, b"], ["b"], [], ["from tokencredit import b"]),
        (["from tokencredit import a, b"], ["a"], [], ["from tokencredit import a"]),
        (["from tokencredit import a"], ["a(1)"], ["a"], [""]),
        (["import tokencredit as tc", "G = tc.x\nk = 1"], [], [], ["", "k = 1"]),
        (["import tokencredit as tc\nG = tc.x\nH = G.y"], ["1"], [], [""]),
        (["import tokencredit as tc\ntc.start()"], [], [], None),
        (["import math\nclose = math.isclose"], [], [], None),
        (["import tokencredit as tc\ndef f():\n    return tc.x(f)"], [], [], [""]),
    ],
)
def test_setup_keeps_of_the_package_what_somebody_uses(setup, users, asked, left):
    assert lean(setup, users, asked) == (setup if left is None else left)


# --- private checks, the command, the wire -----------------------------------


def test_private_checks_count_and_are_not_shown(tmp_path):
    source = "# exercise: centred points=4\nassert centred(torch.ones(2))[0] == 0"
    cell = {"cell_type": "code", "metadata": {}, "source": source, "outputs": []}
    save(tmp_path / "private.ipynb", {"cells": [cell], "metadata": {}, "nbformat": 4})
    save(tmp_path / "in" / "good" / "a.ipynb", submission())
    save(tmp_path / "in" / "bad" / "a.ipynb", submission(WRONG))
    command = ["homework", "grade", str(SAMPLE), str(tmp_path / "in")]
    command += [
        "--out",
        str(tmp_path / "out"),
        "--more",
        str(tmp_path / "private.ipynb"),
    ]
    assert main(command) == 0
    rows = (tmp_path / "out" / "grades.csv").read_text("utf-8-sig").splitlines()
    assert rows[1].split(",")[:5] == ["bad", "0", "2", "2", "9"]
    assert rows[2].split(",")[:5] == ["good", "7", "2", "9", "9"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["make", "no.ipynb", "--lang", "zh", "--out", "{tmp}"], "no notebook"),
        (["make", "77", "--lang", "zh", "--out", "{tmp}"], "no chapter 77"),
        (["grade", str(SAMPLE), "{tmp}/none", "--out", "{tmp}/o"], "no folder"),
        (["grade", str(SAMPLE), "{tmp}", "--out", "{tmp}/o"], "no submission in"),
        (
            ["grade", str(SAMPLE), "{tmp}", "--out", "{tmp}/o", "--jobs", "0"],
            "--jobs must be at least 1, got 0",
        ),
        (["report", "{tmp}", "--lang", "en"], "holds no results: grade into it first"),
        (
            ["make", "all", "--lang", "en", "--out", "{tmp}", "--weeks", "3"],
            "--weeks must be at least 1 and comes with --start",
        ),
        (["grade", str(SAMPLE), "{tmp}", "--out", "{tmp}"], "--out must not"),
        (
            ["grade", str(SAMPLE), "{tmp}", "--out", "{tmp}/o", "--more", "{tmp}/no"],
            "No such file",
        ),
    ],
)
def test_a_wrong_command_says_why_and_returns_two(arguments, message, tmp_path, capsys):
    given = [part.replace("{tmp}", str(tmp_path)) for part in arguments]
    assert main(["homework", *given]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_the_grader_keeps_its_asserts_under_optimisation(tmp_path):
    save(tmp_path / "in" / "bad" / "a.ipynb", submission(WRONG))
    command = ["homework", "grade", str(SAMPLE), str(tmp_path / "in"), "--out"]
    subprocess.run(
        [sys.executable, "-O", "-m", "tokenbook", *command, str(tmp_path / "out")],
        check=True,
        capture_output=True,
    )
    assert ",0,2,2,5," in (tmp_path / "out" / "grades.csv").read_text("utf-8-sig")


@pytest.mark.parametrize(
    "value",
    [
        *(
            None,
            True,
            3,
            -0.0,
            0.1 + 0.2,
            1e-320,
            "优势",
            [1, [2.5]],
            (1, (2,)),
            {1: "a"},
        ),
        *(float("inf"), torch.float16, {"a": [None, (False,)]}),
    ],
    ids=repr,
)
def test_plain_values_cross_exactly(value):
    back = exchange.decode(json.loads(json.dumps(exchange.encode(value))))
    assert type(back) is type(value) and repr(back) == repr(value)


@pytest.mark.parametrize("dtype", exchange.DTYPES.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3)])
def test_tensors_cross_bit_for_bit(dtype, shape):
    torch.manual_seed(0)
    value = (torch.randn(shape) * 100).to(dtype)
    back = exchange.decode(json.loads(json.dumps(exchange.encode(value))))
    assert (
        back.dtype == dtype and back.shape == value.shape and torch.equal(back, value)
    )


def test_an_expanded_tensor_of_one_number_crosses():
    value = torch.ones(()).expand(1, 1)  # what sum().backward() leaves in grad
    back = exchange.decode(json.loads(json.dumps(exchange.encode(value))))
    assert back.tolist() == [[1.0]]


def test_nan_and_infinities_cross_in_tensors():
    value = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0]).t()
    back = exchange.decode(json.loads(json.dumps(exchange.encode(value))))
    assert back.view(torch.int32).tolist() == value.view(torch.int32).tolist()


@pytest.mark.parametrize(
    "value",
    [
        object(),
        lambda: 1,
        1j,
        itertools.repeat(1),
        torch.nn.Linear(1, 1),
        torch.ones(1).to_sparse(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_data_does_not_cross(value):
    with pytest.raises(exchange.Unsendable):
        exchange.encode(value)


class Sub(torch.Tensor):
    """A subclass."""


class Word(StrEnum):
    """Text with a name."""

    GOOD = "good"


POINT = namedtuple("POINT", "x y")


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (defaultdict(list, {1: [2]}), {1: [2]}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (POINT(1, 2.5), (1, 2.5)),
        (torch.zeros(2, 3).shape, (2, 3)),
        (map(abs, [-1, 2]), [1, 2]),
        ((i for i in range(3)), [0, 1, 2]),
        (range(3), [0, 1, 2]),
        ({1: 2}.keys(), [1]),
        ({1: 2}.values(), [2]),
        (deque([1, 2]), [1, 2]),
        ({3, 4}, {3, 4}),
        (Fraction(1, 3), Fraction(1, 3)),
        (10**5000, 10**5000),
        (-(2**63), -(2**63)),
        (np.float64(0.1), 0.1),
        (np.array([Fraction(1, 2), 1], dtype=object), [Fraction(1, 2), 1]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.str_("a"), "a"),
        (Word.GOOD, "good"),
        (torch.ones(2).as_subclass(Sub).sum(), torch.tensor(2.0)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_passes_at_home_arrives_as_its_content(value, arrives):
    back = exchange.decode(json.loads(json.dumps(exchange.encode(value))))
    assert back == arrives
    if not isinstance(value, np.generic):
        assert type(back) is type(arrives)


def nested(depth: int) -> list:
    found = []
    for _ in range(depth):
        found = [found]
    return found


ODD = {  # what `centred` returns: what its student is told
    "10**5000": "检查没有通过|检查处理你的返回值时出错",
    "10**(10**9)": "没有在限定时间内结束|太多内存",
    "nested(10**5)": "list nested more than 100 deep",
    "itertools.count()": "count of more than 1000000 items",
    "bytearray(10)": "`bytearray`",
    "'x' * 10**8": "value of 95 MB",
}


@pytest.mark.parametrize("value", ODD)
def test_what_is_returned_and_cannot_be_used_is_named(sample, value):
    lines = inspect.getsource(nested).splitlines()
    helper = "import itertools\n" + "\n".join(lines)
    answer = f"{helper}\ndef centred(rewards, eps=1e-6):\n    return {value}\n"
    said = told(submission(answer), *sample)
    assert "os._exit" not in said
    assert any(part in said for part in ODD[value].split("|")), said


def test_a_value_that_cannot_be_used_is_named(sample):
    said = told(
        submission(clip=CLIP.replace("predicted = 0", "predicted = 0j")), *sample
    )
    assert "返回了 `complex`" in said and "没有找到" not in said


@pytest.fixture(scope="module")
def sample():
    """The sample's homework and a sandbox for it."""
    homework = read_homework(SAMPLE)
    with Sandbox(5, ["torch"], [ROOT]) as sandbox:
        yield homework, sandbox


def told(notebook: dict, homework, sandbox, name: str = "a.ipynb") -> str:
    """The feedback on one notebook."""
    return markdown(grade_one(notebook, homework, sandbox, name), homework)


def grade_one(notebook: dict, homework, sandbox, name: str = "a.ipynb"):
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder, name), notebook)
        student = Submission("ada", "ada", [Path(folder, name)])
        return grade_student(student, homework, sandbox)


# --- answers are found where they were written -------------------------------

STUB = "def centred(rewards, eps=1e-6):\n    raise NotImplementedError('not yet')\n"
LISTED = """
def centred(rewards, eps=1e-6):
    if rewards.ndim == 1:
        return (rewards - rewards.mean()) / (rewards.std() + eps)
    raise NotImplementedError(rewards.ndim)
"""


def put(notebook: dict, name: str, source: str, index: int | None = None) -> dict:
    """Write into a cell of a notebook, or put a new one at an index."""
    if index is None:
        cell_of(notebook, name)["source"] = source
    else:
        cell = {"cell_type": name, "metadata": {}, "source": source, "outputs": []}
        notebook["cells"].insert(index, cell)
    return notebook


def above(notebook: dict, name: str, answer: str) -> dict:
    cell = cell_of(notebook, name)
    return put(notebook, name, answer + "\n" + "".join(cell["source"]))


def blank_centred() -> dict:
    """Only `clip` is answered."""
    notebook = submission()
    stub = cell_of(student_notebook(SAMPLE, "zh"), "centred")
    return put(notebook, "centred", stub["source"])


PLACES = {
    "over the check": put(blank_centred(), "centred-check", CENTRED),
    "over the held-back check": put(blank_centred(), "centred-hidden", CENTRED),
    "above the asserts of the check": above(blank_centred(), "centred-check", CENTRED),
    "in a new cell above the stub": put(blank_centred(), "code", CENTRED, 2),
    "with a raise of its own, above the stub": put(blank_centred(), "code", LISTED, 2),
    "with a raise of its own": put(submission(), "centred", LISTED),
    "both in the cell of the first, stubs left": put(
        student_notebook(SAMPLE, "zh"), "centred", CENTRED + CLIP
    ),
    "in the other's cell, its stub below": put(
        blank_centred(), "code", CENTRED + CLIP, 2
    ),
    "after display()": submission(before("display(torch.ones(1))\n")),
    "after get_ipython()": submission(
        before("get_ipython().run_line_magic('a', 'b')\n")
    ),
    "after !pip and %magic": submission(before("!pip install x\n%matplotlib inline\n")),
    "after x = !ls": submission(before("files = !ls\n")),
    "after help": submission(before("torch.where?\n?torch\n")),
    "below %%time": submission("%%time\n" + CENTRED),
    "after a top-level await": submission(
        before("import asyncio\nawait asyncio.sleep(0)\n")
    ),
    "compiled": submission(before("@torch.compile\ndef f(x):\n    return x\nf(3)\n")),
}


@pytest.mark.parametrize("name", PLACES)
def test_an_answer_counts_wherever_it_was_written(sample, name):
    result = grade_one(PLACES[name], *sample)
    assert result.total == 5, markdown(result, sample[0])
    assert result.flags <= {"duplicates"}


MISPLACED = {
    "in a text cell": (
        put(blank_centred(), "markdown", CENTRED, 3),
        "第 4 个单元格是文字，不是代码",
    ),
    "in a raw cell": (put(blank_centred(), "raw", CENTRED, 3), "第 4 个单元格是文字"),
    "in a class": (
        submission("class Solution:\n" + CENTRED.replace("\n", "\n    ")),
        "把答案写在一个类里",
    ),
    "printed": (
        submission("def centred(rewards, eps=1e-6):\n    print(rewards)\n"),
        "它返回了 `None`。用 `return` 返回结果",
    ),
    "below the raise": (
        submission(STUB.replace("not yet", "请在这里写出你的答案") + "    return 1\n"),
        "`raise NotImplementedError` 那一行还在",
    ),
    "with a raise that is reached": (submission(STUB), "NotImplementedError: not yet"),
}


@pytest.mark.parametrize("name", MISPLACED)
def test_feedback_says_where_an_answer_stands_that_did_not_run(sample, name):
    notebook, says = MISPLACED[name]
    result = grade_one(notebook, *sample)
    assert result.score("centred") == 0 and result.score("clip") == 2
    assert says in markdown(result, sample[0])
    assert result.flags <= {"duplicates"}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("def stop_push(h, A, k): return (", "SyntaxError: '(' was never closed"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def stop_pull(h, A, k): return 0", "`stop_push` is not there"),
    ],
)
def test_an_answer_that_does_not_run_is_never_an_accusation(every, answer, says):
    path = ROOT / "chapters" / "09_aggregation.ipynb"
    homework, notebook = read_homework(path), student_notebook(path, "en")
    put(notebook, "stop-push", answer)
    result = grade_one(notebook, homework, every)
    assert says in markdown(result, homework)
    assert not result.flags & {"imports-package", "died"}


def test_what_the_setup_calls_like_an_answer_is_no_answer(sample):
    given = (
        "def objective(ratio, advantage, clip=0.2):\n    return ratio\n\npredicted = 0"
    )
    homework = replace(sample[0], setup=[*sample[0].setup, given])
    notebook = submission(clip="pass")
    result = grade_one(notebook, homework, sample[1])
    assert result.score("clip") == 0
    assert "没有找到 `objective`" in markdown(result, homework)


@pytest.mark.parametrize(
    "cells", [["while True: pass"] * 25, ["import time; time.sleep(.9)"] * 9]
)
def test_slow_cells_cost_no_answer_its_turn_and_are_named(sample, cells, monkeypatch):
    notebook = submission(lang="en")
    for source in cells:
        put(notebook, "code", source, 2)
    homework, sandbox = sample
    monkeypatch.setattr(sandbox, "seconds", 1)
    started = time.monotonic()
    result = grade_one(notebook, homework, sandbox)
    assert result.total == 5 and "timeout" in result.flags
    assert "Too slow to be run to their end while grading: cells 3, 4," in markdown(
        result, homework
    )
    assert time.monotonic() - started < 60


def test_one_submission_has_one_time_limit():
    notebook = submission(inside("while True: pass"), inside("while True: pass"), "en")
    homework = read_homework(SAMPLE)
    run = Run(types.SimpleNamespace(seconds=1), homework, [], set())
    run.whole = 0
    outcomes = run.outcomes()
    assert {o.report["kind"] for found in outcomes.values() for o in found} == {"over"}
    assert "time for the whole notebook was used up" in REASONS["over"]["en"]
    assert notebook


# --- what feedback must not tell ----------------------------------------------

HELD = "[1., 1., 1., 1.]"  # what only the held-back check of `centred` asks
LEAKS = {
    "in the exception": inside(
        "if len(rewards) == 4: raise ValueError(str(rewards.tolist()) + str(rewards))"
    ),
    "in the exception's name": inside(
        "if len(rewards) == 4: raise type(str(rewards), (Exception,), {})"
    ),
    "in the type returned": inside(
        "if len(rewards) == 4: return type(str(rewards), (), {})()"
    ),
    "in a part of the package": inside(
        "import tokencredit\n"
        "    if len(rewards) == 4: return getattr(tokencredit, str(rewards))()"
    ),
    "kept for the next exercise": before("SEEN = []\n").replace(
        "    centre", "    SEEN.append(str(rewards))\n    centre", 1
    ),
}
TELLS = """
def objective(ratio, advantage, clip=0.2):
    raise ValueError(str(SEEN))
predicted = 1
"""


@pytest.mark.parametrize("name", LEAKS)
def test_no_message_holds_what_a_held_back_check_asks(sample, name):
    clip = TELLS if "next" in name else CLIP
    result = grade_one(submission(LEAKS[name], clip), *sample)
    text = markdown(result, sample[0]) + json.dumps(as_data(result, sample[0]))
    assert result.total < 5
    for shown in (HELD, "[1.0, 1.0, 1.0, 1.0]", "1., 1., 1."):
        assert shown not in text
    if name == "in the exception":
        assert "`ValueError`。不公开的检查不显示错误消息" in text
    if "next" in name:
        assert "[1., 2., 6.]" in text  # the public check's, which they may see


def test_a_private_message_is_shown_in_one_language(tmp_path, sample):
    said = "h = 0.001，A = -0.5 | h = 0.001, A = -0.5"
    check = Check("centred-private", f"assert False, {said!r}", 1.0, True)
    outcome = Outcome(check, False, {"kind": "assert", "text": said})
    assert reason(outcome.report, "en") == ["h = 0.001, A = -0.5"]
    assert reason(outcome.report, "zh") == ["h = 0.001，A = -0.5"]
    assert (
        reason({"kind": "assert", "text": "a | b is even"}, "en")[-2] == "a | b is even"
    )


# --- flags --------------------------------------------------------------------

INNOCENT = {
    "Kaggle's first cell": "import os\n"
    "for dirname, _, filenames in os.walk('/kaggle/input'):\n"
    "    for filename in filenames:\n        print(os.path.join(dirname, filename))\n",
    "a plot": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n",
    "deterministic algorithms": "torch.use_deterministic_algorithms(True)\n",
    "a file that is not there": "try:\n    open('/content/x.csv')\n"
    "except FileNotFoundError:\n    pass\n",
}


@pytest.mark.parametrize("name", INNOCENT)
def test_everyday_code_raises_no_flag(sample, name):
    notebook = put(submission(), "code", INNOCENT[name], 2)
    result = grade_one(notebook, *sample)
    assert result.total == 5
    assert not result.flags


def test_a_file_outside_is_still_refused_and_flagged(sample):
    for source in ("open('/etc/passwd').read()", "import os; os.listdir('/etc')"):
        result = grade_one(put(submission(), "code", source, 2), *sample)
        assert result.flags == {"files"}


# --- walls --------------------------------------------------------------------

SENDS = """
import ctypes, socket, struct
libc = ctypes.CDLL(None)  # round what Python would refuse
handle = libc.socket(2, 2, 0)
home = bytes([127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
address = struct.pack("<H", 2) + struct.pack(">H", PORT) + home
sent = libc.sendto(handle, b"homework", 8, 0, address, 16)
"""


def test_a_student_has_a_network_of_its_own(sample):
    homework, sandbox = sample
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind(("127.0.0.1", 0))
        here.settimeout(0.2)
        answer = before(SENDS.replace("PORT", str(here.getsockname()[1])))
        result = grade_one(submission(answer), homework, sandbox)
        if "network" in sandbox.open:
            pytest.skip("this system gives no network space")
        assert result.total == 5, markdown(result, homework)
        with pytest.raises(TimeoutError):
            here.recv(8)


SEES = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.kill(TEACHER, 0)  # no signal: is it there?
assert ctypes.get_errno() == 3, "no such process"
"""


def test_a_student_sees_no_process_of_the_teacher(sample):
    homework, sandbox = sample
    answer = before(SEES.replace("TEACHER", str(os.getpid())))
    result = grade_one(submission(answer), homework, sandbox)
    if "network" in sandbox.open:
        pytest.skip("this system gives no process space")
    assert result.total == 5, markdown(result, homework)


def test_the_network_test_would_hear_a_student():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind(("127.0.0.1", 0))
        here.settimeout(5)
        exec(SENDS.replace("PORT", str(here.getsockname()[1])), {})
        assert here.recv(8) == b"homework"


def test_an_installed_package_is_closed_and_others_stay_open(tmp_path, monkeypatch):
    site = tmp_path / "site"
    for name in ("tokencredit", "tokencredit-0.2.dist-info", "torch", "numpy"):
        write(site / name / "a.py")
    monkeypatch.setattr(worker.sysconfig, "get_path", lambda name: str(site))
    monkeypatch.setattr(worker.sysconfig, "get_paths", lambda: {"purelib": str(site)})
    opened = worker.readable([])
    assert opened[str(site / "torch")] == worker.READ == opened[str(site / "numpy")]
    assert opened[str(site)] == worker.LIST
    assert not [
        path for path in opened if "tokencredit" in path.removeprefix(str(tmp_path))
    ]
    with sandboxed(worker.close_files, tmp_path / "own", opened) as can_read:
        assert can_read(site / "torch" / "a.py")
        assert not can_read(site / "tokencredit" / "a.py")


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x = 1")


@contextlib.contextmanager
def sandboxed(close, folder: Path, opened: dict):
    """Close the files in a process of its own, and ask there what it can read."""
    folder.mkdir()

    def can_read(path: Path) -> bool:
        child = os.fork()
        if child == 0:
            closed = close(str(folder), opened)
            try:
                path.read_bytes()
            except PermissionError:
                os._exit(1 if closed else 2)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    yield can_read


@pytest.mark.parametrize(
    ("value", "model", "fits"),
    [
        ((1, 2), [1.0, 2.0], [1.0, 2.0]),
        ([1, 2], (1.0, 2.0), (1.0, 2.0)),
        (np.array([0.5, 1]), [0.0], [0.5, 1.0]),
        (torch.tensor([[1, 2]]), [[0.5, 0.5]], [[1.0, 2.0]]),
        (Fraction(1, 4), 3.0, 0.25),
        (torch.tensor([2.0]), 3, 2),
        (2.5, 3, 2.5),
        (0.5, True, 0.5),
        (np.bool_(True), False, True),
        (1, False, True),
        ({"a": (1,)}, {"a": [0.5]}, {"a": [1.0]}),
        ({1, 2}, [1, 2], {1, 2}),
        ("0.5", 0.5, "0.5"),
        (None, 0.5, None),
        (0.5, None, 0.5),
        (float("nan"), 3, None),
        (10**5000, 0.5, 10**5000),
        ([1.0, 2.0], 0.5, [1.0, 2.0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_takes_the_kind_of_the_published_answer(value, model, fits):
    got = kinds.fit(value, model)
    if fits is None and value != value:
        assert got != got
    else:
        assert got == fits and type(got) is type(fits)


def test_a_tensor_takes_dtype_and_keeps_numbers_shape_and_gradient():
    leaf = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    model = torch.zeros(2)
    got = kinds.fit(3 * leaf, model)
    assert got.dtype == torch.float32
    got.sum().backward()
    assert leaf.grad.tolist() == [3, 3]
    assert kinds.fit([leaf[0], 2.0], model).requires_grad
    assert kinds.fit(torch.tensor([[5.0]]), torch.tensor(1.0)).shape == ()
    assert kinds.fit(torch.ones(1, 2), model).shape == (1, 2)  # a wrong shape stays
    half = torch.tensor([0.5, 1.0])
    assert torch.equal(kinds.fit(half, torch.tensor([True, False])), half)
    assert kinds.fit(half > 0.7, torch.tensor([True, False])).dtype == torch.bool


@pytest.mark.parametrize(
    "data",
    [
        {"tensor": "float32", "shape": [10**12], "data": "", "grad": False},
        {"tensor": "float32", "shape": [-1], "data": "AAAAAA==", "grad": False},
        {"array": "|O", "shape": [1], "data": "AAAAAAAAAAA=", "scalar": False},
        {"tensor": "object", "shape": [], "data": "", "grad": False},
    ],
)
def test_a_forged_tensor_is_refused(data):
    with pytest.raises((ValueError, KeyError)):
        exchange.decode(data)


@pytest.mark.parametrize(
    ("text", "zh", "en"),
    [
        ("优势 | advantage", "优势", "advantage"),
        ("a | b", "a | b", "a | b"),
        ("P(A | B) 是条件概率", "P(A | B) 是条件概率", "P(A | B) 是条件概率"),
    ],
)
def test_a_pair_is_split_only_between_languages(text, zh, en):
    assert pick(text, "zh") == zh and pick(text, "en") == en
