"""The map of the course on its first page: which chapter changes which arrow.

Written from ``book/course.yml``; a chapter is linked once its notebook exists.
"""

from itertools import pairwise

import bilingual
import yaml
from generated import Generated, table
from sphinx.application import Sphinx

from tokencredit.figures._pipeline import STAGES

HEAD = "箭头/章/它回答的问题 | Arrow/Chapter/The question it answers"
PLANNED = "（编写中） | (being written)"


class CourseMap(Generated):
    """One row per chapter in reading order."""

    def markdown(self, lang: str) -> str:
        plan = self.root / "book" / "course.yml"
        self.depends_on(plan)
        names = [words[lang] for words in STAGES.values()]
        arrows = dict(zip([*STAGES][1:], pairwise(names), strict=True))
        rows = []
        for chapter in yaml.safe_load(plan.read_text(encoding="utf-8")):
            number = chapter["number"]
            found = [p for p in self.chapters() if p.name.startswith(f"{number:02}_")]
            title = f"{number} {chapter[lang]}"
            if found:
                title = f"[{title}](../chapters/{found[0].name})"
            else:
                title += " " + bilingual.pick(PLANNED, lang)
            arrow = " → ".join(arrows[chapter["arrow"]])
            rows.append([arrow, title, chapter["asks"][lang]])
        return table(bilingual.pick(HEAD, lang).split("/"), rows)


def setup(app: Sphinx) -> dict:
    app.add_directive("course-map", CourseMap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
