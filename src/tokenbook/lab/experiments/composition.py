"""Chapter 8: does RL add abilities? Functions that were learned one by one.

A prompt is a digit and four places, `3.a.c?`; a letter is a function from digits to
digits, a dot leaves the digit alone. The response writes the digit after each place and
ends: `3775$`. It is right iff all of it is. Only one response to a prompt is, so its
probability p is read off the policy exactly, and with it pass@k = 1 - (1 - p)^k for any
k, without sampling. The warm start has imitated prompts with one function only.
"""

import copy
import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from tokenbook.lab import Experiment, per_seed
from tokenbook.lab.experiments._signs import PLAIN
from tokencredit.training import Dials, train, warm_up
from tokencredit.world.policy import Policy
from tokencredit.world.tasks.base import Task
from tokencredit.world.text import EOS, encode

PLACES = 4
WARM, DIALS = 130, {"steps": 240, "prompts": 32, "group_size": 8, "lr": 1e-3}
ASKED = 200  # prompts of each depth in an exam, always the same
KS = (1, 64, 4096)
EXAMS = 20  # rounds between two exams


def functions(names="abcdef"):
    """A permutation of the ten digits for each letter, without fixed points."""
    rng, found = np.random.default_rng(0), {}
    while len(found) < len(names):
        table = rng.permutation(10)
        if (table != np.arange(10)).all():
            found[names[len(found)]] = "".join(map(str, table))
    return found


FUNCTIONS = functions()
ARMS = {
    "RL on 1": (1,),
    "RL on 1, 2": (1, 2),
    "imitate 1": (1,),
    "imitate 1, 2": (1, 2),
}
"""What an arm is trained on: prompts with that many functions."""


@dataclass(frozen=True)
class Relay(Task):
    """Apply one function after the other, and write every digit on the way.

    Args:
        depths: how many of the four places hold a function, one of these numbers.
    """

    depths: tuple[int, ...] = (1,)

    vocabulary = "0123456789.?" + "".join(FUNCTIONS) + EOS
    max_prompt = PLACES + 2
    max_response = PLACES + 1

    def prompts(self, num, rng):
        return [self.prompt(int(rng.choice(self.depths)), rng) for _ in range(num)]

    def prompt(self, depth, rng):
        places = ["."] * PLACES
        for place in rng.permutation(PLACES)[:depth]:
            places[place] = "".join(FUNCTIONS)[rng.integers(len(FUNCTIONS))]
        return f"{rng.integers(10)}{''.join(places)}?"

    def gold(self, prompt):
        digit, said = prompt[0], ""
        for letter in prompt[1:-1]:
            digit = FUNCTIONS[letter][int(digit)] if letter in FUNCTIONS else digit
            said += digit
        return said + EOS

    def demonstration(self, prompt, rng):
        return self.gold(prompt)

    def reward(self, prompt, response):
        return float(response == self.gold(prompt))


@lru_cache(maxsize=1)
def questions():
    """The exam: for each depth the ids of prompts with their right responses."""
    found = {}
    for depth in range(1, PLACES + 1):
        goal, rng = Relay(depths=(depth,)), np.random.default_rng(100 + depth)
        rows = [p + goal.gold(p) for p in goal.prompts(ASKED, rng)]
        found[depth] = torch.tensor([encode(row, goal.vocabulary) for row in rows])
    return found


@torch.no_grad()
def chances(policy, ids):
    """The probability of each right response, in float64."""
    start = PLACES + 2
    log_probs = policy(ids)[0].double().log_softmax(-1)[:, start - 1 : -1]
    return log_probs.gather(-1, ids[:, start:, None]).squeeze(-1).sum(1).exp()


def exam(policy):
    """Mean pass@k over the prompts of each depth, exact."""
    row = {}
    for depth, ids in questions().items():
        p = chances(policy, ids)
        for k in KS:
            missed = torch.exp(k * torch.log1p(-p.clamp(max=1 - 1e-12)))
            row[f"depth{depth}_pass{k}"] = (1 - missed).mean().item()
    return row


class Examined:
    """A task with an evaluation now and then, whose time is not counted."""

    def __init__(self, goal, policy):
        self.goal, self.policy = goal, policy
        self.rounds, self.rows = 0, []
        self.clock, self.spent = time.process_time(), 0.0

    def __getattr__(self, name):
        return getattr(self.goal, name)

    def sample(self, *args, **dials):
        self.watch()
        return self.goal.sample(*args, **dials)

    def demonstrations(self, num, rng):
        self.watch()
        return self.goal.demonstrations(num, rng)

    def watch(self):
        if self.rounds % EXAMS == 0:
            self.examine()
        self.rounds += 1

    def examine(self):
        self.spent += time.process_time() - self.clock
        row = {"step": self.rounds, "seconds": self.spent}
        self.rows.append(row | exam(self.policy))
        self.clock = time.process_time()


