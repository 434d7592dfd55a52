"""Chapter 12: the token `$` after an incorrect try, at every update, and its pushes.

As in `stale-sampler`, and the sampler stands still for all eight rounds. A probe that
it wrote before them has 32 prompts; its tokens `$` right after a ✗, with a negative
advantage, are measured after every update. A push is the change of their mean
log-probability by a small step along the gradient of a part of the objective (without
Adam): that of these tokens themselves, of the other tokens with a negative advantage,
of those of them that stand right after a ✗ and try again, and of the positive tokens.
The same pushes are measured on the one token `$` that the chapter draws.
"""

import copy
import math
from itertools import pairwise

import numpy as np
import torch

from tokenbook.lab import Experiment, per_seed
from tokenbook.lab.experiments._signs import DIALS, SMALL, TASK
from tokenbook.lab.experiments.stale_sampler import ROWS
from tokencredit import add_rewards
from tokencredit.training import Dials, assign_credit, forward, update
from tokencredit.training.collect import collect
from tokencredit.training.dials import OPTIMIZERS
from tokencredit.training.loop import mini_batches
from tokencredit.world.rollout import rollout, texts
from tokencredit.world.starts import warm_start

DIALS = DIALS | {"steps": 8}
CHAPTER = "6□3□9=12?"  # the prompt of the chapter, 16 responses
PARTS = ("own", "negative", "again", "positive")
ON_ONE = tuple(f"one_{part}" for part in PARTS)
PUSHED = (2, 4, 6, 8, 12, 16)  # updates after which the pushes of PPO are measured


def written(sampler, prompts, seed, size=8):
    """Responses of the sampler with advantages."""
    dice = torch.Generator().manual_seed(seed)
    batch = rollout(sampler, TASK, prompts, group_size=size, generator=dice)
    return assign_credit(ROWS["PPO"], add_rewards(batch, TASK, prompts))


class Probe:
    """The tokens that are measured, and the parts of the objective."""

    def __init__(self, batch):
        self.batch, self.negative = batch, batch.mask & (batch.advantages < 0)
        ends, again = (torch.zeros_like(batch.mask) for _ in "ab")
        said = texts(batch, TASK.vocabulary)
        for row, stop in enumerate(batch.lengths().tolist()):
            before = stop - len(said[row])  # tokens of the prompt
            for place, (last, token) in enumerate(pairwise(said[row]), before + 1):
                if last == "✗":
                    (ends if token == "$" else again)[row, place] = True
        self.ends, self.again = ends & self.negative, again & self.negative

    def ratios(self, policy):
        with torch.no_grad():
            log_probs = forward(policy, self.batch)[0]
        return (log_probs - self.batch.old_log_probs).exp()[self.ends]

    def pushes(self, policy, one):
        """The push of every part of PPO's objective, in thousandths; also on `one`."""
        log_probs = forward(policy, self.batch)[0]
        drawn = forward(policy, one.batch)[0][one.ends][0]
        rho, A = (log_probs - self.batch.old_log_probs).exp(), self.batch.advantages
        weights = [w for w in policy.parameters() if w.requires_grad]
        slopes = {"retain_graph": True, "allow_unused": True}
        goals = {
            before: torch.autograd.grad(what, weights, **slopes)
            for before, what in (("", log_probs[self.ends].mean()), ("one_", drawn))
        }
        live = self.batch.mask & ~((A > 0) & (rho > 1.2)) & ~((A < 0) & (rho < 0.8))
        places = {
            "own": self.ends,
            "negative": self.negative & ~self.ends,
            "again": self.again,
            "positive": self.batch.mask & (A > 0),
        }
        seen = {}
        for name, place in places.items():
            part = (rho * A)[live & place].sum() / self.batch.mask.sum()
            slope = torch.autograd.grad(part, weights, **slopes)
            for before, goal in goals.items():
                pairs = zip(goal, slope, strict=True)
                push = sum((a * b).sum().item() for a, b in pairs if a is not None)
                seen[before + name] = 1000 * push
        return seen


def run(variant, seed, quick, checkpoint):
    algorithm, policy = ROWS[variant["loss"]], warm_start("signs", seed=seed)
    sampler = copy.deepcopy(policy)
    dials = Dials(**SMALL if quick else DIALS)
    probe = Probe(written(sampler, TASK.prompts(32, np.random.default_rng(7)), 7))
    one = Probe(written(sampler, [CHAPTER], 1, 16))
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    optimizer = OPTIMIZERS[dials.optimizer](policy.parameters(), lr=dials.lr)
    rows = []

    def note():
        ratios, step = probe.ratios(policy), len(rows)
        row = {"step": step, "ratio": ratios.mean().item()}
        row |= {"outside": (ratios < 0.8).float().mean().item()}
        row |= {"one": one.ratios(policy)[0].item()} | dict.fromkeys(
            PARTS + ON_ONE, math.nan
        )
        if step in PUSHED and variant["loss"] == "PPO":
            row |= probe.pushes(policy, one)
        rows.append(row)

    note()
    for _ in range(dials.steps):
        batch, _ = collect(sampler, TASK, algorithm, dials, rng, generator)
        for part in mini_batches(assign_credit(algorithm, batch), dials, generator):
            update(policy, optimizer, algorithm, part, dials)
            note()
    return rows


EXPERIMENT = Experiment(
    name="stuck-token",
    chapter=12,
    question={
        "zh": "采样器不动时，放弃的 `$` 出了裁剪范围以后怎样，是谁推动它？",
        "en": "The sampler stands still: where does `$` go once clipped, and why?",
    },
    variants=({"loss": "PPO"}, {"loss": "no clip"}),
    run=run,
    columns={
        "loss": "the weight of a token",
        "step": "updates so far",
        "ratio": "of `$` after ✗ to the sampler, mean over the probe",
        "outside": "share of them below 0.8",
        "one": "ratio of the first such token in 16 responses to the chapter's prompt",
        "own": "push by these tokens themselves, in thousandths; nan if not measured",
        "negative": "by all other tokens with a negative advantage",
        "again": "by those of them right after a ✗, that try again",
        "positive": "by the tokens with a positive advantage",
    }
    | {name: f"the same push as {name[4:]}, on that one token" for name in ON_ONE},
    settings={"task": "signs", "prompts of the probe": 32, **DIALS},
    claims={
        "PPO: falls below 0.7 by update 4, and is later up by 0.03 or more": (
            lambda rows: (
                (path(rows)[:, :5].min(1) < 0.7).all()
                and (path(rows)[:, 5:].max(1) > path(rows)[:, :5].min(1) + 0.03).all()
            )
        ),
        "PPO never gets below 0.3 in any seed, no clip below 0.12 by update 6": (
            lambda rows: (
                path(rows).min() > 0.3 and path(rows, "no clip")[:, 6].max() < 0.12
            )
        ),
    },
    message={
        "zh": "出了界，自己的推动没有了，别的词元还会推它，先抬高，后压低。",
        "en": "Out of range its own push is off; other tokens move it, up at first.",
    },
    shows=(("ratio", "outside"),),
)


def path(rows, loss="PPO", column="ratio"):
    """A column of each seed, update by update."""
    return per_seed(rows, column, loss=loss)
