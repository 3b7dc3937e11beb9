"""`thud.warmup()`: compile every kernel once, so that later processes only load them."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from thud.errors import InvalidInputError, ThudError

#: What a file of the package holds that defines kernels.
_MARK = b"from thud._core.decorators import"

#: Groups of kernels, in the order of the layers.
GROUPS = ("convex", "mesh", "heightfield", "world", "terrain", "particles", "imagespace", "dynamics")

#: Groups that modules below `thud` are in, the first row that fits; what fits none is convex. Some are of use to several.
_MODULES = (
    (GROUPS, ("math.pose_rows",)),
    (("heightfield",), ("heightfield.*", "bvh.height_tree")),
    (("terrain",), ("terrain.*",)),
    (("dynamics",), ("dynamics.*",)),
    (("particles",), ("particles.*",)),
    (("imagespace",), ("imagespace.*",)),
    (("world",), ("broadphase.*", "world.*")),
    (("mesh", "world", "terrain", "particles", "imagespace"), ("bvh.radix", "bvh.morton_tree", "bvh.edge_table")),
    (("convex", "mesh"), ("geometry.rays", "convex.rows.distance")),
    (("mesh",), ("bounds.*", "bvh.*", "mesh.*", "partitions.*", "geometry.mesh", "geometry.triangle_*", "report.*")),
)


class WarmKernel(NamedTuple):
    """One kernel and how long it took."""

    name: str
    seconds: float
    compiled: bool
    """False if it was there already."""


class KernelState(NamedTuple):
    """One kernel and whether it is there."""

    name: str
    group: str
    bytes: int | None
    """What is stored of it; None if it would be compiled."""


def kernel_modules() -> list[str]:
    """Names of all modules of the package that define kernels, found by what their files hold."""
    package = Path(__file__).parent
    files = [path for path in sorted(package.rglob("*.py")) if _MARK in path.read_bytes()]
    return [".".join(("thud", *path.relative_to(package).with_suffix("").parts)) for path in files if path != Path(__file__)]


def groups_of(name: str) -> tuple[str, ...]:
    """The groups of a kernel, the one where it is at home first."""
    module = name.removeprefix("thud.").rsplit(".", 1)[0]
    fitting = (groups for groups, patterns in _MODULES if any(fnmatchcase(module, pattern) for pattern in patterns))
    return next(fitting, ("convex",))


def check_groups(groups: Sequence[str]) -> set[str]:
    """The groups that are meant, all of them for none; a named error for one that does not exist."""
    for group in groups:
        if not isinstance(group, str) or group not in GROUPS:
            raise InvalidInputError(f"groups: expected some of {', '.join(GROUPS)}, got {group!r}")
    return set(groups or GROUPS)


def _registry(groups: set[str]) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Kernels of the groups by name: dispatcher and argument types."""
    from thud._core import decorators

    for module in kernel_modules():
        importlib.import_module(module)
    found = {
        name: row
        for name, row in decorators.REGISTRY.items()
        if name.startswith("thud.") and not groups.isdisjoint(groups_of(name))
    }
    return {name: (dispatcher, decorators.resolve_signature(text)) for name, (dispatcher, text) in found.items()}


def kernel_states(*groups: str) -> list[KernelState]:
    """All kernels of the groups (none: of all), by the first of these that they are in, and whether they are there."""
    asked = check_groups(groups)
    found = _registry(asked)
    return [
        KernelState(name, next(group for group in groups_of(name) if group in asked), dispatcher._cache.stored(arguments))
        for name, (dispatcher, arguments) in found.items()
    ]


def warmup(
    *groups: str, progress: bool | Callable[[int, int, str], None] = True, processes: int | None = None
) -> list[WarmKernel]:
    """Compile all kernels that are not there yet, so that no later call of any process waits for them.

    Parameters
    ----------
    groups : some of "convex", "mesh", "world", "terrain", "particles", "imagespace"; none means all
    progress : True prints a progress line on stderr; False is silent; a function is called with (done, total, name)
    processes : how many compile at the same time, at low priority; default one a core. With 1, this process compiles.

    Returns
    -------
    One entry a kernel, in order.
    """
    from thud._core import store
    from thud._core.threads import core_count

    report = progress if callable(progress) else (_print_progress if progress else _no_progress)
    found = _registry(check_groups(groups))
    if processes is None:
        processes = core_count()
    elif isinstance(processes, bool) or not isinstance(processes, int) or processes < 1:
        raise InvalidInputError(f"processes: expected a whole number of at least 1, got {processes!r}")
    results = {
        name: WarmKernel(name, 0.0, False)
        for name, (dispatcher, arguments) in found.items()
        if dispatcher._cache.stored(arguments) is not None
    }
    missing = [name for name in found if name not in results]
    total = len(found)

    def done(kernel: WarmKernel) -> None:
        results[kernel.name] = kernel
        report(len(results), total, kernel.name)

    report(len(results), total, "")
    # Workers hand over what they compiled through the store; one that is this process's own they do not share.
    if processes == 1 or len(missing) < 2 or store.user_store().private:
        for name in missing:
            report(len(results), total, name)
            done(compile_kernel(name))
    else:
        _Schedule(missing, done).run(processes)
    if missing:
        report(total, total, "")
    return [results[name] for name in found]


