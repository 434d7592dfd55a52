"""Chapter 6: as many updates on a batch as four and eight passes make, in one pass.

All else is as in `signs-epochs` with its large steps. There a batch is cut into two
mini-batches, so more passes are also more updates; here more, smaller mini-batches make
the same updates of responses that are used once.
"""

from tokenbook.lab import Experiment, final
from tokenbook.lab.experiments._chain import COLUMNS, learn_from
from tokenbook.lab.experiments._signs import PLAIN
from tokenbook.lab.experiments.signs_epochs import DIALS
from tokencredit.algorithms import ALGORITHMS
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks import task

DIALS = DIALS | {"lr": 5e-4, "epochs": 1}
ARMS = {"PPO": ALGORITHMS["PPO"], "GRPO": PLAIN}


def run(variant, seed, quick, checkpoint):
    dials = DIALS | {"minibatches": 4 if quick else variant["minibatches"]}
    start, goal = warm_start("signs", seed=seed), task("signs")
    return learn_from(
        start,
        goal,
        ARMS[variant["arm"]],
        seed,
        quick,
        None,
        every=2,
        measure={},
        **dials,
    )


def end(rows, arm, minibatches):
    """Success at the end of each seed, a mean of the last six iterations."""
    return final(rows, "success", last=3, arm=arm, minibatches=minibatches)


EXPERIMENT = Experiment(
    name="updates-or-reuse",
    chapter=6,
    question={
        "zh": "用八遍也就更新了十六步；只用一遍、同样更新十六步，会训坏吗？",
        "en": "Eight passes are sixteen updates: do as many in one pass do harm?",
    },
    variants=tuple({"arm": arm, "minibatches": m} for arm in ARMS for m in (8, 16)),
    run=run,
    columns={
        "arm": "the algorithm; GRPO without KL",
        "minibatches": "mini-batches of a batch, which are its updates",
    }
    | {name: words for name, words in COLUMNS.items() if name != "reasons"},
    settings={
        "task": "signs",
        "every": 2,
        **{name: x for name, x in DIALS.items() if name != "minibatches"},
    },
    claims={
        "PPO ends above 0.88 with 8 updates and above 0.78 with 16": lambda rows: (
            end(rows, "PPO", 8).min() > 0.88 and end(rows, "PPO", 16).min() > 0.78
        ),
        "GRPO ends above 0.88 with 8 updates, and 16 end lower in every seed": (
            lambda rows: (
                end(rows, "GRPO", 8).min() > 0.88
                and (end(rows, "GRPO", 16) < end(rows, "GRPO", 8)).all()
            )
        ),
    },
    message={
        "zh": "更新同样多而不重复用，PPO 只丢掉很少。",
        "en": "As many updates without reuse cost PPO little.",
    },
)
