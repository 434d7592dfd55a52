"""Chapter 15: three kinds of sampler that is not the policy, and no clip anywhere.

"rounded" keeps one bit of every weight, as in engine-gap. "stale" has the weights of up
to eight rounds ago, as in stale-sampler. "biased" adds the same offsets to the logits
in every round, so that a drift towards it never ends. The loss is -w A log pi, and the
arms differ in w alone; the ratio in it is that of the policy being trained to the
sampler, whose log-probs are `old_log_probs` here. "centred" has w = 1 and subtracts, at
every place, the sampler's expectation of the gradient of log pi (2609.20807). IPO is
the loss of prime-rl, TOPR that of 2503.14286. No arm has a clip of the update.
"""

import copy
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import nn

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, PLAIN, learn
from tokenbook.lab.experiments.engine_gap import exam, inside, round_weights
from tokencredit.credit.advantages import group_relative
from tokencredit.world.starts import warm_start

ROUNDS = {"same": 12, "rounded": 12, "stale": 16, "biased": 12}  # of learning
OFFSET = 2.0  # standard deviation of the offsets of "biased", in nats
FREE = replace(
    PLAIN,
    advantage=partial(group_relative, scale=False),
    aggregation="token-mean",
)


def biased(policy):
    """A copy of a policy whose logits have offsets that are always the same."""
    other = copy.deepcopy(policy)
    width, size = other.head.in_features, other.head.out_features
    other.head = nn.Linear(width, size)
    other.head.load_state_dict(
        {
            "weight": policy.head.weight,
            "bias": OFFSET
            * torch.randn(size, generator=torch.Generator().manual_seed(0)),
        }
    )
    return other


WORLDS = {
    "same": lambda policy: policy,
    "rounded": partial(round_weights, bits=1),
    "stale": lambda policy: policy,
    "biased": biased,
}
LAG = {"stale": 8}


class Sampler:
    """The last sampler, kept so that a loss can use all its probabilities."""

    def __init__(self, make):
        self.make = make

    def __call__(self, policy):
        self.policy = self.make(policy)
        return self.policy


def token_weights(how, log_probs, gap, advantages, mask):
    """The weight of every token; gap is log pi - log mu."""
    token, total = gap.exp(), (gap * mask).sum(1, keepdim=True)
    mean = (total / mask.sum(1, keepdim=True)).exp()
    moved = log_probs.exp() - (log_probs - gap).exp()
    return {
        "nothing": torch.ones_like(gap),
        "centred": torch.ones_like(gap),
        "TIS": token.clamp(max=2),
        "IcePop": token * inside(token, 0.5, 5),
        "mean mask": token * inside(mean, 0.9, 1.1),
        "TOPR": total.exp().clamp(max=1).where(advantages < 0, torch.ones_like(gap)),
        "IPO": token * inside(moved, -0.3, 0.3),
    }[how]


def expected(policy, sampler, tokens, mask):
    """At every live token, the sampler's mean of log pi over the vocabulary."""
    chosen = mask[:, 1:]
    log_pi = policy(tokens[:, :-1], only=chosen)[0].log_softmax(-1)
    with torch.no_grad():
        mu = sampler(tokens[:, :-1], only=chosen)[0].softmax(-1)
    mean = (mu * log_pi).sum(-1)
    return mean.new_zeros(mask.shape).masked_scatter(mask, mean)


def weighed_loss(
    log_probs, old_log_probs, advantages, mask, tokens, *, how, policy, sampler
):
    """-w A log pi; "centred" subtracts the sampler's expectation of log pi."""
    gap = torch.where(mask, (log_probs - old_log_probs).detach(), 0)
    score = log_probs
    if how == "centred":
        score = score - expected(policy, sampler.policy, tokens, mask)
    weight = token_weights(how, log_probs.detach(), gap, advantages, mask)
    return -weight * advantages * score


WEIGHTS = ("nothing", "centred", "TIS", "IcePop", "mean mask", "TOPR", "IPO")
VARIANTS = [{"sampler": "same", "weight": "nothing"}] + [
    {"sampler": world, "weight": how} for world in list(WORLDS)[1:] for how in WEIGHTS
]


