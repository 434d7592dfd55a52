"""The words of the course: every term has an id, and what is retired is not written."""

import ast
import json
import re

import pytest

from tokenbook.languages import LANGUAGES, pages
from tokenbook.languages.glossary import GLOSSARY, ROWS, retired, symbol, term
from tokenbook.languages.notebooks import ROOT


def written(file: str) -> list[str]:
    """The retired words in a file's prose, each with its line."""
    text = (ROOT / file).read_text(encoding="utf-8")
    source = json.loads(text) if file.endswith(".ipynb") else text
    return [
        f"{file}, {line.strip()[:40]!r}: {what}"
        for lang, prose in pages.pieces(source)
        if lang
        for line in prose.splitlines()
        for what in retired(line, lang)
    ]


@pytest.mark.parametrize("file", GLOSSARY["rewritten"])
def test_a_rewritten_file_uses_no_retired_word(file):
    found = written(file)
    assert not found, "\n" + "\n".join(found)


def test_an_id_names_one_row_in_plain_letters():
    count = sum(len(group["terms"]) for group in GLOSSARY["groups"])
    assert count == len(ROWS)
    assert not [name for name in ROWS if not re.fullmatch(r"[a-z][a-z0-9_]*", name)]


def test_no_row_is_named_by_a_word_that_another_retires():
    for name, row in ROWS.items():
        for lang in ("zh", "en"):
            for words in (row[lang], row["means"][lang]):
                found = [*retired(words, lang)]
                assert not found, f"{name}: {found}"


def test_every_name_in_code_is_a_name_of_the_package():
    sources = (ROOT / "src" / "tokencredit").rglob("*.py")
    used = {w for p in sources for w in re.findall(r"\w+", p.read_text("utf-8"))}
    named = {n for row in ROWS.values() for n in row.get("code", "").split()}
    assert not named - used


def test_a_term_is_found_by_its_id_in_each_language():
    assert term("turn", "zh") == "轮次" and term("iteration", "en") == "iteration"
    assert symbol("clip_range") == r"\varepsilon" != symbol("stabiliser")
    assert symbol("padding") == ""


