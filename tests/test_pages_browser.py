"""The pages as one set: their grid, their indexes, the dialog of the search."""

import re

import pytest
from quick import some
from test_site_build import load

from tokenbook.symptoms.index_page import QUANTITIES, curves
from tokencredit import ALGORITHMS

measure = load("measure")
pytestmark = pytest.mark.browser
BACK = "symptoms errata zoo glossary interview teachers api extend sources references"
FULL = [
    f"chapters/{x}" for x in ("02_policy_gradient", "05_critics_gae", "12_stale_data")
]
PHONE = ["book/index", "chapters/05_critics_gae", "book/zoo"]
FORMULAS = ["05_critics_gae", "09_aggregation", "15_cluster"]
KINDS = ["chapters/06_ppo", "book/index", *(f"book/{name}" for name in BACK.split())]
EDGES = """() => {
  const inner = (css) => {
    const e = document.querySelector(css), style = getComputedStyle(e);
    const { left, right } = e.getBoundingClientRect();
    const { paddingLeft, paddingRight } = style;
    return [left + parseFloat(paddingLeft), right - parseFloat(paddingRight)];
  };
  const feet = [".prev-next-footer", ".bd-footer-content__inner"];
  return [".bd-article", ...feet].map(inner);
}"""
CODE = "article pre:not(.cell_output pre):not(.practice-editor pre)"
TAKEN = """(all) => all.map((pre) => {
  getSelection().selectAllChildren(pre);
  return getSelection().toString();
})"""
CUT = """(which) => [...document.querySelectorAll(which ?? "article pre")]
  .filter((pre) => pre.scrollWidth > pre.clientWidth).map((pre) => pre.innerText)"""
OUTSIDE = """() => [...document.querySelectorAll(".fig svg")].flatMap((plot) => {
  const { left, right, top, bottom } = plot.getBoundingClientRect();
  return [...plot.querySelectorAll("text")].filter((words) => {
    const box = words.getBoundingClientRect();
    return box.left < left - 2 || box.right > right + 2 || box.top < top - 2
      || box.bottom > bottom + 2;
  }).map((words) => words.textContent);
})"""
LINES = """() => [...document.querySelectorAll("article table.table :is(td, th)")]
  .map((cell) => {
    const text = document.createRange(), { lineHeight } = getComputedStyle(cell);
    text.selectNodeContents(cell);
    return text.getBoundingClientRect().height / parseFloat(lineHeight);
  })"""
NUMBERED = """() => [...document.querySelectorAll("div.math.display:has(> .eqno)")]
  .map((box) => {
    const [formula, number] = box.children, edges = (e) => e.getBoundingClientRect();
    return {
      cut: formula.scrollWidth - formula.clientWidth,
      room: box.clientWidth - formula.clientWidth,
      right: edges(box).right - edges(box.lastElementChild).right,
      under: edges(number).top >= edges(formula).bottom - 1,
    };
  })"""
SNIPPETS = """() => {
  const plain = (text) => text.replace(/[\\s_^]|^…|…$/g, "");
  const said = BOOK_INDEX.flatMap(([, sections]) => sections.map((s) => s[3]));
  const blocks = said.flatMap((text) => text.split("\\n")).map(plain);
  return [...document.querySelectorAll("#search-results li p")]
    .map((p) => plain(p.textContent))
    .filter((text) => !blocks.some((block) => block.includes(text)));
}"""

LISTED = """() => [...document.querySelectorAll("section.listed section.listed")]
  .filter((one) => one.checkVisibility()).map((one) => [one.id, one.textContent])"""


def opened(page, folder, name: str, width: int = 1440, height: int = 900):
    page.set_viewport_size({"width": width, "height": height})
    page.goto((folder / f"{name}.html").as_uri())
    page.add_style_tag(content=measure.WHOLE)
    page.evaluate("document.body.offsetHeight && document.fonts.ready.then(() => 0)")
    return page


@pytest.mark.parametrize("name", KINDS)
def test_text_and_feet_stand_on_one_grid_under_a_header_as_wide_as_the_window(
    folder, page, name
):
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto((folder / f"en/{name}.html").as_uri())
        article, *feet = page.evaluate(EDGES)
        same = pytest.approx(article, abs=0.1)  # a browser rounds to 1/64 px
        assert feet == [same] * 2, f"{width}: {article} {feet}"
        header = page.locator(".bd-header-article").bounding_box()
        assert header["x"] + header["width"] == width


SCREEN = 664  # px that a phone's browser leaves of its height, its bars shown
CONTENTS = ".book-nav a[data-page='book/teachers']"


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("name", ["book/index", "book/playground"])
def test_a_page_without_its_contents_beside_it_has_brand_search_and_contents_in_its_bar(
    folder, page, lang, name
):
    opened(page, folder, f"{lang}/{name}")
    assert page.locator(".header-brand").is_visible()
    page.locator(CONTENTS).wait_for(state="hidden")
    page.locator(".article-header-buttons .search-button").click()
    page.locator("#pst-search-dialog input").wait_for(state="visible")
    page.keyboard.press("Escape")
    page.click(".primary-toggle")
    page.locator(CONTENTS).wait_for(state="visible")
    opened(page, folder, f"{lang}/{name}", 390, 844)
    page.click(".primary-toggle")
    page.locator(CONTENTS).wait_for(state="visible")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_on_a_phone_one_starts_to_read_from_the_first_screen(folder, page, lang):
    opened(page, folder, f"{lang}/book/index", 390, SCREEN)
    link = page.locator(".start-reading a")
    box = link.bounding_box()
    assert box["y"] + box["height"] < SCREEN
    link.click()
    page.wait_for_url("**/chapters/00_*")
    opened(page, folder, f"{lang}/book/index")
    (text, button, figure) = (
        page.locator(f"article > section > {css}").first.bounding_box()
        for css in ("p", ".start-reading", ".explorer")
    )
    assert text["x"] + text["width"] < button["x"]
    assert button["x"] + button["width"] == pytest.approx(figure["x"] + figure["width"])
    assert text["y"] <= button["y"] < figure["y"]


SMALL = """() => [...document.querySelectorAll("article *")].filter((e) => {
  if (e.closest(".katex, sub, sup, script, svg, [hidden], .ex-chip > i")) return false;
  const said = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const size = parseFloat(getComputedStyle(e).fontSize);
  const least = e.closest("pre") ? 11 : 12; // rows of numbers
  return said && e.checkVisibility() && size > 0 && size < least;
}).map((e) => e.className + ": " + e.textContent)"""


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("name", some(PHONE, PHONE[1]))
def test_on_a_phone_no_text_is_smaller_than_12_pixels(folder, page, lang, name):
    opened(page, folder, f"{lang}/{name}", 390, 844)
    page.evaluate(measure.UNCOVER)
    assert page.evaluate(SMALL) == []


