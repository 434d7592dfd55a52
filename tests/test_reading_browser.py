"""Reading the built site: places, contents, search, cards, print, the start page."""

import random
import re

import pytest
import yaml
from quick import some
from test_site_build import ROOT, load

from tokenbook.languages.pages import slug
from tokenbook.symptoms import log_keys
from tokenbook.symptoms.index_page import curves

measure = load("measure")

pytestmark = pytest.mark.browser
CHAPTERS = sorted(path.stem for path in (ROOT / "chapters").glob("[0-9]*.ipynb"))
OTHER = {"zh": "en", "en": "zh"}
PLACES = 20
BLOCKS = "article section[id], article .cell, article div.math.display"
WHERE = f"""() => {{
  const blocks = [...document.querySelectorAll('{BLOCKS}')];
  const passed = (b) => b.getBoundingClientRect().top <= 96;
  const above = blocks.findLastIndex((b) => b.checkVisibility() && passed(b));
  const sections = [...document.querySelectorAll("article > section > section[id]")];
  const at = sections.findLast((s) => s.getBoundingClientRect().top <= 96);
  const marked = [...document.querySelectorAll(".section-nav .now > a")].pop();
  const boxes = [".sidebar-primary-item", ".here > .section-nav"]
    .map((css) => marked?.closest(css).getBoundingClientRect());
  const line = marked?.getBoundingClientRect();
  return {{
    block: above,
    section: at?.id ?? null,
    marked: marked ? marked.hash.slice(1) : null,
    inView: !marked || boxes.every((b) => b.top <= line.top && line.bottom <= b.bottom),
  }};
}}"""
SWITCH = "document.querySelector('a.language-switch').click()"
CALM = """() => new Promise((done) => {
  let last = null, still = 0;
  const look = () => {
    const now = `${scrollY} ${document.documentElement.scrollHeight}`;
    still = now === last ? still + 1 : 0;
    last = now;
    still > 4 ? done() : requestAnimationFrame(look);
  };
  look();
})"""


def calm(page):
    """Wait until nothing scrolls and nothing is laid out any more."""
    page.evaluate(CALM)


