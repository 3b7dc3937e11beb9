"""From checked arguments to kernels: the Python side of the pair queries.

Every function here takes packed shapes and pose rows that have passed the gates, allocates the results, runs the rows
over threads and wraps them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from thud._threads import run_rows
from thud.constants import MANIFOLD_POINTS
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.gates import as_points, as_poses
from thud.narrowphase import row_groups
from thud.pose import PoseLike
from thud.results import Contacts, Distances, Status
from thud.shapes.packed import KIND, NODE_COUNT, PART_START, Packed, as_packed
from thud.shapes.shape import BOX, HULL, KIND_NAMES, Shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_NO_AXES = np.empty((0, 3))

#: A plain number: comparing arrays with a member of an enumeration takes a microsecond more.
_SEPARATED = int(Status.SEPARATED)

#: Rows of one block of contacts, to bound the memory of the candidates (8 a row).
_CONTACT_BLOCK = 32768

METHODS_INTERSECTS = ("gjk", "chung_wang", "v_clip")
METHODS_DISTANCE = ("gjk", "v_clip")


def check_method(method: str, allowed: tuple[str, ...], packed: Packed, pairs: Ints, query: str) -> None:
    """Named error for a method that does not exist for this query or these shapes."""
    if method not in allowed:
        raise UnsupportedQueryError(f"{query}: method {method!r} does not exist; expected one of {', '.join(allowed)}")
    if method == "gjk":
        return
    for shape in np.unique(pairs):
        kind = packed.part_ints[packed.shape_ints[shape, PART_START], KIND]
        if packed.shape_ints[shape, NODE_COUNT] or kind not in (BOX, HULL):
            name = "Compound" if packed.shape_ints[shape, NODE_COUNT] else KIND_NAMES[kind]
            raise UnsupportedQueryError(f"{query}: method {method!r} is for ConvexHull and Box, not {name}; use method='gjk'")


def as_axes(axes: npt.ArrayLike | None, count: int) -> Floats:
    """Cached normals to start from: none, one or `count` rows."""
    if axes is None:
        return _NO_AXES
    array = as_points(axes, "axes")
    if len(array) not in (1, count):
        raise InvalidInputError(f"axes: expected 1 or {count} rows, got {len(array)}")
    return array


def intersects(
    packed: Packed,
    pairs: Ints,
    rows_a: Floats,
    rows_b: Floats,
    by_shape: bool,
    count: int,
    *,
    axes: Floats = _NO_AXES,
    method: str = "gjk",
    threads: int | None = None,
) -> npt.NDArray[np.bool_]:
    """(count,) whether each row's pair meets; what is undecided counts as meeting."""
    check_method(method, METHODS_INTERSECTS, packed, pairs, "intersects")
    status = np.empty(count, dtype=np.uint8)
    if method == "gjk":
        from thud.narrowphase import intersects as kernels

        arguments = (packed, pairs, rows_a, rows_b, int(by_shape), axes, status)
        for way, rows in row_groups.row_groups(packed, pairs, row_groups.BOOLEAN_WAYS):
            run_rows(kernels.BY_WAY[way], len(rows) or count, threads, rows, *arguments)
        halted = row_groups.stalled_rows(status)
        if len(halted):
            run_rows(kernels.careful_rows, len(halted), threads, halted, *arguments)
    elif method == "chung_wang":
        from thud.narrowphase.chung_wang import chung_wang_rows

        run_rows(chung_wang_rows, count, threads, packed, pairs, rows_a, rows_b, int(by_shape), status)
    else:
        status = _v_clip(packed, pairs, rows_a, rows_b, by_shape, count, threads).status
    return status != _SEPARATED


