"""The interview bank: every ``<details class="qa">`` of the chapters, by level.

A reader filters by level and chapter, draws a question at random, and marks what he
knew; ``bank.js`` does that, and without it the bank is a list.
"""

import json
import re
from html import escape

from course import plan
from docutils import nodes
from generated import Generated
from sphinx.application import Sphinx

from coursebook.languages import SOURCE, pick
from coursebook.pages import chapter_number, pieces, slug

QUESTION = re.compile(
    r'<details class="qa" data-level="(L\d)">\s*'
    r"<summary>(.*?)</summary>(.*?)</details>",
    re.S,
)
LEVELS = {
    "L1": "L1 概念 | L1 Concepts",
    "L2": "L2 实现 | L2 Implementation",
    "L3": "L3 算法 | L3 Algorithms",
}
WORDS = {
    "every": "全部 | All",
    "level": "层次 | Level",
    "chapter": "章 | Chapter",
    "open": "只看没答上的 | Only those I did not know",
    "random": "随机一题 | Random question",
    "knew": "我答上了 | I knew it",
    "forget": "再问我一次 | Ask me again",
    "score": "答上 {} / {} | knew {} of {}",
}


def questions(notebook: dict, lang: str) -> list[tuple[str, str, str]]:
    """Return (level, question, answer) of a chapter in one language, in order."""
    prose = "\n\n".join(text for tag, text in pieces(notebook) if tag in (None, lang))
    return QUESTION.findall(prose)


def moved(text: str, chapter: str) -> str:
    """Return a chapter's Markdown with its links as seen from ``book/``.

    >>> moved("[a](#x), [b](06_ppo.ipynb#y), [c](../book/zoo.md)", "05_x.ipynb")[:31]
    '[a](../chapters/05_x.ipynb#x), '
    """
    text = text.replace("](#", f"]({chapter}#")
    return re.sub(r"\]\((\d\d_\w+\.ipynb)", r"](../chapters/\1", text)


class InterviewBank(Generated):
    """The questions of all chapters with folded answers, each with its chapter."""

    def markdown(self, lang: str) -> str:
        names = {row["number"]: escape(row[lang]) for row in plan(self.root)}
        bank: dict[str, list[str]] = {level: [] for level in LEVELS}
        for path in self.chapters():
            notebook = json.loads(path.read_text(encoding="utf-8"))
            number, english = chapter_number(path.name), questions(notebook, SOURCE)
            for n, (level, question, answer) in enumerate(questions(notebook, lang)):
                key = f"{number}-{slug(english[n][1])[:60]}" if n < len(english) else n
                bank[level].append(
                    f'<details class="qa" data-level="{level}" '
                    f'data-chapter="{number}" data-key="{key}" id="q-{key}">'
                    f"<summary><span>{question.removeprefix(f'{level} · ')}</span> "
                    f"<small>{number} {names[number]}</small></summary>\n\n"
                    f"{moved(answer, path.name).strip()}\n\n"
                    f"→ [](../chapters/{path.name})\n\n</details>\n"
                )
        return "\n".join(
            f"## {pick(title, lang)}\n\n" + "\n".join(bank[level])
            for level, title in LEVELS.items()
            if bank[level]
        )


class BankTools(Generated):
    """Filters, a random question and the score; shown by the script."""

    def made(self) -> list[nodes.Node]:
        lang, numbers = (
            self.config.edition,
            [chapter_number(p.name) for p in self.chapters()],
        )
        words = {name: escape(pick(text, lang)) for name, text in WORDS.items()}
        levels = [("", words["every"]), *((level, level) for level in LEVELS)]
        radios = "".join(
            f'<label><input type="radio" name="bank-level" value="{value}"'
            f"{' checked' * (not value)}><span>{name}</span></label>"
            for value, name in levels
        )
        names = {row["number"]: escape(row[lang]) for row in plan(self.root)}
        options = f'<option value="">{words["every"]}</option>' + "".join(
            f'<option value="{n}">{n} {names[n]}</option>' for n in sorted(numbers)
        )
        html = (
            f'<div class="bank" hidden data-knew="{words["knew"]}" '
            f'data-forget="{words["forget"]}" data-score="{words["score"]}">'
            f"<fieldset><legend>{words['level']}</legend>{radios}</fieldset>"
            f'<label>{words["chapter"]} <select id="bank-chapter">{options}</select>'
            "</label>"
            f'<label><input type="checkbox" id="bank-open"> {words["open"]}</label>'
            f'<button type="button" id="bank-random">{words["random"]}</button>'
            '<p role="status"></p></div>'
            '<script src="../_static/bank.js" defer></script>'
        )
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict:
    app.add_directive("interview-tools", BankTools)
    app.add_directive("interview-bank", InterviewBank)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
