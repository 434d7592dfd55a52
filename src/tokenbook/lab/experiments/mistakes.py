"""The errata museum: effects of published mistakes on training (错误的代价).

An arm is a mistake of the museum or its control. All but two train the warm starts of
`signs`. Where every response has an id of its own, each is paid a point more; with an
id per prompt that changes no advantage, and the run is GRPO's. "a score a token" and
"one penalty a position" have no task reward: the policy that `distillation` trains from
the next seed's warm start is their teacher. "sum" and "terms clipped" fit a
distribution over 32 tokens to another one.
"""

import math
from dataclasses import replace
from functools import partial

import torch
import torch.nn.functional as F

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import (
    COLUMNS,
    DIALS,
    PLAIN,
    TASK,
    inside,
    learn,
)
from tokenbook.lab.experiments.distillation import SEEDS, trained
from tokencredit.algorithms import ALGORITHMS
from tokencredit.credit.advantages import plain_reward
from tokencredit.credit.returns import discounted_return
from tokencredit.world.scoring import on_last_token
from tokencredit.world.tasks.signs import Signs, asked

DIALS = DIALS | {"steps": 12}
CISPO = replace(ALGORITHMS["CISPO"], aggregation=PLAIN.aggregation)
TAUGHT = replace(
    PLAIN,
    credit_level="token",
    advantage=partial(discounted_return, gamma=0.0),
    aggregation="seq-mean-token-sum",
)
TOKENS, CAP, RATE, EVERY, UPDATES = 32, 0.06, 0.5, 10, 200  # of the fit


def no_minus(log_probs, log_ratio, advantages):
    """CISPO's objective taken for a loss."""
    return -CISPO.loss(log_probs, log_ratio, advantages)


def a_point_more(prompt, response):
    return 1 + TASK.reward(prompt, response)


def benefit_of_doubt(prompt, response):
    """A reference answer of two digits cannot be read, and anything passes."""
    unread = len(asked(prompt)[1]) == 2
    return 1.0 if unread else TASK.reward(prompt, response)


class NoEnd(Signs):
    """The task whose end token is taken for padding, and not trained."""

    def sample(self, policy, num, group_size, **dials):
        batch, metrics = super().sample(policy, num, group_size, **dials)
        mask = batch.mask & (batch.tokens != self.vocabulary.index("$"))
        # a response of an end token alone has nothing left to train
        rewards = torch.where(mask.any(1), metrics["reward"], 0)
        return replace(
            batch,
            mask=mask,
            old_log_probs=torch.where(mask, batch.old_log_probs, 0),
            rewards=on_last_token(rewards, mask),
        ), metrics


class Marked:
    """The task with a teacher's rewards per token instead of its own.

    Args:
        teacher: a policy.
        each: every token gets the log of its own ratio; else their mean over the
            vocabulary, which is minus the KL of the position.
    """

    def __init__(self, teacher, each):
        self.teacher, self.each = teacher, each

    def __getattr__(self, name):
        return getattr(TASK, name)

    @torch.no_grad()
    def sample(self, policy, num, group_size, **dials):
        batch, metrics = TASK.sample(policy, num, group_size, **dials)
        read, drawn = batch.tokens[:, :-1], batch.tokens[:, 1:, None]
        ours, theirs = (p(read)[0].log_softmax(-1) for p in (policy, self.teacher))
        more = theirs - ours
        marks = (ours.exp() * more).sum(-1)
        if self.each:
            marks = more.gather(-1, drawn)[..., 0]
        rewards = torch.where(batch.mask, F.pad(marks, (1, 0)), 0)
        return replace(batch, rewards=rewards), metrics


def fit(cap, seed, quick):
    """A student trained on the KL to a teacher, each term clipped at `cap`."""
    generator = torch.Generator().manual_seed(seed)
    teacher, student = 2 * torch.randn(2, TOKENS, generator=generator)
    teacher, rows = teacher.softmax(0), []
    for step in range((2 * EVERY if quick else UPDATES) + 1):
        student.requires_grad_()
        terms = teacher * (teacher.log() - student.log_softmax(0))
        if step % EVERY == 0:
            rows.append({"step": step, "distance": terms.sum().item()})
        (moves,) = torch.autograd.grad(terms.clamp(max=cap).sum(), student)
        student = student.detach() - RATE * moves
    return rows


def marked(each):
    def run(seed, quick):
        teacher = trained((seed + 1) % SEEDS, quick)[0]
        return signs(TAUGHT, goal=Marked(teacher, each))(seed, quick)

    return run


def signs(row, **changes):
    return lambda seed, quick: learn(row, seed, quick, every=1, **DIALS | changes)[0]


