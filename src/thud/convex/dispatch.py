"""From checked arguments to kernels: the Python side of the pair queries.

Every function here takes packed shapes and pose rows that have passed the gates, allocates the results, runs the rows
over threads and wraps them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.constants import MANIFOLD_POINTS
from thud.convex.rows import row_groups
from thud.errors import UnsupportedQueryError
from thud.pairing.pair_cache import LeafCache
from thud.pairing.rows import PairBatch, distance_fields
from thud.results import Contacts, Distances, Status
from thud.shapes.packed import KIND, NODE_COUNT, PART_START, Packed
from thud.shapes.shape import BOX, HULL, KIND_NAMES

#: No normals of an earlier query.
NO_AXES = np.empty((0, 3))

#: A plain number: comparing arrays with a member of an enumeration takes a microsecond more.
_SEPARATED = int(Status.SEPARATED)

#: Rows of one block of contacts, to bound the memory of the candidates (8 a row).
_CONTACT_BLOCK = 32768


def check_method(method: str, packed: Packed, pairs: Ints, query: str) -> None:
    """Named error for a method that does not exist for these shapes."""
    if method == "gjk":
        return
    for shape in np.unique(pairs):
        kind = packed.parts.ints[packed.shape_ints[shape, PART_START], KIND]
        if packed.shape_ints[shape, NODE_COUNT] or kind not in (BOX, HULL):
            name = "Compound" if packed.shape_ints[shape, NODE_COUNT] else KIND_NAMES[kind]
            raise UnsupportedQueryError(f"{query}: method {method!r} is for ConvexHull and Box, not {name}; use method='gjk'")


def intersects(
    packed: Packed,
    pairs: Ints,
    rows_a: Floats,
    rows_b: Floats,
    by_shape: int,
    count: int,
    *,
    axes: Floats = NO_AXES,
    method: str = "gjk",
    walks: LeafCache | None = None,
    threads: int | None = None,
) -> npt.NDArray[np.bool_]:
    """(count,) whether each row's pair meets; what is undecided counts as meeting. `walks` has V-Clip's features of the last
    call."""
    check_method(method, packed, pairs, "intersects")
    status = np.empty(count, dtype=np.uint8)
    if method == "gjk":
        from thud.convex.rows import intersects as kernels

        arguments = (PairBatch(packed, pairs, rows_a, rows_b, int(by_shape)), axes, status)
        for way, rows in row_groups.row_groups(packed, pairs, row_groups.BOOLEAN_WAYS, count):
            run_rows(kernels.BY_WAY[way], len(rows) or count, threads, rows, *arguments)
        halted = row_groups.stalled_rows(status)
        if len(halted):
            run_rows(kernels.careful_rows, len(halted), threads, halted, *arguments)
    elif method == "chung_wang":
        from thud.convex.chung_wang import chung_wang_rows

        run_rows(chung_wang_rows, count, threads, PairBatch(packed, pairs, rows_a, rows_b, int(by_shape)), status)
    elif method == "sat":
        from thud.convex.sat import sat_rows

        run_rows(sat_rows, count, threads, PairBatch(packed, pairs, rows_a, rows_b, int(by_shape)), status)
    else:
        status = _v_clip(packed, pairs, rows_a, rows_b, by_shape, count, walks, threads).status
    return status != _SEPARATED


def distance(
    packed: Packed,
    pairs: Ints,
    rows_a: Floats,
    rows_b: Floats,
    by_shape: int,
    count: int,
    *,
    signed: bool = False,
    max_distance: float = np.inf,
    axes: Floats = NO_AXES,
    method: str = "gjk",
    walks: LeafCache | None = None,
    threads: int | None = None,
) -> Distances:
    """Distances of `count` rows."""
    check_method(method, packed, pairs, "distance")
    if method == "v_clip":
        return _v_clip_distance(packed, pairs, rows_a, rows_b, by_shape, count, signed, max_distance, walks, threads)
    out = empty_distances(count)
    from thud.convex.rows import distance as kernels

    batch = PairBatch(packed, pairs, rows_a, rows_b, int(by_shape))
    arguments = (batch, axes, max_distance, distance_fields(out))
    ways, by_way = (
        (row_groups.SIGNED_WAYS, kernels.SIGNED_BY_WAY) if signed else (row_groups.DISTANCE_WAYS, kernels.UNSIGNED_BY_WAY)
    )
    for way, rows in row_groups.row_groups(packed, pairs, ways, count):
        run_rows(by_way[way], len(rows) or count, threads, rows, *arguments)
    halted = row_groups.stalled_rows(out.status)
    if len(halted):
        run_rows(kernels.distance_rows, len(halted), threads, halted, *arguments)
    return out


def contacts(
    packed: Packed,
    pairs: Ints,
    rows_a: Floats,
    rows_b: Floats,
    by_shape: int,
    count: int,
    *,
    margin: float = 0.0,
    max_points: int = MANIFOLD_POINTS,
    threads: int | None = None,
) -> Contacts:
    """Contact points of `count` rows, in blocks that bound the memory of the candidates."""
    from thud.convex.rows.contacts import ContactFields, contact_rows

    counts, status = np.zeros(count, dtype=np.int64), np.empty(count, dtype=np.uint8)
    compound = bool(packed.shape_ints[:, NODE_COUNT].any())
    reals, ints = [np.empty((0, 7))], [np.empty((0, 3), dtype=np.int64)]
    for first in range(0, count, _CONTACT_BLOCK):
        size = min(_CONTACT_BLOCK, count - first)
        block = slice(first, first + size)
        table = pairs if len(pairs) == 1 else pairs[block]
        part_a = rows_a if by_shape or len(rows_a) == 1 else rows_a[block]
        part_b = rows_b if by_shape or len(rows_b) == 1 else rows_b[block]
        arguments = (PairBatch(packed, table, part_a, part_b, int(by_shape)), margin, int(max_points))
        if compound:
            # Any number of patches a row: count first, then fill.
            offsets = np.zeros(size, dtype=np.int64)
            nothing = ContactFields(counts[block], np.empty((0, 7)), np.empty((0, 3), dtype=np.int64), status[block])
            run_rows(contact_rows, size, threads, *arguments, offsets, 0, nothing)
            offsets[1:] = np.cumsum(counts[block])[:-1]
            total = int(counts[block].sum())
        else:
            offsets = np.arange(size, dtype=np.int64) * max_points
            total = size * max_points
        real, whole = np.empty((total, 7)), np.zeros((total, 3), dtype=np.int64)
        run_rows(contact_rows, size, threads, *arguments, offsets, 1, ContactFields(counts[block], real, whole, status[block]))
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
    packed: Packed, pairs: Ints, rows_a: Floats, rows_b: Floats, by_shape: int, count: int, walks: LeafCache | None,
    threads: int | None,
) -> Distances:  # fmt: skip
    """Each walk starts where the last one ended, if `walks` knows."""
    from thud.convex.v_clip import v_clip_rows

    out = empty_distances(count)
    features = np.full((count, 2), -1, dtype=np.int64) if walks is None else walks.found("v_clip", 2)
    steps = np.zeros(count, dtype=np.int64)
    batch = PairBatch(packed, pairs, rows_a, rows_b, int(by_shape))
    run_rows(v_clip_rows, count, threads, batch, distance_fields(out), features, steps)
    if walks is not None:
        walks.add_steps(steps)
    return out


def _v_clip_distance(
    packed: Packed,
    pairs: Ints,
    rows_a: Floats,
    rows_b: Floats,
    by_shape: int,
    count: int,
    signed: bool,
    max_distance: float,
    walks: LeafCache | None,
    threads: int | None,
) -> Distances:
    """V-Clip; rows that overlap are handed over to GJK and, for a signed distance, EPA."""
    out = _v_clip(packed, pairs, rows_a, rows_b, by_shape, count, walks, threads)
    redo = np.flatnonzero(out.status != Status.SEPARATED)
    if len(redo):
        if by_shape:
            shift = by_shape * (redo // len(pairs))
            a, b = (rows[pairs[redo % len(pairs), k] + shift] for k, rows in enumerate((rows_a, rows_b)))
        else:
            a = rows_a if len(rows_a) == 1 else rows_a[redo]
            b = rows_b if len(rows_b) == 1 else rows_b[redo]
        again = distance(packed, pairs[redo % len(pairs)], a, b, 0, len(redo), signed=signed, threads=threads)
        for name in ("distance", "point_a", "point_b", "normal", "status"):
            getattr(out, name)[redo] = getattr(again, name)
    far = out.distance > max_distance
    out.distance[far] = np.inf
    for field in (out.point_a, out.point_b, out.normal):
        field[far] = 0.0
    return out
