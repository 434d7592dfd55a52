"""The zoo: every field of every row of ``tokencredit.ALGORITHMS``, differences in bold.

Each algorithm is compared with the earlier row it differs least from, so that a table
reads as the paper's diff.
"""

import inspect
from dataclasses import fields
from functools import partial

import bilingual
from generated import Generated, table
from sphinx.application import Sphinx

import tokencredit
from tokencredit import ALGORITHMS, Algorithm

TITLE_FIELDS = ("name", "paper", "url", "sources")
HEAD = "字段/取值/出处 | Field/Value/Source"
FLAGS = {"zh": {True: "是", False: "否"}, "en": {True: "yes", False: "no"}}
AGAINST = {
    "zh": "[{paper}]({url})。与 **{base}** 相比有 {n} 处不同（加粗）。",
    "en": "[{paper}]({url}). It differs from **{base}** in {n} places (in bold).",
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


def differences(row: Algorithm, other: Algorithm) -> list[str]:
    """Return the names of the fields in which two rows differ."""
    names = [f.name for f in fields(Algorithm) if f.name not in TITLE_FIELDS]
    return [
        name
        for name in names
        if value_text(getattr(row, name), "en")
        != value_text(getattr(other, name), "en")
    ]


class ZooTables(Generated):
    """One table per algorithm: field, value, source."""

    def markdown(self, lang: str) -> str:
        self.depends_on(inspect.getfile(tokencredit.algorithms))
        rows, text = list(ALGORITHMS.values()), []
        for n, row in enumerate(rows):
            changed, intro = [], f"[{row.paper}]({row.url})"
            if n:
                base = min(rows[:n], key=lambda other: len(differences(row, other)))
                changed = differences(row, base)
                intro = AGAINST[lang].format(
                    paper=row.paper, url=row.url, base=base.name, n=len(changed)
                )
            lines = []
            for f in fields(Algorithm):
                if f.name in TITLE_FIELDS:
                    continue
                cells = [
                    f"{f.metadata[lang]} `{f.name}`",
                    value_text(getattr(row, f.name), lang),
                    row.sources[f.name].replace("|", r"\|"),
                ]
                bold = f.name in changed
                lines.append([f"**{cell}**" if bold else cell for cell in cells[:2]])
                lines[-1].append(cells[2])
            head = bilingual.pick(HEAD, lang).split("/")
            text += [f"## {row.name}", "", intro, "", table(head, lines)]
        return "\n".join(text)


def setup(app: Sphinx) -> dict:
    app.add_directive("zoo-tables", ZooTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
