"""A class graded in several processes, each with a sandbox of its own.

Not a pool of the standard library: if a submission kills its grader, the process is
replaced and the submission flagged, and no other student loses a mark.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import wait
from pathlib import Path

from tokenbook.homework.grading import Result, failed, grade_student, opened
from tokenbook.homework.intake import Submission
from tokenbook.homework.source import Homework


def grade_all(
    homework: Homework,
    todo: list[Submission],
    hidden: list,
    seconds: float,
    jobs: int,
    lang: str = "",
) -> Iterator[Result]:
    """Yield every submission's result as it ends; results do not depend on `jobs`.

    `lang` is the language of the feedback, that of each notebook where it is empty.

    Raises:
        OSError: this system cannot keep students' processes apart at all.
    """
    with tempfile.TemporaryDirectory(
        prefix="class-", ignore_cleanup_errors=True
    ) as folder:
        os.chmod(folder, 0o711)
        if jobs == 1 or len(todo) < 2:
            with opened(homework, hidden, seconds, folder) as sandbox:
                for submission in todo:
                    yield grade_student(submission, homework, sandbox, lang)
            return
        arguments = (homework, hidden, seconds, folder, lang)
        lanes = [Lane(arguments) for _ in range(min(jobs, len(todo)))]
        try:
            yield from through(lanes, deque(todo), homework)
        finally:
            for lane in lanes:
                lane.end()


def through(lanes: list, todo: deque, homework: Homework) -> Iterator[Result]:
    """Give each free process the next submission until all have their result."""
    for lane in lanes:
        lane.take(todo)
    while busy := {lane.pipe: lane for lane in lanes if lane.submission}:
        for pipe in wait(list(busy)):
            lane = busy[pipe]
            try:
                result = pipe.recv()
            except (EOFError, OSError):
                error = RuntimeError("the grader's process ended")
                result = failed(lane.submission, homework, error)
                lane.start()
            yield result
            lane.take(todo)


class Lane:
    """One process and the submission that it has."""

    def __init__(self, arguments: tuple):
        self.arguments, self.submission = arguments, None
        self.start()

    def start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=work, args=(theirs, *self.arguments))
        self.process.start()
        theirs.close()

    def take(self, todo: deque) -> None:
        self.submission = todo.popleft() if todo else None
        with contextlib.suppress(OSError):  # `through` sees that it has ended
            self.pipe.send(self.submission)

    def end(self) -> None:
        """End the process and the students' processes under it."""
        if self.submission:
            self.process.terminate()
        self.process.join(30)
        self.process.kill()
        self.process.join()
        self.pipe.close()


def work(
    pipe, homework: Homework, hidden: list, seconds: float, folder: Path, lang: str
) -> None:
    """Loop of a process: grade the submissions from the pipe until None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sandboxes = opened(homework, hidden, seconds, folder)
    with contextlib.suppress(EOFError), sandboxes as sandbox:
        while submission := pipe.recv():
            pipe.send(grade_student(submission, homework, sandbox, lang))
