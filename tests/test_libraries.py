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


# --- chapters 5 to 8 ----------------------------------------------------------


def test_trl_has_no_ppo_trainer_and_no_critic_any_more():
    (folder,) = trl.__path__
    sources = [x.read_text("utf-8") for x in Path(folder).rglob("*.py")]
    assert not any("class PPOTrainer" in text for text in sources)
    assert not hasattr(trl, "PPOTrainer")


def test_trl_uses_a_batch_once_and_its_delta_bounds_the_ratio_before_the_min():
    assert default(GRPOConfig, "num_iterations") == 1
    assert default(GRPOConfig, "delta") is None
    code = source(GRPOTrainer._compute_loss)
    bounded = code.index("coef_1 = torch.clamp(coef_1, max=self.args.delta)")
    assert bounded < code.index("-torch.min(per_token_loss1, per_token_loss2)")


def test_trl_counts_as_clipped_the_tokens_without_a_gradient():
    code = source(GRPOTrainer._compute_loss)
    assert "(coef_1 < 1 - self.epsilon_low) & (advantages < 0)" in code
    assert "(coef_1 > 1 + self.epsilon_high) & (advantages > 0)" in code
    for name in ("low_mean", "high_mean", "region_mean"):
        assert f'"clip_ratio/{name}"' in code


def test_trl_without_vllm_divides_by_the_current_probability_in_one_update():
    assert "per_token_logps.detach() if old_per_token_logps is None" in source(
        GRPOTrainer._compute_loss
    )


def test_trl_s_kl_is_k3_times_the_ratio_without_a_clamp():
    assert default(GRPOConfig, "use_bias_correction_kl") is True
    code = source(GRPOTrainer._compute_loss)
    start = code.index("per_token_kl = (")
    found = code[start : code.index("self.loss_type", start)]
    assert (
        "torch.exp(ref_per_token_logps - per_token_logps)"
        " - (ref_per_token_logps - per_token_logps) - 1" in found
    )
    assert "per_token_kl = per_token_kl * coef_1" in found and "clamp" not in found


def test_trl_divides_by_the_std_of_the_group_of_the_raw_batch_or_not_at_all():
    assert default(GRPOConfig, "scale_rewards") == "group"
    code = source(GRPOTrainer._generate_and_score_completions)
    assert "Must be one of 'batch', 'group', or 'none'" in code
    (batch,) = re.findall(r'self\.scale_rewards == "batch":(.*?)else:', code)
    assert "nanstd(rewards)" in batch and "advantages" not in batch


# --- chapters 9 to 12 ---------------------------------------------------------

LOSS = source(GRPOTrainer._compute_loss)


def branch(name: str) -> str:
    """What `_compute_loss` divides by for this loss type."""
    _, *parts = re.split(r"(?:if|elif) self\.loss_type (?:==|in) ", LOSS)
    (found,) = [
        x for x in parts if f'"{name}"' in x.split(":")[0] and "normalizer" in x
    ]
    return found


def test_trl_divides_dapo_by_the_generation_batch_scaled_to_one_optimizer_step():
    assert default(GRPOConfig, "loss_type") == "dapo"
    code = branch("dapo")
    assert 'inputs["num_items_in_batch"].clamp(min=1.0)' in code
    assert (
        "self.current_gradient_accumulation_steps / self.args.steps_per_generation"
        in code
    )


def test_trl_divides_grpo_bnpo_dr_grpo_and_luspo_in_each_micro_batch():
    for name, how in (
        ("grpo", "mask.sum(-1).clamp(min=1.0)).mean()"),
        ("bnpo", "(per_token_loss * mask).sum() / mask.sum().clamp(min=1.0)"),
        ("dr_grpo", "per_token_loss.size(0) * self.max_completion_length"),
        ("luspo", "(per_token_loss * mask).sum(1).mean()"),
    ):
        code = branch(name)
        assert how in code or how.replace(".sum(1).", ".sum(-1).") in code, name
        assert "loss = loss / normalizer" in code


def test_trl_adds_the_kl_to_each_token_before_it_averages():
    added = LOSS.index("per_token_loss + self.beta * per_token_kl")
    assert added < LOSS.index('self.loss_type in ["grpo", "sapo"]')


def test_trl_s_defaults_are_those_of_the_tables_on_dapo_gspo_and_sapo():
    assert default(GRPOConfig, "epsilon") == 0.2
    assert default(GRPOConfig, "epsilon_high") is None
    assert default(GRPOConfig, "beta") == 0
    assert default(GRPOConfig, "mask_truncated_completions") is False
    assert default(GRPOConfig, "importance_sampling_level") == "token"
    assert default(GRPOConfig, "sapo_temperature_pos") == 1.0
    assert default(GRPOConfig, "sapo_temperature_neg") == 1.05


