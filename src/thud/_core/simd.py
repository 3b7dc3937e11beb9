"""Explicit SIMD through Numba intrinsics, for the few loops that LLVM does not vectorise by itself.

The code is generic vector IR: LLVM lowers it to AVX2, AVX-512 or NEON, whatever the machine has.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_F64, _F32, _I64, _I32 = ir.DoubleType(), ir.FloatType(), ir.IntType(64), ir.IntType(32)
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


def _data(context: Any, builder: Any, array_type: Any, value: Any) -> Any:
    """Pointer to an array's first element."""
    return context.make_array(array_type)(context, builder, value).data


def _load(builder: Any, pointer: Any, index: Any, vector: ir.VectorType, align: int) -> Any:
    """`vector.count` elements from pointer[index] on."""
    loaded = builder.load(builder.bitcast(builder.gep(pointer, [index]), vector.as_pointer()))
    loaded.align = align
    return loaded


def _store(builder: Any, value: Any, pointer: Any, index: int, vector: ir.VectorType, align: int) -> None:
    address = builder.bitcast(builder.gep(pointer, [ir.Constant(_I64, index)]), vector.as_pointer())
    builder.store(value, address).align = align


def _pick(builder: Any, relation: str, a: Any, b: Any) -> Any:
    """a where `a relation b`, else b: the smaller or larger of two."""
    return builder.select(builder.fcmp_ordered(relation, a, b), a, b)


@intrinsic
def ray_box8(
    typing: Any, nodes: Any, base: Any, near_x: Any, near_y: Any, near_z: Any, ix: Any, iy: Any, iz: Any,
    nx: Any, ny: Any, nz: Any, fx: Any, fy: Any, fz: Any, best: Any, t_out: Any,
) -> Any:  # fmt: skip
    """Slab test of one ray against 8 boxes: bit mask of those it meets before `best`; writes the entry distances.

    A node is 48 float32, or bytes, from `base` on: rows lo_x, lo_y, lo_z, hi_x, hi_y, hi_z of 8 lanes. near_k is the offset of
    the row where the ray enters on axis k: 8 k if i_k >= 0, else 8 k + 24. i = 1 / direction, n and f = origin * i, moved
    against and along the ray by the slack of the test.
    """
    f, i = types.float32, types.int64
    signature = types.uint32(nodes, i, i, i, i, f, f, f, f, f, f, f, f, f, f, t_out)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vec, flags = ir.VectorType(_F32, 8), ("contract", "nsz")
        node, out = _data(context, builder, sig.args[0], args[0]), _data(context, builder, sig.args[15], args[15])
        base = args[1]
        inverse, near, far = ([_splat(builder, a, vec) for a in args[k : k + 3]] for k in (5, 8, 11))
        best, zero = _splat(builder, args[14], vec), ir.Constant(vec, [0.0] * 8)

        narrow = sig.args[0].dtype == types.uint8

        def slab(row: Any, k: int, shift: Any) -> Any:
            if narrow:
                eight = _load(builder, node, builder.add(base, row), ir.VectorType(ir.IntType(8), 8), 1)
                bound = builder.uitofp(eight, vec)
            else:
                bound = _load(builder, node, builder.add(base, row), vec, 32)
            return builder.fsub(builder.fmul(bound, inverse[k], flags=flags), shift, flags=flags)

        enter = [slab(args[2 + k], k, near[k]) for k in range(3)]
        leave = [slab(builder.sub(ir.Constant(_I64, 24 + 16 * k), args[2 + k]), k, far[k]) for k in range(3)]
        t0 = _pick(builder, ">", _pick(builder, ">", enter[0], enter[1]), _pick(builder, ">", enter[2], zero))
        t1 = _pick(builder, "<", _pick(builder, "<", leave[0], leave[1]), _pick(builder, "<", leave[2], best))
        _store(builder, t0, out, 0, vec, 4)
        mask = builder.bitcast(builder.fcmp_ordered("<=", t0, t1), ir.IntType(8))
        return builder.zext(mask, _I32)

    return signature, codegen


@intrinsic
def point_box8(typing: Any, nodes: Any, base: Any, px: Any, py: Any, pz: Any, best: Any, d_out: Any) -> Any:
    """Squared distances of a point to 8 boxes (see `ray_box8`): bit mask of those at most `best`; writes them all."""
    f, i = types.float32, types.int64
    signature = types.uint32(nodes, i, f, f, f, f, d_out)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vec, flags = ir.VectorType(_F32, 8), ("contract", "nsz")
        node, out = _data(context, builder, sig.args[0], args[0]), _data(context, builder, sig.args[6], args[6])
        zero, total = ir.Constant(vec, [0.0] * 8), None
        for k in range(3):
            p = _splat(builder, args[2 + k], vec)
            low = _load(builder, node, builder.add(args[1], ir.Constant(_I64, 8 * k)), vec, 32)
            high = _load(builder, node, builder.add(args[1], ir.Constant(_I64, 8 * k + 24)), vec, 32)
            below, above = builder.fsub(low, p), builder.fsub(p, high)
            apart = _pick(builder, ">", _pick(builder, ">", below, above), zero)
            square = builder.fmul(apart, apart, flags=flags)
            total = square if total is None else builder.fadd(total, square, flags=flags)
        _store(builder, total, out, 0, vec, 4)
        mask = builder.bitcast(builder.fcmp_ordered("<=", total, _splat(builder, args[5], vec)), ir.IntType(8))
        return builder.zext(mask, _I32)

    return signature, codegen


