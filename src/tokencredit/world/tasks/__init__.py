"""Tasks (任务): prompts and verdicts behind one small protocol, and their registry."""

from tokencredit.world.tasks.addition import Addition
from tokencredit.world.tasks.base import Task
from tokencredit.world.tasks.chain import Chain
from tokencredit.world.tasks.hindsight import Hindsight
from tokencredit.world.tasks.signs import Signs
from tokencredit.world.tasks.sort import NoteSort, Sort

__all__ = ["TASKS", "Task", "task"]

TASKS = {
    "note-sort": NoteSort,
    "chain": Chain,
    "sort": Sort,
    "addition": Addition,
    "hindsight": Hindsight,
    "signs": Signs,
}


def task(name: str, **dials) -> Task:
    """The task of that name 任务, with its dials.

    Args:
        name: a key of TASKS.
        dials: of the task.

    Returns:
        The task.

    Raises:
        ValueError: an unknown name (the message lists the known ones).

    >>> task("chain", max_digits=3).gold("471=")
    '412#2$'
    """
    if name not in TASKS:
        raise ValueError(f"unknown task {name!r}; known: {', '.join(sorted(TASKS))}")
    return TASKS[name](**dials)