def test_no_word_of_the_lookup_in_the_sidebar_is_broken(folder, page):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto((folder / "en" / "chapters" / "07_kl.html").as_uri())
    lines = page.evaluate("""() => [...document.querySelectorAll(".book-foot a")].map(
      (link) => {
        const words = document.createRange();
        words.selectNodeContents(link);
        return words.getClientRects().length;
      })""")
    assert lines == [1] * 6


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("number", some(["02", "06", "12", "14", "15", "16"], "15"))
def test_no_chapter_scrolls_sideways_at_any_width(folder, page, number, lang):
    """Neither do its longest formulas and what stands beside its titles."""
    (name,) = (file.stem for file in (folder / lang / "chapters").glob(f"{number}_*"))
    page.goto((folder / lang / "chapters" / f"{name}.html").as_uri())
    page.add_style_tag(content="section { content-visibility: visible !important }")
    for width in (320, 360, 390, 601, 700, 768, 960, 1200):
        page.set_viewport_size({"width": width, "height": 640})
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_on_a_phone_the_next_chapter_stands_under_the_one_before(folder, page):
    opened(page, folder, "en/chapters/10_dapo", 390, 844)
    back, on = (
        page.locator(f".prev-next-area a.{x}") for x in ("left-prev", "right-next")
    )
    above, below = back.bounding_box(), on.bounding_box()
    assert above["y"] + above["height"] <= below["y"]
    assert above["width"] == below["width"] > 300


READ = ".ex-tile, .ex-legend > span, .ex-dial"
HIDDEN = """(figure, css) => [...figure.querySelectorAll(css)]
  .filter((part) => {
    const { top, left, height, width } = part.getBoundingClientRect();
    const seen = part.checkVisibility({ visibilityProperty: true });
    const y = top + height / 2; // the page's own bar lies over what is at the top
    if (!seen || !width || y < 60 || y > innerHeight) return false;
    return !part.contains(document.elementFromPoint(left + width / 2, y));
  }).map((part) => part.textContent)"""


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("name", some(FULL, FULL[1]))
def test_on_a_phone_dials_stand_under_the_drawing_that_they_move_and_hide_nothing(
    folder, page, name, lang
):
    """Not before three quarters are in view; with all of it, all of it is seen."""
    opened(page, folder, f"{lang}/{name}", 390, 844)
    bar = page.locator(".bd-header-article").bounding_box()["height"]
    for figure in page.locator(".explorer:has(.ex-dials):visible").all():
        figure.evaluate("e => e.querySelector('.ex-title').scrollIntoView()")
        dials, live = figure.locator(".ex-dials"), figure.locator(".ex-live")
        for seen in (0.2, 0.75):  # of the drawing, where dials would stick
            knobs, drawn = dials.bounding_box(), live.bounding_box()
            low = 844 - knobs["height"]
            edge = drawn["y"] + seen * drawn["height"]
            page.evaluate("y => scrollBy(0, y)", edge - low)
            knobs, drawn = dials.bounding_box(), live.bounding_box()
            quarter = drawn["y"] + 0.75 * drawn["height"]
            assert knobs["y"] == pytest.approx(max(quarter, low), abs=6)
        page.evaluate("y => scrollBy(0, y)", live.bounding_box()["y"] - bar)
        knobs, drawn = dials.bounding_box(), live.bounding_box()
        assert drawn["y"] + drawn["height"] <= knobs["y"] + 1
        assert knobs["y"] + knobs["height"] <= 845
        for _ in range(4):  # as it goes up and leaves the screen
            assert figure.evaluate(HIDDEN, READ) == []
            page.evaluate("scrollBy(0, 120)")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_on_a_phone_four_rows_of_the_opening_figure_and_ten_tokens_of_a_strip_are_seen(
    folder, page, lang
):
    opened(page, folder, f"{lang}/book/index", 390, 844)
    row = page.locator(".ex-row").last.bounding_box()
    assert row["y"] + row["height"] <= 844
    assert page.locator(".ex-dials").bounding_box()["y"] > row["y"] + row["height"]
    opened(page, folder, f"{lang}/chapters/05_critics_gae", 390, 844)
    rows = """all => all.filter((e) => e.offsetParent && e.children.length == 10)
      .map((e) => new Set([...e.children].map((x) => x.offsetTop)).size)"""
    found = page.eval_on_selector_all(".ex-strip, .ex-said", rows)
    assert found and set(found) == {1}


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_dial_and_readouts_of_every_opening_figure_are_in_a_laptops_first_screen(
    folder, page, lang
):
    """Of 900 px a browser leaves 760 for the dial, a card or a preset."""
    edges = """root => [
      root.querySelector(".ex-dials input, .ex-live button, button"),
      [...root.querySelectorAll(".ex-tiles, .ex-live")].at(-1),
    ].map((part) => part.getBoundingClientRect().bottom)"""
    low, names = {}, sorted((folder / lang / "chapters").glob("[0-9]*.html"))
    page.set_viewport_size({"width": 1440, "height": 900})
    for name in names:
        page.goto(name.as_uri())
        page.evaluate("document.fonts.ready.then(() => 0)")
        dial, numbers = page.locator(".explorer[data-xp]").first.evaluate(edges)
        if dial > 760 or numbers > 880:
            low[name.stem] = dial, numbers
    assert len(names) == 17 and low == {}


@pytest.mark.parametrize("lang", some(["zh", "en"], "en"))
def test_no_word_of_a_plot_stands_outside_its_panel(folder, page, lang):
    for file in sorted((folder / lang / "chapters").glob("*.html")):
        opened(page, folder, f"{lang}/chapters/{file.stem}", 390)
        page.wait_for_function("document.fonts.ready.then(() => true)")
        assert page.evaluate(OUTSIDE) == [], file.stem


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize(
    "name", ["en/book/errata", "zh/book/symptoms", "en/chapters/06_ppo"]
)
def test_no_code_is_cut(folder, page, name, width):
    opened(page, folder, name, width)
    page.eval_on_selector_all("details", "all => all.forEach((e) => (e.open = true))")
    assert page.evaluate(CUT, CODE) == []
    code = page.eval_on_selector_all(CODE, "all => all.map((e) => e.textContent)")
    seen = page.eval_on_selector_all(CODE, TAKEN)
    lines = [text.rstrip().split("\n") for text in code]
    assert any(len(one) > 3 for one in lines)
    prompt = re.compile(r"^(>>>|\.\.\.) ?")  # neither the button nor a hand copies it
    wanted = [[prompt.sub("", line) for line in one] for one in lines]
    assert [text.rstrip().split("\n") for text in seen] == wanted


