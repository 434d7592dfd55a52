"""Chapter 10: dynamic sampling alone, counted in iterations and in tokens sampled.

The arms differ in the filter and in how many rounds of sampling may refill a batch.
"Dropped" filters and refills nothing, so that its steps are longer and that is all.
Each row holds the totals so far, so success can be read against either clock. One arm
refills nothing and is given no prompt that its warm start always or never answers
right, and two come back to a pool of 128 prompts, one of them by what their last
groups were; their success is an exam's, because their prompts are not everybody's.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import nn

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, PLAIN, TASK, learn
from tokencredit import add_rewards
from tokencredit.credit.filters import dynamic_sampling
from tokencredit.world.rollout import rollout
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks.signs import Signs

DIALS = DIALS | {"steps": 40}
BASE = replace(PLAIN, aggregation="token-mean")
FILTERED = replace(BASE, keep=dynamic_sampling, refill=True)
REFILLS = {"none": 1, "up to 3": 3, "up to 12": 12}
DROPPED = "none, dropped"
SCREENED = "none, screened"
POOLS = {"none, pool": False, "none, pool, skipped": True}


@dataclass(frozen=True, kw_only=True)
class Examined(Signs):
    """The task with an exam 考试: how the policy does on prompts of the whole task.

    Its tokens are not counted.

    Args:
        rng: of the exam's prompts.
        dice: of its tokens.
    """

    rng: np.random.Generator
    dice: torch.Generator

    def sample(self, policy: nn.Module, num: int, group_size: int, **dials):
        """A round of the task's prompts, and beside it an exam of all prompts."""
        batch, metrics = super().sample(policy, num, group_size, **dials)
        streams = {"rng": self.rng, "generator": self.dice, "temperature": 1.0}
        _, exam = TASK.sample(policy, num, group_size, **streams)
        return batch, metrics | {"exam": exam["success"]}


@dataclass(frozen=True, kw_only=True)
class Screened(Examined):
    """The task without prompts whose group of eight a screen finds alike 预先筛题.

    Args:
        screen: the policy that answers every prompt beforehand, uncounted.
        seen: prompts before and after the screen, counted here.
    """

    screen: nn.Module
    seen: Counter = field(default_factory=Counter)

    def prompts(self, num: int, rng: np.random.Generator) -> list[str]:
        kept = []
        while len(kept) < num:
            some = super().prompts(num, rng)
            batch = rollout(self.screen, TASK, some, group_size=8, generator=self.dice)
            right = add_rewards(batch, TASK, some).rewards.sum(1).view(num, 8).sum(1)
            mixed = [p for p, n in zip(some, right.tolist(), strict=True) if 0 < n < 8]
            self.seen.update(drawn=num, mixed=len(mixed))
            kept += mixed
        return kept[:num]

    def sample(self, policy: nn.Module, num: int, group_size: int, **dials):
        batch, metrics = super().sample(policy, num, group_size, **dials)
        share = self.seen["mixed"] / self.seen["drawn"]
        passed = torch.full(metrics["success"].shape, share)
        return batch, metrics | {"passed": passed}


@dataclass(frozen=True, kw_only=True)
class Pool(Examined):
    """The task with 128 prompts that come again 反复出现的题.

    Args:
        pool: the prompts.
        skip: before sampling, leave out a prompt whose last group was alike, three
            times in four.
        asked: the prompts of the last round, kept here.
        alike: of each prompt, whether its last group was, kept here.
    """

    pool: list[str]
    skip: bool
    asked: list[str] = field(default_factory=list)
    alike: dict[str, bool] = field(default_factory=dict)

    def prompts(self, num: int, rng: np.random.Generator) -> list[str]:
        self.asked.clear()
        while len(self.asked) < num:
            one = self.pool[rng.integers(len(self.pool))]
            idle = self.skip and self.alike.get(one) and rng.random() < 0.75
            if one not in self.asked and not idle:
                self.asked.append(one)
        return list(self.asked)

    def sample(self, policy: nn.Module, num: int, group_size: int, **dials):
        batch, metrics = super().sample(policy, num, group_size, **dials)
        groups = metrics["reward"].view(num, group_size)
        same = (groups == groups[:, :1]).all(1).tolist()
        self.alike.update(zip(self.asked, same, strict=True))
        return batch, metrics


def run(variant, seed, quick, checkpoint):
    refills, dials = REFILLS.get(variant["refill"], 1), DIALS
    filters = refills > 1 or variant["refill"] == DROPPED
    row = replace(FILTERED, refill=refills > 1) if filters else BASE
    streams = {
        "rng": np.random.default_rng(1000 + seed),
        "dice": torch.Generator().manual_seed(1000 + seed),
    }
    if variant["refill"] == SCREENED:
        dials = dials | {"goal": Screened(screen=warm_start("signs", seed), **streams)}
    if variant["refill"] in POOLS:
        pool = TASK.prompts(128, np.random.default_rng(2000 + seed))
        skip = POOLS[variant["refill"]]
        dials = dials | {"goal": Pool(pool=pool, skip=skip, **streams)}
    rows, _ = learn(row, seed, quick, every=2, **dials | {"refills": refills})
    return rows


