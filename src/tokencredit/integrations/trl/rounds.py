"""Rounds of TRL on a `Policy` and a `Task` of the course."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable

import numpy as np
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig

from tokencredit.algorithm import Algorithm
from tokencredit.integrations.gpt2 import as_gpt2, own_positions, tokenizer
from tokencredit.integrations.trl.trainer import RowTrainer
from tokencredit.world.policy import Policy
from tokencredit.world.tasks import Task
from tokencredit.world.text import decode


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
