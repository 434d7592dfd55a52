"""Shared by the experiments on `signs`: stored warm starts, responses kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from tokenbook.lab.experiment import BARS
from tokenbook.lab.experiments._chain import COLUMNS as OF_TRAINING
from tokenbook.lab.experiments._chain import thin
from tokencredit.algorithm import Algorithm
from tokencredit.algorithms import ALGORITHMS
from tokencredit.batch import Batch
from tokencredit.credit.rewards import soft_overlong
from tokencredit.training import Dials, train, warm_up
from tokencredit.world.rollout import rollout, texts
from tokencredit.world.scoring import RewardFunction
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks import task
from tokencredit.world.tasks.signs import MEASURES, Signs

TASK: Signs = task("signs")
DIALS = {"prompts": 32, "group_size": 8, "minibatches": 2, "lr": 5e-4}
"""Chosen, like SCALED, on seeds 10 and 11: none of them is among those stored."""

SMALL = {"steps": 2, "prompts": 4, "group_size": 4}  # of a quick run

SCALED = {
    **{name: {"kl_coef": 0.001} for name in ("RLOO", "GRPO", "GRPO + TIS")},
    "DAPO": {"length_penalty": partial(soft_overlong, max_length=40, cache=8)},
}
"""Numbers of the papers that belong to another scale: at KL coefficients of 0.05 and
0.04 the anchor holds the miniature back; the limit of 20480 is this task's 40."""

WORDS = (
    "RLOO, GRPO, GRPO + TIS: kl_coef 0.001; DAPO: soft_overlong(max_length=40, cache=8)"
)

PLAIN = replace(ALGORITHMS["GRPO"], kl_coef=0.0)

SHOWN = (
    "9□5□7=11?",
    "4□5□1=0?",
    "6□3□9=12?",
    "8□1□3=4?",
    "7□2□6=3?",
    "5□9□2=16?",
    "3□8□1=10?",
    "9□2□4=3?",
)
"""The prompts whose responses are kept: every filling is among their solutions."""

COLUMNS = {k: v for k, v in OF_TRAINING.items() if k != "reasons"} | {
    "tries": "mean number of tries in a response",
    "gives_up": "share of responses that end in ✗",
    "first_right": "share of responses whose first try is right, however marked",
    "equations_true": "share of a response's tries that are true, mean of responses",
    "lies": "share of responses that end in ✓ and are not right",
    "faithful": "share of responses that are right and wholly true",
    "all_right": "share of groups whose responses are all right",
    "all_wrong": "share of groups whose responses are all wrong",
    "distinct": "different first tries among the responses to one prompt, mean",
}


class Watched:
    """A task whose rounds are watched 旁观: its groups, and responses to SHOWN.

    Args:
        goal: the task.
        moments: rounds of sampling before which responses are kept.
    """

    def __init__(self, goal: Signs, moments: Iterable[int]):
        self.goal, self.moments = goal, set(moments)
        self.rounds = 0
        self.responses: list[dict] = []

    def __getattr__(self, name: str):
        return getattr(self.goal, name)

    def sample(self, policy: nn.Module, num: int, group_size: int, **dials):
        """A round of the task, with three numbers more per response."""
        if self.rounds in self.moments:
            self.keep(policy)
        self.rounds += 1
        batch, metrics = self.goal.sample(policy, num, group_size, **dials)
        return batch, metrics | groups_of(batch, metrics["success"], self.goal)

    def keep(self, policy: nn.Module):
        """Keep responses to SHOWN, from a random stream of its own."""
        generator = torch.Generator().manual_seed(0)
        batch = rollout(policy, self.goal, list(SHOWN), generator=generator)
        said = texts(batch, self.goal.vocabulary)
        for prompt, response in zip(SHOWN, said, strict=True):
            right = int(self.goal.reward(prompt, response))
            kept = {"prompt": prompt, "response": response, "right": right}
            self.responses.append({"step": self.rounds} | kept)


def groups_of(batch: Batch, success: Tensor, goal: Signs) -> dict[str, Tensor]:
    """Facts about each response's group: all right, all wrong, its variety."""
    groups = batch.groups
    size = torch.bincount(groups).float()
    right = torch.bincount(groups, success.float())
    firsts = [set() for _ in size]
    said = texts(batch, goal.vocabulary)
    for group, response in zip(groups.tolist(), said, strict=True):
        firsts[group].add(response.partition("=")[0])
    distinct = torch.tensor([float(len(seen)) for seen in firsts])
    per_group = {"all_right": right == size, "all_wrong": right == 0}
    return {n: x[groups] for n, x in (per_group | {"distinct": distinct}).items()}


