"""Chapter 11: the same responses used four times, behind nine gates.

All arms share GRPO's advantages, the mean per response and no KL, so that only the
weight of a token differs. Two mini-batches and four passes make eight updates on each
iteration's responses; the ratio is 1 at the first of them only. Two arms take GRPO's
gate apart: it is open on the token after a cross, where a response tries again or gives
up, or there alone it is shut.
"""

from dataclasses import replace
from functools import partial

import torch

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, PLAIN, TASK, learn
from tokenbook.lab.experiments.signs_epochs import ratio_loss
from tokencredit.algorithms import ALGORITHMS
from tokencredit.weight.losses import ppo_clip_loss

DIALS = DIALS | {"steps": 16, "epochs": 4}
CROSS = TASK.vocabulary.index("✗")
OPEN, ONLY = "GRPO, open after ✗", "GRPO, only after ✗"


def open_after_cross(log_probs, log_ratio, advantages, tokens):
    """GRPO's loss, without the clip on the token after a cross."""
    args, after = (log_probs, log_ratio, advantages), tokens.roll(1, 1) == CROSS
    return torch.where(after, ratio_loss(*args), ppo_clip_loss(*args))


def only_after_cross(log_probs, log_ratio, advantages, tokens):
    """GRPO's loss, with the clip on the token after a cross and nowhere else."""
    args, after = (log_probs, log_ratio, advantages), tokens.roll(1, 1) == CROSS
    return torch.where(after, ppo_clip_loss(*args), ratio_loss(*args))


GSPO, PER_RESPONSE = ALGORITHMS["GSPO"], {"aggregation": PLAIN.aggregation}
ROWS = {
    "no gate": replace(PLAIN, loss=ratio_loss),
    "GRPO": PLAIN,
    "GSPO": GSPO,
    "GSPO, 0.03": replace(
        GSPO, loss=partial(ppo_clip_loss, clip_low=0.03, clip_high=0.04)
    ),
    "CISPO": replace(ALGORITHMS["CISPO"], **PER_RESPONSE),
    "SAPO": ALGORITHMS["SAPO"],
    "DPPO": replace(ALGORITHMS["DPPO"], **PER_RESPONSE),
    OPEN: replace(PLAIN, loss=open_after_cross),
    ONLY: replace(PLAIN, loss=only_after_cross),
}


def run(variant, seed, quick, checkpoint):
    return learn(ROWS[variant["gate"]], seed, quick, **DIALS)


def end(rows, gate, column="success"):
    """A column of each seed, a mean of the last six iterations."""
    return final(rows, column, last=3, gate=gate)


def start(rows, gate, column="success"):
    """A column of each seed, a mean of the first four iterations."""
    return per_seed(rows, column, gate=gate)[:, :2].mean(1)


EXPERIMENT = Experiment(
    name="reuse-ratio",
    chapter=11,
    question={
        "zh": "同一批回答用四遍，九种门控各放过多少词元，学得怎样？",
        "en": "Responses used four times: what do nine gates let through, and learn?",
    },
    variants=tuple({"gate": name} for name in ROWS),
    run=run,
    columns={"gate": "what limits the weight of a token"} | COLUMNS,
    settings={"task": "signs", "every": 2, **DIALS},
    claims={
        "at the last update GSPO stops over six tokens in ten, GRPO under one in ten": (
            lambda rows: (
                end(rows, "GSPO", "no_gradient").min() > 0.6
                and end(rows, "GRPO", "no_gradient").max() < 0.1
            )
        ),
        "yet GSPO is ahead of GRPO over the first four iterations, in every seed": (
            lambda rows: (start(rows, "GSPO") > start(rows, "GRPO") + 0.05).all()
        ),
        "and ends within 0.03 of it, or above": lambda rows: (
            end(rows, "GSPO") > end(rows, "GRPO") - 0.03
        ).all(),
        "CISPO stops no token, SAPO one in a thousand; both begin ahead of GRPO": (
            lambda rows: (
                end(rows, "CISPO", "no_gradient").max() == 0
                and end(rows, "SAPO", "no_gradient").max() < 0.001
                and (start(rows, "CISPO") > start(rows, "GRPO")).all()
                and (start(rows, "SAPO") > start(rows, "GRPO")).all()
            )
        ),
        "without a gate and under CISPO, every seed ends below GRPO": lambda rows: all(
            (end(rows, gate) < end(rows, "GRPO")).all() for gate in ("no gate", "CISPO")
        ),
        "open after ✗, GRPO begins ahead of GRPO in every seed and ends no lower": (
            lambda rows: (
                (start(rows, OPEN) > start(rows, "GRPO")).all()
                and (end(rows, OPEN) > end(rows, "GRPO") - 0.02).all()
            )
        ),
        "shut only there, every seed begins behind no gate and ends below GRPO": (
            lambda rows: (
                (start(rows, ONLY) < start(rows, "no gate")).all()
                and (end(rows, ONLY) < end(rows, "GRPO") - 0.02).all()
            )
        ),
        "SAPO and DPPO, too, begin ahead of GRPO in every seed": lambda rows: all(
            (start(rows, gate) > start(rows, "GRPO")).all() for gate in ("SAPO", "DPPO")
        ),
        "and they end further from the sampler in every seed": lambda rows: all(
            (end(rows, gate, "kl") > end(rows, "GRPO", "kl")).all()
            for gate in ("no gate", "CISPO")
        ),
    },
    speaks=True,
    message={
        "zh": "同一批回答用四遍：序列门控最后关掉了大部分词元，照样学得会。",
        "en": "Used four times: a sequence gate soon stops most tokens, and learns.",
    },
    shows=(("success", "no_gradient"),),
)
