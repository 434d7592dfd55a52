"""The map of chapter 16 and the table of papers behind it name the same methods."""

import json
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ROAD = {"zh": "1c3bef56", "en": "a72e4086"}
MAP = {"zh": "c16restmapbz", "en": "c16restmapbe"}
ARROWS = {
    "zh": {"词元", "奖励", "功劳", "权重", "梯度"},
    "en": {"tokens", "reward", "credit", "weight", "gradient"},
}
PAPERS = """
2306.13649 2506.24119 2505.20686 2508.08221 2508.11408 2508.17445 2510.15110 2601.02780
2601.19897 2601.20802 2602.02276 2602.05261 2602.05630 2602.07078 2602.10693 2602.15763
2603.01365 2603.19835 2603.21383 2604.03128 2604.13016 2605.15155 2605.24517 2606.19348
2606.22600 2606.30406 2607.05378 2609.20715 2609.20807 2503.14286 2506.01347 2504.11343
1802.01561 2504.16084 2504.20571 2509.21880 2512.06547 2602.12125 2501.03262 2505.24864
2506.02177 2601.22718 2606.09821 2606.10968 2510.06062 2602.00983 2605.12380 2509.15207
2405.19107 2505.21493 2506.18254 2507.17746 2509.13232 2510.04996 2502.01456 2507.16806
2504.14945 2505.15201
"""
"""Methods of the survey of November 2026 that no other chapter tells."""


def rows(text: str) -> list[list[str]]:
    """The cells of the tables' lines, heads and rules left out."""
    lines = [line.strip() for line in text.splitlines()]
    cells = [line.strip("|").split("|") for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in cells if "---" not in row[0]]


def mapped(lang: str, table: dict[str, str] = MAP) -> list[list[str]]:
    (path,) = (ROOT / "chapters").glob("16_*.ipynb")
    cells = json.loads(path.read_text("utf-8"))["cells"]
    (cell,) = (cell for cell in cells if cell["id"] == table[lang])
    return rows("".join(cell["source"]))[1:]


def sources(lang: str) -> str:
    """The part of the libraries of chapter 16 that follows the map."""
    return yaml.safe_load((ROOT / "book/wild/16.yml").read_text("utf-8"))[lang]


@pytest.mark.parametrize("lang", MAP)
def test_each_line_of_the_map_names_its_arrow_and_says_something(lang):
    lines = mapped(lang)
    assert len(lines) == 59
    for name, arrow, says in lines:
        assert name and len(says) > 8, name
        arrows = re.split("、|, ", arrow)
        assert {*arrows} <= ARROWS[lang], name
        assert len(arrows) == (2 if name == "LitePPO" else 1), name
    assert len({name for name, *_ in lines}) == len(lines)


@pytest.mark.parametrize("lang", MAP)
def test_an_arrow_means_the_same_in_both_tables(lang):
    """What a token's loss is multiplied by when losses are averaged is its weight."""
    arrow = {row[0]: row[1] for table in (ROAD, MAP) for row in mapped(lang, table)}
    several = {arrow["Dr. GRPO"], arrow["ScaleRL"]}  # two and three
    assert arrow["LitePPO"] == arrow["Dr. GRPO"]
    assert {*arrow.values()} - ARROWS[lang] == several
    averaged = {"zh": "Token-level loss", "en": "token-level loss"}[lang]
    assert arrow["LUSPO"] == arrow["IW-OPD"] == arrow[averaged]
    for one in several:
        assert {*re.split("、|, ", one)} <= ARROWS[lang]
    assert arrow[averaged] in arrow["Dr. GRPO"]


@pytest.mark.parametrize("lang", MAP)
def test_every_method_behind_the_map_is_on_it_and_has_its_paper(lang):
    text, names = sources(lang), " ".join(name for name, *_ in mapped(lang))
    behind = rows(text[text.index("2508.17445") - 200 :])
    behind = [row for row in behind if len(row) == 3 and "arxiv" in row[1]]
    assert len(behind) > 20
    for name, *_ in behind:
        for one in re.findall(r"[A-Z][A-Za-z*\-]{2,}", name):
            assert one in names or one in ("KL",), f"{one} is not on the map"
    assert not [paper for paper in PAPERS.split() if paper not in text]
