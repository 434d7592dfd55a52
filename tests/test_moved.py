"""The command that reads the pinned libraries again says what moved."""

import inspect
import re
import zipfile
from pathlib import Path

import moved
import trl
from trl.trainer import grpo_config

ROOT = Path(__file__).parents[1]


def wheel(folder: Path, text: str) -> Path:
    """A wheel of TRL with the given file of defaults, else as installed."""
    path = folder / "trl-9.9.9-py3-none-any.whl"
    trainer = Path(inspect.getfile(trl)).parent / "trainer"
    with zipfile.ZipFile(path, "w") as files:
        for file in set(trainer.glob("*.py")) - {trainer / "grpo_config.py"}:
            files.write(file, f"trl/trainer/{file.name}")
        files.writestr("trl/trainer/grpo_config.py", text)
    return path


def test_a_default_that_moved_and_one_that_is_gone_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(moved, "sentences", lambda folder: ["no longer true: x"])
    text = inspect.getsource(grpo_config)
    (old,) = re.findall(r"beta: float = field\(\s+default=0\.0", text)
    text = text.replace(old, old.replace("0.0", "0.04"))
    text = text.replace("    sapo_temperature_pos:", "    renamed:")
    head, *lines = moved.moved(wheel(tmp_path, text))
    assert head.startswith("trl 9.9.9 against ")
    assert lines[:2] == [
        "default of beta: 0.0, now 0.04",
        "default of sapo_temperature_pos: 1.0, now '(gone)'",
    ]
    assert lines[-1] == "no longer true: x"


def test_nothing_moves_in_what_is_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(moved, "sentences", lambda folder: [])
    path = wheel(tmp_path, inspect.getsource(grpo_config))
    assert not [x for x in list(moved.moved(path))[1:] if x.startswith("default")]


def test_make_reads_the_versions_that_the_book_cites():
    (told,) = re.findall(r"^VERSIONS \?= (.*)$", (ROOT / "Makefile").read_text(), re.M)
    versions = dict(x.lower().split("==") for x in told.split())
    assert versions == {
        name: table["version"] for name, table in moved.LIBRARIES.items()
    }