@pytest.mark.parametrize("name", ["en/chapters/08_grpo", "zh/chapters/10_dapo"])
def test_text_code_and_outputs_have_one_edge_and_one_width(folder, page, name):
    """Only an output of very long lines is wider: as wide as a figure."""
    opened(page, folder, name)
    text = page.locator("article section > p").first.bounding_box()["x"]
    code = page.locator(".cell_input:visible").first.bounding_box()["width"]
    figure = page.locator(".explorer.wide").first.bounding_box()["width"]
    shown = ".bd-article section > .cell > :is(.cell_input, .cell_output > .output)"
    for box in [one.bounding_box() for one in page.locator(f"{shown}:visible").all()]:
        assert box["x"] == text
        assert box["width"] in (code, figure)
    assert page.evaluate(CUT) == []


def test_on_a_phone_an_output_fits_or_says_that_it_goes_on(folder, page):
    opened(page, folder, "en/chapters/06_ppo", 390, 844)
    page.evaluate(measure.UNCOVER)
    page.wait_for_selector("pre.more")
    fits = page.eval_on_selector_all(
        "section > .cell > .cell_output pre",
        """all => all.filter((pre) => pre.checkVisibility()).map((pre) => {
          const longest = Math.max(...pre.innerText.split("\\n").map((x) => x.length));
          const sign = getComputedStyle(pre.parentElement, "::after").content;
          return [longest, pre.scrollWidth <= pre.clientWidth, sign.includes("→")];
        })""",
    )
    assert len({fit for _, fit, _ in fits}) == 2
    for longest, fit, sign in fits:
        assert fit or longest > 60
        assert fit != sign


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_in_a_low_window_the_head_of_a_chapter_leaves_room_for_its_figure(
    folder, page, lang
):
    opened(page, folder, f"{lang}/chapters/08_grpo", 1440, 900)
    thread = page.locator(".chapter-thread").first.bounding_box()
    assert thread["y"] + thread["height"] < 250


def test_the_head_of_a_chapter_ends_with_its_text_and_its_labels(folder, page):
    """In a low window the opening is wider, and the thread as wide as it."""
    ends = """() => Object.fromEntries([".chapter-thread", ".chapter-facts",
      "article > section > p", "article > section > section > p",
      "article details.hide > summary", ".explorer.wide"].map((css) => {
        const { left, right } = document.querySelector(css).getBoundingClientRect();
        return [css, [left, right]];
      }))"""
    opened(page, folder, "en/chapters/05_critics_gae", 1440, 1000)
    thread, facts, opening, text, label, figure = page.evaluate(ends).values()
    assert thread[1] == opening[1] == text[1]
    assert facts == label and facts[1] == figure[1]
    opened(page, folder, "en/chapters/05_critics_gae", 1440, 900)
    thread, facts, opening, *_, figure = page.evaluate(ends).values()
    assert thread[1] == opening[1] < facts[0] and facts[1] == figure[1]


@pytest.mark.slow
def test_the_thread_of_a_chapter_stands_in_one_line(folder, page):
    for file in sorted((folder / "en" / "chapters").glob("*.html")):
        page.goto(file.as_uri())
        for width in (1440, 1280, 1100, 390):
            page.set_viewport_size({"width": width, "height": 900})
            thread = page.locator(".chapter-thread").bounding_box()
            assert thread["height"] < 30, f"{file.stem}, {width}"
            assert thread["x"] + thread["width"] <= width


@pytest.mark.parametrize("lang", some(["zh", "en"], "en"))
def test_on_a_phone_a_table_of_prose_is_read_without_pushing_it(folder, page, lang):
    opened(page, folder, f"{lang}/chapters/06_ppo", 390, 844)
    boxes = ".pst-scrollable-table-container"
    wide = "all => all.map((box) => box.scrollWidth - box.clientWidth)"
    assert not any(page.eval_on_selector_all(boxes, wide))
    for name in ("chapters/14_agents", "chapters/10_dapo"):
        opened(page, folder, f"{lang}/{name}", 390, 844)
        page.evaluate(measure.UNCOVER)
        tables = page.locator("table.told")
        assert tables.count()
        for table in tables.all():
            assert table.bounding_box()["width"] <= 358
        cell = tables.first.locator("td").nth(1)
        head = tables.first.locator("th").nth(1).text_content()
        assert cell.get_attribute("data-label") == head.strip()


@pytest.mark.parametrize("width", [1440, 390])
def test_deep_in_a_chapter_its_bar_says_where(folder, page, width):
    opened(page, folder, "en/chapters/06_ppo", width)
    said = page.locator(".header-place")
    assert not said.is_visible()
    page.evaluate("document.getElementById('exercises').scrollIntoView()")
    said.wait_for(state="visible")
    page.wait_for_function(
        "document.querySelector('.header-place').innerText.includes('Exercises')"
    )
    assert said.inner_text().startswith("6 PPO")
    buttons = page.locator(".article-header-buttons").bounding_box()
    box = said.bounding_box()
    assert box["x"] + box["width"] <= buttons["x"] and buttons["height"] < 50


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_reference_leads_to_where_it_is_cited_and_words_filter_the_list(
    folder, page, lang
):
    opened(page, folder, f"{lang}/book/references")
    work = page.locator(".citation", has_text="DeepSeekMath").first
    links = work.locator(".cited-in a")
    pages = links.evaluate_all("all => all.map((a) => a.getAttribute('href'))")
    assert "zoo.html#grpo" in pages
    anchor = f"references.html#{work.get_attribute('id')}"
    for name in pages:
        if "zoo" not in name:
            text = (folder / lang / "book" / name).read_text(encoding="utf-8")
            assert anchor in text, name
    everything = page.locator(".citation:visible").count()
    page.fill(".reference-filter input", "schulman 2017")
    left = page.locator(".citation:visible").all_inner_texts()
    assert 0 < len(left) < 5 < everything
    assert all("Schulman" in text and "2017" in text for text in left)


