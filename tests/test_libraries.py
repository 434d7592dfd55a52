"""What the book says about other libraries, read in the pinned package itself.

One short function per statement, named as the sentence that stands in the book. It
reads defaults, or the source, of the version that `requirements.txt` pins.
"""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import trl
from trl import GRPOConfig, GRPOTrainer, RLOOConfig

ROOT = Path(__file__).parents[1]


def default(config, name):
    (found,) = [field for field in fields(config) if field.name == name]
    return found.default


def source(thing) -> str:
    """The source, each run of white space as one space."""
    return re.sub(r"\s+", " ", inspect.getsource(thing))


def test_the_statements_are_about_the_version_that_is_installed():
    assert f"trl=={trl.__version__}" in (ROOT / "requirements.txt").read_text("utf-8")


def test_trl_takes_groups_of_two_for_rloo_and_of_eight_for_grpo():
    assert default(RLOOConfig, "num_generations") == 2
    assert default(GRPOConfig, "num_generations") == 8


def test_frac_reward_zero_std_looks_at_the_whole_batch_when_the_batch_scales():
    """0 or 1 with `scale_rewards="batch"` and with `normalize_then_sum`."""
    code = source(GRPOTrainer._generate_and_score_completions)
    whole = "nanstd(rewards).expand_as(rewards)"
    _, added, parted = re.split("multi_objective_aggregation ==", code)
    by_group, by_batch = added.split('elif self.scale_rewards == "batch"')
    assert whole not in by_group and "view(-1, num_generations)" in by_group
    assert whole in by_batch and whole in parted
    named = '"frac_reward_zero_std"].append(is_std_zero.float().mean()'
    assert code.count(named) == 1 and "torch.isclose(std_rewards" in by_batch
