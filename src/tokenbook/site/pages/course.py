"""The plan of the course on its pages: chapter heads, the map, the list of contents.

``book/course.yml`` has for each chapter its number, its short name, its question, the
arrow of the thread that it changes (``all``: the whole thread) and, if known, the
chapters that it needs and those that help, and its week in a course of so many weeks. A
chapter is linked once its notebook is in the book. Its minutes are computed from its
notebook.
"""

import re
from collections.abc import Callable
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from tokenbook.figures import STAGES
from tokenbook.languages import minutes, pages, pick
from tokenbook.languages.data import load
from tokenbook.site import BEFORE_LINKS
from tokenbook.site.generated import Generated, table

LOOKED_UP = {  # at the foot of the contents, on every page
    "book/playground": "演练场 | Playground",
    "book/zoo": "动物园 | Zoo",
    "book/interview": "面试题 | Interview",
    "book/symptoms": "症状 | Symptoms",
    "book/glossary": "术语 | Glossary",
    "book/errata": "博物馆 | Museum",
}
COMMA, SEMICOLON = {"zh": "、", "en": ", "}, {"zh": "；", "en": "; "}
ARROWS = ("all", *[*STAGES][1:])
PIECE = re.compile(r"(\S.*?(?:[：，；？]|[:,;?](?= )|$))( ?)")  # and the space after it
WORDS = {
    "road": "必读 {} 分钟 | Main road {} min",
    "everything": "全读 {} 分钟 | Everything {} min",
    "exercises": "{} 道练习 {} 分钟 | {} exercises {} min",
    "needs": "需要：{} | needs: {}",
    "helps": "有帮助：{} | helps: {}",
    "depth": "读多少 | How much to read",
    "thread": "全书主线，亮着的是本章 | the thread; this chapter is lit",
    "map": "全书一条线，每一章改一支箭头 | One thread; each chapter changes one arrow",
    "whole": "走完整条线 | the whole thread",
    "order": "各章，按顺序 | Chapters in order",
    "planned": "编写中 | being written",
    "start": "开始 | Start",
    "plan": "{} 周 | In {} weeks",
    "week": "周/章/必读（分钟）/全读（分钟）/练习（道）"
    " | Week/Chapters/Main road (minutes)/Everything (minutes)/Exercises",
}


def plan(root: Path) -> list[dict]:
    """Return the chapters of the course in reading order.

    Raises:
        ValueError: an arrow that the thread lacks, or a need that is no chapter.
    """
    rows = load(root / "book" / "course.yml")
    numbers = [row["number"] for row in rows]
    for row in rows:
        if row["arrow"] not in ARROWS:
            raise ValueError(
                f"book/course.yml, chapter {row['number']}: arrow is one of "
                f"{', '.join(ARROWS)}, not {row['arrow']!r}"
            )
        for what in ("needs", "helps"):
            if wrong := set(row.get(what, [])) - set(numbers):
                raise ValueError(
                    f"book/course.yml, chapter {row['number']}: {what} "
                    f"{sorted(wrong)}, which are no chapters"
                )
    return sorted(rows, key=lambda row: row["number"])


def words(name: str, lang: str, *values) -> str:
    """Return a short text in one language, its places filled."""
    return pick(WORDS[name], lang).format(*values)


def addresses(env) -> dict[int, str]:
    """Return the page of each chapter that is in the book, by its number."""
    docs = [doc for doc in env.found_docs if doc.startswith("chapters/")]
    return {pages.chapter_number(doc): doc for doc in docs}


def thread(arrow: str, lang: str) -> str:
    """Return the thread as a list of its stages, the arrow into one or all lit."""
    items, lit_class = [], ' class="lit"'
    for n, (name, stage) in enumerate(STAGES.items()):
        lit = n > 0 and arrow in (name, "all")
        here = ' aria-current="step"' if name == arrow else ""
        items.append(f"<li{lit_class * lit}{here}><span>{stage[lang]}</span></li>")
    label = words("thread", lang)
    return f'<ol class="chapter-thread" aria-label="{label}">{"".join(items)}</ol>'


def pieces(text: str) -> list[tuple[str, str]]:
    """Return the pieces between which a line breaks, and the space after each.

    >>> pieces("12 陈旧数据：采样器落后了怎么办")
    [('12 陈旧数据：', ''), ('采样器落后了怎么办', '')]
    >>> pieces("14 Training agents: four environments")
    [('14 Training agents:', ' '), ('four environments', '')]
    """
    return PIECE.findall(text)


