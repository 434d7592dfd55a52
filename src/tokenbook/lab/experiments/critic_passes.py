"""Chapter 6: the critic takes eight passes over a batch, the policy only the first.

The counterpart of `critic once` in `signs-epochs`, with its large steps. Critic and
policy share a network, and in one arm the critic's later passes train its head alone.
"""

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._chain import COLUMNS
from tokenbook.lab.experiments.signs_epochs import DIALS, WATCHED, pass_by_pass

DIALS = DIALS | {"lr": 5e-4, "epochs": 8}


def run(variant, seed, quick, checkpoint):
    return pass_by_pass(variant | DIALS, seed, quick)


def end(rows, loss):
    """Success at the end of each seed, a mean of the last six iterations."""
    return final(rows, "success", last=3, loss=loss)


def distance(rows, loss):
    """The KL from the sampler of each seed, from the third iteration on."""
    return per_seed(rows, "kl", loss=loss)[:, 1:].mean(1)


EXPERIMENT = Experiment(
    name="critic-passes",
    chapter=6,
    question={
        "zh": "价值网络用八遍，策略只用一遍，还会训坏吗？",
        "en": "Eight passes for the critic and one for the policy: is there harm?",
    },
    variants=({"loss": "policy once"}, {"loss": "head alone"}),
    run=run,
    columns={
        "loss": "policy once: PPO's in the first pass, then that of the critic; "
        "head alone: the same, and the later passes train the value head only",
        "updates": "optimizer steps on a batch",
        **{name: f"as in signs-epochs: {name}" for name in WATCHED},
    }
    | {name: words for name, words in COLUMNS.items() if name != "reasons"},
    settings={"task": "signs", "algorithm": "PPO", "every": 2, **DIALS},
    claims={
        "through the shared network the critic's passes cost 0.07 in every seed": (
            lambda rows: (
                end(rows, "policy once") < end(rows, "head alone") - 0.07
            ).all()
        ),
        "of its head alone every seed ends at 0.9 or more": lambda rows: (
            end(rows, "head alone").min() > 0.9
        ),
        "the policy is moved, too: KL above 0.04, with the head alone below 0.01": (
            lambda rows: (
                distance(rows, "policy once").min() > 0.04
                and distance(rows, "head alone").max() < 0.01
            )
        ),
    },
)