def test_trl_has_no_dynamic_sampling():
    names = " ".join(field.name for field in fields(GRPOConfig))
    assert not re.search("dynamic_sampl|filter_groups|refill", names)


def test_trl_s_overlong_penalty_ends_at_minus_1():
    from trl.rewards import get_soft_overlong_punishment

    penalty = get_soft_overlong_punishment(20480, 4096)
    lengths = (16384, 18432, 20480, 24576)
    assert penalty([[0] * n for n in lengths]) == [0, -0.5, -1, -1]


def test_trl_s_cap_for_cispo_is_epsilon_high_itself_and_epsilon_where_it_is_unset():
    first = LOSS.split('if self.loss_type == "cispo":')[1][:120]
    assert "torch.clamp(coef_1, max=self.epsilon_high)" in first
    assert (
        "args.epsilon_high if args.epsilon_high is not None else args.epsilon"
        in source(GRPOTrainer.__init__)
    )


def test_trl_warns_where_gspo_is_averaged_over_tokens():
    code = source(GRPOTrainer.__init__)
    assert (
        'args.importance_sampling_level == "sequence" and args.loss_type in '
        '["bnpo", "dr_grpo", "dapo", "cispo"]: logger.warning('
    ) in code.replace("warnings.warn(", "logger.warning(")


def test_trl_s_rloo_clips_the_product_of_the_ratios_of_a_response():
    assert default(RLOOConfig, "epsilon") == 0.2
    code = source(trl.RLOOTrainer._compute_loss)
    assert "logps = (per_token_logps * completion_mask).sum(1)" in code
    assert "torch.clamp(coef_1, 1 - self.epsilon_low, 1 + self.epsilon_high)" in code


def test_trl_s_async_grpo_discards_what_is_more_than_4_updates_old():
    from trl.experimental import async_grpo

    assert default(async_grpo.AsyncGRPOConfig, "max_staleness") == 4
    trainer = source(inspect.getmodule(async_grpo.AsyncGRPOTrainer))
    assert "if staleness > self.max_staleness: logger.info(" in trainer
    assert "dropping stale sample" in trainer


# --- chapters 13 to 16, symptoms ----------------------------------------------


def test_trl_ends_a_response_at_every_end_token_of_the_generation_config():
    found = source(grpo_trainer)
    assert "eos_token_ids = model.generation_config.eos_token_id" in found
    assert "torch.isin(completion_ids, torch.tensor(self.eos_token_ids" in found


def test_trl_weights_the_policy_term_and_not_the_kl():
    weighted = LOSS.index('per_token_loss * inputs["importance_sampling_ratio"]')
    assert weighted < LOSS.index("per_token_loss + self.beta * per_token_kl")


def test_trl_leaves_out_a_response_for_which_every_reward_function_returns_none():
    code = source(GRPOTrainer._generate_and_score_completions)
    assert "unscorable_mask = torch.isnan(rewards_per_func).all(dim=1)" in code
    assert "torch.nanmean(rewards.view(-1, num_generations), dim=1)" in code
    assert "advantages = torch.nan_to_num(advantages, nan=0.0)" in code


def test_trl_masks_whole_responses_with_a_weight_above_3_unless_told_otherwise():
    assert default(GRPOConfig, "vllm_importance_sampling_correction") is True
    assert default(GRPOConfig, "vllm_importance_sampling_mode") == "sequence_mask"
    assert default(GRPOConfig, "vllm_importance_sampling_clip_max") == 3.0


def test_trl_has_the_asynchronous_trainer_in_experimental_only():
    from trl.experimental.async_grpo import AsyncGRPOTrainer

    assert AsyncGRPOTrainer.__module__.startswith("trl.experimental")
    assert not hasattr(trl, "AsyncGRPOTrainer")


def test_trl_has_no_dppo_and_gmpo_with_a_range_of_0_4_in_experimental():
    from trl import experimental
    from trl.experimental.gmpo import GMPOConfig

    (folder,) = experimental.__path__
    assert not list(Path(folder).glob("*dppo*")) + list(Path(folder).glob("*gfpo*"))
    assert default(GMPOConfig, "epsilon") == 0.4


def test_trl_distils_over_the_whole_vocabulary_with_the_reverse_kl_by_default():
    assert default(trl.DistillationConfig, "beta") == 1.0
    names = {field.name for field in fields(GRPOConfig)}
    assert {"top_entropy_quantile", "use_adaptive_entropy"} <= names
