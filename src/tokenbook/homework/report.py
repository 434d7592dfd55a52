"""Reports for teacher and students: feedback in one language, and grades.csv."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tokenbook.homework.source import Check, Exercise, Homework
from tokenbook.homework.words import NOTES, PROBLEMS, REASONS, SPOKEN, WORDS
from tokenbook.languages import BETWEEN, HAN, LANGUAGES, MARKS, fits, parts, pick

if TYPE_CHECKING:  # it needs torch, and this module does not
    from tokenbook.homework.grading import Outcome, Result

OWN_NOTES = {"changes-arguments", "published-answer"}  # shown at their exercise


def number(value: float) -> str:
    return f"{value:g}"


def reason(report: dict, lang: str) -> list[str]:
    """The lines that explain one failed check."""
    kind, text = report["kind"], str(report.get("text") or "")
    if kind == "assert" and (said := halves(text)):
        return [said[lang]]
    number = report.get("line")
    where = REASONS["line"][lang].format(line=number) if number else ""
    if report.get("quiet"):
        return [REASONS["quiet"][lang].format(where=where, kind=kind)]
    if kind in REASONS:
        line = REASONS[kind][lang].replace("{text}", text.replace("`", "'"))
        quoted = text if kind in ("assert", "check") else ""
    else:
        line = REASONS["raised"][lang].format(where=where)
        quoted = f"{kind}: {text}"
    if not quoted:
        return [line]
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`*", quoted)))
    return [line, "", fence, *quoted.splitlines(), fence]


def halves(text: str) -> dict[str, str]:
    """A check's message by language; empty if it is no pair.

    >>> halves("h = 0.1，A = 1 | h = 0.1, A = 1")["en"], halves("P(A | B) is wrong")
    ('h = 0.1, A = 1', {})
    """
    if len(parts(text)) > 1:
        return {lang: pick(text, lang) for lang in LANGUAGES}
    found = text.split(BETWEEN)
    wide = re.search(f"[{HAN}{MARKS}]", found[0])
    if len(found) == 2 and (wide or found[0] == found[1]) and fits(found[1], "en"):
        said = dict(zip(LANGUAGES, found, strict=False))
        return {lang: said.get(lang, found[-1]) for lang in LANGUAGES}
    return {}


def note_line(note: str, lang: str) -> str:
    """A note as text; it may end with the number of a cell."""
    key, _, cell = note.partition(" ")
    return f"- {NOTES[key][lang].format(cell=cell)}"


def check_lines(outcome: Outcome, lang: str) -> list[str]:
    check: Check = outcome.check
    name = WORDS["hidden" if check.hidden else "public"][lang]
    state = WORDS["passed" if outcome.passed else "failed"][lang]
    points = number(check.points if outcome.passed else 0)
    mark = f"- {name} `{check.id}`: {state}, {points} / {number(check.points)}"
    if lang == "zh":
        mark = mark.replace(": ", "：").replace(", ", "，")
    if outcome.passed:
        return [mark]
    why = [f"  {line}".rstrip() for line in reason(outcome.report, lang)]
    return [mark, "", *why, ""]


def markdown(result: Result, homework: Homework) -> str:
    """One student's feedback, in one language."""
    lang, points = result.lang, sum(e.points for e in homework.exercises)
    words = {key: value[lang] for key, value in WORDS.items()}
    total = words["total"].format(total=number(result.total), points=number(points))
    lines = [
        f"# {words['feedback'].format(name=homework.name)}",
        "",
        words["student"].format(student=result.student),
        "",
        f"**{total}**",
        "",
    ]
    if result.file:
        lines += [words["file"].format(file=f"`{Path(result.file).name}`"), ""]
    if result.problem:
        flags = result.flags | (
            {"too-large"} if "larger than" in result.problem else set()
        )
        known = next((k for k in PROBLEMS if k in flags), "grader-error")
        lines += [words["nothing"].format(problem=PROBLEMS[known][lang]), ""]
    flags = sorted(result.flags & NOTES.keys() - OWN_NOTES)
    lines += [note_line(flag, lang) for flag in flags]
    if result.slow:
        cells = (", " if lang == "en" else "、").join(result.slow)
        lines.append(note_line(f"slow-cells {cells}", lang))
    for exercise in homework.exercises:
        if outcomes := result.outcomes[exercise.id]:
            score = f"{number(result.score(exercise.id))} / {number(exercise.points)}"
            lines += ["", f"## {exercise.id} · {score}", ""]
            for outcome in outcomes:
                lines += check_lines(outcome, lang)
            notes = sorted(result.notes.get(exercise.id, ()))
            lines += [note_line(note, lang) for note in notes]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def message(report: dict, lang: str) -> str:
    return "\n".join(reason(report, lang)) if report else ""


def data(result: Result, homework: Homework) -> dict:
    """The same as data."""

    def exercise_data(exercise: Exercise) -> dict:
        return {
            "id": exercise.id,
            "score": result.score(exercise.id),
            "points": exercise.points,
            "notes": sorted(result.notes.get(exercise.id, ())),
            "checks": [
                {
                    "id": outcome.check.id,
                    "passed": outcome.passed,
                    "points": outcome.check.points,
                    "kind": outcome.report.get("kind", "passed"),
                    "message": message(outcome.report, result.lang),
                    "messages": {x: message(outcome.report, x) for x in SPOKEN},
                }
                for outcome in result.outcomes[exercise.id]
            ],
        }

    return {
        "student": result.student,
        "id": result.id,
        "lang": result.lang,
        "chapter": homework.name,
        "file": Path(result.file).name,
        "score": result.total,
        "points": sum(exercise.points for exercise in homework.exercises),
        "flags": sorted(result.flags),
        "problem": result.problem,
        "exercises": [exercise_data(exercise) for exercise in homework.exercises],
    }


def cell(text: str) -> str:
    """Text that a spreadsheet shows and does not run as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def write_feedback(result: Result, homework: Homework, out: Path) -> dict:
    """Write one student's feedback as text and data; return the data."""
    folder = feedback_of(result.student, out)
    folder.mkdir(parents=True, exist_ok=True)
    save(folder / "feedback.md", markdown(result, homework))
    content = data(result, homework)
    text = json.dumps(content, ensure_ascii=False, indent=1)
    save(folder / "feedback.json", text + "\n")
    return content


def feedback_of(student: str, out: Path) -> Path:
    return out / "feedback" / student


def write_grades(rows: list[dict], homework: Homework, out: Path) -> None:
    """The table of grades, of the students' data."""
    names = [exercise.id for exercise in homework.exercises]
    points = sum(exercise.points for exercise in homework.exercises)
    path = out / "grades.csv"
    with open(
        path, "w", encoding="utf-8-sig", errors="backslashreplace", newline=""
    ) as file:
        table = csv.writer(file)
        table.writerow(["student", *names, "total", "points", "lang", "flags", "id"])
        for row in rows:
            scores = [number(exercise["score"]) for exercise in row["exercises"]]
            table.writerow(
                [
                    *(cell(row["student"]), *scores, number(row["score"])),
                    *(number(points), row["lang"], " ".join(row["flags"]), row["id"]),
                ]
            )


def save(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
