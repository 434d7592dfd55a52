"""The ways in from the start page, with what is behind each of them counted."""

import json
from html import escape

from course import exercises
from docutils import nodes
from generated import Generated
from interview_page import QUESTION
from playground_page import FOLDER, stories
from sphinx.application import Sphinx

from coursebook import pages
from coursebook.languages import SOURCE, pick

READ = (  # where it leads, what it says, what is behind it
    "{first}.html",
    "从头读起 | Start reading",
    "第 {number} 章到第 {last} 章 | chapters {number} to {last}",
)
DOORS = (
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
    (
        "../book/playground.html",
        "我想动手 | I want to try it",
        "{stories} 个实验，在网页里训练 | {stories} runs that train in the page",
    ),
)
LABEL = "从哪里进 | Ways in"


def link(way: tuple[str, str, str], counts: dict, lang: str) -> str:
    """Return a way in as a link."""
    address, name, behind = way
    return (
        f'<a href="{address.format(**counts)}"><b>{escape(pick(name, lang))}</b> '
        f"<small>{escape(pick(behind, lang).format(**counts))}</small></a>"
    )


class StartReading(Generated):
    """The first chapter, as a button under the introduction."""

    def run(self) -> list[nodes.Node]:
        chapters = [path.stem for path in self.chapters()]
        counts = {
            "first": f"../chapters/{chapters[0]}",
            "number": pages.chapter_number(chapters[0]),
            "last": pages.chapter_number(chapters[-1]),
        }
        html = link(READ, counts, self.config.edition)
        html = f'<p class="start-reading">{html}</p>'
        return [nodes.raw("", html, format="html")]


class Doors(Generated):
    """Four links: to prepare, to debug, to teach, to try."""

    def run(self) -> list[nodes.Node]:
        lang, counts = self.config.edition, {"questions": 0, "exercises": 0}
        for path in self.chapters():
            self.depends_on(path)
            notebook = json.loads(path.read_text(encoding="utf-8"))
            texts = [text for tag, text in pages.pieces(notebook) if tag == SOURCE]
            counts["questions"] += len(QUESTION.findall("\n\n".join(texts)))
            counts["exercises"] += exercises(notebook)
        symptoms = self.root / "book" / "symptoms.md"
        self.depends_on(symptoms)
        self.depends_on(FOLDER / "stories.yml")
        heads = [
            level
            for tag, text in pages.pieces(symptoms.read_text(encoding="utf-8"))
            if tag == SOURCE
            for level, _ in pages.headings(text)
        ]
        counts |= {"symptoms": heads.count(3), "stories": len(stories())}
        links = "".join(link(way, counts, lang) for way in DOORS)
        html = f'<nav class="doors" aria-label="{pick(LABEL, lang)}">{links}</nav>'
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict:
    app.add_directive("start-reading", StartReading)
    app.add_directive("doors", Doors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
