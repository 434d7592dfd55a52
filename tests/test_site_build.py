"""What the site's extensions promise, on a book of two pages built in a moment."""

import base64
import json
import re
import shutil
from importlib import import_module
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from docutils import nodes
from docutils.utils import new_document
from fontTools.ttLib import TTFont

from tokenbook.languages import foreign
from tokenbook.languages.typography import close_line_ends, full_width
from tokenbook.site.chapter.line_ends import CloseLineEnds
from tokenbook.site.math.formulas import render, shown
from tokenbook.site.pages.course import plan
from tokenbook.site.search.index import blocks
from tokenbook.site.theme.carry import install_cell

ROOT = Path(__file__).parents[1]


def load(name: str):
    """Import a program of the site."""
    return import_module(f"tokenbook.site.make.{name}")


site, check_pages = load("site"), load("check_pages")
EDITIONS = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["editions"]

COURSE = """
- number: 0
  arrow: all
  zh: 之前
  en: Before
  asks: {zh: "从哪里来？", en: "Where from?"}
- number: 5
  arrow: credit
  zh: 优势
  en: Advantage
  asks: {zh: "值多少？", en: "What is it worth?"}
  needs: [0]
"""
INDEX = '+++ {"lang": "zh"}\n# 开始\n+++ {"lang": "en"}\n# Start\n'
ZH = """# 优势

由 {eq}`eq-a` 得 $A_t$，降低方差。见[后文](#by-hand)。

## 手算

一句话。
又一句。

<details class="qa" data-level="L1"><summary>L1 · $A_t$ 是什么？</summary>

第一个数。

</details>
"""
EN = """# Advantage

{eq}`eq-a` gives $A_t$. See [below](#by-hand).

## By hand

One sentence.
Another.

<details class="qa" data-level="L1"><summary>L1 · What is $A_t$?</summary>

The first number.

</details>
"""


def markdown(text: str, name: str, *tags: str) -> dict:
    meta = {"tags": list(tags)} if tags else {}
    return {"cell_type": "markdown", "id": name, "metadata": meta, "source": text}


def code(text: str, name: str, **meta) -> dict:
    return {
        "cell_type": "code",
        "id": name,
        "metadata": meta,
        "source": text,
        "execution_count": 1,
        "outputs": [],
    }


def graded(name: str, **marks) -> dict:
    """What nbgrader keeps of a cell."""
    flags = {"solution": False, "grade": False, "locked": False, "task": False}
    points = {"points": 1} if "-" in name else {}
    return {"grade_id": name, "schema_version": 3} | flags | points | marks


