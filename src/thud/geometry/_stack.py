"""A few floats on the stack: devices run without Numba's memory manager and so cannot call `np.empty`."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

#: Length of the longest expansion: 3 x 3 determinants have 6 products of 8 triples of floats, 4 terms each.
EXPANSION_TERMS = 192


@intrinsic
def _stack_expansion(typing: Any) -> Any:
    """Array of EXPANSION_TERMS floats, not initialised, that lives as long as the calling function."""
    array = types.Array(types.float64, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = cgutils.alloca_once(builder, context.get_value_type(types.float64), size=EXPANSION_TERMS)
        count, width = context.get_constant(types.intp, EXPANSION_TERMS), context.get_constant(types.intp, 8)
        view = arrayobj.make_array(array)(context, builder)
        arrayobj.populate_array(view, data=data, shape=[count], strides=[width], itemsize=width, meminfo=None)
        return view._getvalue()

    return array(), codegen


def _plain_expansion() -> Any:
    """The same for NUMBA_DISABLE_JIT=1."""
    return np.empty(EXPANSION_TERMS)


stack_expansion = _plain_expansion if getattr(numba.config, "DISABLE_JIT", False) else _stack_expansion
