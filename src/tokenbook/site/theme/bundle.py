"""Serve one style sheet and one script instead of twenty files.

On a slow network every file costs a round trip. The theme's and extensions' files are
joined in their order once the build has copied them; paths inside style sheets are
rewritten to match, and what they import (`basic.css`) comes first. Rules for classes
that no page and no script names are left out (most of the theme), and so are unused
variables; so are comments and indentation. The fonts that nearly every page shows come
inside the style sheet: a separate file would be requested only after the layout, and
delay the page. Sphinx's search and its marks are left out (``book_search.py``), and so
are Bootstrap's script, which would draw the tooltips of four buttons, and those of the
two themes, which measure the page while it loads, for banners and notes in a margin
that no page has. The search's dialog, the drawer of the contents and the switch of
colours are in ``book.js``.
"""

import base64
import posixpath
import re
from functools import partial
from pathlib import Path

from sphinx.application import Sphinx

from tokenbook.site import LAST

FIRST = ["basic.css", "styles/theme.css", "styles/pydata-sphinx-theme.css"]
INSIDE = re.compile(
    r"(KaTeX_(Main-(Regular|Bold)|Math-Italic|(AMS|Caligraphic|Size[1-4])-Regular)"
    r"|fa-solid-900)\.woff2$"
)
NEVER = {"sphinx_highlight.js", "searchtools.js", "language_data.js", "bootstrap.js"}
NEVER |= {"doctools.js", "translations.js"}
NEVER |= {"sphinx-book-theme.js", "pydata-sphinx-theme.js"}
NOT = {*NEVER, "search.js"}  # which only the search page loads
# Copy buttons are added after the load: a chapter has a hundred of them.
LATER = {
    "runWhenDOMLoaded(addCopyButtonToCodeCells)": (
        'addEventListener("load", addCopyButtonToCodeCells)'
    )
}
CLASSES = re.compile(r'(?:class|id)="([^"]*)"')
COMMENT = re.compile(r"/\*.*?\*/", re.S)
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
EMPTY = re.compile(r"@(?:media|supports|container)[^{}]*\{\s*\}")
SELECTORS = re.compile(r",(?![^(]*\))")
UNSURE = re.compile(r":(?:not|is|where|has)\([^)]*\)|\[[^\]]*\]")
NAMES = re.compile(r"[.#](-?[a-zA-Z_][\w-]*)")

VARIABLE = re.compile(r"(?<=[{;\s])(--[\w-]+)\s*:[^;{}]*;?")
ASKED = re.compile(r"--[\w-]+(?![\w-]|\s*:)")  # by var() or a script
SPACE = re.compile(r" ?([{};]) ?")
INDENTED = re.compile(r"^\s*//.*(?:\n|$)|^\s+", re.M)

_wanted: dict[str, list[str]] = {"css": [], "js": []}


def claim(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Note the files that a page loads and remove them from its template."""
    for kind, key in (("css", "css_files"), ("js", "script_files")):
        for asset in context[key]:
            name = str(getattr(asset, "filename", asset) or "").split("?")[0]
            name = name.removeprefix("_static/")
            known = name in _wanted[kind] or posixpath.basename(name) in NOT
            if name and not known:
                _wanted[kind].append(name)
        context[key] = []


def join(app: Sphinx, error: Exception | None) -> None:
    """Write ``_static/bundle.css`` and ``_static/bundle.js``."""
    if error or app.builder.format != "html" or not _wanted["css"]:
        return
    static = Path(app.outdir, "_static")
    css = [_moved(static / name, name) for name in FIRST + _wanted["css"]]
    js = "\n;\n".join((static / name).read_text("utf-8") for name in _wanted["js"])
    scripts = (
        p.read_text("utf-8") for p in static.rglob("*.js") if p.name not in NEVER
    )
    scripts = "\n".join(scripts)
    used, asked = set(re.findall(r"[\w-]+", scripts)), {*ASKED.findall(scripts)}
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text("utf-8")
        asked.update(ASKED.findall(text))
        for names in CLASSES.findall(text):
            used.update(names.split())
    css = only_asked(asked, only(used, "\n".join(css)))
    (static / "bundle.css").write_text(css, "utf-8")
    for now, later in LATER.items():
        js = js.replace(now, later)
    (static / "bundle.js").write_text(INDENTED.sub("", js), "utf-8")


def only(used: set[str], css: str) -> str:
    """Return a style sheet without comments and rules for names that are not used.

    >>> only({"a"}, ".a, .b { x: y } @media print { #c { x: y } } p { x: y }")
    '.a{ x: y }  p { x: y }'
    """

    def keep(rule: re.Match) -> str:
        if "@" in rule[1]:
            return rule[0]
        selectors = SELECTORS.split(rule[1])
        kept = [
            s for s in selectors if used.issuperset(NAMES.findall(UNSURE.sub("", s)))
        ]
        if len(kept) == len(selectors):
            return rule[0]
        return f"{','.join(kept)}{{{rule[2]}}}" if kept else ""

    css = RULE.sub(keep, COMMENT.sub("", css))
    while (fewer := EMPTY.sub("", css)) != css:
        css = fewer
    return css


def only_asked(asked: set[str], css: str) -> str:
    """Return a style sheet without unused variables and spare space.

    >>> only_asked({"--c"}, "a { --b: 1; --c: 2;\\n x: var(--d) } b { --d: 3; --e: 4 }")
    'a{--c: 2;x: var(--d)}b{--d: 3;}'
    """
    while True:
        wanted = asked | {*ASKED.findall(css)}
        unasked = {x for x in VARIABLE.findall(css) if x not in wanted}
        if not unasked:
            break
        css = VARIABLE.sub(partial(_drop, unasked), css)
    return SPACE.sub(r"\1", " ".join(css.split()))


def _drop(names: set[str], variable: re.Match) -> str:
    return "" if variable[1] in names else variable[0]


def _moved(file: Path, name: str) -> str:
    folder = posixpath.dirname(name)

    def move(url: re.Match) -> str:
        target = url[1].strip("\"'")
        if re.match(r"data:|#|/|https?:", target):
            return url[0]
        if INSIDE.search(target):
            font = base64.b64encode((file.parent / target).read_bytes()).decode()
            return f"url(data:font/woff2;base64,{font})"
        return f"url({posixpath.normpath(posixpath.join(folder, target))})"

    text = re.sub(r"@(?:charset|import)[^;]*;", "", file.read_text("utf-8"))
    return re.sub(r"url\(((?:\"[^\"]*\"|'[^']*'|[^)]*))\)", move, text)


def setup(app: Sphinx) -> dict:
    for names in _wanted.values():
        names.clear()
    app.connect("html-page-context", claim, priority=LAST)
    app.connect("build-finished", join, priority=LAST)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