def distance(
    packed: Packed,
    pairs: Ints,
    rows_a: Floats,
    rows_b: Floats,
    by_shape: bool,
    count: int,
    *,
    signed: bool = False,
    max_distance: float = np.inf,
    axes: Floats = _NO_AXES,
    method: str = "gjk",
    threads: int | None = None,
) -> Distances:
    """Distances of `count` rows."""
    check_method(method, METHODS_DISTANCE, packed, pairs, "distance")
    if method == "v_clip":
        return _v_clip_distance(packed, pairs, rows_a, rows_b, by_shape, count, signed, max_distance, threads)
    out = empty_distances(count)
    from thud.narrowphase import distance as kernels

    fields = (out.distance, out.point_a, out.point_b, out.normal, out.status)
    arguments = (packed, pairs, rows_a, rows_b, int(by_shape), axes, max_distance, *fields)
    ways, by_way = (
        (row_groups.SIGNED_WAYS, kernels.SIGNED_BY_WAY) if signed else (row_groups.DISTANCE_WAYS, kernels.UNSIGNED_BY_WAY)
    )
    for way, rows in row_groups.row_groups(packed, pairs, ways):
        run_rows(by_way[way], len(rows) or count, threads, rows, *arguments)
    halted = row_groups.stalled_rows(out.status)
    if len(halted):
        run_rows(kernels.distance_rows, len(halted), threads, halted, *arguments)
    return out


def check_max_points(max_points: int) -> None:
    """Named error unless it is 1 to MANIFOLD_POINTS."""
    if isinstance(max_points, bool) or max_points not in range(1, MANIFOLD_POINTS + 1):
        raise InvalidInputError(f"max_points: expected a whole number from 1 to {MANIFOLD_POINTS}, got {max_points!r}")


def contacts(
    packed: Packed,
    pairs: Ints,
    rows_a: Floats,
    rows_b: Floats,
    by_shape: bool,
    count: int,
    *,
    margin: float = 0.0,
    max_points: int = MANIFOLD_POINTS,
    threads: int | None = None,
) -> Contacts:
    """Contact points of `count` rows, in blocks that bound the memory of the candidates."""
    from thud.narrowphase.contacts import contact_rows

    check_max_points(max_points)
    counts, status = np.zeros(count, dtype=np.int64), np.empty(count, dtype=np.uint8)
    compound = bool(packed.shape_ints[:, NODE_COUNT].any())
    reals, ints = [], []
    for first in range(0, count, _CONTACT_BLOCK):
        size = min(_CONTACT_BLOCK, count - first)
        block = slice(first, first + size)
        table = pairs if len(pairs) == 1 else pairs[block]
        part_a = rows_a if by_shape or len(rows_a) == 1 else rows_a[block]
        part_b = rows_b if by_shape or len(rows_b) == 1 else rows_b[block]
        arguments = (packed, table, part_a, part_b, int(by_shape), margin, int(max_points))
        if compound:
            # Any number of patches a row: count first, then fill.
            offsets, empty = np.zeros(size, dtype=np.int64), (np.empty((0, 7)), np.empty((0, 3), dtype=np.int64))
            run_rows(contact_rows, size, threads, *arguments, offsets, 0, counts[block], *empty, status[block])
            offsets[1:] = np.cumsum(counts[block])[:-1]
            total = int(counts[block].sum())
        else:
            offsets = np.arange(size, dtype=np.int64) * max_points
            total = size * max_points
        real, whole = np.empty((total, 7)), np.zeros((total, 3), dtype=np.int64)
        run_rows(contact_rows, size, threads, *arguments, offsets, 1, counts[block], real, whole, status[block])
        if not compound:
            used = (np.arange(max_points) < counts[block, None]).ravel()
            real, whole = real[used], whole[used]
        whole[:, 0] += first
        reals.append(real)
        ints.append(whole)
    real, whole = np.concatenate(reals), np.concatenate(ints)
    return Contacts(
        row=whole[:, 0].copy(),
        point=real[:, :3].copy(),
        normal=real[:, 3:6].copy(),
        depth=real[:, 6].copy(),
        feature=whole[:, 1].copy(),
        patch=whole[:, 2].copy(),
        status=status,
    )


def empty_distances(count: int) -> Distances:
    """Results of `count` rows, to be filled."""
    points = (np.empty((count, 3)) for _ in range(3))
    point_a, point_b, normal = points
    return Distances(np.empty(count), point_a, point_b, normal, np.empty(count, dtype=np.uint8))


def _v_clip(
    packed: Packed, pairs: Ints, rows_a: Floats, rows_b: Floats, by_shape: bool, count: int, threads: int | None
) -> Distances:
    from thud.narrowphase.v_clip import v_clip_rows

    out = empty_distances(count)
    features = np.full((count, 2), -1, dtype=np.int64)
    fields = (out.status, out.distance, out.point_a, out.point_b, out.normal, features)
    run_rows(v_clip_rows, count, threads, packed, pairs, rows_a, rows_b, int(by_shape), *fields)
    return out


