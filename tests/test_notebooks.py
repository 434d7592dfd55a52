"""Stored outputs are in step with the code, and what is not is named."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tokenbook.languages import notebooks, parity
from tokenbook.languages.notebooks import ROOT

CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
CHAPTERS += [notebooks.APPENDIX, notebooks.TEMPLATE]
SMALL = """
{"cells": [
 {"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# A"]},
 {"cell_type": "code", "id": "b", "metadata": {"collapsed": true, "tags": ["x"]},
  "execution_count": 7, "outputs": [], "source": ["print(1)\\n", "print(2)"]},
 {"cell_type": "code", "id": "c", "metadata": {}, "execution_count": null,
  "outputs": [], "source": ["import torch\\n", "from tokencredit import *\\n",
   "x = torch.ones(1, 2)\\n", "m = x > 0\\n", "gae(x, x, m).sum()\\n",
   "discounted_return(x, m, gamma=1.0).sum()\\n", "kl_penalty(x, x, 'k2').sum()\\n",
   "aggregate_loss(x, m, 'token-mean').item()"]}
], "metadata": {"language_info": {"version": "3.1"}, "widgets": {}},
 "nbformat": 4, "nbformat_minor": 5}
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A notebook that the tool ran."""
    path = tmp_path_factory.mktemp("run") / "small.ipynb"
    path.write_text(SMALL, encoding="utf-8")
    assert notebooks.run(path) == []
    return path


@pytest.fixture
def copy(small, tmp_path):
    """A copy of it to plant faults in: a function that edits it and checks it."""

    def edited(edit) -> str:
        path = tmp_path / "small.ipynb"
        notebook = nbformat.read(small, as_version=4)
        edit(notebook)
        path.write_text(json.dumps(notebook), encoding="utf-8")
        return "\n".join(notebooks.check(path))

    return edited


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_chapter_is_in_step_with_its_code(path):
    assert notebooks.check(path) == []


def test_a_second_run_gives_no_difference(small):
    before = small.read_bytes()
    assert notebooks.run(small) == []
    assert small.read_bytes() == before


def test_a_run_leaves_nothing_of_the_machine(small):
    notebook = json.loads(small.read_text(encoding="utf-8"))
    assert [cell.get("execution_count") for cell in notebook["cells"]] == [None, 1, 2]
    assert notebook["cells"][1]["metadata"] == {"tags": ["x"]}
    assert len(notebook["cells"][1]["outputs"]) == 1
    assert set(notebook["metadata"]) == {"kernelspec", "language_info", "stamp"}
    assert notebook["metadata"]["language_info"] == {"name": "python"}


def test_a_cell_that_raises_is_named_and_nothing_is_stored(tmp_path):
    path = tmp_path / "small.ipynb"
    path.write_text(SMALL.replace("print(1)", "print(1 / 0)"), encoding="utf-8")
    before = path.read_bytes()
    (problem,) = notebooks.run(path)
    assert "small.ipynb" in problem and "ZeroDivisionError" in problem
    assert path.read_bytes() == before


def set_source(notebook):
    notebook.cells[1].source = "print(3)"


def reorder(notebook):
    notebook.cells.append(notebook.cells.pop(1))


def remove_cell(notebook):
    del notebook.cells[1]


def drop_count(notebook):
    notebook.cells[2].execution_count = None


def drop_stamp(notebook):
    del notebook.metadata["stamp"]


def show(mime, text):
    def edit(notebook):
        output = nbformat.v4.new_output("display_data", {mime: text})
        notebook.cells[1].outputs.append(output)

    return edit


def warn(notebook):
    output = nbformat.v4.new_output("stream", name="stderr", text="UserWarning")
    notebook.cells[1].outputs.append(output)


def raise_error(notebook):
    error = nbformat.v4.new_output("error", ename="KeyError", evalue="", traceback=[])
    notebook.cells[1].outputs.append(error)


def same_ids(notebook):
    notebook.cells[0].id = "c"


def timestamp(notebook):
    notebook.cells[1].metadata["execution"] = {"iopub.execute_input": "2026-01-01"}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (set_source, "cell 'b' changed after its output was stored"),
        (reorder, "reordered"),
        (remove_cell, "'b') was removed"),
        (drop_count, "cell 'c' (code cell 2) has execution count None"),
        (drop_stamp, "was never run by this tool"),
        (show("text/plain", "<Axes at 0x7f3c2a90>"), "a memory address ('0x7f3c2a90')"),
        (show("text/plain", "/home/someone/x"), "a local path"),
        (show("text/html", str(ROOT)), "a local path"),
        (show(notebooks.WIDGET_VIEW, {"model_id": "a"}), "stores a widget"),
        (show("image/png", "A" * 400_001), "bytes of outputs, more than 400000"),
        (warn, "writes to stderr"),
        (raise_error, "shows an error (KeyError)"),
        (same_ids, "two cells have the id 'c'"),
        (timestamp, "is not in normal form"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_fault_is_found_with_its_place(copy, fault, message):
    found = copy(fault)
    assert message in found
    assert "small.ipynb" in found


def test_a_stale_output_names_the_command_that_repairs_it(copy):
    found = copy(set_source)
    assert re.search(
        r"run: python -m tokenbook.languages.notebooks run \S*small.ipynb", found
    )


def stale_after(small: Path, folder: Path, pattern: str, edit) -> str:
    """What the check says after an edit of the module with this line, in a copy."""
    shutil.copytree(ROOT / "src", folder / "src", dirs_exist_ok=True)
    shutil.copytree(ROOT / "book", folder / "book", dirs_exist_ok=True)
    (file,) = (
        file
        for file in (folder / "src").rglob("*.py")
        if re.search(f"^{pattern}", file.read_text("utf-8"), re.M)
    )
    file.write_text(edit(file.read_text("utf-8")), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "tokenbook.languages.notebooks",
        "check",
        str(small),
    ]
    env = os.environ | {"PYTHONPATH": str(folder / "src")}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert not done.stderr
    return done.stdout


def renamed(old: str, new: str):
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return edit


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "edit", "stale"),
    [
        ("def gae", renamed("gamma * lam", "lam * gamma"), True),
        ("def discounted_return", lambda text: f"{text}\n\nNEW = 1\n", True),
        ("def gae", renamed("Args:", "Arguments:"), False),
        ("def gae", lambda text: f"{text}\n\ndef other():\n    return 1\n", False),
        (r"def ppo_clip_loss\($", lambda text: f"{text}\n\nNEW = 1\n", False),
        ("ALGORITHMS = ", lambda text: f'{text}\nALGORITHMS["New"] = None\n', False),
        ("AGGREGATIONS", lambda text: f'{text}\nAGGREGATIONS["new"] = None\n', False),
        (
            "KL_EST",
            renamed('"k2": lambda d: d.square()', '"k2": lambda d: d * d'),
            True,
        ),
        ("KL_EST", renamed('"k1": lambda d: d', '"k1": lambda d: d + 0'), False),
    ],
)
def test_outputs_are_stale_when_what_the_cells_used_changes(
    small, tmp_path, pattern, edit, stale
):
    said = stale_after(small, tmp_path, pattern, edit)
    assert bool(said) == stale, said
    assert not stale or "changed after the outputs were stored" in said


def test_only_what_is_stale_is_run(small, tmp_path, capsys):
    stale = tmp_path / "stale.ipynb"
    stale.write_text(small.read_text("utf-8").replace("print(2)", "print(3)"), "utf-8")
    assert notebooks.main(["run", "--stale", str(small), str(stale)]) == 0
    assert capsys.readouterr().out == "1 to run: stale\n"
    assert notebooks.main(["run", "--stale", str(small), str(stale)]) == 0
    assert capsys.readouterr().out == "0 to run: \n"


def test_a_new_chapter_passes_every_check(tmp_path, capsys):
    assert notebooks.new("07_kl", tmp_path) == []
    assert "made 07_kl.ipynb" in capsys.readouterr().out
    made = tmp_path / "07_kl.ipynb"
    assert notebooks.check(made) == []
    assert parity.check_file(made) == []
    command = [sys.executable, "-m", "ruff", "check", str(made)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize("name", ["kl", "7_kl", "07-kl", "../07_kl", "07_KL"])
def test_a_chapter_needs_a_number_and_a_plain_name(name, tmp_path):
    assert "named like 07_kl" in notebooks.new(name, tmp_path)[0]


def test_a_number_is_given_once(tmp_path):
    notebooks.new("07_kl", tmp_path)
    assert "there is a chapter 07 already" in notebooks.new("07_other", tmp_path)[0]


def test_the_command_fails_when_something_is_out_of_step(small, tmp_path, capsys):
    stale = tmp_path / "stale.ipynb"
    stale.write_text(small.read_text("utf-8").replace("print(2)", "print(3)"), "utf-8")
    assert notebooks.main(["check", str(small)]) == 0
    assert notebooks.main(["check", str(small), str(stale)]) == 1
    assert "stale.ipynb: cell 'b' changed" in capsys.readouterr().out


NBVAL = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout", "120"]
SVG = """
from IPython.display import SVG
import time
SVG(f'<svg xmlns="http://www.w3.org/2000/svg" height="{time.time_ns()}"><g/></svg>')
"""


def nbval(path: Path) -> subprocess.CompletedProcess:
    config = ["--nbval-sanitize-with", str(ROOT / "tests" / "sanitize.cfg")]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-c"]
    command += [str(path.parent / "pytest.ini"), *NBVAL, *config, str(path)]
    (path.parent / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(command, capture_output=True, text=True, cwd=path.parent)


@pytest.mark.slow
def test_nbval_compares_text_strictly_and_no_svg(small, tmp_path):
    notebook = nbformat.read(small, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(SVG.strip(), id="d"))
    path = tmp_path / "figure.ipynb"
    nbformat.write(notebook, path)
    assert notebooks.run(path) == []
    right = nbval(path)
    assert right.returncode == 0, right.stdout
    path.write_text(path.read_text("utf-8").replace('"1\\n"', '"8\\n"'), "utf-8")
    wrong = nbval(path)
    assert wrong.returncode == 1 and "1 failed" in wrong.stdout


def test_the_key_of_a_table_that_was_used_may_have_blanks():
    stored = "5a45e5cb730b T[Dr. GRPO + TIS] T[*] C.__init__ f *"
    names = ["T[Dr. GRPO + TIS]", "T[*]", "C.__init__", "f", "*"]
    assert notebooks.NAME.findall(stored)[1:] == names
