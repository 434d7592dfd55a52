"""Runs in several processes and on a cluster give the rows of one after the other."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from pandas.testing import assert_frame_equal

from tokenbook.__main__ import main
from tokenbook.lab import Experiment, run_experiment
from tokenbook.lab.experiment import experiment
from tokenbook.lab.store import load, path_of
from tokenbook.lab.sweep import sweep

PATIENT = 120  # seconds until a process that should be there counts as lost


def quietly(chosen, store, **dials):
    return run_experiment(
        chosen, store=store, report=lambda line: None, progress=False, **dials
    )


def numbers(chosen, store):
    """What is stored, by name of column, without what the clock says."""
    rows = load(path_of(chosen, store))[1]
    return rows[sorted(set(rows.columns) - {"seconds"})]


def marking(folder: Path, run) -> Experiment:
    """Two variants, three seeds; every run says in `folder` that it has started."""

    def marked(variant, seed, quick, checkpoint):
        name = f"{variant['x']}{seed}-{os.getpid()}"
        (Path(folder) / name).touch()
        run(variant["x"], seed, checkpoint)
        return [{"step": s, "success": 0.1 * s + seed} for s in (1, 2)]

    return Experiment(
        name="marking",
        chapter=0,
        question={"zh": "都跑了吗?", "en": "Has everything run?"},
        variants=({"x": "a"}, {"x": "b"}),
        run=marked,
        columns={"x": "which"},
        seeds=3,
    )


def started(folder: Path) -> list[str]:
    """Which runs have started, one word each time."""
    return sorted(file.name.partition("-")[0] for file in folder.iterdir())


@pytest.fixture
def marks(tmp_path):
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


ALL = ["a0", "a1", "a2", "b0", "b1", "b2"]


def test_two_processes_store_the_rows_of_one(tmp_path):
    chosen = experiment("sort-start")
    quietly(chosen, tmp_path / "one", quick=True, seeds=1)
    quietly(chosen, tmp_path / "two", quick=True, seeds=1, jobs=2)
    assert_frame_equal(
        numbers(chosen, tmp_path / "one"), numbers(chosen, tmp_path / "two")
    )
    assert load(path_of(chosen, tmp_path / "two"))[0]["versions"]["jobs"] == 2
    assert [p.suffix for p in (tmp_path / "two").iterdir()] == [".csv"]


def test_rows_are_stored_in_order_whoever_ends_first(tmp_path, marks):
    def slow_first(x, seed, checkpoint):
        import time

        time.sleep(1.0 if (x, seed) == ("a", 0) else 0)

    rows = quietly(marking(marks, slow_first), tmp_path, jobs=2)
    assert rows.seed.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert rows.x.tolist() == ["a", "a", "b", "b"] * 3
    assert started(marks) == ALL


def test_a_killed_worker_loses_its_current_run_and_nothing_else(tmp_path, marks):
    def killed_once(x, seed, checkpoint):
        import os
        import signal

        if (x, seed) == ("b", 1) and not checkpoint.exists():
            checkpoint.write_text("half of it")
            os.kill(os.getpid(), signal.SIGKILL)

    chosen = marking(marks, killed_once)
    quietly(chosen, tmp_path / "killed", jobs=2)
    again = started(marks)
    assert again.count("b1") == 2
    assert len(again) <= len(ALL) + 2  # the killed run, and what ran beside it
    assert [p.suffix for p in (tmp_path / "killed").iterdir()] == [".csv"]
    quietly(marking(marks, lambda *_: None), tmp_path / "one")
    assert_frame_equal(
        numbers(chosen, tmp_path / "killed"), numbers(chosen, tmp_path / "one")
    )


@pytest.mark.slow
def test_a_run_that_kills_every_worker_ends_in_a_sentence(tmp_path, marks, monkeypatch):
    def killed(x, seed, checkpoint):
        import os
        import signal

        if (x, seed) != ("a", 0):
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("tokenbook.lab.sweep.KILLED", 1)
    with pytest.raises(ValueError, match="killed 1 times in a row"):
        quietly(marking(marks, killed), tmp_path, jobs=2)


DRIVER = """
import sys
from pathlib import Path
from tokenbook.lab import Experiment, run_experiment

