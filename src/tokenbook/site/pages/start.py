"""The entries of the start page, with counts of their contents."""

import json
from html import escape

from docutils import nodes
from sphinx.application import Sphinx

from tokenbook.languages import SOURCE, minutes, pages, pick
from tokenbook.site.generated import Generated
from tokenbook.site.interview.page import QUESTION
from tokenbook.site.playground.page import stories

READ = (  # target, texts, count
    "{first}.html",
    "从头读起 | Start reading",
    "第 {number} 章到第 {last} 章 | chapters {number} to {last}",
)
DOORS = (  # and a sign, on 24 by 24: to be asked, a curve that breaks, a list, to play
    (
        "M3 4h18v12h-9l-5 5v-5H3zM9.5 8.5a2.5 2 0 1 1 2.5 2.5v1M12 13.8v.2",
        "../book/interview.html",
        "我要面试 | I have an interview",
        "{questions} 道题，先答再看 | {questions} questions, answers folded",
    ),
    (
        "M3 3v18h18M6 15l4-5 3 2 4-6M17 6v10",
        "../book/symptoms.html",
        "我在排错 | I am debugging a run",
        "{symptoms} 种症状，从曲线找到原因 | {symptoms} symptoms, from curve to cause",
    ),
    (
        "M3 7l2 2 4-5M3 17l2 2 4-5M13 7h8M13 17h8",
        "../book/teachers.html",
        "我要教课 | I teach",
        "{exercises} 道练习，一条命令批改 | {exercises} exercises and a grader",
    ),
    (
        "M7 4l12 8-12 8z",
        "../book/playground.html",
        "我想动手 | I want to try it",
        "{stories} 个实验，在网页里训练 | {stories} runs that train in the page",
    ),
)
LABEL = "从哪里进 | Ways in"
GO_ON = "接着读 | Go on reading"  # the reader's last place, if there is one


def link(way: tuple[str, str, str], counts: dict, lang: str, sign: str = "") -> str:
    """Return a way in as a link, with its sign."""
    address, name, behind = way
    drawn = f'<svg viewBox="0 0 24 24" aria-hidden="true"><path d="{sign}"/></svg>'
    return (
        f'<a href="{address.format(**counts)}">{drawn if sign else ""}'
        f"<b>{escape(pick(name, lang))}</b> "
        f"<small>{escape(pick(behind, lang).format(**counts))}</small></a>"
    )


class StartReading(Generated):
    """The first chapter, as a button under the introduction."""

    def made(self) -> list[nodes.Node]:
        chapters = [path.stem for path in self.chapters()]
        counts = {
            "first": f"../chapters/{chapters[0]}",
            "number": pages.chapter_number(chapters[0]),
            "last": pages.chapter_number(chapters[-1]),
        }
        html = link(READ, counts, self.config.edition)
        go_on = pick(GO_ON, self.config.edition)
        html = f'<p class="start-reading" data-go-on="{go_on}">{html}</p>'
        return [nodes.raw("", html, format="html")]


class Doors(Generated):
    """Four links: to prepare, to debug, to teach, to try."""

    def made(self) -> list[nodes.Node]:
        lang, counts = self.config.edition, {"questions": 0, "exercises": 0}
        for path in self.chapters():
            notebook = json.loads(path.read_text(encoding="utf-8"))
            texts = [text for tag, text in pages.pieces(notebook) if tag == SOURCE]
            counts["questions"] += len(QUESTION.findall("\n\n".join(texts)))
            counts["exercises"] += minutes.exercises(minutes.sections(notebook))
        symptoms = self.root / "book" / "symptoms.md"
        heads = [
            level
            for tag, text in pages.pieces(symptoms.read_text(encoding="utf-8"))
            if tag == SOURCE
            for level, _ in pages.headings(text)
        ]
        counts |= {"symptoms": heads.count(3), "stories": len(stories())}
        links = "".join(link(way, counts, lang, sign) for sign, *way in DOORS)
        html = f'<nav class="doors" aria-label="{pick(LABEL, lang)}">{links}</nav>'
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict:
    app.add_directive("start-reading", StartReading)
    app.add_directive("doors", Doors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
