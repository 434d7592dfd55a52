"""The main road and its side roads in a real browser, on a book of one chapter."""

import json
import re

import pytest
from test_marks_browser import COVERED, said
from test_site_build import code, load, make_book, markdown

measure, site = load("measure"), load("site")

pytestmark = pytest.mark.browser
CHAPTER = "chapters/05_a.html"
LONG = {
    "zh": "这句话在必读里，说了一点小事。" * 40,
    "en": "This is a sentence of the road. " * 60,
}


def both(name: str, zh: str, en: str, *tags: str, **meta) -> list[dict]:
    """A prose cell in both languages."""
    cells = [markdown(zh, f"{name}-zh"), markdown(en, f"{name}-en")]
    for cell, lang in zip(cells, ("zh", "en"), strict=True):
        cell["metadata"] = {"tags": [f"lang-{lang}", *tags], **meta}
    return cells


def equation(label: str) -> dict:
    return markdown(f"$$\nx = 1\n$$ ({label})", label)


CELLS = [
    *both("road", f"## 路\n\n{LONG['zh']}", f"## Road\n\n{LONG['en']}"),
    *both("detail", "### 细节\n\n小处也一样。", "### A detail\n\nSmall, too.", "side"),
    *both("inside", f"斑马。\n\n{LONG['zh']}", f"A zebra.\n\n{LONG['en']}"),
    equation("eq-inside"),
    *both("finer", "#### 更细\n\n小字。", "#### Finer\n\nSmall print."),
    *both(
        "on",
        f"## 往前\n\n由 {{eq}}`eq-inside` 得。\n\n{LONG['zh']}",
        f"## Onwards\n\nBy {{eq}}`eq-inside`.\n\n{LONG['en']}",
    ),
    equation("eq-on"),
    *both("ask", "是几？\n\n- 一\n- 二", "What?\n\n- one\n- two", "predict", predict=0),
    code("f()", "answer-7") | {"outputs": said("one")},
    *both("says", "是一。\n\n后话。", "It is one.\n\nAnd more."),
    *both("whole", "## 整节\n\n一句话的结论。", "## Whole\n\nIn one line.", "side"),
    *both("part", f"### 一部分\n\n{LONG['zh']}", f"### One part\n\n{LONG['en']}"),
    *both("end", f"## 结尾\n\n{LONG['zh']}", f"## The end\n\n{LONG['en']}"),
]
OPEN = "() => [...document.querySelectorAll('.side-fold')].map((fold) => fold.open)"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = make_book(tmp_path_factory.mktemp("road"), more=CELLS)
    assert site.build(root, root / "_build" / "site") == 0
    return root / "_build" / "site"


@pytest.fixture(scope="module")
def served(built):
    with measure.served(built) as root:
        yield root


def go(page, served, lang: str = "en", place: str = "") -> None:
    page.goto(f"{served}{lang}/{CHAPTER}{place}")
    page.wait_for_function("document.querySelector('.depth')?.disabled === false")


def top(page, what: str) -> float:
    return page.locator(what).evaluate("(e) => e.getBoundingClientRect().top")


def test_a_side_shows_its_heading_and_line_and_all_of_it_opens(served, page):
    go(page, served)
    side = page.locator("#a-detail")
    word = side.locator("> details > summary > .side-word")
    assert re.fullmatch(r"side road · \d min · \(5\.2\)", word.inner_text())
    assert (
        side.locator("> h3").is_visible()
        and side.get_by_text("Small, too").is_visible()
    )
    inside = side.get_by_text("A zebra")
    for part, shown in (("> h3", True), (".side-word", False), ("summary p", True)):
        side.locator(part).first.click()
        assert inside.is_visible() == shown, part
    page.reload()
    assert page.evaluate(OPEN) == [True, False], "what was opened by hand stays"


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize(
    "place", ["equation-eq-inside", "finer", "one-part", "a-detail"]
)
def test_a_link_opens_what_it_leads_into(browser, served, script, place):
    context = browser.new_context(java_script_enabled=script)
    page = context.new_page()
    page.goto(f"{served}en/{CHAPTER}#{place}")
    target = page.locator(f"#{place}")
    target.wait_for()
    if script or place != "a-detail":
        held = (
            page.locator("details.side-fold")
            .filter(has=target)
            .or_(target.locator("> details.side-fold"))
        )
        assert held.first.get_attribute("open") is not None
        assert target.is_visible()
    if script:
        page.wait_for_function(
            "(e) => Math.abs(e.getBoundingClientRect().top - 64) < 40",
            arg=target.element_handle(),
        )
    context.close()


def test_the_switch_opens_everything_on_every_page_and_keeps_the_place(served, page):
    go(page, served, place="#onwards")
    page.wait_for_timeout(500)
    before = top(page, "#onwards")
    page.evaluate("document.querySelector('.depth [value=all]').click()")
    page.wait_for_timeout(800)
    assert page.evaluate(OPEN) == [True, True]
    assert top(page, "#onwards") == pytest.approx(before, abs=2)
    go(page, served, "zh")
    assert page.evaluate(OPEN) == [True, True], "it holds for the other edition"
    assert page.locator(".depth [value=all]").is_checked()
    page.evaluate("document.querySelector('.depth [value=road]').click()")
    assert page.evaluate(OPEN) == [False, False]


