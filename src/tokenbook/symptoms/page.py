"""The page *Read my log*: a Sphinx extension.

Its directives: ``read-my-log`` is the box, ``log-rates`` its measured accuracy,
``not-in-a-log`` and ``keys-by-library`` are lists. ``reader.js`` runs in a worker that
is made of its own text, and the page's head forbids connections.
"""

import functools
import json
import re
from html import escape
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from tokenbook.languages.pages import chapter_number, headings, slug
from tokenbook.site.generated import Generated, table
from tokenbook.symptoms import log_keys
from tokenbook.symptoms.parse import STEPS
from tokenbook.symptoms.rules import ALARMS, rules
from tokenbook.symptoms.series import FOLDER, load
from tokenbook.symptoms.series import table as key_table

PAGE = "book/readlog"
POLICY = (  # the theme's scripts need eval
    "default-src 'self' file: data: blob: 'unsafe-inline' 'unsafe-eval'; "
    "connect-src 'none'; form-action 'none'; base-uri 'none'; object-src 'none'"
)
HEAD = ("key", "word", "what")
RATES = {  # row of the table -> (part of rates.yml, numerator, denominator)
    "healthy": ("lab", "alarmed", "healthy"),
    "bad": ("lab", "named", "bad"),
    "silent": ("lab", "silent", "bad"),
    "healthy_no": ("no_verdict", "alarmed", "healthy"),
    "bad_no": ("no_verdict", "named", "bad"),
    "public_healthy": ("public", "alarmed", "healthy"),
    "public_bad": ("public", "named", "bad"),
    "public_keys": ("public", "known", "keys"),
}


def words(lang: str) -> dict[str, str]:
    """Return the words of the page in one language."""
    found = load("words")
    return {name: text[lang] for name, text in found.items() if lang in text}


@functools.cache
def anchors(root: Path) -> frozenset[str]:
    """Return the anchors of the page of symptoms."""
    text = load_text(root / "book/symptoms.md")
    return frozenset(re.findall(r"[a-z0-9-]+", text))


def load_text(path: Path) -> str:
    """Return the anchors of a page's English headings, one a line."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return "\n".join(slug(title) for _, title in headings(text))


def decided() -> list[dict]:
    """Return the rules that some log decides."""
    return [one for one in rules() if one["tree"]]


def reader_data() -> dict:
    """Return the data of reader.js: keys, rules and the names of steps."""
    lines, of = [], None
    for key, name, library, _ in key_table():
        if library != of:
            lines.append(f"={library}")
            of = library
        lines.append(f"{key}|{name}")
    return {
        "steps": sorted(STEPS),
        "keys": "\n".join(lines),
        "rules": [
            {
                part: one[part]
                for part in ("id", "level", "needs", "rows", "tree")
                if one.get(part) is not None
            }
            for one in decided()
        ],
    }


def view_data(lang: str, root: Path) -> dict:
    """Return the texts of the page in one language."""
    known = anchors(root)
    told = []
    for one in decided():
        told.append({"title": one["title"][lang]})
        if one["id"] in known:
            told[-1]["link"] = 1
        if "but" in one:
            told[-1]["but"] = one["but"][lang]
        if "also" in one:
            told[-1]["code"] = 1
    names = {name: one[lang] for name, one in load("quantities").items()}
    return {
        "words": {k: v for k, v in words(lang).items() if k != "script"},
        "rules": told,
        "names": names,
        "alarms": ALARMS,
        "example": example(),
    }


def example() -> str:
    """Return a log in which ever more responses are cut at the limit."""
    rows = []
    for step in range(6):
        done = min(1.0, 0.3 + step / 6)
        row = {
            "loss": round(0.002 * (1 - done), 4),
            "grad_norm": round(0.4 * (1 - done), 3),
            "reward": round(0.03 * (1 - done), 3),
            "reward_std": round(0.1 * (1 - done), 3),
            "frac_reward_zero_std": round(done, 2),
            "completions/clipped_ratio": round(min(0.98, 0.6 + step / 12), 2),
            "entropy": round(1.1 - step / 15, 2),
            "step": 10 * (step + 1),
        }
        rows.append(str(row))
    return "\n".join(rows)


def lean(text: str) -> str:
    """Return a script or style sheet without indentation and lines of comment."""
    text = re.sub(r"/\*.*?\*/\n?", "", text, flags=re.S)
    return re.sub(r"^[ \t]*//.*\n|^[ \t]+", "", text, flags=re.M)


def tight(program: str) -> str:
    """Return a script without the spaces round signs; no string of ours has them."""
    program = re.sub(
        r" (=>|[!=]==|&&|\|\||[=?]|\+=|>=|<=|>|<|\?\?) ", r"\1", lean(program)
    )
    return re.sub(r" ?: |(?<=[,;{]) | (?=})", lambda found: found[0].strip(), program)


def as_script(value) -> str:
    """Return data as a literal of a script inside HTML."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("</", r"<\/").replace("<!--", r"<\!--")