def in_pieces(title: nodes.title) -> None:
    """Mark the pieces of a plain title, between which it breaks first."""
    if all(isinstance(part, nodes.Text) for part in title):
        named = pieces(title.astext())
        title.clear()
        for piece, space in named:
            part = nodes.inline(classes=["piece"])
            for n, text in enumerate(re.split(r"(\w+-\w+)", piece)):
                text = nodes.Text(text)
                if n % 2:
                    text = nodes.inline("", "", text, classes=["unbroken"])
                part += text
            title += [part, nodes.Text(space)]


def switch(road: int, everything: int, lang: str) -> str:
    """Return the choice between the main road and everything, with minutes.

    The script enables it; without one it shows the minutes.
    """
    labels = "".join(
        f'<label><input type="radio" name="depth" value="{value}"{first}>'
        f"<span>{words(name, lang, lasting)}</span></label>"
        for value, name, lasting, first in (
            ("road", "road", road, " checked"),
            ("all", "everything", everything, ""),
        )
    )
    legend = f"<legend>{words('depth', lang)}</legend>"
    return f'<fieldset class="depth" disabled>{legend}{labels}</fieldset>'


def head(row: dict, notebook: dict, linked: Callable, lang: str) -> str:
    """Return the head below a chapter's title.

    Args:
        row: of the plan.
        notebook: the chapter.
        linked: returns the link to a chapter, by its number.
        lang: of the edition.
    """
    found = minutes.sections(notebook)
    count = minutes.exercises(found)
    facts = [switch(minutes.road(found), minutes.rounded(found), lang)]
    if count:
        says = words("exercises", lang, count, count * minutes.EXERCISE)
        facts.append(f'<a href="#exercises">{says}</a>')
    comma = COMMA.get(lang, COMMA["en"])
    first = [
        words(what, lang, comma.join(map(linked, row[what])))
        for what in ("needs", "helps")
        if row.get(what)
    ]
    listed = "".join(f"<li>{fact}</li>" for fact in facts)
    if first:
        said = SEMICOLON.get(lang, SEMICOLON["en"]).join(first)
        listed += f'<li class="chapter-first">{said}</li>'
    asks = "".join(
        f'<span class="piece">{escape(piece)}</span>{space}'
        for piece, space in pieces(row["asks"][lang])
    )
    return (
        f'<div class="chapter-head"><p class="chapter-asks">{asks}</p>'
        f'<ul class="chapter-facts">{listed}</ul>{thread(row["arrow"], lang)}</div>'
    )


class ChapterHead(SphinxTransform):
    """Put question, facts and thread under the title of a chapter."""

    default_priority = BEFORE_LINKS  # the headings have their anchors

    def apply(self) -> None:
        page, root = self.env.docname, Path(self.env.srcdir)
        number, title = pages.chapter_number(page), self.document.next_node(nodes.title)
        if title is not None and page == self.config.root_doc:
            in_pieces(title)
        if number is None or title is None:
            return
        self.env.note_dependency(str(root / "book" / "course.yml"))
        rows, found = {row["number"]: row for row in plan(root)}, addresses(self.env)
        if number not in rows:
            return  # the check of the notebooks reports it
        lang = self.config.edition

        def linked(n: int) -> str:
            said = escape(rows[n][lang])
            name = f"{n}<span>\u00a0{said}</span>"
            return (
                f'<a href="{Path(found[n]).name}.html" title="{said}">{name}</a>'
                if n in found
                else name
            )

        notebook = pages.read_notebook(Path(self.env.doc2path(page)))
        text = head(rows[number], notebook, linked, lang)
        in_pieces(title)
        place = title.parent.index(title) + 1
        title.parent.insert(place, nodes.raw("", text, format="html"))


