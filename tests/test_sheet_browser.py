"""The cheat sheet is two pages of A4, and says what is missing by name."""

import io

import pikepdf
import pytest
from test_site_build import ROOT

from tokenbook.site.sheet.page import listed

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_it_prints_on_two_pages_with_all_that_its_plan_names(folder, page, lang):
    page.goto((folder / lang / "book/sheet.html").as_uri())
    text = page.inner_text("article")
    for name in ("GSPO", "seq-mean-token-sum-norm", "clip_fraction"):
        assert name in text
    printed = page.pdf(format="A4", prefer_css_page_size=True)
    with pikepdf.open(io.BytesIO(printed)) as file:
        assert len(file.pages) == 2


def test_a_list_comes_from_its_section_in_the_language_that_is_asked_for():
    page = (ROOT / "book/symptoms.md").read_text("utf-8")
    said = {lang: listed(page, "the-reward-never-rises", lang) for lang in ("zh", "en")}
    assert said["en"].startswith("1. **Verdict**: print five responses")
    assert said["zh"].startswith("1. **判分**：打印五条回答")
    assert all(len(text.splitlines()) == 6 for text in said.values())


@pytest.mark.parametrize(
    ("anchor", "said"),
    [
        ("no-such-place", "no section no-such-place in book/symptoms.md"),
        ("nothing-is-broken", "nothing-is-broken has no numbered list"),
    ],
)
def test_a_section_without_what_is_wanted_is_named(anchor, said):
    page = (ROOT / "book/symptoms.md").read_text("utf-8")
    with pytest.raises(ValueError, match=said):
        listed(page, anchor, "en")
