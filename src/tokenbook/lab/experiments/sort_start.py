"""Chapter 8: start and updates per batch, one changed at a time, sorting digits."""

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._sort import COLUMNS, learn_sort, sort_row
from tokenbook.lab.experiments.note_sort import NOTE, OURS

STARTS = {"random": 1.0, "flat": 10.0}
UPDATES = {10: NOTE, 1: OURS}


def run(variant, seed, quick, checkpoint):
    dials = dict(UPDATES[variant["updates"]]) | ({"steps": 2} if quick else {})
    return learn_sort(
        sort_row("centred", "ratio"),
        "position",
        seed,
        checkpoint,
        flatten=STARTS[variant["start"]],
        **dials,
    )


def solved(rows, **values):
    return int((final(rows, "sorted", **values) == 3).sum())


EXPERIMENT = Experiment(
    name="sort-start",
    chapter=8,
    question={
        "zh": "学会排序靠的是平坦的起点，还是每批只更新一次？",
        "en": "Is it the flat start or the single update that learns to sort?",
    },
    variants=tuple(
        {"start": start, "updates": updates} for start in STARTS for updates in UPDATES
    ),
    run=run,
    columns={
        "start": "random: as initialised; flat: logits divided by 10",
        "updates": "per batch. 10: 100 rounds, lr 1e-3; 1: 300 rounds, lr 1e-2",
    }
    | COLUMNS,
    settings={
        "model": "PositionPolicy",
        "every": 10,
        "updates 10": NOTE,
        "updates 1": OURS,
    },
    claims={
        "a flat start sorts everything, with ten updates and with one": lambda rows: (
            all(solved(rows, start="flat", updates=x) == 5 for x in UPDATES)
        ),
        "a random start never does": lambda rows: all(
            solved(rows, start="random", updates=x) == 0 for x in UPDATES
        ),
    },
)
