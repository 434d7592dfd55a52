"""Exercises done in the page: a real Chromium, the real Python, students' habits."""

import gzip
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from quick import some
from test_site_build import ROOT, load

from tokenbook.homework.practice import page as practice
from tokenbook.homework.source import read_homework, student_notebook
from tokenbook.homework.verify import graded, sandbox_for

measure = load("measure")
pytestmark = pytest.mark.browser
CHAPTERS = sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))
GAE = ROOT / "chapters/05_critics_gae.ipynb"
PATIENT = (
    90_000  # ms for the first check: Python starts, and others may use the machine
)


def solutions(path: Path) -> dict[str, str]:
    """The published solution of each exercise of a chapter."""
    return {e.id: e.solution for e in read_homework(path).exercises}


class Reader:
    """A reader at a chapter's exercises."""

    def __init__(self, page, root: str, path: Path, lang: str = "en"):
        self.page, self.requests = page, []
        page.on("request", lambda request: self.requests.append(request.url))
        self.address = f"{root}/{lang}/chapters/{path.stem}.html"
        page.goto(f"{self.address}#exercises")
        page.wait_for_function("window.practised")

    def box(self, name: str):
        return self.page.locator(f'.practice[data-exercise="{name}"]')

    def field(self, name: str):
        return self.box(name).locator("textarea")

    def write(self, name: str, text: str) -> None:
        self.field(name).fill(text)

    def check(self, name: str) -> tuple[str, str]:
        """Press Check; what came of it, and the verdict's words."""
        box = self.box(name)
        box.locator(".practice-check").click()
        self.page.wait_for_function(
            """name => {
              const box = document.querySelector(`[data-exercise="${name}"]`);
              const state = box.querySelector(".practice-state").textContent;
              return box.dataset.came && state === "";
            }""",
            arg=name,
            timeout=PATIENT,
        )
        said = box.locator(".practice-result").inner_text()
        return box.get_attribute("data-came"), said

    def active(self) -> str:
        return self.page.evaluate("document.activeElement.id")


@pytest.fixture(scope="module")
def root(folder):
    with measure.served(folder) as address:
        yield address.rstrip("/")


@pytest.fixture
def read(browser, root):
    """Open a chapter; afterwards nothing may have gone to another host."""
    readers = []

    def opened(path=GAE, lang="en", **context):
        page = browser.new_context(**context).new_page()
        page.set_default_timeout(measure.PATIENCE)
        readers.append(Reader(page, root, path, lang))
        return readers[-1]

    yield opened
    for reader in readers:
        away = [
            u for u in reader.requests if not u.startswith((root, "blob:", "data:"))
        ]
        reader.page.context.close()
        assert not away


@pytest.mark.parametrize("lang", ("zh", "en"))
@pytest.mark.parametrize(
    "path", some(CHAPTERS, GAE, CHAPTERS[9]), ids=lambda path: path.stem
)
def test_every_solution_passes_in_the_page(read, path, lang):
    reader, answers = read(path, lang), solutions(path)
    for name, text in answers.items():
        reader.write(name, text)
    said = {name: reader.check(name) for name in answers}
    assert {name: came for name, (came, _) in said.items()} == dict.fromkeys(
        answers, "passed"
    ), said
    known = practice.words("page", lang)["tally"]
    count = {"all": str(len(answers)), "passed": str(len(answers))}
    tally = re.sub(r"\{(\w+)\}", lambda found: count[found[1]], known)
    assert tally in reader.page.locator(".practice-tally").inner_text()
    here = reader.page.locator(f'.book-nav a[data-page="chapters/{path.stem}"]')
    every = len(answers)
    assert here.get_attribute("data-practice") == f"{every}/{every}"


def test_a_wrong_answer_is_told_in_the_checks_own_words(read):
    reader = read()
    wrong = solutions(GAE)["masked_gae"].replace("if mask[t]:", "if True:", 1)
    reader.write("masked_gae", wrong)
    came, said = reader.check("masked_gae")
    assert came == "failed"
    assert "Skip an observation" in said
    reader.write(
        "masked_gae", "def masked_gae(r, v, m, l, g, lam):\n    return nothing"
    )
    came, said = reader.check("masked_gae")
    assert came == "failed"
    assert "2  return nothing" in said and "NameError" in said
    reader.write("masked_gae", "def masked_gae(r):\n    print('seen')\n")
    assert "TypeError" in reader.check("masked_gae")[1]
    ours = "import tokencredit as tc\ndef masked_gae(*x):\n    return tc.gae(*x)"
    reader.write("masked_gae", ours)
    came, said = reader.check("masked_gae")
    assert came == "open" and "tokencredit.gae is not there when" in said


