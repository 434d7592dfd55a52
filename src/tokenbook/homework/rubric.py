"""A form for marks by hand: each student's text beside the book's rubric.

The page needs no network. It saves ``manual.csv``, a line for each point given; the
gradebook adds them, and the form, made again, shows them ticked.
"""

import csv
import json
import re
from html import escape
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from tokenbook.homework.page import STYLE
from tokenbook.homework.report import number
from tokenbook.homework.source import student_notebook
from tokenbook.homework.words import RUBRIC, WORDS
from tokenbook.languages.pages import NotebookError, language_of, read_notebook

MANUAL = "manual.csv"
FORM = Path(__file__).with_name("rubric.html")
EXERCISE = re.compile(r"### (?:练习|Exercise)")
ITEM = re.compile(r"(?m)^(?:-|\d+\.) (.+(?:\n(?!-|\d+\.|\n|<).+)*)")
EACH = re.compile(r"每点一分|one point each")
POINTS = re.compile(r"(\d+) (?:分|points?)\b")


class Item(NamedTuple):
    """One point of a rubric: "6.2" is the second of exercise 6."""

    id: str
    text: str
    points: float


def rubrics(chapter: Path, lang: str) -> dict[str, list[Item]]:
    """Return the rubrics of marks by hand, by the heading of the exercise."""
    found, heading, n = {}, "", 0
    for cell in read_notebook(chapter)["cells"]:
        if language_of(cell) not in (None, lang):
            continue
        source = cell["source"]
        if EXERCISE.match(source):
            heading, n = source.partition("\n")[0].removeprefix("### "), n + 1
        if 'class="solution"' not in source:
            continue
        each = EACH.search(source)
        items = []
        for text in ITEM.findall(source, each.end() if each else 0):
            said = POINTS.search(text)
            if each or said:
                points = 1.0 if each else float(said[1])
                items.append(Item(f"{n}.{len(items) + 1}", text, points))
        if items:
            found[heading] = items
    if not found:
        raise NotebookError(
            f"{chapter.name} has no rubric: all of it is marked by checks"
        )
    return found


def own_words(notebook: dict, chapter: Path, lang: str) -> str:
    """Return the text cells that a student wrote or changed, in order."""
    given = {
        "".join(c["source"]).strip() for c in student_notebook(chapter, lang)["cells"]
    }
    cells = [
        c["source"].strip() for c in notebook["cells"] if c["cell_type"] == "markdown"
    ]
    return "\n\n".join(text for text in cells if text and text not in given)


def marked(path: Path) -> dict[str, list[dict]]:
    """Return the lines of ``manual.csv`` by student, none without the file."""
    found: dict[str, list[dict]] = {}
    if not path.exists():
        return found
    lines = path.read_text("utf-8-sig").splitlines()
    for n, line in enumerate(csv.DictReader(lines), 2):
        try:
            line["points"] = float(line["points"] or "")
            wrong = not (line["student"] and isfinite(line["points"]))
        except (KeyError, ValueError):
            wrong = True
        if wrong:
            raise NotebookError(
                f"{path.name}, line {n}: it must have a student, and points that are "
                "a number"
            )
        found.setdefault(line["student"], []).append(line)
    return found


def form(chapter: Path, words: dict[str, str], lang: str, given: Path) -> str:
    """Return the page.

    Args:
        chapter: whose rubric it is.
        words: the students' texts.
        lang: of the page and the rubric.
        given: marks of an earlier sitting, if the file exists.

    Raises:
        NotebookError: a chapter without a rubric; a mark that is no number.
    """
    items, before = rubrics(chapter, lang), marked(given)
    say = {key: said[lang] for key, said in RUBRIC.items()}
    page = FORM.read_text("utf-8")
    filled = {
        "lang": lang,
        "style": STYLE,
        "title": say["title"].format(name=chapter.stem),
        "how": say["how"].format(file=MANUAL),
        "save": say["save"].format(file=MANUAL),
        "file": MANUAL,
        "said": json.dumps({"unsaved": say["unsaved"]}, ensure_ascii=False),
        "students": "".join(
            section(student, text, items, before.get(student, []), say, lang)
            for student, text in words.items()
        ),
    }
    return re.sub(rf"\{{({'|'.join(filled)})\}}", lambda m: filled[m[1]], page)


def section(student, text, items, before, say, lang) -> str:
    """Return one student's part."""
    ticked = {line.get("item") for line in before}
    known = {item.id for rows in items.values() for item in rows}
    rest = [line for line in before if line.get("item") not in known]
    more = number(sum(line["points"] for line in rest)) if rest else ""
    comment = "; ".join(filter(None, (line.get("comment") for line in rest)))
    fields = "".join(
        f"<fieldset><legend>{escape(heading)}</legend>"
        + "".join(tick(item, item.id in ticked, lang) for item in rows)
        + "</fieldset>"
        for heading, rows in items.items()
    )
    most = number(sum(item.points for rows in items.values() for item in rows))
    return (
        f'<section data-student="{escape(student)}"><h2>{escape(student)}: '
        f"<output></output> / {most}</h2><pre>{escape(text or say['nothing'])}</pre>"
        f'{fields}<p class="more"><label>{say["more"]} <input type="number" step="0.5" '
        f'value="{more}"></label> <label>{say["comment"]} <input type="text" '
        f'value="{escape(comment)}"></label></p></section>\n'
    )


def tick(item: Item, given: bool, lang: str) -> str:
    word = WORDS["point" if item.points == 1 else "points"][lang]
    points = word.format(points=number(item.points))
    return (
        f'<label><input type="checkbox" name="{item.id}" value="{number(item.points)}"'
        f"{' checked' if given else ''}>"
        f'<span data-text="{escape(item.text)}">{escape(item.text)} ({points})</span>'
        "</label>"
    )