def _v_clip_distance(
    packed: Packed,
    pairs: Ints,
    rows_a: Floats,
    rows_b: Floats,
    by_shape: bool,
    count: int,
    signed: bool,
    max_distance: float,
    threads: int | None,
) -> Distances:
    """V-Clip; rows that overlap are handed over to GJK and, for a signed distance, EPA."""
    out = _v_clip(packed, pairs, rows_a, rows_b, by_shape, count, threads)
    redo = np.flatnonzero(out.status != Status.SEPARATED)
    if len(redo):
        pairs_redo = pairs if len(pairs) == 1 else pairs[redo]
        a = rows_a if by_shape or len(rows_a) == 1 else rows_a[redo]
        b = rows_b if by_shape or len(rows_b) == 1 else rows_b[redo]
        again = distance(packed, pairs_redo, a, b, by_shape, len(redo), signed=signed, threads=threads)
        for name in ("distance", "point_a", "point_b", "normal", "status"):
            getattr(out, name)[redo] = getattr(again, name)
    far = out.distance > max_distance
    out.distance[far] = np.inf
    for field in (out.point_a, out.point_b, out.normal):
        field[far] = 0.0
    return out


def _as_pairs(pairs: npt.ArrayLike, shapes: int) -> Ints:
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(f"pairs: expected whole numbers of shape (M, 2), got {array.dtype} of shape {array.shape}")
    wrong = (array < 0) | (array >= shapes)
    if wrong.any():
        row = int(np.argwhere(wrong)[0, 0])
        raise InvalidInputError(f"pairs: row {row} is {array[row].tolist()}; expected indices from 0 to {shapes - 1}")
    array = np.ascontiguousarray(array, dtype=np.int64)
    return array if array.flags.writeable else array.copy()


def _pair_arguments(
    shapes: Sequence[Shape], pairs: npt.ArrayLike, poses: PoseLike, axes: npt.ArrayLike | None
) -> tuple[Packed, Ints, Floats, Floats]:
    packed = as_packed(tuple(shapes), "shapes")
    table = _as_pairs(pairs, len(packed.shape_ints))
    rows = as_poses(poses, "poses")
    if len(rows) != len(packed.shape_ints):
        raise InvalidInputError(f"poses: expected one pose a shape ({len(packed.shape_ints)}), got {len(rows)}")
    return packed, table, rows, as_axes(axes, len(table))


def mesh_shapes(shapes: Sequence[Shape]) -> bool:
    """Whether a mesh is among the shapes."""
    from thud.narrowphase.mesh_dispatch import has_mesh

    return any(isinstance(shape, Shape) and has_mesh(shape) for shape in shapes)


def check_gjk(method: str) -> None:
    """Named error for a method other than the default where meshes take part."""
    if method != "gjk":
        raise UnsupportedQueryError(f"method {method!r} is for ConvexHull and Box, not TriangleMesh")


def _mesh_groups(
    shapes: Sequence[Shape], pairs: npt.ArrayLike, poses: PoseLike
) -> tuple[int, Floats, list[tuple[Shape, Shape, Ints, Ints]]]:
    """(number of pairs, pose rows, groups): pairs of the same two shapes as (a, b, rows of the table, the table's part)."""
    for row, shape in enumerate(shapes):
        if not isinstance(shape, Shape):
            raise InvalidInputError(f"shapes: row {row} is a {type(shape).__name__}; expected a thud shape")
    table, rows = _as_pairs(pairs, len(shapes)), as_poses(poses, "poses")
    if len(rows) != len(shapes):
        raise InvalidInputError(f"poses: expected one pose a shape ({len(shapes)}), got {len(rows)}")
    number = {id(shape): k for k, shape in enumerate(shapes)}
    kind = np.array([number[id(shape)] for shape in shapes])
    groups = []
    for key in np.unique(kind[table], axis=0):
        chosen = np.flatnonzero((kind[table] == key).all(axis=1))
        groups.append((shapes[key[0]], shapes[key[1]], chosen, table[chosen]))
    return len(table), rows, groups


