"""Chapter 6: as many updates on a batch as four and eight passes make, in one pass.

All else is as in `signs-epochs` with its large steps. There a batch is cut into two
mini-batches of 128 responses, so more passes are also more updates. Here the same
updates are made of responses that are used once: in smaller mini-batches of as many
responses, or in mini-batches of 128 of eight times as many.
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
    dials = DIALS | {
        "prompts": variant["prompts"],
        "minibatches": 4 if quick else variant["minibatches"],
    }
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


def end(rows, arm, minibatches, prompts=32):
    """Success at the end of each seed, a mean of the last six iterations."""
    chosen = {"arm": arm, "prompts": prompts, "minibatches": minibatches}
    return final(rows, "success", last=3, **chosen)


EXPERIMENT = Experiment(
    name="updates-or-reuse",
    chapter=6,
    question={
        "zh": "用八遍也就更新了十六步；只用一遍、同样更新十六步，会训坏吗？",
        "en": "Eight passes are sixteen updates: do as many in one pass do harm?",
    },
    variants=tuple(
        {"arm": arm, "prompts": prompts, "minibatches": m}
        for prompts, m in ((256, 16), (32, 8), (32, 16))
        for arm in ARMS
    ),
    run=run,
    columns={
        "arm": "the algorithm; GRPO without KL",
        "prompts": "of an iteration, each with eight responses",
        "minibatches": "mini-batches of a batch, which are its updates",
    }
    | {name: words for name, words in COLUMNS.items() if name != "reasons"},
    settings={
        "task": "signs",
        "every": 2,
        **{x: DIALS[x] for x in DIALS if x not in ("minibatches", "prompts")},
    },
    claims={
        "PPO ends above 0.88 with 8 updates and above 0.78 with 16": lambda rows: (
            end(rows, "PPO", 8).min() > 0.88 and end(rows, "PPO", 16).min() > 0.78
        ),
        "16 updates on fresh responses end no lower than 0.92, in every seed": (
            lambda rows: min(end(rows, arm, 16, 256).min() for arm in ARMS) > 0.92
        ),
        "GRPO ends above 0.88 with 8 updates, and 16 end lower in every seed": (
            lambda rows: (
                end(rows, "GRPO", 8).min() > 0.88
                and (end(rows, "GRPO", 16) < end(rows, "GRPO", 8)).all()
            )
        ),
    },
    message={
        "zh": "十六步都用新回答，什么也没丢。",
        "en": "Sixteen updates on fresh responses cost nothing.",
    },
)
