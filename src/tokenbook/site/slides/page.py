"""Slides 幻灯片 of the chapters: their number, and each chapter as a PDF.

    python -m tokenbook.site.slides.page [--site DIR] [--chapters 08 ...]

``slides.js`` makes them of a page; this counts them from the notebook by the same rule,
for the teachers' table, and prints them.
"""

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

from sphinx.application import Sphinx
from tqdm import tqdm

from tokenbook import ROOT
from tokenbook.languages import LANGUAGES, SOURCE, pages, pick
from tokenbook.languages.marks import LABEL
from tokenbook.languages.minutes import CLOSED, DRAWN, NO_CODE, PICTURES
from tokenbook.site.generated import Generated, table

SITE = ROOT / "_build" / "site"
MINUTES = {  # of a lecture, for a slide of each kind
    "title": 2,
    "prediction": 3,
    "figure": 3,
    "equation": 2,
    "code": 2,
    "table": 2,
    "sentence": 1,
    "lines": 1,
    "exercises": 1,
}
NEEDED = ("prediction", "figure", "lines", "exercises")
SKIPPED = {"in-the-wild", "interview-questions"}
ONE = {"exercises": "exercises", "three-lines-to-remember": "lines"}
FOLDS = re.compile(r"<details.*?</details>|(```+|:::+)\{.*?\n\1", re.S)
TABLE = re.compile(r"(?:^\|.*\n?)+", re.M)
HEAD = "章/幻灯片/讲课分钟 | Chapter/Slides/Minutes of lecture"


def plan(notebook: dict) -> Counter:
    """Return the number of slides of each kind on a chapter's main road."""
    found, section, here = Counter(title=1), "", Counter()
    side, predicted = 0, False  # the level of the heading that began a side

    def close() -> None:
        if section in ONE:
            found[ONE[section]] += 1
        elif section not in SKIPPED and side != 2:
            found.update(+here or ({"sentence": 1} if section else {}))

    for cell in notebook["cells"]:
        tags, text = pages.tags(cell), pages.text_of(cell)
        if cell["cell_type"] == "markdown":
            if f"lang-{SOURCE}" not in tags and any(
                f"lang-{x}" in tags for x in LANGUAGES
            ):
                continue
            for part in re.split(r"(?m)^(?=#{2,3} )", FOLDS.sub("", text)):
                head = re.match(r"(#{2,3}) (.*)", part)
                if head and len(head[1]) == 2:
                    close()
                    section, here = pages.slug(head[2]), Counter()
                    side = 2 * ("side" in tags)
                elif head and side != 2:
                    side = 3 * ("side" in tags)
                if not side:
                    here["equation"] += len(LABEL.findall(part))
                    here["table"] += len(TABLE.findall(part))
            if "predict" in tags:
                predicted = not side
                here["prediction"] += predicted
        else:
            if not side and not predicted:
                here["figure"] += (figures := drawn(cell))
                here["code"] += not figures and not {*tags} & (CLOSED | NO_CODE)
            predicted = False
    close()
    return found


def drawn(cell: dict) -> int:
    """Return the number of figures that a code cell shows."""
    if {*pages.tags(cell)} & {"hide-cell", "remove-cell", "hide-output", "checked"}:
        return 0
    shown = [output.get("data", {}) for output in cell.get("outputs", [])]
    if any(call.search(pages.text_of(cell)) for _, call in DRAWN):
        return sum(map(bool, shown))
    return sum(bool(PICTURES & {*data}) for data in shown)


def problems(notebook: dict) -> list[str]:
    """Return the faults of a chapter's slides."""
    found = plan(notebook)
    return [f"no {kind} on the main road" for kind in NEEDED if not found[kind]]


def minutes(found: Counter) -> int:
    """Return the minutes of a lecture with these slides."""
    return sum(MINUTES[kind] * n for kind, n in found.items())


def chapters(wanted: list[str]) -> list[Path]:
    """Return the chapters whose names begin so, all without a wish.

    Raises:
        ValueError: a beginning of no chapter's name; a chapter that lacks marks.
    """
    every = sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))
    for start in wanted:
        if not any(path.name.startswith(start) for path in every):
            raise ValueError(f"--chapters: no chapter begins with {start!r}")
    found = [p for p in every if not wanted or p.name.startswith(tuple(wanted))]
    for path in found:
        for problem in problems(json.loads(path.read_text("utf-8"))):
            raise ValueError(f"{path.name} cannot be shown as slides: {problem}")
    return found


class LecturePlan(Generated):
    """Slides and minutes of a lecture on each chapter."""

    def markdown(self, lang: str) -> str:
        rows = []
        for path in self.chapters():
            found = plan(json.loads(path.read_text("utf-8")))
            numbers = (found.total(), minutes(found))
            rows.append([f"[](../chapters/{path.name})", *map(str, numbers)])
        return table(pick(HEAD, lang).split("/"), rows)


def setup(app: Sphinx) -> dict:
    app.add_directive("lecture-plan", LecturePlan)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=SITE)
    parser.add_argument("--chapters", nargs="*", default=[])
    args = parser.parse_args(argv)
    try:
        found = chapters(args.chapters)
    except ValueError as error:
        print(f"slides: {error}", file=sys.stderr)
        return 2
    from tokenbook.site.make import measure

    with measure.chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(0)
        for path in tqdm(found, "slides"):
            for lang in LANGUAGES:
                html = (args.site / lang / "chapters" / path.name).with_suffix(".html")
                page.goto(f"{html.resolve().as_uri()}?slides=print")
                page.wait_for_selector("html[data-slides]", state="attached")
                out = args.site / lang / "slides" / f"{path.stem}.pdf"
                out.parent.mkdir(exist_ok=True)
                page.pdf(path=out, prefer_css_page_size=True, print_background=True)
    print(f"slides: {len(found) * len(LANGUAGES)} files in {args.site}/*/slides")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