@pytest.mark.parametrize("chapter", some(CHAPTERS, CHAPTERS[6], CHAPTERS[15]))
def test_the_language_switch_and_the_contents_know_the_place(folder, page, chapter):
    """At random places, in both directions, also where no link was clicked.

    The machine is never idle here: sections are laid out only as they come near.
    """
    page.add_init_script("requestIdleCallback = () => 0")
    rng, found = random.Random(chapter), []
    page.set_viewport_size({"width": 1440, "height": 900})
    for n in range(PLACES):
        lang = ("zh", "en")[n % 2]
        if n == 0:  # after that, each switch leads to the page that comes next
            page.goto((folder / lang / f"chapters/{chapter}.html").as_uri())
        share = rng.random()
        page.evaluate(f"scrollTo(0, {share} * document.documentElement.scrollHeight)")
        calm(page)
        before = page.evaluate(WHERE)
        page.evaluate(SWITCH)
        page.wait_for_url(f"**/{OTHER[lang]}/**")
        calm(page)
        after = page.evaluate(WHERE)
        found += [
            f"{lang} {share:.3f}: {before} {after}"
            for here in (before, after)
            if here["marked"] != here["section"] or not here["inView"]
        ]
        if abs(before["block"] - after["block"]) > 0:
            found.append(f"{lang} {share:.3f}: from {before} to {after}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_language_switch_stays_where_a_link_of_the_contents_led(folder, page, n):
    """The button of the bar is in view at once, so that reaching it scrolls nothing."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto((folder / "zh" / "chapters/06_ppo.html").as_uri())
    link = page.locator(".section-nav > li > a").nth(n)
    wanted = link.get_attribute("href").removeprefix("#")
    link.evaluate("link => link.click()")
    calm(page)
    top = f"document.getElementById('{wanted}').getBoundingClientRect().top"
    before = page.evaluate(top)
    page.locator("a.language-switch").click()
    page.wait_for_url(f"**/en/**#{wanted}")
    calm(page)
    assert abs(page.evaluate(top) - before) <= 2


def test_the_language_switch_keeps_how_the_dials_stand_and_a_later_visit_does_not(
    folder, page
):
    page.goto((folder / "en/chapters/06_ppo.html").as_uri())
    figures, sliders = ".explorer.ready", "input[type=range][data-key]"
    page.locator(figures).nth(1).locator(".ex-presets button").last.click()
    slider = page.locator(figures).nth(3).locator(sliders).first
    slider.focus()
    page.keyboard.press("End")
    values = f"all => all.map((e) => e.closest('{figures}') && e.value)"
    moved = page.eval_on_selector_all(sliders, values)
    page.evaluate(SWITCH)
    page.wait_for_url("**/zh/**")
    page.wait_for_selector(figures)
    assert page.eval_on_selector_all(sliders, values) == moved
    page.reload()
    page.wait_for_selector(figures)
    assert page.eval_on_selector_all(sliders, values) != moved


@pytest.mark.parametrize("below", some([96, 97], 96))
def test_the_language_switch_stays_within_its_block_at_the_edges(folder, page, below):
    """A heading on the line, or just under it: what is above it stays what it was."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto((folder / "zh" / "chapters/12_stale_data.html").as_uri())
    for n in range(2, 10):
        page.evaluate(f"""() => {{
          const heads = document.querySelectorAll("article > section section[id]");
          scrollBy(0, Math.floor(heads[{n}].getBoundingClientRect().top) - {below});
        }}""")
        calm(page)
        before = page.evaluate(WHERE)
        page.evaluate(SWITCH)
        page.wait_for_url(f"**/{('en', 'zh')[n % 2]}/**")
        calm(page)
        assert page.evaluate(WHERE)["block"] == before["block"], before


@pytest.mark.parametrize("chapter", [CHAPTERS[6], CHAPTERS[-2]])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_contents_show_where_the_reader_is_and_what_is_looked_up(
    folder, page, chapter, width, height
):
    """All sections in one list, and the current one in view, deep in a chapter too."""
    page.set_viewport_size({"width": width, "height": height})
    page.goto((folder / "en" / f"chapters/{chapter}.html").as_uri())
    page.evaluate("document.getElementById('exercises').scrollIntoView()")
    calm(page)
    if width == 390:
        page.click(".primary-toggle")
    page.locator(".book-foot").wait_for(state="visible")
    page.wait_for_function("""() => {
      const { top, bottom } = document.querySelector(".book-nav")
        .closest(".sidebar-primary-item").getBoundingClientRect();
      const here = document.querySelector(".book-nav .here");
      const marked = here.querySelector("[aria-current=location]");
      const parts = here.querySelector(".section-nav");
      if (parts.scrollHeight > parts.clientHeight) return false;
      const box = marked.getBoundingClientRect();
      return box.top >= top - 1 && box.bottom <= bottom + 1;
    }""")
    cut, longer = page.evaluate("""() => {
      const nav = document.querySelector(".book-nav");
      const box = (e) => e.getBoundingClientRect();
      const { top } = box(nav.closest(".sidebar-primary-item"));
      const [title, ...rows] = [".here > a[data-page]", "li:not(.here) > a"]
        .flatMap((css) => [...nav.querySelectorAll(css)]).filter((a) => a.offsetHeight);
      const edge = box(title).top < top + 1 ? box(title).bottom : top;
      const over = (row) => box(row).top < edge - 1 && box(row).bottom > edge + 1;
      const longer = rows.filter((a) => a.scrollHeight > a.clientHeight);
      return [rows.filter(over).length, longer.map((a) => a.textContent)];
    }""")
    assert cut == 0, "no name is cut by the upper edge"
    assert longer == [], "and none ends before its last word"
    foot = page.locator(".book-foot").bounding_box()
    links = page.locator(".book-foot a")
    assert links.count() == 6
    assert foot["y"] + foot["height"] <= height
    assert min(link.bounding_box()["height"] for link in links.all()) >= 24


@pytest.mark.parametrize("name", ["chapters/05_critics_gae", "book/symptoms"])
def test_the_contents_stand_still_while_one_reads(folder, page, name):
    """No section opens or closes, and under the mouse the list does not scroll."""
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto((folder / "en" / f"{name}.html").as_uri())
    calm(page)
    page.locator(".book-nav li.here").hover()
    nav = page.locator(".book-nav")
    before, marked = nav.bounding_box(), set()
    for share in (0.25, 0.4, 0.55, 0.7, 0.9):
        page.evaluate(f"scrollTo(0, {share} * document.documentElement.scrollHeight)")
        calm(page)
        assert nav.bounding_box() == before
        current = page.locator(".section-nav [aria-current=location]")
        marked.add(current.get_attribute("href"))
    assert len(marked) >= 3


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("name", ["chapters/06_ppo", "book/symptoms", "book/api"])
def test_no_page_is_linked_twice_in_the_contents(folder, page, lang, name):
    page.goto((folder / lang / f"{name}.html").as_uri())
    links = ".book-nav a[data-page], .book-foot a"
    to = page.locator(links).evaluate_all("all => all.map((a) => a.href)")
    to = [one.removesuffix("#") for one in to]
    assert len(to) == len({*to}) > 25
    assert to[0].endswith("/index.html"), "the start stays first"
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    pages = {one["file"] for part in toc["parts"] for one in part["chapters"]}
    linked = {one.split(f"/{lang}/")[1].removesuffix(".html") for one in to}
    assert linked >= pages - {name}


@pytest.mark.parametrize("lang", some(["zh", "en"], "zh"))
def test_every_prediction_covers_its_output_and_the_paragraph_that_answers(
    folder, page, lang
):
    """Cells that are folded between the two leak nothing."""
    for chapter in CHAPTERS:
        page.goto((folder / lang / f"chapters/{chapter}.html").as_uri())
        cells, outputs, shown, others = page.evaluate(
            """() => {
              const cells = [...document.querySelectorAll(".cell.predicted")];
              const after = cells.map((cell) => {
                let next = cell.nextElementSibling;
                while (next?.querySelector("details.hide:not([open])")) {
                  next = next.nextElementSibling;
                }
                return next;
              });
              const covered = [...document.querySelectorAll(".covered")];
              const others = covered.filter((x) => !x.closest(".cell.predicted"));
              return [cells.length, covered.length - others.length,
                after.filter((x) => x?.matches("p:not(.covered)")).length,
                others.filter((x) => !after.includes(x)
                  && !x.closest(".tag_answers")).length];
            }"""
        )
        assert (outputs, shown, others) == (cells, 0, 0), chapter


def test_a_chapter_is_ticked_once_its_sections_were_seen_and_not_by_a_jump(
    folder, page
):
    address = (folder / "zh" / "chapters/06_ppo.html").as_uri()
    tick = page.locator('.book-nav a[data-page="chapters/06_ppo"].read')
    page.goto(f"{address}#exercises")
    calm(page)
    assert tick.count() == 0
    ids = page.eval_on_selector_all(
        "article > section > section[id]", "all => all.map((s) => s.id)"
    )
    for name in ids:
        page.evaluate("id => document.getElementById(id).scrollIntoView()", name)
        calm(page)
    assert tick.count() == 1
    page.goto((folder / "en" / "book/glossary.html").as_uri())
    assert tick.count() == 1


def test_the_start_page_leads_back_to_where_the_reader_stopped(folder, page):
    """In either language, and its map ticks what was read."""
    start = (folder / "en" / "book/index.html").as_uri()
    page.goto(start)
    button = page.locator(".start-reading a")
    assert button.get_attribute("href").endswith("00_grpo_in_forty_lines.html")
    page.goto((folder / "zh" / "chapters/06_ppo.html").as_uri())
    page.evaluate("document.getElementById('the-whole-loop').scrollIntoView()")
    calm(page)
    page.evaluate("localStorage.setItem('read chapters/06_ppo', 1)")
    page.goto(start)
    assert button.get_attribute("href") == "../chapters/06_ppo.html#the-whole-loop"
    assert button.inner_text().split() == ["Go", "on", "reading", "6", "PPO"]
    assert page.locator(".map a.read").all_text_contents() == ["6 PPO"]
    said = page.locator(".in-order a.read").evaluate(
        "a => getComputedStyle(a, '::after').content"
    )
    assert '"read"' in said, "a word: a tick says correct"
    page.goto((folder / "en" / "chapters/06_ppo.html").as_uri())
    page.evaluate("document.getElementById('exercises').scrollIntoView()")
    calm(page)
    page.goto(start)  # read to its end: on to the next chapter
    assert button.get_attribute("href") == "../chapters/07_kl.html"


@pytest.mark.parametrize("width", [390, 1440])
def test_a_link_that_moves_a_figure_far_above_has_a_way_back(folder, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto((folder / "en" / "chapters/03_baselines.html").as_uri())
    far, back = page.locator("article a[data-xp=one_draw]"), page.locator(".way-back")
    far.evaluate("e => e.scrollIntoView({ block: 'center' })")
    calm(page)
    assert back.is_hidden()
    far.click()
    back.wait_for(state="visible")
    back.click()
    back.wait_for(state="hidden")
    calm(page)
    top = far.evaluate("e => e.getBoundingClientRect().top")
    assert 96 < top < 700 and far.evaluate("e => e === document.activeElement")


def test_a_line_shows_how_far_the_reader_is(folder, page):
    page.goto((folder / "en" / "chapters/06_ppo.html").as_uri())
    share = "+document.querySelector('.progress-line').style.getPropertyValue('--done')"
    assert page.evaluate(share) < 0.1
    for section, least, most in (("the-whole-loop", 0.2, 0.95), ("exercises", 1, 1)):
        page.evaluate("id => document.getElementById(id).scrollIntoView()", section)
        calm(page)
        assert least <= page.evaluate(share) <= most, "it counts the main road"


@pytest.mark.parametrize(
    ("lang", "query", "first"),
    [
        ("zh", "GAE", "chapters/05"),
        ("zh", "裁剪比例", "chapters/06"),
        ("zh", "重要性采样", "chapters/06"),
        ("zh", "动态采样", "chapters/10"),
        ("zh", "留一法", "chapters/03"),
        ("zh", "策略梯度", "chapters/02"),
        ("zh", "GRPO", "chapters/08"),
        ("en", "GAE", "chapters/05"),
        ("en", "clip", "chapters/06_ppo.html#the-clip"),
        ("en", "clip fraction", "chapters/06"),
        ("en", "importance sampling", "chapters/06"),
        ("en", "dynamic sampling", "chapters/10"),
        ("en", "baseline", "chapters/03"),
        ("en", "temperature", "chapters/01"),
        ("en", "Clip-Higher", "chapters/10"),
        ("en", "clip hig", "chapters/10"),
        ("en", "loss aggregation", "chapters/09"),
        ("en", "GSPO", "chapters/11"),
        ("en", "GRPO", "chapters/08"),
    ],
)
def test_the_first_place_found_is_the_chapter_that_teaches_the_term(
    folder, page, lang, query, first
):
    page.goto(f"{(folder / lang / 'search.html').as_uri()}?q={query}")
    link = page.locator("#search-results li a").first
    assert link.get_attribute("href").startswith(f"./{first}")


@pytest.mark.parametrize(("lang", "term"), [("zh", "优势"), ("en", "advantage")])
def test_the_dialog_offers_the_definition_of_a_term(folder, page, lang, term):
    page.goto((folder / lang / "book/index.html").as_uri())
    page.keyboard.press("Control+k")
    page.keyboard.type(term)
    hits = page.locator("#search-hits a[role=option]")
    hits.first.wait_for()
    found = hits.evaluate_all(
        "all => all.map((a) => [a.firstChild.textContent, a.href])"
    )
    text, to = found[1]  # after the section that teaches it
    assert "chapters/" in found[0][1] and text == term and "glossary.html#credit" in to


@pytest.mark.parametrize("query", ["{}", "gspo {}"])
def test_both_spellings_are_found(folder, page, query):
    found = []
    for spelling in ("normalisation", "normalization"):
        asked = f"{(folder / 'en' / 'search.html').as_uri()}?q={query.format(spelling)}"
        page.goto(asked)
        page.wait_for_selector("#search-results li a")
        links = page.locator("#search-results li a")
        found.append(links.evaluate_all("all => all.map((a) => a.href)"))
    assert found[0] == found[1] != []


@pytest.mark.parametrize(
    ("lang", "question", "answer"),
    [
        ("en", "why does my loss go to zero", "The loss is 0, yet it learns"),
        ("en", "why is the reward not going up", "The reward never rises"),
        ("en", "why is my reward flat", "The reward never rises"),
        ("en", "why does the entropy collapse", "The entropy quickly falls to 0"),
        ("en", "why do responses get longer", "Responses grow longer"),
        ("zh", "为什么我的奖励不涨", "奖励一直不涨"),
        ("zh", "奖励一直是平的", "奖励一直不涨"),
        ("zh", "熵塌了怎么办", "熵很快掉到 0"),
        ("zh", "为什么奖励不涨", "奖励一直不涨"),
        ("zh", "损失为零", "损失是 0，比率是 1，裁剪比例是 0，策略却在学"),
        ("en", "why is my gradient norm exploding", "The gradient norm spikes"),
        ("en", "why is training so slow", "A step takes long"),
        ("zh", "梯度爆炸怎么办", "梯度的模突然跳起来"),
        ("en", "why is kl = nan in GRPO", "The KL is NaN or infinite"),
        ("zh", "为什么 grad_norm = nan", "损失里出现 NaN"),
        ("en", "my responses are cut off", "Finished responses are counted as cut"),
    ],
)
def test_a_question_finds_what_answers_it(folder, page, lang, question, answer):
    page.goto(f"{(folder / lang / 'search.html').as_uri()}?q={question}")
    page.wait_for_selector("#search-results li a")
    shown = page.locator("#search-results li a")
    texts = shown.all_inner_texts()[:10]
    assert any(text.startswith(answer) for text in texts)
    if re.search("why (is|do)|^my|为什么我|平的|怎么办", question):
        assert "book/symptoms.html#" in shown.first.get_attribute("href")


FIRST = """queries => {
  const field = document.getElementById("search-field"), found = [];
  for (const query of queries) {
    field.value = query;
    field.dispatchEvent(new Event("input"));
    const links = [...document.querySelectorAll("#search-results a")];
    found.push(links.slice(0, 10).map((a) => [a.textContent, a.getAttribute("href")]));
  }
  return found;
}"""  # what is found first of each


def found(page, folder, lang: str, queries: list[str]) -> list[list[list[str]]]:
    """Return (text, address) of the first ten hits of each query."""
    page.goto((folder / lang / "search.html").as_uri())
    return page.evaluate(FIRST, queries)


@pytest.mark.parametrize(
    ("lang", "query", "first"),
    [
        ("en", "importance ratio", ["book/glossary"]),
        ("zh", "比率", ["book/glossary"]),
        ("en", "KL", ["chapters/07_kl.html", "book/glossary"]),
        ("zh", "KL", ["chapters/07_kl.html", "book/glossary"]),
        ("en", "policy", ["chapters/02", "book/glossary.html#policies"]),
        ("en", "GAE", ["chapters/05", "chapters/05"]),
        ("en", "k3 estimator", ["chapters/07_kl.html#three-estimators"]),
        ("zh", "k3 估计", ["chapters/07_kl.html#three-estimators"]),
        ("en", "entropy collapse", ["chapters/16_what_came_after.html#gradient-why"]),
        ("zh", "熵坍缩", ["chapters/16_what_came_after.html#gradient-why"]),
        ("en", "how do I run it", ["book/index.html#how-to-run-it"]),
        ("zh", "怎么运行", ["book/index.html#how-to-run-it"]),
    ],
)
def test_what_is_called_as_one_asks_is_found_first(folder, page, lang, query, first):
    page.goto((folder / lang / "book/zoo.html").as_uri())
    page.keyboard.press("Control+k")
    page.keyboard.type(query)
    hits = page.locator("#search-hits a[role=option]")
    hits.first.wait_for()
    to = hits.evaluate_all("all => all.map((a) => a.getAttribute('href'))")
    for place, link in zip(first, to, strict=False):
        assert link.startswith(f"../{place}")
    (on_page,) = found(page, folder, lang, [query])
    assert first[0] in on_page[0][1]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_key_of_a_log_finds_its_line_first(folder, page, lang):
    of, keys = {}, {}
    for row in log_keys.data("keys"):
        of[f"./book/symptoms.html#key-{row['quantity']}"] = row["quantity"]
        keys.setdefault(row["key"], set()).add(row["quantity"])
    hits = found(page, folder, lang, [key.replace("*", "some") for key in keys])
    for key, ((text, address), *_) in zip(keys, hits, strict=True):
        assert text == key and of[address] in keys[key]
    page.goto((folder / lang / "book/symptoms.html").as_uri())
    anchors = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert {f"key-{quantity}" for quantity in of.values()} <= set(anchors)
    assert len(anchors) == len(set(anchors))


@pytest.mark.parametrize(
    ("lang", "pasted", "keys", "symptom"),
    [
        (
            "en",
            "{'loss': 0.0, 'grad_norm': nan, 'reward': 0.25}",
            ["loss", "grad_norm", "reward"],
            "nan-in-the-loss-or-a-huge-advantage",
        ),
        (
            "zh",
            "step:34 - actor/ppo_kl:-8.16e-06 - actor/grad_norm:0.129",
            ["actor/ppo_kl", "actor/grad_norm"],
            "",
        ),
        (
            "en",
            "sampling_importance_ratio 0.0596",
            ["sampling_importance_ratio"],
            "the-mean-importance-weight-is-far-below-1",
        ),
        (
            "zh",
            "frac_reward_zero_sdt",
            ["frac_reward_zero_std"],
            "many-groups-have-equal-rewards",
        ),
        (
            "en",
            "RuntimeError: probability tensor contains either `inf`, `nan` or element",
            [],
            "nan-in-the-loss-or-a-huge-advantage",
        ),
        (
            "zh",
            "RuntimeError: element 0 of tensors does not require a grad and does not "
            "have a grad_fn",
            [],
            "rewards-differ-and-the-gradient-is-0",
        ),
    ],
)
def test_what_is_pasted_finds_its_keys_then_its_symptom(
    folder, page, lang, pasted, keys, symptom
):
    (hits,) = found(page, folder, lang, [pasted])
    assert [text for text, _ in hits[: len(keys)]] == keys
    assert hits[len(keys)][1].startswith(f"./book/symptoms.html#{symptom}")
    reader = page.locator("#search-says a")
    assert reader.count() == (len(keys) > 1)


@pytest.mark.parametrize(
    ("lang", "slip", "meant"),
    [
        ("en", "entorpy colapse", "the-entropy-quickly-falls-to-0"),
        ("en", "reward hakcing", "reward-hacking-the-policy-learns-what-is-paid"),
        ("zh", "奖励黑克", "the-reward-reaches-its-top-and-what-you-wanted-does-not"),
        ("zh", "裁减比例", "loss-0-ratio-1-clip-fraction-0-and-yet-it-learns"),
    ],
)
def test_a_slip_finds_what_was_meant(folder, page, lang, slip, meant):
    (hits,) = found(page, folder, lang, [slip])
    assert hits[0][1].endswith(f"#{meant}")


def test_titles_of_public_reports_find_their_symptom_first(folder, page):
    """Titles as they were written; some say too little to be found.

    Those marked "held" tuned nothing: 86 were drawn by a hash of the title, 19 were met
    when nothing was changed any more. 90 of them are found, 68 by the search before.
    """
    lines = (ROOT / "tests" / "reports.tsv").read_text("utf-8").splitlines()
    reports = [(*line.split("\t"), "")[:3] for line in lines]
    first = {"": [], "held": []}
    for lang, ours in (("zh", True), ("en", False)):
        some_reports = [r for r in reports if ours == bool(re.search("[一-鿿]", r[1]))]
        hits = found(page, folder, lang, [title for _, title, _ in some_reports])
        for (symptoms, _, held), (*top,) in zip(some_reports, hits, strict=True):
            anchor = top[0][1].partition("#")[2] if top else ""
            first[held].append(anchor in symptoms.split("|"))
    tuned, held = first[""], first["held"]
    assert (len(tuned), len(held)) == (293, 105)
    assert sum(tuned) >= 0.89 * len(tuned) and sum(held) >= 0.8 * len(held)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_symptom_and_every_interview_question_is_found_by_its_own_words(
    folder, page, lang
):
    titles = log_keys.titles(lang)
    wanted = [anchor for anchor in titles if anchor in curves()]
    hits = found(page, folder, lang, [titles[anchor] for anchor in wanted])
    for anchor, some_hits in zip(wanted, hits, strict=True):
        assert any(to.endswith(f"#{anchor}") for _, to in some_hits[:3]), anchor
    page.goto((folder / lang / "book/interview.html").as_uri())
    asked = page.eval_on_selector_all(
        "details.qa",
        "all => all.map((q) => [q.id, q.querySelector('summary span').textContent])",
    )
    assert len(asked) > 150 and len({anchor for anchor, _ in asked}) == len(asked)
    hits = found(page, folder, lang, [question for _, question in asked])
    for (anchor, question), some_hits in zip(asked, hits, strict=True):
        ends = {to.partition("#")[2] for _, to in some_hits}
        assert anchor in ends, question
    page.goto(f"{(folder / lang / 'book/interview.html').as_uri()}#{asked[70][0]}")
    opened = page.locator("details.qa[open]")
    assert opened.count() == 1 and opened.get_attribute("id") == asked[70][0]


def test_a_word_is_found_whole_and_the_beginnings_of_words_come_last_and_say_so(
    folder, page
):
    page.goto(f"{(folder / 'en' / 'search.html').as_uri()}?q=norm")
    page.wait_for_selector("#search-results mark")
    marked = {one.lower() for one in page.locator("mark").all_inner_texts()}
    assert "norm" in marked and marked <= {"norm", "norms", "normed"}
    page.fill("#search-field", "advant")
    assert page.inner_text("#search-says").startswith("No word “advant”; ")
    assert {one.lower() for one in page.locator("mark").all_inner_texts()} == {"advant"}


def test_an_anchor_of_the_glossary_names_its_own_heading(folder, page):
    page.goto((folder / "en" / "book/glossary.html").as_uri())
    heads = page.locator("article section section[id] > h2")
    found = heads.evaluate_all(
        "all => all.map((h) => [h.parentElement.id, h.textContent])"
    )
    assert len(found) > 5
    assert all(anchor == slug(title.removesuffix("#")) for anchor, title in found)


def test_an_excerpt_is_prose_and_a_result_leaves_no_marks(folder, page):
    page.goto(f"{(folder / 'en' / 'search.html').as_uri()}?q=clip fraction")
    excerpts = page.locator("#search-results li p").all_inner_texts()
    assert all("\\" not in text and "$" not in text for text in excerpts)
    assert page.locator("#search-results mark").count() > 0
    page.locator("#search-results li a").first.click()
    page.wait_for_url("**/chapters/06_ppo.html#*")
    assert "highlight" not in page.url
    assert page.locator("article mark, .highlighted, #searchbox *").count() == 0


def test_a_query_without_an_answer_says_so(folder, page):
    page.goto(f"{(folder / 'zh' / 'search.html').as_uri()}?q=zzzz")
    assert "没有找到" in page.inner_text("#search-says")


def test_a_term_shows_its_card_to_pointer_and_keyboard(folder, page):
    page.goto((folder / "en" / "chapters/06_ppo.html").as_uri())
    term, card = page.locator("article a.term").first, page.locator("#hover-card")
    assert card.is_hidden()
    term.hover()
    card.wait_for(state="visible")
    assert len(card.inner_text()) > 20
    assert term.get_attribute("aria-describedby") == "hover-card"
    page.keyboard.press("Escape")
    assert card.is_hidden()
    page.locator("a.term").first.evaluate("e => e.focus({ focusVisible: true })")
    card.wait_for(state="visible")
    source = page.locator('article a[href*="references.html#"]:visible').first
    source.scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # what came into view is laid out, and pushes no more
    source.hover()
    page.wait_for_function(
        "/arXiv|19|20/.test(document.getElementById('hover-card').textContent)"
    )


def test_a_term_without_a_script_leads_to_its_row(folder, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "zh" / "chapters/06_ppo.html").as_uri())
    target = page.locator("article a.term").first.get_attribute("href")
    page.goto((folder / "zh" / "chapters" / target.split("#")[0]).resolve().as_uri())
    assert page.locator(f"#{target.split('#')[1]}").count() == 1
    context.close()


def test_print_unfolds_answers_splits_nothing_and_folds_again(folder, page):
    page.goto((folder / "en" / "chapters/06_ppo.html").as_uri())
    closed = page.locator("article details:not([open])")
    count = closed.count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert closed.count() == 0
    page.emulate_media(media="print")
    for part in (".explorer", ".cell_input", "div.math.display", ".predict", "h2"):
        for one in page.locator(f"article {part}").all()[:3]:
            rule = one.evaluate("e => getComputedStyle(e).breakInside")
            assert rule == "avoid", part
    for gone in (".bd-sidebar-primary", ".ex-dials", ".progress-line"):
        assert not page.locator(gone).first.is_visible(), gone
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert closed.count() == count


def rewritten() -> list[str]:
    """The chapters whose pictures are marked as such."""
    texts = {
        name: (ROOT / "chapters" / f"{name}.ipynb").read_text("utf-8")
        for name in CHAPTERS
    }
    return [name for name, text in texts.items() if '"picture"' in text]


@pytest.mark.parametrize("lang", some(["zh", "en"], "en"))
@pytest.mark.parametrize("chapter", rewritten())
def test_the_first_picture_of_a_chapter_is_in_the_first_screen(
    folder, page, chapter, lang
):
    for width, height in ((1440, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto((folder / lang / f"chapters/{chapter}.html").as_uri())
        picture = page.locator("article .cell.tag_picture").first.bounding_box()
        assert picture["y"] < height - 100, f"{width}: {picture['y']:.0f} of {height}"


@pytest.mark.parametrize(("lang", "most"), [("zh", 680), ("en", 640)])
def test_lines_of_text_are_short_and_figures_wider(folder, page, lang, most):
    """In a low window the small text before the first picture is a little wider."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto((folder / lang / "chapters/06_ppo.html").as_uri())
    page.add_style_tag(content=measure.WHOLE)
    opening = page.locator("article > section > p").first.bounding_box()
    assert opening["width"] <= 736
    page.set_viewport_size({"width": 1440, "height": 1000})
    widths = page.eval_on_selector_all(
        "article section > p", "all => all.map((p) => p.clientWidth)"
    )
    assert max(widths) <= most
    assert page.locator(".explorer.wide").first.bounding_box()["width"] > most + 100


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_start_page_shows_hero_map_and_doors_in_one_screen(folder, page, lang):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto((folder / lang / "book/index.html").as_uri())
    ends = 0
    for part in ("h1", ".start-reading", ".explorer", ".doors", ".map"):
        box = page.locator(f"article {part}").first.bounding_box()
        assert box["y"] + box["height"] <= 900, part
        apart, ends = box["y"] - ends, box["y"] + box["height"]
    assert apart >= 12, "the doors do not touch the map"
    assert page.locator(".doors a > svg").count() == 4
    numbers = page.locator(".map li b").all_inner_texts()
    assert sorted(map(int, numbers)) == [int(name[:2]) for name in CHAPTERS]
    listed = page.locator(".in-order a").evaluate_all("all => all.map((a) => a.href)")
    assert [re.search(r"chapters/(.+)\.html", link)[1] for link in listed] == CHAPTERS
    page.set_viewport_size({"width": 390, "height": 844})
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide == 390
    tops = page.eval_on_selector_all(
        ".ex-row.heads .ex-chip", "all => all.map((chip) => chip.offsetTop)"
    )
    assert len(set(tops)) == 1, "all tokens share a line"
    live, dials = page.locator(".ex-live"), page.locator(".ex-dials")
    bottom = live.bounding_box()["y"] + live.bounding_box()["height"]
    assert bottom - dials.bounding_box()["y"] < 700, "the figure fits under the bar"


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_start_page_scrolls_sideways_at_no_width_and_has_three_cards_in_a_row(
    folder, page, lang
):
    page.goto((folder / lang / "book/index.html").as_uri())
    for width in (320, 390, 600, 768, 959, 960, 976, 991, 1100, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    cards = page.locator("article section:nth-of-type(3) > ul > li").all()
    assert len({card.bounding_box()["y"] for card in cards}) == 1 < len(cards) == 3


def test_the_page_for_a_dead_link_leads_back_from_any_depth(folder, page):
    with measure.served(folder) as address:
        page.goto(f"{address}404.html")
        assert measure.axe(page) == []
        text = page.content()
        page.route("**/old/**", lambda route: route.fulfill(body=text))
        page.goto(f"{address}en/chapters/old/gone.html")
        page.fill("section[lang=en] input", "GAE")
        page.click("button:text('Search')")
        page.wait_for_url(f"{address}en/search.html?q=GAE")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_page_has_a_description_of_its_own(folder, lang):
    seen = {}
    for name in measure.page_names(folder):
        if name.startswith(f"{lang}/") and "/_modules/" not in name:
            text = (folder / name).read_text(encoding="utf-8")
            said = re.search(r'<meta name="description" content="([^"]*)"', text)
            seen[name] = said[1] if said else None
    lacking = [name for name, said in seen.items() if not said]
    assert set(lacking) <= {f"{lang}/search.html", f"{lang}/_modules/index.html"}
    chapters = [said for name, said in seen.items() if "/chapters/" in name]
    assert len(set(chapters)) == len(chapters)
    assert max(map(len, filter(None, seen.values()))) < 320


def test_the_interview_bank_filters_draws_and_remembers(folder, page):
    page.goto((folder / "en" / "book/interview.html").as_uri())
    shown = page.locator("details.qa:visible")
    every = shown.count()
    page.locator(".bank label:has(input[value=L2])").click()
    assert 0 < shown.count() < every
    page.select_option("#bank-chapter", "6")
    few = shown.count()
    assert 0 < few and "knew 0 of" in page.inner_text(".bank [role=status]")
    page.click("#bank-random")
    focused = page.evaluate("document.activeElement.closest('details.qa') !== null")
    assert focused
    shown.first.locator("summary").click()
    shown.first.locator(".bank-knew").click()
    page.check("#bank-open")
    assert shown.count() == few - 1
    sent = page.evaluate("location.href")  # a list can be sent
    page.goto((folder / "en" / "book/zoo.html").as_uri())
    page.goto(sent)
    assert shown.count() == few - 1 and "level=L2&chapter=6" in sent
    page.goto(f"{sent.partition('?')[0]}?level=L9&chapter=99")
    assert shown.count() == every, "a list that is none is the whole one"
    page.goto((folder / "zh" / "book/interview.html").as_uri())
    assert page.locator("details.qa.known").count() == 1


def test_the_zoo_says_the_source_of_what_is_clicked(folder, page):
    page.goto((folder / "en" / "book/zoo.html").as_uri())
    cell = page.locator(".zoo-matrix button.new").nth(5)
    cell.click()
    assert " = " in page.inner_text("#hover-card")
    assert page.inner_text("#hover-card") == cell.get_attribute("data-cites")
