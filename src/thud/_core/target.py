"""The processor that kernels are compiled for: the host, or a level that many machines have.

A level is a processor name and a feature list. The name matters beside the list: LLVM schedules and picks vector widths by
it (hull pairs took 0.24 us compiled for `haswell`, 0.36 us for `x86-64-v3` with the same list).

`THUD_TARGET=avx2` pins a level, so that two machines compile the same machine code and give the same bytes.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba

from thud.errors import InvalidInputError

#: Numba's settings; untyped, since they are made from the environment.
_config: Any = numba.config


class Level(NamedTuple):
    """A kind of processor."""

    name: str
    processor: str
    """LLVM's name of a processor of this level, whose costs and latencies are assumed."""
    features: tuple[str, ...]
    """All that its code may use, LLVM's names."""


_SSE42 = ("64bit", "cmov", "cx16", "cx8", "fxsr", "mmx", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3")
_AVX2 = (*_SSE42, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_AVX512 = (*_AVX2, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

#: From the least to the most demanding.
LEVELS = (
    Level("sse4.2", "x86-64-v2", _SSE42),
    Level("avx2", "haswell", _AVX2),
    Level("avx512", "skylake-avx512", _AVX512),
)

_BY_NAME = {level.name: level for level in LEVELS}


def feature_text(level: Level) -> str:
    """The level's features as LLVM reads them."""
    return ",".join(f"+{feature}" for feature in sorted(level.features))


def fits_host(level: Level) -> bool:
    """Whether this machine can run code of the level."""
    if not llvm.get_process_triple().startswith("x86_64"):
        return False
    host = llvm.get_host_cpu_features()
    return all(host.get(feature, False) for feature in level.features)


def pinned_level() -> Level | None:
    """The level that THUD_TARGET names; None for the host."""
    name = os.environ.get("THUD_TARGET", "host") or "host"
    if name == "host":
        return None
    level = _BY_NAME.get(name)
    if level is None:
        raise InvalidInputError(f"THUD_TARGET: expected host, {', '.join(_BY_NAME)}, got {name!r}")
    if not fits_host(level):
        raise InvalidInputError(f"THUD_TARGET: this processor does not have all of level {name!r}; use a lower one, or host")
    return level


def pin() -> None:
    """Have Numba compile for the level that THUD_TARGET names. Called before the first kernel is decorated.

    Numba has one code generator a process, so this holds for other packages' functions too.
    """
    level = pinned_level()
    if level is None:
        return
    # In the environment as well: Numba reads its settings again when that changes, and worker processes inherit it.
    os.environ["NUMBA_CPU_NAME"] = _config.CPU_NAME = level.processor
    os.environ["NUMBA_CPU_FEATURES"] = _config.CPU_FEATURES = feature_text(level)
    if target_text() != (llvm.get_process_triple(), level.processor, feature_text(level)):
        raise InvalidInputError(
            "THUD_TARGET: another package has already made Numba compile for this processor; import thud.warm before it"
        )


def target_text() -> tuple[str, str, str]:
    """Triple, processor and features that Numba compiles for in this process."""
    from numba.core.registry import cpu_target

    triple, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return str(triple), str(processor), str(features)
