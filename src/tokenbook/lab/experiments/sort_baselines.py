"""Chapter 3: five deltas from the same flat start on the note's sort task."""

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._sort import (
    COLUMNS,
    DELTAS,
    learn_sort,
    sort_row,
)

DIALS = {"steps": 200, "group_size": 10, "lr": 3e-3}


def run(variant, seed, quick, checkpoint):
    dials = DIALS | ({"steps": 2} if quick else {})
    row = sort_row(variant["delta"])
    return learn_sort(row, variant["pays"], seed, checkpoint, flatten=10.0, **dials)


def area(rows, **values):
    """Mean reward over the whole run and the seeds: fast learning is large."""
    return per_seed(rows, "reward", **values).mean()


EXPERIMENT = Experiment(
    name="sort-baselines",
    chapter=3,
    question={
        "zh": "减去基线，同样的样本学得快多少？",
        "en": "How much faster do the same samples teach with a baseline?",
    },
    variants=tuple(
        {"delta": delta, "pays": pays}
        for delta in DELTAS
        for pays in ("position", "inclusion")
    ),
    run=run,
    columns={
        "delta": "what multiplies the score: raw, centred, leave-one-out, "
        "normalised (sample std) or max (all but the best of a group set to 0)",
        "pays": "position: places that agree; inclusion: inclusion + ordering",
    }
    | COLUMNS,
    settings={"model": "PositionPolicy", "flatten": 10, "every": 10, **DIALS},
    claims={
        "centring beats raw rewards, with both rewards": lambda rows: all(
            area(rows, delta="centred", pays=pays) > area(rows, delta="raw", pays=pays)
            for pays in ("position", "inclusion")
        ),
        "leave-one-out learns like centring, within 5 %": lambda rows: all(
            abs(
                area(rows, delta="leave-one-out", pays=pays)
                / area(rows, delta="centred", pays=pays)
                - 1
            )
            < 0.05
            for pays in ("position", "inclusion")
        ),
        "normalising changes the final reward by less than 5 %": lambda rows: all(
            abs(
                final(rows, "reward", last=3, delta="normalised", pays=pays).mean()
                / final(rows, "reward", last=3, delta="centred", pays=pays).mean()
                - 1
            )
            < 0.05
            for pays in ("position", "inclusion")
        ),
    },
)