def learn(
    algorithm: Algorithm,
    seed: int,
    quick: bool,
    *,
    goal: Signs = TASK,
    policy: nn.Module | None = None,
    reward_fn: RewardFunction | None = None,
    reference: nn.Module | None = None,
    make_sampler: Callable[[nn.Module], nn.Module] | None = None,
    every: int = 2,
    moments: Iterable[int] = (0,),
    **dials,
) -> tuple[list[dict], list[dict]]:
    """Train the warm start of a seed; the rows of the run, and the responses kept.

    Args:
        algorithm: the row.
        seed: of the warm start and of training.
        quick: two rounds of a few responses.
        goal: the task, with the warm start's vocabulary.
        policy: trained in place; None: the warm start of the seed.
        reward_fn: paid instead of the task's own.
        reference: a policy that the distance is measured to.
        make_sampler: makes the sampler, if it computes differently; see `train`.
        every: rounds per row.
        moments: rounds before which responses are kept; the end is always one.
        **dials: of `Dials`, over DIALS.
    """
    policy = policy or warm_start("signs", seed=seed)
    watched = Watched(goal, moments)
    history = train(
        policy,
        watched,
        algorithm,
        dials=Dials(**SMALL if quick else DIALS | dials),
        seed=seed,
        reward_fn=reward_fn,
        measure=MEASURES,
        reference=reference,
        make_sampler=make_sampler,
        progress=BARS.get(),
    )
    watched.rounds = len(history)
    watched.keep(policy)
    return thin(history, 1 if quick else every), watched.responses


class Examined(Watched):
    """A fixed corpus to imitate, with an evaluation now and then 边学边考.

    It is imitated in rounds of two updates, like those of training. The evaluation is a
    round of the task, and its time is not counted.

    Args:
        goal: the task.
        policy: the one that is trained.
        every: rounds between two evaluations.
        book: draws demonstrations, as a task does.
    """

    def __init__(self, goal: Signs, policy: nn.Module, every: int, book):
        super().__init__(goal, ())
        self.policy, self.every, self.book = policy, every, book
        self.updates, self.rows = 0, []
        self.rng, self.generator = np.random.default_rng(99), torch.Generator()
        self.seconds, self.clock = 0.0, time.process_time()

    def demonstrations(self, num: int, rng: np.random.Generator):
        if self.updates % (2 * self.every) == 0:
            self.examine()
        self.updates += 1
        return self.book.demonstrations(num, rng)

    def examine(self):
        """Sample a round, and append its metrics."""
        self.seconds += time.process_time() - self.clock
        sizes = DIALS["prompts"], DIALS["group_size"]
        streams = {"rng": self.rng, "generator": self.generator, "measure": MEASURES}
        _, metrics = self.sample(self.policy, *sizes, temperature=1.0, **streams)
        row = {"step": self.updates // 2, "seconds": self.seconds}
        means = {name: x.float().mean().item() for name, x in metrics.items()}
        self.rows.append(row | means)
        self.clock = time.process_time()


def study(
    seed: int, quick: bool, *, book=TASK, rounds: int, every: int, lr: float
) -> tuple[list[dict], list[dict]]:
    """Rows and kept responses of imitation by the warm start of a seed 监督微调.

    Args:
        seed: of the warm start and of the book.
        quick: two rounds of a few demonstrations.
        book: draws demonstrations.
        rounds: of two updates and as many demonstrations as `learn` samples responses.
        every: rounds per row.
        lr: largest learning rate.
    """
    policy = warm_start("signs", seed=seed)
    if quick:
        rounds, every = 2, 1
    half = DIALS["prompts"] * DIALS["group_size"] // 2
    exam = Examined(TASK, policy, every, book)
    exam.keep(policy)
    size = 8 if quick else half
    warm_up(policy, exam, steps=2 * rounds, batch_size=size, lr=lr, seed=seed)
    exam.examine()
    exam.rounds = rounds
    exam.keep(policy)
    return exam.rows, exam.responses


def inside(numbers: np.ndarray, low: float, high: float) -> bool:
    """Whether every seed lies between two numbers 各种子都在其间."""
    return bool(low <= numbers.min() and numbers.max() <= high)
