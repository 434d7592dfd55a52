"""What readers take along: the package, notebooks that install it, the version.

Buttons that run a chapter elsewhere need the repository: they open its branch
``notebooks``, to which ``.github/workflows/book.yml`` puts the notebooks of one
language. Without ``repository`` no page shows them.
"""

import json
from pathlib import Path

from sphinx.application import Sphinx

from tokenbook.languages import pick
from tokenbook.languages.pages import chapter_number, one_language, one_language_page

WHEEL = "tokencredit-{}-py3-none-any.whl"  # of a version
INSTALL = """\
# {words}
import importlib.util

if importlib.util.find_spec("tokencredit") is None:
    %pip install --quiet {package}"""
WORDS = "没有课程的包时装一次 | Installs the package of the course where it is missing"
BESIDE = "{}；请先把它下载到本文件旁边 | {}; download it and put it beside this file"
RUNS = {  # by language: where a notebook of a branch on GitHub can be run
    "zh": ("ModelScope", "https://modelscope.cn/notebook/share/github/{}/blob/{}"),
    "en": ("Colab", "https://colab.research.google.com/github/{}/blob/{}"),
}
BINDER = "https://mybinder.org/v2/gh/{}/main?urlpath=lab/tree/{}"
CHANGES = "book/changelog"


def wheel(config) -> str:
    """Return the name of the package's file, which src/tokenbook/site/make/site.py puts into its root."""
    return WHEEL.format(config.made.partition(" ")[0])


def package(config) -> str:
    """Return what pip installs: the site's wheel, the repository, or a file beside."""
    if config.html_baseurl:
        return f"{config.html_baseurl.rstrip('/').rpartition('/')[0]}/{wheel(config)}"
    repository = config.repository.rstrip("/")
    return f"git+{repository}" if repository else wheel(config)


def install_cell(config) -> dict:
    """Return the cell with which a downloaded notebook starts."""
    source, words = package(config), pick(WORDS, config.edition)
    if source == wheel(config):
        words = pick(BESIDE, config.edition).format(words)
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "install",
        "metadata": {},
        "outputs": [],
        "source": INSTALL.format(words=words, package=source),
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
        foot = [config.made, f'<a href="{root}../{wheel(config)}">{words}</a>']
        if CHANGES in app.env.found_docs:
            changes = pick("更新 | Changes", lang)
            foot.append(f'<a href="{root}{CHANGES}.html">{changes}</a>')
        context["theme_extra_footer"] += "<br>" + " · ".join(foot)


def setup(app: Sphinx) -> dict:
    app.add_config_value("made", "", "html", types=[str])
    app.connect("html-page-context", links)
    app.connect("build-finished", downloads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
