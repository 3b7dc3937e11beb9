"""SIMD test of one box against the eight child boxes of a wide node, as a Numba intrinsic in generic vector IR."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_F32, _I64, _I32 = ir.FloatType(), ir.IntType(64), ir.IntType(32)
LANES = 8
_VEC = ir.VectorType(_F32, LANES)
_FLAGS = ("contract", "nsz")

#: Numbers that describe the one box to the test: R (9), |R| (9), place (3), and the bounds of 15 axes.
QUERY = 36


class _Vectors:
    """Arithmetic on vectors of 8 float32, spelled as a kernel would."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def splat(self, value: Any) -> Any:
        undefined = ir.Constant(_VEC, ir.Undefined)
        first = self.builder.insert_element(undefined, value, ir.Constant(_I32, 0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES))

    def dot(self, scalars: list[Any], vectors: list[Any], start: Any = None) -> Any:
        total = start
        for scalar, vector in zip(scalars, vectors, strict=True):
            term = self.builder.fmul(scalar, vector, flags=_FLAGS)
            total = term if total is None else self.builder.fadd(total, term, flags=_FLAGS)
        return total

    def above(self, value: Any, bound: Any) -> Any:
        """Lanes where |value| > bound."""
        return self.builder.fcmp_ordered(">", self.magnitude(value), bound)

    def larger(self, a: Any, b: Any) -> Any:
        """The larger of two, lane by lane."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def magnitude(self, value: Any) -> Any:
        """|value|: the sign bits cleared."""
        bits = ir.VectorType(_I32, LANES)
        cleared = self.builder.and_(self.builder.bitcast(value, bits), ir.Constant(bits, [0x7FFFFFFF] * LANES))
        return self.builder.bitcast(cleared, _VEC)


@intrinsic
def boxes_meet8(typing: Any, nodes: Any, base: Any, query: Any, metric_out: Any) -> Any:
    """Bit mask of the children, of the wide node at nodes[base:], that one box may meet by the 15 axes.

    `nodes` has 48 float32 a node: rows centre x, y, z, half x, y, z of 8 lanes. `query` is a tuple of 36 float32:
    R and |R| (the children's frame in the box's, row-major), the place t - c of the children's frame relative to the box's
    centre, and for each of the 15 axes the part of the bound that the box itself brings. metric_out gets, for each lane,
    the squared distance of the centres less the child's squared half diagonal: small where the two overlap deeply.
    """
    signature = types.uint32(nodes, types.uint64, query, metric_out)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        v = _Vectors(builder)
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        out = context.make_array(sig.args[3])(context, builder, args[3]).data
        q = [v.splat(builder.extract_value(args[2], k)) for k in range(QUERY)]
        r, s, t, bound = q[:9], q[9:18], q[18:21], q[21:36]

        def row(k: int) -> Any:
            at = builder.add(args[1], ir.Constant(_I64, LANES * k))
            loaded = builder.load(builder.bitcast(builder.gep(data, [at]), _VEC.as_pointer()))
            loaded.align = 4
            return loaded

        center, half = [row(k) for k in range(3)], [row(k + 3) for k in range(3)]
        # The children's centres relative to the box's, in its frame.
        c = [v.dot(r[3 * i : 3 * i + 3], center, t[i]) for i in range(3)]
        apart = None

        def separate(mask: Any) -> None:
            nonlocal apart
            apart = mask if apart is None else builder.or_(apart, mask)

        for i in range(3):
            separate(v.above(c[i], v.dot(s[3 * i : 3 * i + 3], half, bound[i])))
        for j in range(3):
            along = v.dot([r[j], r[3 + j], r[6 + j]], c)
            separate(v.above(along, builder.fadd(bound[3 + j], half[j], flags=_FLAGS)))
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            for j in range(3):
                j1, j2 = (j + 1) % 3, (j + 2) % 3
                # Axis e_i x (R e_j): its products with c and with the children's half extents.
                lhs = builder.fsub(
                    builder.fmul(r[3 * i1 + j], c[i2], flags=_FLAGS),
                    builder.fmul(r[3 * i2 + j], c[i1], flags=_FLAGS),
                    flags=_FLAGS,
                )
                rhs = v.dot([s[3 * i + j2], s[3 * i + j1]], [half[j1], half[j2]], bound[6 + 3 * i + j])
                separate(v.above(lhs, rhs))
        metric = builder.fsub(v.dot(c, c), v.dot(half, half), flags=_FLAGS)
        builder.store(metric, builder.bitcast(out, _VEC.as_pointer())).align = 4
        meet = builder.bitcast(builder.not_(apart), ir.IntType(LANES))
        return builder.zext(meet, _I32)

    return signature, codegen


@intrinsic
def boxes_sweep8(typing: Any, nodes: Any, base: Any, query: Any, slowness: Any, latest: Any, entry_out: Any) -> Any:
    """Bit mask of the children, of the wide node at nodes[base:], that one box may meet at a time in [0, latest] while they
    move past it along a line.

    `nodes` and `query` as for `boxes_meet8`; `slowness` is a tuple of 15 float32, one over the children's speed along each
    axis (+-1e30 for none). entry_out gets, for each lane, a lower bound of the time of the first contact.
    """
    signature = types.uint32(nodes, types.uint64, query, slowness, types.float32, entry_out)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        v = _Vectors(builder)
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        out = context.make_array(sig.args[5])(context, builder, args[5]).data
        q = [v.splat(builder.extract_value(args[2], k)) for k in range(QUERY)]
        slow = [v.splat(builder.extract_value(args[3], k)) for k in range(15)]
        r, s, t, bound = q[:9], q[9:18], q[18:21], q[21:36]
        zero = ir.Constant(_VEC, [0.0] * LANES)
        enter, leave = zero, v.splat(args[4])

        def row(k: int) -> Any:
            at = builder.add(args[1], ir.Constant(_I64, LANES * k))
            loaded = builder.load(builder.bitcast(builder.gep(data, [at]), _VEC.as_pointer()))
            loaded.align = 4
            return loaded

        def during(axis: int, value: Any, reach: Any) -> None:
            """Keep the times at which |value + speed t| <= reach."""
            nonlocal enter, leave
            one = builder.fmul(builder.fsub(reach, value, flags=_FLAGS), slow[axis], flags=_FLAGS)
            negative = builder.fsub(zero, builder.fadd(reach, value, flags=_FLAGS), flags=_FLAGS)
            other = builder.fmul(negative, slow[axis], flags=_FLAGS)
            first = builder.fcmp_ordered("<", one, other)
            enter = v.larger(enter, builder.select(first, one, other))
            last = builder.select(first, other, one)
            leave = builder.select(builder.fcmp_ordered("<", last, leave), last, leave)

        center, half = [row(k) for k in range(3)], [row(k + 3) for k in range(3)]
        c = [v.dot(r[3 * i : 3 * i + 3], center, t[i]) for i in range(3)]
        for i in range(3):
            during(i, c[i], v.dot(s[3 * i : 3 * i + 3], half, bound[i]))
        for j in range(3):
            along = v.dot([r[j], r[3 + j], r[6 + j]], c)
            during(3 + j, along, builder.fadd(bound[3 + j], half[j], flags=_FLAGS))
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            for j in range(3):
                j1, j2 = (j + 1) % 3, (j + 2) % 3
                upper, lower = (
                    builder.fmul(r[3 * i1 + j], c[i2], flags=_FLAGS),
                    builder.fmul(r[3 * i2 + j], c[i1], flags=_FLAGS),
                )
                reach = v.dot([s[3 * i + j2], s[3 * i + j1]], [half[j1], half[j2]], bound[6 + 3 * i + j])
                during(6 + 3 * i + j, builder.fsub(upper, lower, flags=_FLAGS), reach)
        builder.store(enter, builder.bitcast(out, _VEC.as_pointer())).align = 4
        # An empty lane has negative extents: it would be left before it is entered along every axis, but for the swap of
        # the two times, so its sign is looked at.
        alive = builder.fcmp_ordered(">=", half[0], zero)
        meet = builder.and_(alive, builder.fcmp_ordered("<=", enter, leave))
        return builder.zext(builder.bitcast(meet, ir.IntType(LANES)), _I32)

    return signature, codegen


@intrinsic
def obbs_gap8(typing: Any, nodes: Any, base: Any, query: Any, best2: Any, gap2_out: Any) -> Any:
    """Bit mask of the children, of the wide node at nodes[base:], whose squared distance from one box may be below best2.

    `nodes` has 120 float32 a node: rows of 8 lanes, three axes (9), centre (3), half extents (3). `query` is a tuple of 16
    float32: the one box in the same frame, laid out the same way, and the slack by which gaps are lessened. gap2_out gets
    a lower bound of each squared distance, the best of three: the gaps along the axes of the one; those along the axes of the
    other (the box about a box is no farther away than the box itself); the gap along the line of the centres.
    """
    signature = types.uint32(nodes, types.uint64, query, types.float32, gap2_out)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        v = _Vectors(builder)
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        out = context.make_array(sig.args[4])(context, builder, args[4]).data
        q = [v.splat(builder.extract_value(args[2], k)) for k in range(16)]
        u, center, half, slack = [q[3 * i : 3 * i + 3] for i in range(3)], q[9:12], q[12:15], q[15]
        zero = ir.Constant(_VEC, [0.0] * LANES)

        def row(k: int) -> Any:
            at = builder.add(args[1], ir.Constant(_I64, LANES * k))
            loaded = builder.load(builder.bitcast(builder.gep(data, [at]), _VEC.as_pointer()))
            loaded.align = 4
            return loaded

        def beyond(value: Any, limit: Any) -> Any:
            gap = builder.fsub(v.magnitude(value), limit, flags=_FLAGS)
            return builder.select(builder.fcmp_ordered(">", gap, zero), gap, zero)

        w = [[row(3 * j + k) for k in range(3)] for j in range(3)]
        d = [builder.fsub(row(9 + k), center[k], flags=_FLAGS) for k in range(3)]
        other = [row(12 + k) for k in range(3)]
        m = [[v.magnitude(v.dot(u[i], w[j])) for j in range(3)] for i in range(3)]
        start = [builder.fadd(half[i], slack, flags=_FLAGS) for i in range(3)]
        along_u = [v.dot(u[i], d) for i in range(3)]
        gap = [beyond(along_u[i], v.dot(m[i], other, start[i])) for i in range(3)]
        first = v.dot(gap, gap)
        start = [builder.fadd(other[j], slack, flags=_FLAGS) for j in range(3)]
        along_w = [v.dot(w[j], d) for j in range(3)]
        gap = [beyond(along_w[j], v.dot([m[i][j] for i in range(3)], half, start[j])) for j in range(3)]
        second = v.dot(gap, gap)
        gap2 = v.larger(first, second)
        # Along the line of the centres: (d.d - the two boxes' extents along d - slack |d|) / |d|, squared.
        d2 = v.dot(d, d)
        extent = v.dot([v.magnitude(x) for x in along_u], half)
        extent = v.dot([v.magnitude(x) for x in along_w], other, extent)
        extent = v.dot([v.magnitude(x) for x in d], [slack] * 3, extent)
        room = v.larger(builder.fsub(d2, extent, flags=_FLAGS), zero)
        tiny = ir.Constant(_VEC, [1e-30] * LANES)
        # The quotient first, which is at most 1: the square of a square ends where distances of 4e9 begin.
        third = builder.fmul(room, builder.fdiv(room, builder.fadd(d2, tiny), flags=_FLAGS), flags=_FLAGS)
        gap2 = v.larger(gap2, third)
        builder.store(gap2, builder.bitcast(out, _VEC.as_pointer())).align = 4
        near = builder.fcmp_ordered("<", gap2, v.splat(args[3]))
        return builder.zext(builder.bitcast(near, ir.IntType(LANES)), _I32)

    return signature, codegen


@intrinsic
def emit_overlaps8(typing: Any, bounds: Any, at: Any, count: Any, query: Any, order: Any, i: Any, out: Any, place: Any) -> Any:
    """Write the pairs of object i with those of 8 boxes, columns at .. at + 7 of `bounds`, that its own box `query` overlaps.

    Touching counts; only the first `count` of them are looked at. Returns how many. There are no branches: that makes it fast,
    as hits cannot be predicted.

    `bounds` is (6, P) float64, rows lower x, y, z, upper x, y, z; `query` the same six numbers of the one box; order[k] the
    object of column k, int32. A pair is a number, the smaller index in the upper half; it is written to out[place:], which must
    have room for 8.
    """
    signature = types.int64(bounds, types.int64, types.int64, query, order, types.int64, out, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector, keys = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(_I64, LANES)
        lanes = ir.VectorType(_I32, LANES)
        array = context.make_array(sig.args[0])(context, builder, args[0])
        width = builder.extract_value(array.shape, 1)

        def splat(value: Any, kind: Any) -> Any:
            undefined = ir.Constant(kind, ir.Undefined)
            first = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
            return builder.shuffle_vector(first, undefined, ir.Constant(lanes, [0] * LANES))

        meet = builder.icmp_signed("<", ir.Constant(keys, list(range(LANES))), splat(args[2], keys))
        for k in range(6):
            column = builder.gep(array.data, [builder.add(builder.mul(width, ir.Constant(_I64, k)), args[1])])
            row = builder.load(builder.bitcast(column, vector.as_pointer()))
            row.align = 8
            other = splat(builder.extract_value(args[3], (k + 3) % 6), vector)
            # Lower corners below the other's upper ones, upper above the other's lower.
            meet = builder.and_(meet, builder.fcmp_ordered("<=" if k < 3 else ">=", row, other))
        members = context.make_array(sig.args[4])(context, builder, args[4]).data
        other = builder.load(builder.bitcast(builder.gep(members, [args[1]]), lanes.as_pointer()))
        other.align = 4
        j, me = builder.zext(other, keys), splat(args[5], keys)
        less = builder.icmp_signed("<", me, j)
        low, high = builder.select(less, me, j), builder.select(less, j, me)
        pairs = builder.or_(builder.shl(low, ir.Constant(keys, [32] * LANES)), high)
        target = builder.gep(context.make_array(sig.args[6])(context, builder, args[6]).data, [args[7]])
        mask = builder.zext(builder.bitcast(meet, ir.IntType(LANES)), _I64)
        # Each lane writes where the last hit ended: what misses is written over. A masked store would branch eight times.
        for lane in range(LANES):
            builder.store(builder.extract_element(pairs, ir.Constant(_I32, lane)), target)
            step = builder.and_(builder.lshr(mask, ir.Constant(_I64, lane)), ir.Constant(_I64, 1))
            target = builder.gep(target, [step])
        return builder.ctpop(mask)

    return signature, codegen


@intrinsic
def lowest_bit(typing: Any, mask: Any) -> Any:
    """Position of the lowest set bit of a mask that is not 0."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.zext(builder.cttz(args[0], ir.Constant(ir.IntType(1), 1)), _I64)

    return types.uint64(types.uint32), codegen
