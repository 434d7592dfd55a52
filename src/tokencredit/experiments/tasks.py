"""Chapter 13: two more tasks with responses of variable length, sort and addition."""

from dataclasses import replace
from functools import lru_cache

from ..algorithms import ALGORITHMS
from ..lab import Experiment, final, per_seed
from ..tasks import task
from ._chain import COLUMNS, learn_from, start

DIALS = {"steps": 80, "prompts": 64, "group_size": 4, "minibatches": 4, "lr": 5e-4}
TASKS = {"sort": task("sort"), "addition": task("addition")}
CORPUS = {
    "sort": [(replace(TASKS["sort"], sorted_share=1.0), 150, 3e-3)],
    "addition": [(replace(TASKS["addition"], columns=1.0), 400, 3e-3)],
}
"""First the responses worth learning, then 40 steps on the task's own mixed corpus."""


@lru_cache(maxsize=2)
def warm_start(name, seed, quick):
    goal = TASKS[name]
    return start(goal, [*CORPUS[name], (goal, 40, 1e-3)], seed, quick)


def run(variant, seed, quick, checkpoint):
    row = replace(ALGORITHMS[variant["algorithm"]], kl_coef=0.0)
    name = variant["task"]
    return learn_from(
        warm_start(name, seed, quick),
        TASKS[name],
        row,
        seed,
        quick,
        checkpoint,
        every=5,
        **DIALS,
    )


def end(rows, name, algorithm):
    """Success of each seed at the end, a mean of the last ten rounds."""
    return final(rows, "success", last=2, task=name, algorithm=algorithm)


def early(rows, name, algorithm):
    """Success of each seed over the first five rounds."""
    return per_seed(rows, "success", task=name, algorithm=algorithm)[:, 0]


EXPERIMENT = Experiment(
    name="tasks",
    chapter=13,
    question={
        "zh": "换成排序和加法，还学得会吗？",
        "en": "Does it learn sort and addition too?",
    },
    variants=tuple(
        {"task": name, "algorithm": algorithm}
        for name in TASKS
        for algorithm in ("GRPO", "REINFORCE")
    ),
    run=run,
    columns={"task": "sort or addition", "algorithm": "its row, without KL"}
    | {k: v for k, v in COLUMNS.items() if k != "reasons"},
    settings={"tasks": [repr(goal) for goal in TASKS.values()], "every": 5, **DIALS},
    claims={
        "sort: GRPO goes from under 0.03 to above 0.85 in every seed": lambda rows: (
            early(rows, "sort", "GRPO").max() < 0.03
            and end(rows, "sort", "GRPO").min() > 0.85
        ),
        "sort pays right places: without a baseline it stays below 0.6": lambda rows: (
            end(rows, "sort", "REINFORCE").max() < 0.6
        ),
        "addition: GRPO ends above 0.95 in four seeds of five, one at 0.67": (
            lambda rows: (
                (end(rows, "addition", "GRPO") > 0.95).sum() == 4
                and 0.65 < end(rows, "addition", "GRPO").min() < 0.7
            )
        ),
        "addition pays 1 or 0: REINFORCE ends above GRPO in every seed": lambda rows: (
            end(rows, "addition", "REINFORCE") > end(rows, "addition", "GRPO")
        ).all(),
        "every run takes less than 12 CPU seconds": lambda rows: (
            max(row["seconds"] for row in rows) < 12
        ),
    },
)