def run(variant, seed, quick, checkpoint):
    world, policy = variant["sampler"], warm_start("signs", seed=seed)
    sampler = Sampler(WORLDS[world])
    loss = partial(weighed_loss, how=variant["weight"], policy=policy, sampler=sampler)
    rows, _ = learn(
        replace(FREE, loss=loss),
        seed,
        quick,
        policy=policy,
        make_sampler=sampler,
        **DIALS | {"steps": ROUNDS[world], "refresh": LAG.get(world, 1)},
    )
    rows[-1]["own"] = exam(policy, 4 if quick else 128)
    return [{"own": float("nan")} | row for row in rows]


GAPS = [world for world in WORLDS if world != "same"]


def own(rows, sampler, weight):
    """Success of each seed's trained policy when it samples for itself."""
    return final(rows, "own", last=1, sampler=sampler, weight=weight)


def curve(rows, sampler, weight):
    """Success of the sampled responses, per seed and row."""
    return per_seed(rows, "success", sampler=sampler, weight=weight)


def worst(rows, weight):
    """The lowest success of a loss in any seed of any gap."""
    return min(own(rows, gap, weight).min() for gap in GAPS)


def ahead(rows, sampler):
    """Success of each seed with "centred" minus that without a weight."""
    return own(rows, sampler, "centred") - own(rows, sampler, "nothing")


EXPERIMENT = Experiment(
    name="three-gaps",
    chapter=15,
    question={
        "zh": "不用裁剪，采样的不是策略本身，损失怎样写才学得好？",
        "en": "No clip, and a sampler that is not the policy: which loss learns?",
    },
    variants=tuple(VARIANTS),
    run=run,
    columns={
        "sampler": "how it differs from the policy",
        "weight": "of a token; what is outside a pair of numbers gets 0",
    }
    | COLUMNS
    | {"own": "success of the trained policy that samples for itself; last row only"},
    settings={
        "task": "signs",
        "row": "group mean without std, no clip, no KL, mean over tokens",
        "offset": OFFSET,
        **DIALS | {"steps": ROUNDS, "refresh": LAG},
    },
    claims={
        "no gap: every seed above 0.92": lambda rows: (
            own(rows, "same", "nothing").min() > 0.92
        ),
        "TIS is above 0.83 in every seed of every gap, each other loss below 0.8": (
            lambda rows: all(
                worst(rows, how) > 0.83 if how == "TIS" else worst(rows, how) < 0.8
                for how in WEIGHTS
            )
        ),
        "and ahead of no weight at all in every seed of every gap": lambda rows: all(
            (own(rows, gap, "TIS") > own(rows, gap, "nothing")).all() for gap in GAPS
        ),
        "rounded: TOPR is the last in every seed, by 0.02 or more": lambda rows: all(
            (own(rows, "rounded", "TOPR") < own(rows, "rounded", how) - 0.02).all()
            for how in WEIGHTS
            if how != "TOPR"
        ),
        "stale: TOPR is above 0.92 in every seed, each other loss below it in one": (
            lambda rows: all(
                (own(rows, "stale", how).min() > 0.92) == (how == "TOPR")
                for how in WEIGHTS
            )
        ),
        "stale: whatever looks at a ratio beats no weight by 0.08 in every seed": (
            lambda rows: all(
                (own(rows, "stale", how) > own(rows, "stale", "nothing") + 0.08).all()
                for how in WEIGHTS[2:]
            )
        ),
        "centred: ahead of no weight in four seeds of rounded, and level in one": (
            lambda rows: (
                sorted(ahead(rows, "rounded") > 0.007) == [False] + [True] * 4
                and ahead(rows, "rounded").min() > -0.01
            )
        ),
        "in stale and biased it is behind in some seeds and ahead in others": (
            lambda rows: all(
                0 < (ahead(rows, gap) > 0).sum() < 5 for gap in ("stale", "biased")
            )
        ),
        "biased: over all of training it is behind by 0.06 in every seed": (
            lambda rows: (
                curve(rows, "biased", "centred").mean(1)
                < curve(rows, "biased", "nothing").mean(1) - 0.06
            ).all()
        ),
        "biased: no mask's sampler gets to a median of 0.5, TIS's to over 0.85": (
            lambda rows: (
                all(
                    np.median(curve(rows, "biased", how), 0).max() < 0.5
                    for how in ("IcePop", "mean mask", "IPO")
                )
                and np.median(curve(rows, "biased", "TIS"), 0)[-1] > 0.85
            )
        ),
    },
    message={
        "zh": "没有一种损失处处最好；截断的比率是唯一处处不差的。",
        "en": "No loss is best at every gap; a truncated ratio is never bad.",
    },
    shows=(("success",),),
)
