"""The keys of the logs: a list on the page of symptoms, a line each for the search.

The meaning of a key is in ``keys.yml``; the quantities of a symptom are those of its
curves in ``src/tokenbook/symptoms/curves.yml``.
"""

import re
from pathlib import Path

from docutils import nodes

from tokenbook import ROOT
from tokenbook.languages import SOURCE, pick
from tokenbook.languages.data import load
from tokenbook.languages.pages import chapter_number, headings, pieces, slug
from tokenbook.site.generated import Generated

DATA = Path(__file__).parent
CURVES, PAGE = DATA / "curves.yml", ROOT / "book" / "symptoms.md"
LIBRARIES = {
    "trl": "TRL",
    "trl-ppo": "TRL PPO",
    "verl": "verl",
    "openrlhf": "OpenRLHF",
    "slime": "slime",
    "prime-rl": "prime-rl",
    "nemo-rl": "NeMo RL",
    "skyrl": "SkyRL",
    "areal": "AReaL",
    "ms-swift": "ms-swift",
}
NO_LIBRARY = ("any", "lab")  # of an alias: anybody's word, or the lab's
FIRST, SHOWN = ("trl", "verl"), 2  # libraries and quantities named below a symptom
TITLE = "日志里的键 | Keys of a log"
OLDER = "旧的版本、屏幕或导出的表里 | In older versions, consoles and exports"
CHAPTER = "第 {} 章 | chapter {}"
LOGGED, OTHERS = "日志里的键 | Keys", "其他库 | Other libraries"
MARKS = {"zh": "（）：；、。", "en": [" (", ")", ": ", "; ", ", ", "."]}


def data(name: str):
    """Return a data file of the package `symptoms`."""
    return load(DATA / f"{name}.yml")


def library(name: str) -> str:
    return LIBRARIES.get(name, name)


def sentences(text: str, lang: str) -> str:
    """Return a text that ends in a full stop."""
    return text if text[-1] in ".。" else text + MARKS[lang][5]


def told(row: dict, lang: str) -> str:
    """Return the averaging of a key, and the caveats."""
    trap = data("traps")[row["trap"]][lang] if row["trap"] else ""
    space = " " * (lang == SOURCE and bool(trap))
    return sentences(row["averages"][lang], lang) + space + trap


def escaped(text: str) -> str:
    """Return a text whose signs mean nothing to Markdown."""
    return re.sub(r"([*_$<\[\]|])", r"\\\1", text)


def aliases(quantity: str) -> list[tuple[str, str]]:
    """Return (key, library) of the other names of a quantity."""
    rows = [(key, lib) for key, of, lib in data("aliases") if of == quantity]
    return [(key, lib) for key, lib in rows if lib not in NO_LIBRARY]


def by_quantity() -> dict[str, list[dict]]:
    """Return the keys of each quantity, in the order of the quantities."""
    rows = {name: [] for name in data("quantities")}
    for row in data("keys"):
        rows[row["quantity"]].append(row)
    return {name: rows for name, rows in rows.items() if rows or aliases(name)}


def logged() -> dict[str, list[str]]:
    """Return the quantities that each symptom shows in, by its anchor."""
    said = {
        anchor: [name for row in rows for name in row.get("log", "").split()]
        for anchor, rows in load(CURVES).items()
    }
    return {anchor: [*dict.fromkeys(names)] for anchor, names in said.items() if names}


def titles(lang: str) -> dict[str, str]:
    """Return the heading of every section of the page of symptoms, by its anchor."""
    texts = pieces(PAGE.read_text(encoding="utf-8"))
    heads = {
        one: [head for its, text in texts if its == one for _, head in headings(text)]
        for one in (SOURCE, lang)
    }
    return {slug(a): b for a, b in zip(heads[SOURCE], heads[lang], strict=True)}


