"""Settings of the test run."""

from __future__ import annotations

import os
import sys
import time

import numba
import pytest
from hypothesis import settings

# In CI the examples are the same every time; at a developer's desk they differ, and find more over time.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("desk", deadline=None)
# Where kernels are checked for bounds, what counts is that every line runs.
settings.register_profile("small", derandomize=True, deadline=None, max_examples=15)
small = os.environ.get("THUD_TEST_SIZE") == "small"
settings.load_profile("small" if small else "ci" if os.environ.get("CI") else "desk")

#: Of the variants of one parametrised test so many run where every line must run once, not every case.
FEW_VARIANTS = 4


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before workers start on the whole suite, all kernels are compiled once, on all cores, instead of by each of them."""
    config = session.config
    whole = not config.option.collectonly and config.args in ([], [str(path) for path in config.getini("testpaths")])
    if hasattr(config, "workerinput") or not whole or numba.config.DISABLE_JIT:
        return
    import thud

    begin = time.perf_counter()
    kernels = thud.warmup(progress=sys.stderr.isatty())
    compiled = sum(kernel.compiled for kernel in kernels)
    print(f"{compiled} of {len(kernels)} kernels compiled in {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With THUD_TEST_SIZE=small, a few variants of each parametrised test, spread evenly from the first to the last."""
    if not small:
        return
    variants: dict[str, list[pytest.Item]] = {}
    for item in items:
        variants.setdefault(item.nodeid.split("[")[0], []).append(item)
    kept = set()
    for group in variants.values():
        step = max(1, -(-(len(group) - 1) // (FEW_VARIANTS - 1)))
        kept.update(id(item) for item in [*group[::step], group[-1]])
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]
