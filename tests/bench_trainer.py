"""Seconds per update: the course's `train` against TRL's GRPOTrainer, in one run.

    python -m venv peers && peers/bin/pip install -r tests/bench-requirements.txt
    peers/bin/pip install --no-deps trl==1.16.0
    peers/bin/python tests/bench_trainer.py

The same task (`chain`, four digits), the same model and the same warm start: the
weights of a `Policy` copied into a GPT-2 of equal size, which must give the same
logits. Both run GRPO without KL on one thread, offline, with the same prompts, answers
and updates per round, learning rate and clip. What they learn is printed beside the
time, to show that both do the work.

TRL runs twice: as it comes, with micro-batches of 8 answers and gradient checkpointing,
and with both off, an update's answers in one batch. A time is the median round, in CPU
seconds, after the first two. Numbers are printed, never asserted.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1", TRL_EXPERIMENTAL_SILENCE="1")
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import numpy as np
import torch

from tokencredit import ALGORITHMS
from tokencredit.experiments._chain import warm_start
from tokencredit.policy import Policy
from tokencredit.tasks import EOS, decode, task
from tokencredit.train import Dials, train

WARM = 2  # rounds that are not timed
LR = 1e-3
TASK = task("chain", min_digits=4)


@dataclass(frozen=True)
class Setting:
    prompts: int
    answers: int
    updates: int  # of one round, each on its share of the answers
    rounds: int

    @property
    def share(self):
        return self.prompts * self.answers // self.updates

    def took(self, marks):
        """Median seconds per update between the clock's readings at round ends."""
        return float(np.median(np.diff(marks)[WARM:])) / self.updates


def start():
    """The lab's warm start without its value head."""
    warm = warm_start(0)
    policy = Policy(warm.vocab_size, context=warm.context)
    policy.load_state_dict(warm.state_dict(), strict=False)
    return policy


def ours(setting):
    dials = Dials(
        steps=setting.rounds,
        prompts=setting.prompts,
        group_size=setting.answers,
        minibatches=setting.updates,
        lr=LR,
    )
    row = replace(ALGORITHMS["GRPO"], kl_coef=0.0)
    history = train(start(), TASK, row, dials=dials)
    marks = [0.0] + [round_["seconds"] for round_ in history]
    return setting.took(marks), [round_["reward"] for round_ in history]


def as_gpt2(policy, pad):
    """A GPT-2 with the weights of a `Policy`: the same function of the tokens."""
    from transformers import GPT2Config, GPT2LMHeadModel

    size = policy.vocab_size
    config = GPT2Config(
        vocab_size=size,
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
    names = {
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
    state = {k: torch.zeros_like(v) for k, v in model.state_dict().items()}
    for name, weight in policy.state_dict().items():
        *block, part, kind = name.split(".")
        there = f"{names[part]}.{kind}"
        if block:  # GPT-2 keeps its matrices transposed inside the blocks
            there = f"transformer.h.{block[1]}.{there}"
            weight = weight.t()
        state[there] = weight
    model.load_state_dict(state)
    tokens = torch.randint(size, (8, policy.context))
    torch.testing.assert_close(model(tokens).logits, policy(tokens)[0])
    return model


def tokenizer(vocabulary):
    """One token per character, in the task's order."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {word: i for i, word in enumerate(vocabulary)}
    made = Tokenizer(models.WordLevel(words, unk_token=EOS))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token=EOS, pad_token=EOS)


def theirs(setting, micro, checkpointing):
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    marks, paid = [], []

    class Clock(TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            if not marks:
                marks.append(time.process_time())

        def on_step_end(self, args, state, control, **_):
            if state.global_step % setting.updates == 0:
                marks.append(time.process_time())

    def reward(prompts, completions, completion_ids, **_):
        answers = [decode(ids, TASK.vocabulary) for ids in completion_ids]
        scores = [TASK.reward(*pair) for pair in zip(prompts, answers, strict=True)]
        paid.append(float(np.mean(scores)))
        return scores

    torch.manual_seed(0)
    words = tokenizer(TASK.vocabulary)
    rows = TASK.prompts(setting.prompts * setting.rounds, np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=as_gpt2(start(), words.pad_token_id),
            reward_funcs=reward,
            processing_class=words,
            train_dataset=Dataset.from_list([{"prompt": row} for row in rows]),
            args=GRPOConfig(
                output_dir=folder,
                max_steps=setting.rounds * setting.updates,
                per_device_train_batch_size=micro,
                gradient_accumulation_steps=setting.share // micro,
                steps_per_generation=setting.updates * setting.share // micro,
                num_generations=setting.answers,
                max_completion_length=TASK.max_response,
                loss_type="grpo",
                beta=0.0,
                learning_rate=LR,
                lr_scheduler_type="constant",
                gradient_checkpointing=checkpointing,
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
    return setting.took(marks), paid


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, 1 thread; CPU seconds per update")
    for prompts, answers, updates in ((64, 4, 4), (64, 4, 2), (32, 8, 1)):
        setting = Setting(prompts, answers, updates, args.rounds)
        print(f"{prompts} prompts x {answers} answers, updates per round: {updates}")
        base = None
        for name, run in (
            ("ours", partial(ours, setting)),
            ("TRL as it comes", partial(theirs, setting, 8, True)),
            ("TRL in one batch", partial(theirs, setting, setting.share, False)),
        ):
            took, paid = run()
            base = base or took
            first, last = np.mean(paid[:5]), np.mean(paid[-5:])
            print(
                f"  {name:16} {took:.4f} s ({took / base:.1f}x); "
                f"reward {first:.2f} -> {last:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
