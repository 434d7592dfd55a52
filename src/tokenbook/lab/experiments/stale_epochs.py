"""Chapter 12: `stale-sampler` with eight updates on each batch instead of two.

The sampler lags up to eight rounds, and each round uses its responses four times.
So there is something for the limit of decoupled PPO to limit: how far one batch goes.
"""

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._signs import COLUMNS, learn
from tokenbook.lab.experiments.stale_sampler import DIALS, ROWS

DIALS = DIALS | {"epochs": 4, "refresh": 8}
LOSSES = ("PPO", "no clip", "decoupled", "GSPO", "wide")


def run(variant, seed, quick, checkpoint):
    return learn(ROWS[variant["loss"]], seed, quick, **DIALS)[0]


def end(rows, loss):
    """Success of each seed after 16 rounds, a mean of two."""
    return final(rows, "success", loss=loss)


EXPERIMENT = Experiment(
    name="stale-epochs",
    chapter=12,
    question={
        "zh": "数据旧了，一批又要更新八步：哪种裁剪还有用？",
        "en": "Stale data, and eight updates on each batch: which clip helps?",
    },
    variants=tuple({"loss": loss} for loss in LOSSES),
    run=run,
    columns={"loss": "the weight of a token, as in stale-sampler"} | COLUMNS,
    settings={"task": "signs", "every": 2, **DIALS},
    claims={
        "decoupled ends above PPO's clip in every seed": lambda rows: (
            end(rows, "decoupled") > end(rows, "PPO")
        ).all(),
        "above no clip by 0.1 in four of five, and level in one": lambda rows: (
            (end(rows, "decoupled") > end(rows, "no clip") + 0.1).sum() == 4
            and (end(rows, "decoupled") > end(rows, "no clip") - 0.02).all()
        ),
        "and GSPO above all of them in every seed": lambda rows: all(
            (end(rows, "GSPO") > end(rows, loss)).all()
            for loss in LOSSES
            if loss != "GSPO"
        ),
        "the fixed wide range ends 0.05 above PPO's clip and no clip in every seed": (
            lambda rows: all(
                (end(rows, "wide") > end(rows, loss) + 0.05).all()
                for loss in ("PPO", "no clip")
            )
        ),
        "and neither it nor decoupled leads in every seed": lambda rows: (
            (end(rows, "wide") > end(rows, "decoupled")).sum() in range(1, 5)
        ),
    },
    message={
        "zh": "一批更新很多步时要有限制：从训练前的策略量起，或者放宽。",
        "en": "Many updates on a batch need a limit, measured afresh or wide.",
    },
    shows=(("success", "distinct"),),
)
