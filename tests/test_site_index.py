"""The loop on the first page is real code."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from tokencredit import ALGORITHMS, policy_loss
from tokencredit.policy import Policy
from tokencredit.rollout import rollout
from tokencredit.tasks import Chain
from tokencredit.train import credit, on_last_token, read, score

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "book" / "index.md"


def loop() -> str:
    return re.search(r"```python\n(.*?)```", INDEX.read_text("utf-8"), re.S)[1]


def test_the_loop_has_eight_lines_of_72_columns():
    lines = loop().splitlines()
    assert len(lines) == 8
    assert max(map(len, lines)) <= 72


def test_the_readme_shows_the_same_loop():
    assert f"```python\n{loop()}```" in (ROOT / "README.md").read_text("utf-8")


def test_the_loop_runs_as_printed_and_moves_the_policy():
    torch.manual_seed(0)
    task = Chain()
    policy = Policy(len(task.vocabulary))
    before = [p.detach().clone() for p in policy.parameters()]
    names = {
        "task": task,
        "policy": policy,
        "row": ALGORITHMS["REINFORCE"],
        "rng": np.random.default_rng(0),
        "optimizer": torch.optim.SGD(policy.parameters(), lr=1.0),
        "steps": 2,
    }
    tools = (credit, on_last_token, policy_loss, read, replace, rollout, score)
    names |= {tool.__name__: tool for tool in tools}
    exec(loop(), names)
    after = policy.parameters()
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
