"""TRL 别的训练器: the course's algorithms inside TRL's GRPOTrainer.

The only module that needs TRL (``pip install trl``). It brings a `Policy` and a `Task`
over, and replaces one method of the trainer: the loss. Prompts, sampling, rewards,
advantages, micro-batches and the optimizer stay TRL's.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import numpy as np
import torch
from datasets import Dataset
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    PrinterCallback,
    TrainerCallback,
)
from transformers.utils import logging
from trl import GRPOConfig, GRPOTrainer

from tokencredit.algorithm import Algorithm, policy_loss
from tokencredit.tensors.checks import choice
from tokencredit.weight.aggregate import AGGREGATIONS
from tokencredit.world.policy import Policy
from tokencredit.world.tasks import Task
from tokencredit.world.text import EOS, decode

logging.set_verbosity_error()  # else it prints a line per trainer

LAYERS = {
    "embed": "transformer.wte",
    "place": "transformer.wpe",
    "norm": "transformer.ln_f",
    "head": "lm_head",
    "norm1": "ln_1",
    "norm2": "ln_2",
    "qkv": "attn.c_attn",
    "out": "attn.c_proj",
    "up": "mlp.c_fc",
    "down": "mlp.c_proj",
}
"""Where a part of `Policy` stands in GPT-2."""


POSITIONS = ("own", "padded")


def count_from_the_first_token(module, args, kwargs):
    """Before GPT-2 reads a row: positions from the first token that is no padding.

    `generate` hands them over. A trainer that hands over only the mask of a row padded
    on the left would have the padding counted, and so train another policy.
    """
    mask = kwargs.get("attention_mask")
    if kwargs.get("position_ids") is None and mask is not None:
        kwargs["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
    return args, kwargs


def own_positions(model: GPT2LMHeadModel):
    """Let a GPT-2 count positions itself; its inner model, which TRL calls directly."""
    hook = count_from_the_first_token
    model.transformer.register_forward_pre_hook(hook, with_kwargs=True)


def as_gpt2(policy: Policy, pad: int, positions: str = "own") -> GPT2LMHeadModel:
    """A GPT-2 with the weights of a policy: the same function of the tokens.

    Args:
        policy: without a value head.
        pad: id of the token that ends and pads.
        positions: "own": counted from the first token that is no padding; "padded":
            as the class counts them when it is given none, padding included.

    Raises:
        ValueError: a policy with a value head, unknown positions.
    """
    choice("positions", positions, POSITIONS)
    if policy.critic:
        raise ValueError("policy must have no value head: TRL's GRPO has no critic")
    config = GPT2Config(
        vocab_size=policy.vocab_size,
        n_positions=policy.context,
        n_embd=policy.width,
        n_layer=len(policy.blocks),
        n_head=policy.blocks[0].heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=pad,
        pad_token_id=pad,
    )
    model = GPT2LMHeadModel(config)
    if positions == "own":
        own_positions(model)
    state = {k: torch.zeros_like(v) for k, v in model.state_dict().items()}
    for name, weight in policy.state_dict().items():
        *block, part, kind = name.split(".")
        there = f"{LAYERS[part]}.{kind}"
        if block:  # GPT-2 keeps its matrices transposed inside the blocks
            there, weight = f"transformer.h.{block[1]}.{there}", weight.t()
        state[there] = weight
    model.load_state_dict(state)
    return model


def tokenizer(vocabulary: str) -> PreTrainedTokenizerFast:
    """One token per character of a task's vocabulary, in its order."""
    words = {word: i for i, word in enumerate(vocabulary)}
    made = Tokenizer(models.WordLevel(words, unk_token=EOS))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token=EOS, pad_token=EOS)


