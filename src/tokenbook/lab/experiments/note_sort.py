"""Chapter 8: the sort walk-through of the source note, and its repair."""

import numpy as np

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._sort import (
    COLUMNS,
    LOSSES,
    learn_sort,
    sort_row,
)

NOTE = {"steps": 100, "group_size": 10, "epochs": 10, "lr": 1e-3}
OURS = {"steps": 300, "group_size": 10, "epochs": 1, "lr": 1e-2}
MODES = ("raw", "centred", "normalised", "max")
REWARDS = ("position", "inclusion")


def run(variant, seed, quick, checkpoint):
    ours = variant["recipe"] == "ours"
    dials = dict(OURS if ours else NOTE) | ({"steps": 2} if quick else {})
    return learn_sort(
        sort_row(variant["delta"], variant["loss"]),
        variant["pays"],
        seed,
        checkpoint,
        flatten=10.0 if ours else 1.0,
        **dials,
    )


def reward(rows, **values):
    """Mean reward at the end over the seeds that lived."""
    return np.nanmean(final(rows, "reward", **values))


def note(rows, **values):
    return reward(rows, recipe="note", **values)


EXPERIMENT = Experiment(
    name="note-sort",
    chapter=8,
    question={
        "zh": "照原笔记的设置，哪种 delta 和损失学会了排序？怎样才学得会？",
        "en": "With the note's settings, what learns to sort? And with which?",
    },
    variants=tuple(
        {"recipe": "note", "pays": pays, "delta": delta, "loss": loss}
        for pays in REWARDS
        for delta in MODES
        for loss in LOSSES
    )
    + tuple(
        {"recipe": "ours", "pays": pays, "delta": delta, "loss": "ratio"}
        for pays in REWARDS
        for delta in MODES
    ),
    run=run,
    columns={
        "recipe": "note: 100 rounds x 10 updates, lr 1e-3; ours: flat start, 300 "
        "rounds x 1 update, lr 1e-2",
        "pays": "position: places that agree; inclusion: inclusion + ordering",
        "delta": "raw, centred, normalised or max",
        "loss": "naive: -A log p; ratio: clipped exp(log p - log p_old); log/log: the "
        "note's log p / log p_old",
    }
    | COLUMNS,
    settings={"model": "PositionPolicy", "every": 10, "note": NOTE, "ours": OURS},
    claims={
        "with the note's settings no run sorts everything": lambda rows: (
            not (rows[rows["recipe"] == "note"]["sorted"] == 3).any()
        ),
        "centring helps: above raw under the naive loss, both rewards": lambda rows: (
            all(
                note(rows, pays=pays, delta="centred", loss="naive")
                > note(rows, pays=pays, delta="raw", loss="naive")
                for pays in REWARDS
            )
        ),
        "normalising changes little: within 10 % of centred, naive loss": lambda rows: (
            all(
                abs(
                    note(rows, pays=pays, delta="normalised", loss="naive")
                    / note(rows, pays=pays, delta="centred", loss="naive")
                    - 1
                )
                < 0.1
                for pays in REWARDS
            )
        ),
        "log over log does worse than the right ratio, centred": lambda rows: all(
            note(rows, pays=pays, delta="centred", loss="log/log")
            < note(rows, pays=pays, delta="centred", loss="ratio")
            for pays in REWARDS
        ),
        "a flat start on policy sorts everything, position reward, centred": (
            lambda rows: (
                final(
                    rows, "sorted", recipe="ours", pays="position", delta="centred"
                ).min()
                == 3
            )
        ),
    },
)
