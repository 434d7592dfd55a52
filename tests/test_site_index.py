"""The loop on the first page is real code, for every algorithm."""

import copy
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from tokencredit import ALGORITHMS, Policy, add_rewards, rollout, task, with_critic
from tokencredit.training import Dials, assign_credit, forward, objective, train
from tokencredit.training import loop as training_loop
from tokencredit.world.tasks import base

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
    names |= {
        f.__name__: f for f in (add_rewards, assign_credit, forward, objective, rollout)
    }
    exec(loop(), names)
    after = policy.parameters()
    moved = [not torch.equal(a, b) for a, b in zip(before, after, strict=True)]
    assert all(moved)


@pytest.mark.parametrize("name", re.findall(r"(\w+)\((?=policy|batch|algo)", loop()))
def test_train_calls_every_function_of_the_loop(name, monkeypatch):
    """Once a round: no function is there for the first page alone."""
    calls, chain = [], task("chain")
    module = base if hasattr(base, name) else training_loop
    real = getattr(module, name)

    def counted(*args, **dials):
        calls.append(name)
        return real(*args, **dials)

    monkeypatch.setattr(module, name, counted)
    dials = Dials(steps=2, prompts=2, group_size=2)
    train(Policy(len(chain.vocabulary)), chain, "GRPO", dials=dials)
    assert len(calls) == 2


# What `train` does besides, as the page says, is not in the six lines.
ONE_SAMPLER = [
    row.name
    for row in ALGORITHMS.values()
    if not row.refill and not row.corrects and not row.critic
]


@pytest.mark.parametrize("name", ONE_SAMPLER)
def test_the_loop_as_printed_is_the_loop_of_train(name):
    """From one seed both end at the same weights; they differ where a line differs."""
    chain, algorithm = task("chain"), ALGORITHMS[name]
    torch.manual_seed(0)
    policy = Policy(len(chain.vocabulary))
    ours, reference = copy.deepcopy(policy), copy.deepcopy(policy)

    def shuffled(*stages):  # the rows of a batch, as `train` does before its passes
        return assign_credit(*stages).shuffled()

    names = {"task": chain, "policy": ours, "reference": reference, "steps": 3}
    names |= {"algorithm": algorithm, "rng": np.random.default_rng(5)}
    names |= {"optimizer": torch.optim.SGD(ours.parameters(), lr=0.5)}
    names |= {f.__name__: f for f in (add_rewards, forward, objective, rollout)}
    torch.manual_seed(5)
    exec(loop(), names | {"assign_credit": shuffled})
    dials = Dials(steps=3, optimizer="sgd", lr=0.5, max_grad_norm=1e9)
    train(policy, chain, algorithm, dials=dials, seed=5, reference=reference)
    for a, b in zip(ours.parameters(), policy.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert any(
        not torch.equal(a, b)
        for a, b in zip(ours.parameters(), reference.parameters(), strict=True)
    )
