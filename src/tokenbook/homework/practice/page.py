"""Exercises in the page: a Sphinx extension.

An editor is placed under each exercise, before its solution; the controls to hand in
are at the end of the section; another page lists all exercises. The data of a chapter's
checks are one file, loaded at the first check, and so is Python, at `practice_home`
relative to the edition's root: in the edition itself unless
src/tokenbook/site/make/site.py puts one copy beside all editions.
"""

import functools
import hashlib
import json
import re
import shutil
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from tokenbook.homework.practice import vendor
from tokenbook.homework.source import (
    Homework,
    grader,
    is_setup,
    read_homework,
    student_code,
    student_notebook,
)
from tokenbook.homework.words import REASONS
from tokenbook.languages import SOURCE, pick
from tokenbook.languages.data import load
from tokenbook.languages.pages import (
    chapter_number,
    headings,
    language_of,
    read_notebook,
    slugs,
    titles,
)
from tokenbook.site import AFTER_LINKS

FOLDER = Path(__file__).parent
HOME = "_static/practice/python/"
RUNTIME = ("worker.mjs", "runner.py", "small_torch.py", "small_course.py")
BORROWED = ("stub", "assert", "check", "None", "missing", "raised", "line")
KINDS = {  # kinds of exercise, by the English heading; the others are written
    "bug": r"find the bugs?",
    "predict": r"predict",
    "experiment": r"experiment",
    "diagnose": r"diagnose|explain a log",
}
SHORT, MEDIUM = 4, 8  # lines of a solution
NUMBER = re.compile(r"[^·(（]+(?:· |[(（][^)）]+[)）][:：] ?)")  # and kind, if any


def words(part: str, lang: str) -> dict[str, str]:
    """Return a part of words.yml in one language."""
    return {
        name: pick(text, lang)
        for name, text in load(FOLDER / "words.yml")[part].items()
    }


def kind(title: str) -> str:
    """Return the kind of an exercise by its English heading.

    >>> kind("Exercise 2 · Find the bug: the wrong mean"), kind("Exercise 1 · Rewards")
    ('bug', 'write')
    """
    found = (name for name, said in KINDS.items() if re.search(said, title, re.I))
    return next(found, "write")


def unnumbered(title: str) -> str:
    """Return the heading of an exercise without its number.

    >>> unnumbered("Exercise 2 · Find the bug: the mean")
    'Find the bug: the mean'
    >>> unnumbered("Exercise 6 (write): how?")
    'How?'
    """
    said = NUMBER.sub("", title, count=1)
    return said[0].upper() + said[1:]


@functools.lru_cache(maxsize=64)
def _exercises(path: Path, changed: int) -> tuple[dict, ...]:
    cells, homework = read_notebook(path)["cells"], read_homework(path)
    shared = "".join(cell["source"] for cell in cells if is_setup(cell))
    known = {exercise.id: exercise for exercise in homework.exercises}
    made, heading = [], {}
    anchor = iter(slugs(titles(read_notebook(path))))
    for cell in cells:
        for level, title in (
            headings(cell["source"]) if cell["cell_type"] == "markdown" else ()
        ):
            lang = language_of(cell)
            if level == 3 and lang:
                heading[lang] = title
            if lang in (None, SOURCE):
                heading["anchor"] = next(anchor)
        exercise = known.get(str(grader(cell).get("grade_id")))
        if not exercise or not grader(cell).get("solution"):
            continue
        public = "".join(check.source for check in exercise.checks if not check.hidden)
        stub = student_code(cell, SOURCE)
        length = len(exercise.solution.strip().splitlines())
        made.append(
            {
                "id": exercise.id,
                "hash": hashlib.sha1((stub + public + shared).encode()).hexdigest()[:6],
                "held": any(check.hidden for check in exercise.checks),
                "kind": kind(heading.get(SOURCE, "")),
                "level": 1 + (length > SHORT) + (length > MEDIUM),
                "cell": cell,
                **heading,
            }
        )
    return tuple(made)


