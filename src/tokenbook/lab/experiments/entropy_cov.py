"""Chapter 16: Clip-Cov and KL-Cov where the entropy falls, and a random control.

The runs are those of `entropy-collapse` with four passes and no bonus. A token's term
is its log-probability minus the mean of its mini-batch, times its advantage minus the
mean: large where a step lowers the entropy most. Clip-Cov gives the tokens with a term
in [1, 5] no gradient (the paper draws a few of them; here there are few). KL-Cov adds
the distance to the sampler for the fiftieth of the tokens with the largest terms, on
top of the clip; verl's has no clip and is in `kl-cov`, which the chapter reads. At
random: as many tokens as Clip-Cov picks have no gradient, drawn from all. One token: a
single one of Clip-Cov's, which is about the share of the paper.
"""

from dataclasses import replace

import torch

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._signs import COLUMNS, PLAIN, learn
from tokenbook.lab.experiments.entropy_collapse import DIALS
from tokencredit.weight.losses import ppo_clip_loss

LOW, HIGH, SHARE, COEF = 1.0, 5.0, 0.02, 1.0
DIALS = DIALS | {"epochs": 4}


def terms(log_probs, advantages, mask):
    """The term of each token, and -inf where no token was chosen."""
    said, gained = log_probs.detach()[mask], advantages[mask]
    product = (said - said.mean()) * (gained - gained.mean())
    return torch.full_like(log_probs, -torch.inf).masked_scatter(mask, product)


def clip_cov(log_probs, log_ratio, advantages, mask):
    """GRPO's loss, without a gradient where the term is in [1, 5]."""
    term = terms(log_probs, advantages, mask)
    loss = ppo_clip_loss(log_probs, log_ratio, advantages, clip_low=0.2, clip_high=0.2)
    return torch.where((term > LOW) & (term < HIGH), loss.detach(), loss)


def one_token(log_probs, log_ratio, advantages, mask):
    """As `clip_cov`, but of those one token, drawn: the paper's 2e-4, rounded up."""
    term = terms(log_probs, advantages, mask)
    places = ((term > LOW) & (term < HIGH)).flatten().nonzero()[:, 0]
    dice = torch.Generator().manual_seed(len(places))
    drawn = torch.zeros(mask.numel(), dtype=torch.bool)
    drawn[places[torch.randperm(len(places), generator=dice)[:1]]] = True
    loss = ppo_clip_loss(log_probs, log_ratio, advantages, clip_low=0.2, clip_high=0.2)
    return torch.where(drawn.view(mask.shape), loss.detach(), loss)


def at_random(log_probs, log_ratio, advantages, mask):
    """As `clip_cov`, but which tokens is drawn."""
    term = terms(log_probs, advantages, mask)
    many = int(((term > LOW) & (term < HIGH)).sum())
    places = mask.flatten().nonzero()[:, 0]
    dice = torch.Generator().manual_seed(len(places))
    drawn = torch.zeros(mask.numel(), dtype=torch.bool)
    drawn[places[torch.randperm(len(places), generator=dice)[:many]]] = True
    loss = ppo_clip_loss(log_probs, log_ratio, advantages, clip_low=0.2, clip_high=0.2)
    return torch.where(drawn.view(mask.shape), loss.detach(), loss)


def kl_cov(log_probs, log_ratio, advantages, mask):
    """GRPO's loss, and |log ratio| where the term is among the largest."""
    term = terms(log_probs, advantages, mask)
    least = term[mask].quantile(1 - SHARE)
    loss = ppo_clip_loss(log_probs, log_ratio, advantages, clip_low=0.2, clip_high=0.2)
    return loss + torch.where(term > least, COEF * log_ratio.abs(), 0.0)


ARMS = {
    "Clip-Cov": clip_cov,
    "at random": at_random,
    "KL-Cov": kl_cov,
    "one token": one_token,
}


def run(variant, seed, quick, checkpoint):
    row = replace(PLAIN, loss=ARMS[variant["arm"]])
    return learn(row, seed, quick, moments=(), **DIALS)[0]


def end(rows, column, arm):
    """A column at the end of each seed, a mean of the last four rounds."""
    return final(rows, column, last=2, arm=arm)


EXPERIMENT = Experiment(
    name="entropy-cov",
    chapter=16,
    question={
        "zh": "Clip-Cov 与 KL-Cov 留得住熵吗？随机挑词元呢？",
        "en": "Do Clip-Cov and KL-Cov keep the entropy? Do tokens drawn at random?",
    },
    variants=tuple({"arm": arm} for arm in ARMS),
    run=run,
    columns={"arm": "which tokens lose their gradient, or pay for the distance"}
    | COLUMNS,
    settings={
        "task": "signs",
        "row": "GRPO without KL",
        "every": 2,
        "range": [LOW, HIGH],
        "share": SHARE,
        "coef": COEF,
        **DIALS,
    },
    claims={
        "Clip-Cov ends with over 0.13 entropy, at random every seed is below 0.11": (
            lambda rows: (
                end(rows, "entropy", "Clip-Cov").min() > 0.13
                and end(rows, "entropy", "at random").max() < 0.11
            )
        ),
        "and with over 3.1 first tries, at random below 2.6": lambda rows: (
            end(rows, "distinct", "Clip-Cov").min() > 3.1
            and end(rows, "distinct", "at random").max() < 2.6
        ),
        "but with less success in four seeds of five": lambda rows: (
            (end(rows, "success", "Clip-Cov") < end(rows, "success", "at random")).sum()
            == 4
        ),
        "KL-Cov ends with over 0.11 entropy in every seed": lambda rows: (
            end(rows, "entropy", "KL-Cov").min() > 0.11
        ),
        "with one token a mini-batch, entropy ends below 0.12, first tries below 2.4": (
            lambda rows: (
                end(rows, "entropy", "one token").max() < 0.12
                and end(rows, "distinct", "one token").max() < 2.4
            )
        ),
    },
    message={
        "zh": "Clip-Cov 挑的百分之一二，留住了熵和多样性；随机挑的留不住。",
        "en": "Clip-Cov's one or two in a hundred keep entropy and variety.",
    },
    shows=(("entropy", "distinct"), ("success",)),
)
