"""A live figure as an element of a static page, cached between builds."""

import hashlib
import json
import os
import tempfile
from functools import cache
from html import escape
from importlib.metadata import version
from pathlib import Path

from tokencredit.figures._explorer import Explorer, explore
from tokencredit.figures._record import encode, record
from tokencredit.figures._style import panels, unique_ids

UID = "XPID"


def build(explorer: Explorer) -> dict[str, str]:
    """Draw the grid and write the element in each language, ids beginning with UID."""
    tree, changes, readouts = record(explorer)
    unique_ids(tree, UID)
    start = [*explorer.states].index(explorer.start)
    marked = [element for element in tree.iter() if "data-m" in element.attrib]
    moves = [
        (number, name, values)
        for number, element in enumerate(marked)
        for name, values in changes[element]
    ]
    pages = {}
    for language in explorer.title:
        says = [explorer.say(language, numbers) for numbers in readouts]
        data = encode(explorer, [*moves, (len(marked), "", says)])
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        text = text.replace("<", "\\u003c")
        sliders = "".join(
            _slider(dial, language, says[start]) for dial in explorer.dials
        )
        title = escape(explorer.title[language])
        pages[language] = (
            f'<div class="xp" data-xp="{explorer.name}">'
            f'<p class="xp-title">{title}</p>'
            f"{panels(tree, explorer.alt[language])}"
            f'<p class="xp-readout">{escape(says[start])}</p>'
            f'<fieldset disabled aria-label="{title}">{sliders}</fieldset>'
            f'<script type="application/json">{text}</script>'
            "</div>"
        )
    return pages


def _slider(dial, language: str, says: str) -> str:
    # Without a name: themes write the search query into every input named "q".
    value = dial.label(dial.start)
    return (
        f"<label><span>{escape(dial.symbol)} {escape(dial.name[language])}</span> "
        f'<b>{value}</b><input type="range" data-symbol="{escape(dial.symbol)}" '
        f'data-key="{dial.key}" min="0" max="{len(dial.values) - 1}" '
        f'value="{dial.values.index(dial.start)}" autocomplete="off" '
        f'aria-valuetext="{escape(f"{dial.symbol} = {value}; {says}")}"></label>'
    )


@cache
def cache_key(package: Path = Path(__file__).parents[1]) -> str:
    """A hash of the whole course package and of what draws and computes with it."""
    digest = hashlib.sha256()
    for name in ("torch", "matplotlib"):
        digest.update(f"{name} {version(name)}\n".encode())
    for file in sorted(package.rglob("*.py")):
        digest.update(file.relative_to(package).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def page_html(name: str, language: str, uid: str) -> str:
    """The element of figure `name` in `language`; its ids begin with `uid`.

    Drawn when the package has changed since the last build, else read from the cache
    (``$XDG_CACHE_HOME/tokencredit``, by default in ``~/.cache``).
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    file = Path(home) / "tokencredit" / f"{name}.json"
    try:
        stored = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        stored = {}
    if stored.get("key") != cache_key():
        stored = {"key": cache_key(), "pages": build(explore(name))}
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=file.parent, delete=False
        ) as out:
            json.dump(stored, out, ensure_ascii=False)
        os.replace(out.name, file)
    return stored["pages"][language].replace(UID, uid)