def compile_kernel(name: str) -> WarmKernel:
    """Load or compile one kernel of the registry."""
    from thud._core import decorators, notice

    importlib.import_module(name.rsplit(".", 1)[0])
    dispatcher, signature = decorators.REGISTRY[name]
    was_silent, notice.listener.silent = notice.listener.silent, True
    begin = time.perf_counter()
    try:
        dispatcher.compile(decorators.resolve_signature(signature))
    finally:
        notice.listener.silent = was_silent
    return WarmKernel(name, time.perf_counter() - begin, not dispatcher.stats.cache_hits)


class _Schedule:
    """Kernels over worker processes: each after the inner kernels that it calls, so that these are compiled once.

    Workers find in the store what others have compiled.
    """

    def __init__(self, names: list[str], done: Callable[[WarmKernel], None]) -> None:
        from thud._core import decorators, kernel_key

        missing = set(names)
        self._done = done
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        self._running = 0
        self._workers: list[subprocess.Popen[str]] = []
        self._waits: dict[str, set[str]] = {}
        self._size: dict[str, int] = {}
        for name in names:
            nodes = kernel_key.reach(decorators.REGISTRY[name][0].py_func)
            self._waits[name] = {node.name for node in nodes} & missing - {name}
            self._size[name] = sum(node.size for node in nodes)

    def run(self, processes: int) -> None:
        """Until every kernel is there."""
        threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(min(processes, len(self._waits)))]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException as interrupt:
            # Workers would finish what they are at; what they stored is whole.
            with self._changed:
                self._error = interrupt
                for worker in self._workers:
                    worker.kill()
                self._changed.notify_all()
            raise
        if self._error is not None:
            raise self._error

    def _next(self) -> str | None:
        """A kernel that waits for none, the largest first; None when all are taken."""
        with self._changed:
            while self._waits and self._error is None:
                ready = [name for name, waits in self._waits.items() if not waits]
                if ready:
                    name = max(ready, key=self._size.__getitem__)
                    del self._waits[name]
                    self._running += 1
                    return name
                if not self._running:
                    # Kernels that call each other: any of them is as good as another.
                    next(iter(self._waits.values())).clear()
                    continue
                self._changed.wait()
        return None

    def _finish(self, kernel: WarmKernel) -> None:
        with self._changed:
            self._running -= 1
            for waits in self._waits.values():
                waits.discard(kernel.name)
            self._done(kernel)
            self._changed.notify_all()

    def _serve(self) -> None:
        """Hand kernels to one worker process."""
        worker = None
        try:
            worker = subprocess.Popen(
                [sys.executable, "-m", "thud.warm"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=_environment(),
            )
            with self._changed:
                self._workers.append(worker)
            assert worker.stdin is not None
            assert worker.stdout is not None
            while (name := self._next()) is not None:
                worker.stdin.write(name + "\n")
                worker.stdin.flush()
                answer = worker.stdout.readline()
                if not answer:
                    raise ThudError(f"warmup: the process that compiled {name} ended with code {worker.wait()}")
                self._finish(WarmKernel(*json.loads(answer)))
        except BaseException as error:
            with self._changed:
                self._error = self._error or error
                self._changed.notify_all()
        finally:
            if worker is not None:
                assert worker.stdin is not None
                with contextlib.suppress(OSError):
                    worker.stdin.close()
                worker.wait()


def _environment() -> dict[str, str]:
    """The environment, with this very package first on the path."""
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONPATH": path}


def _work() -> None:
    """A worker process: names of kernels on standard input, what became of them on standard output."""
    if hasattr(os, "nice"):
        os.nice(10)
    # The process that started this one is told too, and ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        print(json.dumps(compile_kernel(line.strip())), flush=True)


def _no_progress(done: int, total: int, name: str) -> None:
    """Say nothing."""


def _print_progress(done: int, total: int, name: str) -> None:
    bar = "#" * (30 * done // max(total, 1))
    end = "\n" if done == total else ""
    print(f"\r[{bar:<30}] {done}/{total} {name:<60.60}", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    _work()
