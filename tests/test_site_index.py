"""The loop on the first page is real code, for every algorithm."""

import copy
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from tokencredit import ALGORITHMS, Policy, reward, rollout, task, with_critic
from tokencredit.training import credit, objective, read

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "book" / "index.md"


def loop() -> str:
    return re.search(r"```python\n(.*?)```", INDEX.read_text("utf-8"), re.S)[1]


def test_the_loop_has_six_lines_of_72_columns():
    lines = loop().splitlines()
    assert len(lines) == 6
    assert max(map(len, lines)) <= 72


def test_the_readme_shows_the_same_loop():
    assert f"```python\n{loop()}```" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", [*ALGORITHMS, "GRPO + critic"])
def test_the_loop_runs_as_printed_for_every_algorithm(name):
    """All parameters move; a critic's, too."""
    torch.manual_seed(0)
    chain = task("chain")
    many = {**ALGORITHMS, "GRPO + critic": with_critic(ALGORITHMS["GRPO"])}
    critic = many[name].critic
    policy = Policy(len(chain.vocabulary), critic=critic)
    before = [p.detach().clone() for p in policy.parameters()]
    names = {
        "task": chain,
        "policy": policy,
        "reference": copy.deepcopy(policy),
        "algorithm": many[name],
        "rng": np.random.default_rng(0),
        "optimizer": torch.optim.SGD(policy.parameters(), lr=1.0),
        "steps": 3,
    }
    if many[name].taught:  # by itself it would learn nothing
        names["reference"] = Policy(len(chain.vocabulary))
    names |= {f.__name__: f for f in (credit, objective, read, reward, rollout)}
    exec(loop(), names)
    after = policy.parameters()
    moved = [not torch.equal(a, b) for a, b in zip(before, after, strict=True)]
    assert all(moved)