def exercises(path: Path) -> tuple[dict, ...]:
    """Return a chapter's exercises in order.

    Each has its id, its heading in every language and their anchor, its kind, its level
    of difficulty from 1 to 3, whether checks are held back, and a hash of everything
    that a pass depends on: the stub, the public checks, the setup.
    """
    return _exercises(path, path.stat().st_mtime_ns)


def answers(path: Path) -> set[str]:
    """Return the public checks of the values that a reader has to predict."""
    asked = {one["id"] for one in exercises(path) if one["kind"] == "predict"}
    own = (x for x in read_homework(path).exercises if x.id in asked)
    return {check.id for x in own for check in x.checks if not check.hidden}


def file_of(path: Path, lang: str) -> dict:
    """Return the data of a chapter's checks: cells, names, the student's notebook."""
    homework, notebook = read_homework(path), student_notebook(path, lang)
    return {
        "name": f"{path.stem}_{lang}.ipynb",
        "notebook": notebook,
        "cells": list(runnable(notebook, homework)),
        "asked": [name for exercise in homework.exercises for name in exercise.names],
    }


def runnable(notebook: dict, homework: Homework):
    """Yield the cells that the page runs in order: setup, answers, public checks."""
    owner = {
        check.id: exercise.id
        for exercise in homework.exercises
        for check in exercise.checks
        if not check.hidden
    }
    for cell in notebook["cells"]:
        meta, source = grader(cell), "".join(cell["source"])
        if not meta:
            continue
        name = str(meta["grade_id"])
        if meta.get("solution"):
            yield {"kind": "answer", "id": name}
        elif is_setup(cell):
            yield {"kind": "setup", "id": name, "source": source}
        elif name in owner:
            yield {"kind": "check", "id": name, "of": owner[name], "source": source}


# --- what stands in the page -------------------------------------------------


def box(exercise: dict, title: str, lang: str) -> str:
    """Return the editor of an exercise, its buttons and the place of its verdict."""
    say, name = words("exercise", lang), f"practice-{exercise['id']}"
    stub = student_code(exercise["cell"], lang).partition("\n")[2]
    data = f'data-exercise="{exercise["id"]}" data-title="{escape(title)}"'
    data += ' data-held="1"' * exercise["held"]
    label = escape(say["to"].format(title=title))
    return f"""<div class="practice pst-js-only" {data}>
<label class="practice-name" for="{name}">{say["answer"]}</label>
<div class="practice-editor"><pre class="highlight" aria-hidden="true"></pre>\
<textarea id="{name}" aria-label="{label}" aria-describedby="{name}-keys" \
spellcheck="false" autocapitalize="off" autocomplete="off" autocorrect="off" \
translate="no">
{escape(stub)}</textarea></div>
<div class="practice-bar"><button type="button" class="practice-check" \
aria-label="{escape(say["check"] + " · " + title)}">{say["check"]}</button>\
<button type="button" class="practice-reset" hidden></button>\
<span class="practice-state" role="status"></span>\
<span class="practice-keys" id="{name}-keys">{say["keys"]}</span></div>
<div class="practice-result" role="status"></div>
</div>
"""


def panel(lang: str) -> str:
    """Return the end of the exercises: the tally, the homework's file."""
    say = words("panel", lang)
    return f"""<div class="practice practice-hand-in pst-js-only">
<p><strong>{say["hand_in"]}</strong> · <span class="practice-tally"></span></p>
<p>{say["kept"]}</p>
<div class="practice-bar"><button type="button" class="practice-download">\
{say["download"]}</button><button type="button" class="practice-open">{say["open"]}\
</button><input type="file" accept=".ipynb" tabindex="-1" aria-hidden="true">\
<span class="practice-state" role="status"></span></div>
</div>
"""