WILD = {  # answers that would hang or break a page, and a word of what is said
    "def flip_lambda(a, b):\n    while True: pass": "seconds",
    "import os\nos._exit(1)": "",
    "def flip_lambda(a, b):\n    while True: print('x' * 999)": "seconds",
    "def flip_lambda(a, b):\n    return flip_lambda(a, b)": "RecursionError",
    "def flip_lambda(a, b):\n    return [0] * 10**9": "Error",
    "x = []\nwhile True: x.append('a' * 10**6 + str(len(x)))": "",
    "import sys\nsys.exit()": "SystemExit",
    "def flip_lambda(a, b):\n    return input()": "Error",
    "def flip_lambda（a, b):\n    return 1": "（",
    "def flip_lambda(a, b):\n    return “x”": "“",
    "def flip_lambda(a, b):\n    import numpy\n    return numpy.sqrt(a)": "numpy",
}


def test_what_does_not_end_ends_in_a_sentence_and_the_next_check_works(read):
    reader, right = read(), solutions(GAE)["flip_lambda"]
    reader.write("flip_lambda", right)
    assert reader.check("flip_lambda")[0] == "passed"
    for text, word in WILD.items():
        reader.write("flip_lambda", text)
        came, said = reader.check("flip_lambda")
        assert came != "passed" and said.strip(), text
        assert word in said, (text, said)
    reader.write("flip_lambda", right)
    assert reader.check("flip_lambda")[0] == "passed"
    reader.write("flip_lambda", "while True: pass")
    reader.write("move_rewards", solutions(GAE)["move_rewards"])
    came, said = reader.check("move_rewards")
    assert came == "open" and "Exercise 4" in said


def test_the_editor_obeys_the_keyboard_and_is_no_trap(read):
    reader = read()
    keys, field = reader.page.keyboard, reader.field("masked_gae")
    field.focus()
    before = field.input_value()
    keys.press("Tab")
    assert reader.active() != "practice-masked_gae" and field.input_value() == before
    keys.press("Shift+Tab")
    assert reader.active() == "practice-masked_gae"
    field.fill("")
    field.focus()
    keys.type("def f(a):")
    keys.press("Enter")
    keys.type("for x in a:")
    keys.press("Enter")
    keys.type("return x")
    keys.press("Enter")
    keys.type("y")
    assert field.input_value() == "def f(a):\n    for x in a:\n        return x\n    y"
    keys.press("Tab")
    assert field.input_value().endswith("y   ")
    keys.press("Control+z")
    assert field.input_value().endswith("    y")
    keys.press("Escape")
    keys.press("Tab")
    assert reader.active() != "practice-masked_gae"
    field.fill("# ")
    field.focus()
    keys.press("Control+End")
    devtools = reader.page.context.new_cdp_session(reader.page)
    devtools.send(
        "Input.imeSetComposition",
        {"text": "you shi", "selectionStart": 7, "selectionEnd": 7},
    )
    assert "you shi" in reader.box("masked_gae").locator("pre").first.inner_text()
    devtools.send("Input.insertText", {"text": "优势"})
    assert field.input_value() == "# 优势"
    keys.press("Control+Enter")
    reader.page.wait_for_selector(
        '[data-exercise="masked_gae"][data-came]', timeout=PATIENT
    )


