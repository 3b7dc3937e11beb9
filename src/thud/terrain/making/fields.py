"""Signed distance fields to make terrain from: a callable, a 3D array, or a triangle mesh. Negative inside the ground."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thud._core.arrays import MOST, Bools, Floats, finite_array, float_array, number_array, writable
from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.errors import InvalidInputError, InvalidShapeError
from thud.gates import as_points, as_vector
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.making.tolerances import EDGE_WEIGHT, FIELD_BLOCK

Field = Callable[[Floats], npt.ArrayLike]

# Corners of a tetrahedron: differences along them give a gradient with four evaluations.
_TETRAHEDRON = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])


def check_signed(values: npt.ArrayLike, name: str) -> None:
    """Truth values have no sign, so that there is no surface between them."""
    if np.asarray(values).dtype == np.bool_:
        raise InvalidInputError(
            f"{name}: expected signed distances, got True and False; give negative numbers inside the ground and positive ones "
            "outside, such as np.where(inside, -1.0, 1.0), or better a distance"
        )


@dataclass(frozen=True, eq=False)
class GridField:
    """A field given at the nodes of a grid, trilinear between them, and for one cell beyond them.

    Parameters
    ----------
    values : (X, Y, Z) indexed [x, y, z], at least 2 a side; negative inside the ground
    origin : (3,) where node [0, 0, 0] is, metres
    spacing : metres between nodes; one number or three
    """

    values: npt.ArrayLike
    origin: npt.ArrayLike
    spacing: npt.ArrayLike

    def __post_init__(self) -> None:
        values = number_array(self.values, "values")
        check_signed(values, "values")
        if values.ndim != 3 or min(values.shape) < 2:
            raise InvalidInputError(
                f"values: expected an array (X, Y, Z) of at least 2 a side, got {values.dtype} {values.shape}"
            )
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        if not np.isfinite(values).all():
            row = np.unravel_index(int(np.argmin(np.isfinite(values))), values.shape)
            raise InvalidInputError(f"values: not finite at {tuple(int(k) for k in row)}")
        given = finite_array(self.spacing, "spacing")
        if given.shape not in ((), (1,), (3,)) or (given <= 0.0).any():
            raise InvalidInputError(
                f"spacing: expected positive metres between nodes, one number or three, got {self.spacing!r}"
            )
        spacing = np.broadcast_to(given, (3,)).astype(np.float64)
        object.__setattr__(self, "values", writable(np.ascontiguousarray(values)))
        object.__setattr__(self, "origin", as_vector(self.origin, "origin"))
        object.__setattr__(self, "spacing", spacing)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner of the grid."""
        size = (np.array(np.shape(self.values)) - 1) * np.asarray(self.spacing, dtype=np.float64)
        origin = np.array(self.origin, dtype=np.float64)
        return origin, origin + size

    def __call__(self, points: Floats) -> Floats:
        """(N, 3) -> (N,)"""
        values: npt.NDArray[np.floating] = self.values  # type: ignore[assignment]
        where = as_points(points, "points", limit=MOST)
        out = np.empty(len(where))
        rows = trilinear_rows if values.dtype == np.float64 else trilinear_single_rows
        run_rows(rows, len(where), None, values, self.origin, self.spacing, where, out)
        return out


@exact_device
def _trilinear(values, x, y, z):
    """Value at (x, y, z) nodes from the first: trilinear, the border's cells go on for one more."""
    i = np.int64(min(max(np.floor(x), 0.0), values.shape[0] - 2.0))
    j = np.int64(min(max(np.floor(y), 0.0), values.shape[1] - 2.0))
    k = np.int64(min(max(np.floor(z), 0.0), values.shape[2] - 2.0))
    x, y, z = min(max(x - i, -1.0), 2.0), min(max(y - j, -1.0), 2.0), min(max(z - k, -1.0), 2.0)
    total = 0.0
    for corner in range(8):
        a, b, c = corner >> 2, (corner >> 1) & 1, corner & 1
        weight = (x if a else 1.0 - x) * (y if b else 1.0 - y) * (z if c else 1.0 - z)
        total += weight * np.float64(values[i + a, j + b, k + c])
    return total


