"""The ways through the book in a browser: chosen, followed, kept, made and left."""

import re
from itertools import groupby
from pathlib import Path

import pytest
from test_site_build import load

pytestmark = pytest.mark.browser
measure = load("measure")


def start(page, folder, lang: str, query: str = "") -> None:
    page.goto((folder / lang / "book/index.html").as_uri() + query)


def follow(page, name: str) -> None:
    page.locator(f"#path-{name} > summary").click()
    with page.expect_navigation():
        page.locator(f"#path-{name} button").click()
    page.locator(".path-here").wait_for()


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_a_path_opens_to_a_list_and_leads_to_its_first_step(
    folder, browser, lang, look
):
    page = browser.new_context(**measure.LOOKS[look]).new_page()
    start(page, folder, lang)
    width = page.viewport_size["width"]
    assert page.locator(".paths-row > details:visible").count() == 5
    page.locator("#path-evening > summary").click()
    listed = page.locator("#path-evening li:not(.day)")
    assert listed.count() > 5
    assert all(re.search(r"\d+ (min|分钟)$", line) for line in listed.all_inner_texts())
    page.evaluate("scrollTo(0, 0)")  # its bar stands over no link
    assert measure.axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    with page.expect_navigation():
        page.locator("#path-evening button").click()
    page.wait_for_url(lambda url: "chapters/00_" in url)
    page.context.close()


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_path_lights_the_contents_dims_the_rest_and_leads_on(folder, page, lang):
    page.set_viewport_size({"width": 1440, "height": 900})
    start(page, folder, lang)
    follow(page, "weekend")
    lit = page.locator(".book-nav a[data-page].lit")
    assert lit.count() == 11
    colours = page.locator(".book-nav a[data-page]").evaluate_all(
        "all => all.map((a) => [a.matches('.lit'), getComputedStyle(a).color])"
    )
    assert {c for on, c in colours if on}.isdisjoint(c for on, c in colours if not on)
    assert measure.axe(page) == []
    link = page.locator(".path-next a").first
    page.locator(".path-next").first.scroll_into_view_if_needed()
    assert "exercise-1" in link.get_attribute("href")
    link.click()
    page.wait_for_url(lambda url: "#exercise-1" in url)
    end = page.locator(".path-next").last
    assert "01_" in end.locator("a").get_attribute("href")
    foot = page.locator(".prev-next-area a.right-next")
    assert foot.get_attribute("href") == end.locator("a").get_attribute("href")
    with page.expect_navigation():
        page.locator("a.language-switch").first.click()
    page.locator(".path-here").wait_for()  # in the other language, too


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_step_of_a_path_stands_above_the_contents_and_in_a_phones_bar(
    folder, page, lang
):
    page.set_viewport_size({"width": 1440, "height": 900})
    start(page, folder, lang)
    follow(page, "weekend")
    page.evaluate("scrollTo(0, 4000)")
    page.wait_for_timeout(300)
    card = page.locator(".path-here")
    for part in card.locator("> *").all():
        middle = part.evaluate(
            """e => { const { x, y, height } = e.getBoundingClientRect();
              return e.contains(document.elementFromPoint(x + 5, y + height / 2)); }"""
        )
        assert middle
    step = page.locator(".path-step")
    assert not step.is_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert re.fullmatch(r"1/\d+", step.inner_text())


@pytest.mark.parametrize(("width", "card"), [(1440, ".path-here"), (390, ".path-step")])
def test_where_a_section_of_a_path_ends_a_line_leads_on_and_the_step_counts(
    folder, page, width, card
):
    page.set_viewport_size({"width": width, "height": 900})
    start(page, folder, "en", "?follow=weekend")
    page.goto((folder / "en/chapters/05_critics_gae.html").as_uri())
    page.locator(".path-step").wait_for(state="attached")
    said = page.locator(card).inner_text
    first = int(re.search(r"\d+", said())[0])
    sections = page.evaluate(
        """pathData.paths.weekend.steps.filter(([page]) => /05_/.test(page))
        .map(([, anchor]) => anchor)"""
    )
    assert len(sections) == page.locator(".path-next").count() > 3
    for n, anchor in enumerate(sections[1:3], 1):
        line = page.locator(f"#{sections[n - 1]} > .path-next")
        assert line.bounding_box()["height"] < 60
        line.locator("a").click()
        page.wait_for_url(lambda url, anchor=anchor: url.endswith(f"#{anchor}"))
        page.wait_for_function(
            "([css, n]) => document.querySelector(css).innerText.includes(n)",
            arg=[card, f"{first + n}"],
        )
        assert not re.search(rf"\b{first}\b", said())
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function(
        "([css, n]) => document.querySelector(css).innerText.includes(n)",
        arg=[card, f"{first}"],
    )


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_cards_of_the_paths_stand_still_while_one_opens_under_them(
    folder, page, lang
):
    page.set_viewport_size({"width": 1440, "height": 900})
    start(page, folder, lang)
    page.locator(".path-own > summary").wait_for()
    cards = page.locator(".paths-row > details > summary")

    def boxes() -> list[list[float]]:
        return [
            [box["x"], box["width"]] for box in (c.bounding_box() for c in cards.all())
        ]

    before = boxes()
    page.locator("#path-weekend > summary").click()
    assert boxes() == before
    lowest = max(
        c.bounding_box()["y"] + c.bounding_box()["height"] for c in cards.all()
    )
    assert page.locator("#path-weekend ol").bounding_box()["y"] > lowest


