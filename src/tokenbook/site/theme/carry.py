"""Downloads: the package, notebooks that install it, the version.

Buttons that run a chapter elsewhere need the repository: they open its branch
``notebooks``, to which ``.github/workflows/book.yml`` puts the notebooks of one
language. Without ``repository`` no page shows them.
"""

import json
from pathlib import Path

from sphinx.application import Sphinx

from tokenbook.languages import pick
from tokenbook.languages.pages import chapter_number, one_language, one_language_page

PACKAGES = ("tokencredit", "tokenbook")  # a chapter shows figures of the book
INSTALL = """\
# {words}
import importlib.util

if importlib.util.find_spec("tokenbook") is None:
    %pip install --quiet {package}"""
WORDS = (
    "没有课程的包时装一次 | Installs the packages of the course where they are missing"
)
BESIDE = (
    "{}；请先把它们下载到本文件旁边 | {}; download them and put them beside this file"
)
RUNS = {  # by language: where a notebook of a branch on GitHub can be run
    "zh": ("ModelScope", "https://modelscope.cn/notebook/share/github/{}/blob/{}"),
    "en": ("Colab", "https://colab.research.google.com/github/{}/blob/{}"),
}
BINDER = "https://mybinder.org/v2/gh/{}/main?urlpath=lab/tree/{}"
CHANGES = "book/changelog"


def wheels(config) -> list[str]:
    """Return the file names of the packages in the root of the build."""
    version = config.made.partition(" ")[0]
    return [f"{name}-{version}-py3-none-any.whl" for name in PACKAGES]


def packages(config) -> list[str]:
    """Return pip's arguments: the site's wheels, the repository, or local files."""
    if config.html_baseurl:
        root = config.html_baseurl.rstrip("/").rpartition("/")[0]
        return [f"{root}/{name}" for name in wheels(config)]
    repository = config.repository.rstrip("/")
    if repository:
        return [f"git+{repository}", f"git+{repository}#subdirectory=src"]
    return wheels(config)


def install_cell(config) -> dict:
    """Return the cell with which a downloaded notebook starts."""
    sources, words = packages(config), pick(WORDS, config.edition)
    if sources == wheels(config):
        words = pick(BESIDE, config.edition).format(words)
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "install",
        "metadata": {},
        "outputs": [],
        "source": INSTALL.format(words=words, package=" ".join(sources)),
    }


def downloads(app: Sphinx, error: Exception | None) -> None:
    """Replace the copied sources: a reader downloads the notebook of one language."""
    if error or app.builder.format != "html":
        return
    for page in app.env.found_docs:
        source = Path(app.env.doc2path(page))
        copied = Path(app.outdir, "_sources", page + source.suffix)
        if not copied.exists():
            continue
        text = source.read_text(encoding="utf-8")
        if source.suffix == ".ipynb":
            notebook = one_language(json.loads(text), app.config.edition)
            if app.config.made:  # else nothing carries the package: plain Sphinx
                notebook["cells"].insert(0, install_cell(app.config))
            text = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
        else:
            text = one_language_page(text, app.config.edition)
        copied.write_text(text, encoding="utf-8")


def links(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Give the page template its buttons and its footer."""
    config, lang = app.config, app.config.edition
    root, words = context.get("content_root", ""), pick("包 | Package", lang)
    context["runs"] = []
    _, _, name = config.repository.rstrip("/").partition("github.com/")
    if name and chapter_number(page) is not None:
        where, address = RUNS[lang]
        path = f"notebooks/{lang}/{page}.ipynb"
        context["runs"] = [
            (where, address.format(name, path)),
            ("Binder", BINDER.format(name, f"{page}.ipynb")),
            (
                pick("编辑 | Edit", lang),
                f"https://github.com/{name}/edit/main/{page}.ipynb",
            ),
        ]
    if config.made:
        foot = [config.made, f'<a href="{root}../{wheels(config)[0]}">{words}</a>']
        if CHANGES in app.env.found_docs:
            changes = pick("更新 | Changes", lang)
            foot.append(f'<a href="{root}{CHANGES}.html">{changes}</a>')
        context["theme_extra_footer"] += "<br>" + " · ".join(foot)


def setup(app: Sphinx) -> dict:
    app.add_config_value("made", "", "html", types=[str])
    app.connect("html-page-context", links)
    app.connect("build-finished", downloads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