def intersects_pairs_with_meshes(
    shapes: Sequence[Shape], pairs: npt.ArrayLike, poses: PoseLike, threads: int | None
) -> npt.NDArray[np.bool_]:
    """`intersects_pairs` where meshes take part: the pairs of the same two shapes are one batch."""
    from thud.narrowphase import mesh_dispatch

    count, rows, groups = _mesh_groups(shapes, pairs, poses)
    hit = np.zeros(count, dtype=bool)
    for a, b, chosen, table in groups:
        at_a, at_b = np.ascontiguousarray(rows[table[:, 0]]), np.ascontiguousarray(rows[table[:, 1]])
        hit[chosen] = mesh_dispatch.intersects(a, b, at_a, at_b, len(chosen), threads)
    return hit


def distance_pairs_with_meshes(
    shapes: Sequence[Shape], pairs: npt.ArrayLike, poses: PoseLike, reach: float, threads: int | None
) -> Distances:
    """`distance_pairs` where meshes take part, unsigned."""
    from thud.narrowphase import mesh_dispatch

    count, rows, groups = _mesh_groups(shapes, pairs, poses)
    out = empty_distances(count)
    for a, b, chosen, table in groups:
        at_a, at_b = np.ascontiguousarray(rows[table[:, 0]]), np.ascontiguousarray(rows[table[:, 1]])
        found = mesh_dispatch.distance(a, b, at_a, at_b, len(chosen), reach=reach, threads=threads)
        for name in ("distance", "point_a", "point_b", "normal", "status"):
            getattr(out, name)[chosen] = getattr(found, name)
    return out


def distance_pairs(
    shapes: Sequence[Shape],
    pairs: npt.ArrayLike,
    poses: PoseLike,
    *,
    signed: bool = False,
    max_distance: float = np.inf,
    axes: npt.ArrayLike | None = None,
    method: str = "gjk",
    threads: int | None = None,
) -> Distances:
    """Distances of M pairs among S shapes at S poses.

    Parameters
    ----------
    shapes : S shapes
    pairs : (M, 2) indices into shapes
    poses : S poses, world frame
    signed : negative depth in an overlap instead of 0
    max_distance : metres; rows beyond it get inf
    axes : (M, 3) normals of an earlier, similar query, to start from (`result.normal`); changes the time, and the
        answer only within its tolerance
    method : "gjk", or "v_clip" for hulls and boxes
    threads : how many to use; default all cores
    """
    if mesh_shapes(shapes):
        check_gjk(method)
        if signed:
            raise UnsupportedQueryError(
                "distance_pairs: signed distances of meshes are asked by thud.distance, one pair at a time"
            )
        return distance_pairs_with_meshes(shapes, pairs, poses, as_reach(max_distance), threads)
    packed, table, rows, start = _pair_arguments(shapes, pairs, poses, axes)
    return distance(
        packed, table, rows, rows, True, len(table),
        signed=signed, max_distance=as_reach(max_distance), axes=start, method=method, threads=threads,
    )  # fmt: skip


def intersects_pairs(
    shapes: Sequence[Shape],
    pairs: npt.ArrayLike,
    poses: PoseLike,
    *,
    axes: npt.ArrayLike | None = None,
    method: str = "gjk",
    threads: int | None = None,
) -> npt.NDArray[np.bool_]:
    """(M,) whether each of M pairs among S shapes at S poses meets. Arguments as for `distance_pairs`."""
    if mesh_shapes(shapes):
        check_gjk(method)
        return intersects_pairs_with_meshes(shapes, pairs, poses, threads)
    packed, table, rows, start = _pair_arguments(shapes, pairs, poses, axes)
    return intersects(packed, table, rows, rows, True, len(table), axes=start, method=method, threads=threads)


def as_reach(max_distance: float) -> float:
    """A distance limit: 0 or more, inf allowed."""
    try:
        value = float(max_distance)
    except (TypeError, ValueError):
        raise InvalidInputError(f"max_distance: expected a number of at least 0, got {max_distance!r}") from None
    if not value >= 0.0:
        raise InvalidInputError(f"max_distance: expected a number of at least 0, got {max_distance!r}")
    return value