def page_html(lang: str, root: Path) -> str:
    """Return the box: style, data and program in one piece."""
    text = {name: (FOLDER / name).read_text("utf-8") for name in FILES}
    return (
        f"<style>{lean(text['style.css'])}</style>\n"
        f'<div id="readlog" class="rl"><noscript>{words(lang)["script"]}</noscript>'
        f'</div>\n<script>\n(() => {{\n"use strict";\n'
        f"const READ = {as_script(reader_data())};\n"
        f"const SHOW = {as_script(view_data(lang, root))};\n"
        f"{tight(text['reader.js'])}\n{tight(text['view.js'])}\n}})();\n</script>"
    )


FILES = ("style.css", "reader.js", "view.js")


class ReadMyLog(Generated):
    """The input box of a log, and the place of its report."""

    def made(self) -> list[nodes.Node]:
        for path in FOLDER.iterdir():
            self.depends_on(path)
        self.depends_on(self.root / "book/symptoms.md")
        anchors.cache_clear()
        html = page_html(self.config.edition, self.root)
        return [nodes.raw("", html, format="html")]


class LogRates(Generated):
    """A table of the reader's measured accuracy."""

    def markdown(self, lang: str) -> str:
        self.depends_on(FOLDER / "rates.yml")
        self.depends_on(FOLDER / "words.yml")
        return rates_table(lang)


def rates_table(lang: str) -> str:
    """Return the reader's accuracy as a Markdown table with its date."""
    say, rates = load("words")["rates"], load("rates")
    rows = []
    for row, (part, some, every) in RATES.items():
        sides = [rates[part], rates["before"]]
        if part != "public":
            sides = [rates[part]["tuning"], rates[part]["held_out"]]
        rows.append(
            [say[row][lang]]
            + [share(one[some], one[every], say["of"][lang]) for one in sides]
        )
    measured = say["measured"][lang].format(date=rates["date"])
    return f"{table(say['table'][lang], rows)}\n{measured}\n"


def share(part: int, every: int, form: str) -> str:
    """Return a share as text of a table.

    >>> share(1, 8, "{part} of {all} ({share})")
    '1 of 8 (12%)'
    """
    return form.format(part=part, all=every, share=f"{part / every:.0%}")


class NotInALog(Generated):
    """A list of the symptoms that no log decides, and their tests."""

    def markdown(self, lang: str) -> str:
        self.depends_on(FOLDER / "rules.yml")
        known, needs = anchors(self.root), words(lang)["needs"]
        lines = []
        for one in rules():
            if not one["tree"]:
                title = one["title"][lang]
                if one["id"] in known:
                    title = f"[{title}](symptoms.md#{one['id']})"
                lines.append(
                    f"- {title}{words(lang)['column']}{needs}{one['asks'][lang]}"
                )
        return "\n".join(lines) + "\n"


class KeysByLibrary(Generated):
    """A folded table for each library: its keys, the book's names, the averaging.

    The rows are in the order of keys.yml; ``view.js`` refers to them by index.
    """

    def made(self) -> list[nodes.Node]:
        for name in ("keys", "quantities", "traps", "words"):
            self.depends_on(FOLDER / f"{name}.yml")
        html = keys_html(self.config.edition, self.chapters())
        return [nodes.raw("", html, format="html")]


def keys_html(lang: str, chapters: list[Path]) -> str:
    """Return the tables of all keys; a quantity links to its chapter."""
    say, names, traps = words(lang), load("quantities"), load("traps")
    files = {chapter_number(path.name): path.stem for path in chapters}
    head = "".join(f'<th scope="col">{say[name]}</th>' for name in HEAD)
    folds = []
    for library, some in groupby(load("keys"), itemgetter("library")):
        rows = []
        for one in some:
            name = names[one["quantity"]]
            word = escape(name[lang])
            if file := files.get(name["chapter"]):
                word = f'<a href="../chapters/{file}.html">{word}</a>'
            what = escape(one["averages"][lang])
            if one["trap"]:
                what += f" <small>{escape(traps[one['trap']][lang])}</small>"
            rows.append(
                f'<tr><th scope="row"><code>{escape(one["key"])}</code></th>'
                f"<td>{word}</td><td>{what}</td></tr>"
            )
        folds.append(
            f"<details><summary>{log_keys.library(library)} {one['version']}"
            f' ({len(rows)})</summary><div class="rl-table"><table>'
            f"<thead><tr>{head}</tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table></div></details>"
        )
    return f'<div class="rl rl-rows">{"".join(folds)}</div>'


def forbid(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Forbid connections in the head of the page."""
    if page == PAGE:
        tag = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        context["metatags"] = tag + context.get("metatags", "")


def setup(app: Sphinx) -> dict:
    app.add_directive("read-my-log", ReadMyLog)
    app.add_directive("log-rates", LogRates)
    app.add_directive("keys-by-library", KeysByLibrary)
    app.add_directive("not-in-a-log", NotInALog)
    app.connect("html-page-context", forbid)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