def test_everything_shows_what_predictions_withhold(served, page):
    go(page, served)
    answers = [page.locator(".predicted .cell_output"), page.get_by_text("It is one.")]
    assert all(answer.evaluate(COVERED) for answer in answers)
    assert not page.get_by_text("And more.").evaluate(COVERED)
    page.evaluate("document.querySelector('.depth [value=all]').click()")
    page.wait_for_timeout(300)
    assert not any(answer.evaluate(COVERED) for answer in answers)


def test_the_language_switch_keeps_the_place_inside_a_side(served, page):
    go(page, served, place="#finer")
    page.wait_for_timeout(500)
    before = top(page, "#finer")
    page.locator("a.language-switch").first.click()
    page.wait_for_url("**/zh/**")
    page.wait_for_function(
        "(y) => Math.abs(document.getElementById('finer').getBoundingClientRect().top"
        " - y) < 3",
        arg=before,
    )
    assert page.locator("#finer").is_visible()


def test_print_shows_what_is_folded(served, page):
    go(page, served)
    page.emulate_media(media="print")
    assert page.get_by_text("A zebra").is_visible()
    assert page.locator("#one-part").is_visible()
    assert page.locator(".depth").is_visible(), "it says how long both take"
    page.emulate_media(media="screen")
    page.wait_for_function("!document.querySelector('.side-fold').open")


def test_numbers_do_not_move(served, page):
    go(page, served)
    numbers = page.locator("article .eqno").all_text_contents()
    assert [number[:5] for number in numbers] == ["(5.1)", "(5.2)", "(5.3)"]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_contents_set_sides_in_with_their_minutes(served, page, lang):
    go(page, served, lang)
    assert page.locator('.book-nav a[href="#a-detail"]').count() == 0, "one level"
    for anchor, side in (("road", False), ("whole", True)):
        link = page.locator(f'.book-nav .section-nav a[href="#{anchor}"]').first
        assert ("side" in link.evaluate("(e) => e.parentElement.className")) == side
        minutes = link.get_attribute("data-min") or ""
        assert bool(re.fullmatch(r"\d+ (分钟|min)", minutes)) == side
        assert bool(link.get_attribute("data-road")) == (not side)


def test_what_is_left_counts_the_road_and_a_walked_road_is_ticked(served, page):
    go(page, served)
    left = page.locator(".header-place small")
    begins = int(re.search(r"\d+", left.text_content())[0])
    said = page.locator('.depth [value="road"] + span').text_content()
    assert begins <= int(re.search(r"\d+", said)[0])
    for section in ("by-hand", "road", "onwards", "the-end"):
        page.locator(f"#{section}").evaluate(
            "(e) => scrollTo({ top: e.getBoundingClientRect().top + scrollY, "
            "behavior: 'instant' })"
        )
        page.wait_for_timeout(150)
    assert int(re.search(r"\d+", left.text_content())[0]) < begins
    page.wait_for_function("localStorage.getItem('read chapters/05_a') === '1'")


def test_the_index_of_the_search_marks_what_is_on_a_side(built):
    text = (built / "en" / "search-index.js").read_text("utf-8")
    index = json.loads(re.search(r"BOOK_INDEX = (.*);\n", text)[1])
    (found,) = (sections for page, sections in index if page == "chapters/05_a")
    sides = [section[0] for section in found if section[5:] == [1]]
    assert sides == ["a-detail", "finer", "whole", "one-part"]


def test_a_hit_on_a_side_says_so(served, page):
    page.goto(f"{served}en/search.html?q=zebra")
    hit = page.locator("#search-results li").first
    assert "side road" in hit.inner_text() and "A detail" in hit.inner_text()


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_download_is_folded_where_its_viewers_fold(built, lang):
    source = built / lang / "_sources" / "chapters" / "05_a.ipynb"
    notebook = json.loads(source.read_text("utf-8"))
    folded = [
        cell["id"]
        for cell in notebook["cells"]
        if cell["metadata"].get("jp-MarkdownHeadingCollapsed")
    ]
    assert folded == [f"detail-{lang}", f"whole-{lang}"]
    assert notebook["metadata"]["colab"]["collapsed_sections"] == folded


def test_a_side_that_is_none_fails_the_build_and_is_named(tmp_path, capfd):
    cells = [
        *both("bare", "## 甲", "## A", "side"),
        *both("late", "话。\n\n## 乙\n\n行。", "Text.\n\n## B\n\nLine.", "side"),
    ]
    root = make_book(tmp_path, more=cells)
    assert site.build(root, root / "_build" / "site") > 0
    told = capfd.readouterr().err
    assert "05_a" in told and "(bare-en) is tagged side and has no line" in told
    assert "(late-zh) is tagged side and does not begin with its heading" in told
