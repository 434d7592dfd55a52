"""The zoo: every field of every entry of ``tokencredit.ALGORITHMS``.

A matrix shows at one look which fields each algorithm changes of the one that it is
written as a change of; a click shows the source. Under it stand the fields that each
algorithm changes, and folded those that it keeps. What a change does to the tokens of a
batch is shown by the figure ``one_batch``, which opens the page.
"""

from dataclasses import fields
from functools import cache, partial
from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx

from tokenbook.languages import pick
from tokenbook.languages.pages import slugs
from tokenbook.site.generated import Generated, table
from tokencredit import ALGORITHMS, Algorithm

TITLE_FIELDS = ("name", "paper", "url", "parent", "sources")
FIELDS = [f.name for f in fields(Algorithm) if f.name not in TITLE_FIELDS]
ANCHORS = dict(zip(ALGORITHMS, slugs([*ALGORITHMS]), strict=True))
NAMES = Path(__file__).with_name("fields.yml")
SAID = Path(__file__).with_name("zoo.yml")
FLAGS = {"zh": {True: "是", False: "否"}, "en": {True: "yes", False: "no"}}
WORDS = {
    "head": "字段/取值/出处 | Field/Value/Source",
    "fold": "每个字段、取值和出处 | Every field, its value and its source",
    "rest": "同上一代的 {n} 个字段 | The {n} fields that are as in its parent",
    "field": "字段 | Field",
    "matrix": "每个算法改了哪些字段 | Which fields each algorithm changes",
    "new": "和上一代不同 | not as its parent",
    "set": "同上一代 | as its parent",
    "none": "同上一代，不用 | as its parent, off",
    "click": "点一格，看取值和出处。 | Click a cell to see its value and source.",
}
AGAINST = {
    "zh": "[{paper}]({url})。与上一代 [{base}](#{anchor}) 相比有 {n} 处不同（加粗）。",
    "en": "[{paper}]({url}). It differs from its parent [{base}](#{anchor}) in {n} "
    "place{s} (in bold).",
}


def value_text(value: object, lang: str) -> str:
    """Return a field's value as a reader writes it."""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return FLAGS[lang][value]
    if isinstance(value, partial):
        dials = ", ".join(f"{name}={x!r}" for name, x in value.keywords.items())
        return f"`{value.func.__name__}({dials})`"
    return f"`{value.__name__}`" if callable(value) else f"`{value}`"


@cache
def said() -> dict[str, dict]:
    """Return the sources that are translated, by their English text."""
    return {one["en"]: one for one in yaml.safe_load(SAID.read_text(encoding="utf-8"))}


def source(row: Algorithm, name: str, lang: str) -> str:
    """Return where a field's value comes from, in a language if it is translated."""
    text = row.sources[name]
    return said().get(text, {}).get(lang, text)


def differences(row: Algorithm, other: Algorithm) -> list[str]:
    """Return the names of the fields in which two rows differ."""
    return [
        name
        for name in FIELDS
        if value_text(getattr(row, name), "en")
        != value_text(getattr(other, name), "en")
    ]


def changes(row: Algorithm) -> list[str]:
    """Return the fields that a row changes of its parent; a first row: what it has."""
    if row.parent:
        return differences(row, ALGORITHMS[row.parent])
    return [name for name in FIELDS if getattr(row, name)]


def cited(row: Algorithm, name: str, lang: str) -> str:
    """Return what a click says: algorithm, field, value and source."""
    value = value_text(getattr(row, name), lang).strip("`")
    return f"{row.name} · {name} = {value} · {source(row, name, lang)}"


def matrix(names: dict, lang: str) -> str:
    """Return the table of fields by algorithms, what changes being filled."""
    heads = "".join(
        f'<th scope="col"><a href="#{ANCHORS[row.name]}">{escape(row.name)}</a></th>'
        for row in ALGORITHMS.values()
    )
    lines = []
    for name in FIELDS:
        cells = []
        for row in ALGORITHMS.values():
            changed = name in changes(row)
            told = cited(row, name, lang)
            if not changed and row.parent:
                told += f" ({pick(WORDS['set'], lang)})"
            mark = "new" if changed else "set" if getattr(row, name) else "none"
            cells.append(
                f'<td><button type="button" class="{mark}" data-cites="{escape(told)}" '
                f'aria-label="{escape(told)}"></button></td>'
            )
        lines.append(
            f'<tr><th scope="row" title="{escape(names[name][lang])}"><code>{name}'
            f"</code></th>{''.join(cells)}</tr>"
        )
    return (
        '<div class="pst-scrollable-table-container wide"><table class="zoo-matrix">'
        f"<thead><tr><td></td>{heads}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def listed() -> str:
    """Return the matrix as a list for a narrow window: what each algorithm changes."""
    lines = [
        f'<li><a href="#{ANCHORS[row.name]}">{escape(row.name)}</a> '
        + ", ".join(f"<code>{name}</code>" for name in changes(row))
        for row in ALGORITHMS.values()
    ]
    return f'<ul class="zoo-list">{"</li>".join(lines)}</li></ul>'


class ZooMatrix(Generated):
    """The matrix."""

    def made(self) -> list[nodes.Node]:
        lang, names = self.config.edition, yaml.safe_load(NAMES.read_text("utf-8"))
        key = "".join(
            f'<span><i class="{mark}"></i>{pick(WORDS[mark], lang)}</span>'
            for mark in ("new", "set", "none")
        )
        html = (
            f'<p class="zoo-title">{pick(WORDS["matrix"], lang)}</p>'
            f'<p class="zoo-key">{key}<span>{pick(WORDS["click"], lang)}</span></p>'
            f"{matrix(names, lang)}{listed()}"
        )
        return [nodes.raw("", html, format="html")]


class ZooTables(Generated):
    """One section per algorithm: what it changes, and folded what it keeps."""

    def markdown(self, lang: str) -> str:
        words, text = yaml.safe_load(NAMES.read_text(encoding="utf-8")), []
        head, fold = pick(WORDS["head"], lang).split("/"), pick(WORDS["fold"], lang)
        for row in ALGORITHMS.values():
            changed, intro = [], f"[{row.paper}]({row.url})"
            if row.parent:
                base = ALGORITHMS[row.parent]
                changed = differences(row, base)
                intro = AGAINST[lang].format(
                    paper=row.paper,
                    url=row.url,
                    base=base.name,
                    anchor=ANCHORS[base.name],
                    n=len(changed),
                    s="s" if len(changed) > 1 else "",
                )
            lines = {True: [], False: []}
            for name in FIELDS:
                cells = [
                    f"{words[name][lang]} `{name}`",
                    value_text(getattr(row, name), lang),
                    source(row, name, lang).replace("|", r"\|"),
                ]
                bold = name in changed
                line = [f"**{cell}**" if bold else cell for cell in cells[:2]]
                lines[bold].append([*line, cells[2]])
            text += [f"## {row.name}", "", intro, ""]
            same, told = lines[False], fold
            if changed:
                text += [table(head, lines[True])]
                told = pick(WORDS["rest"], lang).format(n=len(same))
            text += [f"<details><summary>{told}</summary>", "", table(head, same)]
            text += ["</details>", ""]
        return "\n".join(text)


def setup(app: Sphinx) -> dict:
    app.add_directive("zoo-matrix", ZooMatrix)
    app.add_directive("zoo-tables", ZooTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