class Practice(SphinxTransform):
    """Put an editor before the solution of each exercise, and the panel at the end."""

    default_priority = AFTER_LINKS

    def apply(self) -> None:
        page = self.env.docname
        path = Path(self.env.doc2path(page))
        if chapter_number(page) is None or path.suffix != ".ipynb":
            return
        lang, made, checks = self.config.edition, {}, []
        for cell in self.document.findall(nodes.Element):
            if cell.get("nb_element") == "cell_code":
                meta = cell["cell_metadata"].get("nbgrader", {})
                if meta.get("solution"):
                    made[str(meta["grade_id"])] = cell
                elif meta.get("grade") and "tag_remove-cell" not in cell["classes"]:
                    checks.append(cell)
        if not made:
            return
        for file in (FOLDER / "words.yml", Path(__file__)):
            self.env.note_dependency(str(file))
        for exercise in exercises(path):
            cell = made[exercise["id"]]
            title = cell.parent.next_node(nodes.title).astext()
            raw = nodes.raw("", box(exercise, title, lang), format="html")
            cell.parent.insert(cell.parent.index(cell), raw)
            last = cell.parent
        said, predicted = words("exercise", lang), answers(path)
        for cell in checks:
            name, place = (
                str(cell["cell_metadata"]["nbgrader"]["grade_id"]),
                cell.parent.index(cell),
            )
            title = said["answers" if name in predicted else "shown"]
            text = f'<details class="practice-shown"><summary>{title}</summary>'
            cell.parent.insert(place + 1, nodes.raw("", "</details>", format="html"))
            cell.parent.insert(place, nodes.raw("", text, format="html"))
        rules = f'<p class="practice-rules pst-js-only">{said["rules"]}</p>'
        last.parent.insert(1, nodes.raw("", rules, format="html"))
        last.parent.append(nodes.raw("", panel(lang), format="html"))


class ExerciseList(SphinxDirective):
    """All exercises of the book, by chapter, and ten to know by heart."""

    def run(self) -> list[nodes.Node]:
        root, lang = Path(self.env.srcdir), self.config.edition
        found = sorted((root / "chapters").glob("[0-9]*.ipynb"))
        chapters = {
            chapter_number(path.name): path
            for path in found
            if f"chapters/{path.stem}" in self.env.found_docs
        }
        for file in (FOLDER / "words.yml", Path(__file__), *chapters.values()):
            self.env.note_dependency(str(file))
        self.env.note_dependency(str(root / "book" / "course.yml"))
        names = {row["number"]: row[lang] for row in load(root / "book" / "course.yml")}
        html = listing(chapters, names, lang)
        return [nodes.raw("", html, format="html")]


def listing(chapters: dict[int, Path], names: dict[int, str], lang: str) -> str:
    """Return the page of all exercises: filters, ten functions, the list."""
    say, levels = words("list", lang), words("list", lang)["levels"].split("/")

    def choice(name: str, options: dict) -> str:
        listed = "".join(
            f'<option value="{value}">{escape(str(text))}</option>'
            for value, text in {"": say["every"], **options}.items()
        )
        return f'<label>{say[name]} <select name="{name}">{listed}</select></label>'

    def item(n: int, number: int, exercise: dict, title: str) -> str:
        page = f"chapters/{chapters[number].stem}"
        return (
            f'<li data-on="{page}" data-exercise="{exercise["id"]}" '
            f'data-chapter="{number}" data-kind="{exercise["kind"]}" '
            f'data-level="{exercise["level"]}"><b>{n}</b> '
            f'<a href="../{page}.html#{exercise["anchor"]}">{escape(title)}</a> '
            f"<small>{levels[exercise['level'] - 1]}</small></li>"
        )

    by_id = {(n, e["id"]): e for n, path in chapters.items() for e in exercises(path)}
    ten = [
        (number, by_id[number, name], pick(title, lang))
        for number, name, title in load(FOLDER / "words.yml")["ten"]
        if number in chapters
    ]
    parts = [
        '<div class="practice-list">',
        f'<h2 id="ten">{say["ten"]}</h2><p>{say["ten_says"]}</p>',
        '<p class="practice-bar pst-js-only"><button type="button" '
        f'class="practice-clock" data-stop="{say["stop"]}">{say["start"]}</button>'
        f'<output aria-label="{say["clock"]}"></output></p>',
        f"<ol>{''.join(item(n, *one) for n, one in enumerate(ten, 1))}</ol>",
        f'<h2 id="all">{say["all"]}</h2><p>{say["rule"]}</p>',
        '<form class="practice-filters pst-js-only">',
        choice("chapter", {n: f"{n} {names[n]}" for n in chapters}),
        choice("kind", words("kinds", lang)),
        choice("level", dict(enumerate(levels, 1))),
        f'<label><input type="checkbox" name="todo"> {say["todo"]}</label>',
        f'<a class="practice-next" href="#">{say["next"]}</a>',
        f'<p class="practice-none" role="status" hidden>{say["none"]}</p></form>',
    ]
    for number, path in chapters.items():
        listed = "".join(
            item(n, number, e, unnumbered(e[lang]))
            for n, e in enumerate(exercises(path), 1)
        )
        parts.append(
            f'<section data-chapter="{number}"><h3 id="chapter-{number}">{number} '
            f"{escape(names[number])}</h3><ol>{listed}</ol></section>"
        )
    return "\n".join([*parts, "</div>"])