def lines(lang: str) -> list[tuple[str, str, str, bool]]:
    """Return (quantity, key, description, whether it is logged today) of each key."""
    open_, close, colon, *_ = MARKS[lang]
    found: dict[tuple[str, str], list[str]] = {}
    for row in data("keys"):
        where = f"{library(row['library'])} {row['version']}{colon}"
        found.setdefault((row["quantity"], row["key"]), []).append(
            where + told(row, lang)
        )
    today = set(found)
    for quantity in data("quantities"):
        for key, lib in aliases(quantity):
            if (quantity, key) not in today:
                older = f"{library(lib)}{open_}{pick(OLDER, lang).lower()}{close}"
                found.setdefault((quantity, key), []).append(sentences(older, lang))
    space = " " * (lang == SOURCE)
    return [
        (
            quantity,
            key,
            sentences(data("quantities")[quantity][lang], lang)
            + space
            + space.join(said),
            (quantity, key) in today,
        )
        for (quantity, key), said in found.items()
    ]


def for_search(lang: str) -> dict:
    """Return the search entries of the keys: a line each, and the symptoms."""
    return {
        "page": "book/symptoms",
        "title": pick(TITLE, lang),
        "lines": lines(lang),
        "symptoms": logged(),
    }


class LogKeys(Generated):
    """Every key by its quantity, with its averaging and symptoms."""

    def markdown(self, lang: str) -> str:
        open_, close, colon, _, comma, _ = MARKS[lang]
        names, heads, text = logged(), titles(lang), []
        chapters = {chapter_number(path.name): path.name for path in self.chapters()}
        for quantity, rows in by_quantity().items():
            said = data("quantities")[quantity]
            chapter = pick(CHAPTER, lang).format(said["chapter"])
            link = f"[{chapter}](../chapters/{chapters[said['chapter']]})"
            anchor = f'<span id="key-{quantity}"></span>'
            text.append(f"{anchor}**{escaped(said[lang])}**{open_}{link}{close}")
            for row in rows:
                where = f"{open_}{library(row['library'])} {row['version']}{close}"
                text.append(f": `{row['key']}`{where}{colon}{escaped(told(row, lang))}")
            if others := aliases(quantity):
                listed = comma.join(
                    f"`{k}`{open_}{library(lib)}{close}" for k, lib in others
                )
                text.append(f": {pick(OLDER, lang)}{colon}{listed}")
            seen = [a for a, logs in names.items() if quantity in logs]
            if seen:
                text.append(": → " + comma.join(f"[{heads[a]}](#{a})" for a in seen))
            text.append("")
        return "\n".join(text)

    def made(self) -> list[nodes.Node]:
        """Return the list, which the search has line by line."""
        for file in [*DATA.glob("*.yml"), CURVES, PAGE]:
            self.depends_on(file)
        made = super().made()
        for node in made:
            node["classes"].append("log-keys")
        return made


def below(quantities: list[str], lang: str) -> nodes.paragraph:
    """Return the line below a symptom: the keys of its first quantities, and links."""
    open_, close, colon, semicolon, comma, stop = MARKS[lang]
    line, rows = nodes.paragraph(classes=["log-keys"]), by_quantity()
    shown, space = quantities[:SHOWN], " " * (lang == SOURCE)
    line += nodes.Text(pick(LOGGED, lang) + colon)
    for n, name in enumerate(shown):
        keys = [row for row in rows[name] if row["library"] in FIRST] or rows[name][:1]
        for m, row in enumerate(keys):
            line += nodes.Text(comma * (m > 0) or semicolon * (n > 0))
            line += nodes.literal("", row["key"])
            line += nodes.Text(f"{open_}{library(row['library'])}{close}")
    line += nodes.Text(stop + space + pick(OTHERS, lang) + colon)
    for n, name in enumerate(shown):
        line += nodes.Text(comma * (n > 0))
        line += nodes.reference("", data("quantities")[name][lang], refid=f"key-{name}")
    line += nodes.Text(stop)
    return line
