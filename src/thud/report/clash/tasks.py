"""Tasks over threads, with progress, in the order of the tasks; an interruption leaves the rest undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

from thud._core.threads import check_threads, core_count

Task = TypeVar("Task")
Answer = TypeVar("Answer")

#: Called with what is being done, how much of it is done, and of how much.
Progress = Callable[[str, int, int], None]


def run_tasks(
    label: str,
    work: Callable[[Task], Answer],
    tasks: Sequence[Task],
    threads: int | None,
    progress: Progress | None,
    weights: Sequence[int] | None = None,
) -> list[Answer]:
    """`work` of each task. The kernels inside release the GIL; each is told to use one thread.

    weights : how much of the progress each task is
    """
    check_threads(threads)
    share = [1] * len(tasks) if weights is None else list(weights)
    total, done = sum(share), 0
    count = min(threads or core_count(), max(len(tasks), 1))

    def report() -> None:
        if progress is not None:
            progress(label, done, total)

    report()
    answers: list[Any] = [None] * len(tasks)
    if count == 1:
        for row, task in enumerate(tasks):
            answers[row] = work(task)
            done += share[row]
            report()
        return answers
    with ThreadPoolExecutor(count, thread_name_prefix="thud-check") as pool:
        futures: dict[Future[Answer], int] = {pool.submit(work, task): row for row, task in enumerate(tasks)}
        try:
            for future in as_completed(futures):
                answers[futures[future]] = future.result()
                done += share[futures[future]]
                report()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return answers
