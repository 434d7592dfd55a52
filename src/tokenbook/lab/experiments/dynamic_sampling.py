"""Chapter 10: dynamic sampling alone, counted in iterations and in tokens sampled.

The arms differ in the filter and in how many rounds of sampling may refill a batch.
Each row holds the totals so far, so success can be read against either clock. One arm
refills nothing and gets no prompt that its warm start always or never answers right;
its success is measured on other prompts, because its own are selected.
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
SCREENED = "none, screened"


@dataclass(frozen=True, kw_only=True)
class Screened(Signs):
    """The task without prompts whose screened group has equal rewards 预先筛题.

    Its rounds also hold how the policy does on prompts of the whole task, as `exam`.
    The tokens of the screen and of the exam are not counted.

    Args:
        screen: the policy that answers every prompt beforehand.
        rng: of the exam's prompts.
        dice: of the tokens of the screen and of the exam.
        seen: prompts before and after the screen, counted here.
    """

    screen: nn.Module
    rng: np.random.Generator
    dice: torch.Generator
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
        """A round of screened prompts, and beside it an exam of all prompts."""
        batch, metrics = super().sample(policy, num, group_size, **dials)
        streams = {"rng": self.rng, "generator": self.dice, "temperature": 1.0}
        _, exam = TASK.sample(policy, num, group_size, **streams)
        share = self.seen["mixed"] / self.seen["drawn"]
        passed = torch.full(metrics["success"].shape, share)
        return batch, metrics | {"exam": exam["success"], "passed": passed}


def run(variant, seed, quick, checkpoint):
    refills, dials = REFILLS.get(variant["refill"], 1), DIALS
    row = FILTERED if refills > 1 else BASE
    if variant["refill"] == SCREENED:
        dials = dials | {
            "goal": Screened(
                screen=warm_start("signs", seed),
                rng=np.random.default_rng(1000 + seed),
                dice=torch.Generator().manual_seed(1000 + seed),
            )
        }
    rows, _ = learn(row, seed, quick, every=2, **dials | {"refills": refills})
    return rows


def end(rows, column, refill):
    """A column at the end of each seed, a mean of the last ten iterations."""
    return final(rows, column, last=5, refill=refill)


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
    variants=tuple({"refill": name} for name in (*REFILLS, SCREENED)),
    run=run,
    columns={
        "refill": "rounds of sampling that may fill a batch of mixed groups; screened: "
        "prompts that the warm start always or never answers right are left out",
        "exam": "success on prompts of the whole task, of the screened arm",
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