@exact_kernel("i8, i8, f8[:,:,::1], f8[::1], f8[::1], f8[:,::1], f8[::1]")
def trilinear_rows(start, stop, values, origin, spacing, points, out):
    """Values of a grid at points."""
    for row in range(start, stop):
        x, y, z = points[row, 0] - origin[0], points[row, 1] - origin[1], points[row, 2] - origin[2]
        out[row] = _trilinear(values, x / spacing[0], y / spacing[1], z / spacing[2])


@exact_kernel("i8, i8, f4[:,:,::1], f8[::1], f8[::1], f8[:,::1], f8[::1]")
def trilinear_single_rows(start, stop, values, origin, spacing, points, out):
    """The same of values in single precision."""
    for row in range(start, stop):
        x, y, z = points[row, 0] - origin[0], points[row, 1] - origin[1], points[row, 2] - origin[2]
        out[row] = _trilinear(values, x / spacing[0], y / spacing[1], z / spacing[2])


@dataclass(frozen=True, eq=False)
class MeshField:
    """Signed distance to a mesh.

    A closed mesh is solid, by parity, whichever way its triangles run. An open one has its ground behind its triangles: the
    side is told by the normal where the closest point is, of an edge or vertex the angle-weighted one (Baerentzen and Aanaes
    2005); the triangles must agree.
    """

    mesh: TriangleMesh

    def __post_init__(self) -> None:
        if not isinstance(self.mesh, TriangleMesh):
            raise InvalidInputError(f"mesh: expected a TriangleMesh, got a {type(self.mesh).__name__}")
        if not self.mesh.is_closed and len(self.mesh.problems().flipped_edges):
            raise InvalidShapeError(
                "mesh: neighbouring triangles run in opposite ways, so that the ground has no side; turn them"
            )

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Box of the mesh."""
        vertices = np.asarray(self.mesh.vertices)[np.unique(self.mesh.faces)]
        return vertices.min(axis=0), vertices.max(axis=0)

    def closest(self, points: Floats) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
        """Unsigned distance, closest point, triangle."""
        from thud.mesh.closest_point import closest_point
        from thud.pose import as_poses

        found = closest_point(
            self.mesh, np.ascontiguousarray(points), as_poses(None, "pose"), len(points), signed=False, threads=None
        )
        return found.distance, found.point, found.triangle

    def __call__(self, points: Floats) -> Floats:
        """(N, 3) -> (N,)"""
        if self.mesh.is_closed:
            from thud.mesh.closest_point import closest_point
            from thud.pose import as_poses

            where = np.ascontiguousarray(points)
            return closest_point(self.mesh, where, as_poses(None, "pose"), len(where), signed=True, threads=None).distance
        distance, point, triangle = self.closest(points)
        normal = self._pseudo_normals(triangle, point)[0]
        below = np.einsum("ij,ij->i", points - point, normal) < 0.0
        return np.where(below, -distance, distance)

    def beyond(self, points: Floats) -> Bools:
        """Where the closest point lies on the border of an open mesh: the field says nothing there."""
        if self.mesh.is_closed:
            return np.zeros(len(points), dtype=bool)
        _, point, triangle = self.closest(points)
        return self._pseudo_normals(triangle, point)[1]

    @cached_property
    def _normals(self) -> tuple[Floats, Floats, Floats, Bools, Bools]:
        """Unit normals of triangles (T, 3), of their corners and edges (T, 3, 3), which corners and edges are on the border."""
        places, faces = np.asarray(self.mesh.places), np.asarray(self.mesh.faces)
        corners = np.asarray(self.mesh.vertices)[faces]
        area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        flat = _unit(area)
        rows = places[faces]
        at_vertex = np.zeros((len(places), 3))
        for k in range(3):
            a, b = _unit(corners[:, (k + 1) % 3] - corners[:, k]), _unit(corners[:, (k + 2) % 3] - corners[:, k])
            angle = np.arccos(np.clip(np.einsum("ij,ij->i", a, b), -1.0, 1.0))
            np.add.at(at_vertex, rows[:, k], angle[:, None] * flat)
        # Edge k leads from corner k to the next.
        ends = np.sort(np.stack([rows, np.roll(rows, -1, axis=1)], axis=2), axis=2).reshape(-1, 2)
        _, edge, count = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
        edge = edge.reshape(-1)
        at_edge = np.zeros((len(count), 3))
        np.add.at(at_edge, edge, np.repeat(flat, 3, axis=0))
        border = (count == 1)[edge]
        at_border = np.zeros(len(places), dtype=bool)
        at_border[ends[border].reshape(-1)] = True
        return flat, at_vertex[rows], at_edge[edge].reshape(-1, 3, 3), at_border[rows], border.reshape(-1, 3)

    def _pseudo_normals(self, triangle: npt.NDArray[np.int64], point: Floats) -> tuple[Floats, Bools]:
        """Normal of the face, edge or vertex in which each closest point lies; whether that is on the border."""
        flat, at_vertex, at_edge, border_vertex, border_edge = self._normals
        corners = np.asarray(self.mesh.vertices)[np.asarray(self.mesh.faces)[triangle]]
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        normal = np.cross(b - a, c - a)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.einsum("ij,ij->i", normal, normal)
            w1 = np.einsum("ij,ij->i", np.cross(point - a, c - a), normal) / size
            w2 = np.einsum("ij,ij->i", np.cross(b - a, point - a), normal) / size
        # A weight within roundoff of 0: the point is on the opposite edge.
        weights = np.column_stack([1.0 - w1 - w2, w1, w2])
        zero = ~(weights > EDGE_WEIGHT)
        count = zero.sum(axis=1)
        edge, corner = (np.argmax(zero, axis=1) + 1) % 3, np.argmin(zero, axis=1)
        found = np.where((count == 1)[:, None], at_edge[triangle, edge], flat[triangle])
        found = np.where((count >= 2)[:, None], at_vertex[triangle, corner], found)
        border = np.where(count >= 2, border_vertex[triangle, corner], (count == 1) & border_edge[triangle, edge])
        return found, border


def evaluate(field: Field, points: Floats) -> Floats:
    """(N,) values, in blocks; what the field returns is checked."""
    out = np.empty(len(points))
    for start in range(0, len(points), FIELD_BLOCK):
        # A copy: the field may write to it.
        block = np.array(points[start : start + FIELD_BLOCK])
        returned = field(block)
        check_signed(returned, "field")
        values = float_array(returned, "field")
        if values.shape != (len(block),):
            raise InvalidInputError(f"field: expected values of shape ({len(block)},) for as many points, got {values.shape}")
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise InvalidInputError(f"field: {values[row]} at point {block[row].tolist()}; expected a finite distance")
        out[start : start + FIELD_BLOCK] = values
    return out


def gradient(field: Field, points: Floats, step: float) -> Floats:
    """(N, 3) by differences over `step`."""
    out = np.zeros((len(points), 3))
    for corner in _TETRAHEDRON:
        out += evaluate(field, points + step * corner)[:, None] * corner
    return out / (4.0 * step)


def slopes(field: Field, points: Floats, step: float) -> Floats:
    """Slopes of a field, by which its values become distances: |f| / |grad f|, which is exact for a true distance and first
    order otherwise. That of a mesh is 1."""
    if isinstance(field, MeshField):
        return np.ones(len(points))
    slope = np.linalg.norm(gradient(field, points, step), axis=1)
    # On creases of the field differences cancel.
    slope = np.maximum(slope, 0.3 * np.median(slope)) if len(slope) else slope
    return np.where(slope > 0.0, slope, 1.0)


def sizes(field: Field, points: Floats) -> Floats:
    """(N,) values without their signs."""
    return field.closest(points)[0] if isinstance(field, MeshField) else np.abs(evaluate(field, points))


def _unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)
