"""What a displaced surface must be, checked once when it is made; each error names argument, row and remedy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints, number_array
from thud._core.decorators import exact_kernel
from thud._core.threads import run_rows
from thud.constants import MESH_COORDINATE
from thud.errors import InvalidInputError, InvalidShapeError
from thud.terrain.tolerances import FACING_FLAT, QUAD_SIDE


def as_whole(value: npt.ArrayLike, name: str, widths: tuple[int, ...]) -> Ints:
    """(N, width) whole numbers."""
    array = number_array(value, name)
    if array.ndim != 2 or array.shape[1] not in widths or len(array) == 0:
        wanted = " or ".join(f"(N, {width})" for width in widths)
        raise InvalidInputError(f"{name}: expected whole numbers of shape {wanted}, got {array.dtype} {array.shape}")
    if not np.issubdtype(array.dtype, np.integer):
        rounded = np.round(array)
        wrong = np.flatnonzero((rounded != array).any(axis=1))
        if len(wrong):
            raise InvalidInputError(f"{name}: row {wrong[0]} is {array[wrong[0]].tolist()}; expected whole numbers")
        array = rounded
    if len(array) and np.abs(array).max() > 2**30:
        raise InvalidInputError(f"{name}: a number beyond 2^30")
    return array.astype(np.int64)


def as_map(value: npt.ArrayLike, name: str, dimensions: int) -> npt.NDArray[np.float32]:
    """Finite float32."""
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(number_array(value, name), dtype=np.float32)
    if array.ndim != dimensions or array.size == 0:
        raise InvalidInputError(f"{name}: expected {dimensions} dimensions, got shape {array.shape}")
    if not np.isfinite(array).all():
        row = np.unravel_index(int(np.argmin(np.isfinite(array))), array.shape)
        raise InvalidInputError(f"{name}: not finite (in float32) at {tuple(int(k) for k in row)}")
    return array


def check_vertices(positions: Floats, directions: Floats, coordinates: Ints, shape: tuple[int, ...]) -> None:
    """One direction and one place in the map a vertex."""
    count = len(positions)
    for name, array in (("directions", directions), ("coordinates", coordinates)):
        if len(array) != count:
            raise InvalidInputError(f"{name}: expected one row a vertex ({count}), got {len(array)}")
    if np.abs(positions).max() > MESH_COORDINATE:
        row = int(np.argmax(np.abs(positions).max(axis=1)))
        raise InvalidShapeError(f"positions: row {row} has a coordinate beyond {MESH_COORDINATE:g}, the limit of surfaces")
    outside = np.flatnonzero((coordinates < 0).any(axis=1) | (coordinates[:, 0] >= shape[1]) | (coordinates[:, 1] >= shape[0]))
    if len(outside):
        row = int(outside[0])
        raise InvalidShapeError(
            f"coordinates: row {row} is {coordinates[row].tolist()}, outside the displacement map of "
            f"{shape[1]} x {shape[0]} samples (s, t)"
        )


def check_reach(
    directions: Floats, displacements: npt.NDArray[np.float32], details: npt.NDArray[np.float32], thickness: float | None
) -> None:
    """No sample, and nothing of the ground, is out of the range of coordinates."""
    most = float(np.abs(displacements).max()) + (float(np.abs(details).max()) if details.size else 0.0)
    if thickness is not None:
        with np.errstate(over="ignore"):
            deep = float(thickness) * np.abs(directions).max()
        if not deep <= MESH_COORDINATE:
            raise InvalidInputError(f"thickness: {thickness:g} times the longest direction leads beyond {MESH_COORDINATE:g}")
    with np.errstate(over="ignore"):
        reach = np.abs(directions).max(axis=1) * most
    if not reach.max() <= MESH_COORDINATE:
        raise InvalidShapeError(
            f"directions: row {int(np.argmax(reach))} times the largest displacement ({most:g}) leads beyond "
            f"{MESH_COORDINATE:g}, the limit of surfaces"
        )


def check_quads(quads: Ints, shape: tuple[int, ...]) -> None:
    """Squares of the map whose side is a power of two; they may share borders and nothing else."""
    side = quads[:, 2]
    wrong = np.flatnonzero((side < 1) | (side > QUAD_SIDE) | (side & (side - 1) != 0))
    if len(wrong):
        row = int(wrong[0])
        raise InvalidShapeError(f"quads: row {row} has side {side[row]}; expected a power of two from 1 to {QUAD_SIDE}")
    outside = (quads[:, :2] < 0).any(axis=1) | (quads[:, 0] + side >= shape[1]) | (quads[:, 1] + side >= shape[0])
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidShapeError(
            f"quads: row {row}, {quads[row].tolist()} (s, t, side), needs samples up to "
            f"({quads[row, 0] + side[row]}, {quads[row, 1] + side[row]}); the map has {shape[1]} x {shape[0]}"
        )


def quads_of(primitives: Ints, coordinates: Ints, quads: Ints, shape: tuple[int, ...]) -> Ints:
    """(P,) the quad in which each primitive lies."""
    owner = np.full((shape[0] - 1, shape[1] - 1), -1, dtype=np.int32)
    one, two = paint_quads(quads, owner)
    if one >= 0:
        raise InvalidShapeError(f"quads: rows {one} and {two} overlap in the map; they may share borders only")
    st = coordinates[np.maximum(primitives, 0)]
    used = primitives >= 0
    low = np.where(used[:, :, None], st, np.iinfo(np.int64).max).min(axis=1)
    high = np.where(used[:, :, None], st, -1).max(axis=1)
    flat = np.flatnonzero((low == high).any(axis=1))
    if len(flat):
        raise InvalidShapeError(f"primitives: row {flat[0]} has no area in the map (s, t)")
    found = owner[low[:, 1], low[:, 0]].astype(np.int64)
    lost = np.flatnonzero(found < 0)
    if len(lost):
        raise InvalidShapeError(f"primitives: row {lost[0]} lies in no quad (its lowest s, t: {low[lost[0]].tolist()})")
    crossing = np.flatnonzero((high > quads[found, :2] + quads[found, 2:]).any(axis=1) | (low < quads[found, :2]).any(axis=1))
    if len(crossing):
        row = int(crossing[0])
        raise InvalidShapeError(f"primitives: row {row} crosses the border of quad {found[row]}; split it there")
    return found


def doubled_areas(primitives: Ints, coordinates: Ints) -> Ints:
    """(P,) twice the area in the map, counter-clockwise positive. A quadrilateral must be a rectangle along s and t."""
    a, b, c = (coordinates[primitives[:, k]] for k in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (c[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1])
    four = primitives[:, 3] >= 0
    d = coordinates[np.maximum(primitives[:, 3], 0)]
    square = (a + c == b + d).all(axis=1) & ((b - a) * (d - a) == 0).all(axis=1)
    wrong = np.flatnonzero(four & ~square)
    if len(wrong):
        raise InvalidShapeError(f"primitives: row {wrong[0]} is a quadrilateral that is no rectangle along s and t in the map")
    return area * np.where(four, 2, 1)


def check_primitives(primitives: Ints, coordinates: Ints, owner: Ints, quads: Ints) -> None:
    """Counter-clockwise in the map, and together they tile their quads."""
    area = doubled_areas(primitives, coordinates)
    wrong = np.flatnonzero(area <= 0)
    if len(wrong):
        row = int(wrong[0])
        what = "has no area" if area[row] == 0 else "runs clockwise: exchange two vertices, or s and t"
        raise InvalidShapeError(f"primitives: row {row} {what} in the map (s, t)")
    total = np.bincount(owner, weights=area, minlength=len(quads))
    off = np.flatnonzero(total != 2 * quads[:, 2] ** 2)
    if len(off):
        row = int(off[0])
        raise InvalidShapeError(
            f"quads: row {row} of {quads[row, 2] ** 2} squares is covered by primitives of {total[row] / 2:g}; "
            "they must tile it"
        )


def check_facing(positions: Floats, directions: Floats, primitives: Ints) -> None:
    """Directions point to the side from which the primitive runs counter-clockwise."""
    four = primitives[:, 3] >= 0
    a, b, c = (positions[primitives[:, k]] for k in range(3))
    d = positions[np.maximum(primitives[:, 3], 0)]
    with np.errstate(over="ignore", invalid="ignore"):
        normal = np.where(four[:, None], np.cross(c - a, d - b), np.cross(b - a, c - a))
    flat = np.flatnonzero(~normal.any(axis=1) | ~np.isfinite(normal).all(axis=1))
    if len(flat):
        raise InvalidShapeError(f"primitives: row {flat[0]} has no area in space")
    for k in range(4):
        used = primitives[:, k] >= 0
        along = directions[np.maximum(primitives[:, k], 0)]
        facing = np.einsum("ij,ij->i", normal, along)
        least = FACING_FLAT * np.linalg.norm(normal, axis=1) * np.linalg.norm(along, axis=1)
        wrong = np.flatnonzero(used & ~(facing > least))
        if len(wrong):
            row = int(wrong[0])
            raise InvalidShapeError(
                f"primitives: row {row}: the direction of vertex {primitives[row, k]} does not point to the primitive's "
                "upper side (from which its vertices run counter-clockwise); turn the primitive over or the direction round"
            )


def folded_primitives(
    positions: Floats, directions: Floats, coordinates: Ints, primitives: Ints, displacements: npt.NDArray[np.float32]
) -> Ints:
    """Rows of primitives whose directions cross before they reach the surface: moved along them as far as all of its samples at
    the vertices are, such a primitive no longer faces them."""
    used = np.where(primitives >= 0, primitives, primitives[:, :1])
    length = displacements[coordinates[:, 1], coordinates[:, 0]].astype(np.float64)[used]
    common = np.where(
        length[:, :1] > 0.0, np.maximum(length.min(axis=1), 0.0)[:, None], np.minimum(length.max(axis=1), 0.0)[:, None]
    )
    # Edges of triangles, diagonals of quadrilaterals.
    four = primitives[:, 3] >= 0
    ends = np.where(four[:, None], [0, 2, 1, 3], [0, 1, 0, 2])
    p0, p1, p2, p3 = (positions[np.take_along_axis(used, ends[:, k : k + 1], 1)[:, 0]] for k in range(4))
    n0, n1, n2, n3 = (directions[np.take_along_axis(used, ends[:, k : k + 1], 1)[:, 0]] for k in range(4))
    e, f, de, df = p1 - p0, p3 - p2, common * (n1 - n0), common * (n3 - n2)
    up = n0 + n1 + n2 + n3
    # Area at the part x of that length: a + b x + c x^2, which is least at an end or in between.
    a, c = (np.einsum("ij,ij->i", np.cross(*pair), up) for pair in ((e, f), (de, df)))
    b = np.einsum("ij,ij->i", np.cross(e, df) + np.cross(de, f), up)
    x = np.where(c > 0.0, np.clip(-0.5 * b / np.where(c > 0.0, c, 1.0), 0.0, 1.0), 1.0)
    return np.flatnonzero(a + x * (b + x * c) < FACING_FLAT * a)


def check_tiling(owner: Ints, primitives: Ints, coordinates: Ints, quads: Ints) -> None:
    """Primitives of equal total area neither overlap nor leave gaps."""
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], np.arange(len(quads) + 1))
    wrong = np.zeros(len(quads), dtype=np.bool_)
    run_rows(tiling_rows, len(quads), None, quads, first, primitives[order], coordinates, wrong, rows_per_chunk=64)
    if wrong.any():
        raise InvalidShapeError(f"quads: row {int(np.argmax(wrong))}: its primitives overlap or leave gaps; they must tile it")


# Two points of each square that lie on no line through two nodes of a quad: irrational offsets.
_WITHIN = ((0.7236067977, 0.1180339887), (0.2360679775, 0.9021130326))


@exact_kernel("i8[:,::1], i4[:,::1]")
def paint_quads(quads, owner_out):
    """Write the row of each quad to its squares. Returns the first two that overlap, or -1, -1."""
    for row in range(quads.shape[0]):
        s, t, side = quads[row, 0], quads[row, 1], quads[row, 2]
        for y in range(t, t + side):
            for x in range(s, s + side):
                if owner_out[y, x] >= 0:
                    return np.int64(owner_out[y, x]), row
                owner_out[y, x] = row
    return np.int64(-1), np.int64(-1)


@exact_kernel("i8, i8, i8[:,::1], i8[::1], i8[:,::1], i8[:,::1], b1[::1]")
def tiling_rows(start, stop, quads, first, primitives, coordinates, wrong_out):
    """Whether some half of a square of a quad is not covered by exactly one of its primitives, which are those from first[quad]
    on."""
    for quad in range(start, stop):
        s, t, side = quads[quad, 0], quads[quad, 1], quads[quad, 2]
        for y in range(t, t + side):
            for x in range(s, s + side):
                for half in range(2):
                    px, py = x + _WITHIN[half][0], y + _WITHIN[half][1]
                    seen = 0
                    for k in range(first[quad], first[quad + 1]):
                        count = 3 if primitives[k, 3] < 0 else 4
                        inside = True
                        for i in range(count):
                            a, b = primitives[k, i], primitives[k, (i + 1) % count]
                            ds, dt = coordinates[b, 0] - coordinates[a, 0], coordinates[b, 1] - coordinates[a, 1]
                            inside &= ds * (py - coordinates[a, 1]) - dt * (px - coordinates[a, 0]) > 0.0
                        seen += inside
                    wrong_out[quad] |= seen != 1
