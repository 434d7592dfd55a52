"""Chapter 12: the same 32 rounds of learning, with a sampler that lags more and more.

The sampler takes over the weights every `refresh` rounds, so at 32 all rounds learn
from responses of the warm start. A row measures what sampled it: the last one, the
policy as it was after 32 rounds, whatever the lag.
"""

from tokencredit.lab import Experiment, final
from tokencredit.lab.experiments._signs import COLUMNS, DIALS, learn
from tokencredit.lab.experiments.stale_sampler import ROWS

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
    claims={},
    message={
        "zh": "数据越旧，学得越少；裁剪选得不对，还要更少。",
        "en": "The older the data, the less is learned, and a wrong clip costs more.",
    },
    shows=(("success", "distinct"),),
)
