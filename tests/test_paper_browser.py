"""`make pdf` and `make epub`, on a book of two pages: what they make reads well.

The oracle of the EPUB are the rules of EPUB 3.3 for a container and its links; the
whole book was also put through epubcheck.
"""

import re
import sys
import zipfile
from io import BytesIO
from itertools import cycle
from pathlib import Path
from xml.etree import ElementTree

import pikepdf
import pytest
from PIL import Image
from test_site_build import ROOT, code, load, make_book, markdown, site

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAMES = ["book/index", "chapters/05_a"]
CHAPTER = "chapters-05_a.xhtml"
XHTML = "{http://www.w3.org/1999/xhtml}"
MATH = "{http://www.w3.org/1998/Math/MathML}"
QUESTION = "猜一猜？\n\n- 左边\n- 右边\n"
GUESS = "Guess.\n\n- the left\n- the right\n"
FIGURE = "```{explorer} tokenbook.figures.dead_groups\n```"
FOLDED = ":::{admonition} title\n:class: hint dropdown\nthe answer is 42\n:::"
LETTERS = r"$\mathbb{E}[\mathbf{1}] \in \mathbb{R}$"
LONGEST = r"$L_{\max}$"


@pytest.fixture(scope="module")
def scripts():
    """The two scripts, which find each other as they do when they are run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "book")
        for name in ("pdf", "measure"):
            patch.delitem(sys.modules, name, raising=False)
        yield load("pdf"), load("epub")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A site of two pages: a figure, a prediction, a folded answer, a formula."""
    asked = [
        markdown(QUESTION, "zh-02", "lang-zh", "predict"),
        markdown(GUESS, "en-02", "lang-en", "predict"),
    ]
    for cell in asked:
        cell["metadata"]["predict"] = 0
    shared = enumerate([FIGURE, FOLDED, LETTERS, LONGEST], 2)
    said = {"output_type": "stream", "name": "stdout", "text": "left"}
    asked.append(code("print(side)", "told") | {"outputs": [said]})
    more = asked + [markdown(text, f"shared-0{n}") for n, text in shared]
    root = make_book(tmp_path_factory.mktemp("book"), more=more)
    assert site.build(root, root / "_build" / "site") == 0
    return root / "_build" / "site"


@pytest.fixture(scope="module")
def epubs(small, scripts):
    """The files of each edition, by their names, in the order of the container."""
    books = {}
    for lang in ("zh", "en"):
        with zipfile.ZipFile(scripts[1].write(small, lang, NAMES)) as file:
            books[lang] = {info: file.read(info) for info in file.infolist()}
    return books


def named(book: dict) -> dict[str, bytes]:
    return {info.filename: data for info, data in book.items()}


def words(element) -> str:
    return " ".join("".join(element.itertext()).split())


def test_an_epub_says_first_and_unpacked_what_it_is(epubs):
    for book in epubs.values():
        first = next(iter(book))
        assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
        assert book[first] == b"application/epub+zip"
        container = ElementTree.fromstring(named(book)["META-INF/container.xml"])
        (root,) = container.findall(".//{*}rootfile")
        package = ElementTree.fromstring(named(book)[root.get("full-path")])
        listed = {item.get("id"): item for item in package.findall(".//{*}item")}
        spine = [listed[ref.get("idref")] for ref in package.findall(".//{*}itemref")]
        assert [item.get("href") for item in spine] == [
            "title.xhtml", "nav.xhtml", "book-index.xhtml", CHAPTER
        ]  # fmt: skip
        assert spine[1].get("properties") == "nav"
        assert spine[3].get("properties") == "mathml"


def test_an_epub_has_one_language_and_no_font(epubs):
    for lang, own, other in (
        ("zh", "一句话。", "One sentence"),
        ("en", "One sentence", "一句"),
    ):
        files = named(epubs[lang])
        page = files[CHAPTER].decode()
        assert own in page and other not in page
        assert ElementTree.fromstring(page).get("lang")[:2] == lang
        assert not [name for name in files if "font" in name or ".woff" in name]
        assert (
            b"@font-face" not in files["book.css"] and b"url(" not in files["book.css"]
        )


def test_answers_are_unfolded_and_choices_can_be_read(epubs):
    tree = ElementTree.fromstring(named(epubs["en"])[CHAPTER])
    assert not list(tree.iter(f"{XHTML}details"))
    assert "the answer is 42" in words(tree) and "the left the right" in words(tree)


