"""Chapter 7: reward hacking (奖励黑客): the reward and the goal.

The task wants a right last try. The reward is one of `signs`: the outcome itself, the
strict one, or a proxy with a hole. `kl_coef` weighs a penalty against the warm start.
Control arms pay the outcome, with and without the charge for length.
"""

from dataclasses import replace

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, PLAIN, inside, learn
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks.signs import reward_fn

DIALS = DIALS | {"lr": 1e-3}
BRIEF = ", brief"  # every token costs a share of the reward
STEPS = {"mark": 16, "else": 32}
BRAKES = (0.0, 0.04, 0.2)
PAID = {
    "outcome": (0.0,),
    "outcome, brief": (0.0,),
    "strict": (0.0,),
    "steps": (0.0,),
    "anywhere": (0.0,),
    "mark": BRAKES,
    "match": BRAKES,
    "match, brief": BRAKES,
}


def run(variant, seed, quick, checkpoint):
    paid = variant["paid"]
    return learn(
        replace(PLAIN, kl_coef=variant["kl_coef"]),
        seed,
        quick,
        reward_fn=reward_fn(paid.removesuffix(BRIEF), brief=paid.endswith(BRIEF)),
        reference=warm_start("signs", seed=seed),
        steps=STEPS.get(paid, STEPS["else"]),
        moments=(0, 4, 8, 16),
        **DIALS,
    )


def end(rows, column, paid, kl_coef=0.0):
    """A column at the end of each seed, a mean of the last four rounds."""
    return final(rows, column, last=2, paid=paid, kl_coef=kl_coef)


def peak(rows, column, paid, kl_coef=0.0):
    """The highest row of each seed."""
    return per_seed(rows, column, paid=paid, kl_coef=kl_coef).max(1)


def true_throughout(rows, paid):
    """Of the right responses at the end, the share without a false equation."""
    return end(rows, "faithful", paid) / end(rows, "success", paid)


EXPERIMENT = Experiment(
    name="hacks",
    chapter=7,
    question={
        "zh": "奖励有漏洞时，学到的是什么？KL 能刹住吗？",
        "en": "The reward has a hole: what is learned, and does KL brake it?",
    },
    variants=tuple(
        {"paid": paid, "kl_coef": kl}
        for paid, coefficients in PAID.items()
        for kl in coefficients
    ),
    run=run,
    columns={
        "paid": "the verdict that is paid",
        "kl_coef": "coefficient of the KL penalty",
    }
    | COLUMNS
    | {"ref_kl": "k1 against the warm start, summed over a response"},
    settings={"task": "signs", "steps": STEPS, "every": 2, **DIALS},
    claims={
        "controls: the outcome ends above 0.86, four seeds of five above 0.94": (
            lambda rows: (
                end(rows, "success", "outcome").min() > 0.86
                and (end(rows, "success", "outcome") > 0.94).sum() == 4
            )
        ),
        "and with a charge for length above 0.88": lambda rows: (
            end(rows, "success", "outcome, brief").min() > 0.88
        ),
        "mark: paid above 0.99, right one time in four, in nine to ten tokens": (
            lambda rows: (
                end(rows, "reward", "mark").min() > 0.99
                and inside(end(rows, "success", "mark"), 0.2, 0.3)
                and inside(end(rows, "length", "mark"), 9, 10.1)
            )
        ),
        "match: paid above 0.98, right 0.15 less often than the outcome's arm": (
            lambda rows: (
                end(rows, "reward", "match").min() > 0.98
                and (
                    end(rows, "success", "match")
                    < end(rows, "success", "outcome") - 0.15
                ).all()
            )
        ),
        "KL 0.2 on match: right at least as often as without, and paid under 0.93": (
            lambda rows: (
                (
                    end(rows, "success", "match", 0.2)
                    > end(rows, "success", "match") - 0.01
                ).all()
                and end(rows, "reward", "match", 0.2).max() < 0.93
            )
        ),
        "KL on match, 0.04 or 0.2: every seed stays below the outcome's arm": (
            lambda rows: all(
                (
                    end(rows, "success", "match", kl)
                    < end(rows, "success", "outcome") - 0.03
                ).all()
                for kl in BRAKES
            )
        ),
        "match, brief: right rises above 0.73 and falls by over 0.35; the pay stays": (
            lambda rows: (
                peak(rows, "success", "match, brief").min() > 0.73
                and (
                    end(rows, "success", "match, brief")
                    < peak(rows, "success", "match, brief") - 0.35
                ).all()
                and (
                    end(rows, "reward", "match, brief")
                    > peak(rows, "reward", "match, brief") - 0.05
                ).all()
            )
        ),
        "and its length goes above 18, then back to some ten tokens": lambda rows: (
            peak(rows, "length", "match, brief").min() > 18
            and end(rows, "length", "match, brief").max() < 10.3
        ),
        "steps: over 24 tokens, the first try right under one time in eight": (
            lambda rows: (
                end(rows, "length", "steps").min() > 24
                and end(rows, "first_right", "steps").max() < 0.125
            )
        ),
        "steps: and yet over 0.92 end right": lambda rows: (
            end(rows, "success", "steps").min() > 0.92
        ),
        "anywhere: right rises above 0.87, then falls by over 0.14; the pay stays": (
            lambda rows: (
                peak(rows, "success", "anywhere").min() > 0.87
                and (
                    end(rows, "success", "anywhere")
                    < peak(rows, "success", "anywhere") - 0.14
                ).all()
                and end(rows, "reward", "anywhere").min() > 0.91
            )
        ),
        "anywhere: over four tokens longer than the outcome's arm, in every seed": (
            lambda rows: (
                end(rows, "length", "anywhere") > end(rows, "length", "outcome") + 4
            ).all()
        ),
        "KL on mark: four seeds of five stay below 0.39 right, one below 0.55": (
            lambda rows: all(
                (end(rows, "success", "mark", kl) < 0.39).sum() >= 4
                and end(rows, "success", "mark", kl).max() < 0.55
                for kl in BRAKES
            )
        ),
        "KL 0.04 on match, brief: above 0 in every seed, and below 0.65 all the same": (
            lambda rows: (
                (
                    end(rows, "success", "match, brief", 0.04)
                    > end(rows, "success", "match, brief")
                ).all()
                and end(rows, "success", "match, brief", 0.04).max() < 0.65
            )
        ),
        "KL on match, brief: 0.2 ends above 0 in every seed, and is paid less": (
            lambda rows: (
                (
                    end(rows, "success", "match, brief", 0.2)
                    > end(rows, "success", "match, brief")
                ).all()
                and (
                    end(rows, "reward", "match, brief", 0.2)
                    < end(rows, "reward", "match, brief")
                ).all()
            )
        ),
        "and stays below the arm whose verdict calculates": lambda rows: (
            end(rows, "success", "match, brief", 0.2)
            < end(rows, "success", "outcome, brief")
        ).all(),
        "a charge for length: more first tries are right than without, in every seed": (
            lambda rows: (
                end(rows, "first_right", "outcome, brief")
                > end(rows, "first_right", "outcome")
            ).all()
        ),
        "strict: of the right responses a larger share is wholly true": lambda rows: (
            true_throughout(rows, "strict") > true_throughout(rows, "outcome")
        ).all(),
    },
    speaks=True,
    message={
        "zh": "拿到的奖励一直涨，真正的正确率先涨后跌；KL 能减缓，改对判分才能根治。",
        "en": "What is paid rises, what is wanted falls: KL brakes, a verifier cures.",
    },
    shows=(("reward", "success"), ("length",)),
)
