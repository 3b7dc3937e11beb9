"""How much memory an object's arrays take, and a process has taken."""

from __future__ import annotations

import dataclasses
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np


def array_bytes(found: Any) -> int:
    """Bytes of all arrays that an object holds, however deep, each once."""
    seen: set[int] = set()
    total, pending = 0, [found]
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            if isinstance(one.base, np.ndarray):
                pending.append(one.base)
            else:
                total += one.nbytes
        elif isinstance(one, dict):
            pending += list(one.values())
        elif isinstance(one, (tuple, list)):
            pending += list(one)
        elif dataclasses.is_dataclass(one) or hasattr(one, "__dict__"):
            pending += list(getattr(one, "__dict__", {}).values())
            pending += [getattr(one, name) for name in getattr(type(one), "__slots__", ()) if hasattr(one, name)]
    return total


def peak_megabytes() -> float:
    """Most memory this process has had. (On Linux not by `getrusage`, where a child begins with what its parent had.)"""
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1e3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3
