"""Threads that work on one job side by side and wait for each other in between.

A wait in compiled code costs less than a microsecond, a hand-over by Python fifty. A member that is alone never waits.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from thud._core.decorators import device
from thud._core.threads import executor

_I32 = ir.IntType(32)

#: Looks at the others before the rest of a member's time slice is given away: some ten microseconds.
_LOOKS = 4096

#: The system's call for it.
_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"

_one_team = threading.Lock()


@intrinsic
def _add(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index] += value at once; returns what it was."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", builder.gep(data, [args[1]]), args[2], "seq_cst")

    return types.int32(array, types.int64, types.int32), codegen


@intrinsic
def _read(typing: Any, array: Any, index: Any) -> Any:
    """array[index] as the other threads have left it."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.load_atomic(builder.gep(data, [args[1]]), "seq_cst", 4)

    return types.int32(array, types.int64), codegen


@intrinsic
def _rest(typing: Any) -> Any:
    """Give the rest of the time slice away."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_I32, []), _YIELD)
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), codegen


@device
def wait(meeting, members):
    """Go on when all members are here. `meeting` (3,) int32: who is here, how many times all were, whether one will not
    come."""
    if members == 1:
        return
    round_ = _read(meeting, 1)
    if _add(meeting, 0, np.int32(1)) == members - 1:
        _add(meeting, 0, np.int32(-members))
        _add(meeting, 1, np.int32(1))
        return
    looks = 0
    while _read(meeting, 1) == round_ and _read(meeting, 2) == 0:
        looks += 1
        if looks >= _LOOKS:
            _rest()


@device
def take(turn):
    """The number of the next job that no member has taken. `turn` (1,) int32: 0 before the first."""
    return np.int64(_add(turn, 0, np.int32(1)))


def run_team(kernel: Any, members: int, *arguments: Any) -> None:
    """Call `kernel(member, members, meeting, *arguments)` for each member at once. What a kernel writes is of use only if this
    returns."""
    meeting = np.zeros(3, np.int32)
    if members == 1:
        kernel(0, 1, meeting, *arguments)
        return
    # Members of two teams in one pool would wait for others that wait for a thread.
    with _one_team:
        pool = executor(members - 1)
        others = [pool.submit(kernel, member, members, meeting, *arguments) for member in range(1, members)]
        try:
            kernel(0, members, meeting, *arguments)
        except BaseException:
            # Interrupted before the kernel: the others wait no longer.
            meeting[2] = 1
            raise
        finally:
            for other in others:
                other.result()
