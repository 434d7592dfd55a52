"""The cheat sheet: formulas, algorithms and checks of the whole book on one page of the site.

``book/sheet.yml`` says which; the formulas are those of the chapters, found by label,
the algorithms those of ``tokencredit.ALGORITHMS``, the lists those of other pages.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from tokenbook.languages import pick
from tokenbook.languages.data import load
from tokenbook.languages.glossary import term
from tokenbook.languages.pages import chapter_number, headings, pieces, slug
from tokenbook.site.generated import Generated, table
from tokenbook.site.zoo.page import changes, value_text
from tokenbook.takeaway.slides import minutes, plan
from tokencredit import ALGORITHMS, DIAGNOSTICS

PAGE = "book/sheet"
EQUATION = re.compile(r"\$\$(.+?)\$\$[ \t]*\((eq-[\w-]+)\)", re.S)
WORDS = {
    "chapter": "第 {} 章 | chapter {}",
    "lecture": "章/幻灯片/讲课分钟 | Chapter/Slides/Minutes of lecture",
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
    """Return the entries as a list: whose change each is, and what it changes."""
    lines = []
    for row in ALGORITHMS.values():
        name = row.name
        if row.parent:
            name = pick(WORDS["of"], lang).format(child=name, parent=row.parent)
        said = [f"{f} = {value_text(getattr(row, f), lang)}" for f in changes(row)]
        lines.append(f"- **{name}** {'; '.join(said)}")
    return "\n".join(lines)


def diagnostics(lang: str) -> str:
    lines = [
        f"- **{name}** {one.healthy[lang]}. *{one.symptom[lang]}*"
        if lang == "en"
        else f"- **{name}** {one.healthy[lang]}。*{one.symptom[lang]}*"
        for name, one in DIAGNOSTICS.items()
    ]
    return "\n".join(lines)


def listed(page: str, anchor: str, lang: str) -> str:
    """Return the numbered list of a section of the page of symptoms.

    Raises:
        ValueError: no such section, or no list in it.
    """
    parts = dict.fromkeys(("zh", "en"), "")
    now = None
    for line in page.splitlines(keepends=True):
        if line.startswith("+++"):
            now = re.search(r'"lang": "(\w+)"', line)
            now = now and now[1]
        elif now:
            parts[now] += line
    english = [slug(title) for _, title in headings(parts["en"])]
    if anchor not in english:
        raise ValueError(f"book/sheet.yml: no section {anchor} in book/symptoms.md")
    section = re.split(r"(?m)^#+ .*\n", parts[lang])[english.index(anchor) + 1]
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

    def made(self) -> list[nodes.Node]:
        return [nodes.container("", *super().made(), classes=["sheet", "wide"])]


class LecturePlan(Generated):
    """Slides and minutes of a lecture on each chapter."""

    def markdown(self, lang: str) -> str:
        rows = []
        for path in self.chapters():
            found = plan(json.loads(path.read_text("utf-8")))
            numbers = (found.total(), minutes(found))
            rows.append([f"[](../chapters/{path.name})", *map(str, numbers)])
        return table(pick(WORDS["lecture"], lang).split("/"), rows)


def setup(app: Sphinx) -> dict:
    app.add_css_file("sheet.css")
    app.add_directive("cheat-sheet", CheatSheet)
    app.add_directive("lecture-plan", LecturePlan)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
