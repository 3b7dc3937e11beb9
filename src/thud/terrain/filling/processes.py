"""Tiles made by several processes of this machine. Records come back here, where one process writes them."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from thud._core.threads import limit_cores
from thud.errors import InvalidInputError, WorkerError
from thud.terrain.filling.plan import Job
from thud.terrain.filling.tolerances import AHEAD, DEATHS
from thud.terrain.tiles.record import TileKey

_job: Job | None = None


def _start(data: bytes) -> None:
    """A worker begins: the job, and one core."""
    global _job
    limit_cores(1)
    _job = pickle.loads(data)


def _work(key: TileKey, piece: Any) -> bytes | None:
    assert _job is not None
    return _job(key, piece)


def pickled(job: Job) -> bytes:
    """A job as it is sent to workers; a named error for what cannot be."""
    try:
        return pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InvalidInputError(
            f"source: it cannot be sent to other processes ({error}); use workers=1, or a function of a module"
        ) from None


class Processes:
    """The runner of some processes. At most AHEAD tiles a worker are on their way, so that memory is bounded.

    Where workers are killed, others take their place and their tiles.
    """

    def __init__(self, workers: int) -> None:
        if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= 1024:
            raise InvalidInputError(f"workers: expected a number of processes from 1 to 1024, got {workers!r}")
        self.workers = workers

    def __call__(self, job: Job, tasks: Iterable[tuple[TileKey, Any]]) -> Iterator[tuple[TileKey, bytes | None]]:
        """Keys and records in the order in which they are done."""
        data, waiting, todo = pickled(job), iter(tasks), deque[tuple[TileKey, Any]]()
        deaths = 0
        while True:
            running: dict[Future[bytes | None], tuple[TileKey, Any]] = {}
            pool = self._pool(data)
            try:
                while True:
                    while len(running) < AHEAD * self.workers:
                        task = todo.popleft() if todo else next(waiting, None)
                        if task is None:
                            break
                        try:
                            running[pool.submit(_work, *task)] = task
                        except BrokenProcessPool:
                            todo.append(task)
                            raise
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        record = future.result()
                        key, _ = running.pop(future)
                        deaths = 0
                        yield key, record
            except BrokenProcessPool:
                todo.extend(running.values())
                deaths += 1
                if deaths > DEATHS:
                    keys = [tuple(key) for key, _ in todo][:4]
                    raise WorkerError(f"workers: they ended {deaths} times without a tile; they were at {keys}") from None
            finally:
                self._end(pool)

    def _pool(self, data: bytes) -> ProcessPoolExecutor:
        # Not by a fork: threads and maps of this process are its own.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.workers, mp_context=context, initializer=_start, initargs=(data,))

    def _end(self, pool: ProcessPoolExecutor) -> None:
        """Whatever workers are at is of no use to anybody now."""
        own = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in own:
            if process.pid is not None and process.pid != os.getpid():
                process.terminate()
        for process in own:
            process.join()
