"""Chapter 10: with Adam, does a wider upper clip find a rare good action more often?

The chapter's world of one step and 20 actions, 200 copies per seed: the usual action
pays half of the time, a rare one always, the others never.
"""

import numpy as np
import torch

from tokenbook.lab import Experiment, final
from tokencredit.credit.advantages import group_relative
from tokencredit.weight.losses import ppo_clip_loss

RANGES, RATES, CHANCES = (0.2, 0.28, 0.6), (0.01, 0.03, 0.1), (0.01, 0.003)
DIALS = {"copies": 200, "batches": 60, "size": 64, "updates": 16, "usual": 0.9}


def run(variant, seed, quick, checkpoint):
    dials = DIALS | ({"copies": 4, "batches": 10} if quick else {})
    copies, size, usual = dials["copies"], dials["size"], dials["usual"]
    high, rare = variant["high"], variant["chance"]
    dice = torch.Generator().manual_seed(seed)
    start = torch.full((20,), (1 - usual - rare) / 18, dtype=torch.float64)
    start[0], start[1] = usual, rare
    logits = start.log().repeat(copies, 1).requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=variant["lr"])
    ids, rows = torch.arange(copies).repeat_interleave(size), []
    for batch in range(1, dials["batches"] + 1):
        old = logits.detach().log_softmax(-1)
        action = old.exp().multinomial(size, True, generator=dice)
        coin = torch.rand(action.shape, generator=dice, dtype=torch.float64) < 0.5
        pay = torch.where(action == 0, coin, action == 1).double()
        A = group_relative(pay.flatten(), ids).view(copies, size)
        old = old.gather(1, action)
        for _ in range(dials["updates"]):
            new = logits.log_softmax(-1).gather(1, action)
            loss = ppo_clip_loss(new, new - old, A, clip_low=0.2, clip_high=high)
            optimizer.zero_grad()
            (loss.sum() / size).backward()
            optimizer.step()
        if batch % 10 == 0:
            chance = logits.detach().softmax(-1)[:, 1]
            rows.append({"step": batch, "found": (chance > 0.5).double().mean().item()})
    return rows


def gains(rows, high):
    """How many more copies find it than with 0.2, as [worlds, seeds]."""
    worlds = ({"chance": x, "lr": lr} for x in CHANCES for lr in RATES)
    ends = (
        [final(rows, "found", high=h, **world) for h in (high, 0.2)] for world in worlds
    )
    return np.array([wide - narrow for wide, narrow in ends])


ARMS = tuple(
    {"chance": chance, "lr": lr, "high": high}
    for chance in CHANCES
    for lr in RATES
    for high in RANGES
)

EXPERIMENT = Experiment(
    name="rare-action",
    chapter=10,
    question={
        "zh": "用 Adam，放宽裁剪的上界能多找到罕见的好动作吗？",
        "en": "With Adam, does a wider upper clip find a rare good action more often?",
    },
    variants=ARMS,
    run=run,
    columns={
        "chance": "of the good action at the start",
        "lr": "learning rate of Adam",
        "high": "upper range of the clip; the lower one is 0.2",
        "step": "batches done",
        "found": "share of the copies in which it is above 0.5",
    },
    settings={"actions": 20, "low": 0.2, "optimizer": "Adam", **DIALS},
    claims={
        "a wider upper range finds it more often, in every seed of every setting": (
            lambda rows: all((gains(rows, high) > 0).all() for high in (0.28, 0.6))
        ),
        "0.28 adds at most 0.07 to the share, in the mean of a setting": (
            lambda rows: gains(rows, 0.28).mean(1).max() < 0.07
        ),
        "0.6 adds up to 0.15 and more where the action is rarer": (
            lambda rows: gains(rows, 0.6).mean(1)[len(RATES) :].max() > 0.15
        ),
    },
    message={
        "zh": "用 Adam，放宽上界也能多找到罕见的好动作，只是多得不多。",
        "en": "With Adam, too, a wider bound finds a rare action a bit more often.",
    },
    shows=(("found",),),
)
