"""All algorithms on the same task and budget, one row each in the table.

Every row of ALGORITHMS that needs no teacher starts from the stored warm start of its
seed and samples the same number of rounds. A number of a paper that belongs to another
scale is changed in `SCALES`. A row without an entry there runs unchanged.
"""

from dataclasses import replace

import numpy as np

from tokenbook.lab import Experiment, final, per_seed, spread
from tokenbook.lab.experiments._signs import COLUMNS, DIALS, SCALED, WORDS, learn
from tokencredit.algorithms import ALGORITHMS

DIALS = DIALS | {"steps": 40}
SCALES = SCALED | {"GRPO + IcePop": SCALED["GRPO + TIS"]}
ROWS = [name for name, row in ALGORITHMS.items() if not row.taught]
ICEPOP = "; GRPO + IcePop: as GRPO + TIS"
SLOW = ("RLOO", "PPO", "StarPO-S")  # miss 95 % in one seed


def run(variant, seed, quick, checkpoint):
    name = variant["algorithm"]
    row = replace(ALGORITHMS[name], **SCALES.get(name, {}))
    return learn(row, seed, quick, every=5, **DIALS)


def first(rows, column, level, **values):
    """`column` at the first window whose success reaches `level`, per seed, or NaN."""
    success = per_seed(rows, "success", **values)
    numbers = per_seed(rows, column, **values)
    hit = success >= level
    return np.where(hit.any(1), numbers[np.arange(len(hit)), hit.argmax(1)], np.nan)


def table(rows) -> str:
    """Markdown: medians over the seeds, their range in brackets."""
    lines = [
        "| algorithm | final success | 1000 tokens to 90 % | CPU s to 95 % "
        "| seeds at 95 % | CPU s | tokens/s | s/round |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in rows["algorithm"].unique():
        pick = {"algorithm": name}
        to95 = first(rows, "seconds", 0.95, **pick)
        tokens = first(rows, "tokens", 0.9, **pick) / 1000
        seconds = per_seed(rows, "seconds", **pick)[:, -1]
        speed = per_seed(rows, "tokens", **pick)[:, -1] / seconds
        rounds = per_seed(rows, "step", **pick)[:, -1]
        lines.append(
            f"| {name} | {spread(end(rows, name))} | {_range(tokens, 0)} "
            f"| {_range(to95, 1)} | {np.isfinite(to95).sum()}/{len(to95)} "
            f"| {np.median(seconds):.0f} | {np.median(speed):.0f} "
            f"| {np.median(seconds / rounds):.3f} |"
        )
    return "\n".join(lines)


def end(rows, name):
    """Success of each seed at the end, a mean of the last ten rounds."""
    return final(rows, "success", last=2, algorithm=name)


def _range(numbers, digits) -> str:
    """Median and range of the known numbers as text; a dash if there are none."""
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return "-"
    low, middle, high = known.min(), np.median(known), known.max()
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


EXPERIMENT = Experiment(
    name="algorithms",
    chapter=13,
    question={
        "zh": "同一任务、同一预算，各算法如何？",
        "en": "The same task and budget: how does every algorithm do?",
    },
    variants=tuple({"algorithm": name} for name in ROWS),
    run=run,
    columns={"algorithm": "the row of ALGORITHMS"} | COLUMNS,
    settings={"task": "signs", "every": 5, "scaled": WORDS + ICEPOP, **DIALS},
    claims={
        "fifteen rows reach 95 % in every seed, within 20 CPU seconds": lambda rows: (
            all(
                first(rows, "seconds", 0.95, algorithm=name).max() < 20
                for name in ROWS
                if name not in SLOW
            )
            and len(ROWS) == 15 + len(SLOW)
        ),
        "RLOO, PPO and StarPO-S miss it in one seed of five, the same one": (
            lambda rows: all(
                np.isnan(first(rows, "step", 0.95, algorithm=name)).nonzero()[0] == [3]
                for name in SLOW
            )
        ),
        "every row ends above 0.91 in every seed": lambda rows: all(
            end(rows, name).min() > 0.91 for name in ROWS
        ),
        "PPO's median is the lowest of all, and above 0.95": lambda rows: (
            0.95
            < np.median(end(rows, "PPO"))
            < min(np.median(end(rows, name)) for name in ROWS if name != "PPO")
        ),
        "DAPO's worst seed is above 0.97, nobody else's above 0.951": lambda rows: all(
            end(rows, "DAPO").min() > 0.97 and end(rows, name).min() <= 0.951
            for name in ROWS
            if name != "DAPO"
        ),
        "DAPO samples more than twice the tokens of GRPO": lambda rows: (
            final(rows, "tokens", algorithm="DAPO")
            > 2 * final(rows, "tokens", algorithm="GRPO")
        ).all(),
        "nothing pays for length, and every row ends above 17 tokens, from 11": (
            lambda rows: all(
                final(rows, "length", last=2, algorithm=name).min() > 17
                for name in ROWS
            )
        ),
        "length tells no aggregation apart: GRPO and Dr. GRPO end within a token": (
            lambda rows: (
                abs(
                    final(rows, "length", last=2, algorithm="GRPO")
                    - final(rows, "length", last=2, algorithm="Dr. GRPO")
                ).max()
                < 1
            )
        ),
        "DAPO ends with under 2 different first tries to a prompt, GSPO with over 3": (
            lambda rows: (
                final(rows, "distinct", last=2, algorithm="DAPO").max() < 2
                and final(rows, "distinct", last=2, algorithm="GSPO").min() > 3
            )
        ),
    },
    speaks=True,
    message={
        "zh": "同一起点、同一预算：每一行都学会了再试一次。",
        "en": "The same start and budget: every row learns to try again.",
    },
    shows=(("success", "gives_up"),),
    table=table,
)
