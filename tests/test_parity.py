"""Both languages say the same thing, and the check that says so can be trusted."""

import copy

import pytest

from tokenbook.languages import parity

ZH = """\
## 优势

由 $A_t$ 和 {eq}`eq-gae` 得到 `gae`，见[下一章](06_ppo.ipynb#clip)。

- 一
- 二

| 名 | 号 |
|---|---|
| 优势 | $A$ |

<details class="qa" data-level="L1"><summary>L1 · 问</summary>

答：<a data-xp="gae" data-set="lam=0">令 λ = 0</a>。

</details>
"""
EN = """\
## Advantage

`gae` follows from $A_t$ and {eq}`eq-gae`, see [next](06_ppo.ipynb#clip).

- one
- two

| name | sign |
|---|---|
| advantage | $A$ |

<details class="qa" data-level="L1"><summary>L1 · Question</summary>

Answer: <a data-xp="gae" data-set="lam=0">set λ = 0</a>.

</details>
"""
FIGURE = {"figure": {"alt": {"zh": "曲线", "en": "a curve"}}}


def cell(kind: str, text: str, name: str, tags: list[str] = (), **meta) -> dict:
    metadata = {"tags": list(tags)} if tags else {}
    return {
        "cell_type": kind,
        "id": name,
        "metadata": metadata | meta,
        "source": text,
    }


NOTEBOOK = {
    "cells": [
        cell("markdown", ZH, "zh-01", ["lang-zh"]),
        cell("markdown", EN, "en-01", ["lang-en"]),
        cell("markdown", "$$ A_t = G_t $$ (eq-gae)", "shared-01"),
        cell("code", "gae(rewards)", "code-01", **FIGURE),
    ]
}


def problems(notebook: dict) -> list[str]:
    return list(parity.check_notebook(notebook))


@pytest.mark.parametrize("path", parity.sources(), ids=lambda p: p.name)
def test_every_source_says_the_same_in_both_languages(path):
    found = parity.check_file(path)
    assert not found, "\n" + "\n".join(found)


def test_the_sample_notebook_agrees():
    assert problems(NOTEBOOK) == []


EDITS = {
    "a dropped formula": ("$A_t$", "it", "lacks the formula $A_t$"),
    "a changed sign": ("$A_t$", "$-A_t$", "lacks the formula $A_t$"),
    "a changed role": ("eq-gae", "eq-ppo", "lacks the role {eq}`eq-gae`"),
    "a changed name in code": ("`gae`", "`GAE`", "lacks the inline code `gae`"),
    "a changed link": ("#clip", "#klip", "lacks the link target 06_ppo.ipynb#clip"),
    "a deeper heading": ("## Adv", "### Adv", "lacks the heading ##"),
    "a missing heading": ("## Advantage", "Advantage", "lacks the heading ##"),
    "a missing list item": ("- two\n", "", "lacks the list item"),
    "a missing table row": ("| advantage | $A$ |\n", "", "lacks the table row"),
    "another level of question": ('"L1"', '"L2"', "lacks the folded block"),
    "another slider position": ("lam=0", "lam=1", "lacks the slider link gae lam=0"),
    "Chinese left in": ("Answer", "答案", "not en: "),
    "full-width punctuation": ("see [", "see\uff1a[", "not en: "),
    "an extra label": ("## Adv", "(adv)=\n## Adv", "lacks the label adv"),
    "an extra directive": (
        "- one",
        "```{note}\nx\n```\n- one",
        "lacks the directive or code block {note}",
    ),
}


@pytest.mark.parametrize(("old", "new", "says"), EDITS.values(), ids=EDITS)
def test_an_edit_of_one_language_only_is_caught(old, new, says):
    notebook = copy.deepcopy(NOTEBOOK)
    assert old in EN
    notebook["cells"][1]["source"] = EN.replace(old, new, 1)
    found = problems(notebook)
    assert any(says in problem and "-01)" in problem for problem in found)


def test_the_title_of_a_folded_box_is_words_and_may_differ():
    notebook = copy.deepcopy(NOTEBOOK)
    for cell, title in zip(notebook["cells"], ("推导", "The proof"), strict=False):
        cell["source"] += f"\n:::{{dropdown}} {title}\n$x$\n:::\n"
    assert problems(notebook) == []


def test_a_cell_without_its_partner_is_named():
    notebook = copy.deepcopy(NOTEBOOK)
    del notebook["cells"][1]
    assert problems(notebook) == [
        "cell 1 (zh-01): no lang-en partner beside it: write it there"
    ]


def test_half_width_punctuation_in_chinese_is_caught():
    notebook = copy.deepcopy(NOTEBOOK)
    notebook["cells"][0]["source"] += "\n\n先猜,再算。"
    assert "half-width punctuation in Chinese, '先猜,再算。'" in problems(notebook)[0]


def test_a_partner_behind_a_code_cell_is_no_partner():
    notebook = copy.deepcopy(NOTEBOOK)
    notebook["cells"].insert(1, cell("code", "x = 1", "code-00"))
    assert len(problems(notebook)) == 2


def test_prose_in_an_untagged_cell_is_caught():
    notebook = copy.deepcopy(NOTEBOOK)
    notebook["cells"][2]["source"] += "\n\nas promised"
    assert "prose in an untagged cell, 'as promised'" in problems(notebook)[0]


def test_a_code_cell_belongs_to_no_language():
    notebook = copy.deepcopy(NOTEBOOK)
    notebook["cells"][3]["metadata"]["tags"] = ["lang-en"]
    assert "code is shared" in problems(notebook)[0]


def test_a_figure_without_words_in_one_language_is_caught():
    notebook = copy.deepcopy(NOTEBOOK)
    del notebook["cells"][3]["metadata"]["figure"]["alt"]["zh"]
    assert "alt: no 'zh' beside 'a curve'" in problems(notebook)[0]


def test_a_page_is_checked_by_its_block_breaks():
    page = '+++ {"lang": "zh"}\n# 甲\n+++ {"lang": "en"}\n# A\n\n$x$\n'
    (found,) = parity.check_page(page)
    assert found == "block from line 2: lacks the formula $x$: add it"


@pytest.mark.parametrize(
    ("suffix", "text", "says"),
    [
        (".yml", "a: {id: gae, means: {zh: 优势}}", "gae, means: no 'en' beside"),
        (".yml", "a: {zh: 优势, en: 优势}", "a: not en"),
        (".yml", "a: {zh: '猜,再算', en: guess}", "half-width punctuation"),
        (".py", "WORDS = {'zh': '优势'}", "line 1: no 'en' beside"),
        (".py", "x = '式 `a` | see `b`'", "`a` is not in the English"),
        (".py", "# 得 ρ = 1.5 | it is 1.5", "ρ is not in the English"),
    ],
)
def test_words_outside_the_prose_are_checked_too(suffix, text, says):
    found = list(parity.CHECKS[suffix](text))
    assert any(says in problem for problem in found), found


def test_a_message_of_an_exercise_is_checked_like_prose():
    notebook = copy.deepcopy(NOTEBOOK)
    check = 'assert near(x, y), (\n    "差 p(1 - p)"\n    " | off by p times 1 - p"\n)'
    notebook["cells"].append(cell("code", check, "check"))
    (found,) = problems(notebook)
    assert "p( is not in the English of '差 p(1 - p)" in found
