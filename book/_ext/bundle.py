"""Serve one style sheet and one script instead of twenty files.

On a slow network every file costs a round trip. The theme's and extensions' files are
joined in their order once the build has copied them; paths inside style sheets are
rewritten to match, and what they import (`basic.css`) comes first. The fonts that every
page shows come inside the style sheet: a file of their own would be asked for only once
the page is laid out. The search page keeps its own two scripts besides.
"""

import base64
import posixpath
import re
from pathlib import Path

from sphinx.application import Sphinx

FIRST = ["basic.css", "styles/theme.css", "styles/pydata-sphinx-theme.css"]
INSIDE = ("KaTeX_Main-Regular.woff2", "KaTeX_Math-Italic.woff2", "fa-solid-900.woff2")
LAST = ["scripts/bootstrap.js", "scripts/pydata-sphinx-theme.js"]

_wanted: dict[str, list[str]] = {"css": [], "js": []}


def claim(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Note the files that a page asks for and take them from its template."""
    for kind, key in (("css", "css_files"), ("js", "script_files")):
        for asset in context[key]:
            name = str(getattr(asset, "filename", asset) or "").split("?")[0]
            name = name.removeprefix("_static/")
            if name and name not in _wanted[kind]:
                _wanted[kind].append(name)
        context[key] = []


def join(app: Sphinx, error: Exception | None) -> None:
    """Write ``_static/bundle.css`` and ``_static/bundle.js``."""
    if error or app.builder.format != "html" or not _wanted["css"]:
        return
    static = Path(app.outdir, "_static")
    css = [_moved(static / name, name) for name in FIRST + _wanted["css"]]
    js = [(static / name).read_text("utf-8") for name in _wanted["js"] + LAST]
    (static / "bundle.css").write_text("\n".join(css), "utf-8")
    (static / "bundle.js").write_text("\n;\n".join(js), "utf-8")


def _moved(file: Path, name: str) -> str:
    folder = posixpath.dirname(name)

    def move(url: re.Match) -> str:
        target = url[1].strip("\"'")
        if re.match(r"data:|#|/|https?:", target):
            return url[0]
        if target.endswith(INSIDE):
            font = base64.b64encode((file.parent / target).read_bytes()).decode()
            return f"url(data:font/woff2;base64,{font})"
        return f"url({posixpath.normpath(posixpath.join(folder, target))})"

    text = re.sub(r"@(?:charset|import)[^;]*;", "", file.read_text("utf-8"))
    return re.sub(r"url\(((?:\"[^\"]*\"|'[^']*'|[^)]*))\)", move, text)


def setup(app: Sphinx) -> dict:
    for names in _wanted.values():
        names.clear()
    app.connect("html-page-context", claim, priority=950)
    app.connect("build-finished", join, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
