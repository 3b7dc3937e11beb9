"""Explicit SIMD through Numba intrinsics, for the few loops that LLVM does not vectorise by itself.

The code is generic vector IR: LLVM lowers it to AVX2, AVX-512 or NEON, whatever the machine has.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_F64, _I64, _I32 = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_LANES = 16


def _splat(builder: Any, value: Any, vector: ir.VectorType) -> Any:
    """`value` in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, vector.count), [0] * vector.count))


def _half(builder: Any, value: Any, lanes: int, upper: bool) -> Any:
    """Lower or upper half of a vector of `lanes` lanes."""
    first = lanes // 2 if upper else 0
    pick = ir.Constant(ir.VectorType(_I32, lanes // 2), list(range(first, first + lanes // 2)))
    return builder.shuffle_vector(value, value, pick)


@intrinsic
def support_index(typing: Any, vertices: Any, start: Any, stop: Any, dx: Any, dy: Any, dz: Any) -> Any:
    """Index in [start, stop) of the vertex farthest along d; stop - start a positive multiple of 8.

    `vertices` is (3, V) float64, one row a coordinate. Of equal vertices the one in the lower lane, then the earlier.
    """
    f = types.float64
    signature = types.int64(vertices, types.int64, types.int64, f, f, f)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vec, idx = ir.VectorType(_F64, _LANES), ir.VectorType(_I64, _LANES)
        array = context.make_array(sig.args[0])(context, builder, args[0])
        width = builder.extract_value(array.shape, 1)
        rows = [builder.gep(array.data, [builder.mul(width, ir.Constant(_I64, k))]) for k in range(3)]
        start, stop = args[1], args[2]
        direction = [_splat(builder, component, vec) for component in args[3:6]]
        lanes = builder.add(_splat(builder, start, idx), ir.Constant(idx, list(range(_LANES))))
        step = ir.Constant(idx, [_LANES] * _LANES)

        def dot(at: Any) -> Any:
            total = None
            for row, component in zip(rows, direction, strict=True):
                column = builder.load(builder.bitcast(builder.gep(row, [at]), vec.as_pointer()))
                column.align = 8
                term = builder.fmul(column, component, flags=("contract",))
                total = term if total is None else builder.fadd(total, term, flags=("contract",))
            return total

        # The first block needs no comparison; then one block of 8 vertices a turn.
        first = dot(start)
        entry = builder.block
        test, body, done = (builder.append_basic_block(name) for name in ("test", "body", "done"))
        builder.branch(test)
        builder.position_at_end(test)
        i, best, where, here = builder.phi(_I64), builder.phi(vec), builder.phi(idx), builder.phi(idx)
        next_i = builder.add(i, ir.Constant(_I64, _LANES))
        builder.cbranch(builder.icmp_signed("<", next_i, stop), body, done)
        builder.position_at_end(body)
        values = dot(next_i)
        next_here = builder.add(here, step)
        better = builder.fcmp_ordered(">", values, best)
        next_best = builder.select(better, values, best)
        next_where = builder.select(better, next_here, where)
        builder.branch(test)
        for phi, before, again in (
            (i, start, next_i),
            (best, first, next_best),
            (where, lanes, next_where),
            (here, lanes, next_here),
        ):
            phi.add_incoming(before, entry)
            phi.add_incoming(again, body)

        # Reduce 8 lanes to 4, 2, 1.
        builder.position_at_end(done)
        top, found, count = best, where, _LANES
        while count > 1:
            low, high = (_half(builder, top, count, upper) for upper in (False, True))
            low_at, high_at = (_half(builder, found, count, upper) for upper in (False, True))
            higher = builder.fcmp_ordered(">", high, low)
            top, found = builder.select(higher, high, low), builder.select(higher, high_at, low_at)
            count //= 2
        return builder.extract_element(found, ir.Constant(_I32, 0))

    return signature, codegen
