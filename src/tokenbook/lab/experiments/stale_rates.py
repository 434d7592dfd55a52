"""Chapter 12: the losses of `staleness`, at a smaller and a larger learning rate.

In `staleness` all losses share one rate, and a loss that stops most tokens moves less
than the others. Here each runs at three rates, at an interval of 32: all learning is
from responses of the warm start, which all rows but the last one measure. So the
trained policy is evaluated before every round; those responses are not trained on.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, TASK, groups_of, inside, learn
from tokenbook.lab.experiments.stale_sampler import ROWS
from tokenbook.lab.experiments.staleness import DIALS, LOSSES
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks.signs import MEASURES, Signs

LOW, _, HIGH = RATES = (1.5e-4, 5e-4, 1.5e-3)
DIALS = {name: x for name, x in DIALS.items() if name != "lr"} | {"refresh": 32}


@dataclass(frozen=True, kw_only=True)
class Examined(Signs):
    """The task, and before every round an exam of the policy that is trained.

    Args:
        trained: that policy, while an older one samples.
        rng: of the exam's prompts.
        dice: of its tokens.
    """

    trained: nn.Module
    rng: np.random.Generator
    dice: torch.Generator

    def sample(self, policy, num, group_size, **dials):
        batch, metrics = super().sample(policy, num, group_size, **dials)
        streams = {"rng": self.rng, "generator": self.dice, "temperature": 1.0}
        wrote, seen = TASK.sample(
            self.trained, num, group_size, measure=MEASURES, **streams
        )
        seen |= groups_of(wrote, seen["success"], TASK)
        names = {"exam": "success", "exam_faithful": "faithful"}
        names["exam_distinct"] = "distinct"
        return batch, metrics | {name: seen[of] for name, of in names.items()}


def run(variant, seed, quick, checkpoint):
    policy = warm_start("signs", seed=seed)
    goal = Examined(
        trained=policy,
        rng=np.random.default_rng(1000 + seed),
        dice=torch.Generator().manual_seed(1000 + seed),
    )
    row, dials = ROWS[variant["loss"]], DIALS | {"lr": variant["lr"]}
    return learn(row, seed, quick, goal=goal, policy=policy, **dials)[0]


def end(rows, loss, lr, column="success"):
    """A column of each seed after 32 rounds, a mean of two."""
    return final(rows, column, loss=loss, lr=lr)


def best(rows, loss):
    """The success of each seed at the end, at the rate with the highest median."""
    return max((end(rows, loss, lr) for lr in RATES), key=np.median)


def curve(rows, loss, lr, column="exam"):
    """The exam of each seed, a mean of two, before rounds 1, 3, 5 to 31."""
    return per_seed(rows, column, loss=loss, lr=lr)[:, :-1]


EXPERIMENT = Experiment(
    name="stale-rates",
    chapter=12,
    question={
        "zh": "数据一直是旧的，换一个学习率，各种损失的名次还一样吗？",
        "en": "All data are old: do the losses rank alike at other learning rates?",
    },
    variants=tuple({"loss": loss, "lr": lr} for lr in RATES for loss in LOSSES),
    run=run,
    columns={
        "loss": "the weight of a token, as in stale-sampler",
        "lr": "learning rate of Adam",
    }
    | COLUMNS
    | {
        "exam": "success of the policy that is trained",
        "exam_faithful": "share of its responses that are right and wholly true",
        "exam_distinct": "different first tries among its responses to one prompt",
    },
    settings={"task": "signs", "every": 2, **DIALS},
    claims={
        "at a third of the rate GSPO ends below no clip and decoupled by 0.2": (
            lambda rows: all(
                (end(rows, "GSPO", LOW) < end(rows, loss, LOW) - 0.2).all()
                for loss in ("no clip", "decoupled")
            )
        ),
        "there both end higher than at 5e-4 in every seed": lambda rows: all(
            (end(rows, loss, LOW) > end(rows, loss, 5e-4)).all()
            for loss in ("no clip", "decoupled")
        ),
        "at three times the rate both end below 0.42, GSPO above 0.75": lambda rows: (
            all(end(rows, x, HIGH).max() < 0.42 for x in ("no clip", "decoupled"))
            and end(rows, "GSPO", HIGH).min() > 0.75
        ),
        "PPO ends at 0.23 to 0.5 at every rate": lambda rows: all(
            inside(end(rows, "PPO", lr), 0.23, 0.501) for lr in RATES
        ),
        "at the best rate of each, GSPO ends above the others in every seed": (
            lambda rows: all(
                (best(rows, "GSPO") > best(rows, loss)).all()
                for loss in LOSSES
                if loss != "GSPO"
            )
        ),
        "no clip at 5e-4 gets above 0.82 in every seed, and ends below 0.77": (
            lambda rows: (
                curve(rows, "no clip", 5e-4).max(1).min() > 0.82
                and end(rows, "no clip", 5e-4).max() < 0.77
            )
        ),
        "GSPO keeps over 3.4 first tries at every rate, no clip below 2.8": (
            lambda rows: (
                min(end(rows, "GSPO", lr, "distinct").min() for lr in RATES) > 3.4
                and end(rows, "no clip", LOW, "distinct").max() < 2.8
            )
        ),
    },
    message={
        "zh": "每种损失有自己的学习率，名次随它变。",
        "en": "Each loss has a rate of its own, and the ranks change with it.",
    },
    shows=(("exam", "exam_distinct"),),
)
