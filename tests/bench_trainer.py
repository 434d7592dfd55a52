"""Seconds per update: the course's `train` against TRL's GRPOTrainer, in one run.

    python -m venv peers && peers/bin/pip install -r tests/bench-requirements.txt
    peers/bin/pip install --no-deps trl==1.16.0
    peers/bin/python tests/bench_trainer.py

Both run GRPO without KL on one thread, offline, from random weights: the same prompts
per round, answers per prompt, tokens per answer and reward; one optimizer step a round.
The models are decoders of two layers and width 64 of equal size: `Policy`, and a Llama
from a config. Answers have a fixed length, so both sample the same number of tokens;
with --free they end where EOS is drawn, about one token in 14, or at the limit.
A time is the best round, in CPU seconds, after the first two. Numbers are printed,
never asserted.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1", TRL_EXPERIMENTAL_SILENCE="1")
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import numpy as np
import torch

from tokencredit import ALGORITHMS
from tokencredit.policy import Policy
from tokencredit.tasks import EOS
from tokencredit.train import Dials, train

WARM = 2  # rounds that are not timed


@dataclass(frozen=True)
class Digits:
    """Prompts of four digits; an answer is paid the share of its tokens below "5"."""

    max_response: int = 16
    free: bool = False  # else no EOS: every answer has max_response tokens

    max_prompt = 5
    max_reward = 1.0

    @property
    def vocabulary(self):
        return "0123456789=#." + EOS * self.free

    def prompts(self, num, rng):
        return ["".join(map(str, rng.integers(0, 10, 4))) + "=" for _ in range(num)]

    def reward(self, prompt, response):
        return sum("0" <= token < "5" for token in response) / max(len(response), 1)


def per_round(marks):
    """Shortest step of a list of clock readings, the first rounds left out."""
    return float(np.diff(marks)[WARM:].min())


def ours(task, prompts, answers, rounds):
    torch.manual_seed(0)
    policy = Policy(len(task.vocabulary), context=task.max_prompt + task.max_response)
    row = replace(ALGORITHMS["GRPO"], kl_coef=0.0)
    dials = Dials(steps=rounds, prompts=prompts, group_size=answers)
    history = train(policy, task, row, dials=dials)
    marks = [0.0] + [step["seconds"] for step in history]
    size = sum(p.numel() for p in policy.parameters())
    return size, per_round(marks), history[-1]["length"], history[-1]["reward"]


def tokenizer(vocabulary):
    """One token per character, made in memory."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {word: i for i, word in enumerate([*vocabulary, "<eos>", "<pad>"])}
    made = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<eos>", pad_token="<pad>"
    )


def theirs(task, prompts, answers, rounds):
    from datasets import Dataset
    from transformers import LlamaConfig, LlamaForCausalLM, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    marks, lengths, paid = [], [], []

    class Clock(TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            if not marks:
                marks.append(time.process_time())

        def on_step_end(self, args, state, control, **_):
            marks.append(time.process_time())

    def reward(prompts, completions, completion_ids, **_):
        lengths.append(float(np.mean([len(ids) for ids in completion_ids])))
        scores = [task.reward(*pair) for pair in zip(prompts, completions, strict=True)]
        paid.append(float(np.mean(scores)))
        return scores

    torch.manual_seed(0)
    words = tokenizer(task.vocabulary.removesuffix(EOS))
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=170,  # three matrices here, two of 256 in `Policy`
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=task.max_prompt + task.max_response,
        pad_token_id=words.pad_token_id,
        eos_token_id=words.eos_token_id,
        bos_token_id=None,
    )
    model = LlamaForCausalLM(config)
    rows = task.prompts(prompts * rounds, np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=reward,
            processing_class=words,
            train_dataset=Dataset.from_list([{"prompt": row} for row in rows]),
            args=GRPOConfig(
                output_dir=folder,
                max_steps=rounds,
                per_device_train_batch_size=prompts * answers,
                num_generations=answers,
                max_completion_length=task.max_response,
                generation_kwargs={
                    "min_new_tokens": 0 if task.free else task.max_response
                },
                loss_type="grpo",
                beta=0.0,
                learning_rate=1e-3,
                lr_scheduler_type="constant",
                use_cpu=True,
                bf16=False,
                save_strategy="no",
                logging_strategy="no",
                report_to="none",
                disable_tqdm=True,
            ),
            callbacks=[Clock()],
        )
        trainer.train()
    size = sum(p.numel() for p in model.parameters())
    return size, per_round(marks), lengths[-1], paid[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--answers", type=int, default=8)
    parser.add_argument("--tokens", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--free", action="store_true", help="answers may end early")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, 1 thread; CPU seconds per update")
    for tokens in args.tokens:
        dials = (Digits(tokens, args.free), args.prompts, args.answers, args.rounds)
        took = {}
        for name, run in (("ours", ours), ("TRL", theirs)):
            size, took[name], length, reward = run(*dials)
            print(
                f"{args.prompts} prompts x {args.answers} answers x {length:.0f} tokens"
                f" {name:4}: {size} parameters, {took[name]:.4f} s, reward {reward:.2f}"
            )
        print(f"TRL / ours: {took['TRL'] / took['ours']:.1f}", flush=True)


if __name__ == "__main__":
    main()
