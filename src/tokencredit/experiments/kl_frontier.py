"""Chapter 7: GRPO with its KL term, beta from 0 to 1."""

from dataclasses import replace

from ..algorithms import ALGORITHMS
from ..lab import Experiment
from ._chain import COLUMNS, learn

DIALS = {"steps": 50, "prompts": 32, "group_size": 8, "lr": 1e-3}
NOTHING = 1e-12  # measures the KL without paying for it


def run(variant, seed, quick, checkpoint):
    row = replace(ALGORITHMS["GRPO"], kl_coef=variant["beta"] or NOTHING)
    return learn(row, seed, quick, checkpoint, **DIALS)


EXPERIMENT = Experiment(
    name="kl-frontier",
    chapter=7,
    question={
        "zh": "多少奖励要用多少 KL 来换？",
        "en": "How much reward does how much KL buy?",
    },
    variants=tuple({"beta": beta} for beta in (0.0, 0.01, 0.04, 0.2, 1.0)),
    run=run,
    columns={
        "beta": "KL coefficient; k3 in the loss, as in the paper (0.04)",
        "ref_kl": "KL of the sampler to the start, nats per answer, k1 on samples",
    }
    | COLUMNS,
    settings={"task": "chain", "row": "GRPO", "every": 5, **DIALS},
)