class RowTrainer(GRPOTrainer):
    """TRL's trainer with the loss of an entry of ALGORITHMS, and of it only that.

    Args:
        algorithm: its loss, ratio, clip range, entropy bonus and aggregation are used,
            and its KL where TRL keeps a reference (beta > 0). None: TRL's own loss.

    Advantages are TRL's (`scale_rewards` of its configuration); filter and length
    penalty of the algorithm stay behind. So do the other things TRL's method does: its
    entropy mask, off-policy mask and log of the clip.

    Raises:
        ValueError: an algorithm that TRL's loss cannot express (a critic, a KL in the
            reward, a correction of the sampler, a clip range chosen per step when the
            step is cut into micro-batches or ranks); sampling by vLLM with TRL's
            correction on, whose weights would be lost.
    """

    def __init__(self, *args, algorithm: Algorithm | None, **kwargs):
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
        return policy_loss(
            self.algorithm,
            log_probs,
            log_probs.detach() if old is None else old,
            inputs["advantages"][:, None].expand_as(log_probs),
            live,
            ref_log_probs=inputs.get("ref_per_token_logps"),
            entropies=entropies,
            max_length=self.max_completion_length,
            denominator=self._denominator(inputs),
        )

    def _denominator(self, inputs):
        """What the loss is divided by, for one micro-batch of an optimizer step."""
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
        "a correction of the sampler": algorithm.corrects,
    }.items():
        if there:
            raise ValueError(f"{algorithm.name} has {part}, which TRL's GRPO has not")


def trl_rounds(
    policy: Policy,
    task: Task,
    algorithm: Algorithm | None,
    *,
    rounds: int,
    prompts: int = 64,
    group_size: int = 4,
    updates: int = 2,
    micro_size: int | None = None,
    checkpointing: bool = False,
    positions: str = "own",
    seed: int = 0,
    after_round: Callable[[], None] = lambda: None,
    **settings,
) -> tuple[RowTrainer, list[float]]:
    """Train a copy of a policy in TRL, offline and on the CPU.

    Args:
        policy: without a value head; it stays as it is.
        task: prompts and verdicts.
        algorithm: the loss; None: TRL's own, see `settings`.
        rounds: of sampling, each ``prompts * group_size`` responses.
        updates: optimizer steps per round, each on its share of the responses.
        micro_size: responses per forward pass; None: an update's at once.
        checkpointing: compute activations again in the backward pass.
        positions: see `as_gpt2`.
        seed: of prompts and sampling.
        after_round: called after each round's last update.
        settings: of GRPOConfig.

    Returns:
        The trainer, and the mean reward of each round.

    Raises:
        ValueError: responses that the updates, or an update's that the micro-batches,
            do not divide.
    """
    share, rest = divmod(prompts * group_size, updates)
    micro_size = micro_size or share
    if rest or share % micro_size:
        raise ValueError(
            f"{prompts} x {group_size} responses do not split into {updates} updates "
            f"of micro-batches of {micro_size}"
        )
    paid = []

    class Rounds(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if state.global_step % updates == 0:
                after_round()

    def reward(prompts, completion_ids, **_):
        responses = [decode(ids, task.vocabulary) for ids in completion_ids]
        scores = [task.reward(*pair) for pair in zip(prompts, responses, strict=True)]
        paid.append(float(np.mean(scores)))
        return scores

    asked = task.prompts(prompts * rounds, np.random.default_rng(seed))
    words = tokenizer(task.vocabulary)
    model = as_gpt2(policy, words.pad_token_id, positions)
    with tempfile.TemporaryDirectory() as folder:
        if settings.get("beta"):  # TRL reads its reference from the model's folder
            model.save_pretrained(folder)
            model.config._name_or_path = folder
        config = dict(
            output_dir=folder,
            max_steps=rounds * updates,
            per_device_train_batch_size=micro_size,
            gradient_accumulation_steps=share // micro_size,
            steps_per_generation=updates * share // micro_size,
            num_generations=group_size,
            max_completion_length=task.max_response,
            loss_type="grpo",
            beta=0.0,
            learning_rate=1e-3,
            lr_scheduler_type="constant",
            gradient_checkpointing=checkpointing,
            seed=seed,
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        with warnings.catch_warnings():  # of names that the two libraries phase out
            warnings.simplefilter("ignore", FutureWarning)
            trainer = RowTrainer(
                model=model,
                reward_funcs=reward,
                processing_class=words,
                train_dataset=Dataset.from_list([{"prompt": text} for text in asked]),
                args=GRPOConfig(**config | settings),
                callbacks=[Rounds()],
                algorithm=algorithm,
            )
            trainer.remove_callback(PrinterCallback)
            if trainer.ref_model is not None and positions == "own":
                own_positions(trainer.ref_model)
            trainer.train()
    return trainer, paid
