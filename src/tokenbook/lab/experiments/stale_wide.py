"""Chapter 12: the wide range that was chosen at a lag of eight, at every other lag."""

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments.staleness import DIALS, LAGS
from tokenbook.lab.experiments.staleness import EXPERIMENT as OTHERS
from tokenbook.lab.experiments.staleness import run as learn


def run(variant, seed, quick, checkpoint):
    return learn(variant | {"loss": "wide"}, seed, quick, checkpoint)


def end(rows, column, lag):
    """A column of each seed after 32 rounds, a mean of two."""
    return final(rows, column, refresh=lag)


EXPERIMENT = Experiment(
    name="stale-wide",
    chapter=12,
    question={
        "zh": "间隔八次时挑好的宽裁剪，换一个间隔还合用吗？",
        "en": "Does the wide clip that was chosen at a lag of eight fit other lags?",
    },
    variants=tuple({"refresh": lag} for lag in LAGS),
    run=run,
    columns={name: text for name, text in OTHERS.columns.items() if name != "loss"},
    settings={"task": "signs", "row": "wide: [0.6, 3]", "every": 2, **DIALS},
    claims={
        "up to a lag of 4 it ends above 0.9 in every seed": lambda rows: (
            min(end(rows, "success", lag).min() for lag in (1, 4)) > 0.9
        ),
        "at 16 two of five seeds still give up, over 0.1; the others under 0.03": (
            lambda rows: (
                sorted(end(rows, "gives_up", 16) > 0.1)
                == sorted(end(rows, "gives_up", 16) > 0.03)
                == [False] * 3 + [True] * 2
            )
        ),
        "at 32 all seeds still give up, over 0.15, and end below 0.65": lambda rows: (
            end(rows, "gives_up", 32).min() > 0.15
            and end(rows, "success", 32).max() < 0.65
        ),
    },
    message={
        "zh": "裁剪要放多宽，得看间隔：间隔 8 次时够宽的，到 32 次又窄了。",
        "en": "How wide a clip must be depends on the lag: what fits 8 is tight at 32.",
    },
    shows=(("success", "distinct"),),
)
