"""Chapter 12: the same 32 rounds of learning, with a sampler that lags more and more.

The sampler takes over the weights every `refresh` rounds, so at 32 all rounds learn
from responses of the warm start. A row measures its sampler: the last one, the policy
after 32 rounds, at every lag.
"""

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, learn
from tokenbook.lab.experiments.stale_sampler import ROWS

DIALS = DIALS | {"steps": 34}  # two rounds with the policy of round 32
LAGS = (1, 4, 16, 32)
LOSSES = ("PPO", "no clip", "GSPO", "decoupled")


def run(variant, seed, quick, checkpoint):
    lag = {"refresh": variant["refresh"]}
    rows, _ = learn(ROWS[variant["loss"]], seed, quick, **DIALS | lag)
    return rows


def end(rows, column, loss, refresh):
    """A column of each seed after 32 rounds, a mean of two."""
    return final(rows, column, loss=loss, refresh=refresh)


EXPERIMENT = Experiment(
    name="staleness",
    chapter=12,
    question={
        "zh": "数据越来越旧，同样的三十二次迭代还学到多少？",
        "en": "How much do the same 32 iterations teach as the data get older?",
    },
    variants=tuple({"loss": loss, "refresh": lag} for lag in LAGS for loss in LOSSES),
    run=run,
    columns={
        "loss": "the weight of a token, as in stale-sampler",
        "refresh": "rounds between two updates of the sampler",
    }
    | COLUMNS,
    settings={"task": "signs", "every": 2, **DIALS},
    claims={
        "up to a lag of 4, every loss ends above 0.9 in every seed": lambda rows: all(
            end(rows, "success", loss, lag).min() > 0.9
            for loss in LOSSES
            for lag in (1, 4)
        ),
        "at a lag of 16 PPO's clip ends below 0.6, at 32 below 0.5, in every seed": (
            lambda rows: (
                end(rows, "success", "PPO", 16).max() < 0.6
                and end(rows, "success", "PPO", 32).max() < 0.5
            )
        ),
        "and over 0.3 of its responses still give up": lambda rows: (
            min(end(rows, "gives_up", "PPO", lag).min() for lag in (16, 32)) > 0.3
        ),
        "at 32, no clip and decoupled end below 0.8 and below 2.2 first tries": (
            lambda rows: all(
                end(rows, "success", loss, 32).max() < 0.8
                and end(rows, "distinct", loss, 32).max() < 2.2
                for loss in ("no clip", "decoupled")
            )
        ),
        "GSPO ends above 0.87 at every lag, with over 3.1 first tries": lambda rows: (
            all(
                end(rows, "success", "GSPO", lag).min() > 0.87
                and end(rows, "distinct", "GSPO", lag).min() > 3.1
                for lag in LAGS
            )
        ),
    },
    message={
        "zh": "数据旧得多，学得就少；少多少，要看怎样限制。",
        "en": "Much older data teach less; how much less depends on the limits.",
    },
    shows=(("success", "distinct"),),
)
