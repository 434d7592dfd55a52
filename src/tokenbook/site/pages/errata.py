"""The errata museum, written from ``book/errata/``, one file an exhibit.

An exhibit's `wrong` and `right` are the same function before and after, and `law` tests
whether one keeps the law; the tests apply every law to both. `WORDS` has the purpose of
the function, the mistake, its effect, and the law; `SHOWN` is the place of its
computation, `ARROW` the stage at the end of the arrow with the mistake, `SPEAKS_OF` the
kinds of users' functions to which the law applies, each with the way to call it
(`tokencredit.laws.ways`). If a policy was trained on the mistake, `LEARNED` is the run
of the lab's experiment `hacks` whose stored responses are shown, before and after, and
`TRAINED` names two stored curves, each by its arm in the experiment `mistakes` and a
column: the mistake, then its control. `WORDS` introduces them.
"""

import inspect
from html import escape

import numpy as np
from docutils import nodes
from sphinx.application import Sphinx

from tokenbook.figures import STAGES
from tokenbook.lab import per_seed, responses, results, where
from tokenbook.languages.pages import slug
from tokenbook.site.generated import Generated, table
from tokencredit.laws import exhibits

WORDS = {
    "zh": {
        "ask": "错在哪里",
        "stop": "。",
        "catch": "一条定律就能抓住它：",
        "repaired": "改好的：",
        "columns": ("题目", "之前", "之后", "验算"),
        "marks": ("错", "对"),
        "seeds": "细线是各个种子，粗线是中位数",
        "index": "按主线的箭头找",
        "computed": "算给你看",
        "step": "迭代",
        "update": "更新步",
    },
    "en": {
        "ask": "What is wrong",
        "stop": ". ",
        "catch": "One law catches it: ",
        "repaired": "Repaired:",
        "columns": ("prompt", "before", "after", "calculated"),
        "marks": ("incorrect", "correct"),
        "seeds": "thin: one seed each; thick: the median",
        "index": "By the arrow of the thread",
        "computed": "Computed here",
        "step": "iterations",
        "update": "optimizer steps",
    },
}
ROOM = """\
### {purpose}

```python
{wrong_code}
```

<details><summary>{ask}</summary>

**{mistake}**{stop}{what}

{responses}{runs}{catch}{law}

```python
{law_code}
```

{repaired}

```python
{right_code}
```

[{computed}](../chapters/{shown})

</details>
"""


def learned(run: dict, words: dict) -> str:
    """Return the responses of a stored run before and after, as Markdown."""
    said = where(responses("hacks"), **run)
    before, after = (where(said, step=k) for k in (said.step.min(), said.step.max()))
    rows = [
        [f"`{a.prompt}`", f"`{a.response}`", f"`{b.response}`", words["marks"][b.right]]
        for a, b in zip(before.itertuples(), after.itertuples(), strict=True)
    ]
    head = words["learned"].format(rounds=said.step.max())
    return f"{head}\n\n{table(list(words['columns']), rows)}\n"


