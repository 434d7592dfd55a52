"""Chapter 12: an engine that never stops, and a limit on staleness: drop or wait?

64 groups of eight responses are written side by side, one token of each response per
tick, by the policy as it was when the group was started. A group is ready when its
longest response is. As soon as 16 groups can be used there is an update, which takes no
time; staleness counts updates.

none   the first 16 that are ready, however old
drop   the same, but a group that is too old when it is ready is thrown away
wait   no group is started that might become too old; groups are used in the order in
       which they were started, so the longest of 16 is waited for
"""

import heapq
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from tokenbook.lab import Experiment, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, TASK, inside
from tokenbook.lab.experiments.stale_sampler import ROWS
from tokencredit.batch import Batch, join
from tokencredit.training import Dials, assign_credit, update
from tokencredit.training.dials import OPTIMIZERS
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks.signs import MEASURES

ROW, SLOTS, EVERY = "PPO", 64, 4  # of stale-sampler; groups at once; updates per exam
DIALS = {"steps": 64, "prompts": 16, "group_size": 8, "lr": 5e-4}
ARMS = (("none", 64), ("drop", 1), ("wait", 1), ("drop", 2), ("wait", 2))
NAMES = ("success", "gives_up", "first_right", "tries", "length")


class Group(NamedTuple):
    """A group that was started: when it is ready, its number, version and text."""

    end: int
    number: int
    version: int
    batch: Batch

    def longest(self) -> int:
        return int(self.batch.mask.sum(1).max())


@dataclass
class Engine:
    """A sampler that never stops, and gives an update the groups it may use.

    Args:
        rule, limit: of an arm.
        policy: that samples; a group keeps the weights that it was started with.
        size: groups of an update, and of a round that is sampled at once: they wait in
            `pool` until they are started, and are forgotten if the weights change.
        seed: of prompts and tokens.
    """

    rule: str
    limit: int
    policy: nn.Module
    size: int
    seed: int
    ticks: int = 0
    version: int = 0
    tokens: int = 0
    pool: list[Batch] = field(default_factory=list)
    running: list[Group] = field(default_factory=list)
    ready: list[Group] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)  # the longest response of each
    used: list[int] = field(default_factory=list)
    ages: list[int] = field(default_factory=list)
    dropped: int = 0

    def __post_init__(self):
        dice = torch.Generator().manual_seed(self.seed)
        self.streams = {"rng": np.random.default_rng(self.seed), "generator": dice}

    def start(self):
        """Start groups while there is room and the rule allows it."""
        room = SLOTS - len(self.running)
        if self.rule == "wait":
            most = (self.version + 1 + self.limit) * self.size
            room = min(room, most - len(self.begun))
        for _ in range(room):
            if not self.pool:
                sizes = self.size, DIALS["group_size"]
                batch, _ = TASK.sample(
                    self.policy, *sizes, temperature=1.0, **self.streams
                )
                self.pool = [batch.select(batch.groups == k) for k in range(self.size)]
            one = Group(0, len(self.begun), self.version, self.pool.pop())
            heapq.heappush(self.running, one._replace(end=self.ticks + one.longest()))
            self.begun.append(one.longest())
            self.tokens += int(one.batch.mask.sum())

    def batch(self) -> Batch:
        """The batch of the next update; each call raises the version by one."""
        while not self.whole():
            self.start()
            one = heapq.heappop(self.running)
            self.ticks = one.end
            if self.rule == "drop" and self.version - one.version > self.limit:
                self.dropped += 1
            else:
                self.ready.append(one)
        first, self.ready = self.ready[: self.size], self.ready[self.size :]
        self.ages += [self.version - one.version for one in first]
        self.used += [one.longest() for one in first]
        self.version, self.pool = self.version + 1, []
        return join([one.batch for one in first])

    def whole(self) -> bool:
        """Whether enough groups are ready; under "wait", the oldest ones."""
        if self.rule == "wait":
            self.ready.sort(key=lambda one: one.number)
            due = (self.version + 1) * self.size
            return sum(one.number < due for one in self.ready) == self.size
        return len(self.ready) == self.size