@pytest.mark.parametrize(("lang", "said"), [("zh", "标准差"), ("en", "standard dev")])
def test_a_short_form_finds_the_words_that_it_stands_for(folder, page, lang, said):
    page.goto(f"{(folder / lang / 'search.html').as_uri()}?q=std")
    page.wait_for_selector("#search-results li a")
    marked = page.locator("#search-results mark").all_inner_texts()
    assert any(text.lower().startswith(said) for text in marked)
    links = page.locator("#search-results a[href*='chapters/08_']")
    assert links.count()


@pytest.mark.parametrize(
    ("lang", "query", "title"),
    [
        ("en", "normalisation", "What dividing by the standard deviation does"),
        ("en", "normalizing", "What dividing by the standard deviation does"),
        ("en", "normalisation", "GDPO: with several rewards, standardise each"),
        ("zh", "归一化", "除以标准差做了什么"),
        ("zh", "优势归一化", "除以标准差做了什么"),
    ],
)
def test_to_normalise_finds_what_is_divided_by_its_deviation(
    folder, page, lang, query, title
):
    page.goto(f"{(folder / lang / 'search.html').as_uri()}?q={query}")
    page.wait_for_selector("#search-results li a")
    shown = page.locator("#search-results li a").all_inner_texts()
    assert any(text.startswith(title) for text in shown[:12])


def test_places_with_all_words_stand_above_those_with_some(folder, page):
    page.goto(f"{(folder / 'en' / 'search.html').as_uri()}?q=advantage clip museum")
    page.wait_for_selector("#search-results .search-half")
    parts = page.evaluate(
        """() => {
      const said = Object.fromEntries(BOOK_INDEX.flatMap(([page, all]) =>
        all.map(([anchor, , ...text]) =>
          [`${page}#${anchor}`, [all[0][2], ...text].join(" ")])));
      const half = document.querySelector(".search-half");
      return [...document.querySelectorAll("#search-results li > a")].map((link) => {
        const [page, anchor] = link.getAttribute("href").slice(2).split(".html");
        const after = Node.DOCUMENT_POSITION_FOLLOWING;
        return [said[page + (anchor || "#")].toLowerCase(),
          Boolean(half.compareDocumentPosition(link) & after)];
      });
    }"""
    )
    held = [
        [word in text for word in ("advantage", "clip", "museum")] for text, _ in parts
    ]
    assert [all(words) for words in held] == [not some for _, some in parts]
    assert all(sum(words) == 2 for words in held if not all(words))


def test_an_excerpt_begins_and_ends_with_whole_words(folder, page):
    page.goto(f"{(folder / 'en' / 'search.html').as_uri()}?q=size")
    page.wait_for_selector("#search-results li a")
    cut = """() => {
      const low = (text) => text.replace(/[_^]/g, "");
      const texts = BOOK_INDEX.flatMap(([, all]) => all.map((s) => s[3]));
      const said = low(texts.join("\\n"));
      return [...document.querySelectorAll("#search-results li p")]
        .map((p) => p.textContent).filter((text) => /^…|…$/.test(text))
        .map((text) => text.replace(/^…|…$/g, ""))
        .map((text) => said.slice(said.indexOf(text) - 1).slice(0, text.length + 2))
        .filter((text) => /^\\w\\w|\\w\\w$/.test(text));
    }"""
    assert page.evaluate(cut) == []


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_start_page_is_full_below_the_fold_and_cuts_no_code(folder, page, lang):
    opened(page, folder, f"{lang}/book/index")
    assert page.evaluate(CUT) == []
    boxes = [
        s.bounding_box() for s in page.locator("article > section > section").all()
    ]
    kind, loop, read, run, cite = boxes
    assert kind["y"] == loop["y"] < read["y"] < run["y"] == cite["y"]
    assert kind["x"] == read["x"] == run["x"] < loop["x"] == cite["x"]


@pytest.mark.parametrize("name", ["book/index", "book/playground"])
def test_the_page_stands_still_when_the_contents_step_aside(folder, page, name):
    """They are put away while the page is read in: text that is shown does not move."""
    page.add_init_script("""addEventListener("transitionrun", (event) => {
      (window.moved ??= []).push(`${event.target.className}: ${event.propertyName}`);
    }, true)""")
    opened(page, folder, f"en/{name}")
    page.wait_for_selector(".pst-sidebar-hidden", state="attached")
    page.wait_for_timeout(300)
    assert page.evaluate("window.moved ?? []") == []


def test_a_long_page_soon_has_its_true_length_and_its_end_is_the_end(folder, page):
    heights = """() => [...document.querySelectorAll("article > section > section")]
      .map((part) => part.getBoundingClientRect().height)"""
    page.add_init_script("performance.now = () => 0")  # no machine is slow
    opened(page, folder, "en/chapters/08_grpo")
    true = page.evaluate(heights)
    for n in (3, 7):  # a link of the contents lands under the bar, however far it leads
        page.reload()
        page.wait_for_function(
            f"true_ => ({heights})().every((y, n) => Math.abs(y - true_[n]) < 80)",
            arg=true,
        )
        link = page.locator(".section-nav > li:not(.side) > a").nth(n)
        link.evaluate("link => link.click()")
        page.wait_for_timeout(1500)  # what comes into view there is laid out
        top = page.locator(link.get_attribute("href")).bounding_box()["y"]
        assert top == pytest.approx(64, abs=4)
    page.keyboard.press("End")
    end = "Math.abs(document.documentElement.scrollHeight - innerHeight - scrollY) < 2"
    page.wait_for_function(end)
    page.wait_for_timeout(300)
    assert page.evaluate(end)


def test_the_key_leads_to_the_end_also_of_a_page_that_nobody_measured(folder, page):
    page.add_init_script("requestIdleCallback = () => 0")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto((folder / "en/chapters/09_aggregation.html").as_uri())
    page.keyboard.press("End")
    page.wait_for_timeout(1500)
    left = "document.documentElement.scrollHeight - innerHeight - scrollY"
    assert abs(page.evaluate(left)) < 2


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_bars_that_say_the_same_look_the_same_on_a_phone(folder, browser, lang):
    for scale in (1, 2, 3):
        context = browser.new_context(
            viewport={"width": 390, "height": 844}, device_scale_factor=scale
        )
        page = context.new_page()
        opened(page, folder, f"{lang}/book/index", 390, 844)
        page.wait_for_selector(".explorer.ready")
        heights = page.locator(".ex-row:last-of-type .ex-chip:visible").evaluate_all(
            "all => all.map((e) => parseFloat(getComputedStyle(e, '::before').height))"
        )
        assert len(heights) == 26 and 2 <= min(heights) == max(heights) <= 13, heights
        context.close()


