"""Chapter 15: a sampler that computes differently, under eight ways to correct for it.

The engine that samples has the policy's weights, rounded to a few bits of mantissa, as
a format of low precision would; the trainer has them whole. All arms share GRPO's
advantages and the mean over tokens, without a KL, so that only the weight of a token
differs. "one ratio" clips pi / mu; the others clip the update and weigh the gap apart.
"""

import copy
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, PLAIN, TASK, learn
from tokencredit.weight.losses import ppo_clip_loss
from tokencredit.world.rollout import rollout, texts
from tokencredit.world.starts import warm_start

DIALS = DIALS | {"steps": 16}
CLIP = replace(PLAIN, aggregation="token-mean")


def rounded(x, bits):
    """Numbers rounded to a few bits of mantissa 舍入到几位尾数; exponents unchanged."""
    part, exponent = torch.frexp(x)
    return torch.ldexp((part * 2 ** (bits + 1)).round() / 2 ** (bits + 1), exponent)


def round_weights(policy, bits):
    """A copy of a policy 推理引擎 with every weight rounded to a few bits."""
    other = copy.deepcopy(policy)
    with torch.no_grad():
        for weight in other.parameters():
            weight.copy_(rounded(weight, bits))
    return other


def inside(x, low, high):
    """1 within the bounds, else 0."""
    return ((x >= low) & (x <= high)).to(x)


def token_weights(how, gap, mask):
    """The weight of every token; gap is log pi_old - log mu."""
    total = (gap * mask).sum(1, keepdim=True)
    token, whole = gap.exp(), total.exp().expand_as(gap)
    mean = (total / mask.sum(1, keepdim=True)).exp()
    return {
        "nothing": torch.ones_like(gap),
        "token, at most 2": token.clamp(max=2),
        "token, 0.5 to 5": token * inside(token, 0.5, 5),
        "response, at most 2": whole.clamp(max=2),
        "response, 0 to 3": whole * inside(whole, 0, 3),
        "mean, 0.9 to 1.1": token * inside(mean, 0.9, 1.1),
    }[how]


WEIGHED = (
    "nothing",
    "token, at most 2",
    "token, 0.5 to 5",
    "response, at most 2",
    "response, 0 to 3",
    "mean, 0.9 to 1.1",
)


def weighed_loss(
    log_probs, log_ratio, advantages, old_log_probs, sampler_log_probs, mask, *, how
):
    """PPO's clip from the trainer's own policy, times the weight of the gap."""
    gap = torch.where(mask, old_log_probs - sampler_log_probs, 0)
    clipped = ppo_clip_loss(log_probs, log_ratio, advantages)
    return token_weights(how, gap, mask) * clipped


ROWS = {"same engine": CLIP, "one ratio": CLIP} | {
    how: replace(CLIP, loss=partial(weighed_loss, how=how)) for how in WEIGHED
}
VARIANTS = [{"weight": how, "bits": 1} for how in ROWS]
VARIANTS += [
    {"weight": how, "bits": 2} for how in ("one ratio", "nothing", "token, at most 2")
]


def exam(policy, prompts=128):
    """Success of a policy that writes for itself, on prompts kept for this."""
    asked = TASK.prompts(prompts, np.random.default_rng(99))
    dice = torch.Generator().manual_seed(99)
    wrote = rollout(policy, TASK, asked, group_size=8, generator=dice)
    said = texts(wrote, TASK.vocabulary)
    return float(np.mean([TASK.reward(asked[k // 8], x) for k, x in enumerate(said)]))


def run(variant, seed, quick, checkpoint):
    policy = warm_start("signs", seed=seed)
    sampler = partial(round_weights, bits=variant["bits"])
    rows, _ = learn(
        ROWS[variant["weight"]],
        seed,
        quick,
        policy=policy,
        make_sampler=None if variant["weight"] == "same engine" else sampler,
        **DIALS,
    )
    rows[-1]["own"] = exam(policy, 4 if quick else 128)
    return [{"own": float("nan")} | row for row in rows]


def end(rows, column, weight, bits=1):
    """A column of each seed at the end; of `success` a mean of four iterations."""
    last = 1 if column == "own" else 2
    return final(rows, column, last=last, weight=weight, bits=bits)


EXPERIMENT = Experiment(
    name="engine-gap",
    chapter=15,
    question={
        "zh": "采样的程序算得不一样，哪一种修正有用？",
        "en": "The sampler computes differently: which correction helps?",
    },
    variants=tuple(VARIANTS),
    run=run,
    columns={
        "weight": "what weighs a token; what is outside a pair of numbers gets 0",
        "bits": "of mantissa that the sampler keeps of every weight",
    }
    | COLUMNS
    | {"own": "success of the trained policy that samples for itself; last row only"},
    settings={"task": "signs", "row": "GRPO without KL, mean over tokens", **DIALS},
    claims={
        "one ratio: the trained policy has a median below 0.7, all others above 0.88": (
            lambda rows: (
                np.median(end(rows, "own", "one ratio")) < 0.7
                and all(
                    np.median(end(rows, "own", weight)) > 0.88
                    for weight in ROWS
                    if weight != "one ratio"
                )
            )
        ),
        "and is behind the weight of the response by 0.04 or more in every seed": (
            lambda rows: (
                (
                    end(rows, "own", "response, at most 2")
                    - end(rows, "own", "one ratio")
                ).min()
                > 0.04
            )
        ),
        "without a correction the engine's success has the best median of the six": (
            lambda rows: all(
                np.median(end(rows, "success", "nothing"))
                > np.median(end(rows, "success", weight)) + 0.01
                for weight in WEIGHED[1:]
            )
        ),
        "and the trained policy the worst": lambda rows: all(
            np.median(end(rows, "own", "nothing"))
            < np.median(end(rows, "own", weight)) - 0.02
            for weight in WEIGHED[1:]
        ),
        "of which 'response, 0 to 3' is ahead in every seed": lambda rows: (
            end(rows, "own", "response, 0 to 3") > end(rows, "own", "nothing")
        ).all(),
        "but for truncated tokens, a corrected policy beats its engine in every seed": (
            lambda rows: all(
                (end(rows, "own", weight) > end(rows, "success", weight)).all()
                for weight in WEIGHED[2:]
            )
        ),
        "the corrections' medians are within 0.04 of each other": lambda rows: (
            np.ptp([np.median(end(rows, "own", weight)) for weight in WEIGHED[1:]])
            < 0.04
        ),
        "with two bits, no correction and truncated tokens end above 0.92": (
            lambda rows: all(
                end(rows, "own", weight, 2).min() > 0.92
                for weight in ("nothing", "token, at most 2")
            )
        ),
        "and one ratio has seeds below 0.6": lambda rows: (
            end(rows, "own", "one ratio", 2).min() < 0.6
        ),
    },
    message={
        "zh": "差距要与更新分开算；合在一个比率里，裁剪会拦住学习。",
        "en": "Weigh the gap apart from the update; in one ratio it stops learning.",
    },
    shows=(("success",),),
)
