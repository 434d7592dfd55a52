"""The cheat sheet: formulas, algorithms and checks of the whole book on two pages.

``book/sheet.yml`` lists them; the formulas are those of the chapters, found by label,
the algorithms those of ``tokencredit.ALGORITHMS``, the lists those of other pages.
"""

import json
import re
from pathlib import Path

from sphinx.application import Sphinx

from tokenbook.languages import SOURCE, pick
from tokenbook.languages.data import load
from tokenbook.languages.glossary import term
from tokenbook.languages.pages import (
    chapter_number,
    headings,
    one_language_page,
    parted,
    pieces,
    slugs,
)
from tokenbook.site.generated import Generated
from tokenbook.site.zoo.page import changes, value_text
from tokencredit import ALGORITHMS, DIAGNOSTICS

EQUATION = re.compile(r"\$\$(.+?)\$\$[ \t]*\((eq-[\w-]+)\)", re.S)
WORDS = {
    "chapter": "第 {} 章 | chapter {}",
    "diagnostic": "- **{name}** 正常：{healthy}。症状：{symptom}。"
    " | - **{name}** Healthy: {healthy}. Symptom: {symptom}.",
    "of": "{child}（由 {parent}） | {child} (of {parent})",
}


def equations(chapters: list[Path]) -> dict[str, tuple[str, int]]:
    """Return TeX and chapter of every labelled equation."""
    found = {}
    for path in chapters:
        for _, text in pieces(json.loads(path.read_text("utf-8"))):
            for tex, label in EQUATION.findall(text):
                found[label] = (tex.strip(), chapter_number(path.name))
    return found


def algorithms(lang: str) -> str:
    """Return the entries as a list, each with its parent and changes."""
    lines = []
    for row in ALGORITHMS.values():
        name = row.name
        if row.parent:
            name = pick(WORDS["of"], lang).format(child=name, parent=row.parent)
        said = [f"{f} = {value_text(getattr(row, f), lang)}" for f in changes(row)]
        lines.append(f"- **{name}** {'; '.join(said)}")
    return "\n".join(lines)


def diagnostics(lang: str) -> str:
    said = pick(WORDS["diagnostic"], lang)
    return "\n".join(
        said.format(name=name, healthy=one.healthy[lang], symptom=one.symptom[lang])
        for name, one in DIAGNOSTICS.items()
    )


def listed(page: str, anchor: str, lang: str) -> str:
    """Return the numbered list of a section of the page of symptoms.

    Raises:
        ValueError: no such section, or no list in it.
    """
    titles = [title for _, title in headings(one_language_page(page, SOURCE))]
    if anchor not in slugs(titles):
        raise ValueError(f"book/sheet.yml: no section {anchor} in book/symptoms.md")
    place = slugs(titles).index(anchor) + 1  # the first part precedes all headings
    _, _, section = parted(one_language_page(page, lang))[place]
    lines = [line for line in section.splitlines() if re.match(r"\d+\. ", line)]
    if not lines:
        raise ValueError(f"book/sheet.yml: {anchor} has no numbered list")
    return "\n".join(lines)


class CheatSheet(Generated):
    """The parts of ``book/sheet.yml``, a card each."""

    def markdown(self, lang: str) -> str:
        known, text = equations(self.chapters()), []
        for part in load(self.root / "book" / "sheet.yml"):
            text += [f"## {part['title'][lang]}", ""]
            for one in part.get("equations", []):
                if one["label"] not in known:
                    raise ValueError(f"book/sheet.yml: no equation {one['label']}")
                tex, chapter = known[one["label"]]
                where = pick(WORDS["chapter"], lang).format(chapter)
                text += [
                    f"**{term(one['term'], lang)}** {{eq}}`{one['label']}`, {where}"
                ]
                text += ["", f"$$\n{tex}\n$$", ""]
            match part.get("shows"):
                case "algorithms":
                    text += [algorithms(lang), ""]
                case "diagnostics":
                    text += [diagnostics(lang), ""]
                case str(anchor):
                    page = (self.root / "book/symptoms.md").read_text("utf-8")
                    text += [listed(page, anchor, lang), ""]
        return "\n".join(text).replace("](#", "](symptoms.md#")


def setup(app: Sphinx) -> dict:
    app.add_css_file("sheet.css")
    app.add_directive("cheat-sheet", CheatSheet)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