def test_a_line_goes_back_whole_and_the_caret_stays_in_it(read):
    reader = read()
    keys, field = reader.page.keyboard, reader.field("masked_gae")
    field.fill("")
    field.focus()
    keys.type("if x:")
    keys.press("Enter")
    keys.press("Shift+Tab")  # an empty line is back at its beginning
    keys.type("y")
    assert field.input_value() == "if x:\ny"
    keys.press("Enter")
    keys.type("    z")
    keys.press("Home")
    keys.press("Shift+Tab")  # from before the first word, too
    keys.press("Shift+Tab")
    assert field.input_value() == "if x:\ny\nz"
    keys.type("a")
    assert field.input_value() == "if x:\ny\naz"
    keys.press("Control+a")
    keys.press("Tab")
    assert field.input_value() == "    if x:\n    y\n    az"
    keys.press("Shift+Tab")
    assert field.input_value() == "if x:\ny\naz"


def test_before_the_first_check_the_script_weighs_at_most_8_kb(folder):
    for lang in ("zh", "en"):
        script = (folder / lang / "_static" / "practice.js").read_bytes()
        assert len(gzip.compress(script, 9)) <= 8_192, lang


def test_nothing_of_python_is_loaded_before_the_first_check(read):
    reader = read()
    reader.page.wait_for_load_state("networkidle")
    names = [url.rsplit("/", 1)[-1] for url in reader.requests]
    assert not [n for n in names if "pyodide" in n or n in {"worker.mjs", "runner.py"}]


def test_one_answer_serves_both_editions_and_follows_into_other_tabs(read, root):
    reader = read()
    answer = solutions(GAE)["flip_lambda"]
    other = reader.page.context.new_page()
    other.goto(f"{root}/zh/chapters/{GAE.stem}.html#exercises")
    other.wait_for_function("window.practised")
    field = other.locator("#practice-flip_lambda")
    reader.write("flip_lambda", answer)
    assert reader.check("flip_lambda")[0] == "passed"
    other.wait_for_function(
        "text => document.getElementById('practice-flip_lambda').value === text",
        arg=answer,
    )
    other.reload()
    other.wait_for_function("window.practised")
    assert field.input_value() == answer
    heading = other.locator("section:has(> [data-exercise=flip_lambda]) > h3")
    expect(heading).to_contain_text("· 通过")
    assert "✓" not in heading.inner_text(), "which says correct"


def test_a_changed_exercise_keeps_the_answer_and_loses_the_tick(read):
    reader = read()
    key = "practice chapters/05_critics_gae flip_lambda"
    old = json.dumps({"t": "def flip_lambda(a, b):\n    return 2", "h": "x", "ok": "x"})
    reader.page.evaluate("([k, v]) => localStorage.setItem(k, v)", [key, old])
    reader.page.reload()
    reader.page.wait_for_function("window.practised")
    assert "return 2" in reader.field("flip_lambda").input_value()
    heading = reader.page.locator("section:has(> [data-exercise=flip_lambda]) > h3")
    assert "passes" not in heading.inner_text()
    assert "changed after" in reader.box("flip_lambda").inner_text()


def test_starting_over_has_a_way_back(read):
    reader = read()
    stub = reader.field("flip_lambda").input_value()
    reader.write("flip_lambda", "mine = 1")
    reset = reader.box("flip_lambda").locator(".practice-reset")
    reset.click()
    assert reader.field("flip_lambda").input_value() == stub
    reset.click()
    assert reader.field("flip_lambda").input_value() == "mine = 1"
    reset.click()
    reader.page.keyboard.press("Control+z")
    assert reader.field("flip_lambda").input_value() == "mine = 1"


@pytest.fixture(scope="module")
def sandbox():
    with sandbox_for([read_homework(path) for path in CHAPTERS], [ROOT]) as sandbox:
        yield sandbox


@pytest.mark.parametrize("lang", ("zh", "en"))
@pytest.mark.parametrize("path", some(CHAPTERS, GAE), ids=lambda path: path.stem)
def test_the_downloaded_homework_is_the_students_own_and_gets_its_marks(
    read, sandbox, path, lang
):
    reader, answers = read(path, lang), solutions(path)
    homework, made = read_homework(path), student_notebook(path, lang)

    def downloaded() -> str:
        with reader.page.expect_download() as got:
            reader.page.locator(".practice-download").click()
        assert got.value.suggested_filename == f"{path.stem}_{lang}.ipynb"
        return Path(got.value.path()).read_text("utf-8")

    untouched = downloaded()
    assert untouched == json.dumps(made, ensure_ascii=False, indent=1) + "\n"
    half, points = [*answers][::2], {e.id: e.points for e in homework.exercises}
    for done in ([], half, [*answers]):
        for name in done:
            reader.write(name, answers[name])
        written = json.loads(downloaded())
        for cell, stub in zip(written["cells"], made["cells"], strict=True):
            name = cell["metadata"].get("nbgrader", {}).get("grade_id")
            if name in done:
                first, _, rest = "".join(cell["source"]).partition("\n")
                assert first == f"# exercise: {name}"
                assert rest.strip() == answers[name].strip()
            else:
                assert cell == stub
        got = graded(written, homework, sandbox)
        assert got.total == sum(points[name] for name in done)


