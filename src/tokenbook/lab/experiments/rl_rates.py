"""Chapter 16: RL of `distillation` at two larger learning rates, the baseline tuned."""

from tokenbook.lab import Experiment, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, PLAIN, learn

RATES = (1e-3, 1.5e-3)
DIALS = {name: x for name, x in DIALS.items() if name != "lr"} | {"steps": 20}


def run(variant, seed, quick, checkpoint):
    return learn(PLAIN, seed, quick, every=1, moments=(), **DIALS | variant)[0]


def after(rows, iterations, lr):
    """Success of each seed after a number of iterations."""
    return per_seed(rows, "success", lr=lr)[:, iterations]


EXPERIMENT = Experiment(
    name="rl-rates",
    chapter=16,
    question={
        "zh": "强化学习的学习率放大两三倍，开头有多快？",
        "en": "How fast does RL start at two and three times the learning rate?",
    },
    variants=tuple({"lr": lr} for lr in RATES),
    run=run,
    columns={"lr": "learning rate of Adam"} | COLUMNS,
    settings={"task": "signs", **DIALS},
    claims={
        "after two iterations above 0.8 on average": lambda rows: all(
            after(rows, 2, lr).mean() > 0.8 for lr in RATES
        ),
    },
    message={
        "zh": "学习率调过以后，强化学习开头与蒸馏一样快。",
        "en": "With its rate tuned, RL starts as fast as distillation.",
    },
    shows=(("success",),),
)
