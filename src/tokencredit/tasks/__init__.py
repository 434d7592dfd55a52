"""Tasks (任务): prompts and verdicts behind one small protocol, and their registry."""

from .addition import Addition
from .chain import Chain
from .hindsight import Hindsight
from .protocol import EOS, Task, decode, encode
from .sort import NoteSort, Sort

__all__ = ["EOS", "TASKS", "Task", "decode", "encode", "task"]

TASKS = {
    "note-sort": NoteSort,
    "chain": Chain,
    "sort": Sort,
    "addition": Addition,
    "hindsight": Hindsight,
}


def task(name: str, **dials) -> Task:
    """The task of that name, with its dials.

    Raises:
        ValueError: an unknown name (the message lists the known ones).

    >>> task("chain", max_digits=3).gold("471=")
    '412#2$'
    """
    if name not in TASKS:
        raise ValueError(f"unknown task {name!r}; known: {', '.join(sorted(TASKS))}")
    return TASKS[name](**dials)
