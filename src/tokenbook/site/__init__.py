"""The site: one Sphinx extension, whose steps run in the order of `STEPS`.

A feature is one folder with all that it is made of: Python, scripts, styles, templates,
data. Its README.md declares these parts, and a build in which one is missing fails by
its name. ``python -m tokenbook.site`` builds the editions; the programs are in `make`.
"""

import re
from importlib import import_module
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

STEPS = (  # what listens to the same event, or changes the same page, does so in order
    "site.chapter.line_ends",
    "site.editions",
    "site.math.formulas",
    "site.search.index",
    "site.chapter.marks",
    "site.pages.road",
    "site.theme.trim",
    "site.chapter.plots",
    "site.chapter.printed",
    "site.glossary.page",
    "site.interview.page",
    "site.pages.wild",
    "symptoms.index_page",
    "site.pages.course",
    "site.pages.start",
    "site.theme.social",
    "site.chapter.report",
    "site.theme.carry",
    "site.pages.errata",
    "site.zoo.page",
    "site.sheet.page",
    "site.slides.page",
    "site.playground.page",
    "site.pages.api",
    "site.pages.sources",
    "site.pages.references",
    "site.chapter.code_lines",
    "explorer.book",
    "homework.practice.page",
    "site.chapter.cards",
    "symptoms.page",
    "symptoms.config_page",
    "figures._book",
    "site.theme.bundle",
    "site.paths.page",  # writes a page from the bundle
    "site.share.page",  # cuts what it serves, once it is copied
)
BEFORE_LINKS, AFTER_LINKS = 870, 880  # of a transform: MyST resolves anchors at 879
LAST = 950  # of an event: after all others, the table of contents (900) included
HERE = Path(__file__).parent
FEATURES = (  # the folders that declare their parts
    *sorted(path.parent for path in HERE.glob("*/__init__.py")),
    *(HERE.parent / name for name in ("explorer", "homework/practice", "symptoms")),
)
INLINE = {"make", "playground", "share"}  # pages with their own scripts and styles
TEMPLATES = (
    HERE / "theme" / "templates",
    *sorted({f.parent for f in HERE.glob("*/*.html") if f.parent.name not in INLINE}),
)
SERVED = (  # what pages ask for by name: the scripts and styles of the other features
    *sorted(f for f in HERE.glob("*/*.[cj]s*") if f.parent.name not in INLINE),
    HERE.parent / "symptoms" / "symptoms.js",
)
LINE = re.compile(r"^\* ((?:`[^`]+` ?)+)", re.M)  # of a README: its parts


def declared(feature: Path) -> list[str]:
    """Return the parts of a feature, as its README.md lists them."""
    lines = LINE.findall((feature / "README.md").read_text(encoding="utf-8"))
    return [part for line in lines for part in re.findall("`([^`]+)`", line)]


def check_features() -> None:
    """Raise ExtensionError for the first feature that lacks a declared part."""
    for feature in FEATURES:
        name = feature.relative_to(HERE.parents[1])
        if not (feature / "README.md").exists():
            raise ExtensionError(f"{name}: no README.md, which declares its parts")
        for part in declared(feature):
            if not (feature / part).exists():
                raise ExtensionError(
                    f"{name}: {part} is missing; README.md declares it"
                )


def add_files(app: Sphinx, config) -> None:
    """Tell Sphinx where the templates and the served files of the features are."""
    # before those of the theme, which its own setup has added
    config.templates_path = [*map(str, TEMPLATES), *config.templates_path]
    config.html_static_path = [*config.html_static_path, *map(str, SERVED)]


def setup(app: Sphinx) -> dict:
    """Set up every step; see `STEPS`."""
    check_features()
    app.connect("config-inited", add_files, priority=LAST)
    versions = []
    for step in STEPS:
        said = import_module(f"tokenbook.{step}").setup(app)
        versions.append(said.get("env_version", 1))
    return {
        "env_version": sum(versions),  # a step with a new one: all pages are read again
        "parallel_read_safe": False,
        "parallel_write_safe": False,
    }