def trained(curves: tuple, words: dict) -> str:
    """Return two stored curves, a thin line per seed and their median, as HTML."""
    rows = results("mistakes")
    drawn = [per_seed(rows, column, arm=arm) for arm, column in curves]
    steps = per_seed(rows, "step", arm=curves[0][0])[0]
    top = max(1.0, *(lines.max() for lines in drawn))
    width, height, left = 420, 130, 28  # of the space between the axes; for the ticks
    across = left + (steps - steps[0]) / np.ptp(steps) * (width - left)
    marks = []
    for value in (0, top / 2, top):
        down = height * (1 - value / top) + 8
        line = f'<path class="rule" d="M{left} {down:.1f}H{width}"/>'
        word = f"{value:.1f}".removesuffix(".0")
        marks.append(f'{line}<text x="{left - 5}" y="{down + 4:.1f}">{word}</text>')
    for look, lines in zip(("down", "up"), drawn, strict=True):
        for line, kind in [*((x, " thin") for x in lines), (np.median(lines, 0), "")]:
            places = zip(across, height * (1 - line / top) + 8, strict=True)
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            marks.append(f'<path class="{look}{kind}" d="M{path}"/>')
    ends = f'<text x="{left}" y="{height + 24}">{steps[0]:.0f}</text>'
    ends += f'<text x="{width}" y="{height + 24}">{steps[-1]:.0f}</text>'
    name = words["update" if curves[0][1] == "distance" else "step"]
    ends += f'<text class="name" x="{width / 2}" y="{height + 24}">{name}</text>'
    said = "".join(
        f'<span class="{look}">{escape(line)}</span>'
        for look, line in zip(("down", "up"), words["lines"], strict=True)
    )
    return (
        f"{words['trained']}\n\n"
        f'<div class="runs"><p class="axis">{escape(words["axis"])}</p>'
        f'<svg viewBox="0 0 {width + 4} {height + 30}" role="img" '
        f'aria-label="{escape(words["trained"])}">{"".join(marks)}{ends}</svg>'
        f"<p>{said}<i>{words['seeds']}</i></p></div>\n\n"
    )


def arrow(stage: str, lang: str, between: str = " → ") -> str:
    """Return the arrow into a stage: "reward → credit"."""
    names = [*STAGES]
    pair = names[names.index(stage) - 1], stage
    return between.join(STAGES[name][lang] for name in pair)


def by_arrow(rooms: dict[str, dict]) -> dict[str, dict[str, dict]]:
    """Return the exhibits by their arrows, in the order of the thread."""
    found = {
        stage: {name: room for name, room in rooms.items() if room["ARROW"] == stage}
        for stage in [*STAGES][1:]
    }
    return {stage: some for stage, some in found.items() if some}


def index(rooms: dict[str, dict], lang: str) -> str:
    """Return links to all rooms, by their arrows, as HTML."""
    groups = []
    for stage, some in by_arrow(rooms).items():
        purposes = [room["WORDS"] for room in some.values()]
        links = "".join(
            f'<li><a href="#{slug(words["en"]["purpose"])}">'
            f"{escape(words[lang]['purpose'])}</a></li>"
            for words in purposes
        )
        groups.append(
            f'<li><a class="arrow" href="#{slug(arrow(stage, "en"))}">'
            f"{arrow(stage, lang, '<i></i>')}</a><ol>{links}</ol></li>"
        )
    label = WORDS[lang]["index"]
    return f'<nav class="rooms" aria-label="{label}"><ol>{"".join(groups)}</ol></nav>'


class ErrataIndex(Generated):
    """Links to all rooms, by the arrow of the thread on which the mistake lies."""

    def made(self) -> list[nodes.Node]:
        html = index(exhibits(), self.config.edition)
        return [nodes.raw("", html, format="html")]


class ErrataExhibits(Generated):
    """One room per mistake: the code; folded, the law, the repair and the chapter."""

    def room(self, name: str, exhibit: dict, lang: str) -> str:
        """Return one room as Markdown."""
        codes = {
            f"{part}_code": inspect.getsource(exhibit[part]).strip()
            for part in ("wrong", "law", "right")
        }
        words = WORDS[lang] | exhibit["WORDS"][lang]
        shown = {"shown": exhibit["SHOWN"], "responses": "", "runs": ""}
        if run := exhibit.get("LEARNED"):
            shown["responses"] = learned(run, words)
        if curves := exhibit.get("TRAINED"):
            shown["runs"] = trained(curves, words)
        return ROOM.format(**words | shown | codes)

    def markdown(self, lang: str) -> str:
        text = []
        for stage, some in by_arrow(exhibits()).items():
            text.append(f"## {arrow(stage, lang)}\n")
            text += [self.room(name, room, lang) for name, room in some.items()]
        return "\n".join(text)


def setup(app: Sphinx) -> dict:
    app.add_directive("errata-index", ErrataIndex)
    app.add_directive("errata-exhibits", ErrataExhibits)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
