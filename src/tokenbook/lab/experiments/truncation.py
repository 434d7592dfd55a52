"""Chapter 10: a length limit that cuts responses short (截断), and two answers to it.

Four tries fit in 37 tokens, two in 19. Under a limit of 24 a third try is cut in the
middle of an equation and earns nothing. DAPO's charge for length begins before the
limit; the other arm leaves the limit at 40.
"""

from dataclasses import replace
from functools import partial

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, PLAIN, inside, learn
from tokencredit.credit.rewards import soft_overlong
from tokencredit.world.tasks import task

DIALS = DIALS | {"steps": 32}
LIMIT, ROOM = 24, 40
CHARGED = replace(
    PLAIN, length_penalty=partial(soft_overlong, max_length=LIMIT, cache=5)
)
ARMS = {
    "limit 40": (PLAIN, ROOM),
    "limit 24": (PLAIN, LIMIT),
    "limit 24, charge": (CHARGED, LIMIT),
}


def run(variant, seed, quick, checkpoint):
    row, limit = ARMS[variant["arm"]]
    goal = task("signs", max_response=limit)
    return learn(row, seed, quick, goal=goal, moments=(0, 8), **DIALS)


def end(rows, column, arm):
    """A column at the end of each seed, a mean of the last four rounds."""
    return final(rows, column, last=2, arm=arm)


EXPERIMENT = Experiment(
    name="truncation",
    chapter=10,
    question={
        "zh": "长度上限把回答拦腰截断时，策略学会早点停了吗？",
        "en": "A limit cuts responses short: does the policy learn to stop in time?",
    },
    variants=tuple({"arm": name} for name in ARMS),
    run=run,
    columns={"arm": "the limit in tokens, and whether length is charged before it"}
    | COLUMNS,
    settings={"task": "signs", "row": "GRPO without KL", "every": 2, **DIALS},
    claims={
        "limit 40: hardly one response in 200 is cut, over 0.93 right in every seed": (
            lambda rows: (
                end(rows, "truncated", "limit 40").max() < 0.005
                and end(rows, "success", "limit 40").min() > 0.93
            )
        ),
        "limit 24: 0.6 to 0.8 right, and 0.18 to 0.4 are still cut at the end": (
            lambda rows: (
                inside(end(rows, "success", "limit 24"), 0.6, 0.8)
                and inside(end(rows, "truncated", "limit 24"), 0.18, 0.4)
            )
        ),
        "with a charge: fewer are cut in every seed, by 0.07 or more": lambda rows: (
            end(rows, "truncated", "limit 24, charge")
            < end(rows, "truncated", "limit 24") - 0.07
        ).all(),
        "with a charge: 0.55 to 0.75 right, no gain over the limit alone": (
            lambda rows: (
                inside(end(rows, "success", "limit 24, charge"), 0.55, 0.75)
                and (
                    end(rows, "success", "limit 24, charge")
                    < end(rows, "success", "limit 24") + 0.03
                ).all()
            )
        ),
    },
    speaks=True,
    message={
        "zh": "上限太短，回答照样被截断；提前扣分减少截断，却没有多答对。",
        "en": "A short limit keeps cutting; a charge cuts fewer and helps no more.",
    },
    shows=(("success", "truncated"), ("length",)),
)
