"""Chapter 12: a sampler that lags eight rounds behind, under four kinds of clip."""

from dataclasses import replace
from functools import partial

from ..algorithms import ALGORITHMS
from ..lab import Experiment
from ..losses import ppo_clip_loss
from ._chain import COLUMNS, learn

DIALS = {"steps": 64, "prompts": 32, "group_size": 8, "refresh": 8, "lr": 3e-4}
FIXED = replace(ALGORITHMS["GRPO"], kl_coef=0.0, aggregation="token-mean")
ROWS = {
    "fixed 0.2": FIXED,
    "higher 0.28": replace(
        FIXED, loss=partial(ppo_clip_loss, clip_low=0.2, clip_high=0.28)
    ),
    "balanced": ALGORITHMS["BAPO"],
    "fixed wide": replace(  # the widest bounds the rule may choose, all the time
        FIXED, loss=partial(ppo_clip_loss, clip_low=0.4, clip_high=2.0)
    ),
}


def run(variant, seed, quick, checkpoint):
    return learn(ROWS[variant["clip"]], seed, quick, checkpoint, every=8, **DIALS)


EXPERIMENT = Experiment(
    name="stale-clip",
    chapter=12,
    question={
        "zh": "采样者落后八轮时，固定裁剪与平衡裁剪差多少？",
        "en": "The sampler lags eight rounds: a fixed clip, or BAPO's balanced one?",
    },
    variants=tuple({"clip": name} for name in ROWS),
    run=run,
    columns={"clip": "fixed range, clip-higher, BAPO's rule, or fixed and wide"}
    | COLUMNS,
    settings={"task": "chain", "every": 8, **DIALS},
)
