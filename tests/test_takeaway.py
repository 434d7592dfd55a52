"""The book in other forms: Markdown, llms.txt and data, cards for Anki."""

from pathlib import Path

import pytest
from lxml import html

from tokenbook.takeaway.articles import Article
from tokenbook.takeaway.deck import Card, deck, of_interview, written

SITE = Path(__file__).resolve().parent.parent / "_build" / "site"
MATH = (
    '<span class="math"><span class="katex"><span class="katex-mathml"><math>'
    '<semantics><mrow/><annotation encoding="application/x-tex">{}</annotation>'
    "</semantics></math>"
    '</span><span class="katex-html" aria-hidden="true">junk</span></span></span>'
)


def markdown(body: str) -> str:
    return Article(
        "a.html", "A", html.fromstring(f"<article>{body}</article>")
    ).markdown()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<h2>A <em>b</em></h2><p>c\n d</p>", "## A *b*\n\nc d\n"),
        (
            f"<p>Let {MATH.format('x<y')} be.</p>".replace("x<y", "x &lt; y"),
            "Let $x < y$ be.\n",
        ),
        (
            '<p><a href="b.html#c">t</a><a class="headerlink" href="#">#</a></p>',
            "[t](b.md#c)\n",
        ),
        ("<ol><li>a</li><li><p>b</p><p>c</p></li></ol>", "1. a\n2. b\n\n   c\n"),
        (
            "<table><tr><th>a</th><th>b|c</th></tr><tr><td>1</td></tr></table>",
            "| a | b\\|c |\n|---|---|\n| 1 |  |\n",
        ),
        (
            '<div class="highlight-python"><pre>x = 1\n\ny</pre></div>',
            "```python\nx = 1\n\ny\n```\n",
        ),
        ("<details><summary>Why?</summary><p>So.</p></details>", "**Why?**\n\nSo.\n"),
        (
            '<div class="explorer"><p class="ex-title">Dials</p>'
            '<div class="ex-live" aria-label="Two bars."><b>x</b></div></div>',
            "[Dials. Two bars.]\n",
        ),
        (
            '<div class="predict" data-answer="1"><p>Which?</p>'
            "<button>a</button><button>b</button></div>",
            "Which?\n\n- a\n- b ✓\n",
        ),
    ],
)
def test_an_article_becomes_markdown(body, said):
    assert markdown(body) == said


QUESTION = (
    '<article><details class="qa" data-level="L1" data-key="{key}"><summary>'
    "<span>Why "
    + MATH.format("x")
    + "?</span> <small>8 GRPO</small></summary><p>So.</p><p>→ chapter</p></details>"
    "</article>"
)


def test_a_question_becomes_a_card_with_its_formulas_and_without_its_link():
    (card,) = of_interview(html.fromstring(QUESTION.format(key="8-l1-why")))
    assert card.front == r"Why <span>\(x\)</span>?"
    assert (card.back, card.level) == ("<p>So.</p>", "L1")
    assert card.key == "q-8-l1-why" and "8 GRPO" in card.chapter


def test_controls_and_attributes_stay_out_of_a_card():
    body = '<p class="a" onclick="x">b<button>c</button><script>d</script> e</p>'
    assert written(html.fromstring(body)) == "<p>b e</p>"


def test_two_cards_of_one_id_are_refused_by_name():
    card = Card("q-1", "interview", "a", "b", "")
    with pytest.raises(ValueError, match="two cards have the id 'q-1'"):
        deck([card, card], "en")


def collection(path: Path):
    from anki.collection import Collection

    return Collection(str(path))


def imported(col, cards: list[Card], folder: Path, at: float):
    """Import cards as a learner does, from a file that was made at a time."""
    import genanki
    from anki.collection import (
        ImportAnkiPackageOptions,
        ImportAnkiPackageRequest,
    )

    file = folder / "deck.apkg"
    genanki.Package(deck(cards, "en")).write_to_file(str(file), timestamp=at)
    options = ImportAnkiPackageOptions(merge_notetypes=True)
    request = ImportAnkiPackageRequest(package_path=str(file), options=options)
    return col.import_anki_package(request)


def test_an_update_keeps_what_a_learner_has_reached(tmp_path):
    col = collection(tmp_path / "learner.anki2")
    try:
        first = Card("q-1", "interview", "Why?", "So.", "8 GRPO", "L1")
        imported(col, [first], tmp_path, at=1e9)
        (number,) = col.find_cards("deck:*Token*")
        card = col.get_card(number)
        card.due, card.ivl, card.reps, card.type, card.queue = 40, 30, 7, 2, 2
        col.update_card(card)
        second = Card("q-2", "term", "GAE", "sum", "", "")
        imported(
            col,
            [first._replace(front="Why so?", back="Because."), second],
            tmp_path,
            at=2e9,
        )
        assert len(col.find_cards("deck:*Token*")) == 2
        again = col.get_card(number)
        assert (again.ivl, again.reps) == (30, 7)
        assert again.note().fields[1] == "Because."
    finally:
        col.close()