LOST = """() => [...document.querySelectorAll(".kept:not(.long)")].filter((kept) => {
  const mark = document.createRange(), text = kept.lastChild;
  mark.setStart(text, 0), mark.setEnd(text, 1);
  const last = [...kept.querySelectorAll(".katex-base")].pop().getBoundingClientRect();
  return mark.getBoundingClientRect().top > last.bottom;
}).map((kept) => kept.textContent)"""


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_on_a_phone_no_line_begins_with_the_mark_after_a_short_formula(
    folder, page, lang
):
    opened(page, folder, f"{lang}/chapters/05_critics_gae", 390, 844)
    kept = "document.querySelectorAll('.kept:not(.long)').length"
    assert page.evaluate(kept) > 50
    assert page.evaluate(LOST) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_tokens_of_the_hero_are_large(folder, page, lang):
    opened(page, folder, f"{lang}/book/index")
    token = page.locator(".explorer .ex-row:not(.heads) .ex-chip > b").first
    assert token.bounding_box()["width"] >= 28
    assert token.evaluate("e => parseFloat(getComputedStyle(e).fontSize)") >= 18


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_hero_of_a_phone_says_its_puzzle(folder, page, lang):
    opened(page, folder, f"{lang}/book/index", 390, 844)
    puzzle = page.locator(".explorer .ex-stage > .ex-caption")
    assert puzzle.is_visible()
    assert puzzle.evaluate("e => e.scrollWidth <= e.clientWidth")
    clipped = page.locator(".explorer .ex-row:not(.heads) .ex-chip.off")
    assert clipped.count() == 2 and all(chip.is_visible() for chip in clipped.all())


@pytest.mark.parametrize("lang", some(["zh", "en"], "en"))
@pytest.mark.parametrize("chapter", ["09_aggregation", "14_agents"])
def test_tables_formulas_and_code_have_the_room_there_is(folder, page, lang, chapter):
    opened(page, folder, f"{lang}/chapters/{chapter}", 390, 844)
    assert max(page.evaluate(LINES)) < 7.5
    formulas = page.evaluate(NUMBERED)
    assert any(one["under"] for one in formulas)
    for one in formulas:
        assert one["right"] == pytest.approx(0, abs=8), one
        assert one["cut"] <= 0 or (one["under"] and one["room"] == 0), one
    opened(page, folder, f"{lang}/chapters/{chapter}")
    page.eval_on_selector_all("details", "all => all.forEach((e) => (e.open = true))")
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("chapter", some(FORMULAS, FORMULAS[0]))
def test_on_a_phone_formulas_fit_in_a_size_that_can_be_read(
    folder, page, lang, chapter
):
    opened(page, folder, f"{lang}/chapters/{chapter}", 390, 844)
    page.add_style_tag(content=measure.WHOLE)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.wait_for_timeout(600)
    found = page.eval_on_selector_all(
        ".math-scroll",
        "all => all.map((box) => [box.scrollWidth - box.clientWidth, parseFloat("
        "getComputedStyle(box.querySelector('.katex')).fontSize)])",
    )
    assert max(cut for cut, _ in found) <= 0
    assert min(size for _, size in found) > 11


def test_a_covered_picture_is_not_to_be_seen_until_a_choice_or_in_print(folder, page):
    opened(page, folder, "en/chapters/10_dapo")
    picture = page.locator(".predicted figure:not(.side-fold *)").first
    seen = "e => e.checkVisibility({ opacityProperty: true })"
    assert page.locator(".covered figure").count() and not picture.evaluate(seen)
    page.emulate_media(media="print", reduced_motion="reduce")
    assert picture.evaluate(seen)
    page.emulate_media(media="screen")
    assert not picture.evaluate(seen)
    for box in page.locator(".predict:visible").all():
        box.locator("button").first.click()
    assert picture.evaluate(seen)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_on_a_phone_the_presets_of_a_figure_are_one_row_that_a_finger_pushes(
    folder, browser, lang
):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True
    )
    page = context.new_page()
    for name in ("book/index", "chapters/09_aggregation", "chapters/14_agents"):
        opened(page, folder, f"{lang}/{name}", 390, 844)
        for row in page.locator(".ex-presets:visible").all():
            boxes = [button.bounding_box() for button in row.locator("button").all()]
            assert all(box["height"] >= 44 for box in boxes)
            assert len({box["y"] for box in boxes}) == 1
            row.evaluate("row => row.scrollTo(row.scrollWidth, 0)")
            last = row.locator("button").last.bounding_box()
            assert last["x"] + last["width"] <= 343, "clear of the fade"
    context.close()


@pytest.mark.parametrize("width", [1440, 390])
def test_the_questions_of_the_bank_stand_in_one_column_and_their_tags_in_another(
    folder, page, width
):
    opened(page, folder, "en/book/interview", width)
    rows = page.locator("details.qa:visible > summary")
    left, tags = (
        rows.locator(part).evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect())"
            ".map(({ left, right }) => [left, right])"
        )
        for part in ("> span", "> small")
    )
    assert len(left) == len(tags) == rows.count()
    assert len({round(x) for x, _ in left}) == 1
    assert len({round(tag[width > 600]) for tag in tags}) == 1


def test_the_dialog_shows_where_the_words_are(folder, page):
    opened(page, folder, "en/book/zoo")
    page.keyboard.press("Control+k")
    page.keyboard.type("dual clip")
    page.wait_for_function("document.querySelectorAll('#search-hits > a').length > 1")
    for hit in page.locator("#search-hits > a").all()[:-1]:
        assert hit.locator("mark").count(), hit.inner_text()
        assert len(hit.inner_text()) < 300


