"""Four numbers at once as one value of a kernel: `Lanes`.

Sums, products and the like work lane by lane, with another `Lanes` or with a number, so that code written for numbers (`vec3`,
`pose`) computes four problems in the time of one. There are no branches by lane: `pick` chooses. LLVM makes of it whatever
vector instructions the machine has.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

__all__ = [
    "COUNT", "LANES", "any_above", "four", "gather", "gather_four", "greater", "lane", "least", "load", "pick", "scatter_four",
    "splat", "store",
]  # fmt: skip

COUNT = 4

_F64, _I32, _I64 = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_F64, COUNT)

#: As the scalar kernels have it.
_FLAGS = ("nsz", "arcp", "contract", "afn", "reassoc")


class LanesType(types.Type):
    """The Numba type."""

    def __init__(self) -> None:
        super().__init__(name=f"lanes{COUNT}")


LANES = LanesType()


@register_model(LanesType)
class _Model(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _VECTOR)


def _splat(builder: Any, value: Any) -> Any:
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(_I32, 0))
    none = ir.Constant(_VECTOR, ir.Undefined)
    return builder.shuffle_vector(first, none, ir.Constant(ir.VectorType(_I32, COUNT), [0] * COUNT))


def _as_vector(builder: Any, kind: Any, value: Any) -> Any:
    return value if kind is LANES else _splat(builder, value)


def _binary(function: Any, instruction: str) -> None:
    cases = [signature(LANES, LANES, LANES), signature(LANES, LANES, types.float64), signature(LANES, types.float64, LANES)]
    infer_global(function)(type(f"Lanes_{instruction}", (ConcreteTemplate,), {"cases": cases}))

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b = (_as_vector(builder, kind, value) for kind, value in zip(sig.args, args, strict=True))
        return getattr(builder, instruction)(a, b, flags=_FLAGS)

    for case in cases:
        lower_builtin(function, *case.args)(lower)


for _function, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _binary(_function, _instruction)


def _unary(function: Any, lower: Any) -> None:
    infer_global(function)(type("Lanes_unary", (ConcreteTemplate,), {"cases": [signature(LANES, LANES)]}))
    lower_builtin(function, LANES)(lower)


def _lower_negative(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fneg(args[0])


def _lower_root(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{COUNT}f64"), args)


_unary(operator.neg, _lower_negative)
_unary(math.sqrt, _lower_root)


@intrinsic
def splat(typing: Any, value: Any) -> Any:
    """A number in every lane."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _splat(builder, args[0])

    return LANES(types.float64), codegen


