"""The interview bank: every ``<details class="qa">`` of the chapters, by level."""

import json
import re

import bilingual
from generated import Generated
from sphinx.application import Sphinx

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


class InterviewBank(Generated):
    """The questions of all chapters with folded answers, each with its chapter."""

    def markdown(self, lang: str) -> str:
        bank: dict[str, list[str]] = {level: [] for level in LEVELS}
        for path in self.chapters():
            self.depends_on(path)
            pieces = bilingual.pieces(json.loads(path.read_text(encoding="utf-8")))
            prose = "\n\n".join(text for tag, text in pieces if tag in (None, lang))
            for level, question, answer in QUESTION.findall(prose):
                bank[level].append(
                    f'<details class="qa" data-level="{level}">'
                    f"<summary>{question}</summary>\n\n{answer.strip()}\n\n"
                    f"→ [](../chapters/{path.name})\n\n</details>\n"
                )
        return "\n".join(
            f"## {bilingual.pick(title, lang)}\n\n" + "\n".join(bank[level])
            for level, title in LEVELS.items()
            if bank[level]
        )


def setup(app: Sphinx) -> dict:
    app.add_directive("interview-bank", InterviewBank)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