@pytest.mark.parametrize(("lang", "query"), [("zh", "GRPO"), ("en", "clip")])
def test_a_snippet_is_of_one_paragraph_or_of_one_row(folder, page, lang, query):
    page.goto(f"{(folder / lang / 'search.html').as_uri()}?q={query}")
    page.wait_for_selector("#search-results li a")
    assert page.evaluate(SNIPPETS) == []


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_hit_in_a_chapter_shows_prose_its_formulas_with_low_letters(
    folder, page, lang
):
    """A row of a table only where that alone has the word."""
    page.goto(f"{(folder / lang / 'search.html').as_uri()}?q=GAE")
    page.wait_for_selector("#search-results li a")
    rows = """() => {
      const of = "#search-results li:has(a[href*='chapters/']) p";
      const texts = BOOK_INDEX.flatMap(([, all]) => all.map((s) => s[3]));
      const rows = texts.flatMap((text) => text.split("\\n"))
        .filter((block) => block[0] === "\\t").map((row) => row.trim());
      return [...document.querySelectorAll(of)].filter((p) => !p.querySelector("mark"))
        .map((p) => p.textContent)
        .filter((text) => text && rows.some((row) => row.startsWith(text)));
    }"""
    assert page.evaluate(rows) == []
    text = page.inner_text("#search-results")
    assert "⋯" not in text and "(5.5)" in text and "ₜ" in text
    page.fill("#search-field", {"zh": "旧策略", "en": "old policy"}[lang])
    low = page.locator("#search-results sub")
    low.first.wait_for(state="attached")
    assert {*low.all_inner_texts()} & {"old", "θ"}
    assert "π_" not in page.inner_text("#search-results")


def test_the_dialog_names_a_chapter_with_its_question(folder, page):
    opened(page, folder, "en/book/zoo")
    page.keyboard.press("Control+k")
    page.keyboard.type("ppo")
    hit = page.locator("#search-hits a[href$='06_ppo.html']")
    hit.wait_for()
    assert hit.locator("small").inner_text().endswith("?")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_map_of_the_zoo_begins_in_the_first_screen_of_a_phone(folder, page, lang):
    opened(page, folder, f"{lang}/book/zoo", 390, SCREEN)
    box = page.locator(".ex-metro .ex-card").first.bounding_box()
    assert box["y"] + box["height"] < SCREEN, "its first station"
    made = page.locator("article > section > details")
    assert made.count() == 1 and "ALGORITHMS" in made.text_content()
    assert not made.locator("p").first.is_visible()


def test_the_dialog_shows_the_first_hits_while_one_types(folder, page):
    opened(page, folder, "en/book/zoo")
    loaded = "document.querySelectorAll('script[src*=search-index]').length"
    assert page.evaluate(loaded) == 0
    page.keyboard.press("Control+k")
    page.keyboard.type("clip fraction")
    hits = page.locator("#search-hits [role=option]")
    page.wait_for_function("document.querySelectorAll('#search-hits > a').length > 1")
    assert hits.count() == 7 and hits.last.inner_text().startswith("All ")
    field = page.locator("#pst-search-dialog input")
    assert field.get_attribute("aria-expanded") == "true"
    assert measure.axe(page, rules="structure") == []
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    at = page.locator("#search-hits [aria-selected=true]")
    assert at.get_attribute("id") == field.get_attribute("aria-activedescendant")
    assert at.inner_text() == hits.nth(2).inner_text()
    for _ in range(2):
        page.keyboard.press("ArrowUp")
    title = at.locator("b").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**/chapters/06_ppo.html#*")
    heading = page.locator(f"#{page.url.split('#')[1]} > :is(h2, h3)").first
    assert title in heading.inner_text()


def test_enter_opens_the_first_hit_but_not_while_a_sign_is_put_together(folder, page):
    opened(page, folder, "zh/book/zoo")
    page.keyboard.press("Control+k")
    page.keyboard.type("裁剪")
    first = page.locator("#search-hits [aria-selected=true]")
    first.wait_for()
    href = first.evaluate("a => a.href")
    page.evaluate("""document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {
      key: "Enter", isComposing: true, bubbles: true, cancelable: true
    }))""")
    page.wait_for_timeout(200)
    assert page.locator("#pst-search-dialog[open]").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_url(href)


def test_the_field_itself_and_the_last_line_lead_to_all_hits_by_chapter(folder, page):
    for keys in (["ArrowUp", "Enter"], ["ArrowUp", "ArrowUp", "Enter"]):
        opened(page, folder, "zh/chapters/06_ppo")
        page.keyboard.press("Control+k")
        page.keyboard.type("裁剪")
        page.wait_for_function("document.querySelectorAll('#search-hits > a').length")
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_url("**/search.html?q=*")
    groups = page.locator("#search-results > section")
    names = groups.locator("h2").all_inner_texts()
    assert len({*names}) == len(names) > 5 and names[0].startswith("6 PPO")
    first = groups.first
    before = first.locator("li").count()
    assert before == 3
    first.locator("summary").click()
    more = int("".join(filter(str.isdigit, first.locator("summary").inner_text())))
    page.wait_for_function(
        "n => document.querySelectorAll('#search-results > section:first-child li')"
        ".length === n",
        arg=before + more,
    )
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("zzzz", "Nothing found"),
        ("entropy colapse", "“entropy collapse”"),
        (
            "importance samplng xyzzy",
            "places for “importance sampling”. “xyzzy” is nowhere in the book.",
        ),
    ],
)
def test_the_dialog_says_what_is_nowhere_and_what_it_looked_for_instead(
    folder, page, query, answer
):
    opened(page, folder, "en/book/errata")
    page.keyboard.press("Control+k")
    page.keyboard.type(query)
    says, hits = page.locator(".search-hits p"), page.locator("#search-hits a")
    says.wait_for(state="visible")
    assert answer in says.inner_text()
    assert (hits.count() == 0) == (query == "zzzz")
    for hit in hits.all():
        assert says.bounding_box()["y"] < hit.bounding_box()["y"]


def test_a_chinese_word_of_two_signs_may_have_a_wrong_second_one(folder, page):
    opened(page, folder, "zh/book/errata")
    page.keyboard.press("Control+k")
    page.keyboard.type("裁减")
    page.locator("#search-hits a").first.wait_for()
    assert "“裁剪”" in page.locator(".search-hits p").inner_text()


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_the_symptoms_of_one_quantity_are_found_without_a_script(
    folder, browser, quantity
):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "zh/book/symptoms.html").as_uri())
    shown = page.locator(".finder li:visible > a")
    assert shown.count() == len(curves())
    page.locator(f"label:has(#of-{quantity})").click()
    of = {
        f"#{anchor}"
        for anchor, rows in curves().items()
        if quantity in {row["of"] for row in rows}
    }
    assert {link.get_attribute("href") for link in shown.all()} == of
    groups = page.locator(".finder > div:visible")
    assert all(group.locator("li:visible").count() for group in groups.all())
    assert {f"#{anchor}" for anchor, _ in page.evaluate(LISTED)} == of
    counted = page.locator(f"label:has(#of-{quantity}) small").inner_text()
    assert int(counted) == len(of)
    context.close()


