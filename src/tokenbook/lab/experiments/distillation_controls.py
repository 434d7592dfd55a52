"""Chapter 16: the parts of on-policy distillation, one factor at a time.

The factors: the sampler, student or teacher; the target of a place, the sampled token
or the teacher's whole distribution; the learning rate. Places of the student reduce the
reverse KL, those of the teacher are imitated. Everything else is as in `distillation`:
the teachers, the rounds of 256 responses, two updates each. One arm more has k1 as a
loss with a single update on every batch, as many updates in all and of the same size:
each batch is half as large.
"""

import time

import numpy as np
import torch
from torch import nn

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._chain import thin
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, TASK, inside, learn
from tokenbook.lab.experiments.distillation import ROUNDS, ROWS, SEEDS, trained
from tokencredit.diagnostics import reference_distance
from tokencredit.training.stages import forward_live, log_probs_of
from tokencredit.weight.losses import ppo_clip_loss
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks.signs import MEASURES

DIALS = DIALS | {"steps": ROUNDS["else"]}
RATES = (5e-4, 1.5e-3)
ONCE = {"arm": "k1 as a loss, once", "lr": 5e-4}
ARMS = (
    "student, token",
    "student, vocabulary",
    "teacher, token",
    "teacher, vocabulary",
)
WATCHED = ("gives_up",)


def loss_of(arm, log_probs, given, tokens, old):
    """The mean loss of the places of a mini-batch, N of them.

    Args:
        arm: of ARMS, or of those of `distillation-direction`.
        log_probs: of the student, [N, V].
        given: the teacher's, [N, V].
        tokens: the sampled ones, [N].
        old: their log-probs when the student sampled, [N].
    """

    def at(x):
        return x.gather(1, tokens[:, None])[:, 0]

    if arm in ("student, vocabulary", "teacher, reverse"):  # the reverse KL, exactly
        return (log_probs.exp() * (log_probs - given)).sum(1).mean()
    if arm in ("teacher, vocabulary", "student, forward"):  # the forward KL, exactly
        return (given.exp() * (given - log_probs)).sum(1).mean()
    if arm == "teacher, token":
        return -at(log_probs).mean()
    clip = {"clip_low": 0.2, "clip_high": 0.2}  # as the row OPD has it
    return ppo_clip_loss(
        at(log_probs), at(log_probs) - old, at(given) - old, **clip
    ).mean()


def listen(arm, lr, seed, quick):
    """Rows of a student's rounds; a row measures the student before it learns."""
    teacher = trained((seed + 1) % SEEDS, quick)[0]
    student = warm_start("signs", seed=seed)
    optimizer = torch.optim.Adam(student.parameters(), lr=lr, fused=True)
    rng, dice = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    steps, prompts, group = (2, 4, 4) if quick else (DIALS["steps"], 32, 8)
    streams = {"temperature": 1.0, "rng": rng, "generator": dice}
    measure = {name: MEASURES[name] for name in WATCHED}
    history, tokens, clock = [], 0, time.process_time()
    for step in range(1, steps + 1):
        batch, seen = TASK.sample(student, prompts, group, measure=measure, **streams)
        row = {name: x.float().mean().item() for name, x in seen.items()}
        row["ref_kl"] = reference_distance(
            batch.old_log_probs, log_probs_of(teacher, batch), batch.mask
        ).item()
        if arm.startswith("teacher"):
            batch, _ = TASK.sample(teacher, prompts, group, **streams)
        tokens += int(batch.mask.sum())
        for part in batch.shuffled(dice).split(-(-len(batch) // DIALS["minibatches"])):
            part = part.by_length().trimmed()
            words, chosen = part.tokens, part.mask[:, 1:]
            with torch.no_grad():
                given = forward_live(teacher, words, part.mask, 1.0)[1].log_softmax(-1)
            now = forward_live(student, words, part.mask, 1.0)[1].log_softmax(-1)
            old = part.old_log_probs[:, 1:][chosen]
            optimizer.zero_grad()
            loss_of(arm, now, given, words[:, 1:][chosen], old).backward()
            nn.utils.clip_grad_norm_(student.parameters(), 1.0)
            optimizer.step()
        spent = time.process_time() - clock
        history.append(row | {"step": step, "tokens": tokens, "seconds": spent})
    return thin(history, 1)


def run(variant, seed, quick, checkpoint):
    if variant != ONCE:
        return listen(**variant, seed=seed, quick=quick)
    halves = {"prompts": 16, "minibatches": 1, "steps": 2 * DIALS["steps"], "every": 2}
    return learn(
        ROWS["k1 as a loss"],
        seed,
        quick,
        reward_fn=lambda prompt, response: 0.0,
        reference=trained((seed + 1) % SEEDS, quick)[0],
        moments=(),
        **DIALS | halves,
    )[0]


def end(rows, arm, lr=5e-4, column="success"):
    """A column at the end of each seed, a mean of the last five rows."""
    return final(rows, column, last=5, arm=arm, lr=lr)


def after(rows, arm, iterations, lr=5e-4, column="success"):
    """A column of each seed after a number of iterations."""
    return per_seed(rows, column, arm=arm, lr=lr)[:, iterations]


EXPERIMENT = Experiment(
    name="distillation-controls",
    chapter=16,
    question={
        "zh": "蒸馏快在哪里：谁来写、看一个词元还是整个词表、学习率多大？",
        "en": "Distillation: who writes, one token or all the vocabulary, which rate?",
    },
    variants=(ONCE, *({"arm": arm, "lr": lr} for lr in RATES for arm in ARMS)),
    run=run,
    columns={
        "arm": "who writes, and what a place teaches; or k1 as a loss, one update",
        "lr": "learning rate of Adam",
    }
    | COLUMNS
    | {"ref_kl": "k1 against the teacher, summed over a response"},
    settings={"task": "signs", **DIALS},
    claims={
        "the student that writes ends higher in every seed, token or vocabulary": (
            lambda rows: all(
                (end(rows, f"student, {what}") > end(rows, f"teacher, {what}")).all()
                for what in ("token", "vocabulary")
            )
        ),
        "but up to iteration 4 who writes moves the mean by less than 0.03": (
            lambda rows: all(
                abs(
                    after(rows, "student, token", i).mean()
                    - after(rows, "teacher, token", i).mean()
                )
                < 0.03
                for i in range(5)
            )
        ),
        "the student learns faster from the whole vocabulary in two iterations": (
            lambda rows: all(
                (
                    after(rows, "student, vocabulary", i)
                    > after(rows, "student, token", i)
                ).all()
                for i in (1, 2)
            )
        ),
        "at three times the rate all are faster at first and end lower on average": (
            lambda rows: all(
                (after(rows, arm, 2, 1.5e-3) > after(rows, arm, 2)).all()
                and end(rows, arm, 1.5e-3).mean() < end(rows, arm).mean()
                for arm in ARMS
            )
        ),
        "k1 as a loss, once: ends at 0.13 to 0.37, 8 to 24 from the teacher": (
            lambda rows: (
                inside(end(rows, ONCE["arm"]), 0.13, 0.37)
                and inside(end(rows, ONCE["arm"], column="ref_kl"), 8, 24)
            )
        ),
    },
    message={
        "zh": "快在每个位置都有得学，不在谁来写；由学生写，最后略高。",
        "en": "A lesson at every place makes it fast, whoever writes.",
    },
)