def run(variant, seed, quick, checkpoint):
    dials = Dials(**DIALS | ({"steps": EVERY, "prompts": 4} if quick else {}))
    policy, row, rows = warm_start("signs", seed=seed), ROWS[ROW], []
    optimizer = OPTIMIZERS[dials.optimizer](policy.parameters(), lr=dials.lr)
    engine = Engine(variant["rule"], variant["limit"], policy, dials.prompts, seed)
    exams = {"rng": np.random.default_rng(1000 + seed), "temperature": 1.0}
    exams["generator"] = torch.Generator().manual_seed(1000 + seed)
    sizes, spent = (4, 4) if quick else (32, 8), 0.0
    for step in range(dials.steps + 1):
        if step % EVERY == 0:  # its time is not counted
            _, seen = TASK.sample(policy, *sizes, measure=MEASURES, **exams)
            told = {name: seen[name].float().mean().item() for name in NAMES}
            told |= {"step": step, "ticks": engine.ticks, "tokens": engine.tokens}
            told |= {"dropped": engine.dropped / max(len(engine.begun), 1)}
            for name in ("ages", "begun", "used"):
                told[name] = float(np.mean(getattr(engine, name) or [0]))
            rows.append(told | {"seconds": spent})
        if step < dials.steps:
            clock = time.process_time()
            batch = assign_credit(row, engine.batch())
            update(policy, optimizer, row, batch, dials)
            spent += time.process_time() - clock
    return rows


def at(rows, clock, budgets, column="success", **arm):
    """A column of each seed at given values of its clock, tokens or ticks."""
    times = per_seed(rows, clock, **arm)
    numbers = per_seed(rows, column, **arm)
    return np.array(
        [np.interp(budgets, *pair) for pair in zip(times, numbers, strict=True)]
    )


def last(rows, column, **arm):
    """A column of each seed after the last update."""
    return per_seed(rows, column, **arm)[:, -1]


EXPERIMENT = Experiment(
    name="drop-or-wait",
    chapter=12,
    question={
        "zh": "给陈旧度设了上限：丢掉太旧的，还是少开始一些？",
        "en": "A limit on staleness: throw away what is too old, or start less?",
    },
    variants=tuple({"rule": rule, "limit": limit} for rule, limit in ARMS),
    run=run,
    columns={
        "rule": "none, drop or wait",
        "limit": "updates that a group may be old when it is used",
        "step": "updates so far",
        "ticks": "tokens that a response can have been written in so far",
        "tokens": "tokens of all groups started so far, dropped ones too",
        "dropped": "share of the groups started so far that were thrown away",
        "ages": "staleness of the groups used so far, in updates, mean",
        "begun": "longest response of a group started so far, mean",
        "used": "longest response of a group used so far, mean",
        "seconds": "CPU seconds so far, exams not counted",
    }
    | {name: COLUMNS[name] for name in NAMES},
    settings={"task": "signs", "row": ROW, "slots": SLOTS, "every": EVERY, **DIALS},
    claims={
        "dropping throws away 0.56 to 0.6 of the groups at a limit of 1": lambda rows: (
            inside(last(rows, "dropped", rule="drop", limit=1), 0.56, 0.6)
        ),
        "and 0.38 to 0.42 at a limit of 2": lambda rows: inside(
            last(rows, "dropped", rule="drop", limit=2), 0.38, 0.42
        ),
        "what is used then is shorter than what was begun, by over 1.5 tokens": (
            lambda rows: all(
                (
                    last(rows, "used", rule="drop", limit=limit) + 1.5
                    < last(rows, "begun", rule="drop", limit=limit)
                ).all()
                for limit in (1, 2)
            )
        ),
        "per token, waiting leads in every seed: 20,000 to 90,000 tokens": (
            lambda rows: all(
                (
                    at(rows, "tokens", budget, rule="wait", limit=limit)
                    > at(rows, "tokens", budget, rule="drop", limit=limit)
                ).all()
                for limit in (1, 2)
                for budget in range(20_000, 100_000, 10_000)
            )
        ),
        "per tick, dropping leads in every seed up to 100 ticks": lambda rows: all(
            (
                at(rows, "ticks", budget, rule="drop", limit=limit)
                > at(rows, "ticks", budget, rule="wait", limit=limit)
            ).all()
            for limit in (1, 2)
            for budget in (50, 100)
        ),
        "per update the mean curves differ by at most 0.08": lambda rows: all(
            abs(
                per_seed(rows, "success", rule="drop", limit=limit).mean(0)
                - per_seed(rows, "success", rule="wait", limit=limit).mean(0)
            ).max()
            < 0.08
            for limit in (1, 2)
        ),
    },
    message={
        "zh": "等和丢，每次更新学得一样多；丢的要多写一倍多的词元。",
        "en": "Per update both learn alike; dropping writes far more tokens.",
    },
    shows=(("success",), ("begun", "used")),
)
