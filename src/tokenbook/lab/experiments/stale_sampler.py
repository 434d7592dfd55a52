"""Chapter 12: a sampler that lags up to eight rounds behind, under eight losses.

All arms share GRPO's advantages and have no KL; GSPO keeps its mean over responses, the
others take the mean over tokens, so that only the weight of a token differs. Decoupled
PPO clips against the trainer's own policy before the round and weighs its distance to
the sampler apart, capped at two. "fresh" is PPO whose sampler does not lag. A row
measures its sampler: the last one, the policy after 16 rounds.
"""

from dataclasses import replace
from functools import partial

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, PLAIN, inside, learn
from tokenbook.lab.experiments.signs_epochs import ratio_loss
from tokencredit.algorithms import ALGORITHMS
from tokencredit.weight.losses import corrected_clip_loss, ppo_clip_loss

DIALS = DIALS | {"steps": 18}  # two rounds with the policy of round 16
CLIP = replace(PLAIN, aggregation="token-mean")
ROWS = {
    "no clip": replace(CLIP, loss=ratio_loss),
    "PPO": CLIP,
    "BAPO": ALGORITHMS["BAPO"],
    "decoupled": replace(
        CLIP, loss=partial(corrected_clip_loss, clip_low=0.2, clip_high=0.2, cap=2)
    ),
    "fresh": CLIP,
    "GSPO": ALGORITHMS["GSPO"],
    "CISPO": ALGORITHMS["CISPO"],
    "BAPO, un-clipped": ALGORITHMS["BAPO, un-clipped"],
    "wide": replace(  # [0.6, 3]: lowest low and highest high of the un-clipped rule
        CLIP, loss=partial(ppo_clip_loss, clip_low=0.4, clip_high=2.0)
    ),
}


def run(variant, seed, quick, checkpoint):
    lag = 1 if variant["loss"] == "fresh" else 8
    return learn(ROWS[variant["loss"]], seed, quick, refresh=lag, **DIALS)


def end(rows, column, loss):
    """A column of each seed after 16 rounds, a mean of two."""
    return final(rows, column, loss=loss)


EXPERIMENT = Experiment(
    name="stale-sampler",
    chapter=12,
    question={
        "zh": "采样器每八次迭代换一次权重时，哪种裁剪还学得动？",
        "en": "A sampler refreshed every 8 iterations: which clip still learns?",
    },
    variants=tuple({"loss": name} for name in ROWS),
    run=run,
    columns={"loss": "the weight of a token"} | COLUMNS,
    settings={"task": "signs", "refresh": 8, "every": 2, **DIALS},
    claims={
        "PPO's clip: 0.45 to 0.65 right, and over 0.22 still give up, in every seed": (
            lambda rows: (
                inside(end(rows, "success", "PPO"), 0.45, 0.65)
                and end(rows, "gives_up", "PPO").min() > 0.22
            )
        ),
        "without a clip, under BAPO and decoupled: above 0.83 in every seed": (
            lambda rows: all(
                end(rows, "success", loss).min() > 0.83
                for loss in ("no clip", "BAPO", "decoupled")
            )
        ),
        "and fewer than one response in a hundred gives up": lambda rows: all(
            end(rows, "gives_up", loss).max() < 0.01
            for loss in ("no clip", "BAPO", "decoupled")
        ),
        "fresh data end above 0.95 in every seed": lambda rows: (
            end(rows, "success", "fresh").min() > 0.95
        ),
        "every other loss beats PPO's clip by 0.1 in every seed": lambda rows: all(
            (end(rows, "success", loss) > end(rows, "success", "PPO") + 0.1).all()
            for loss in ROWS
            if loss != "PPO"
        ),
        "BAPO beats its un-clipped variant in every seed": lambda rows: (
            end(rows, "success", "BAPO") > end(rows, "success", "BAPO, un-clipped")
        ).all(),
        "and neither BAPO nor the fixed wide range leads in every seed": (
            lambda rows: (
                (end(rows, "success", "BAPO") > end(rows, "success", "wide")).sum()
                in range(1, 5)
            )
        ),
        "GSPO and BAPO keep over 3.1 first tries, looser losses below 2.8": (
            lambda rows: (
                all(
                    end(rows, "distinct", loss).min() > 3.1
                    for loss in ("GSPO", "BAPO", "BAPO, un-clipped")
                )
                and all(
                    end(rows, "distinct", loss).max() < 2.8
                    for loss in ("no clip", "CISPO", "wide", "decoupled")
                )
            )
        ),
        "BAPO's clip shows no gain over none: neither leads in every seed": (
            lambda rows: (
                (end(rows, "success", "BAPO") > end(rows, "success", "no clip")).sum()
                in range(1, 5)
            )
        ),
    },
    speaks=True,
    message={
        "zh": "采样器落后时，范围 0.2 的裁剪把学习也拖住了。",
        "en": "While the sampler lags, a clip of 0.2 holds back the learning as well.",
    },
    shows=(("success", "gives_up"),),
)
