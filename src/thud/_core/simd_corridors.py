"""Corridors, boxes that move: whether two may meet, and what holds two, as Numba intrinsics in generic vector IR.

A corridor is a row of 4 AXES float32: along each axis the least and the negative of the greatest at the begin, then the same at
the end. So what holds two is the lesser of both, number by number, and two are apart along an axis where the least of one and
the negative of the greatest of the other have a positive sum.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_F32, _I64, _I32 = ir.FloatType(), ir.IntType(64), ir.IntType(32)

#: Axes along which corridors are told apart: x, y, z and a diagonal of a cube.
AXES = 4

#: Numbers of a row.
ROW = 4 * AXES

#: Corridors of a block, which one is held against at once. A block has for each number of a row those of all its lanes.
LANES = 16

_HALF = ir.VectorType(_F32, 2 * AXES)


def _half(context: Any, builder: Any, kind: Any, array: Any, row: Any, half: int) -> Any:
    """Address of one half of a row, as a vector."""
    data = context.make_array(kind)(context, builder, array).data
    at = builder.add(builder.mul(row, ir.Constant(_I64, ROW)), ir.Constant(_I64, half * 2 * AXES))
    return builder.bitcast(builder.gep(data, [at]), _HALF.as_pointer())


def _loaded(builder: Any, address: Any) -> Any:
    found = builder.load(address)
    found.align = 4
    return found


@intrinsic
def corridors_meet(typing: Any, a: Any, i: Any, b: Any, j: Any) -> Any:
    """Whether rows a[i] and b[j], (N, ROW), may meet: along no axis they are apart on the same side at the begin and at the
    end. Touching counts."""
    signature = types.boolean(a, types.int64, b, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        order = ir.Constant(ir.VectorType(_I32, 2 * AXES), [(k + AXES) % (2 * AXES) for k in range(2 * AXES)])
        apart = None
        for half in range(2):
            mine = _loaded(builder, _half(context, builder, sig.args[0], args[0], args[1], half))
            other = _loaded(builder, _half(context, builder, sig.args[2], args[2], args[3], half))
            total = builder.fadd(mine, builder.shuffle_vector(other, other, order))
            positive = builder.fcmp_ordered(">", total, ir.Constant(_HALF, [0.0] * (2 * AXES)))
            apart = positive if apart is None else builder.and_(apart, positive)
        bits = ir.IntType(2 * AXES)
        return builder.icmp_unsigned("==", builder.bitcast(apart, bits), ir.Constant(bits, 0))

    return signature, codegen


@intrinsic
def join_corridors(typing: Any, a: Any, i: Any, b: Any, j: Any, out: Any, k: Any) -> Any:
    """out[k] = the corridor that holds rows a[i] and b[j]; all are (N, ROW)."""
    signature = types.void(a, types.int64, b, types.int64, out, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        for half in range(2):
            mine = _loaded(builder, _half(context, builder, sig.args[0], args[0], args[1], half))
            other = _loaded(builder, _half(context, builder, sig.args[2], args[2], args[3], half))
            least = builder.select(builder.fcmp_ordered("<", other, mine), other, mine)
            builder.store(least, _half(context, builder, sig.args[4], args[4], args[5], half)).align = 4
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def corridor_meets(typing: Any, a: Any, i: Any, blocks: Any, j: Any) -> Any:
    """Bit mask of the corridors of block blocks[j], (B, ROW * LANES), that row a[i] may meet."""
    signature = types.uint32(a, types.int64, blocks, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = ir.VectorType(_F32, LANES)
        row = builder.gep(
            context.make_array(sig.args[0])(context, builder, args[0]).data, [builder.mul(args[1], ir.Constant(_I64, ROW))]
        )
        block = builder.gep(
            context.make_array(sig.args[2])(context, builder, args[2]).data,
            [builder.mul(args[3], ir.Constant(_I64, ROW * LANES))],
        )
        zero, none = ir.Constant(lanes, [0.0] * LANES), ir.Constant(lanes, ir.Undefined)
        splat = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)

        def beyond(k: int, other: int) -> Any:
            """Lanes whose number `other` has with number k of the one a positive sum."""
            value = builder.load(builder.gep(row, [ir.Constant(_I64, k)]))
            one = builder.shuffle_vector(builder.insert_element(none, value, ir.Constant(_I32, 0)), none, splat)
            address = builder.gep(block, [ir.Constant(_I64, other * LANES)])
            many = builder.load(builder.bitcast(address, lanes.as_pointer()))
            many.align = 4
            return builder.fcmp_ordered(">", builder.fadd(one, many), zero)

        apart = None
        for side in range(2 * AXES):
            mirrored = (side + AXES) % (2 * AXES)
            both = builder.and_(beyond(side, mirrored), beyond(2 * AXES + side, 2 * AXES + mirrored))
            apart = both if apart is None else builder.or_(apart, both)
        mask = builder.bitcast(builder.not_(apart), ir.IntType(LANES))
        return mask if LANES == 32 else builder.zext(mask, _I32)

    return signature, codegen