# --- files --------------------------------------------------------------------


def script(app: Sphinx) -> str:
    """Return the script of an edition: words, hashes of the exercises, program."""
    lang, env = app.config.edition, app.env
    said = words("page", lang) | {name: REASONS[name][lang] for name in BORROWED}
    pages = {}
    for page in sorted(env.found_docs):
        path = Path(env.doc2path(page))
        if chapter_number(page) is not None and path.suffix == ".ipynb":
            pages[page] = {e["id"]: e["hash"] for e in exercises(path)}
    data = {
        "words": said,
        "exercises": {page: known for page, known in pages.items() if known},
        "home": app.config.practice_home,
        "python": has_python(),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    program = (FOLDER / "practice.js").read_text("utf-8")
    program = re.sub(r"(?m)^[ \t]*//.*\n|^[ \t]+|[ \t]+// .*$", "", program)
    return f"(() => {{\nconst DATA = {text};\n{program}}})();\n"


def has_python() -> bool:
    """Whether the core of Pyodide is in the repository."""
    return all((vendor.FOLDER / name).is_file() for name in vendor.LOADED)


def write_runtime(folder: Path) -> None:
    """Copy the runtime of Python in a page, if Pyodide's core is here."""
    if not has_python():
        print("practice: no Python for the exercises; pages say so (make python)")
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in vendor.LOADED:
        shutil.copy(vendor.FOLDER / name, folder)
    for licence in vendor.FOLDER.glob("LICENSE*"):
        shutil.copy(licence, folder)
    for name in RUNTIME:
        shutil.copy(FOLDER / name, folder)


def add_script(app: Sphinx, env, names: list[str]) -> None:
    """Write the script where Sphinx finds it, once the pages are known."""
    folder = Path(app.doctreedir, "practice")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "practice.js").write_text(script(app), "utf-8")
    shutil.copy(FOLDER / "practice.css", folder)
    shutil.copy(FOLDER / "list.js", folder / "practice-list.js")
    app.config.html_static_path.append(str(folder))


def write_files(app: Sphinx, error: Exception | None) -> None:
    """Write each chapter's file, and Python unless it is beside the editions."""
    if error or app.builder.format != "html":
        return
    folder = Path(app.outdir, "_static", "practice")
    folder.mkdir(parents=True, exist_ok=True)
    for page in app.env.found_docs:
        path = Path(app.env.doc2path(page))
        if chapter_number(page) is None or path.suffix != ".ipynb":
            continue
        if exercises(path):
            text = json.dumps(file_of(path, app.config.edition), ensure_ascii=False)
            (folder / f"{path.stem}.js").write_text(
                f"window.practice = {text};\n", "utf-8"
            )
    if app.config.practice_home == HOME:
        write_runtime(Path(app.outdir, HOME))


def setup(app: Sphinx) -> dict:
    app.add_config_value("practice_home", HOME, "env", types=[str])
    app.add_transform(Practice)
    app.add_directive("exercise-list", ExerciseList)
    app.connect("env-before-read-docs", add_script)
    app.add_css_file("practice.css")
    app.connect("build-finished", write_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