def make_book(
    folder: Path, formula: str = "A = G - V", zh: str = ZH, more: list[dict] = ()
) -> Path:
    """Write a book of two pages that uses the real configuration and extensions."""
    (folder / "book").mkdir(parents=True)
    (folder / "book" / "references.bib").symlink_to(ROOT / "book" / "references.bib")
    shutil.copy(ROOT / "_config.yml", folder)
    chapters = [{"file": "chapters/05_a"}]
    toc = {"caption": "章节 | Chapters", "chapters": chapters}
    toc = {"format": "jb-book", "root": "book/index", "parts": [toc]}
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    (folder / "book" / "index.md").write_text(INDEX, encoding="utf-8")
    (folder / "book" / "course.yml").write_text(COURSE, encoding="utf-8")
    solution = "### BEGIN SOLUTION\nanswer = 42\n### END SOLUTION"
    hidden = "### BEGIN HIDDEN TESTS\nhidden = 7\n### END HIDDEN TESTS"
    notebook = {
        "cells": [
            markdown(zh, "zh-01", "lang-zh"),
            markdown(EN, "en-01", "lang-en"),
            markdown(f"$${formula}$$ (eq-a)", "shared-01"),
            code(solution, "answer", nbgrader=graded("answer", solution=True)),
            code(hidden, "hidden", nbgrader=graded("answer-hidden", grade=True)),
            *more,
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (folder / "chapters").mkdir()
    (folder / "chapters" / "05_a.ipynb").write_text(json.dumps(notebook), "utf-8")
    return folder


def set_option(root: Path, name: str, value: str) -> None:
    """Change an option of the book's configuration."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    assert name in config["sphinx"]["config"]
    config["sphinx"]["config"][name] = value
    text = yaml.safe_dump(config, allow_unicode=True, sort_keys=False)
    (root / "_config.yml").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    root = make_book(tmp_path_factory.mktemp("book"))
    assert site.build(root, root / "_build" / "site") == 0
    return root / "_build" / "site"


def page(built: Path, lang: str) -> str:
    return (built / lang / "chapters" / "05_a.html").read_text(encoding="utf-8")


def test_each_edition_holds_one_language(built):
    article = page(built, "en").split("<article")[1].split("</article")[0]
    assert not foreign(article, "en")
    assert "One sentence" not in page(built, "zh")
    assert "一句话。又一句。" in page(built, "zh")
    assert '<html lang="zh-CN"' in page(built, "zh")
    assert '<html lang="en"' in page(built, "en")


def test_both_editions_have_the_english_anchors(built):
    for lang in EDITIONS:
        assert 'id="by-hand"' in page(built, lang)
        assert 'href="#by-hand"' in page(built, lang)


def test_the_switch_leads_to_the_same_page_of_the_other_edition(built):
    assert 'hreflang="en" href="../../en/chapters/05_a.html"' in page(built, "zh")
    assert "language-switch" in page(built, "zh")


def test_equations_carry_the_chapter_in_both_editions(built):
    for lang in EDITIONS:
        found = check_pages.Page(built / lang / "chapters" / "05_a.html")
        assert found.numbers == {"equation-eq-a": "(5.1)"}
        assert "A = G - V" in found.formulas


def test_fonts_are_cut_to_the_characters_that_formulas_show(built):
    full = ROOT / "src/tokenbook/site/math/katex/fonts"
    name = "KaTeX_Math-Italic.woff2"
    cut = built / "zh" / "_static" / "katex" / "fonts" / name
    assert set("AGVt") == {
        c for c in map(chr, TTFont(cut).getBestCmap()) if c.isalpha()
    }
    assert cut.stat().st_size < (full / name).stat().st_size / 3


SIZES = [f"Size{k}" for k in range(1, 5)]


def test_fonts_of_every_page_come_with_the_style_sheet(built):
    css = (built / "zh" / "_static" / "bundle.css").read_text(encoding="utf-8")
    inside = re.findall(r"url\(data:font/woff2;base64,([^)]+)\)", css)
    fonts = [TTFont(BytesIO(base64.b64decode(font))) for font in inside]
    names = {font["name"].getDebugName(1).split()[0] for font in fonts}
    often = {f"KaTeX_{x}" for x in ("Main", "Math", "AMS", "Caligraphic", *SIZES)}
    assert names == {*often, "Font"}


def test_the_script_of_bootstrap_is_not_loaded(built):
    js = (built / "zh" / "_static" / "bundle.js").read_text(encoding="utf-8")
    assert "window.bootstrap" not in js and "createPopper" not in js
    buttons = re.findall(r'<button[^>]*class="btn[^>]*>', page(built, "zh"))
    assert len(buttons) >= 3  # contents, colours, search: a browser tells their names
    assert all(" title=" in button for button in buttons)


def test_the_theme_does_not_measure_the_whole_page_while_it_loads(built):
    js = (built / "zh" / "_static" / "bundle.js").read_text(encoding="utf-8")
    assert 'querySelectorAll(["pre"' not in js and "marginnote" not in js
    assert js.count('addEventListener("load", addCopyButton') == 1
    assert "Loaded(addCopyButton" not in js
    assert "pst-async-banner" not in js and "Documentation." not in js


def test_shown_reads_the_visible_half_of_a_formula_and_no_prose():
    formulas = render("x_1 > 2", False), render(r"\mathbb{E}\,\mathcal{N}y", True)
    page = "<p>Prose {} more {} prose</p>".format(*formulas)
    said = {font: letters - {"\u200b", "\xa0"} for font, letters in shown(page).items()}
    assert {font: letters for font, letters in said.items() if letters} == {
        "Main-Regular": set("1>2"),
        "Math-Italic": set("xy"),
        "AMS-Regular": {"E"},
        "Caligraphic-Regular": {"N"},
    }


def test_formulas_are_html_before_any_script_runs(built):
    assert '<span class="katex-html"' in page(built, "zh")
    assert "mathjax" not in page(built, "zh").lower().replace("mathjax_ignore", "")


def test_homework_markers_and_hidden_checks_stay_out_of_the_page(built):
    for lang in EDITIONS:
        assert "BEGIN SOLUTION" not in page(built, lang)
        article = page(built, lang).split("<article")[1].split("</article")[0]
        assert "answer = 42" in re.sub(r"<[^>]+>", "", article)
        assert "hidden = 7" not in re.sub(r"<[^>]+>", "", article)
    assert "参考答案" in page(built, "zh")
    assert "Solution" in page(built, "en")


def test_the_download_is_a_notebook_of_one_language(built):
    file = built / "en" / "_sources" / "chapters" / "05_a.ipynb"
    sources = [c["source"] for c in json.loads(file.read_text("utf-8"))["cells"]]
    assert EN in sources and ZH not in sources


def installed(**options) -> str:
    """What the first cell of a download installs."""
    settings = {"repository": "", "html_baseurl": "", "edition": "en", "made": "7.0 ·"}
    return install_cell(SimpleNamespace(**settings | options))["source"].split()[-2:]


def test_a_download_installs_the_package_that_lies_in_the_site(built):
    file = built / "en" / "_sources" / "chapters" / "05_a.ipynb"
    first = json.loads(file.read_text("utf-8"))["cells"][0]["source"]
    course, book = first.split()[-2:]
    assert (built / course).stat().st_size > 1e6 < (built / book).stat().st_size
    assert f'href="../../{course}"' in page(built, "en")


def test_a_download_installs_from_the_site_s_address_or_the_repository():
    wheels = [f"token{name}-7.0-py3-none-any.whl" for name in ("credit", "book")]
    us, base = "https://github.com/us/book", "https://book.example/en/"
    assert installed() == wheels
    assert installed(repository=us) == [f"git+{us}", f"git+{us}#subdirectory=src"]
    found = installed(repository=us, html_baseurl=base)
    assert found == [f"https://book.example/{wheel}" for wheel in wheels]


def test_no_page_says_where_to_run_it_without_a_repository(built):
    assert "run-elsewhere" not in page(built, "en")


def test_no_section_asks_for_errors_and_no_card_is_drawn_without_an_address(built):
    assert 'class="report"' not in page(built, "en")
    assert "og:image" not in page(built, "en")
    assert not (built / "en" / "_static" / "cards").exists()


def test_a_page_describes_itself(built):
    description = re.search(r'name="description" content="(.*?)"', page(built, "zh"))[1]
    assert description == "值多少？由 (5.1) 得 Aₜ，降低方差。见后文。"


@pytest.mark.parametrize(
    ("row", "says"),
    [("arrow: credits", "arrow is one of all, tokens"), ("needs: [9]", r"needs \[9\]")],
)
def test_a_plan_that_names_no_arrow_or_chapter_is_refused(tmp_path, row, says):
    (tmp_path / "book").mkdir()
    old = "arrow: credit" if "arrow" in row else "needs: [0]"
    text = COURSE.replace(old, row)
    (tmp_path / "book" / "course.yml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=says):
        plan(tmp_path)


def test_style_rules_for_names_that_no_page_uses_are_left_out(built):
    css = (built / "zh" / "_static" / "bundle.css").read_text(encoding="utf-8")
    assert ".predict-choice" in css and ".col-xxl-11" not in css
    assert "@media print" in css and "/*" not in css


def test_no_variable_comment_or_indentation_is_sent_that_nothing_asks_for(built):
    static = built / "zh" / "_static"
    css = (static / "bundle.css").read_text(encoding="utf-8")
    pages = [p.read_text("utf-8") for p in (built / "zh").rglob("*.html")]
    scripts = [p.read_text("utf-8") for p in static.rglob("*.js")]
    for name in re.findall(r"[{;](--[\w-]+):", css):
        places = "".join([css.replace(f"{name}:", ""), *pages, *scripts])
        assert re.search(rf"{name}(?![\w-])", places), name
    assert "--tc-ink:" in css and "var(--tc-ink)" in css
    js = (static / "bundle.js").read_text(encoding="utf-8")
    assert not re.search(r"^(?:\s|//)", js, re.M)


def test_the_search_index_holds_the_sentences_of_each_section(built):
    script = (built / "zh" / "search-index.js").read_text(encoding="utf-8")
    text = script.split(";\n")[0]  # the words of the script come after it
    index = dict(json.loads(text[text.index("[") : text.rindex("]") + 1]))
    first, second, *_ = index["chapters/05_a"]
    assert first[:4] == ["", 1, "5 优势", "由 (5.1) 得 Aₜ，降低方差。见后文。"]
    assert second[:3] == ["by-hand", 2, "手算"]
    assert second[3].splitlines()[0] == "一句话。又一句。"


def test_the_rows_of_a_table_are_searched_after_the_prose():
    cells = [nodes.entry("", nodes.paragraph(text=name)) for name in ("one", "1")]
    group = nodes.tgroup("", nodes.tbody("", nodes.row("", *cells)))
    table, prose = nodes.table("", group), nodes.paragraph(text="Then prose.")
    section = nodes.section("", table, nodes.container("", prose))
    assert blocks(section) == ["Then prose.", "\tone: 1"]


def test_a_break_of_a_line_parts_two_words():
    line = nodes.raw("", "<br>", format="html")
    prose = nodes.paragraph("", "", nodes.Text("alike"), line, nodes.Text("entropy"))
    assert blocks(nodes.section("", prose)) == ["alike entropy"]


def test_a_formula_in_the_title_of_a_fold_is_rendered(built):
    for lang in EDITIONS:
        summary = re.search("<summary>(.*?)</summary>", page(built, lang))[1]
        assert '<span class="katex-html"' in summary and "$" not in summary


def test_what_figures_are_drawn_from_is_not_served(built):
    static = built / "zh" / "_static"
    assert (static / "figures.css").exists()
    assert not [file.name for file in static.glob("*.json")]


def test_the_site_passes_its_own_checks(built):
    assert check_pages.problems(built, built.parents[1] / "chapters") == []


@pytest.mark.slow
def test_a_broken_formula_fails_and_says_where(tmp_path, capfd):
    root = make_book(tmp_path, formula=r"\frac{1}{")
    assert site.build(root, root / "_build" / "site") == 2
    said = capfd.readouterr().err
    assert "05_a.ipynb" in said and "formula: " in said and r"\frac{1}{" in said


@pytest.mark.slow
def test_a_heading_without_partner_fails_and_says_so(tmp_path, capfd):
    root = make_book(tmp_path, zh=ZH + "\n## 多余\n")
    assert site.build(root, root / "_build" / "site") == 1
    assert "give every heading a partner" in capfd.readouterr().err


def edited(built: Path, tmp_path: Path, old: str, new: str) -> list[str]:
    """Return what the page checks say after an edit of the English page."""
    folder = shutil.copytree(built, tmp_path / "site")
    file = folder / "en" / "chapters" / "05_a.html"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    return check_pages.problems(folder, built.parents[1] / "chapters")


EDITS = {
    "a dead link": ("</article>", '<a href="gone.html">x</a></article>', "dead link"),
    "a dead anchor": ("</article>", '<a href="#gone">x</a></article>', "dead anchor"),
    "another host": (
        "</article>",
        '<script src="https://cdn.example/x.js"></script></article>',
        "from another host",
    ),
    "another formula": ("A = G - V", "A = G + V", "in one edition only: write it in"),
    "another number": ('eqno">(5.1)', 'eqno">(5.2)', "equation numbers differ"),
    "another anchor": ('id="by-hand"', 'id="by-foot"', "anchor #by-foot"),
    "a line end": ("</article>", "<p>一句。\n又一句</p></article>", "shown as a space"),
    "a formula in a fold": (
        "</article>",
        r"<details><summary>Why $p\,q_{\mathrm{ref}}$?</summary></details></article>",
        "a formula is shown as it was typed",
    ),
    "both languages": (
        "</article>",
        "<p>键：| Keys: loss</p></article>",
        "both languages",
    ),
    "a picture more": ("</article>", '<img alt="x" src="x.png"></article>', "pictures"),
}


@pytest.mark.parametrize(("old", "new", "says"), EDITS.values(), ids=EDITS)
def test_a_fault_in_a_built_page_is_caught(built, tmp_path, old, new, says):
    found = edited(built, tmp_path, old, new)
    assert any(says in problem for problem in found), found


def test_a_chapter_that_is_not_in_the_toc_fails(built, tmp_path):
    (tmp_path / "99_new.ipynb").touch()
    found = check_pages.check_chapters(check_pages.Site(built), tmp_path)
    assert next(found).endswith("add '- file: chapters/99_new' to _toc.yml")


@pytest.mark.parametrize(
    ("typed", "wide"),
    [
        ("优势(advantage),见后文:", "优势（advantage），见后文："),
        ("取 $a$,$b$,即 `f(x, y)`?", "取 $a$，$b$，即 `f(x, y)`？"),
        ("见 Williams, 1992 的 TD(0)。", "见 Williams, 1992 的 TD(0)。"),
        ("共 1,024 个", "共 1,024 个"),
        (
            '<a data-set="lam=0,gamma=1">全信</a>,看图',
            '<a data-set="lam=0,gamma=1">全信</a>，看图',
        ),
        ("[后文](#by-hand),{eq}`eq-a`;", "[后文](#by-hand)，{eq}`eq-a`；"),
        ("an English line, as it is: yes?", "an English line, as it is: yes?"),
    ],
)
def test_punctuation_is_full_width_in_chinese_and_only_there(typed, wide):
    assert full_width(typed) == wide
    assert full_width(wide) == wide


def test_a_line_end_closes_beside_a_chinese_mark_and_between_characters():
    assert close_line_ends("一句\n又一句 GAE。\nA\n句") == "一句又一句 GAE。A\n句"


def test_no_space_is_shown_after_bold_that_ends_in_a_chinese_mark():
    bold = nodes.strong("", "", nodes.Text("先选，再算。"))
    plain = nodes.strong("", "", nodes.Text("GAE"))
    line = nodes.paragraph(
        "", "", bold, nodes.Text(" 存下"), plain, nodes.Text(" 之后")
    )
    document = new_document("")
    document += line
    CloseLineEnds(document).apply()
    assert line.astext() == "先选，再算。存下GAE 之后"


def test_a_mark_stays_with_the_formula_before_it(built):
    kept = page(built, "zh").split('<span class="kept">')
    assert len(kept) == 2 and re.search("</span>，</span>降低方差", kept[1])


def test_a_hit_at_the_top_of_a_chapter_is_named_by_its_question(built):
    script = (built / "zh" / "search-index.js").read_text(encoding="utf-8")
    assert '"asks":{"chapters/05_a":"值多少？"}' in script


def test_katex_numbers_nothing_itself():
    assert "(1)" not in render(r"\begin{align} a &= b \end{align}", True)