@intrinsic
def ray_triangle4(
    typing: Any, blocks: Any, base: Any, kx: Any, ky: Any, kz: Any, ox: Any, oy: Any, oz: Any,
    sx: Any, sy: Any, sz: Any, edge: Any, plane: Any, best: Any, t_out: Any,
) -> Any:  # fmt: skip
    """One ray against 4 triangles (Woop, Benthin, Wald 2013, "Watertight ray/triangle intersection"), in float64.

    A leaf is 36 float64 from `base` on: rows a_x, a_y, a_z, b_x, ... c_z of 4 lanes. kz is the offset of the row of the
    axis the ray is most along, kx and ky of the others; o the origin in this order; s the shear d_x / d_z, d_y / d_z, 1 / d_z.

    Bits 0-3 of the result: lanes that are hit for sure at 0 < t <= best. Bits 4-7: lanes where rounding could change
    the answer, for an exact test: an edge function within `edge` of 0 that could be on either side, their sum within 1024
    `edge`, or the origin in the plane within `plane`. Writes t. NaN lanes are never hit.
    """
    f, i = types.float64, types.int64
    signature = types.uint32(blocks, i, i, i, i, f, f, f, f, f, f, f, f, f, t_out)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = 4
        vec, flags = ir.VectorType(_F64, lanes), ("contract", "nsz")
        block, out = _data(context, builder, sig.args[0], args[0]), _data(context, builder, sig.args[14], args[14])
        offsets, origin, shear = args[2:5], args[5:8], args[8:11]
        edge, plane, best = (_splat(builder, a, vec) for a in args[11:14])
        o = [_splat(builder, a, vec) for a in origin]
        s = [_splat(builder, a, vec) for a in shear]
        zero = ir.Constant(vec, [0.0] * lanes)

        def mul(a: Any, b: Any) -> Any:
            return builder.fmul(a, b, flags=flags)

        def sub(a: Any, b: Any) -> Any:
            return builder.fsub(a, b, flags=flags)

        def add(a: Any, b: Any) -> Any:
            return builder.fadd(a, b, flags=flags)

        corners = []
        for corner in range(3):
            x, y, z = (
                sub(
                    _load(
                        builder, block, builder.add(builder.add(args[1], ir.Constant(_I64, 12 * corner)), offsets[k]), vec, 32
                    ),
                    o[k],
                )
                for k in range(3)
            )
            corners.append((sub(x, mul(s[0], z)), sub(y, mul(s[1], z)), z))
        (ax, ay, az), (bx, by, bz), (cx, cy, cz) = corners
        u = sub(mul(cx, by), mul(cy, bx))
        v = sub(mul(ax, cy), mul(ay, cx))
        w = sub(mul(bx, ay), mul(by, ax))
        low = _pick(builder, "<", _pick(builder, "<", u, v), w)
        high = _pick(builder, ">", _pick(builder, ">", u, v), w)
        minus = builder.fneg(edge)
        may = builder.or_(builder.fcmp_ordered(">=", low, minus), builder.fcmp_ordered("<=", high, edge))
        must = builder.or_(builder.fcmp_ordered(">", low, edge), builder.fcmp_ordered("<", high, minus))
        total = add(add(u, v), w)
        along = add(add(mul(u, az), mul(v, bz)), mul(w, cz))
        t = mul(builder.fdiv(along, total), s[2])

        def size(a: Any) -> Any:
            return _pick(builder, ">", a, builder.fneg(a))

        steep = builder.fcmp_ordered(">", size(total), mul(edge, ir.Constant(vec, [1024.0] * lanes)))
        ahead = builder.fcmp_ordered(">", size(along), plane)
        certain = builder.and_(must, builder.and_(steep, ahead))
        hit = builder.and_(certain, builder.and_(builder.fcmp_ordered(">", t, zero), builder.fcmp_ordered("<=", t, best)))
        # NaN: not below or above anything, so neither of the two.
        unsure = builder.and_(may, builder.not_(certain))
        _store(builder, t, out, 0, vec, 8)
        bits = ir.IntType(lanes)
        first = builder.zext(builder.bitcast(hit, bits), _I32)
        second = builder.zext(builder.bitcast(unsure, bits), _I32)
        return builder.or_(first, builder.shl(second, ir.Constant(_I32, lanes)))

    return signature, codegen


@intrinsic
def trailing_zeros(typing: Any, bits: Any) -> Any:
    """Position of the lowest set bit of a number that is not 0: walks a hit mask."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.zext(builder.cttz(args[0], ir.Constant(ir.IntType(1), 1)), _I64)

    return types.int64(types.uint32), codegen


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of the flat element `index` of a C-contiguous array, to use it some hundred cycles later."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = builder.bitcast(
            builder.gep(_data(context, builder, sig.args[0], args[0]), [args[1]]), ir.IntType(8).as_pointer()
        )
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", (pointer.type,), ir.FunctionType(ir.VoidType(), [pointer.type, _I32, _I32, _I32])
        )
        builder.call(function, [pointer, ir.Constant(_I32, 1), ir.Constant(_I32, 3), ir.Constant(_I32, 1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@intrinsic
def lower8(typing: Any, into: Any, i: Any, other: Any, j: Any) -> Any:
    """into[i : i + 8] = the lesser of it and other[j : j + 8]; both flat float32."""
    signature = types.void(into, types.int64, other, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vec = ir.VectorType(_F32, 8)
        target = builder.gep(_data(context, builder, sig.args[0], args[0]), [args[1]])
        source = builder.gep(_data(context, builder, sig.args[2], args[2]), [args[3]])
        zero = ir.Constant(_I64, 0)
        a, b = _load(builder, target, zero, vec, 4), _load(builder, source, zero, vec, 4)
        _store(builder, builder.select(builder.fcmp_ordered("<", b, a), b, a), target, 0, vec, 4)
        return context.get_dummy_value()

    return signature, codegen
