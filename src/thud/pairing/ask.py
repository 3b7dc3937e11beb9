"""A query of two shapes, or of one, put to whoever answers it: by the table, swapped, or leaf by leaf."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.constants import MESH_COORDINATE
from thud.errors import InvalidInputError
from thud.pairing.families import PACKED
from thud.pairing.join import LEAF_JOINS, PAIR_JOINS
from thud.pairing.leaves import leaves, placed, some_rows
from thud.pairing.motions import as_moved, by_rotation
from thud.pairing.plans import APART, EXACT, SWAPPED, UNSUPPORTED, families_in, pair_plan, refuse, resolve, shape_plan, takes
from thud.pairing.start_depth import overlapping_rows, put_depths
from thud.pairing.swap import SWAPPED as TURNED_BACK
from thud.results import Distances, Impacts
from thud.shapes.shape import IDENTITY, Shape

#: Options that hand on what the last call found, as a `PairCache`: of trees, and of V-Clip's walks.
KEPT = ("cache", "features")


def check_reach(rows: Floats, name: str) -> None:
    """Named error for places, the last three columns, beyond what meshes and surfaces are compared at."""
    far = np.abs(rows[:, -3:]).max(axis=1) > MESH_COORDINATE
    if far.any():
        raise InvalidInputError(
            f"{name}: row {int(np.argmax(far))} is beyond {MESH_COORDINATE:g}, the limit of meshes and surfaces"
        )


def ask_pair(query: str, a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, **given: Any) -> Any:
    """`query` of two shapes at (N, 12) pose rows, one or `count` each; arguments have passed the gates."""
    if a.family not in PACKED or b.family not in PACKED:
        check_reach(rows_a, "pose_a")
        check_reach(rows_b, "pose_b")
    for name in KEPT:
        if given.get(name) is not None:
            given[name].start(a, b)
    if query == "turning_cast":
        given = {"inner_a": IDENTITY, "inner_b": IDENTITY, **given}
    return _answer(query, a, b, rows_a, rows_b, count, given, 0, 0, None)


def ask_cast(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int, threads: int | None, *,
    depths: bool = True,
) -> Impacts:  # fmt: skip
    """First contacts for motions (N, 3) or (N, 6): rows that turn by "turning_cast", the others by "cast". With `depths` also
    the way out of those that overlap at the start."""

    def cast(query: str, _rows: Any, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int) -> Impacts:
        moves = {"move_a": move_a, "move_b": move_b}
        return ask_pair(query, a, b, rows_a, rows_b, count, **moves, threads=threads)

    def signed(rows: Ints) -> Distances:
        poses = some_rows(rows_a, rows, count), some_rows(rows_b, rows, count)
        return ask_pair("signed_distance", a, b, *poses, len(rows), reach=np.inf, threads=threads)

    out = by_rotation(cast, rows_a, rows_b, as_moved(a, move_a), as_moved(b, move_b), count)
    if depths:
        put_depths(out, overlapping_rows(out), signed)
    return out


def _answer(
    query: str, a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, given: dict[str, Any], i: int, j: int, rows: Any
) -> Any:
    """The same for leaves i and j; `rows` are those of the whole batch that are asked, None for all."""
    plan = pair_plan(query, a.family, b.family)
    if plan.way == APART:
        return _apart(query, a, b, rows_a, rows_b, count, given)
    if plan.entry is None:
        raise refuse(query, plan)
    for name in KEPT:
        if given.get(name) is not None:
            given = dict(given)
            kept = given.pop(name)
            if takes(plan.entry, name):
                chosen, total = (np.arange(count), count) if rows is None else rows
                given[name] = kept.leaf(i, j, chosen, total)
    if "former_a" in given and not takes(plan.entry, "former"):
        given = {name: value for name, value in given.items() if name not in ("former_a", "former_b")}
    if "nearest" in given and not takes(plan.entry, "nearest"):
        given = {name: value for name, value in given.items() if name != "nearest"}
    function = resolve(plan.entry.function)
    if plan.way == EXACT:
        return function(a, b, rows_a, rows_b, count, **given)
    assert plan.way == SWAPPED
    return TURNED_BACK[query](function(b, a, rows_b, rows_a, count, **_exchanged(given)))


def _exchanged(given: dict[str, Any]) -> dict[str, Any]:
    """What is A's becomes B's; axes point the other way."""
    other = {"a": "b", "b": "a"}
    turned = {f"{name[:-1]}{other[name[-1]]}" if name[-2:] in ("_a", "_b") else name: value for name, value in given.items()}
    if turned.get("axes") is not None:
        turned["axes"] = -turned["axes"]
    return turned


def _apart(query: str, a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, given: dict[str, Any]) -> Any:
    """Every pair of leaves, joined."""
    for family_a in families_in(a):
        for family_b in families_in(b):
            plan = pair_plan(query, family_a, family_b)
            if plan.way == UNSUPPORTED:
                # Whatever the other leaves say: the answer must not depend on who is asked first.
                raise refuse(query, plan)
    leaves_a, leaves_b = leaves(a), leaves(b)
    turning = query == "turning_cast"

    def ask(i: int, j: int, rows: Any) -> Any:
        (shape_a, inner_a), (shape_b, inner_b) = leaves_a[i], leaves_b[j]
        part_a, part_b = some_rows(rows_a, rows, count), some_rows(rows_b, rows, count)
        if turning:
            # A leaf turns about the origin of its shape: poses and motions stay those of the shape.
            inner = {**given, "inner_a": inner_a, "inner_b": inner_b}
            return _answer(query, shape_a, shape_b, part_a, part_b, len(rows), inner, i, j, (rows, count))
        part_a, part_b = placed(part_a, inner_a), placed(part_b, inner_b)
        own = given
        if "former_a" in given:
            former = (
                placed(some_rows(given[name], rows, count), x) for name, x in (("former_a", inner_a), ("former_b", inner_b))
            )
            own = {**given, **dict(zip(("former_a", "former_b"), former, strict=True))}
        return _answer(query, shape_a, shape_b, part_a, part_b, len(rows), own, i, j, (rows, count))

    return PAIR_JOINS[query](ask, [(i, j) for i in range(len(leaves_a)) for j in range(len(leaves_b))], count)


def ask_shape(query: str, shape: Shape, *arrays: Any, rows: Floats, count: int, **given: Any) -> Any:
    """`query` of one shape at (N, 12) pose rows; the other arrays have one row or `count` each."""
    plan = shape_plan(query, shape.family)
    if plan.way == APART:
        found = [
            ask_shape(query, leaf, *arrays, rows=placed(rows, inner), count=count, **_leaf_options(query, leaf, given))
            for leaf, inner in leaves(shape)
        ]
        return LEAF_JOINS[query](found, given)
    if plan.entry is None:
        raise refuse(query, plan)
    return resolve(plan.entry.function)(shape, *arrays, rows, count, **given)


def _leaf_options(query: str, leaf: Shape, given: dict[str, Any]) -> dict[str, Any]:
    """A method goes to the leaves that know it. Of solids the depth inside counts: the deepest decides."""
    if "method" in given:
        plan = shape_plan(query, leaf.family)
        if plan.entry is None or not takes(plan.entry, "method", given["method"]):
            return {name: value for name, value in given.items() if name != "method"}
    if "signed" in given:
        return {**given, "signed": given["signed"] or leaf.is_solid}
    return given


def shape_triangles(shape: Shape, segments: int) -> Any:
    """Vertices and faces of a shape in its own frame."""
    plan = shape_plan("triangles", shape.family)
    if plan.entry is not None:
        return resolve(plan.entry.function)(shape, segments)
    if plan.way == UNSUPPORTED:
        raise refuse("to_mesh", plan)
    found = []
    for leaf, inner in leaves(shape):
        vertices, faces = shape_triangles(leaf, segments)
        found.append((vertices @ inner[:9].reshape(3, 3).T + inner[9:], faces))
    return LEAF_JOINS["triangles"](found, {})