@pytest.mark.parametrize(
    ("lang", "words", "none"),
    [("zh", "熵 奖励", "没有这样的症状"), ("en", "entropy reward", "No symptom is")],
)
def test_words_filter_the_symptoms_and_from_none_there_is_a_way_back(
    folder, page, lang, words, none
):
    opened(page, folder, f"{lang}/book/symptoms")
    field, says = page.locator(".finder-words input"), page.locator(".finder-words p")
    cards = page.locator(".finder li:visible")
    every, back = len(curves()), says.locator("button")
    assert f"{every}" in says.inner_text() and not back.is_visible()
    field.fill(words)
    some = cards.count()
    assert 1 < some < every and len(page.evaluate(LISTED)) == some
    assert all(
        word in text.lower()
        for _, text in page.evaluate(LISTED)
        for word in words.split()
    )
    page.locator("label:has(#of-entropy)").click()
    assert 0 < cards.count() < some and len(page.evaluate(LISTED)) == cards.count()
    assert re.findall(r"\d+", says.inner_text()) == [
        str(cards.count()),
        str(every),
    ]
    listed = page.evaluate(LISTED)
    page.reload()  # the choice is in the address
    assert page.evaluate(LISTED) == listed and field.input_value() == words
    field.fill("zzzz")
    assert (
        none in says.inner_text() and cards.count() == len(page.evaluate(LISTED)) == 0
    )
    assert says.locator("a").get_attribute("href").endswith("search.html?q=zzzz")
    back.click()
    assert (
        cards.count() == len(page.evaluate(LISTED)) == every
        and field.input_value() == ""
    )
    field.fill("zzzz")
    target = next(iter(curves()))
    page.evaluate("id => (location.hash = id)", target)
    page.locator(f"section#{target}").wait_for(state="visible")
    assert cards.count() == every


OPEN = "() => [...document.querySelectorAll('.symptom[open]')].map((e) => e.innerText)"


def inside(part) -> bool:
    """Whether an element is in the window."""
    box = "e => e.getBoundingClientRect()"
    return part.evaluate(
        f"e => ({box})(e).top >= 0 && ({box})(e).bottom <= innerHeight"
    )


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_a_symptom_is_a_line_that_a_link_and_paper_open(folder, browser, lang, look):
    context = browser.new_context(**measure.LOOKS[look])
    page = context.new_page()
    address = (folder / lang / "book/symptoms.html").as_uri()
    page.goto(address)
    page.add_style_tag(content=measure.WHOLE)
    high = "document.documentElement.scrollHeight"
    lines = page.locator(".listed > .symptom > summary")
    assert lines.count() == len(curves()) and page.evaluate(OPEN) == []
    assert all(44 <= line.bounding_box()["height"] < 100 for line in lines.all())
    low = page.evaluate(high)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".symptom:not([open])").count() == 0
    assert page.evaluate(high) > 3 * low
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(OPEN) == []
    anchor = [*curves()][5]
    for _ in range(2):  # also where one is
        page.locator(f'.finder a[href="#{anchor}"]').click()
        (shown,) = page.evaluate(OPEN)
        assert "\n" in shown
        back, card = (
            page.locator(f"#{anchor} .to-card"),
            page.locator(f"#card-{anchor}"),
        )
        assert not inside(card) and back.bounding_box()["height"] >= 44
        back.click()
        page.wait_for_function(
            "id => document.activeElement.id === id", arg=f"card-{anchor}"
        )
        assert inside(card), "the way back leads to its card"
        page.locator(f"#{anchor} > .symptom > summary > h3").click()
        assert page.evaluate(OPEN) == []
    page.goto("about:blank")
    page.goto(f"{address}#key-reward")
    page.locator(".symptom[open]").wait_for()
    (shown,) = page.evaluate(OPEN)
    assert "critic/rewards/mean" in shown
    page.locator(".symptom[open]").evaluate("e => e.scrollIntoView()")
    assert measure.axe(page) == []
    context.close()


def test_without_a_script_every_symptom_is_told(folder, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "en/book/symptoms.html").as_uri())
    told = page.locator(".listed > .listed > p.log-keys")
    assert told.count() > 40 and all(one.is_visible() for one in told.all())
    context.close()


def test_the_captions_of_plots_and_live_figures_look_alike(folder, page):
    """The claim, what is said below it, and the lines above and below."""
    look = """(pairs) => pairs.map((pair) => pair.map((css) => {
      const { fontSize, fontWeight, fontStyle, lineHeight, color }
        = getComputedStyle(document.querySelector(css));
      return [fontSize, fontWeight, fontStyle, lineHeight, color].join();
    }))"""
    pairs = [
        [".explorer .ex-title", "figcaption .caption-text > strong:first-child"],
        [".explorer .ex-note", "figcaption .caption-text"],
    ]
    frame = [".explorer fieldset", "div.cell_output figure:has(> .fig)"]
    lines = """(all) => all.map((css) => {
      const { borderTop, borderBottom } = getComputedStyle(document.querySelector(css));
      return borderTop + borderBottom;
    })"""
    for width in (1440, 390):
        opened(page, folder, "en/chapters/10_dapo", width)
        for live, still in page.evaluate(look, pairs):
            assert live == still
        one, other = page.evaluate(lines, frame)
        assert one == other and "1px solid" in one


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_on_a_phone_the_matrix_of_the_zoo_is_a_line_for_each_algorithm(
    folder, page, lang
):
    opened(page, folder, f"{lang}/book/zoo", 390, 844)
    assert not page.locator(".zoo-matrix").is_visible()
    lines = page.locator(".zoo-list li")
    assert lines.count() == len(ALGORITHMS)
    said = dict(line.split(" ", 1) for line in lines.all_inner_texts()[:4])
    assert said["RLOO"] == "advantage, kl_coef"
    for line in lines.all():
        box = line.bounding_box()
        assert box["x"] >= 16 and box["x"] + box["width"] <= 374


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_tables_plots_and_outputs_end_where_the_text_ends_or_where_figures_do(
    folder, page, lang
):
    for name in ("07_kl", "10_dapo"):
        opened(page, folder, f"{lang}/chapters/{name}")
        page.evaluate(measure.UNCOVER)
        head = page.locator(".chapter-head").bounding_box()
        text = page.locator("article > section > section > p").first
        left, widths = head["x"], {text.bounding_box()["width"], head["width"]}
        printed = page.locator("table.printed")
        assert printed.count() >= 3
        for table in page.locator("article table.table:visible").all():
            box = table.bounding_box()
            assert box["x"] == pytest.approx(left, abs=1)
            assert box["width"] >= min(widths) - 1
            assert box["width"] <= max(widths) + 1
        for plot in page.locator("article .fig:has(> svg:only-child):visible").all():
            assert plot.bounding_box()["width"] == pytest.approx(min(widths), abs=1)


