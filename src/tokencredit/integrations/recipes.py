"""Recipes 配方: the configuration of verl that trains an entry of ALGORITHMS.

    python -m tokencredit.integrations.recipes "Dr. GRPO" > recipe.yaml
    export VERL_USE_EXTERNAL_MODULES=tokencredit.integrations.verl
    python -m verl.trainer.main_ppo --config-dir . --config-name recipe \\
        data.train_files=... actor_rollout_ref.model.path=...

Needs no verl. The head of a recipe lists its gaps, and says that it was not run.
"""

from __future__ import annotations

import sys

import yaml

from tokencredit.algorithm import Algorithm, named
from tokencredit.weight.losses import dppo_loss, masked_clip_loss

TRIED = """\
Tried on the CPU (make integrations-verl): hydra composes it, its names resolve, loss
and advantage equal plain torch. Not run: a whole training, for which verl needs GPUs
and vLLM or SGLang. The sizes are placeholders."""


def name_in_verl(row: Algorithm | str) -> str:
    """Name of an algorithm in verl's registries."""
    return f"tokencredit {named(row).name}"


def recipe(row: Algorithm | str) -> dict:
    """The configuration of an algorithm for `verl.trainer.main_ppo`, as nested dicts.

    >>> recipe("Dr. GRPO")["actor_rollout_ref"]["actor"]["loss_agg_mode"]
    'seq-mean-token-sum-norm'
    """
    row = named(row)
    actor = {
        "policy_loss": {"loss_mode": name_in_verl(row)},
        "loss_agg_mode": row.aggregation,  # of KL and entropy; the loss has its own
        "entropy_coeff": row.entropy_coef,
        "use_kl_loss": bool(row.kl_coef) and row.kl_in == "loss",
        "ppo_mini_batch_size": 128,  # prompts of an optimizer step
        "ppo_micro_batch_size_per_gpu": 8,  # responses of a forward pass
    }
    theirs = "gae" if row.critic else "grpo" if row.taught else None
    judged = {
        "adv_estimator": theirs or name_in_verl(row),
        "use_kl_in_reward": bool(row.kl_coef) and row.kl_in == "reward",
    }
    if row.aggregation == "seq-mean-token-sum-norm":
        actor["loss_scale_factor"] = "${data.max_response_length}"
    if actor["use_kl_loss"]:
        actor["kl_loss_coef"] = row.kl_coef
        actor["kl_loss_type"] = row.kl_estimator
    if judged["use_kl_in_reward"]:
        judged["kl_penalty"] = row.kl_estimator
        judged["kl_ctrl"] = {"kl_coef": row.kl_coef}
    if row.critic:
        judged |= {k: row.advantage.keywords[k] for k in ("gamma", "lam")}
    loss = getattr(row.loss, "func", row.loss)
    if row.corrects:
        judged["rollout_correction"] = {"rollout_is": "token"}
    if loss is masked_clip_loss:  # a pair masks, a number would truncate
        low, high = (row.loss.keywords[f"weight_{x}"] for x in ("low", "high"))
        judged["rollout_correction"]["rollout_is_threshold"] = f"{low}_{high}"
    if loss is dppo_loss:  # from the sampler's
        judged["rollout_correction"] = {"bypass_mode": True}
    made = {
        "defaults": ["ppo_trainer", "_self_"],
        "hydra": {"searchpath": ["pkg://verl.trainer.config"]},
        "data": {"train_batch_size": 512, "max_response_length": 1024},
        "actor_rollout_ref": {
            "actor": actor,
            "rollout": {
                "name": "vllm",
                "n": 16 if row.compares else 1,
                "calculate_log_probs": True,  # to compare with those of training
                "log_prob_micro_batch_size_per_gpu": 8,
            },
            "ref": {"log_prob_micro_batch_size_per_gpu": 8},
        },
        "algorithm": judged,
        "trainer": {"n_gpus_per_node": 8, "nnodes": 1},
    }
    if row.taught:  # verl's own, without the reward of the task
        made["distillation"] = {
            "enabled": True,
            "distillation_loss": {
                "loss_mode": "k1",
                "use_policy_gradient": True,
                "use_task_rewards": False,
            },
        }
    if row.critic:
        made["critic"] = {
            "model": {"path": "${actor_rollout_ref.model.path}"},
            "ppo_micro_batch_size_per_gpu": 8,
        }
        if row.value_clip is not None:
            made["critic"]["cliprange_value"] = row.value_clip
    return made


def left_out(row: Algorithm | str) -> list[str]:
    """Parts of an algorithm that verl's registries cannot express, one line each."""
    row, lines = named(row), []
    if row.keep is not None:
        lines.append("its filter; verl's is algorithm.filter_groups")
    if row.length_penalty is not None:
        lines.append("its length penalty; verl's is reward manager dapo")
    if row.clip_rule is not None:
        lines.append("several ranks or micro-batches: the clip range is the step's")
    if row.taught:
        lines.append("the teacher's model: name it in distillation.teacher_models")
    if row.critic and row.credit_level == "turn":
        lines.append("credit per turn: verl's critic judges tokens")
    return lines


def text(row: Algorithm | str) -> str:
    """The recipe as a YAML file, with its caveats at the top."""
    row = named(row)
    notes = [f"{row.name} ({row.paper}) in verl 0.9.1.", *TRIED.splitlines()]
    notes += [f"Left out: {line}." for line in left_out(row)]
    head = "".join(f"# {line}\n" for line in notes)
    return head + yaml.safe_dump(recipe(row), sort_keys=False)


def main(argv: list[str] | None = None):
    """Print one recipe."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        row = named(" ".join(argv))
    except ValueError as error:
        sys.exit(f"tokencredit.integrations.recipes: {error}")
    print(text(row), end="")


if __name__ == "__main__":
    main()
