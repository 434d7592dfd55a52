"""Chapter 11: the gates of `reuse-ratio`, at two smaller and a larger learning rate."""

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._signs import COLUMNS, learn
from tokenbook.lab.experiments.reuse_ratio import DIALS, ROWS

GATES = ("no gate", "GRPO", "GSPO", "CISPO")
TINY, LOW, HIGH = RATES = (5e-5, 1.5e-4, 1.5e-3)  # reuse-ratio has 5e-4
DIALS = {name: x for name, x in DIALS.items() if name != "lr"}


def run(variant, seed, quick, checkpoint):
    return learn(ROWS[variant["gate"]], seed, quick, **DIALS | {"lr": variant["lr"]})[0]


def end(rows, gate, lr, column="success"):
    """A column of each seed, a mean of the last six iterations."""
    return final(rows, column, last=3, gate=gate, lr=lr)


def start(rows, gate, lr, column="success"):
    """A column of each seed, a mean of the first four iterations."""
    return per_seed(rows, column, gate=gate, lr=lr)[:, :2].mean(1)


EXPERIMENT = Experiment(
    name="gate-rates",
    chapter=11,
    question={
        "zh": "学习率缩小到十分之一、三分之一，放大到三倍，门控的名次还一样吗？",
        "en": "A tenth, a third, three times the rate: do the gates still rank alike?",
    },
    variants=tuple({"gate": gate, "lr": lr} for lr in RATES for gate in GATES),
    run=run,
    columns={"gate": "as in reuse-ratio", "lr": "learning rate of Adam"} | COLUMNS,
    settings={"task": "signs", "every": 2, **DIALS},
    claims={
        "at a third no gate and CISPO begin ahead of GRPO, GRPO of GSPO, every seed": (
            lambda rows: all(
                (start(rows, first, LOW) > start(rows, second, LOW)).all()
                for first, second in (
                    ("no gate", "GRPO"),
                    ("CISPO", "GRPO"),
                    ("GRPO", "GSPO"),
                )
            )
        ),
        "and GSPO ends below the other three in every seed": lambda rows: all(
            (end(rows, gate, LOW) > end(rows, "GSPO", LOW)).all()
            for gate in ("no gate", "GRPO", "CISPO")
        ),
        "no gate and CISPO end level with GRPO: neither leads in every seed": (
            lambda rows: all(
                (end(rows, gate, LOW) > end(rows, "GRPO", LOW)).sum() in range(1, 5)
                for gate in ("no gate", "CISPO")
            )
        ),
        "at a tenth every gate ends lower than at a third, no gate in four seeds": (
            lambda rows: all(
                (end(rows, gate, TINY) < end(rows, gate, LOW)).sum()
                == (4 if gate == "no gate" else 5)
                for gate in GATES
            )
        ),
        "and GSPO ends below 0.7 there, the other three at 0.89 or more": lambda rows: (
            end(rows, "GSPO", TINY).max() < 0.7
            and all(
                end(rows, gate, TINY).min() > 0.89 for gate in GATES if gate != "GSPO"
            )
        ),
        "at three times the rate both end 0.15 below GRPO and GSPO in every seed": (
            lambda rows: all(
                (end(rows, gate, HIGH) > end(rows, none, HIGH) + 0.15).all()
                for gate in ("GRPO", "GSPO")
                for none in ("no gate", "CISPO")
            )
        ),
    },
    message={
        "zh": "学习率小，没有门控也不吃亏；学习率大，有门控的才守得住。",
        "en": "At a small rate no gate is no loss; at a large one only gates hold.",
    },
    shows=(("success", "no_gradient"),),
)
