"""Backends of the runs 在哪里跑: this process, several processes, a cluster.

One loop for all three: joblib, whose tasks Dask runs unchanged. Nothing is stored here;
the caller stores the rows that `sweep` yields.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError

KILLED = 3  # workers in a row that may be killed while no run ends
PATIENCE = "10s"  # for a scheduler to answer


def sweep(
    run: Callable,
    todo: list[tuple[dict, int, bool, Path]],
    *,
    jobs: int = 1,
    cluster: str | None = None,
) -> Iterator[tuple[dict, int, object, float]]:
    """Run all tasks, and yield each result as it ends.

    A killed worker loses its current run, which is resumed from its checkpoint: here in
    new processes, on a cluster by another worker.

    Args:
        run: as of an `Experiment`.
        todo: variant, seed, quick, checkpoint; the arguments of `run`.
        jobs: processes on this machine; 1 runs in this one, in order.
        cluster: ``tcp://HOST:PORT`` of a Dask scheduler instead.

    Yields:
        variant, seed, the result of `run`, CPU seconds.

    Raises:
        ValueError: `jobs` below 1, `jobs` beside `cluster`; a cluster that does not
            answer, has no workers, or workers of several threads; workers that were
            killed again and again.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    if cluster and jobs > 1:
        raise ValueError("give jobs or cluster, not both")
    left, killed = {(repr(v), seed): (v, seed, *more) for v, seed, *more in todo}, 0
    with workers(jobs, cluster) as parallel:
        while left:
            try:
                for result in parallel(
                    delayed(one_run)(run, *task) for task in [*left.values()]
                ):
                    del left[repr(result[0]), result[1]]
                    killed = 0
                    yield result
            except TerminatedWorkerError:
                killed += 1
                if killed == KILLED:
                    raise ValueError(
                        f"a worker was killed {KILLED} times in a row, perhaps for "
                        "memory: try fewer jobs; finished runs are stored"
                    ) from None


@contextmanager
def workers(jobs: int, cluster: str | None) -> Iterator[Parallel]:
    """Processes here, or those of a cluster; none is left at the end."""
    dials = {"batch_size": 1, "return_as": "generator_unordered"}
    if cluster is None:
        with Parallel(n_jobs=jobs, **dials) as parallel:
            yield parallel
        return
    try:
        from dask.distributed import Client
    except ImportError:
        raise ValueError(
            'cluster needs Dask: pip install "tokencredit[cluster]"'
        ) from None
    try:
        client = Client(cluster, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no scheduler answers at cluster {cluster!r} ({error}); "
            "start one: dask scheduler"
        ) from None
    with client:
        known = client.scheduler_info(n_workers=-1)["workers"].values()
        threads = {worker["nthreads"] for worker in known}
        if threads != {1}:
            lacks = "workers of several threads" if threads else "no worker"
            raise ValueError(
                f"cluster {cluster} has {lacks}; start them so: "
                f"dask worker {cluster} --nthreads 1 --nworkers 8"
            )
        with parallel_config(backend="dask"):
            yield Parallel(n_jobs=-1, pre_dispatch="all", **dials)


def one_run(
    run: Callable, variant: dict, seed: int, quick: bool, checkpoint: Path
) -> tuple[dict, int, object, float]:
    """One variant with one seed on one thread.

    On a machine without the store's folder the checkpoint is a temporary file, which is
    deleted at the end of the run.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    here = checkpoint
    if not checkpoint.parent.is_dir():
        here = Path(tempfile.gettempdir(), checkpoint.name)
    clock = time.process_time()
    try:
        rows = run(variant, seed, quick, here)
    finally:
        torch.set_num_threads(threads)
    if here != checkpoint:
        here.unlink(missing_ok=True)
    return variant, seed, rows, time.process_time() - clock
