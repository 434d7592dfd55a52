"""Chapter 16: KL-Cov as verl has it, in the place of the clip.

The counterpart of Clip-Cov in `entropy-cov`. No ratio is clipped; the fiftieth of the
tokens with the largest terms pays the distance to the sampler. (The arm `KL-Cov` of
`entropy-cov` adds the same distance to a loss that clips as well.)
"""

from dataclasses import replace

import torch

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, PLAIN, learn
from tokenbook.lab.experiments.entropy_cov import COEF, DIALS, SHARE, terms


def kl_cov(log_probs, log_ratio, advantages, mask):
    """The ratio times the advantage, and |log ratio| where the term is largest."""
    term = terms(log_probs, advantages, mask)
    many = max(1, int(SHARE * int(mask.sum())))
    least = term[mask].topk(many).values[-1]
    loss = -advantages * log_ratio.exp()
    return loss + torch.where(term >= least, COEF * log_ratio.abs(), 0.0)


def run(variant, seed, quick, checkpoint):
    row = replace(PLAIN, loss=kl_cov)
    return learn(row, seed, quick, moments=(), **DIALS)[0]


def end(rows, column):
    """A column at the end of each seed, a mean of the last four iterations."""
    return final(rows, column, last=2)


EXPERIMENT = Experiment(
    name="kl-cov",
    chapter=16,
    question={
        "zh": "KL-Cov 用惩罚代替裁剪，留得住熵吗？",
        "en": "KL-Cov has a penalty in place of the clip: does it keep the entropy?",
    },
    variants=({"arm": "KL-Cov"},),
    run=run,
    columns={"arm": "KL-Cov: no clip, and some tokens pay for the distance"} | COLUMNS,
    settings={
        "task": "signs",
        "row": "GRPO without KL",
        "every": 2,
        "share": SHARE,
        "coef": COEF,
        **DIALS,
    },
    claims={
        "at iterations 7 and 8 every seed has a success above 0.75": lambda rows: (
            per_seed(rows, "success")[:, 3].min() > 0.75
        ),
        "three seeds of five then lose over 0.1 again": lambda rows: (
            (per_seed(rows, "success").max(1) - end(rows, "success") > 0.1).sum() == 3
        ),
    },
)
