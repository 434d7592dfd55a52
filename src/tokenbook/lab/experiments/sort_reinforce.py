"""Chapter 2: REINFORCE without a baseline on the note's sort task."""

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._sort import COLUMNS, learn_sort, sort_row

DIALS = {"steps": 300, "group_size": 10, "lr": 1e-2}
FLATTEN = {"peaked": 1.0, "flat": 10.0}


def run(variant, seed, quick, checkpoint):
    dials = DIALS | ({"steps": 2} if quick else {})
    return learn_sort(
        sort_row("raw"),
        variant["pays"],
        seed,
        checkpoint,
        flatten=FLATTEN[variant["start"]],
        **dials,
    )


def solved(rows, **values):
    """Seeds that sort all three prompts at the end."""
    return int((final(rows, "sorted", **values) == 3).sum())


EXPERIMENT = Experiment(
    name="sort-reinforce",
    chapter=2,
    question={
        "zh": "没有基线的 REINFORCE 能学会三个提示的排序吗？",
        "en": "Does REINFORCE without a baseline learn to sort three prompts?",
    },
    variants=tuple(
        {"start": start, "pays": pays}
        for start in ("peaked", "flat")
        for pays in ("position", "inclusion")
    ),
    run=run,
    columns={
        "start": "the note's random start (peaked), or its logits divided by 10 (flat)",
        "pays": "position: places that agree; inclusion: inclusion + ordering",
    }
    | COLUMNS,
    settings={"model": "PositionPolicy", "every": 10, **DIALS},
    claims={
        "from a flat start, position reward: four seeds of five sort everything": (
            lambda rows: solved(rows, start="flat", pays="position") == 4
        ),
        "from the peaked start no seed sorts everything": lambda rows: (
            solved(rows, start="peaked", pays="position") == 0
            and solved(rows, start="peaked", pays="inclusion") == 0
        ),
        "inclusion + ordering pays for the wrong thing: no seed sorts everything": (
            lambda rows: solved(rows, start="flat", pays="inclusion") == 0
        ),
        "yet its reward rises above 3.9 of 5 in every seed": lambda rows: (
            final(rows, "reward", last=3, start="flat", pays="inclusion").min() > 3.9
        ),
    },
)