def test_figures_name_their_terms_by_id():
    ids = {tuple(row[lang] for lang in LANGUAGES): name for name, row in ROWS.items()}
    found = []
    for path in sorted((ROOT / "src" / "tokenbook" / "figures").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            words = isinstance(node, ast.Tuple) and tuple(
                getattr(part, "value", None) for part in node.elts
            )
            if words in ids:
                found.append(f'{path.name}: {words} is terms("{ids[words]}")')
    assert not found, "\n" + "\n".join(found)


def test_an_unknown_id_names_the_near_ones():
    with pytest.raises(ValueError, match=r"no term 'discont'.*'discount'"):
        term("discont", "zh")


@pytest.mark.parametrize(
    ("lang", "text", "found"),
    [
        ("zh", "先练 30 轮", "轮"),
        ("zh", "第一轮次、多轮智能体", ""),
        ("zh", "前三轮各六个，第 $k$ 轮", ""),
        ("zh", "信用分配", ""),
        ("zh", "每个词元的信用", "信用"),
        ("en", "30 rounds", "30 rounds"),
        ("en", "rounding error", ""),
        ("en", "a token in the mask", "in the mask"),
        ("en", "`in the mask` and [x](on the mask)", ""),
        ("en", r"a range $\epsilon$", r"\epsilon"),
        ("en", r"a range $\varepsilon$", ""),
    ],
)
def test_a_retired_word_is_found_in_prose_and_nowhere_else(lang, text, found):
    words = [what.partition(": write ")[0] for what in retired(text, lang)]
    assert words == ([found] if found else [])


def test_a_letter_that_stands_for_two_things_says_so_in_both_languages():
    """τ is a temperature and a trajectory: the rows say in which chapters."""
    by_symbol = {}
    for name, row in ROWS.items():
        by_symbol.setdefault(row.get("symbol"), []).append(name)
    del by_symbol[None]
    for letter, names in by_symbol.items():
        for name in names if len(names) > 1 else ():
            for lang in LANGUAGES:
                assert f"${letter}$" in ROWS[name]["means"][lang], (name, letter)


def test_the_chapters_write_the_letters_of_the_glossary():
    """What the glossary says of τ holds; no chapter uses it for a third thing."""
    holds = {}
    for path in sorted((ROOT / "chapters").glob("[0-9]*.ipynb")):
        prose = "\n".join(
            text for _, text in pages.pieces(json.loads(path.read_text()))
        )
        if r"\tau" in prose:
            whole = re.search(r"\\tau\$ (?:is|be) the whole trajectory", prose)
            holds[pages.chapter_number(path.name)] = bool(whole)
    assert {number for number, trajectory in holds.items() if trajectory} == {13}
    assert {number for number, trajectory in holds.items() if not trajectory} <= {
        *(1, 11, 16),  # a temperature, of sampling or of a soft gate
    }


# --- a meaning says the same in both languages --------------------------------------

POLES = {  # what turns a meaning round, and how Chinese and English say it
    "up": (
        "抬高|升高|变好|变大|更好",
        r"raises|pushing up|rises|improves?|better\b(?! this)|grow\b",
    ),
    "down": ("压低|降到", "lowers|falls"),
    "large": (
        "超过|上限|上界|上侧|最大",
        r"above|\blimit\b|upper|ceiling|largest|second bound",
    ),
    "short": ("变短|短的", "shorter|short rows"),
    "long": ("变长|等长", "longer|longest"),
    "positive": ("正的|正优势", "a positive push|positive advantage"),
    "negative": ("为负|负的|负数", "negative"),
    "correct": ("正确", r"\bcorrect (?=resp)"),
    "incorrect": ("错误", "incorrect"),
    "true": ("为真", r"\btrue"),
    "false": ("为假", r"\bfalse"),
    "new": ("新(?=策略|旧|预测|权重)", r"\bnew\b"),
    "old": ("旧(?=数据|策略)|更早", r"\bold\b|earlier policy"),
    "critic": ("价值网络", "critic"),
    "return": ("回报", r"\breturns?\b(?! it)"),
    "easy": ("极易", "very easy"),
    "hard": ("极难", "very hard"),
    "next": ("下一", r"\bnext\b"),
    "this": ("这一步|这个动作", r"this (?=value|action|step)"),
    "minus": ("减去|减均值", r"\bminus\b(?! the der)|subtract"),
    "sampling": ("推理引擎", "inference engine"),
    "training": ("训练引擎", "training engine"),
    "before": ("之前|更新前|采样前", "before(?! one)"),
    "after": ("之后|以后(?!求)", r"\bafter\b"),
    "only": ("只", r"\bonly\b|alone"),
    "not": (
        "不(?!同|一致|确定|动|到|只)|没有|未",
        r"\bnot\b(?! only)|\bno\b|never|without|cannot",
    ),
    "number": (r"\d+(?:\.\d+)?", r"\d+(?:\.\d+)?"),
}
OTHERWISE = {  # where one language needs no such word, or has it elsewhere; read twice
    "transition": "after",
    "truncation": "after",
    "exploration": "before not",
    "behaviour_policy": "training",
    "edge_case": "only",
    "enumeration": "not",
    "outcome_reward": "only",
    "rlhf": "only",
    "frontier": "not",
    "reward_hacking": "not",
    "overlong_penalty": "large",
    "baseline": "return not",
    "action_value": "after",
    "bootstrapping": "not",
    "value_pretraining": "before only",
    "difficulty_bias": "after",
    "potential_shaping": "not",
    "zero_gradient_batch": "this",
    "eglp_lemma": "not only",
    "moe": "before",
    "clip": "number",
    "clip_range": "not",
    "gate": "not only",
    "tis": "large",
    "dual_clip": "large",
    "balanced_clip": "only",
    "value_clip": "not",
    "effective_sample_size": "after",
    "explained_variance": "critic",
}


def poles(name: str, text: str, lang: str) -> list[str]:
    """The poles of a meaning in their order, formulas left out."""
    text = re.sub(r"\$[^$]*\$", " ", text)
    found = [
        (hit.start(), hit[0] if pole == "number" else pole)
        for pole, said in POLES.items()
        if pole not in OTHERWISE.get(name, "").split()
        for hit in re.finditer(said[lang == "en"], text, re.I)
    ]
    return [pole for _, pole in sorted(found)]


def formulas(text: str) -> list[str]:
    return sorted(re.findall(r"\$([^$]*)\$", text))


@pytest.mark.parametrize("name", ROWS)
def test_a_meaning_is_not_turned_round_in_one_language(name):
    zh, en = (ROWS[name]["means"][lang] for lang in ("zh", "en"))
    assert poles(name, zh, "zh") == poles(name, en, "en"), f"{zh} | {en}"
    assert formulas(zh) == formulas(en)


TURNED = {
    "gae_lambda": "0 trusts only the observed return, 1 only the critic.",
    "td_error": "Reward plus this value minus the next.",
    "push": "Minus the derivative; a negative push raises it, a positive lowers it.",
    "mask": "False where the policy chose the token, which is trained.",
    "length_bias": "Correct responses get longer and incorrect ones shorter.",
    "ratio": "The probability under the old policy over that under the new.",
    "clip_higher": "A clip range that is wider below, so that tokens fall.",
    "off_policy": "The data comes from the policy being updated.",
    "termination": "The value after it is not 0.",
}


@pytest.mark.parametrize("name", TURNED)
def test_a_meaning_that_is_turned_round_is_seen(name):
    zh = ROWS[name]["means"]["zh"]
    assert poles(name, TURNED[name], "en") != poles(name, zh, "zh")


def test_where_d_turns_its_sign_the_chapter_says_so():
    """k3 is exp(-d) - 1 + d in chapter 7 and w - 1 - d in chapter 15, where d is -d."""
    text = (ROOT / "chapters/15_cluster.ipynb").read_text("utf-8")
    rows = [
        line
        for cell in json.loads(text)["cells"]
        for line in "".join(cell["source"]).splitlines()
        if line.startswith("| `k3` | ") and "$k_3$" in line
    ]
    assert len(rows) == 2 and all("$-d_t$" in row for row in rows)
