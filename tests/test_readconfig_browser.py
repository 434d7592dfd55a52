"""The box of the page that reads a configuration, in a real Chromium, from a file."""

import pytest

from tokenbook.languages import LANGUAGES
from tokenbook.symptoms.config import HERE, report
from tokenbook.symptoms.config_page import EXAMPLE, box_html
from tokenbook.symptoms.page import POLICY, lean

pytestmark = pytest.mark.browser
COLOURS = (
    ":root { --tc-ink: #111; --tc-paper: #fff; --tc-muted: #555; --tc-line: #ddd; }"
)


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens the box in a language and a width."""
    pages = []

    def open_box(lang="en", width=1000):
        file = tmp_path / f"{lang}.html"
        style = lean((HERE / "style.css").read_text("utf-8"))
        file.write_text(
            f'<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>x</title>'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            f'<meta name="viewport" content="width=device-width">'
            f"<style>{COLOURS}{style}</style><body>{box_html(lang)}",
            encoding="utf-8",
        )
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.asked, page.errors = [], []
        page.on("request", lambda one: page.asked.append(one.url))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto(file.as_uri())
        pages.append(page)
        return page

    yield open_box
    for page in pages:
        assert page.errors == []
        assert len(page.asked) == 1  # the file itself
        page.close()


def said(page, text: str, key: str = "Control+Enter") -> str:
    page.fill("#readconfig-text", text)
    page.press("#readconfig-text", key)
    return page.inner_text(".rl-out")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_box_says_what_the_command_says(opened, lang):
    page = opened(lang)
    page.fill("#readconfig-processes", "8")
    shown, told = said(page, EXAMPLE), report(EXAMPLE, lang, 8)
    for part in (told["sizes_text"], told["ratio"], told["denominator"]):
        assert part in shown
    for trap in told["traps"]:
        assert trap["text"] in shown
    assert told["traps"][0]["id"] == "cispo-cap"
    links = page.eval_on_selector_all(".rl-out a", "all => all.map(a => a.outerHTML)")
    assert any("zoo.html#cispo" in link for link in links)
    assert any("../chapters/11_gspo_cispo.html" in link for link in links)


def test_the_keyboard_alone_reads_a_configuration(opened):
    page = opened()
    page.keyboard.press("Tab")
    page.keyboard.type("actor_rollout_ref.actor.clip_ratio=0.1")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert "clip_ratio=0.1 is shadowed" in page.inner_text(".rl-out")
    assert "verl 0.9.1" in page.inner_text("[role=status]")
    assert page.evaluate("document.activeElement.className") == "rl-out"


def test_markup_in_a_configuration_stays_text(opened):
    page = opened()
    evil = '<img src="x" onerror="document.title=1">'
    for text in (
        f'GRPOConfig(loss_type="{evil[:4]}", beta=0.0)',
        f"GRPOConfig(beta={evil!r})",
        '{"loss_type": "grpo", "</script><img src=x onerror=alert(1)>": 1}',
        "actor_rollout_ref.actor.policy_loss.loss_mode='<b>x</b>'",
        '{"loss_type": "grpo", "__proto__": {"x": 1}, "constructor": 2}',
    ):
        assert said(page, text)
        assert page.locator(".rl-out :is(img, b b, script)").count() == 0
    assert page.title() == "x"


def test_a_wrong_text_says_so_and_nothing_else(opened):
    page = opened("zh", 390)
    for text in ("", "hello", "GRPOConfig(beta=0.1", "GRPOConfig(num_generations=0)"):
        assert said(page, text) == report(text, "zh")["text"]
    assert "默认值" in said(page, "GRPOConfig()")
    wide = page.evaluate("document.documentElement.scrollWidth")
    said(page, EXAMPLE)
    assert page.evaluate("document.documentElement.scrollWidth") == wide <= 390


def test_a_file_and_ten_megabytes(opened, tmp_path):
    page = opened()
    file = tmp_path / "train.py"
    file.write_text(EXAMPLE, encoding="utf-8")
    page.set_input_files(".rl-file input", str(file))
    page.wait_for_selector(".rl-out h3")
    spent = page.evaluate(
        """() => {
          const box = document.querySelector("#readconfig-text");
          const go = document.querySelector(".rl-go"), spent = [];
          const big = (part, n = 199e3) => part.repeat(n / part.length);
          const texts = [big("{", 1e7), big("{"), big("("), big("a: "), big("--a "),
            big("$a"), big("'"), big("${"), big("$("), "GRPOConfig(" + big("x,"),
            big("a.b=c "), big("a: b\\n"), big("[") + big("]")];
          for (const text of texts) {
            box.value = text;
            const start = performance.now();
            go.click();
            spent.push(performance.now() - start);
          }
          return spent;
        }"""
    )
    assert max(spent) < 5000, spent
