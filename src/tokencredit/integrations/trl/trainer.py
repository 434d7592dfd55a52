"""TRL's trainer with the loss of an entry of ALGORITHMS."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor
from trl import GRPOConfig, GRPOTrainer

from tokencredit.algorithm import Algorithm, policy_loss, token_advantages
from tokencredit.algorithm import named as by_name
from tokencredit.weight.aggregate import AGGREGATIONS


class RowTrainer(GRPOTrainer):
    """TRL's trainer with the loss of an entry of ALGORITHMS.

    Args:
        algorithm: an entry of ALGORITHMS or its name; its loss, ratio, clip range,
            entropy bonus and aggregation are used, and its KL where TRL keeps a
            reference (beta > 0). None: TRL's own loss.

    Advantages are TRL's (`scale_rewards` of its configuration), except that an
    algorithm with credit per turn judges turns itself, by the `rewards` per token that
    the `rollout_func` returns. The algorithm's filter and length penalty are not used;
    `stays` lists what TRL decides. TRL's own entropy mask, off-policy mask and log of
    the clip are not applied either.

    Raises:
        ValueError: an algorithm that TRL's loss cannot express (a critic, a KL in the
            reward, a teacher, a correction of the sampler, a clip range chosen per step
            when the step is cut into micro-batches or ranks); sampling by vLLM with
            TRL's correction on, whose weights would be lost.
    """

    def __init__(self, *args, algorithm: Algorithm | str | None, **kwargs):
        algorithm = None if algorithm is None else by_name(algorithm)
        super().__init__(*args, **kwargs)
        self.algorithm = algorithm
        if algorithm is None:
            return
        refuse(algorithm)
        if self.use_vllm and self.vllm_importance_sampling_correction:
            raise ValueError("vllm_importance_sampling_correction must be False")
        if algorithm.clip_rule and self._parts() > 1:
            raise ValueError(
                f"{algorithm.name} chooses its clip range per optimizer step: "
                "gradient_accumulation_steps and the number of processes must be 1"
            )

    def _parts(self) -> int:
        """Micro-batches and ranks of an optimizer step."""
        return self.args.gradient_accumulation_steps * self.accelerator.num_processes

    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        if self.algorithm is not None and self.algorithm.credit_level == "turn":
            output["advantages"] = self._judge_turns(inputs, output)
        return output

    def _judge_turns(self, inputs, output) -> Tensor:
        """Advantages [B, T] from the rewards per turn; a group may span ranks."""
        if "turn_rewards" not in inputs[0]:
            raise ValueError(
                f"{self.algorithm.name}: credit per turn needs turn_rewards, which "
                "rollout_func does not return"
            )
        mask = output["completion_mask"].bool()
        mask &= output.get("tool_mask", mask).bool()
        rewards = torch.zeros(mask.shape, device=mask.device)
        for row, given in zip(rewards, inputs, strict=True):
            earned = torch.tensor(given["turn_rewards"])
            row[: len(earned)] = earned
        ends = mask & ~F.pad(mask, (0, 1))[:, 1:]  # ends of live runs
        own = torch.stack([rewards, mask, ends], 2)
        own = self.accelerator.pad_across_processes(own, dim=1)
        rewards, mask, ends = self.accelerator.gather(own).unbind(2)
        advantages = token_advantages(
            self.algorithm,
            rewards,
            mask.bool(),
            groups=torch.arange(len(mask), device=mask.device) // self.num_generations,
            turn_ends=ends.bool(),
        )
        first = self.accelerator.process_index * len(inputs)
        width = output["completion_mask"].shape[1]
        return advantages[first : first + len(inputs), :width]

    def _compute_loss(self, model, inputs):
        if self.algorithm is None:
            return super()._compute_loss(model, inputs)
        mask = inputs["completion_mask"].bool()
        live = mask & inputs.get("tool_mask", mask).bool()
        log_probs, entropies, _ = self._get_per_token_logps_and_entropies(
            model,
            torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1),
            torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1),
            mask.shape[1],
            compute_entropy=True,
        )
        old = inputs.get("old_per_token_logps")
        advantages = inputs["advantages"]  # [B], or [B, T] with credit per turn
        if advantages.dim() == 1:
            advantages = advantages[:, None].expand_as(log_probs)
        return policy_loss(
            self.algorithm,
            log_probs,
            log_probs.detach() if old is None else old,
            advantages,
            live,
            ref_log_probs=inputs.get("ref_per_token_logps"),
            entropies=entropies,
            max_length=self.max_completion_length,
            denominator=self._denominator(inputs),
        )

    def _denominator(self, inputs):
        """Divisor of the loss for one micro-batch of an optimizer step."""
        steps = self.current_gradient_accumulation_steps
        counted = AGGREGATIONS[self.algorithm.aggregation].per_batch
        if counted == "sequences":
            return len(inputs["completion_mask"]) * steps
        if counted == "tokens":  # of the round; the step's share of it, as TRL has it
            share = steps / self.args.steps_per_generation
            tokens = max(inputs["num_items_in_batch"].item(), 1) * share
            return tokens / self.accelerator.num_processes
        return None


def refuse(algorithm: Algorithm):
    """Raise if TRL's GRPO has no place for a part of the algorithm.

    >>> from tokencredit import ALGORITHMS
    >>> refuse(ALGORITHMS["PPO"])
    Traceback (most recent call last):
    ValueError: PPO has a critic, which TRL's GRPO has not
    """
    for part, there in {
        "a critic": algorithm.critic,
        "a KL in the reward": bool(algorithm.kl_coef) and algorithm.kl_in == "reward",
        "a teacher": algorithm.taught,
        "a correction of the sampler": algorithm.corrects,
    }.items():
        if there:
            raise ValueError(f"{algorithm.name} has {part}, which TRL's GRPO has not")


def stays(algorithm: Algorithm, args: GRPOConfig) -> list[str]:
    """Notes on an algorithm inside TRL: parts that TRL decides, parts of the entry.

    One line for each part of the algorithm that TRL decides.
    """
    name = algorithm.name
    lines = []
    if algorithm.credit_level == "sequence":
        own = named(algorithm.advantage) + ", whitened" * algorithm.whiten
        lines += [
            "advantage: reward minus its group's mean, scale_rewards "
            f"{args.scale_rewards!r} ({name}: {own})"
        ]
    for part, stage in {
        "filter": algorithm.keep,
        "length penalty": algorithm.length_penalty,
    }.items():
        if stage is not None:
            lines += [f"{part}: none ({name}: {named(stage)})"]
    if algorithm.kl_coef or args.beta:
        own = f"{algorithm.kl_coef:g} {algorithm.kl_estimator}"
        lines += [
            f"KL in the loss: beta {args.beta:g} "
            f"({name}: {own if algorithm.kl_coef else 'none'})"
        ]
    return lines


def named(stage: Callable) -> str:
    """A stage with the dials that an entry of ALGORITHMS sets.

    >>> from tokencredit import ALGORITHMS
    >>> named(ALGORITHMS["Dr. GRPO"].advantage)
    'group_relative(scale=False)'
    """
    if not isinstance(stage, partial):
        return stage.__name__
    dials = ", ".join(f"{name}={value}" for name, value in stage.keywords.items())
    return f"{stage.func.__name__}({dials})"
