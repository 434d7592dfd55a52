"""Chapter 10: the last step of `dapo-ablation` taken apart, the filter without refills.

Both arms are DAPO up to the token loss. One also drops the groups that are all correct
or all incorrect and samples no others for them, so both sample as many responses.
"""

from dataclasses import replace

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._chain import COLUMNS, learn
from tokenbook.lab.experiments._signs import inside
from tokenbook.lab.experiments.dapo_ablation import DIALS, rows_so_far
from tokencredit.credit.filters import dynamic_sampling

WHOLE = rows_so_far()["+ token loss"]
ROWS = {"no filter": WHOLE, "filter": replace(WHOLE, keep=dynamic_sampling)}


def run(variant, seed, quick, checkpoint):
    return learn(ROWS[variant["arm"]], seed, quick, checkpoint, **DIALS)


def end(rows, arm, column="success"):
    """A column at the end of each seed, a mean of the last ten rounds."""
    return final(rows, column, last=2, arm=arm)


EXPERIMENT = Experiment(
    name="dapo-filter",
    chapter=10,
    question={
        "zh": "只丢掉没有信号的组，不补采，有什么变化？",
        "en": "Groups without a signal are dropped and not replaced: what changes?",
    },
    variants=tuple({"arm": arm} for arm in ROWS),
    run=run,
    columns={"arm": "whether groups of equal rewards are dropped"} | COLUMNS,
    settings={"task": "chain", "every": 5, **DIALS},
    claims={
        "both sample as many tokens, to one in a hundred, in every seed": lambda rows: (
            abs(
                final(rows, "tokens", arm="filter")
                / final(rows, "tokens", arm="no filter")
                - 1
            ).max()
            < 0.01
        ),
        "the filter is within 0.035 throughout, every seed": lambda rows: (
            abs(
                per_seed(rows, "success", arm="filter")
                - per_seed(rows, "success", arm="no filter")
            ).max()
            < 0.035
        ),
        "and ends within 0.02, every seed": lambda rows: (
            abs(end(rows, "filter") - end(rows, "no filter")).max() < 0.02
        ),
        "though it trains on 35 to 60 in a hundred of the responses": lambda rows: (
            inside(per_seed(rows, "kept", arm="filter").mean(1) / 256, 0.35, 0.6)
        ),
    },
)
