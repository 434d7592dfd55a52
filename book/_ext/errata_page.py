"""The errata museum, written from ``exhibits.py``."""

import inspect
import textwrap

import exhibits
from generated import Generated
from sphinx.application import Sphinx

WORDS = {
    "zh": ("错在哪里", "。", "一条定律就能抓住它：", "改好的：", "算给你看"),
    "en": ("What is wrong", ". ", "One law catches it: ", "Repaired:", "Computed here"),
}
ROOM = """\
## {purpose}

```python
{wrong}
```

<details><summary>{ask}</summary>

**{mistake}**{stop}{what}

{catch}{law_words}

```python
{law}
```

{repaired}

```python
{right}
```

[{shown}](../chapters/{where})

</details>
"""


def source(function) -> str:
    """Return a function's code as if it stood alone."""
    return textwrap.dedent(inspect.getsource(function)).strip()


class ErrataExhibits(Generated):
    """One room per mistake: the code; folded, the law, the repair and the chapter."""

    def markdown(self, lang: str) -> str:
        self.depends_on(exhibits.__file__)
        ask, stop, catch, repaired, shown = WORDS[lang]
        rooms = []
        for exhibit in exhibits.Exhibit.__subclasses__():
            purpose, mistake, what, law_words = getattr(exhibit, lang)
            rooms.append(
                ROOM.format(
                    purpose=purpose,
                    mistake=mistake,
                    stop=stop,
                    what=what,
                    law_words=law_words,
                    ask=ask,
                    catch=catch,
                    repaired=repaired,
                    shown=shown,
                    where=exhibit.where,
                    wrong=source(exhibit.wrong),
                    law=source(exhibit.law),
                    right=source(exhibit.right),
                )
            )
        return "\n".join(rooms)


def setup(app: Sphinx) -> dict:
    app.add_directive("errata-exhibits", ErrataExhibits)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
