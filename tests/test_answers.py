"""Checks tell right answers from wrong ones: every exercise, through the real grader.

The stored answers lie in ``homework/answers``, one file per chapter; right answers of
other types are made from the published solution. The table of all exercises:
``python -m tokenbook.homework verify all --answers tests/homework/answers``.
"""

from pathlib import Path

import pytest

from tokenbook.homework.answers import AnswersError, read_answers, try_answers
from tokenbook.homework.source import has_homework, read_homework
from tokenbook.homework.verify import sandbox_for

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = ROOT / "tests" / "homework" / "answers"
SAMPLE = ROOT / "tests" / "homework" / "90_sample.ipynb"
CHAPTERS = [
    path for path in sorted((ROOT / "chapters").glob("*.ipynb")) if has_homework(path)
]
HOMEWORK = {path: read_homework(path) for path in CHAPTERS}


@pytest.fixture(scope="module")
def sandbox():
    with sandbox_for([*HOMEWORK.values(), read_homework(SAMPLE)], [ROOT]) as sandbox:
        yield sandbox


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_wrong_answers_lose_points_and_right_ones_keep_them(path, sandbox):
    faults, lines = [], []
    for tried in try_answers(path, HOMEWORK[path], ANSWERS, sandbox):
        faults += tried.faults
        counts = f"{tried.wrong} {tried.lost} {tried.right} {tried.kept}"
        lines.append(f"{path.stem} {tried.exercise.id} {counts}")
    print("\nwrong tried, lost; right tried, kept", *lines, sep="\n")
    assert not faults, "\n".join(["", *faults])


# --- the table sees faults ----------------------------------------------------

SOUND = """
centred:
  wrong:
    only centred: [["/ (spread + eps)", ""]]
    nothing done: |
      def centred(rewards, eps=1e-6):
          return rewards
    divided by n: [["rewards.std()", "rewards.std(correction=0)"]]
clip:
  wrong:
    no clip: |
      def objective(ratio, advantage, clip=0.2):
          return ratio * advantage
      predicted = 0
    larger of the two: [["torch.minimum(", "torch.maximum("]]
    another prediction: [["predicted = 0", "predicted = 1"]]
"""
NONE = "0 wrong answers, not 3"


def faults(text: str, folder: Path, sandbox) -> list[str]:
    (folder / "90_sample.yml").write_text(text, "utf-8")
    every = try_answers(SAMPLE, read_homework(SAMPLE), folder, sandbox)
    return [fault for tried in every for fault in tried.faults]


def test_sound_answers_have_no_fault(tmp_path, sandbox):
    assert not faults(SOUND, tmp_path, sandbox)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (
            "return rewards\n",
            "return CENTRED",
            ["wrong 'nothing done' keeps all points"],
        ),
        ("clip:\n  wrong:", "clip:\n  right:", ["right 'no clip' loses points", NONE]),
        (SOUND, "", [NONE]),
    ],
)
def test_an_answer_that_comes_out_wrong_is_named(tmp_path, sandbox, old, new, named):
    new = new.replace("CENTRED", "(rewards - rewards.mean()) / (rewards.std() + eps)\n")
    found = "\n".join(faults(SOUND.replace(old, new), tmp_path, sandbox))
    assert [fault for fault in named if fault not in found] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gone: {}", "90_sample.yml: no exercise gone"),
        ("centred: {good: {}}", "centred: good is neither wrong nor right"),
        ("centred: {wrong: [1]}", "centred: wrong: a dict is wanted"),
        ("centred: {wrong: {a: 7}}", "centred: a: a list is wanted"),
        ("centred: {wrong: {a: [[x]]}}", "centred: a: an edit is a pair [old, new]"),
        (
            "centred: {wrong: {a: [[xyz, y]]}}",
            "centred: a: 'xyz' occurs 0 times, not once",
        ),
        ("centred: {wrong: {a: [[rewards, y]]}}", "times, not once"),
        ("centred: {wrong: {a: 'def f(:'}}", "centred: a: no Python"),
        ("centred: {wrong: {a: []}}", "centred: a: this is the published solution"),
        ("a: [", "90_sample.yml: while parsing"),
    ],
)
def test_a_bad_entry_is_named_by_file_exercise_and_description(tmp_path, text, said):
    (tmp_path / "90_sample.yml").write_text(text)
    with pytest.raises(AnswersError) as raised:
        read_answers(tmp_path / "90_sample.yml", read_homework(SAMPLE))
    assert said in str(raised.value)
