"""Code that is printed is run: the docstrings' examples, and a listing for verl."""

import doctest
import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch
import yaml

from tokenbook.languages import LANGUAGES
from tokencredit import ALGORITHMS, policy_loss

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
MODULES = [
    ".".join(path.relative_to(SRC).with_suffix("").parts)
    for path in sorted(SRC.rglob("*.py"))
    if ">>>" in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_docstrings_hold(name):
    module = importlib.import_module(name.removesuffix(".__init__"))
    result = doctest.testmod(module, extraglobs={"torch": torch})
    assert result.attempted and not result.failed


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_listing_for_verl_gives_the_losses_of_the_table(lang, monkeypatch):
    """Run with a stand-in for verl's registry, in micro-batches that must add up."""
    registered = {}

    def register(name):
        return lambda function: registered.setdefault(name, function)

    for name in ("verl", "verl.trainer", "verl.trainer.ppo"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    core = ModuleType("verl.trainer.ppo.core_algos")
    core.register_policy_loss = core.register_adv_est = register
    monkeypatch.setitem(sys.modules, core.__name__, core)
    told = yaml.safe_load((ROOT / "book/wild/15.yml").read_text("utf-8"))[lang]
    listing = told.partition("```python\n")[2].partition("```")[0]
    names = {}
    exec(listing, names)
    losses = {k: f for k, f in registered.items() if k != "tokencredit"}
    assert len(losses) == 4
    torch.manual_seed(0)
    new, old, advantages = torch.randn(3, 6, 5)
    mask = torch.rand(6, 5) < 0.7
    mask[:, 0] = True
    count = {"batch_num_tokens": mask.sum(), "global_batch_size": 6, "dp_size": 1}
    config = SimpleNamespace(global_batch_info=count)
    for key, loss in losses.items():
        row = replace(ALGORITHMS[key.removeprefix("tokencredit ")], kl_coef=0.0)
        whole = policy_loss(row, new, old, advantages, mask, max_length=1024)
        parts = [
            loss(old[i], new[i], advantages[i], mask[i].float(), config)[0]
            for i in torch.arange(6).split(2)
        ]
        torch.testing.assert_close(sum(parts), whole)
    with pytest.raises(ValueError, match="BAPO must see a whole optimizer step"):
        names["bring"]("BAPO")