def test_a_formula_is_mathml_whose_letters_need_no_old_attribute(epubs):
    tree = ElementTree.fromstring(named(epubs["en"])[CHAPTER])
    formulas = {m.get("alttext"): words(m) for m in tree.iter(f"{MATH}math")}
    assert formulas["A = G - V"] == "A=G−V"
    assert formulas[LETTERS[1:-1]] == "𝔼[𝟏]∈ℝ"
    assert all(len(below) == 2 for below in tree.iter(f"{MATH}msub"))
    assert not list(tree.iter(f"{MATH}annotation")) and "katex" not in str(tree)


def test_a_live_figure_is_a_picture_with_a_name(epubs):
    files = named(epubs["en"])
    tree = ElementTree.fromstring(files[CHAPTER])
    (figure,) = [
        i for i in tree.iter(f"{XHTML}img") if "dead-groups" in i.get("id", "")
    ]
    picture = Image.open(BytesIO(files[figure.get("src")]))
    assert picture.width == 2 * int(figure.get("width")) and picture.height > 400
    assert len(picture.getcolors(64)) > 8, "an empty picture"
    assert figure.get("alt") and "katex" not in figure.get("alt")


def test_the_outline_names_pages_and_their_sections(epubs):
    nav = ElementTree.fromstring(named(epubs["zh"])["nav.xhtml"])
    linked = {words(a): a.get("href") for a in nav.iter(f"{XHTML}a")}
    assert linked["手算"] == f"{CHAPTER}#chapters-05_a--by-hand"
    assert words(nav.find(".//{*}h1")) == "目录"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("--by-hand", "--by-head", "leads to"),
        ('src="pictures', 'src="https://example.org', "which is not in the book"),
        ("<p>", "<script/><p>", "has a script"),
        ('id="chapters-05_a--by-hand"', 'id="chapters-05_a"', "two places of one name"),
    ],
)
def test_a_fault_in_a_page_stops_the_epub(epubs, scripts, old, new, said):
    files = named(epubs["en"])
    for outside in ("mimetype", "META-INF/container.xml"):
        del files[outside]
    assert scripts[1].faults(files) == []
    text = files[CHAPTER].decode()
    assert old in text
    (first, *_) = scripts[1].faults(files | {CHAPTER: text.replace(old, new).encode()})
    assert said in first
    (missing,) = scripts[1].faults(files | {"more.txt": b""})
    assert missing == "the manifest is not the files: ['book.opf', 'more.txt']"


@pytest.fixture(scope="module")
def printed(small, scripts):
    return pikepdf.open(scripts[0].write(small, "en", NAMES))


def test_a_pdf_has_an_outline_and_is_packed(printed):
    with printed.open_outline() as outline:
        titles = [part.title for part in outline.root]
    assert len(titles) == 2 and titles[1].endswith("Advantage")
    assert Path(printed.filename).read_bytes().count(b" obj") < len(printed.objects) / 4


def test_no_ground_is_printed_as_a_picture(printed):
    """A pattern of dots or a blurred shadow weighs more than the words on it."""
    streams = [o for o in printed.objects if isinstance(o, pikepdf.Stream)]
    pictures = [o for o in streams if o.get("/Subtype") == "/Image"]
    assert sum(len(p.read_raw_bytes()) for p in pictures) < 20_000


def test_choices_are_printed_and_dials_are_not(small, scripts):
    page = scripts[0].whole((small / "en").resolve(), NAMES)
    assert [b.get_text() for b in page.select(".predict-choice")] == [
        "the left",
        "the right",
    ]
    assert not page.select(".ex-dials, .ex-presets, script")
    group = page.select_one(".ex-dots")
    right, size = map(int, re.findall(r"\d+", group["style"]))
    assert (len(group.select(".right")), len(group.select("i"))) == (right, size)


def test_every_page_links_to_the_file(small, scripts):
    scripts[0].link(small, "en", "book-en.epub", "EPUB")
    scripts[0].link(small, "en", "book-en.epub", "EPUB")
    for name, up in (("chapters/05_a", "../../"), ("book/index", "../../")):
        text = (small / "en" / f"{name}.html").read_text(encoding="utf-8")
        assert text.count(f'<a href="{up}book-en.epub">EPUB</a>') == 1


def test_every_page_of_the_book_can_be_bound(folder, scripts):
    """What a page must not have in an EPUB is cut out of it, or becomes a picture."""
    pdf, epub = scripts
    names = pdf.pages(ROOT)
    for name, lang in zip(names, cycle(("zh", "en")), strict=False):
        part = pdf.article(folder / lang, name, {*names})
        for drawn in part.select(f"{epub.DRAWN}, .katex"):
            drawn.decompose()
        left = part.select("script, iframe, object, svg, input, style")
        assert left == [], f"{lang}, {name}: {str(left[0])[:200]}"
