"""The playground: a policy is trained in the page, with the package's own rows.

The algorithms come from ``tokencredit.ALGORITHMS`` and the tasks from
``tokencredit.world.enumerable``. An algorithm with a part that is not in ``stages.js``
is left out; the build names both. Stories and words are YAML.

    python -m tokenbook.site.playground.page   measure stories and painted checkers
                                               anew (measured.json, painted.json)
"""

import functools
import json
import os
import re
import sys
from dataclasses import asdict, fields
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole

from tokenbook.languages import LANGUAGES
from tokenbook.languages.data import load as load_file
from tokenbook.languages.glossary import term
from tokenbook.languages.pages import slug
from tokenbook.site.generated import Generated, table
from tokenbook.site.javascript import javascript
from tokencredit import ALGORITHMS, Algorithm
from tokencredit.world.enumerable import ENUMERABLE

FOLDER = Path(__file__).parent
SIMULATION = ("tree", "brush", "stages", "policy", "dials", "address", "python")
SCRIPTS = (*SIMULATION, "charts", "view", "apart", "sheet", "page")
TITLE_FIELDS = ("paper", "url", "parent", "sources")
SEEDS = 8
EVERY = 20  # iterations between two numbers of a painted checker's run
log = logging.getLogger(__name__)


def script(*names: str) -> str:
    """Return those parts of the program, one after another."""
    return "\n".join((FOLDER / f"{name}.js").read_text("utf-8") for name in names)


def lean(program: str) -> str:
    """Return a script or style sheet without comments and what only sets it out.

    In a string " // " would begin one, too: none has it.
    """
    program = re.sub(r"/\*.*?\*/\n?", "", program, flags=re.S)
    program = re.sub(r"^\s*//.*\n|^\s+|[ \t]+// .*", "", program, flags=re.M)
    return re.sub(r"([;{,])\n", r"\1", program)


def load(name: str):
    """Return a YAML file of the playground."""
    return load_file(FOLDER / f"{name}.yml")


def stories() -> list[dict]:
    """Return the stories; the anchor of the English title is a story's id."""
    return [{"id": slug(one["title"]["en"])} | one for one in load("stories")]


def levels() -> list[dict]:
    """Return the levels of “Paint the checker”; ids as those of the stories."""
    found = []
    for one in load("levels"):
        name = slug(one["title"]["en"])
        found.append({"id": name, "task": name, "level": True} | one)
    return found


def row_data(row: Algorithm) -> dict:
    """Return a row as plain data: a function is its name and its keywords."""

    def plain(value):
        if isinstance(value, partial):
            return {"f": value.func.__name__, **value.keywords}
        return {"f": value.__name__} if callable(value) else value

    names = [f.name for f in fields(row) if f.name not in TITLE_FIELDS]
    return {name: plain(getattr(row, name)) for name in names}


def task_data() -> dict[str, dict]:
    """Return the tasks as plain data."""
    hidden = ("noise", "offset", "seed")
    return {
        name: {k: v for k, v in asdict(task).items() if k not in hidden}
        for name, task in ENUMERABLE.items()
    }


def level_tasks() -> dict[str, dict]:
    """Return the tasks of the levels as plain data."""
    same = {"world": "", "world_at": []}
    return {
        level["id"]: {
            "words": level["words"],
            "max_response": level["max_response"],
            "asked": [{"pays": level["pays"], "right": level["right"]}],
            "start": level["start"],
        }
        | same
        for level in levels()
    }


@functools.cache
def simulation():
    """Return the scripts that simulate training, without the page, in V8."""
    return javascript(script(*SIMULATION, "measure"))


def rows() -> dict[str, dict]:
    """Return as data the rows of ALGORITHMS that the page can run."""
    data = {name: row_data(row) for name, row in ALGORITHMS.items()}
    return {k: row for k, row in data.items() if not simulation().call("missing", row)}


def left_out() -> list[str]:
    """Return the missing parts of the other rows, except those with a teacher."""
    data = [row_data(row) for row in ALGORITHMS.values() if not row.taught]
    return [what for row in data for what in simulation().call("missing", row)]


def measure(story: dict) -> dict[str, list]:
    """Return the results of a story, per side: a list over seeds for each measure."""
    return simulation().call("measureStory", story, rows(), task_data(), SEEDS)


def measure_painted(level: dict, checker: dict) -> dict:
    """Return the outcome of a checker, and medians of people and checker satisfied."""
    tasks = level_tasks()
    return simulation().call(
        "measurePainted", level, checker, rows(), tasks, SEEDS, EVERY
    )


