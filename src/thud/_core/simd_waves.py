"""Explicit SIMD for sums of sampled waves. Plain products and sums, none contracted: the same bits as one sample at a time."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from thud._core.simd import _data, _load, _splat

_F64 = ir.DoubleType()

#: Samples and rows that `add_waves` adds.
WAVE_SAMPLES, WAVE_ROWS = 8, 4


@intrinsic
def add_waves(typing: Any, out: Any, at: Any, sines: Any, cosines: Any, row: Any, column: Any, re: Any, im: Any) -> Any:
    """out[at + j] += re[k] sines[row + k, column + j] + im[k] cosines[row + k, column + j] for j < WAVE_SAMPLES, k < WAVE_ROWS.

    `out` (N,), `sines` and `cosines` (K, W), all contiguous float64; `re` and `im` tuples. Rows are added one after the other.
    """
    whole = types.int64
    signature = types.void(out, whole, sines, cosines, whole, whole, re, im)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = ir.VectorType(_F64, WAVE_SAMPLES)
        samples, sin, cos = (_data(context, builder, sig.args[k], args[k]) for k in (0, 2, 3))
        width = builder.extract_value(context.make_array(sig.args[2])(context, builder, args[2]).shape, 1)
        begin = builder.add(builder.mul(width, args[4]), args[5])
        total = _load(builder, samples, args[1], vector, 8)
        for k in range(WAVE_ROWS):
            a, b = (_load(builder, table, begin, vector, 8) for table in (sin, cos))
            re, im = (_splat(builder, builder.extract_value(args[place], k), vector) for place in (6, 7))
            total = builder.fadd(total, builder.fadd(builder.fmul(re, a), builder.fmul(im, b)))
            begin = builder.add(begin, width)
        address = builder.bitcast(builder.gep(samples, [args[1]]), vector.as_pointer())
        builder.store(total, address).align = 8
        return context.get_dummy_value()

    return signature, codegen
