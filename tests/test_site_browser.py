"""The built site in a real browser: every page, in both editions, light and dark."""

import shutil
from pathlib import Path

import pytest
from quick import some
from test_site_build import EDITIONS, load

measure = load("measure")

pytestmark = pytest.mark.browser
SEEN = ("light", "phone")  # wide and light, narrow and dark
PARTS = 14  # of the pages, so that two workers end at the same time
HEAVIEST = 250_000  # bytes of a chapter and all that a first visit loads
CHAPTER = "chapters/05_critics_gae.html"
IN_VIEW = """target => {
  const place = document.getElementById(target);
  const formula = place.querySelector(".katex");
  const y = place.getBoundingClientRect().y;
  return 0 <= y && y < 100 && formula.checkVisibility({ contentVisibilityAuto: true });
}"""
TWO_FRAMES = "new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))"


@pytest.fixture(scope="module", params=["http", "file"])
def root(request, folder):
    if request.param == "file":
        yield folder.as_uri() + "/"
    else:
        with measure.served(folder) as address:
            yield address


def read_pages(folder: Path) -> list[str]:
    """Return every page that a reader reads (source listings look all alike)."""
    listing = "tokencredit/algorithms"
    names = measure.page_names(folder)
    return [name for name in names if "/_modules/" not in name or listing in name]


def shared_out(folder: Path, look: str) -> list[str]:
    """Return every page once, its two editions taking turns over pages and looks."""
    turn, editions = SEEN.index(look), site_editions(folder)
    pairs = zip(*editions.values(), strict=True)
    return [pair[(turn + n) % len(pair)] for n, pair in enumerate(pairs)]


def site_editions(folder: Path) -> dict[str, list[str]]:
    """Return the pages of each edition, in the same order."""
    names = sorted(name for name in read_pages(folder) if "/" in name)
    return {
        lang: [name for name in names if name.startswith(f"{lang}/")]
        for lang in EDITIONS
    }


@pytest.mark.parametrize("part", some(range(PARTS), 0))
@pytest.mark.parametrize("look", SEEN)
def test_no_page_has_an_axe_violation_an_error_an_outside_request_or_too_much_weight(
    folder, browser, look, part
):
    found, rules = [], measure.RULES[look]
    if look == "light" and part:  # the phone's look asks the others of the same pages
        rules = "contrast"
    with measure.served(folder) as address:
        for name in shared_out(folder, look)[part::PARTS]:
            seen = measure.visit(browser, address + name, look, check=rules)
            found += [f"{name}: {x}" for x in seen.axe + seen.errors + seen.external]
            if seen.overflow > 0:
                found.append(f"{name}: {seen.overflow} px wider than the screen")
            if "/chapters/" in name and seen.total >= HEAVIEST:
                found.append(f"{name}: {seen.total} bytes")
    assert not found, "\n" + "\n".join(found)


def test_both_editions_of_every_page_are_visited(folder):
    visited = {name for look in SEEN for name in shared_out(folder, look)}
    assert visited == {name for name in read_pages(folder) if "/" in name}


def test_a_page_of_which_only_the_head_is_laid_out_has_no_axe_violation(
    folder, browser
):
    context = browser.new_context(**measure.LOOKS["phone"])
    page = context.new_page()
    page.goto((folder / "zh" / "chapters/06_ppo.html").as_uri())
    page.evaluate(TWO_FRAMES)
    assert measure.axe(page, rules="structure") == []
    context.close()


@pytest.mark.parametrize("query", ["策略梯度", "降低方差"])
def test_chinese_words_are_found(root, page, query):
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{root}zh/search.html?q={query}")
    page.wait_for_selector("#search-results li a")
    assert "chapters/" in page.inner_html("#search-results")
    assert errors == []


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("advantage", ""),
        ("entropy colapse", "entropy collapse"),
        ("grpp", "grpo"),
    ],
)
def test_english_words_are_found_also_misspelt(root, page, query, meant):
    page.goto(f"{root}en/search.html?q={query}")
    page.wait_for_selector("#search-results li a")
    says = page.inner_text("#search-says")
    assert f"for “{meant}”." in says if meant else says.startswith("Places found")


@pytest.mark.parametrize(
    ("query", "meant"), [("策略梯渡", "策略梯度"), ("重要性彩样", "重要性采样")]
)
def test_a_misspelt_chinese_term_finds_what_was_meant_and_says_so(
    page, folder, query, meant
):
    page.goto(f"{(folder / 'zh/search.html').as_uri()}?q={query}")
    page.wait_for_selector("#search-results li a")
    says = page.inner_text("#search-says")
    assert f"“{query}”没有找到" in says and f"“{meant}”" in says
    assert page.locator("#search-results mark").first.inner_text() == meant
    page.click(f"#search-says button:text('“{query}”')")
    assert f"“{meant}”" not in page.inner_text("#search-says")
    assert meant not in page.locator("#search-results mark").all_inner_texts()


