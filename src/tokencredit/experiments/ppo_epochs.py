"""Chapter 6: the same responses used K times, with and without the clip."""

from dataclasses import replace

from ..algorithms import ALGORITHMS
from ..lab import Experiment, final, per_seed
from ._chain import COLUMNS, learn

DIALS = {"steps": 30, "prompts": 16, "group_size": 8, "lr": 3e-4}


def ratio_loss(log_probs, log_ratio, advantages):
    """Importance-weighted loss without a clip: -ratio * A."""
    return -log_ratio.exp() * advantages


def run(variant, seed, quick, checkpoint):
    row = ALGORITHMS["PPO"]
    if not variant["clip"]:
        row = replace(row, name="PPO without clip", loss=ratio_loss)
    dials = DIALS | {"epochs": variant["epochs"]}
    return learn(row, seed, quick, checkpoint, every=2, **dials)


def success(rows, epochs, clip):
    """Success of each seed at the end, a mean of the last six rounds."""
    return final(rows, "success", last=3, epochs=epochs, clip=clip)


def early(rows, epochs):
    """Success of each seed over the first ten rounds."""
    return per_seed(rows, "success", epochs=epochs, clip=True)[:, :5].mean(1)


EXPERIMENT = Experiment(
    name="ppo-epochs",
    chapter=6,
    question={
        "zh": "同一批回答用 1、4、16 遍，有没有裁剪差在哪里？",
        "en": "Responses used 1, 4, 16 times: what does the clip change?",
    },
    variants=tuple(
        {"epochs": k, "clip": clip} for k in (1, 4, 16) for clip in (True, False)
    ),
    run=run,
    columns={"epochs": "passes over a round, K", "clip": "PPO's clip on"} | COLUMNS,
    settings={"task": "chain", "row": "PPO", "every": 2, **DIALS},
    claims={
        "with K = 1 the clip changes nothing, to the last digit": lambda rows: (
            per_seed(rows, "success", epochs=1, clip=True)
            == per_seed(rows, "success", epochs=1, clip=False)
        ).all(),
        "K = 4 learns faster at first, in every seed": lambda rows: (
            early(rows, 4) > early(rows, 1)
        ).all(),
        "with K = 4 the clip matters little: under 0.05 at the end": lambda rows: (
            abs(success(rows, 4, True) - success(rows, 4, False)) < 0.05
        ).all(),
        "K = 16 ends below K = 1 in every seed, clip or not": lambda rows: all(
            (success(rows, 16, clip) < success(rows, 1, clip)).all()
            for clip in (True, False)
        ),
        "without the clip K = 16 falls below 0.1, with it every seed keeps 0.15": (
            lambda rows: (
                success(rows, 16, False).max() < 0.1
                and success(rows, 16, True).min() > 0.15
            )
        ),
        "at K = 16 the clip keeps the KL per round at least four times smaller": (
            lambda rows: (
                final(rows, "kl", last=3, epochs=16, clip=False)
                > 4 * final(rows, "kl", last=3, epochs=16, clip=True)
            ).all()
        ),
        "at K = 16 under the clip the entropy rises, without it it does not": (
            lambda rows: (
                final(rows, "entropy", last=3, epochs=16, clip=True).min() > 0.6
                and final(rows, "entropy", last=3, epochs=16, clip=False).max() < 0.6
            )
        ),
    },
)