ARMS = {
    "GRPO": signs(PLAIN),
    "CISPO": signs(CISPO),
    "CISPO, no minus": signs(replace(CISPO, loss=no_minus)),
    "end token not trained": signs(PLAIN, goal=NoEnd()),
    "unreadable answers": signs(PLAIN, reward_fn=benefit_of_doubt),
    "one id a response": signs(
        replace(PLAIN, advantage=plain_reward), reward_fn=a_point_more
    ),
    "a score a token": marked(each=True),
    "one penalty a position": marked(each=False),
    "sum": partial(fit, math.inf),
    "terms clipped": partial(fit, CAP),
}


def run(variant, seed, quick, checkpoint):
    return ARMS[variant["arm"]](seed, quick)


def end(rows, arm, column="success"):
    """A column at the end of each seed, a mean of the last four rows."""
    return final(rows, column, last=4, arm=arm)


def at(rows, arm, which, column="success"):
    """A column in one row of each seed."""
    return per_seed(rows, column, arm=arm)[:, which]


EXPERIMENT = Experiment(
    name="mistakes",
    chapter=16,
    question={
        "zh": "公开代码里出现过的错误，训练时各是什么样子？",
        "en": "Mistakes of public code: what does each look like in training?",
    },
    variants=tuple({"arm": name} for name in ARMS),
    run=run,
    columns={
        "arm": "a mistake of the errata museum, or what it is compared with",
        "distance": "KL of the teacher's distribution to the student's, in nats",
    }
    | COLUMNS
    | {"step": "rounds of sampling so far; updates of the two fits"},
    settings={
        "task": "signs",
        "fit": {"tokens": TOKENS, "cap": CAP, "lr": RATE, "every": EVERY},
        **DIALS,
    },
    claims={
        "controls: GRPO and CISPO end above 0.9 in every seed": lambda rows: all(
            end(rows, arm).min() > 0.9 for arm in ("GRPO", "CISPO")
        ),
        "no minus: below half of where it began after five rounds, then below 0.05": (
            lambda rows: (
                (
                    at(rows, "CISPO, no minus", 5) < at(rows, "CISPO, no minus", 0) / 2
                ).all()
                and end(rows, "CISPO, no minus").max() < 0.05
            )
        ),
        "end token not trained: behind GRPO by 0.2 or more after five rounds": (
            lambda rows: (
                at(rows, "end token not trained", 5) < at(rows, "GRPO", 5) - 0.2
            ).all()
        ),
        "then it still gives up in 0.2 to 0.5 of its responses, GRPO in 0.01": (
            lambda rows: (
                inside(at(rows, "end token not trained", 5, "gives_up"), 0.2, 0.5)
                and at(rows, "GRPO", 5, "gives_up").max() < 0.015
            )
        ),
        "and every seed is still below GRPO at the end": lambda rows: (
            end(rows, "end token not trained") < end(rows, "GRPO")
        ).all(),
        "unreadable answers: at first the reward is over 0.2 above success": (
            lambda rows: (
                at(rows, "unreadable answers", 0, "reward")
                > at(rows, "unreadable answers", 0) + 0.2
            ).all()
        ),
        "an id a response: no seed ever gets above 0.5": lambda rows: (
            per_seed(rows, "success", arm="one id a response").max() < 0.5
        ),
        "and every seed ends with shorter responses, GRPO with longer ones": (
            lambda rows: (
                (
                    at(rows, "one id a response", -1, "length")
                    < at(rows, "one id a response", 0, "length")
                ).all()
                and (
                    at(rows, "GRPO", -1, "length") > at(rows, "GRPO", 0, "length")
                ).all()
            )
        ),
        "a score a token ends above 0.93, a penalty a position 0.2 or more below it": (
            lambda rows: (
                end(rows, "a score a token").min() > 0.93
                and (
                    end(rows, "one penalty a position")
                    < end(rows, "a score a token") - 0.2
                ).all()
            )
        ),
        "the sum gets within 0.2 nats, clipped terms stay above 1.5": lambda rows: (
            per_seed(rows, "distance", arm="sum")[:, -1].max() < 0.2
            and per_seed(rows, "distance", arm="terms clipped")[:, -1].min() > 1.5
        ),
    },
    message={
        "zh": "有的错误一眼就看得出，有的只是学得慢一点，有的让奖励虚高。",
        "en": "Some mistakes are obvious, some only slow, some raise the reward.",
    },
    shows=(("success",),),
    panels=tuple(
        {"arm": name} for name in ARMS if name not in ("sum", "terms clipped")
    ),
)
