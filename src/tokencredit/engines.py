"""Other engines 别的训练器: the course's rows inside TRL's GRPOTrainer.

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

from .aggregate import AGGREGATIONS
from .algorithms import Algorithm, policy_loss
from .checks import choice
from .policy import Policy
from .tasks import EOS, Task, decode

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
    if positions == "own":  # on the inner model: TRL's trainer calls it directly
        hook = count_from_the_first_token
        model.transformer.register_forward_pre_hook(hook, with_kwargs=True)
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
    """TRL's trainer with the loss of a row of ALGORITHMS, and of a row only that.

    Args:
        row: its loss, ratio, clip range, entropy bonus and aggregation are used, and
            its KL where TRL keeps a reference (beta > 0). None: TRL's own loss.

    Advantages are TRL's (`scale_rewards` of its configuration); a row's filter and
    length penalty stay behind. So do the other things TRL's method does: its entropy
    mask, off-policy mask and log of the clip.

    Raises:
        ValueError: a row with a critic or with its KL in the reward; sampling by vLLM
            with TRL's correction on, whose weights would be lost.
    """

    def __init__(self, *args, row: Algorithm | None, **kwargs):
        super().__init__(*args, **kwargs)
        self.row = row
        if row is None:
            return
        if row.critic or (row.kl_coef and row.kl_in == "reward"):
            raise ValueError(
                f"{row.name} needs a critic or a KL in the reward: TRL's GRPO has none"
            )
        if self.use_vllm and self.vllm_importance_sampling_correction:
            raise ValueError("vllm_importance_sampling_correction must be False")

    def _compute_loss(self, model, inputs):
        if self.row is None:
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
            self.row,
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
        """What the row divides by, for one micro-batch of an optimizer step."""
        steps = self.current_gradient_accumulation_steps
        counted = AGGREGATIONS[self.row.aggregation].batch
        if counted == "sequences":
            return len(inputs["completion_mask"]) * steps
        if counted == "tokens":  # of the round; the step's share of it, as TRL has it
            share = steps / self.args.steps_per_generation
            tokens = max(inputs["num_items_in_batch"].item(), 1) * share
            return tokens / self.accelerator.num_processes
        return None


def trl_rounds(
    policy: Policy,
    task: Task,
    row: Algorithm | None,
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
        row: the loss; None: TRL's own, see `settings`.
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
    with tempfile.TemporaryDirectory() as folder:
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
                model=as_gpt2(policy, words.pad_token_id, positions),
                reward_funcs=reward,
                processing_class=words,
                train_dataset=Dataset.from_list([{"prompt": text} for text in asked]),
                args=GRPOConfig(**config | settings),
                callbacks=[Rounds()],
                row=row,
            )
            trainer.remove_callback(PrinterCallback)
            trainer.train()
    return trainer, paid