@pytest.mark.parametrize("lang", some(("zh", "en"), "zh"))
def test_a_homework_file_opens_again(read, lang, tmp_path):
    answers, file = solutions(GAE), tmp_path / "mine.ipynb"
    notebook = student_notebook(GAE, lang)
    for cell in notebook["cells"]:
        if (name := cell["metadata"].get("nbgrader", {}).get("grade_id")) in answers:
            cell["source"] = f"# exercise: {name}\n{answers[name]}"
    file.write_text(json.dumps(notebook), "utf-8")
    reader, last = read(lang=lang), [*answers][-1]
    opener = reader.page.locator("input[type=file]")
    asked = []
    reader.page.on("dialog", lambda one: (asked.append(one.message), one.accept()))
    reader.write(last, "newer = 1")
    opener.set_input_files(file)
    reader.page.wait_for_function(
        "n => document.getElementById(`practice-${n}`).value.includes('return')",
        arg=last,
    )
    assert len(asked) == 1 and "1" in asked[0]
    for name, text in answers.items():
        assert reader.field(name).input_value().strip() == text.strip()
    file.write_text("no notebook", "utf-8")
    opener.set_input_files(file)
    said = practice.words("page", lang)["nothing"]
    reader.page.wait_for_function(
        "said => document.querySelector('.practice-hand-in').innerText.includes(said)",
        arg=said,
    )


def test_a_browser_that_stores_nothing_says_so(read):
    reader = read()
    reader.page.evaluate(
        "() => { Storage.prototype.setItem = () => { throw new Error('full'); }; }"
    )
    reader.write("flip_lambda", "x = 1")
    reader.page.wait_for_function(
        """() => document.querySelector('[data-exercise=flip_lambda] .practice-state')
             .textContent.includes('cannot keep')"""
    )


def test_a_browser_without_streams_that_unpack_says_so(read):
    reader = read()
    reader.page.evaluate("delete window.DecompressionStream")
    assert "too old" in reader.check("flip_lambda")[1]


def test_a_page_from_a_file_says_what_to_do_and_still_downloads(browser, folder):
    page = browser.new_page()
    page.goto((folder / "en/chapters" / f"{GAE.stem}.html").as_uri())
    page.wait_for_function("window.practised")
    page.locator('[data-exercise="flip_lambda"] .practice-check').click()
    said = page.locator('[data-exercise="flip_lambda"] .practice-result').inner_text()
    assert "make book" in said
    with page.expect_download() as got:
        page.locator(".practice-download").click()
    assert len(json.loads(Path(got.value.path()).read_text("utf-8"))["cells"]) > 20
    page.close()


def test_without_a_script_and_on_paper_there_is_no_editor(browser, root):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{root}/en/chapters/{GAE.stem}.html")
    assert not page.locator(".practice").first.is_visible()
    context.close()
    page = browser.new_page()
    page.goto(f"{root}/en/chapters/{GAE.stem}.html")
    page.wait_for_function("window.practised")
    page.emulate_media(media="print")
    assert not page.locator(".practice").first.is_visible()
    page.close()


