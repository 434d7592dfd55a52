"""Chapter 11: the gate of `reuse-ratio` on the token after a cross, taken apart.

That token either tries again or is the end sign, which gives up. GRPO's gate is opened
on one of the two, or kept while failed retries weigh at most 1.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from tokenbook.lab import Experiment, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, PLAIN, TASK, learn
from tokenbook.lab.experiments.reuse_ratio import CROSS, DIALS
from tokenbook.lab.experiments.signs_epochs import ratio_loss
from tokencredit.weight.losses import ppo_clip_loss

END = TASK.vocabulary.index("$")
RETRIES, GIVING_UP, CAPPED = (
    "GRPO, open on retry",
    "GRPO, open on $",
    "GRPO, retry capped",
)


def open_half(log_probs, log_ratio, advantages, tokens, giving_up):
    """GRPO's loss, without the clip on one kind of token after a cross."""
    args, after = (log_probs, log_ratio, advantages), tokens.roll(1, 1) == CROSS
    free = after & ((tokens == END) == giving_up)
    return torch.where(free, ratio_loss(*args), ppo_clip_loss(*args))


def capped(log_probs, log_ratio, advantages, tokens):
    """GRPO's loss, in which a failed retry weighs at most 1."""
    after = (tokens.roll(1, 1) == CROSS) & (tokens != END)
    over = after & (advantages < 0) & (log_ratio > 0)
    usual = ppo_clip_loss(log_probs, log_ratio, advantages)
    return torch.where(over, -advantages * log_probs, usual)


ROWS = {
    RETRIES: replace(PLAIN, loss=partial(open_half, giving_up=False)),
    GIVING_UP: replace(PLAIN, loss=partial(open_half, giving_up=True)),
    CAPPED: replace(PLAIN, loss=capped),
}


def run(variant, seed, quick, checkpoint):
    return learn(ROWS[variant["gate"]], seed, quick, **DIALS)[0]


def start(rows, gate):
    """Success of each seed, a mean of the first four iterations."""
    return per_seed(rows, "success", gate=gate)[:, :2].mean(1)


def end(rows, gate):
    """Success of each seed, a mean of the last six iterations."""
    return per_seed(rows, "success", gate=gate)[:, -3:].mean(1)


EXPERIMENT = Experiment(
    name="gate-halves",
    chapter=11,
    question={
        "zh": "✗ 后面的门控，是拦住再试，还是拦住放弃，才使 GRPO 起步慢？",
        "en": "Is GRPO slow at first because it stops trying again, or giving up?",
    },
    variants=tuple({"gate": name} for name in ROWS),
    run=run,
    columns={"gate": "what is changed on the token after a cross"} | COLUMNS,
    settings={"task": "signs", "every": 2, **DIALS},
    claims={
        "in each the start, a median of the seeds, is above 0.63 (GRPO's: 0.57)": (
            lambda rows: all(np.median(start(rows, gate)) > 0.63 for gate in ROWS)
        ),
        "and the end in every seed above 0.88, as GRPO's": lambda rows: all(
            end(rows, gate).min() > 0.88 for gate in ROWS
        ),
    },
    message={
        "zh": "✗ 后面的词元，只放开哪一种，GRPO 起步都快。",
        "en": "Opened on either kind of token after a cross, GRPO begins faster.",
    },
    shows=(("success",),),
)
