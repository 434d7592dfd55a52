"""Chapter 16: a teacher's log-probs as the advantage 同策略蒸馏.

The student samples; the teacher, a policy trained with GRPO from the warm start of the
next seed, scores. The reward of a token is the teacher's log-prob minus the student's;
the task pays nothing. In terms of the package the teacher is the reference, the KL in
the reward is the whole reward, and a token gets no credit for later ones.
"""

from dataclasses import replace
from functools import cache, partial

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import (
    COLUMNS,
    DIALS,
    PLAIN,
    inside,
    learn,
)
from tokencredit.credit.returns import discounted_return
from tokencredit.world.starts import warm_start

ROUNDS = {"RL": 30, "else": 20}
SEEDS = 5  # number of warm starts

TAUGHT = replace(
    PLAIN,
    name="on-policy distillation",
    kl_coef=1.0,
    kl_estimator="k1",
    kl_in="reward",
    credit_level="token",
    advantage=partial(discounted_return, gamma=0.0),
    aggregation="token-mean",
)
ROWS = {
    "OPD": TAUGHT,
    "OPD, G = 1": TAUGHT,
    "OPD, to go": replace(TAUGHT, advantage=partial(discounted_return, gamma=1.0)),
    "k1 as a loss": replace(TAUGHT, kl_in="loss"),
}
TEACHES = ("OPD", "OPD, G = 1", "OPD, to go")


@cache
def trained(seed, quick):
    """GRPO from the warm start of a seed: the policy, its rows, its responses."""
    policy = warm_start("signs", seed=seed)
    rows, said = learn(
        PLAIN, seed, quick, policy=policy, steps=ROUNDS["RL"], every=1, moments=(0, 2)
    )
    return policy, rows, said


def run(variant, seed, quick, checkpoint):
    arm = variant["arm"]
    if arm == "RL":
        return trained(seed, quick)[1:]
    teacher = trained((seed + 1) % SEEDS, quick)[0]
    alone = {"prompts": DIALS["prompts"] * DIALS["group_size"], "group_size": 1}
    return learn(
        ROWS[arm],
        seed,
        quick,
        reward_fn=lambda prompt, response: 0.0,
        reference=teacher,
        steps=ROUNDS["else"],
        every=1,
        moments=(0, 2, 4),
        **(alone if arm == "OPD, G = 1" else {}),
    )


def after(rows, arm, iterations):
    """The success rate of each seed after a number of iterations."""
    return per_seed(rows, "success", arm=arm)[:, iterations]


def end(rows, arm):
    """The success rate at the end of each seed, a mean of the last five rows."""
    return final(rows, "success", last=5, arm=arm)


def distance(rows, arm, which):
    """k1 to the teacher in a row of each seed, summed over a response."""
    return per_seed(rows, "ref_kl", arm=arm)[:, which]


EXPERIMENT = Experiment(
    name="distillation",
    chapter=16,
    question={
        "zh": "没有判分程序，只有一位老师给每个词元打分，学得会吗？",
        "en": "No verdict, only a teacher's log-probs on every token: is that enough?",
    },
    variants=tuple({"arm": arm} for arm in ("RL", *ROWS)),
    run=run,
    columns={"arm": "RL: GRPO on verdicts; else: how the teacher's log-probs are used"}
    | COLUMNS
    | {"ref_kl": "k1 against the teacher, summed over a response"},
    settings={"task": "signs", "rounds": ROUNDS, **DIALS},
    claims={
        "after two iterations OPD is ahead of RL in every seed": lambda rows: (
            after(rows, "OPD", 2) > after(rows, "RL", 2)
        ).all(),
        "then OPD has 0.80 to 0.90, RL 0.59 to 0.82": lambda rows: (
            inside(after(rows, "OPD", 2), 0.795, 0.9)
            and inside(after(rows, "RL", 2), 0.59, 0.825)
        ),
        "at the end no seed of the four arms that learn is below 0.9": lambda rows: all(
            end(rows, arm).min() > 0.9 for arm in ("RL", *TEACHES)
        ),
        "one response a prompt is enough: every seed above 0.94 at the end": (
            lambda rows: end(rows, "OPD, G = 1").min() > 0.94
        ),
        "OPD: the distance to the teacher falls from over 7.9 to below 0.6": (
            lambda rows: (
                distance(rows, "OPD", 0).min() > 7.9
                and distance(rows, "OPD", -1).max() < 0.6
            )
        ),
        "to go: after four iterations below 0.74, where OPD has over 0.92": (
            lambda rows: (
                after(rows, "OPD, to go", 4).max() < 0.74
                and after(rows, "OPD", 4).min() > 0.92
            )
        ),
        "k1 as a loss: every seed ends below 0.4, and none ever gets above 0.75": (
            lambda rows: (
                end(rows, "k1 as a loss").max() < 0.4
                and per_seed(rows, "success", arm="k1 as a loss").max() < 0.75
            )
        ),
        "k1 as a loss: ends farther from the teacher than it began, in every seed": (
            lambda rows: (
                distance(rows, "k1 as a loss", -1) > distance(rows, "k1 as a loss", 0)
            ).all()
        ),
    },
    speaks=True,
    message={
        "zh": "老师给每个词元打分，学生只看老师不看对错，也学到了老师的水平。",
        "en": "A teacher's log-probs alone bring the student to the teacher's level.",
    },
    shows=(("success",), ("length",)),
)
