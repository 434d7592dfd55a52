"""The page *Read my log*: a Sphinx extension.

Three directives: ``read-my-log`` is the box, ``log-rates`` says how often it is right,
``log-keys`` lists all keys. ``reader.js`` runs in a worker that is made of its own text,
and the page's head forbids connections.
"""

import functools
import json
import re
from pathlib import Path

from docutils import nodes
from generated import Generated, table
from sphinx.application import Sphinx

from coursebook.data import load as load_file
from coursebook.pages import headings
from symptoms.parse import STEPS
from symptoms.rules import ALARMS, quantities, rules
from symptoms.series import FOLDER, load
from symptoms.series import table as key_table

PAGE = "book/readlog"
POLICY = (
    "default-src 'self' file: data: blob: 'unsafe-inline'; connect-src 'none'; "
    "form-action 'none'; base-uri 'none'; object-src 'none'"
)
LIBRARIES = {
    "trl": "TRL",
    "verl": "verl",
    "openrlhf": "OpenRLHF",
    "slime": "slime",
    "prime-rl": "prime-rl",
    "nemo-rl": "NeMo-RL",
    "skyrl": "SkyRL",
    "areal": "AReaL",
    "ms-swift": "ms-swift",
}
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
    from coursebook.pages import slug

    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return "\n".join(slug(title) for _, title in headings(text))


def reader_data() -> dict:
    """Return what the reader needs: keys, rules and the names of steps."""
    places = {(one["key"], one["library"]): n for n, one in enumerate(load("keys"))}
    return {
        "steps": sorted(STEPS),
        "keys": [
            [key, name, library, places.get((key, library), -1)]
            for key, name, library, _ in key_table()
        ],
        "rules": [
            {
                part: one[part]
                for part in ("id", "level", "needs", "rows", "tree")
                if one.get(part) is not None
            }
            for one in rules()
        ],
    }


def view_data(lang: str, root: Path) -> dict:
    """Return what the page shows, in one language."""
    known = anchors(root)
    told = {}
    for one in rules():
        told[one["id"]] = {"title": one["title"][lang]}
        if one["id"] in known:
            told[one["id"]]["link"] = 1
        for part in ("but", "asks"):
            if part in one:
                told[one["id"]][part] = one[part][lang]
        if "also" in one:
            told[one["id"]]["code"] = 1
    names = {
        name: [one[lang], one["chapter"]] for name, one in load("quantities").items()
    }
    asked = {name for one in rules() if one["tree"] for name in quantities(one["tree"])}
    return {
        "words": words(lang),
        "rules": told,
        "names": names,
        "derived": sorted(asked - set(names)),
        "alarms": ALARMS,
        "files": chapter_files(root),
        "example": example(),
    }


def chapter_files(root: Path) -> list[str]:
    """Return the chapters' files without their endings, in order."""
    return [path.stem for path in sorted((root / "chapters").glob("[0-9]*.ipynb"))]


def example() -> str:
    """Return a log in which ever more responses are cut at the limit."""
    rows = []
    for step in range(12):
        done = min(1.0, 0.3 + step / 12)
        row = {
            "loss": round(0.002 * (1 - done), 4),
            "grad_norm": round(0.4 * (1 - done), 3),
            "reward": round(0.03 * (1 - done), 3),
            "reward_std": round(0.1 * (1 - done), 3),
            "frac_reward_zero_std": round(done, 2),
            "completions/mean_length": 230.0 + 2 * step,
            "completions/clipped_ratio": round(min(0.98, 0.6 + step / 25), 2),
            "entropy": round(1.1 - step / 20, 2),
            "step": 10 * (step + 1),
        }
        rows.append(str(row))
    return "\n".join(rows)


def lean(text: str) -> str:
    """Return a script or style sheet without indentation and lines of comment."""
    text = re.sub(r"/\*.*?\*/\n?", "", text, flags=re.S)
    return re.sub(r"^[ \t]*//.*\n|^[ \t]+", "", text, flags=re.M)


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
        f"{lean(text['reader.js'])}\n{lean(text['view.js'])}\n}})();\n</script>"
    )


FILES = ("style.css", "reader.js", "view.js")


class ReadMyLog(Generated):
    """The box into which a log goes, and what is said about it."""

    def made(self) -> list[nodes.Node]:
        for path in FOLDER.iterdir():
            self.depends_on(path)
        self.depends_on(self.root / "book/symptoms.md")
        anchors.cache_clear()
        html = page_html(self.config.edition, self.root)
        return [nodes.raw("", html, format="html")]


class LogRates(Generated):
    """A table: how often the reader is right."""

    def markdown(self, lang: str) -> str:
        self.depends_on(FOLDER / "rates.yml")
        self.depends_on(FOLDER / "words.yml")
        say, rates = load_file(FOLDER / "words.yml")["rates"], load("rates")
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
    """Return a share as it is written in a table.

    >>> share(1, 8, "{part} of {all} ({share})")
    '1 of 8 (12%)'
    """
    return form.format(part=part, all=every, share=f"{part / every:.0%}")


class LogKeys(Generated):
    """A section for each library: its keys, the book's words, what is averaged."""

    def markdown(self, lang: str) -> str:
        for name in ("keys", "quantities", "traps", "words"):
            self.depends_on(FOLDER / f"{name}.yml")
        say, names, traps = words(lang), load("quantities"), load("traps")
        text, versions = [], {one["library"]: one["version"] for one in load("keys")}
        for library, title in LIBRARIES.items():
            rows = []
            for one in load("keys"):
                if one["library"] == library:
                    what = plain(one["averages"][lang])
                    if one["trap"]:
                        what += f" <small>{plain(traps[one['trap']][lang])}</small>"
                    word = names[one["quantity"]][lang]
                    rows.append([f"`{one['key']}`", plain(word), what])
            text += [
                f"### {title} {versions[library]}",
                "",
                table([say[name] for name in HEAD], rows),
            ]
        return "\n".join(text)


def plain(text: str) -> str:
    r"""Return a text whose signs Markdown leaves alone.

    >>> plain("|d| of a_b")
    '\\|d\\| of a\\_b'
    """
    return re.sub(r"([|*_<>`$\[\]])", r"\\\1", text)


def forbid(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Forbid connections in the head of the page."""
    if page == PAGE:
        tag = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        context["metatags"] = tag + context.get("metatags", "")


def setup(app: Sphinx) -> dict:
    app.add_directive("read-my-log", ReadMyLog)
    app.add_directive("log-rates", LogRates)
    app.add_directive("log-keys", LogKeys)
    app.connect("html-page-context", forbid)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