def test_the_two_humps_and_their_bars_stand_beside_each_other(folder, page):
    opened(page, folder, "en/chapters/07_kl")
    figure = page.locator(".explorer[data-xp=two_humps]")
    assert figure.bounding_box()["height"] <= 480
    above, below = (plot.bounding_box() for plot in figure.locator(".axes").all())
    assert above["y"] == below["y"] and above["height"] == below["height"]


def test_the_matrix_of_the_zoo_keeps_its_names_in_view_and_says_that_more_follows(
    folder, page
):
    opened(page, folder, "en/book/zoo")
    table = page.locator(".zoo-matrix")
    text = page.locator("article > section > p").first.bounding_box()
    assert table.bounding_box()["x"] == text["x"]
    opened(page, folder, "en/book/zoo", 700, 500)
    box = page.locator(".pst-scrollable-table-container:has(.zoo-matrix)")
    faded = "e => getComputedStyle(e).maskImage !== 'none'"
    box.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('.more > .zoo-matrix') !== null")
    assert box.evaluate(faded)
    box.evaluate("e => e.scrollTo(200, 150)")
    frame = box.bounding_box()
    name = page.locator(".zoo-matrix tbody th").nth(9).bounding_box()
    head = page.locator(".zoo-matrix thead th").nth(9).bounding_box()
    assert name["x"] == pytest.approx(frame["x"], abs=1)
    assert head["y"] == pytest.approx(frame["y"], abs=1)
    box.evaluate("e => e.scrollTo(9999, 0)")
    page.wait_for_function("document.querySelector('.more > .zoo-matrix') === null")
    assert not box.evaluate(faded)


@pytest.mark.parametrize("width", [1440, 390])
def test_a_plot_of_the_playground_has_room_and_one_without_data_is_a_line(
    folder, page, width
):
    page.emulate_media(reduced_motion="reduce")
    opened(page, folder, "en/book/playground", width)
    page.evaluate("document.querySelector('.pg-step').click()")  # some curves come then
    silent = page.locator(".pg-chart.pg-silent")
    silent.first.wait_for()
    assert silent.count() > 0 and not silent.locator("canvas:visible").count()
    assert max(box.bounding_box()["height"] for box in silent.all()) < 60
    for canvas in page.locator(".pg-chart:not(.pg-silent) canvas").all():
        drawn, box = canvas.evaluate("e => e.width / devicePixelRatio"), canvas
        assert drawn == pytest.approx(box.bounding_box()["width"], abs=1)
        big = canvas.evaluate("e => e.parentElement.matches('.pg-big')")
        assert drawn >= (220 if big or width > 600 else 150)  # two small ones in a row
    ends = page.eval_on_selector_all(
        ".pg-chart:not(.pg-silent) canvas",
        """all => all.map((canvas) => {
          const { width, height } = canvas, pen = canvas.getContext("2d");
          const drawn = (x) => pen.getImageData(x, 0, 1, height).data.some(Boolean);
          let x = width - 1;
          while (x && !drawn(x)) x--;
          return canvas.clientWidth * (1 - x / width);
        })""",
    )
    assert max(ends) < 80, "a plot fills its column but for the names of its curves"
    caption, signs = page.locator(".pg-cap:has(.pg-about)"), page.locator(".pg-signs")
    assert "■" in caption.inner_text()
    under = caption.bounding_box()["y"] + caption.bounding_box()["height"]
    assert signs.bounding_box()["y"] >= under
    told = page.locator("article section details")
    assert told.count() >= 17 and not told.locator("table:visible").count()
    page.evaluate("location.hash = 'two-prompts-one-row'")
    page.locator("#two-prompts-one-row table").wait_for(state="visible")


@pytest.mark.parametrize(("width", "least"), [(1440, 240), (390, 190)])
@pytest.mark.parametrize("name", ["en/chapters/10_dapo", "zh/chapters/14_agents"])
def test_every_panel_of_a_static_plot_has_room(folder, page, name, width, least):
    opened(page, folder, name, width)
    page.evaluate(measure.UNCOVER)
    panels = "all => all.map((svg) => svg.getBoundingClientRect().width)"
    widths = page.eval_on_selector_all(".fig > svg", panels)
    assert widths and min(widths) > least, widths
    alone = page.eval_on_selector_all(".fig > svg:only-child", panels)
    column = page.eval_on_selector(
        "article section section > p", "p => p.getBoundingClientRect().width"
    )
    assert alone and min(alone) > 0.97 * column, (
        alone,
        column,
    )  # in a side as its text


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_what_is_folded_stands_beside_the_text_and_over_nothing(folder, page, lang):
    for chapter in ("05_critics_gae", "01_tokens_as_actions"):
        opened(page, folder, f"{lang}/chapters/{chapter}", 1440)
        lines, rooms, met, cut = page.evaluate(
            """() => {
              const parts = document.querySelectorAll("article > section > section");
              for (const part of parts) part.style.contentVisibility = "visible";
              const folds = ".tag_hide-cell > details.hide, details.hint";
              const closed = [...document.querySelectorAll(folds)].filter(
                (e) => e.checkVisibility() && !e.open);
              const box = (e) => e.getBoundingClientRect();
              const lines = closed.map((e) => box(e.firstElementChild));
              const text = "article :is(p, li, pre, table, h2, .explorer, .predict)";
              const others = [...document.querySelectorAll(text)]
                .filter((e) => e.checkVisibility() && !e.closest("summary"))
                .map((e) => {
                  const all = document.createRange();
                  all.selectNodeContents(e);
                  return e.matches("p, li, h2") ? box(all) : box(e);
                });
              const meet = (a, b) => a !== b && a.left < b.right - 1
                && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
              return [lines.length, closed.filter((e) => e.offsetHeight).length,
                lines.filter((a) =>
                  [...lines, ...others].some((b) => meet(a, b))).length,
                closed.filter((e, i) => // what is painted ends with the section
                  lines[i].right > box(e.closest("section")).right + 1).length];
            }"""
        )
        assert lines > 15 and (rooms, met, cut) == (0, 0, 0), chapter
