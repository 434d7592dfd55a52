"""Sentences of chapters 0 to 4 about behaviour that no cell of theirs holds.

Each compares whole curves or whole distributions, in every seed.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from tokenbook.lab import per_seed, records, results
from tokenbook.lab.experiments.algorithms import ROWS
from tokencredit import rollout, score, task
from tokencredit.world.starts import warm_start

CHAPTERS = Path(__file__).parents[1] / "chapters"
SIGNS = task("signs")


def prose(chapter: str) -> str:
    """All prose of a chapter."""
    (path,) = CHAPTERS.glob(f"{chapter}_*.ipynb")
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] != "code")


def medians(step: int) -> dict[str, float]:
    rows = results("algorithms")
    at = rows[rows["step"] == step]
    return at.groupby("algorithm")["success"].median().to_dict()


def test_the_ceiling_of_signs_is_the_one_that_chapter_0_names():
    early, late = medians(5), medians(40)
    assert set(early) == set(late) == set(ROWS) and len(early) == 18
    said = prose("00")
    assert max(early.values()) < 0.75  # what all reach at last, none had at once
    assert min(late.values()) > 0.95
    assert f"{late['REINFORCE']:.2f}" == "0.98"
    assert "都在 0.95 以上" in said and "end above 0.95 (medians of five seeds)" in said
    assert "REINFORCE 也是 0.98" in said and "baseline, reaches 0.98" in said


def test_the_start_answers_every_prompt_once_in_32_responses():
    """In all five seeds, 128 prompts each: pass@32 is 1 before any training."""
    for seed in range(5):
        prompts = SIGNS.prompts(128, np.random.default_rng(seed))
        draw = torch.Generator().manual_seed(seed)
        policy = warm_start("signs", seed)
        batch = rollout(policy, SIGNS, prompts, group_size=32, generator=draw)
        right = score(batch, SIGNS, prompts, SIGNS.reward).view(128, 32)
        assert (right.sum(1) > 0).all() and right.mean() < 0.35


@pytest.mark.slow  # twenty seconds: ten runs of the forty lines
def test_with_0_and_1_the_curve_without_the_mean_is_that_with_it():
    """Exercise 5 of chapter 0, over whole curves and in every seed."""
    grpo = records.program()["grpo"]
    pairs = torch.stack(
        [
            torch.stack([grpo(warm_start("signs", s), 10, s, **how) for s in range(5)])
            for how in ({}, {"weigh": lambda rewards: rewards})
        ]
    )[..., 0]  # [with the mean or without, seed, iteration]
    with_mean, without = pairs
    assert (with_mean - without).mean(1).abs().max() < 0.05
    assert (with_mean - without).abs().max() < 0.2
    assert (pairs[..., -3:].mean(-1) > 0.88).all()


def test_the_share_of_silent_groups_is_underestimated_by_the_mean_rate():
    """Chapters 0 and 2: p^G + (1 - p)^G is convex, (1 - q)^N too."""
    p = torch.linspace(0, 1, 101, dtype=torch.float64)
    draw = torch.Generator().manual_seed(0)
    for size in (2, 8, 16):
        silent = [lambda p: p**size + (1 - p) ** size, lambda p: (1 - p) ** size]  # noqa: B023
        for share in silent:
            for _ in range(20):
                some = p[torch.randint(101, (32,), generator=draw)]
                assert share(some).mean() >= share(some.mean()) - 1e-12
    for chapter in ("00", "02"):
        assert "估少" in prose(chapter) and "underestimated" in prose(chapter)


def test_sort_ends_at_the_ceiling_where_a_mean_is_subtracted():
    """Chapter 3's appendix compares the four before they get there."""
    rows = results("sort-baselines")
    for delta in ("centred", "leave-one-out", "normalised", "max"):
        position = per_seed(rows, "reward", delta=delta, pays="position")
        assert (position[:, -3:].mean(1) > 2.97).all()  # of 3
    assert (per_seed(rows, "reward", delta="raw", pays="position")[:, -1] < 3).all()


@pytest.mark.parametrize("chapter", ["00", "01", "02", "03", "04"])
def test_answers_in_words_are_not_graded_and_the_task_says_so(chapter):
    """A task that asks for an explanation tells where to compare it."""
    (path,) = CHAPTERS.glob(f"{chapter}_*.ipynb")
    cells = json.loads(path.read_text("utf-8"))["cells"]
    for cell in cells:
        text = re.sub(r"(?s)<details.*?</details>", "", "".join(cell["source"]))
        if not text.startswith("###") or cell["cell_type"] == "code":
            continue
        if re.search(r"练习.*解释|然后.{0,6}解释|[Tt]hen explain|and explain", text):
            assert re.search(r"不自动计分|not graded", text), text[:60]