def medians(found: dict) -> dict:
    """Return a measured checker for the file: medians of the seeds, rounded."""
    curves = {
        name: [round(sorted(at)[SEEDS // 2], 3) for at in found[name]]
        for name in ("people", "checker")
    }
    return {k: v for k, v in found.items() if k in ("how", "n")} | curves


def spread(values: list[float | None]) -> list[float | None]:
    """Return median, smallest and largest; None, for never, is larger than all."""
    order = sorted(values, key=lambda x: float("inf") if x is None else x)
    low, high = order[(len(order) - 1) // 2], order[len(order) // 2]
    middle = None if high is None else (low + high) / 2
    return [x if x is None else round(x, 4) for x in (middle, order[0], order[-1])]


def translated(entry, lang: str):
    """Return words.yml or a part of it in one language.

    A text that is no pair names its terms by glossary ids, in braces.
    """
    if isinstance(entry, str):
        return re.sub(r"\{(\w+)\}", lambda found: term(found[1], lang), entry)
    if isinstance(entry, list):
        return [translated(one, lang) for one in entry]
    if set(entry) == set(LANGUAGES):
        return entry[lang]
    return {str(key): translated(value, lang) for key, value in entry.items()}


def page_data(lang: str, chapters: str) -> dict:
    """Return the page's data in one language."""
    told = []
    for story in stories():
        story = {k: v for k, v in story.items() if k != "shows"}
        story |= {key: story[key][lang] for key in ("title", "watch", "why")}
        told.append(story | {"chapter": f"{chapters}{story['chapter']}.html"})
    words, mended = translated(load("words"), lang), []
    for level in levels():
        told_of = {key: level[key][lang] for key in ("title", "watch", "why")}
        words["about"][level["id"]] = level["wants"][lang]
        words["task"][level["id"]] = level["title"][lang]
        kept = ("id", "task", "level", "algorithm", "both", "iterations")
        told_of |= {key: level[key] for key in kept}
        told_of |= {"chapter": f"{chapters}{level['chapter']}.html", "charts": []}
        mended.append(told_of)
    return {
        "rows": rows(),
        "tasks": task_data(),
        "stories": told,
        "levels": mended,
        "level_tasks": level_tasks(),
        "words": words,
    }


def page_html(lang: str, chapters: str) -> str:
    """Return the page's own part: style, data and program in one piece."""
    data = page_data(lang, chapters)
    without = data["words"].pop("below")["noscript"]
    data = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    data = data.replace("</", r"<\/")
    css = lean((FOLDER / "page.css").read_text("utf-8"))
    css = re.sub(r"\s*([{};,>])\s*", r"\1", css)
    css = css.replace(": ", ":").replace(";}", "}")
    return (
        f'<style>{css}</style>\n<div id="playground" class="pg">'
        f"<noscript>{without}</noscript></div>\n"
        f'<script>\n(() => {{\n"use strict";\nconst DATA = {data};\n'
        f"{lean(script(*SCRIPTS))}\n}})();\n</script>"
    )


def shown(what: dict, value: float | None, words: dict) -> str:
    """Return a measured number as a reader writes it."""
    if value is None:
        return words["below"]["never"]
    return f"{value:.0f}" if "until" in what else f"{value:.2f}".replace("-", "−")


def label(what: dict, words: dict) -> str:
    """Return the name of a measure, with its moment."""
    ui, below = words["ui"], words["below"]
    name = below["hard"] if what["chart"] == "hard" else words["chart"][what["chart"]]
    if "until" in what:
        unit = ui[what.get("in", "iterations")]
        when = below["until"].format(v=what["until"], unit=unit)
    elif isinstance(what["at"], int):
        when = below["at_iteration"].format(n=what["at"])
    else:
        when = below["at_" + what["at"]]
    return name + ui["comma"] + when


class Playground(Generated):
    """The page's own part."""

    def made(self) -> list[nodes.Node]:
        for path in FOLDER.iterdir():
            self.depends_on(path)
        for what in left_out():
            todo = "add it to src/tokenbook/site/playground/stages.js"
            print(f"not in the playground: {what} ({todo})", file=sys.stderr)
        html = page_html(self.config.edition, "../chapters/")
        return [nodes.raw("", html, format="html")]


class Stories(Generated):
    """A section for each story, with folded hints, reason and measurements."""

    def markdown(self, lang: str) -> str:
        words = translated(load("words"), lang)
        measured = json.loads((FOLDER / "measured.json").read_text(encoding="utf-8"))
        text = []
        for story in stories():
            lines = []
            for n, what in enumerate(story["shows"]):
                cells = [label(what, words)]
                for side in ("A", "B"):
                    middle, low, high = (
                        shown(what, x, words) for x in measured[story["id"]][side][n]
                    )
                    cells.append(f"{middle} [{low}, {high}]")
                lines.append(cells)
            button = f'<button class="pg-go" data-play-story="{story["id"]}">'
            text += [
                f"### {story['title'][lang]}",
                "",
                f"```{{raw}} html\n{button}{words['below']['open']}</button>\n```",
                "",
                f"<details><summary>{words['below']['told']}</summary>",
                "",
                story["watch"][lang],
                story["why"][lang],
                "",
                table([words["below"]["measured"], "A", "B"], lines),
                f"[{words['ui']['read']}](../chapters/{story['chapter']}.ipynb)",
                "",
                "</details>",
                "",
            ]
        return "\n".join(text)


class Levels(Generated):
    """A section for each level, with the folded reason and results of some checkers."""

    def markdown(self, lang: str) -> str:
        words = translated(load("words"), lang)
        ui, below, text = words["ui"], words["below"], []
        stored = json.loads((FOLDER / "painted.json").read_text(encoding="utf-8"))
        for level in levels():
            lines = []
            for one, found in zip(level["tries"], stored[level["id"]], strict=True):
                strokes = [
                    " ".join(words["say"].get(word, word) for word in stroke[:-1])
                    + f" … → {stroke[-1]}"
                    for stroke in one["paint"].split(".")
                    if stroke
                ]
                turned = [
                    f"{words['dial'][k]} {v}" for k, v in one.get("set", {}).items()
                ]
                how = ui["ends_" + found["how"]].format(n=found.get("n"))
                lines.append(
                    [
                        ui["comma"].join(strokes + turned) or below["unmended"],
                        f"{found['people'][-1]:.2f}",
                        f"{found['checker'][-1]:.2f}",
                        how,
                    ]
                )
            button = f'<button class="pg-go" data-play-story="{level["id"]}">'
            heads = [below["painted"], ui["people"], ui["checker"], below["ends"]]
            text += [
                f"### {level['title'][lang]}",
                "",
                f"```{{raw}} html\n{button}{below['open']}</button>\n```",
                "",
                level["wants"][lang],
                "",
                f"<details><summary>{below['solved']}</summary>",
                "",
                level["why"][lang],
                "",
                table(heads, lines),
                "</details>",
                "",
            ]
        return "\n".join(text)


class Play(ReferenceRole):
    """A link to a story by its id; alone, the id shows the story's title."""

    def run(self) -> tuple[list[nodes.Node], list]:
        self.env.note_dependency(str(FOLDER / "stories.yml"))
        self.env.note_dependency(str(FOLDER / "levels.yml"))
        titles = {one["id"]: one["title"] for one in [*stories(), *levels()]}
        if self.target not in titles:
            log.warning(
                "no story %r in src/tokenbook/site/playground/stories.yml; near: %s",
                self.target,
                ", ".join(get_close_matches(self.target, titles, 3, 0.3)) or "none",
                location=self.get_location(),
            )
            return [nodes.Text(self.title)], []
        words = titles[self.target][self.config.edition]
        up = "../" * self.env.docname.count("/")
        link = nodes.reference(
            "",
            self.title if self.has_explicit_title else words,
            refuri=f"{up}book/playground.html#{self.target}",
            reftitle=words,
            internal=True,
            classes=["play"],
        )
        return [link], []


def setup(app: Sphinx) -> dict:
    app.add_directive("playground", Playground)
    app.add_directive("playground-stories", Stories)
    app.add_directive("playground-levels", Levels)
    app.add_role("play", Play())
    return {"parallel_read_safe": False, "parallel_write_safe": True}


if __name__ == "__main__":
    found = {}
    for story in stories():
        sides = {k: [spread(x) for x in v] for k, v in measure(story).items()}
        found[story["id"]] = sides
        for n, what in enumerate(story["shows"]):
            print(story["id"], what, *(f"{k} {v[n]}" for k, v in sides.items()))
    text = json.dumps(found, indent=1)
    (FOLDER / "measured.json").write_text(text + "\n", encoding="utf-8")
    checkers = {}
    for level in levels():
        tried = [medians(measure_painted(level, one)) for one in level["tries"]]
        checkers[level["id"]] = tried
        for one, what in zip(level["tries"], tried, strict=True):
            print(
                level["id"], one, what["how"], what["people"][-1], what["checker"][-1]
            )
    text = json.dumps(checkers)
    (FOLDER / "painted.json").write_text(text + "\n", encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)  # V8 may hang at the interpreter's end
