"""Chapter 12: drop-or-wait when an update takes time, without a limit or waiting.

The engine writes on with the old weights while an update runs. Without a limit it
starts no more groups while two batches of ready ones wait, so the queue stays finite.
"""

import heapq
import time
from dataclasses import dataclass

import numpy as np
import torch

from tokenbook.lab import Experiment
from tokenbook.lab.experiments._signs import COLUMNS, TASK
from tokenbook.lab.experiments.drop_or_wait import DIALS, EVERY, ROW, Engine, at
from tokenbook.lab.experiments.stale_sampler import ROWS
from tokencredit.batch import join
from tokencredit.training import Dials, assign_credit, update
from tokencredit.training.dials import OPTIMIZERS
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks.signs import MEASURES

DIALS = DIALS | {"steps": 32}
QUEUE = 2  # batches that may wait
ARMS = [(rule, cost) for cost in (10, 20) for rule in ("none", "wait")]


@dataclass
class Busy(Engine):
    """An engine whose trainer needs `cost` ticks for an update."""

    cost: int = 0

    def start(self):
        if self.rule == "wait" or len(self.ready) < QUEUE * self.size:
            super().start()

    def whole(self):
        if self.rule != "wait":
            return len(self.ready) >= self.size
        self.ready.sort(key=lambda one: one.number)
        due = (self.version + 1) * self.size
        return sum(one.number < due for one in self.ready) == self.size

    def finish(self):
        """The next group is ready."""
        one = heapq.heappop(self.running)
        self.ticks = max(self.ticks, one.end)
        self.ready.append(one)

    def batch(self):
        while not self.whole():
            self.start()
            self.finish()
        first, self.ready = self.ready[: self.size], self.ready[self.size :]
        self.ages += [self.version - one.version for one in first]
        end = self.ticks + self.cost
        self.start()  # with the old weights, while the update runs
        while self.running and self.running[0].end <= end:
            self.finish()
            self.start()
        self.ticks, self.version, self.pool = end, self.version + 1, []
        return join([one.batch for one in first])


def run(variant, seed, quick, checkpoint, loss=ROW):
    dials = Dials(**DIALS | ({"steps": EVERY, "prompts": 4} if quick else {}))
    policy, row, rows = warm_start("signs", seed=seed), ROWS[loss], []
    optimizer = OPTIMIZERS[dials.optimizer](policy.parameters(), lr=dials.lr)
    limit = 1 if variant["rule"] == "wait" else 10**6
    engine = Busy(variant["rule"], limit, policy, dials.prompts, seed)
    engine.cost = variant["cost"]
    exams = {"rng": np.random.default_rng(1000 + seed), "temperature": 1.0}
    exams["generator"] = torch.Generator().manual_seed(1000 + seed)
    sizes, spent = (4, 4) if quick else (32, 8), 0.0
    for step in range(dials.steps + 1):
        if step % EVERY == 0:  # its time is not counted
            _, seen = TASK.sample(policy, *sizes, measure=MEASURES, **exams)
            told = {"step": step, "success": seen["success"].float().mean().item()}
            told |= {"ticks": engine.ticks, "tokens": engine.tokens}
            told |= {"ages": float(np.mean(engine.ages or [0])), "seconds": spent}
            rows.append(told)
        if step < dials.steps:
            clock = time.process_time()
            update(policy, optimizer, row, assign_credit(row, engine.batch()), dials)
            spent += time.process_time() - clock
    return rows


def ahead(rows, cost, tick):
    """Success of waiting minus that without a limit, of each seed, at a time."""
    wait, free = (
        at(rows, "ticks", [tick], rule=rule, cost=cost)[:, 0]
        for rule in ("wait", "none")
    )
    return wait - free


EXPERIMENT = Experiment(
    name="update-cost",
    chapter=12,
    question={
        "zh": "更新也要时间的时候，给陈旧度设上限还吃亏吗？",
        "en": "When an update takes time, does a limit on staleness still cost some?",
    },
    variants=tuple({"rule": rule, "cost": cost} for rule, cost in ARMS),
    run=run,
    columns={
        "rule": "none, or wait with a limit of 1",
        "cost": "ticks that an update takes",
        "step": "updates so far",
        "ticks": "time so far, in tokens that a response can have been written in",
        "tokens": "tokens of all groups started so far",
        "ages": "staleness of the groups used so far, in updates, mean",
        "success": COLUMNS["success"],
        "seconds": "CPU seconds so far, exams not counted",
    },
    settings={"task": "signs", "row": ROW, "queue": QUEUE, "every": EVERY, **DIALS},
    claims={
        "an update of 20 ticks: waiting leads in every seed, times 150 to 400": (
            lambda rows: all(
                (ahead(rows, 20, tick) > 0).all() for tick in range(150, 401, 50)
            )
        ),
    },
    message={
        "zh": "用 PPO 的损失，更新要时间，不设上限就不再领先。",
        "en": "With PPO, if an update takes time, no limit is no longer ahead.",
    },
    shows=(("success",),),
)
