"""Seconds per update: the course's `train` against TRL's GRPOTrainer, in one run.

    .venv/bin/python tests/bench_trainer.py

The same task (`chain`, four digits), the same model and the same warm start: the
weights of a `Policy` copied into a GPT-2 of equal size. Both run GRPO without KL on one
thread, offline, with the same prompts, responses and updates per round, learning rate
and clip. What they learn is printed beside the time, to show that both do the work.

TRL runs twice: as it comes, with micro-batches of 8 responses and gradient
checkpointing, and with both off, an update's responses in one batch. A time is the
median round, in CPU seconds, after the first two. Numbers are printed, never asserted.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass, replace
from functools import partial

os.environ.update(HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1")

import numpy as np
import torch

from tokenbook.lab.experiments.engines import actor
from tokencredit import ALGORITHMS
from tokencredit.integrations.trl import trl_rounds
from tokencredit.training import Dials, train
from tokencredit.world.tasks import task

WARM = 2  # rounds that are not timed
LR = 1e-3
TASK = task("chain", min_digits=4)


@dataclass(frozen=True)
class Setting:
    prompts: int
    responses: int
    updates: int  # of one round, each on its share of the responses
    rounds: int

    @property
    def share(self):
        return self.prompts * self.responses // self.updates

    def took(self, marks):
        """Median seconds per update between the clock's readings at round ends."""
        return float(np.median(np.diff(marks)[WARM:])) / self.updates


def ours(setting):
    dials = Dials(
        steps=setting.rounds,
        prompts=setting.prompts,
        group_size=setting.responses,
        minibatches=setting.updates,
        lr=LR,
    )
    row = replace(ALGORITHMS["GRPO"], kl_coef=0.0)
    history = train(actor(0, False), TASK, row, dials=dials)
    marks = [0.0] + [round_["seconds"] for round_ in history]
    return setting.took(marks), [round_["reward"] for round_ in history]


def theirs(setting, micro, checkpointing):
    marks = []
    torch.manual_seed(0)
    _, paid = trl_rounds(
        actor(0, False),
        TASK,
        None,
        rounds=setting.rounds,
        prompts=setting.prompts,
        group_size=setting.responses,
        updates=setting.updates,
        micro_size=micro,
        checkpointing=checkpointing,
        learning_rate=LR,
        after_round=lambda: marks.append(time.process_time()),
    )
    return setting.took(marks), paid


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, 1 thread; CPU seconds per update")
    for prompts, responses, updates in ((64, 4, 4), (64, 4, 2), (32, 8, 1)):
        setting = Setting(prompts, responses, updates, args.rounds)
        print(
            f"{prompts} prompts x {responses} responses, updates per round: {updates}"
        )
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
