"""What the book says about other libraries, read in the pinned package itself.

One short function per statement, named as the sentence that stands in the book. It
reads defaults, or the source, of the version that `requirements.txt` pins.
"""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import torch
import trl
from trl import GRPOConfig, GRPOTrainer, RLOOConfig
from trl.generation import vllm_generation
from trl.trainer import grpo_trainer

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


# --- chapters 1 to 4 ----------------------------------------------------------


def test_trl_samples_at_temperature_1_up_to_512_tokens_and_trains_what_was_cut():
    assert default(GRPOConfig, "temperature") == 1.0
    assert default(GRPOConfig, "max_completion_length") == 512
    assert default(GRPOConfig, "mask_truncated_completions") is False


def test_trl_divides_the_logits_by_the_temperature_of_sampling_before_the_loss():
    code = source(GRPOTrainer.__init__)
    _, policy, reference = code.split("add_fused_lm_head(")
    for given in (policy, reference):
        assert "temperature=self.temperature" in given[:120]
    fused = source(inspect.getmodule(grpo_trainer.add_fused_lm_head))
    assert re.search(r"(/ ?|div_?\()(self\.)?temperature", fused)


def test_trl_asks_vllm_for_log_probs_after_temperature_and_top_p():
    assert 'logprobs_mode="processed_logprobs"' in source(vllm_generation)


def test_trl_makes_one_optimizer_step_for_each_batch_of_responses():
    assert default(GRPOConfig, "num_iterations") == 1
    assert default(GRPOConfig, "steps_per_generation") is None
    assert (
        "steps_per_generation is None: "
        "self.steps_per_generation = self.gradient_accumulation_steps"
    ) in source(GRPOConfig.__post_init__)


def test_trl_divides_by_the_sample_std_plus_1e_4_and_refuses_a_group_of_one():
    assert grpo_trainer.nanstd(torch.tensor([1.0, 2.0, 3.0])) == 1
    code = source(GRPOTrainer._generate_and_score_completions)
    assert "advantages / (std_rewards + 1e-4)" in code
    for config in (GRPOConfig, RLOOConfig):
        assert "if self.num_generations < 2: raise ValueError" in source(
            config.__post_init__
        )


def test_trl_has_no_plain_reinforce_and_rloo_subtracts_the_mean_of_the_others():
    assert not [name for name in dir(trl) if name.lower() == "reinforcetrainer"]
    code = source(trl.RLOOTrainer._generate_and_score_completions)
    others = "(grouped_sum - grouped_rewards) / (scorable_counts - 1)"
    assert code.count(others) == 1


def test_trl_gives_a_loss_of_0_where_no_token_is_trained():
    code = source(GRPOTrainer._compute_loss)
    assert "(per_token_loss * mask).sum() / mask.sum().clamp(min=1.0)" in code


def test_trl_discounts_nothing_and_masks_the_tokens_of_tools():
    names = {field.name for field in fields(GRPOConfig)}
    assert "gamma" not in names
    assert "0 for tool result tokens" in inspect.getsource(grpo_trainer)
