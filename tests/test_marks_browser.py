"""What authors mark, in a real browser, on a book of one chapter: folded lines,
predictions, equations with a check, links into the playground; and what a site shows
once it has an address and a repository."""

import re
import struct
import time

import pytest
from test_site_build import code, load, make_book, markdown, set_option

measure, site = load("measure"), load("site")

pytestmark = pytest.mark.browser
CHAPTER = "chapters/05_a.html"


def said(text: str) -> list[dict]:
    """An output that prints `text`."""
    return [{"output_type": "stream", "name": "stdout", "text": text}]


def pair(zh: str, en: str, *tags: str, **meta) -> list[dict]:
    """A prose cell in both languages."""
    cells = markdown(zh, f"zh{len(zh)}", "lang-zh"), markdown(en, f"en{len(en)}")
    for cell, lang in zip(cells, ("zh", "en"), strict=True):
        cell["metadata"] = {"tags": [f"lang-{lang}", *tags], **meta}
    return list(cells)


CELLS = [
    code("import math\nmath.pi", "setup", tags=["setup"]),
    code("draw()", "picture", tags=["picture"]) | {"outputs": said("a picture")},
    *pair(
        "看 {play}`长度会涨 <length-from-nowhere>`，或 {play}`group-size`。",
        "See {play}`how length grows <length-from-nowhere>` or {play}`group-size`.",
    ),
    *pair(
        "$A$ 是几？\n\n- $0$\n- 一\n- 二",
        "What is $A$?\n\n- $0$\n- one\n- two",
        "predict",
        predict=1,
    ),
    code("def f():\n    return 1", "define"),
    code("f()\n" * 40, "answer-2") | {"outputs": said("A is one")},
    *pair("是一。\n\n- 不是二。", "It is one.\n\n- It is not two."),
    code("draw()", "tells", tags=["answers"]) | {"outputs": said("a telling picture")},
    code("h()", "other") | {"outputs": said("more")},
    *pair("现在说别的事。", "Now for something else."),
    *pair("再猜。\n\n- 是\n- 否", "And this?\n\n- yes\n- no", "predict", predict=0),
    code("g()", "answer-3") | {"outputs": said("yes")},
    code(
        "# 手算与库一致 | the hand and the package agree\nassert f() == 1",
        "check",
        tags=["checked"],
        holds=["eq-a"],
    ),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = make_book(tmp_path_factory.mktemp("marked"), more=CELLS)
    (root / "book" / "playground.md").write_text("# Playground\n", encoding="utf-8")
    set_option(root, "repository", "https://github.com/us/book")
    set_option(root, "html_baseurl", "https://book.example/zh")
    assert site.build(root, root / "_build" / "site") == 0
    return root / "_build" / "site"


def address(built, lang: str = "en") -> str:
    return (built / lang / CHAPTER).as_uri()


CLEAR = "rgba(0, 0, 0, 0)"
COVERED = """e => {
  const { color, display } = getComputedStyle(e);
  return e.inert && (color === "rgba(0, 0, 0, 0)" || display === "none");
}"""


ALL_COVERED = f"""() =>
  [...document.querySelectorAll(".cell.predicted .cell_output")].map({COVERED})"""


def covers(page, *wanted: bool) -> None:
    """Wait until these of the outputs are covered, and no others."""
    page.add_style_tag(content="* { transition: none !important }")
    until = time.monotonic() + measure.PATIENCE / 1000
    while (seen := page.evaluate(ALL_COVERED)) != list(wanted):
        assert time.monotonic() < until, (seen, page.evaluate("({...localStorage})"))
        page.wait_for_timeout(50)


@pytest.mark.parametrize(
    ("lang", "setup", "checked"),
    [
        ("zh", "准备：2 行", "✓ 手算与库一致"),
        ("en", "Setup: 2 lines", "✓ the hand and the package agree"),
    ],
)
def test_setup_and_checks_are_one_line_that_opens(built, page, lang, setup, checked):
    page.goto(address(built, lang))
    for tag, line in (("setup", setup), ("checked", checked)):
        cell = page.locator(f".cell.tag_{tag}")
        assert cell.locator("summary").inner_text().strip() == line
        assert not cell.locator("pre").is_visible()
        assert cell.bounding_box()["height"] < 50
        cell.locator("summary").click()
        assert cell.locator("pre").is_visible()


def test_a_cell_that_only_draws_shows_no_code_and_stands_before_the_setup(built, page):
    page.goto(address(built))
    cell, setup = page.locator(".cell.tag_picture"), page.locator(".cell.tag_setup")
    assert cell.locator(".cell_output").is_visible()
    assert cell.bounding_box()["y"] < setup.bounding_box()["y"]
    assert cell.locator(".cell_input").count() == 0


def test_an_output_is_covered_until_a_choice_is_made_and_the_choice_is_kept(
    built, page
):
    with measure.served(built) as root:
        page.goto(f"{root}en/{CHAPTER}")
        covers(page, True, True)
        page.click(".predict-choice >> text=two")
        covers(page, False, True)
        first = page.locator(".predict").first
        marks = first.locator(".predict-choice")
        assert [marks.nth(n).get_attribute("class") for n in range(3)] == [
            "predict-choice",
            "predict-choice right",
            "predict-choice other",
        ]
        assert "read on" in first.locator(".predict-says").inner_text()
        page.reload()
        covers(page, False, True)
        page.goto(f"{root}zh/{CHAPTER}")  # the same question in the other language
        covers(page, False, True)
        page.click("text=重猜一次")
        covers(page, True, True)
        page.reload()
        covers(page, True, True)


def test_an_answer_covers_its_output_and_the_paragraph_after_it_and_no_more(
    built, page
):
    page.goto(address(built))
    page.add_style_tag(content="* { transition: none !important }")
    said = page.locator("article p", has_text="It is one.").first
    assert said.evaluate(COVERED)
    for text in ("It is not two.", "something else"):
        later = page.locator("article :is(p, ul)", has_text=text).first
        assert not later.evaluate(COVERED), text
    assert not page.locator(".tag_checked[id^=holds]").evaluate(COVERED)
    telling, other = page.get_by_text("a telling picture"), page.get_by_text("more")
    assert telling.is_hidden() and other.first.is_visible()
    page.click(".predict-choice >> text=two")
    assert not said.evaluate(COVERED) and telling.is_visible()


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_who_chooses_sees_box_and_answer_together(built, page, width, height, motion):
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(reduced_motion=motion)
    page.goto(address(built))
    box, output = (
        page.locator(".predict").first,
        page.locator(".predicted > .cell_output"),
    )
    box.evaluate("e => e.scrollIntoView({ block: 'end' })")
    assert output.first.bounding_box()["y"] + 10 > height
    page.click(".predict-choice >> text=two")
    page.wait_for_function(
        "([box, output]) => box.getBoundingClientRect().top > 52"
        " && output.getBoundingClientRect().bottom < innerHeight",
        arg=[box.element_handle(), output.first.element_handle()],
    )


def test_a_click_on_what_is_covered_leads_to_its_question(built, page):
    page.goto(address(built))
    words = page.locator("article p", has_text="something else").first
    output = page.locator(".cell.predicted .cell_output").first
    for part, leads in ((words, False), (output, True)):
        part.evaluate("e => e.scrollIntoView({ block: 'end' })")
        box = part.bounding_box()
        page.mouse.click(box["x"] + 20, box["y"] + 10)
        asked = page.evaluate("document.activeElement.className")
        assert (asked == "predict-choice") == leads


def test_a_reader_may_look_without_a_choice(built, page):
    page.goto(address(built))
    page.locator(".predict-more").first.click()
    covers(page, False, True)
    assert page.locator(".predict-choice.other").count() == 0


def test_the_keyboard_chooses(built, page):
    page.goto(address(built))
    page.locator(".predict-choice").nth(1).focus()
    page.keyboard.press("Enter")
    covers(page, False, True)
    assert page.locator(".predict-choice").nth(1).get_attribute("aria-pressed") == (
        "true"
    )
    assert page.locator(".predict-says").first.inner_text().startswith("As you")


def test_print_covers_nothing(built, page):
    page.goto(address(built))
    page.emulate_media(media="print")
    color = "e => getComputedStyle(e).color"
    assert page.locator(".predicted .cell_output").first.evaluate(color) != CLEAR


def test_without_a_script_everything_is_to_be_seen(built, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address(built))
    color = "e => getComputedStyle(e).color"
    assert page.locator(".predicted .cell_output").first.evaluate(color) != CLEAR
    assert page.locator(".predict-choice").first.is_disabled()
    context.close()


def test_a_held_equation_leads_to_its_open_check(built, page):
    page.goto(address(built))
    page.click("#equation-eq-a a.held")
    page.wait_for_function("document.querySelector('.tag_checked details').open")
    page.wait_for_url(lambda url: url.endswith("#holds-eq-a"))
    assert "assert f() == 1" in page.locator("#holds-eq-a").inner_text()


def test_a_link_into_the_playground_names_the_story(built, page):
    page.goto(address(built))
    links = page.locator("a.play")
    assert links.nth(0).inner_text() == "how length grows"
    assert links.nth(0).get_attribute("href") == (
        "../book/playground.html#length-from-nowhere"
    )
    page.goto(address(built, "zh"))
    assert "一组" in page.locator("a.play").nth(1).inner_text()


@pytest.mark.slow
def test_an_unknown_story_and_a_prediction_without_an_answer_fail_the_build(
    tmp_path, capfd
):
    cells = pair("看 {play}`组 <group-sise>`。", "See {play}`it <group-sise>`.")
    cells += pair("吗？\n\n- 是\n- 否", "Is it?\n\n- yes\n- no", "predict", predict=0)
    root = make_book(tmp_path, more=cells)
    assert site.build(root, root / "_build" / "site") > 0
    said = capfd.readouterr().err
    assert "no story 'group-sise'" in said and "near: group-size" in said
    assert "no output of a cell answers this prediction" in said


def test_the_head_of_a_chapter_says_what_it_asks_takes_and_needs(built, page):
    page.goto(address(built))
    head = page.locator(".chapter-head")
    assert head.locator(".chapter-asks").inner_text() == "What is it worth?"
    facts = head.locator(".chapter-facts > li").all_inner_texts()
    facts = [re.sub(r"\s+", " ", fact) for fact in facts]
    assert "Main road 5 min Everything 5 min" in facts[0]
    assert facts[-1] == "needs: 0 Before"
    stages = head.locator(".chapter-thread li")
    lit = [stages.nth(n).get_attribute("class") for n in range(stages.count())]
    assert lit == [None, None, None, "lit", None, None]
    colour = "e => getComputedStyle(e, '::before').backgroundColor"
    assert stages.nth(3).evaluate(colour) != stages.nth(2).evaluate(colour)
    assert head.bounding_box()["y"] + head.bounding_box()["height"] < 300


def test_each_section_asks_for_errors_once_the_book_has_a_repository(built, page):
    page.goto(address(built, "zh"))
    links = page.locator("p.report a")
    assert links.count() == page.locator("article > section > section").count() > 0
    assert links.first.get_attribute("href") == (
        "https://github.com/us/book/issues/new"
        "?title=zh%2Fchapters%2F05_a.html%23by-hand"
    )


def test_a_chapter_can_be_run_and_edited_once_the_book_has_a_repository(built, page):
    page.goto(address(built, "zh"))
    buttons = page.locator("a.run-elsewhere")
    assert buttons.all_inner_texts() == ["ModelScope", "Binder", "编辑"]
    notebooks = "github/us/book/blob/notebooks/zh/chapters/05_a.ipynb"
    assert notebooks in buttons.first.get_attribute("href")
    page.goto(address(built, "en"))
    assert page.locator("a.run-elsewhere").first.inner_text() == "Colab"


def test_a_chapter_has_a_social_card_once_the_site_has_an_address(built, page):
    page.goto(address(built))
    card = page.locator('meta[property="og:image"]').get_attribute("content")
    assert card == "https://book.example/zh/_static/cards/05_a.png"
    png = (built / "en" / "_static" / "cards" / "05_a.png").read_bytes()
    assert struct.unpack(">II", png[16:24]) == (1200, 630)


@pytest.mark.parametrize("look", measure.LOOKS)
def test_marks_have_no_axe_violation(built, browser, look):
    with measure.served(built) as root:
        seen = measure.visit(
            browser, f"{root}en/{CHAPTER}", look, check=measure.RULES[look]
        )
    assert (seen.axe, seen.errors, seen.overflow) == ([], [], 0)