class CourseMap(Generated):
    """The thread as a map: the stages, on each arrow the chapters that change it.

    Folded under it are the chapters in the order in which they are read.
    """

    def made(self) -> list[nodes.Node]:
        lang, found = self.config.edition, addresses(self.env)

        def links(arrow: str) -> str:
            items = []
            for row in plan(self.root):
                if row["arrow"] != arrow:
                    continue
                name = f"<b>{row['number']}</b> {escape(row[lang])}"
                if row["number"] in found:
                    address = f"../{found[row['number']]}.html"
                    asks = escape(row["asks"][lang])
                    page = found[row["number"]]
                    item = (
                        f'<a href="{address}" title="{asks}" data-page="{page}">'
                        f"{name}</a>"
                    )
                else:
                    item = f"<span>{name} <i>{words('planned', lang)}</i></span>"
                items.append(f"<li>{item}</li>")
            return f"<ul>{''.join(items)}</ul>" if items else ""

        parts = []
        for n, (name, stage) in enumerate(STAGES.items()):
            if n:
                parts.append(f'<li class="map-arrow">{links(name)}</li>')
            glyph = f'<span class="glyph {name}">{"<i></i>" * 4}</span>'
            parts.append(f'<li class="map-stage">{glyph}{stage[lang]}</li>')
        whole = links("all")
        if whole:
            whole = f'<div class="map-whole">{words("whole", lang)}{whole}</div>'
        label = words("map", lang)
        html = (
            f'<nav class="map" aria-label="{label}"><div class="map-head">'
            f'<p class="map-title">{label}</p>{whole}</div>'
            f"<ol>{''.join(parts)}</ol></nav>"
        )
        listed = "".join(
            f'<li><a href="../{found[row["number"]]}.html" '
            f'data-page="{found[row["number"]]}"><span>{row["number"]}</span>'
            f"{escape(row[lang])}</a></li>"
            for row in plan(self.root)
            if row["number"] in found
        )
        order = words("order", lang)
        html += (
            f'<nav class="in-order" aria-label="{order}"><details>'
            f"<summary>{order}</summary><ol>{listed}</ol></details></nav>"
        )
        return [nodes.raw("", html, format="html")]


class CoursePlan(Generated):
    """Tables for courses of so many weeks: chapters, minutes, exercises."""

    def markdown(self, lang: str) -> str:
        found = {pages.chapter_number(path.name): path for path in self.chapters()}
        rows = [row for row in plan(self.root) if row["number"] in found]
        read = {
            number: minutes.sections(pages.read_notebook(path))
            for number, path in found.items()
        }
        text = []
        for weeks in sorted({weeks for row in rows for weeks in row.get("weeks", ())}):
            lines = []
            for week in range(1, weeks + 1):
                here = [row for row in rows if row["weeks"][weeks] == week]
                links = [
                    f"[{row['number']} {row[lang]}]"
                    f"(../chapters/{found[row['number']].name})"
                    for row in here
                ]
                sums = [
                    sum(count(read[row["number"]]) for row in here)
                    for count in (minutes.road, minutes.rounded, minutes.exercises)
                ]
                lines.append([str(week), "<br>".join(links), *map(str, sums)])
            head = words("week", lang).split("/")
            text += [f"### {words('plan', lang, weeks)}", "", table(head, lines)]
        return "\n".join(text)


def list_contents(app: Sphinx, page: str, template: str, context: dict, doctree):
    """Give the page template the parts of the book and their pages, by short names.

    A reference page has a link of its own; when open, it is shown after the start, and
    before the chapters.
    """
    env, lang = app.env, app.config.edition
    names = {row["number"]: row[lang] for row in plan(Path(env.srcdir))}
    tree = app.config.external_site_map
    parts = [{"caption": "", "pages": [tree.root.docname]}]
    parts += [{"caption": "", "pages": [page]}] if page in LOOKED_UP else []
    parts += [
        {
            "caption": part.caption,
            "pages": [name for name in part.items if name not in LOOKED_UP],
        }
        for part in tree.root.subtrees
    ]
    for part in parts:
        numbers = {name: pages.chapter_number(name) for name in part["pages"]}
        part["pages"] = [
            {
                "name": name,
                "number": number,
                "title": words("start", lang)
                if name == tree.root.docname
                else names.get(number) or env.titles[name].astext(),
            }
            for name, number in numbers.items()
            if name in env.found_docs
        ]
    context["book_parts"] = parts
    there = {name: said for name, said in LOOKED_UP.items() if name in env.found_docs}
    context["looked_up"] = {name: pick(said, lang) for name, said in there.items()}


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", list_contents)
    app.add_transform(ChapterHead)
    app.add_directive("course-map", CourseMap)
    app.add_directive("course-plan", CoursePlan)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
