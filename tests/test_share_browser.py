"""Share it yourself in a browser: by hand, by keys, by link, in every look."""

import re

import pytest
from test_site_build import load

from tokenbook.explorer.embed import STATIC
from tokenbook.languages import LANGUAGES
from tokenbook.site.share import page as share

pytestmark = pytest.mark.browser
measure = load("measure")
PAGE = """<!doctype html><html lang="{lang}" data-content_root="./"
data-theme="{theme}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>share</title><style>{colors}
body {{ margin: 0; padding: 0 .8rem; font: 17px sans-serif;
background: var(--tc-paper); color: var(--tc-ink) }}</style>
<main><article class="bd-article"><h1>share</h1>{html}</article></main></html>"""
PICTURE = """() => navigator.clipboard.read()
  .then((all) => all.some((x) => x.types.includes("image/png")))"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A page for each language and theme, with nothing else on it."""
    root = tmp_path_factory.mktemp("share")
    (root / "_static").mkdir()
    share.serve(root / "_static")
    colors = (STATIC / "colors.css").read_text("utf-8")
    for lang in LANGUAGES:
        for theme in ("light", "dark"):
            html = share.share_html(lang)
            text = PAGE.format(lang=lang, theme=theme, colors=colors, html=html)
            (root / f"{lang}-{theme}.html").write_text(text, "utf-8")
    return root


def opened(page, site, name="en-light", hash=""):
    page.goto((site / f"{name}.html").as_uri() + hash)
    page.locator(".share-own [role=slider]").first.wait_for()
    return page


def given(page) -> list[float]:
    tokens = page.locator(".share-own [role=slider]").all()
    return [float(token.get_attribute("aria-valuenow")) for token in tokens]


def test_a_drag_gives_credit_to_every_token_that_it_passes(page, site):
    opened(page, site)
    bars = page.locator(".share-own i")
    first, third = bars.nth(0).bounding_box(), bars.nth(2).bounding_box()
    page.mouse.move(first["x"] + 9, first["y"] + 1)
    page.mouse.down()
    page.mouse.move(third["x"] + 9, third["y"] + 1, steps=8)
    page.mouse.move(third["x"] + 9, third["y"] + 90)
    page.mouse.up()
    page.mouse.move(first["x"] + 9, first["y"] + 40)
    assert given(page)[:4] == [1, 1, -1, 0]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_keys_compare_train_and_the_address(page, site, lang):
    opened(page, site, f"{lang}-light")
    buttons = page.locator(".share-play > .share-do:not([hidden]) button")
    buttons.nth(0).click()
    assert page.locator(".share-says").inner_text()  # nothing given yet
    page.locator(".share-picks button").nth(3).click()
    page.locator(".share-own [role=slider]").first.focus()
    page.keyboard.press("ArrowRight")
    for _ in range(2):
        page.keyboard.press("ArrowUp")
    assert given(page)[:3] == [0, 0.5, 0]
    buttons.nth(0).click()
    assert page.locator(".share-rows .share-row").count() == 5
    # the measured credit of "-" is 0.2, its norm 0.512
    assert "0.39" in page.locator(".share-own output").first.inner_text()
    assert "0.39" in page.locator(".share-says").inner_text()  # and the same above
    page.wait_for_url(lambda url: url.endswith("#share=3.egeeeeeeee"))
    buttons.nth(1).click()
    page.locator(".share-own output:last-of-type svg").wait_for()
    assert page.locator(".share-rows output:last-of-type svg").count() == 5
    rate = re.search(r"\d+%", page.locator(".share-own output").last.inner_text())[0]
    won = page.locator(".share-says.won").inner_text()
    assert re.findall(r"\d+%", won)[1] == rate and len(re.findall(r"\d+%", won)) == 5
    page.keyboard.press("ArrowDown")  # another credit has learned nothing yet
    page.locator(".share-own [role=slider]").nth(1).press("ArrowDown")
    assert not page.locator(".share-says.won").count()


def test_a_link_opens_what_was_given_and_a_bad_one_says_so(page, site):
    opened(page, site, hash="#share=3.eiaeeeeeee")
    assert given(page) == [0, 1, -1, *[0] * 7]
    assert page.locator(".share-rows .share-row").count() == 5
    page.goto("about:blank")
    opened(page, site, hash="#share=3.eia")
    assert page.locator(".share-says").inner_text() == share.words("en")["bad"]
    assert page.locator(".share-rows .share-row").count() == 0


def test_the_text_and_the_picture_are_copied(browser, site):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    with measure.served(site) as address:
        page.goto(f"{address}en-light.html#share=3.eiaeeeeeee")
        page.locator(".share-rows .share-row").first.wait_for()
        send = page.locator(".share-play > .share-do").last.locator("button")
        send.nth(0).click()
        page.get_by_text(share.words("en")["copied"]).wait_for()
        text = page.evaluate("navigator.clipboard.readText()")
        assert "⬜🟦🟧⬜⬜⬜⬜⬜⬜⬜" in text
        assert text.endswith("#share=3.eiaeeeeeee")
        send.nth(1).click()
        page.wait_for_function(PICTURE)
    context.close()


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("look", ["light", "phone"])
def test_needles_and_curves_of_all_rows_stand_under_each_other(
    browser, site, lang, look
):
    page = browser.new_context(**measure.LOOKS[look]).new_page()
    opened(page, site, f"{lang}-light", "#share=3.eiaeeeeeee")
    page.locator(".share-play > .share-do:not([hidden]) button").nth(1).click()
    page.locator(".share-own output:last-of-type svg").wait_for()
    rows = page.locator(".share-row > p").evaluate_all(
        """all => all.map((p) => {
          const [needle, curve] = [...p.querySelectorAll("output")].map((output) =>
            output.getBoundingClientRect());
          const { x } = p.getBoundingClientRect();
          return [needle.x - x, curve.x - x, needle.y - curve.y];
        })"""
    )
    assert len(rows) == 6
    assert {tuple(map(round, row)) for row in rows} == {tuple(map(round, rows[0]))}
    assert rows[0][2] == 0
    page.context.close()


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_every_look_is_accessible_and_fits(browser, site, lang, look):
    page = browser.new_context(**measure.LOOKS[look]).new_page()
    theme = "dark" if look == "dark" else "light"
    for hash in ("", "#share=5." + "ei" * 13 + "a"):
        page.goto("about:blank")
        opened(page, site, f"{lang}-{theme}", hash)
        page.add_style_tag(content="* { transition: none !important }")
        assert measure.axe(page) == []
        width = page.viewport_size["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        sizes = page.locator(".share-own [role=slider]").evaluate_all(
            "all => all.map((x) => x.getBoundingClientRect().width)"
        )
        assert min(sizes) >= 24
    page.context.close()


def test_without_scripts_the_measured_credit_stands_there(browser, site):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((site / "zh-light.html").as_uri())
    assert page.locator(".share-strip b").count() == len(share.ORDER[0])
    assert page.locator("noscript p").count() == 1
    page.context.close()