@lru_cache(maxsize=5)
def warm_start(seed, steps):
    """A policy that has imitated prompts with one function; copy it."""
    torch.manual_seed(seed)
    goal = Relay()
    policy = Policy(len(goal.vocabulary), context=goal.context)
    warm_up(policy, goal, steps=steps, seed=seed)
    return policy


def run(variant, seed, quick, checkpoint):
    policy = copy.deepcopy(warm_start(seed, 10 if quick else WARM))
    dials = DIALS | ({"steps": 2, "prompts": 4} if quick else {})
    watched = Examined(Relay(depths=ARMS[variant["arm"]]), policy)
    if variant["arm"].startswith("imitate"):
        size, lr = dials["prompts"] * dials["group_size"], dials["lr"]
        warm_up(
            policy,
            watched,
            steps=dials["steps"],
            batch_size=size,
            lr=lr,
            seed=99 + seed,
        )
    else:
        train(policy, watched, PLAIN, dials=Dials(**dials), seed=seed)
    watched.examine()
    return watched.rows


def asked(rows, arm, depth, k):
    """pass@k of prompts of a depth, [seeds, exams]."""
    return per_seed(rows, f"depth{depth}_pass{k}", arm=arm)


def gained(rows, arm, depth, k):
    """The difference from the start of its seed."""
    y = asked(rows, arm, depth, k)
    return y - y[:, :1]


EXPERIMENT = Experiment(
    name="composition",
    chapter=8,
    question={
        "zh": "单个函数已经会了，强化学习能教会把它们连起来用吗？",
        "en": "Single functions are known: can RL teach to chain them?",
    },
    variants=tuple({"arm": arm} for arm in ARMS),
    run=run,
    columns={
        "arm": "what it is trained on: prompts with that many functions",
        "step": "rounds of 256 responses or demonstrations so far",
        "seconds": "CPU seconds so far, exams and warm-up not counted",
    }
    | {
        f"depth{depth}_pass{k}": f"exact mean pass@{k}, prompts with {depth} functions"
        for depth in range(1, PLACES + 1)
        for k in KS
    },
    settings={
        "task": "relay",
        "row": "GRPO without KL",
        "warm_up": WARM,
        "asked": ASKED,
        "every": EXAMS,
        **DIALS,
    },
    claims={
        "the start: one function over 0.9; four, pass@64 under 0.03, in every seed": (
            lambda rows: (
                asked(rows, "RL on 1", 1, 1)[:, 0].min() > 0.9
                and asked(rows, "RL on 1", 4, 64)[:, 0].max() < 0.03
            )
        ),
        "RL on 1 ends with more pass@1 of two functions, in every seed": lambda rows: (
            gained(rows, "RL on 1", 2, 1)[:, -1] > 0
        ).all(),
        "and has less pass@4096 of them at every exam, in every seed": lambda rows: (
            gained(rows, "RL on 1", 2, 4096)[:, 1:] < 0
        ).all(),
        "imitation as well, and it ends with less than RL on 1": lambda rows: (
            (gained(rows, "imitate 1", 2, 4096)[:, 1:] < 0).all()
            and (
                asked(rows, "imitate 1", 2, 4096)[:, -1]
                < asked(rows, "RL on 1", 2, 4096)[:, -1]
            ).all()
        ),
        "RL on 1, 2 leads both arms on 1 in pass@64 of four, every exam": lambda rows: (
            all(
                (
                    asked(rows, "RL on 1, 2", 4, 64)[:, 1:]
                    > asked(rows, arm, 4, 64)[:, 1:]
                ).all()
                for arm in ("RL on 1", "imitate 1")
            )
        ),
        "imitation of 1, 2 leads it in pass@1 and pass@64 of four": lambda rows: all(
            (
                asked(rows, "imitate 1, 2", 4, k)[:, 1:]
                > asked(rows, "RL on 1, 2", 4, k)[:, 1:]
            ).all()
            for k in (1, 64)
        ),
        "RL on 1, 2 ends with pass@1 of four over the start's pass@4096": lambda rows: (
            asked(rows, "RL on 1, 2", 4, 1)[:, -1]
            > asked(rows, "RL on 1, 2", 4, 4096)[:, 0]
        ).all(),
    },
    message={
        "zh": "只练单个函数是锐化；练了两个连用，没练过的四个连用也会了。",
        "en": "Training on single functions sharpens; on pairs, it also teaches fours.",
    },
    shows=(("depth2_pass1", "depth2_pass4096"), ("depth4_pass64",)),
)
