"""Every symptom has the shape of its log beside it, and its snippets are true."""

import doctest
import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from docutils import nodes

from tokenbook.lab import responses, where
from tokenbook.lab.phenomena import PHENOMENA
from tokenbook.languages import minutes, pages
from tokenbook.languages.data import load
from tokenbook.languages.pages import headings, pieces, slug
from tokenbook.site.search.index import ASKED, QUESTION, asked, asked_as, parted
from tokenbook.symptoms import log_keys
from tokenbook.symptoms.index_page import (
    ENDS,
    QUANTITIES,
    SHAPES,
    across,
    curves,
    finder,
    sketch,
)

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "book" / "symptoms.md"
ALIGNED = "对齐", "Alignment"  # what the search for a ratio begins with


def symptoms() -> list[str]:
    english = [text for lang, text in pieces(PAGE.read_text("utf-8")) if lang == "en"]
    heads = [head for text in english for head in headings(text)]
    last = [title for level, title in heads if level == 2][-1]
    before = heads[: heads.index((2, last))]  # the last part lists what to log
    return [slug(title) for level, title in before if level == 3]


def test_every_symptom_has_a_curve_and_every_curve_a_symptom():
    without = set(symptoms()) - set(curves())
    assert not without, (
        f"{without}: give it a curve in src/tokenbook/symptoms/curves.yml"
    )
    assert set(symptoms()) == set(curves())


def test_every_shape_is_drawn_inside_its_box_and_by_somebody():
    used = {row["shape"] for rows in curves().values() for row in rows}
    assert used == set(SHAPES)
    for name, shape in SHAPES.items():
        heights = [shape(ENDS.get(name, 1) * k / 48) for k in range(49)]
        assert -0.05 <= min(heights) and max(heights) <= 1.05, name


def test_no_two_symptoms_look_alike():
    drawn = {
        name: [[SHAPES[row["shape"]](k / 48) for k in range(49)] for row in rows]
        for name, rows in curves().items()
    }
    for (one, a), (other, b) in combinations(drawn.items(), 2):
        apart = len(a) != len(b) or np.abs(np.subtract(a, b)).max() > 0.2
        assert apart, f"{one}, {other}"


def test_a_curve_that_breaks_off_ends_in_a_cross():
    assert sketch(curves()["the-kl-is-nan-or-infinite"], "en").count("<path") == 1
    assert "<path" not in sketch(curves()["the-reward-never-rises"], "en")


def test_all_groups_of_the_index_have_one_number_of_columns_with_fewest_gaps():
    assert across([10, 5]) == 5
    assert across([12, 6]) == 6
    assert across([11, 6]) == 6  # one gap; 5 would leave 4 + 4
    assert across([10, 10, 10, 6]) == 5  # four gaps in one group; 6 leaves 2 + 2 + 2


def test_a_sketch_names_its_curves_in_the_language_of_the_page():
    rows = curves()["the-loss-is-0-yet-it-learns"]
    assert "奖励" in sketch(rows, "zh") and "reward" in sketch(rows, "en")
    assert sketch(rows, "en").count("<polyline") == 2


def test_every_curve_is_of_a_quantity_and_every_quantity_is_asked_for():
    used = [{row["of"] for row in rows} for rows in curves().values()]
    assert set().union(*used) == set(QUANTITIES)
    few = {name: sum(name in of for of in used) for name in QUANTITIES}
    assert min(few.values()) >= 2, few


def test_the_index_links_to_a_symptom_under_what_its_curves_show():
    rows = curves()["the-reward-rises-then-falls-to-0"]
    html = finder({"Stops": [("x", "A < B", rows)]}, "en")
    assert '<li data-of="reward kl"><a href="#x">' in html and "A &lt; B" in html
    assert html.count("<polyline") == 2
    card, text = (
        r'\[data-of\]:not\(\[data-of~="(\w+)"\]\)',
        r"\.listed:not\(\.of-(\w+)\)",
    )
    hidden = re.findall(rf"#of-(\w+):checked\) :is\({card},{text}\)", html)
    assert hidden == [(name,) * 3 for name in QUANTITIES]
    assert "all<small>1<" in html and "entropy<small>0<" in html


def test_the_responses_of_a_hacked_reward_are_those_that_are_stored():
    said = where(responses("hacks"), paid="mark", kl_coef=0.0, seed=0)
    said = where(said, prompt="6□3□9=12?")
    stored = {step: where(said, step=step).response.item() for step in (0, 16)}
    pages = [text for lang, text in pieces(PAGE.read_text("utf-8")) if lang]
    for text in pages[:2]:
        first, last = (text.index(f"`{stored[step]}`") for step in (0, 16))
        assert text.index("`6□3□9=12?`") < first < last


