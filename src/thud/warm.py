"""`thud.warmup()`: compile every kernel once, so that later processes only load them."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

#: Packages below which kernels live.
_KERNEL_PACKAGES = (
    "geometry",
    "bounds",
    "bvh",
    "broadphase",
    "narrowphase",
    "continuous",
    "terrain",
    "imagespace",
    "particles",
)


class WarmKernel(NamedTuple):
    """One kernel and how long it took."""

    name: str
    seconds: float
    compiled: bool
    """False if it came from the cache."""


def kernel_modules() -> list[str]:
    """Names of all modules that may define kernels."""
    names = []
    for package in _KERNEL_PACKAGES:
        try:
            module = importlib.import_module(f"thud.{package}")
        except ModuleNotFoundError:
            continue
        names += [info.name for info in pkgutil.iter_modules(module.__path__, f"thud.{package}.")]
    return names


def warmup(progress: bool | Callable[[int, int, str], None] = True) -> list[WarmKernel]:
    """Compile all kernels, or load them from the cache.

    Parameters
    ----------
    progress : True prints a progress line on stderr; False is silent; a function is called with (done, total, name)

    Returns
    -------
    One entry a kernel, in order.
    """
    from thud import _jit

    report = progress if callable(progress) else (_print_progress if progress else _no_progress)
    for name in kernel_modules():
        importlib.import_module(name)
    was_silent, _jit.compile_notice.silent = _jit.compile_notice.silent, True
    results = []
    try:
        total = len(_jit.REGISTRY)
        for done, (name, (dispatcher, signature)) in enumerate(_jit.REGISTRY.items()):
            report(done, total, name)
            begin = time.perf_counter()
            dispatcher.compile(_jit.resolve_signature(signature))
            seconds = time.perf_counter() - begin
            results.append(WarmKernel(name, seconds, not sum(dispatcher.stats.cache_hits.values())))
        report(total, total, "")
    finally:
        _jit.compile_notice.silent = was_silent
    return results


def _no_progress(done: int, total: int, name: str) -> None:
    """Say nothing."""


def _print_progress(done: int, total: int, name: str) -> None:
    bar = "#" * (30 * done // max(total, 1))
    end = "\n" if done == total else ""
    print(f"\r[{bar:<30}] {done}/{total} {name:<60.60}", end=end, file=sys.stderr, flush=True)
