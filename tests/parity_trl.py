"""Entries of ALGORITHMS in TRL on fixed responses, as one process or as one of many.

    python tests/parity_trl.py MODEL OUT
    python -m torch.distributed.run --nproc_per_node 2 tests/parity_trl.py MODEL OUT

Writes the weights after training, a file per entry and process, into the folder OUT.
Two runs have the same weights if a response depends on its prompt and its number in the
group alone, if the optimizer is SGD (Adam steps by the sign of rounding errors), if
gradients are not clipped (a wrong denominator would not be seen), and if the same
responses share an optimizer step.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import trl.trainer.grpo_trainer as trainers
from datasets import Dataset
from transformers import AutoTokenizer
from trl import GRPOConfig

from tokencredit import ALGORITHMS, task, with_turn_groups
from tokencredit.integrations.trl import RowTrainer
from tokencredit.integrations.trl.games import total
from tokencredit.integrations.trl.trainer import refuse
from tokencredit.world.text import encode

PROMPTS, GROUP, ROUNDS, UPDATES, BETA = 16, 4, 2, 2, 0.04
CHAIN = task("chain")


def expressible():
    """The entries that TRL can train in parts, and one with credit per turn."""
    for row in ALGORITHMS.values():
        try:
            refuse(row)
        except ValueError:
            continue
        if row.clip_rule is None:
            yield row
    yield with_turn_groups(ALGORITHMS["Dr. GRPO"])


def fixed(prompts, _):
    """Demonstrations, some cut short, in two turns with a word of the world between."""
    seen, rows = Counter(), {"prompt_ids": [], "completion_ids": [], "logprobs": None}
    rows |= {"env_mask": [], "turn_rewards": []}
    for prompt in prompts:
        name = f"{prompt} {seen[prompt] % GROUP}".encode()
        seen[prompt] += 1
        rng = np.random.default_rng(list(hashlib.sha256(name).digest()))
        answer = CHAIN.demonstration(prompt, rng)
        if rng.random() < 0.3:
            answer = answer[: 2 + len(answer) // 2]
        ids = encode(answer, CHAIN.vocabulary)
        rows["prompt_ids"].append(encode(prompt, CHAIN.vocabulary))
        rows["completion_ids"].append(ids)
        rows["env_mask"].append([int(t != 1) for t in range(len(ids))])
        first, last = float(rng.random() < 0.5), CHAIN.reward(prompt, answer)
        rows["turn_rewards"].append([first] + [0.0] * (len(ids) - 2) + [last])
    return rows


def asked(processes: int) -> list[str]:
    """The prompts, so that one process takes its steps on what two of them share.

    Process p of two holds half p of a round, and its update u is share u of that half.
    """
    prompts = CHAIN.prompts(PROMPTS * ROUNDS, np.random.default_rng(0))
    if processes > 1:
        return prompts
    order = np.arange(PROMPTS).reshape(2, UPDATES, -1).swapaxes(0, 1).ravel()
    return [prompts[r * PROMPTS + i] for r in range(ROUNDS) for i in order]


def train(model: str, row, processes: int) -> torch.Tensor:
    share = PROMPTS * GROUP // UPDATES // processes  # of a step, on one process
    with tempfile.TemporaryDirectory() as folder:
        args = GRPOConfig(
            output_dir=folder,
            max_steps=ROUNDS * UPDATES,
            per_device_train_batch_size=share // 2,
            gradient_accumulation_steps=2,
            steps_per_generation=2 * UPDATES,
            num_generations=GROUP,
            max_completion_length=CHAIN.max_response,
            beta=BETA if row.kl_coef else 0.0,
            optim="sgd",
            learning_rate=0.05,
            lr_scheduler_type="constant",
            max_grad_norm=1e9,
            shuffle_dataset=False,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        trainer = RowTrainer(
            model=model,
            args=args,
            reward_funcs=total,
            processing_class=AutoTokenizer.from_pretrained(model),
            train_dataset=Dataset.from_list([{"prompt": p} for p in asked(processes)]),
            algorithm=replace(row, kl_coef=args.beta),
            rollout_func=fixed,
        )
        trainer.train()
    net = trainer.accelerator.unwrap_model(trainer.model)
    return torch.cat([weight.detach().flatten() for weight in net.parameters()])


def main():
    model, out = sys.argv[1:]
    torch.set_num_threads(1)
    trainers.shuffle_sequence_dict = lambda rows: rows  # a process has its own stream
    for row in expressible():
        weights = train(model, row, int(os.environ.get("WORLD_SIZE", 1)))
        torch.save(weights, Path(out, f"{row.name}.{os.environ.get('RANK', 0)}.pt"))


if __name__ == "__main__":
    main()
