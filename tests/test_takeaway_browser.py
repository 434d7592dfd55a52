"""The book in other forms, of the built site: text, data, decks."""

import json
import re
from pathlib import Path

import pytest

from tokenbook.takeaway.deck import cards, deck
from tokenbook.takeaway.text import write, write_data

pytestmark = pytest.mark.browser


def test_every_page_has_its_text_and_llms_txt_names_it(folder):
    write(folder, "0 · 2026-01-01")
    index = (folder / "llms.txt").read_text("utf-8")
    assert index.startswith("# ") and "\n> " in index
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", index, re.M)
    assert len(links) == len(set(links))
    for link in links:
        assert (folder / link).exists(), link
    for lang in ("zh", "en"):
        pages = [*(folder / lang).glob("chapters/*.html")]
        assert len(pages) == 17
        for page in pages:
            text = page.with_suffix(".md").read_text("utf-8")
            assert f"{lang}/chapters/{page.stem}.md" in links
            assert text.startswith("# ") and "katex" not in text and "<span" not in text
            assert text.count("$$") >= 2 and "```python" in text


def test_data_for_programs_has_every_symptom_law_and_key(folder):
    made = {p.stem: json.loads(p.read_text()) for p in write_data(folder / "data", "0")}
    heads = (folder / "en/book/symptoms.html").read_text().count("<h3>")
    assert len(made["symptoms"]["symptoms"]) == heads
    assert all({"zh", "en"} <= row.keys() for row in made["symptoms"]["symptoms"])
    assert len(made["laws"]["laws"]) == len([*Path("book/errata").glob("*.py")])
    assert {row["key"] for row in made["log-keys"]["log-keys"]} >= {"reward_std"}


def test_the_decks_of_the_book_have_all_questions_and_predictions(folder):
    for lang in ("zh", "en"):
        found = list(cards(folder / lang, lang))
        deck(found, lang)  # no id twice
        kinds = [card.kind for card in found]
        page = (folder / lang / "book/interview.html").read_text("utf-8")
        assert kinds.count("interview") == page.count('<details class="qa"')
        assert kinds.count("prediction") > 30 and kinds.count("term") > 100
        assert not any("katex" in card.front + card.back for card in found)