@pytest.mark.parametrize("name", ["glossary", "api"])
def test_a_long_list_begins_with_links_to_its_sections_on_a_phone(root, browser, name):
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"{root}zh/book/{name}.html")
    links = page.locator(".jumps a")
    targets = [link.get_attribute("href") for link in links.all()]
    sections = page.locator("article section section[id]").all()
    assert len(targets) > 5
    assert set(targets) <= {f"#{one.get_attribute('id')}" for one in sections}
    heading = page.locator("article h2").first
    assert links.last.bounding_box()["y"] < heading.bounding_box()["y"]
    context.close()


def test_who_finds_nothing_is_led_to_the_glossary(root, page):
    page.goto(f"{root}zh/search.html?q=qqqqqqqqqqq")
    page.click("#search-says a")
    page.wait_for_url("**/zh/book/glossary.html")


@pytest.mark.parametrize(
    ("chapter", "anchor", "en", "zh"),
    [
        (CHAPTER, "value-clip", "Value clip", "价值裁剪"),
        ("chapters/06_ppo.html", "the-clip", "The clip", "裁剪"),
    ],
)
def test_the_language_switch_keeps_page_and_anchor(root, page, chapter, anchor, en, zh):
    page.goto(f"{root}zh/{chapter}#{anchor}")
    switch = page.locator("a.language-switch")
    for lang, heading in (("en", en), ("zh", zh)):
        page.wait_for_function(IN_VIEW, arg=anchor)
        box = switch.bounding_box()  # Playwright's own click scrolls the page first
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_url(f"{root}{lang}/{chapter}#{anchor}")
        title = page.locator(f"#{anchor} > :is(h2, h3)")
        assert title.inner_text().startswith(heading)


def test_the_landing_page_remembers_the_language(folder, page):
    with measure.served(folder) as address:
        page.goto(address)
        page.click("a[data-language=en]")
        page.wait_for_url("**/en/book/index.html")
        page.goto(address)
        page.wait_for_url("**/en/book/index.html")


def test_formulas_are_readable_with_javascript_off(folder, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "zh" / CHAPTER).as_uri())
    box = page.locator("#equation-eq-gae .katex-html, .math.display .katex-html").first
    assert box.bounding_box()["width"] > 50
    context.close()


def test_a_long_formula_scrolls_in_its_own_box_and_the_keyboard_reaches_it(
    folder, browser
):
    context = browser.new_context(**measure.LOOKS["phone"])
    page = context.new_page()
    page.set_viewport_size({"width": 240, "height": 844})  # a phone's width fits most
    page.goto((folder / "en" / CHAPTER).as_uri())
    page.add_style_tag(content=measure.WHOLE)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.evaluate(TWO_FRAMES)
    boxes = page.eval_on_selector_all(
        ".math-scroll",
        "all => all.filter(b => b.checkVisibility())"
        ".map(b => [b.scrollWidth > b.clientWidth, b.tabIndex])",
    )
    assert any(scrolls for scrolls, _ in boxes)
    assert all(tab == (0 if scrolls else -1) for scrolls, tab in boxes)
    context.close()


@pytest.mark.parametrize(
    "target",
    ["value-clip", "exercise-3-find-the-bug-targets-for-the-critic", "equation-eq-gae"],
)
def test_a_page_is_laid_out_as_it_is_read_and_a_link_still_finds_its_place(
    folder, page, target
):
    laid_out = "e => e.checkVisibility({ contentVisibilityAuto: true })"
    place = page.locator(f"#{target}")
    page.goto((folder / "en" / CHAPTER).as_uri())
    assert page.locator("#credit-sits-where-the-expected-score-moves p").first.evaluate(
        laid_out
    )
    formula = place.locator(".katex").first.element_handle()
    page.wait_for_function(f"e => !({laid_out})(e)", arg=formula)  # when not measured
    page.evaluate("target => { location.hash = target }", target)
    page.wait_for_function(IN_VIEW, arg=target)


def test_a_broken_page_would_be_noticed(folder, browser, tmp_path):
    copy = shutil.copytree(folder / "en", tmp_path / "en")
    file = copy / "book" / "index.html"
    fault = '<img src="https://example.invalid/x.png"><script>throw Error("x")</script>'
    fault += '<div class="highlight"><pre><span class="new" style="color: #999">'
    fault += "faint</span></pre></div>"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("</article>", fault + "</article>"), "utf-8")
    with measure.served(tmp_path) as address:
        seen = measure.visit(browser, address + "en/book/index.html", check="all")
    for rule in ("image-alt", "color-contrast"):
        assert any(rule in violation for violation in seen.axe), rule
    assert seen.external and seen.errors