def run(variant, seed, quick, checkpoint):
    import os, time
    Path({folder!r}, str(os.getpid())).touch()
    time.sleep(600)

chosen = Experiment(name="sleeping", chapter=0, question={{}}, variants=({{"x": 1}},),
                    run=run, columns={{}})
try:
    run_experiment(chosen, jobs=2, store={folder!r} + "-store")
except KeyboardInterrupt:
    sys.exit(130)
"""


def of_group(group: int) -> list[str]:
    """What still runs in a process group, zombies aside."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            stat = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            if int(stat[2]) == group and stat[0] != "Z":
                found.append(entry)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("to_all", [True, False], ids=["Ctrl-C", "kill -INT"])
def test_ctrl_c_leaves_no_process(marks, to_all):
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER.format(folder=str(marks))],
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: len([*marks.iterdir()]) == 2)
    (os.killpg if to_all else os.kill)(driver.pid, signal.SIGINT)
    assert driver.wait(PATIENT) == 130
    wait_for(lambda: not of_group(driver.pid))


def wait_for(true):
    until = time.monotonic() + PATIENT
    while not true():
        assert time.monotonic() < until
        time.sleep(0.05)


# --- a cluster: a scheduler and workers, processes of their own ----------------


@contextmanager
def dask(*words):
    """A process of Dask's command line in a group of its own, as on its machine."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *words],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        for group in (process.pid, *children(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(group, signal.SIGKILL)
        process.wait()


def children(parent: int) -> list[int]:
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            stat = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            if int(stat[1]) == parent:
                found += [int(entry), *children(int(entry))]
    return found


def free_port() -> int:
    import socket

    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


@contextmanager
def scheduler():
    port = free_port()
    with dask("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-show"):
        yield f"tcp://127.0.0.1:{port}"


def worker(address, *, threads=1):
    words = ["worker", address, "--nthreads", str(threads), "--host", "127.0.0.1"]
    return dask(*words, "--no-dashboard")


def client_of(address):
    """Dask asserts that the thread of its loop starts in ten seconds: ask once more."""
    from dask.distributed import Client

    with suppress(AssertionError):
        return Client(address, timeout=PATIENT)
    return Client(address, timeout=PATIENT)


def workers_at(address, number):
    """Wait until the scheduler knows so many."""
    with client_of(address) as client:
        if number:
            client.wait_for_workers(number, timeout=PATIENT)


@pytest.mark.slow
def test_a_cluster_stores_the_rows_of_one_also_when_a_machine_dies(tmp_path, marks):
    def machines():
        return {file.name.partition("-")[2] for file in marks.iterdir()}

    def waits(x, seed, checkpoint):
        import time

        patience = time.monotonic() + PATIENT
        while len(machines()) < 2 and time.monotonic() < patience:
            time.sleep(0.1)  # however slowly the other machine starts
        time.sleep(0.5)

    chosen = marking(marks, waits)
    with (
        scheduler() as address,
        worker(address) as first,
        worker(address),
    ):
        workers_at(address, 2)
        ended = []

        def die_in_the_middle(line):
            ended.append(line)
            if len(ended) == 2:
                for process in (first.pid, *children(first.pid)):
                    os.kill(process, signal.SIGKILL)

        run_experiment(
            chosen,
            cluster=address,
            store=tmp_path / "cluster",
            report=die_in_the_middle,
            progress=False,
        )
        real = experiment("sort-start")
        quietly(real, tmp_path / "cluster", quick=True, seeds=1, cluster=address)
    assert len(machines()) == 2
    assert set(started(marks)) == set(ALL) and len(started(marks)) <= len(ALL) + 2
    quietly(marking(marks, lambda *_: None), tmp_path / "one")
    quietly(real, tmp_path / "one", quick=True, seeds=1)
    for this in (chosen, real):
        assert_frame_equal(
            numbers(this, tmp_path / "cluster"), numbers(this, tmp_path / "one")
        )
    assert load(path_of(real, tmp_path / "cluster"))[0]["versions"]["jobs"] == "cluster"


@pytest.mark.slow
def test_a_cluster_that_cannot_run_says_why(tmp_path, marks, monkeypatch):
    chosen = marking(marks, lambda *_: None)
    monkeypatch.setattr("tokenbook.lab.sweep.PATIENCE", "1s")
    nobody = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(ValueError, match="no scheduler answers at cluster"):
        quietly(chosen, tmp_path, cluster=nobody)
    with pytest.raises(ValueError, match="no scheduler answers at cluster"):
        quietly(chosen, tmp_path, cluster="here")
    with scheduler() as address:
        workers_at(address, 0)
        monkeypatch.setattr("tokenbook.lab.sweep.PATIENCE", f"{PATIENT}s")
        with pytest.raises(ValueError, match="has no worker; start them so: dask"):
            quietly(chosen, tmp_path, cluster=address)
        with worker(address, threads=2):
            workers_at(address, 1)
            with pytest.raises(ValueError, match="workers of several threads"):
                quietly(chosen, tmp_path, cluster=address)
    assert not started(marks)
    assert not [*tmp_path.glob(".*lock")]


class Answers:
    """A client of a scheduler that knows workers of so many threads each."""

    def __init__(self, *threads):
        self.threads = threads

    def __call__(self, address, timeout):
        if self.threads == (OSError,):
            raise OSError("timed out")
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def scheduler_info(self, n_workers):
        return {"workers": {n: {"nthreads": n} for n in self.threads}}


@pytest.mark.parametrize(
    ("client", "message"),
    [
        (Answers(OSError), r"no scheduler answers at cluster 'tcp://h:1' \(timed out"),
        (Answers(), "has no worker; start them so: dask"),
        (Answers(2), "workers of several threads"),
        (Answers(1, 2), "workers of several threads"),
    ],
    ids=["no scheduler", "no worker", "two threads", "one of two"],
)
def test_what_the_scheduler_answers_decides(monkeypatch, client, message):
    monkeypatch.setattr("dask.distributed.Client", client)
    with pytest.raises(ValueError, match=message):
        next(sweep(print, [({}, 0, True, Path())], cluster="tcp://h:1"))


def test_without_dask_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(ValueError, match=r'pip install "tokencredit\[cluster\]"'):
        next(sweep(print, [({}, 0, True, Path())], cluster="tcp://127.0.0.1:1"))


def test_a_machine_without_the_stores_folder_keeps_its_checkpoint_itself(tmp_path):
    seen = []

    def run(variant, seed, quick, checkpoint):
        seen.append(checkpoint)
        checkpoint.write_text("half")
        return [{"step": 1}]

    gone = tmp_path / "not here" / ".e-x=1 seed=0.pt"
    next(sweep(run, [({"x": 1}, 0, True, gone)]))
    assert seen[0].name == gone.name and not seen[0].exists()


def test_the_command_refuses_jobs_that_make_no_sense(capsys, tmp_path):
    run = ["lab", "run", "sort-start", "--out", str(tmp_path)]
    assert main([*run, "--jobs", "0"]) == 1
    assert "--jobs must be at least 1, got 0" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*run, "--jobs", "2", "--cluster", "tcp://127.0.0.1:8786"])
    assert "not allowed with" in capsys.readouterr().err
    with pytest.raises(ValueError, match="give jobs or cluster, not both"):
        next(sweep(print, [], jobs=2, cluster="tcp://127.0.0.1:8786"))
