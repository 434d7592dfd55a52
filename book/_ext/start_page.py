"""The four doors of the start page, with what is behind each of them counted."""

import json
from html import escape

from course import exercises
from docutils import nodes
from generated import Generated
from interview_page import QUESTION
from sphinx.application import Sphinx

from coursebook import pages
from coursebook.languages import SOURCE, pick

DOORS = (  # where it leads, what it says, what is behind it
    (
        "{first}.html",
        "从头读起 | Start reading",
        "{chapters} 章，从第 {number} 章开始"
        " | {chapters} chapters, from chapter {number} on",
    ),
    (
        "../book/interview.html",
        "我要面试 | I have an interview",
        "{questions} 道题，先答再看 | {questions} questions, answers folded",
    ),
    (
        "../book/symptoms.html",
        "我在排错 | I am debugging a run",
        "{symptoms} 种症状，从曲线找到原因 | {symptoms} symptoms, from curve to cause",
    ),
    (
        "../book/teachers.html",
        "我要教课 | I teach",
        "{exercises} 道练习，一条命令批改 | {exercises} exercises and a grader",
    ),
)
LABEL = "从哪里进 | Ways in"


class Doors(Generated):
    """Four links: to read, to prepare, to debug, to teach."""

    def run(self) -> list[nodes.Node]:
        lang, counts = self.config.edition, {"questions": 0, "exercises": 0}
        chapters = self.chapters()
        for path in chapters:
            self.depends_on(path)
            notebook = json.loads(path.read_text(encoding="utf-8"))
            texts = [text for tag, text in pages.pieces(notebook) if tag == SOURCE]
            counts["questions"] += len(QUESTION.findall("\n\n".join(texts)))
            counts["exercises"] += exercises(notebook)
        symptoms = self.root / "book" / "symptoms.md"
        self.depends_on(symptoms)
        heads = [
            level
            for tag, text in pages.pieces(symptoms.read_text(encoding="utf-8"))
            if tag == SOURCE
            for level, _ in pages.headings(text)
        ]
        counts |= {
            "symptoms": heads.count(3),
            "chapters": len(chapters),
            "first": f"../chapters/{chapters[0].stem}",
            "number": pages.chapter_number(chapters[0].stem),
        }
        links = [
            f'<a href="{address.format(**counts)}"><b>{escape(pick(name, lang))}</b>'
            f"<small>{escape(pick(behind, lang).format(**counts))}</small></a>"
            for address, name, behind in DOORS
        ]
        label = pick(LABEL, lang)
        html = f'<nav class="doors" aria-label="{label}">{"".join(links)}</nav>'
        return [nodes.raw("", html, format="html")]


class StartReading(Generated):
    """The first door again, for a phone, where the doors are two screens below."""

    def run(self) -> list[nodes.Node]:
        address, name, _ = DOORS[0]
        first = f"../chapters/{self.chapters()[0].stem}"
        link = f'<a href="{address.format(first=first)}">'
        words = escape(pick(name, self.config.edition))
        html = f'<p class="start-reading">{link}{words} →</a></p>'
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict:
    app.add_directive("start-reading", StartReading)
    app.add_directive("doors", Doors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