@intrinsic
def four(typing: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Four numbers, one a lane."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found = ir.Constant(_VECTOR, ir.Undefined)
        for k, value in enumerate(args):
            found = builder.insert_element(found, value, ir.Constant(_I32, k))
        return found

    return LANES(*[types.float64] * COUNT), codegen


@intrinsic
def lane(typing: Any, a: Any, k: Any) -> Any:
    """The number in lane k."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(args[0], args[1])

    return types.float64(LANES, types.int64), codegen


@intrinsic
def pick(typing: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """Lane by lane x where a > b, else y."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b, x, y = (_as_vector(builder, kind, value) for kind, value in zip(sig.args, args, strict=True))
        return builder.select(builder.fcmp_ordered(">", a, b), x, y)

    return LANES(*(kind if kind is LANES else types.float64 for kind in (a, b, x, y))), codegen


@intrinsic
def greater(typing: Any, a: Any, b: Any) -> Any:
    """Lane by lane the greater one."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b = (_as_vector(builder, kind, value) for kind, value in zip(sig.args, args, strict=True))
        return builder.select(builder.fcmp_ordered(">", a, b), a, b)

    return LANES(*(kind if kind is LANES else types.float64 for kind in (a, b))), codegen


@intrinsic
def least(typing: Any, a: Any, b: Any) -> Any:
    """Lane by lane the lesser one."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b = (_as_vector(builder, kind, value) for kind, value in zip(sig.args, args, strict=True))
        return builder.select(builder.fcmp_ordered("<", a, b), a, b)

    return LANES(*(kind if kind is LANES else types.float64 for kind in (a, b))), codegen


@intrinsic
def any_above(typing: Any, a: Any, b: Any) -> Any:
    """Whether a > b in any lane."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b = (_as_vector(builder, kind, value) for kind, value in zip(sig.args, args, strict=True))
        bits = builder.bitcast(builder.fcmp_ordered(">", a, b), ir.IntType(COUNT))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(COUNT), 0))

    return types.boolean(*(kind if kind is LANES else types.float64 for kind in (a, b))), codegen


def _address(context: Any, builder: Any, kind: Any, array: Any, indices: list[Any]) -> Any:
    """Of an entry of a C-contiguous array, with no check of bounds."""
    made = context.make_array(kind)(context, builder, array)
    at = indices[0]
    for axis, index in enumerate(indices[1:], 1):
        at = builder.add(builder.mul(at, builder.extract_value(made.shape, axis)), index)
    return builder.gep(made.data, [at])


def _lanes_at(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
    """The address of a row of (N, COUNT), with no check of bounds; its length is known, so that nothing is multiplied."""
    made = context.make_array(kind)(context, builder, array)
    return builder.bitcast(builder.gep(made.data, [builder.mul(row, ir.Constant(_I64, COUNT))]), _VECTOR.as_pointer())


@intrinsic
def load(typing: Any, array: Any, row: Any) -> Any:
    """The lanes array[row, :] of (N, COUNT) float64."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found = builder.load(_lanes_at(context, builder, sig.args[0], args[0], args[1]))
        found.align = 8
        return found

    return LANES(array, types.int64), codegen


@intrinsic
def store(typing: Any, array: Any, row: Any, value: Any) -> Any:
    """array[row, :] = value, of (N, COUNT) float64."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[2], _lanes_at(context, builder, sig.args[0], args[0], args[1])).align = 8
        return context.get_dummy_value()

    return types.void(array, types.int64, LANES), codegen


@intrinsic
def gather(typing: Any, array: Any, rows: Any, column: Any) -> Any:
    """A lane of each of four rows of (N, M) float64: array[rows[k], column]; `rows` a tuple."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found = ir.Constant(_VECTOR, ir.Undefined)
        for k in range(COUNT):
            row = builder.extract_value(args[1], k)
            value = builder.load(_address(context, builder, sig.args[0], args[0], [row, args[2]]))
            found = builder.insert_element(found, value, ir.Constant(_I32, k))
        return found

    return LANES(array, types.UniTuple(types.int64, COUNT), types.int64), codegen


def _shuffled(builder: Any, a: Any, b: Any, order: tuple[int, ...]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, COUNT), list(order)))


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Columns of four vectors."""
    even, odd, first, last = (0, 4, 2, 6), (1, 5, 3, 7), (0, 1, 4, 5), (2, 3, 6, 7)
    a, b = _shuffled(builder, rows[0], rows[1], even), _shuffled(builder, rows[2], rows[3], even)
    c, d = _shuffled(builder, rows[0], rows[1], odd), _shuffled(builder, rows[2], rows[3], odd)
    return [_shuffled(builder, x, y, order) for order in (first, last) for x, y in ((a, b), (c, d))]


@intrinsic
def gather_four(typing: Any, array: Any, rows: Any, column: Any) -> Any:
    """Four columns in a row, of four rows of (N, M) float64: a tuple of what `gather` gives for each, by four loads
    and a transposition."""
    kind = types.UniTuple(LANES, COUNT)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found = []
        for k in range(COUNT):
            at = _address(context, builder, sig.args[0], args[0], [builder.extract_value(args[1], k), args[2]])
            value = builder.load(builder.bitcast(at, _VECTOR.as_pointer()))
            value.align = 8
            found.append(value)
        return context.make_tuple(builder, kind, _transposed(builder, found))

    return kind(array, types.UniTuple(types.int64, COUNT), types.int64), codegen


@intrinsic
def scatter_four(typing: Any, array: Any, rows: Any, column: Any, values: Any) -> Any:
    """Four columns in a row, of four rows: array[rows[k], column + c] = lane k of values[c]."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = _transposed(builder, [builder.extract_value(args[3], c) for c in range(COUNT)])
        for k in range(COUNT):
            at = _address(context, builder, sig.args[0], args[0], [builder.extract_value(args[1], k), args[2]])
            builder.store(lanes[k], builder.bitcast(at, _VECTOR.as_pointer())).align = 8
        return context.get_dummy_value()

    return types.void(array, types.UniTuple(types.int64, COUNT), types.int64, types.UniTuple(LANES, COUNT)), codegen