@pytest.mark.parametrize("lang", some(("zh", "en"), "zh"))
def test_the_page_of_exercises_lists_all_and_leads_to_the_next(browser, root, lang):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{root}/{lang}/book/practice.html")
    page.wait_for_function("window.practised?.listed")
    listed = page.locator(".practice-list > section li")
    known = [e for path in CHAPTERS for e in practice.exercises(path)]
    assert listed.count() == len(known)
    assert page.locator(".practice-list > ol > li").count() == 10
    page.locator("select[name=kind]").select_option("bug")
    shown = [e for e in known if e["kind"] == "bug"]
    assert page.locator(".practice-list > section li:visible").count() == len(shown)
    first = next(e for e in known if e["kind"] == "bug")
    assert (
        page.locator(".practice-next").get_attribute("href").endswith(first["anchor"])
    )
    on = page.locator(".practice-list > section li:visible").first.get_attribute(
        "data-on"
    )
    done = json.dumps({"t": "x", "h": first["hash"], "ok": first["hash"]})
    page.evaluate(
        "([k, v]) => localStorage.setItem(k, v)", [f"practice {on} {first['id']}", done]
    )
    page.reload()
    page.wait_for_function("window.practised?.listed")
    assert page.locator("select[name=kind]").input_value() == "bug"
    last = page.locator(".practice-list > section li.done > small")
    assert last.inner_text() == practice.words("page", lang)["done"]
    assert (
        not page.locator(".practice-next")
        .get_attribute("href")
        .endswith(first["anchor"])
    )
    page.locator(".practice-clock").click()
    page.wait_for_function("document.querySelector('output').textContent.includes(':')")
    page.locator(".practice-list > section li:visible a").last.click()
    page.wait_for_selector(".practice-check")
    context.close()


@pytest.mark.parametrize("look", ["light", "phone"])
@pytest.mark.parametrize("lang", some(("zh", "en"), "en"))
def test_number_title_and_length_of_the_exercises_stand_in_columns(
    browser, root, lang, look
):
    context = browser.new_context(**measure.LOOKS[look])
    page = context.new_page()
    page.goto(f"{root}/{lang}/book/practice.html")
    edges = page.locator(".practice-list li").evaluate_all(
        """all => all.map((li) => {
             const [number, title, length] =
               [...li.children].map((e) => e.getBoundingClientRect());
             return [number.left, title.left, length.right].map(Math.round).join();
           })"""
    )
    assert len(edges) > 100 and len({*edges}) == 1
    titles = page.locator(".practice-list li > a").all_inner_texts()
    assert not [t for t in titles if re.match("Exercise|练习", t)]
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    context.close()


def test_on_a_phone_no_box_of_code_is_empty(browser, root):
    """Nor before the script that colours an answer, on a slow network."""
    context = browser.new_context(**measure.LOOKS["phone"])
    page = context.new_page()
    page.route("**/practice.js", lambda route: route.abort())
    page.goto(f"{root}/en/chapters/16_what_came_after.html")
    clear = (
        "all => all.map((e) => getComputedStyle(e).color).includes('rgba(0, 0, 0, 0)')"
    )
    assert not page.locator(".practice-editor > textarea").evaluate_all(clear)
    page.unroute("**/practice.js")
    page.reload()
    page.wait_for_function("window.practised")
    assert page.locator(".practice-editor > textarea").evaluate_all(clear)
    ruled = page.locator(".ex-listing p").evaluate_all(
        """all => all.filter((p) => parseFloat(getComputedStyle(p).borderLeftWidth))
             .map((p) => p.textContent)"""
    )
    assert ruled and all(ruled)
    context.close()


@pytest.mark.parametrize("look", some(measure.LOOKS, "phone"))
@pytest.mark.parametrize("lang", some(("zh", "en"), "zh"))
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(
    browser, root, lang, look
):
    context = browser.new_context(**measure.LOOKS[look])
    page = context.new_page()
    page.goto(f"{root}/{lang}/chapters/{GAE.stem}.html#exercises")
    page.wait_for_function("window.practised")
    reader = page.locator('[data-exercise="flip_lambda"] textarea')
    reader.fill("def flip_lambda(a, b):\n    return 0")
    page.locator('[data-exercise="flip_lambda"] .practice-check').click()
    page.wait_for_selector("[data-came=failed]", timeout=PATIENT)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    heights = page.evaluate(
        """() => [...document.querySelectorAll('.practice button')]
             .filter(b => b.offsetParent).map(b => b.getBoundingClientRect().height)"""
    )
    assert min(heights) >= 44
    assert measure.axe(page, rules=measure.RULES[look]) == []
    context.close()