def snippets() -> list[str]:
    """The code of the page; parity holds that both languages have the same."""
    english = [text for lang, text in pieces(PAGE.read_text("utf-8")) if lang == "en"]
    return re.findall(r"^```python\n(.*?)^```", "\n".join(english), re.M | re.S)


@pytest.mark.parametrize("code", snippets())
def test_a_snippet_prints_what_the_page_says(code):
    test = doctest.DocTestParser().get_doctest(code, {}, code, None, 0)
    assert test.examples
    said = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize(("lang", "colon"), [("zh", "："), ("en", ":")])
def test_the_ratio_is_searched_in_one_order(lang, colon):
    chapter = json.loads((ROOT / "chapters" / "15_cluster.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in chapter["cells"]]
    told = [re.findall(rf"^\d\. \*\*(\w+)\*\*{colon}", text, re.M) for text in cells]
    taught = [names for names in told if len(names) == 4 and names[0] in ALIGNED]
    (page, *_) = [text for its, text in pieces(PAGE.read_text("utf-8")) if its == lang]
    heading = {"zh": "### 第一步的比率就是 1.3", "en": "### The ratio is 1.3 at step 0"}
    entry = page.partition(heading[lang])[2].partition("\n### ")[0]
    assert re.findall(rf"^\d\. \*\*(\w+)\*\*{colon}", entry, re.M) in taught


def test_the_page_says_from_which_difference_a_seed_counts():
    """0.01, one token of a length, 0.2 of the number of different first tries."""
    least = {"length": 1.0, "distinct": 0.2}
    for one in PHENOMENA:
        assert one.by == least.get(one.column, 0.01), one.says["en"]
    page = PAGE.read_text("utf-8")
    assert "in general 0.01, for lengths one token" in page
    assert "一般要有 0.01，长度要有一个词元" in page


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_key_has_a_line_with_what_every_library_averages(lang):
    lines = {(of, key): text for of, key, text, _ in log_keys.lines(lang)}
    words = load(log_keys.DATA / "quantities.yml")
    for row in load(log_keys.DATA / "keys.yml"):
        text = lines[row["quantity"], row["key"]]
        assert text.startswith(words[row["quantity"]][lang])
        assert row["version"] in text and row["averages"][lang] in text


def test_a_symptom_shows_in_quantities_that_libraries_log_and_names_their_keys():
    known, keys = load(log_keys.DATA / "quantities.yml"), log_keys.by_quantity()
    logged = log_keys.logged()
    assert set().union(*logged.values()) <= set(keys) <= set(known)
    for quantities in logged.values():
        line = log_keys.below(quantities, "en")
        literal = {node.astext() for node in line.findall(nodes.literal)}
        assert literal
        for name in quantities[: log_keys.SHOWN]:
            first = {
                row["key"] for row in keys[name] if row["library"] in log_keys.FIRST
            }
            assert first <= literal


def test_every_rule_of_the_log_reader_is_a_symptom_or_a_line_of_this_page():
    rules = {row["id"] for row in load(log_keys.DATA / "rules.yml")}
    assert rules <= set(symptoms())


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_other_words_for_a_symptom_are_of_a_section_of_the_page(lang):
    symptoms, sections = set(), {}
    for anchor in load(ASKED):
        page, _, inside = anchor.rpartition("#")
        (sections.setdefault(page, set()) if page else symptoms).add(inside)
    assert symptoms <= set(log_keys.titles("en"))
    for page, named in sections.items():
        notebook = pages.read_notebook(ROOT / "chapters" / f"{page}.ipynb")
        assert named <= {section.anchor for section in minutes.sections(notebook)}
    said = asked_as(lang)
    assert "grad_fn" in said["rewards-differ-and-the-gradient-is-0"]
    for anchor, both in load(ASKED).items():
        assert set(both) == {"zh", "en"}, anchor
        assert both[lang] in said[anchor]


def test_a_question_of_the_bank_is_a_section_and_one_of_a_chapter_is_left_out():
    def fold(of: str, title: str) -> list[nodes.Node]:
        head = f'<details class="qa" {of}><summary>{title}</summary>'
        answer = nodes.paragraph(text=f"Answer to {title}.")
        return [nodes.raw("", head), answer, nodes.raw("", "</details>")]

    title = "<span>Why <b>`V`</b>?</span> <small>5 GAE</small>"
    before, after = nodes.paragraph(text="Before."), nodes.paragraph(text="After.")
    parts = [before, *fold('id="q-5-why"', title), *fold('data-level="L1"', "How?")]
    own, question = parted(nodes.section("", *parts, after))
    assert own[:2] == ("", "") and own[2] == [before, after]
    assert question[:2] == ("q-5-why", "Why V?")
    assert [node.astext()[:9] for node in question[2]] == ["Answer to"]
    assert not QUESTION.search("<details><summary>More</summary>")
    assert asked("$\\gamma$ &lt; 1") == "γ < 1"
