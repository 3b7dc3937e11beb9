"""Tiles of kind `triangles`: any mesh, its triangles apart from the tree in the order of its leaves ([EUVE] 3.1.2)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import exact_kernel
from thud.constants import MESH_COORDINATE
from thud.errors import DamagedStoreError, InvalidInputError
from thud.gates import as_points, whole_array
from thud.geometry.exact_vec3 import cross, dot, norm2, sub
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.tiles.record import TRIANGLES, Record, as_key, pack
from thud.terrain.tiles.sphere_check import check_tree, sphere_fault
from thud.terrain.tiles.sphere_tree import build_sphere_tree
from thud.terrain.tiles.tile_arrays import NO_BLOCKS, NO_GRID, NO_SURFACE, TileArrays
from thud.terrain.tiles.tolerances import LEAF_TRIANGLES, PLANE_NEEDLE, PLANE_SLACK, TREE_LEVELS

#: Corners are so many quanta from the tile's origin at most, so that float32 has them exactly.
_REACH = 2**24


_NO_AREA = "corners: no triangle has an area"


def triangle_record(
    key: Any,
    vertices: npt.ArrayLike,
    faces: npt.ArrayLike,
    *,
    quantum: float,
    leaf: int = LEAF_TRIANGLES,
    levels: int = TREE_LEVELS,
) -> bytes:
    """The record of a tile of triangles.

    Parameters
    ----------
    key : (i, j) or (i, j, k)
    vertices : (V, 3) in the terrain's frame, metres; rounded to multiples of the quantum, so that neighbours that share a
        vertex have it in the same place to the last bit
    faces : (T, 3) rows of vertices, counter-clockwise seen from outside
    quantum : metres, a power of two
    leaf, levels : N and M of the sphere tree
    """
    key, quantum = as_key(key), as_quantum(quantum)
    points, corners = as_points(vertices, "vertices", limit=MESH_COORDINATE, least=1), whole_array(faces, "faces")
    if corners.ndim != 2 or corners.shape[1] != 3 or len(corners) == 0:
        raise InvalidInputError(f"faces: expected whole numbers of shape (T, 3), got shape {corners.shape}")
    wrong = np.flatnonzero(((corners < 0) | (corners >= len(points))).any(axis=1))
    if len(wrong):
        raise InvalidInputError(f"faces: row {wrong[0]} names a vertex outside 0 .. {len(points) - 1}")
    used, rows = np.unique(corners, return_inverse=True)
    rows = rows.reshape(-1, 3)
    quanta = np.round(points[used] / quantum)
    middle = np.round(0.5 * (quanta.min(axis=0) + quanta.max(axis=0)))
    if np.abs(quanta - middle).max() > _REACH:
        raise InvalidInputError(
            f"tile {tuple(key)}: vertices reach over more than {2 * _REACH} quanta of {quantum:g} m; take a larger quantum or "
            "smaller tiles"
        )
    local = (quanta - middle) * quantum
    triangles = local[rows]
    if not has_area(triangles):
        raise InvalidInputError(f"faces: none has an area when its corners are multiples of the quantum, {quantum:g} m")
    count = len(rows)
    tree = build_sphere_tree(
        triangles.reshape(-1, 3), 3 * np.arange(count + 1), np.ones(count, np.int64), leaf=leaf, levels=levels
    )
    ordered = triangles[tree.order].reshape(-1, 9)
    planes = np.empty((count, 4))
    plane_rows(ordered, planes)
    # Vertices are numbered as the triangles come, so that the record depends on nothing else.
    _, first, number = np.unique(rows[tree.order], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    arrays = {
        "origin": middle * quantum,
        "nodes": tree.nodes,
        "corners": ordered,
        "planes": planes,
        "faces": rank[number].reshape(-1, 3),
    }
    return pack(TRIANGLES, key, arrays)


def has_area(triangles: Floats) -> bool:
    """Whether one of the triangles (T, 3, 3) has an area; without there is no surface."""
    return bool(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]).any())


def as_quantum(quantum: float) -> float:
    """The gate of a quantum: a power of two."""
    if isinstance(quantum, (int, float, np.number)) and not isinstance(quantum, bool) and 0.0 < quantum < math.inf:
        value = float(quantum)
        if math.frexp(value)[0] == 0.5 and 2.0**-60 <= value <= 2.0**60:
            return value
    raise InvalidInputError(f"quantum: expected a power of two, metres, got {quantum!r}")


@exact_kernel("f8[:,::1], f8[:,::1]")
def plane_rows(corners, planes_out):
    """A, B, C, D of each triangle; 0 for a needle, whose normal roundoff decides."""
    for t in range(corners.shape[0]):
        a = (corners[t, 0], corners[t, 1], corners[t, 2])
        b = (corners[t, 3], corners[t, 4], corners[t, 5])
        c = (corners[t, 6], corners[t, 7], corners[t, 8])
        ab, bc, ca = sub(b, a), sub(c, b), sub(a, c)
        ab2, bc2, ca2 = norm2(ab), norm2(bc), norm2(ca)
        # From the two shorter edges.
        if ab2 >= bc2 and ab2 >= ca2:
            n = cross(bc, ca)
        else:
            n = cross(ca, ab) if bc2 >= ca2 else cross(ab, bc)
        length = math.sqrt(norm2(n))
        if not length > PLANE_NEEDLE * max(ab2, bc2, ca2):
            for k in range(4):
                planes_out[t, k] = 0.0
            continue
        n = (n[0] / length, n[1] / length, n[2] / length)
        for k in range(3):
            planes_out[t, k] = n[k]
        planes_out[t, 3] = -dot(n, a)


def triangle_arrays(record: Record) -> TileArrays:
    """What kernels read; a named error for numbers that no tile has."""
    a = record.arrays
    count = len(a["corners"])
    if len(a["origin"]) != 3 or len(a["planes"]) != count or len(a["faces"]) != count:
        raise DamagedStoreError(f"{count} triangles, {len(a['planes'])} planes, {len(a['faces'])} faces")
    for name in ("origin", "corners", "planes"):
        # NaN is neither.
        if a[name].size and not (a[name].min() >= -MESH_COORDINATE and a[name].max() <= MESH_COORDINATE):
            raise DamagedStoreError(f"{name}: a number that is not finite, or beyond {MESH_COORDINATE:g}")
    if count and not (a["faces"].min() == 0 and a["faces"].max() < 3 * count):
        raise DamagedStoreError("faces: a vertex that is not there")
    check_tree(a["nodes"], count)
    nodes = a["nodes"].view(np.float32)
    return TileArrays(
        TRIANGLES, a["origin"], nodes, a["nodes"], a["corners"], a["planes"], NO_BLOCKS, NO_GRID, NO_SURFACE
    )  # fmt: skip


def check_triangles(record: Record) -> None:
    """Named error unless spheres hold their triangles, planes are theirs, and vertices that are one lie in one place."""
    a = record.arrays
    corners = a["corners"].astype(np.float64)
    fault = int(sphere_fault(a["nodes"], a["nodes"].view(np.float32), corners.reshape(-1, 3), 3 * np.arange(len(corners) + 1)))
    if fault >= 0:
        raise DamagedStoreError(f"sphere tree, node {fault}: its sphere does not hold its triangles")
    planes = np.empty((len(corners), 4))
    plane_rows(corners, planes)
    size = max(float(np.abs(corners).max()), 1e-300)
    wrong = np.abs(planes - a["planes"]) > PLANE_SLACK * np.array([1.0, 1.0, 1.0, size])
    if wrong.any():
        raise DamagedStoreError(f"planes: row {int(np.argmax(wrong.any(axis=1)))} is not the plane of its triangle")
    if not has_area(corners.reshape(-1, 3, 3)):
        raise DamagedStoreError(_NO_AREA)
    _vertices(a)


def _vertices(arrays: dict[str, npt.NDArray[Any]]) -> tuple[Floats, Ints]:
    """Vertices in the tile's frame, and faces."""
    faces, points = arrays["faces"].astype(np.int64), arrays["corners"].reshape(-1, 3)
    count = int(faces.max()) + 1
    vertices = np.full((count, 3), np.nan)
    vertices[faces.reshape(-1)] = points
    if not np.array_equal(vertices[faces.reshape(-1)], points) or np.isnan(vertices).any():
        raise DamagedStoreError("faces: a vertex is nowhere, or in two places")
    return vertices, faces


def triangle_shape(record: Record) -> TriangleMesh:
    """The tile as a mesh in the terrain's frame; triangles keep their numbers."""
    vertices, faces = _vertices(record.arrays)
    points = vertices + record.arrays["origin"]
    if not has_area(points[faces]):
        raise DamagedStoreError(f"tile {tuple(record.key)}: {_NO_AREA}")
    return TriangleMesh(points, faces)