def end(rows, column, refill):
    """A column at the end of each seed, a mean of the last ten iterations."""
    return final(rows, column, last=5, refill=refill)


def means(rows, column, refill):
    """A column at every step, the mean of the seeds."""
    return per_seed(rows, column, refill=refill).mean(0)


def at_tokens(rows, column, refill, budget):
    """A column of each seed at the window in which it has sampled `budget` tokens."""
    tokens = per_seed(rows, "tokens", refill=refill)
    numbers = per_seed(rows, column, refill=refill)
    pairs = zip(np.broadcast_to(budget, len(tokens)), tokens, numbers, strict=True)
    return np.array([np.interp(*pair) for pair in pairs])


EXPERIMENT = Experiment(
    name="dynamic-sampling",
    chapter=10,
    question={
        "zh": "动态采样按迭代数和按采样的词元数看，各快多少？",
        "en": "Is dynamic sampling faster by iterations, and by tokens sampled?",
    },
    variants=tuple({"refill": name} for name in (*REFILLS, DROPPED, SCREENED, *POOLS)),
    run=run,
    columns={
        "refill": "rounds of sampling that may fill a batch of mixed groups; dropped: "
        "equal groups are left out and none is sampled instead; screened: "
        "prompts that the warm start always or never answers right are left out; pool: "
        "128 prompts that come again; skipped: mostly not those last found alike",
        "exam": "success on prompts of the whole task, of the screened and pool arms",
        "passed": "share of prompts that passed the screen so far, of that arm",
    }
    | COLUMNS,
    settings={
        "task": "signs",
        "row": "GRPO without KL, mean over tokens",
        "every": 2,
        **DIALS,
    },
    claims={
        "by iterations: the more refills, the higher the end, in every seed": (
            lambda rows: (
                (end(rows, "success", "none") < end(rows, "success", "up to 3")).all()
                and (
                    end(rows, "success", "up to 3") < end(rows, "success", "up to 12")
                ).all()
            )
        ),
        "at 50 thousand tokens refilling is behind by over 0.04 in every seed": (
            lambda rows: all(
                (
                    at_tokens(rows, "success", name, 5e4) + 0.04
                    < at_tokens(rows, "success", "none", 5e4)
                ).all()
                for name in ("up to 3", "up to 12")
            )
        ),
        "at 180 thousand the means of all three lie within 0.015": lambda rows: (
            np.ptp([at_tokens(rows, "success", n, 1.8e5).mean() for n in REFILLS])
            < 0.015
        ),
        "over 0.85 of the prompts pass the screen, yet equal groups grow as without": (
            lambda rows: (
                end(rows, "passed", SCREENED).min() > 0.85
                and (per_seed(rows, "equal_groups", refill=SCREENED)[:, 3] > 0.5).all()
                and end(rows, "equal_groups", SCREENED).min() > 0.75
            )
        ),
        "and on all prompts the screened arm ends within 0.04 of none": lambda rows: (
            abs(end(rows, "exam", SCREENED) - end(rows, "success", "none")).max() < 0.04
        ),
        "dropping without refilling ends within 0.02 of none, in every seed": (
            lambda rows: (
                abs(end(rows, "success", DROPPED) - end(rows, "success", "none")).max()
                < 0.02
            )
        ),
        "skipping what was last alike: under 0.1 fewer equal groups, no more success": (
            lambda rows: (
                np.ptp([means(rows, "equal_groups", n) for n in POOLS], 0).max() < 0.1
                and np.ptp([means(rows, "exam", n) for n in POOLS], 0).max() < 0.02
            )
        ),
        "at the end over three quarters of the groups have equal rewards, unfiltered": (
            lambda rows: end(rows, "equal_groups", "none").min() > 0.75
        ),
        "even twelve batches of prompts do not fill the batch then": lambda rows: (
            end(rows, "kept", "up to 12").max() < 210
        ),
        "refilling up to twelve times lowers the entropy by 0.02, in every seed": (
            lambda rows: (
                end(rows, "entropy", "up to 12") + 0.02 < end(rows, "entropy", "none")
            ).all()
        ),
    },
    message={
        "zh": "补采让每一步学得更多，却没有让每个词元学得更多。",
        "en": "Refilling teaches more per step, and not more per token sampled.",
    },
    shows=(("success", "equal_groups"),),
)
