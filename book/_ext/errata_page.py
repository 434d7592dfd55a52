"""The errata museum, written from ``book/errata/``, one file an exhibit.

An exhibit's `wrong` and `right` are the same function before and after, and `law` says
of either whether it keeps the law; the tests hold every law against both. `WORDS` says
what the function is for, the mistake, what comes of it, and the law; `SHOWN` is the
place that computes it. Where a policy was trained on the mistake, `LEARNED` is the run
of the lab's experiment `hacks` whose stored responses are shown, before and after, and
`WORDS` introduces them.
"""

import inspect
import runpy
from pathlib import Path

from generated import Generated, table
from sphinx.application import Sphinx

from tokencredit.lab import experiment, responses, where
from tokencredit.lab.store import path_of, said_in

EXHIBITS = Path(__file__).parents[1] / "errata"
WORDS = {
    "zh": {
        "ask": "错在哪里",
        "stop": "。",
        "catch": "一条定律就能抓住它：",
        "repaired": "改好的：",
        "columns": ("题目", "之前", "之后", "验算"),
        "marks": ("错", "对"),
        "computed": "算给你看",
    },
    "en": {
        "ask": "What is wrong",
        "stop": ". ",
        "catch": "One law catches it: ",
        "repaired": "Repaired:",
        "columns": ("prompt", "before", "after", "calculated"),
        "marks": ("wrong", "right"),
        "computed": "Computed here",
    },
}
ROOM = """\
## {purpose}

```python
{wrong_code}
```

<details><summary>{ask}</summary>

**{mistake}**{stop}{what}

{responses}{catch}{law}

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


def exhibits() -> dict[str, dict]:
    """Return the exhibits in order, by file name."""
    files = sorted(EXHIBITS.glob("*.py"))
    return {file.stem: runpy.run_path(str(file)) for file in files}


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


class ErrataExhibits(Generated):
    """One room per mistake: the code; folded, the law, the repair and the chapter."""

    def markdown(self, lang: str) -> str:
        rooms = []
        for name, exhibit in exhibits().items():
            self.depends_on(EXHIBITS / f"{name}.py")
            codes = {
                f"{part}_code": inspect.getsource(exhibit[part]).strip()
                for part in ("wrong", "law", "right")
            }
            words = WORDS[lang] | exhibit["WORDS"][lang]
            shown = {"shown": exhibit["SHOWN"], "responses": ""}
            if run := exhibit.get("LEARNED"):
                self.depends_on(said_in(path_of(experiment("hacks"))))
                shown["responses"] = learned(run, words)
            rooms.append(ROOM.format(**words | shown | codes))
        return "\n".join(rooms)


def setup(app: Sphinx) -> dict:
    app.add_directive("errata-exhibits", ErrataExhibits)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
