"""The interview bank: every ``<details class="qa">`` of the chapters, by level.

``book/bank.yml`` lists the questions to prepare first; its ten for one evening are a
section of their own. A question whose answer needs a side road is marked. A reader
filters by level, chapter and road, draws a question, and marks the known ones; or takes
ten questions, weakest first, or a mock interview of thirty minutes. ``bank.js`` does
that, and without it the bank is a list.
"""

import json
import re
from collections.abc import Iterator
from html import escape

from docutils import nodes
from sphinx.application import Sphinx

from tokenbook import ROOT
from tokenbook.languages import SOURCE, pick
from tokenbook.languages.data import load
from tokenbook.languages.pages import chapter_number, pieces, slug
from tokenbook.site.generated import Generated
from tokenbook.site.pages.course import plan

BANK = ROOT / "book" / "bank.yml"
TONIGHT = "今晚先看这十道 | Ten for tonight"
SIDE = re.compile(r"\W*Needs the side ")  # an answer that the main road does not give
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
    "side": "选读 | side road",
    "road": "只看必读答得出的 | Only what the main road answers",
    "score": "答上 {} / {} | knew {} of {}",
    "ten": "练十题，没答上的先来 | Ten questions, weakest first",
    "mock": "模拟面试，三十分钟 | Mock interview, thirty minutes",
}
SESSION = {  # texts of the script
    "more": "接着答：第 {} 题 | Continue at question {}",
    "ready": "{} 题，三十分钟，按下面的按钮开始计时。"
    " | {} questions, thirty minutes. The clock starts with the button below.",
    "go": "开始计时 | Start the clock",
    "at": "第 {} 题，共 {} 题 | Question {} of {}",
    "left": "剩余时间 | Time left",
    "yes": "答上了 | I knew it",
    "no": "没答上 | I did not",
    "skip": "跳过 | Skip",
    "end": "结束 | End",
    "up": "时间到。 | Time is up.",
    "done": "答上 {} 题，共 {} 题。 | You knew {} of {}.",
    "repeat": "再看看： | To repeat:",
    "back": "回到题库 | Back to the bank",
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


def ordered(keys: list[str], first: list[str]) -> list[str]:
    """Return keys with those to prepare first before the others.

    >>> ordered(["a", "b", "c"], ["c", "x"])
    ['c', 'a', 'b']
    """
    return [
        *(key for key in first if key in keys),
        *(k for k in keys if k not in first),
    ]


class InterviewBank(Generated):
    """The questions of all chapters with folded answers, each with its chapter."""

    def asked(self, lang: str) -> Iterator[tuple[str, str, str]]:
        """Yield (key, level, folded question) of every question, in reading order."""
        names = {row["number"]: escape(row[lang]) for row in plan(self.root)}
        for path in self.chapters():
            notebook = json.loads(path.read_text(encoding="utf-8"))
            number = chapter_number(path.name)
            both = zip(
                questions(notebook, SOURCE), questions(notebook, lang), strict=True
            )
            for (_, english, answered), (level, question, answer) in both:
                key = f"{number}-{slug(english)[:60]}"
                side, tag = SIDE.match(answered), f"{number} {names[number]}"
                tag += f" · {pick(WORDS['side'], lang)}" if side else ""
                yield (
                    key,
                    level,
                    f'<details class="qa" data-level="{level}" '
                    f'data-chapter="{number}" data-key="{key}"'
                    f"{' data-side' if side else ''} "
                    f'id="q-{key}">'
                    f"<summary><span>{question.removeprefix(f'{level} · ')}</span> "
                    f"<small>{tag}</small></summary>\n\n"
                    f"{moved(answer, path.name).strip()}\n\n"
                    f"→ [](../chapters/{path.name})\n\n</details>\n",
                )

    def markdown(self, lang: str) -> str:
        said = {key: (level, folded) for key, level, folded in self.asked(lang)}
        order = load(BANK)
        tonight = [key for key in order["tonight"] if key in said]
        sections = {TONIGHT: tonight}
        for level, title in LEVELS.items():
            keys = [
                k for k, (of, _) in said.items() if of == level and k not in tonight
            ]
            sections[title] = ordered(keys, order["first"])
        return "\n".join(
            f"## {pick(title, lang)}\n\n" + "\n".join(said[key][1] for key in keys)
            for title, keys in sections.items()
            if keys
        )


class BankTools(Generated):
    """Filters, a random question and the score; shown by the script."""

    def made(self) -> list[nodes.Node]:
        lang, numbers = (
            self.config.edition,
            [chapter_number(p.name) for p in self.chapters()],
        )
        words = {name: escape(pick(text, lang)) for name, text in WORDS.items()}
        session = {name: pick(text, lang) for name, text in SESSION.items()}
        said = escape(json.dumps(session, ensure_ascii=False))
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
            f'data-forget="{words["forget"]}" data-score="{words["score"]}" '
            f'data-session="{said}">'
            f"<fieldset><legend>{words['level']}</legend>{radios}</fieldset>"
            f'<label>{words["chapter"]} <select id="bank-chapter">{options}</select>'
            "</label>"
            f'<label><input type="checkbox" id="bank-open"> {words["open"]}</label>'
            f'<label><input type="checkbox" id="bank-road"> {words["road"]}</label>'
            f'<button type="button" id="bank-random">{words["random"]}</button>'
            f'<button type="button" id="bank-ten">{words["ten"]}</button>'
            f'<button type="button" id="bank-mock">{words["mock"]}</button>'
            '<div class="bank-session" hidden></div><p role="status"></p></div>'
            '<script src="../_static/bank.js" defer></script>'
        )
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict:
    app.add_directive("interview-tools", BankTools)
    app.add_directive("interview-bank", InterviewBank)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