def test_the_foot_of_a_page_leads_along_the_path_that_may_come_back_to_it(folder, page):
    start(page, folder, "en")
    follow(page, "evening")
    steps = "Object.values(pathData.paths.evening.steps).map((step) => step[0])"
    page.wait_for_function("window.pathData")
    places = [place for place, _ in groupby(page.evaluate(steps))]
    assert len(set(places)) < len(places)
    for place in places[1:]:
        page.locator(".path-here").wait_for(state="attached")
        page.locator(".prev-next-area a.right-next").click()
        page.wait_for_url(lambda url, place=place: f"{place}.html" in url)
    page.locator(".path-here").wait_for(state="attached")
    back = page.locator(".prev-next-area a.left-prev").get_attribute("href")
    assert Path(places[-2]).name in back


def test_a_page_off_the_path_leads_back_and_the_path_can_be_left(folder, page):
    start(page, folder, "en")
    follow(page, "weekend")
    page.goto((folder / "en/chapters/12_stale_data.html").as_uri())
    box = page.locator(".path-here")
    box.wait_for(state="attached")
    assert "00_grpo" in box.locator("a").get_attribute("href")
    assert page.locator(".path-next").count() == 0
    page.set_viewport_size({"width": 1440, "height": 900})
    with page.expect_navigation():
        box.locator("button").click()
    page.wait_for_timeout(300)
    assert page.locator(".path-here, .book-nav.on-path").count() == 0


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_path_of_ones_own_is_a_link_and_is_followed(folder, page, lang):
    page.set_viewport_size({"width": 1440, "height": 900})
    start(page, folder, lang)
    page.locator(".path-own > summary").click()
    chapter = page.locator(".path-chapter").nth(2)
    page.locator(".path-chapter").first.locator("input").first.check()
    chapter.locator("summary").click()
    chapter.locator("details input").nth(1).check()
    assert measure.axe(page) == []
    address = page.locator(".path-own a").get_attribute("href")
    assert re.fullmatch(r"\?path=0\.2-[0-9a-z]{3}#path-own", address)
    start(page, folder, {"zh": "en", "en": "zh"}[lang], address.split("#")[0])
    page.locator(".path-chapter").first.wait_for()
    ticked = page.locator(".path-own input:checked")
    assert ticked.count() == 2
    with page.expect_navigation():
        page.locator(".path-own > button").click()
    page.locator(".path-here").wait_for()
    assert page.locator(".book-nav a[data-page].lit").count() == 2


def test_without_a_script_the_paths_are_lists(folder, browser):
    page = browser.new_context(java_script_enabled=False).new_page()
    start(page, folder, "en")
    assert page.locator(".paths-row > details:visible").count() == 4
    assert page.locator(".paths button:visible").count() == 0
    page.locator("#path-road > summary").click()
    assert page.locator("#path-road a:visible").count() == 17
    page.context.close()


@pytest.mark.parametrize(("lang", "words"), [("zh", "优势"), ("en", "advantage")])
def test_words_filter_the_glossary_and_stand_in_the_address(folder, page, lang, words):
    page.goto((folder / lang / "book/glossary.html").as_uri())
    rows = page.locator("article tbody tr:visible")
    everything = rows.count()
    page.fill(".glossary-filter input", words)
    few = rows.count()
    assert 0 < few < everything / 3
    assert all(words in text.lower() for text in rows.all_text_contents())
    page.reload()
    assert rows.count() == few
    page.evaluate("location.hash = '#term-kl'")
    page.fill(".glossary-filter input", "no such word")
    assert rows.count() == 0 and page.locator(".glossary-filter p").inner_text()


def test_the_bank_can_leave_out_what_needs_a_side_road(folder, page):
    page.goto((folder / "en/book/interview.html").as_uri())
    everything = page.locator("details.qa:visible").count()
    sides = page.locator("details.qa[data-side]").count()
    page.check("#bank-road")
    assert page.locator("details.qa:visible").count() == everything - sides
    assert (
        page.locator("article section section")
        .first.locator("details.qa:visible")
        .count()
        == 10
    )
