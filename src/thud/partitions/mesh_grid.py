"""`MeshGrid`: a regular grid about a mesh that one can hold and walk ([Slides], "Point-in-Object (3DDDA)").

Each cell lists the triangles that may overlap it (the slides list them by barycentre, which misses cells that a triangle
crosses). Cells without triangles are IN or OUT; of an open mesh all of them are OUT. Rays go from cell to cell (Amanatides and
Woo 1987) and ask the triangles listed there.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.decorators import device, exact_device, exact_kernel, kernel
from thud._core.threads import run_rows
from thud.bvh.mesh_grid import IN, OUT, UNKNOWN, build_grid, cell_of
from thud.errors import InvalidInputError
from thud.gates import as_directions, as_points, as_reach, broadcast_rows, unit
from thud.geometry.exact_vec3 import load3
from thud.geometry.ray_local import ray_aabb
from thud.mesh.contains import contains as mesh_contains
from thud.mesh.raycast import settle_hit
from thud.partitions.numbers import as_number, as_numbers
from thud.partitions.tolerances import GRID_STEP
from thud.results import RayHits
from thud.shapes.shape import IDENTITY
from thud.shapes.triangle_mesh import TriangleMesh

#: Words of the cells' states.
STATES = {OUT: "OUT", IN: "IN", UNKNOWN: "UNKNOWN"}


class MeshGrid:
    """Cells about a mesh, one layer wider than it on each side. The mesh's frame, metres.

    Attributes
    ----------
    shape : (3,) cells along x, y, z; cell (i, j, k) has the number (k * ny + j) * nx + i
    origin : (3,) lower corner
    cell : side of a cell, metres
    state : (C,) OUT, IN or UNKNOWN (a triangle may be there); of an open mesh nothing is IN
    """

    OUT, IN, UNKNOWN = OUT, IN, UNKNOWN

    def __init__(self, mesh: TriangleMesh, *, cells: int | None = None) -> None:
        """About `cells` cells over the mesh's box, two million at most; by default four a triangle."""
        if not isinstance(mesh, TriangleMesh):
            raise InvalidInputError(f"mesh: expected a thud.TriangleMesh, got {type(mesh).__name__}")
        if cells is not None and (isinstance(cells, bool) or not isinstance(cells, (int, np.integer)) or cells < 1):
            raise InvalidInputError(f"cells: expected a whole number of at least 1, got {cells!r}")
        self.mesh = mesh
        self._table = build_grid(np.asarray(mesh.vertices), np.asarray(mesh.faces), cells=cells, closed=mesh.is_closed)
        self.shape, self.state = self._table.shape.copy(), self._table.state.copy()
        self.origin, self.cell = self._table.frame[:3].copy(), float(self._table.frame[3])

    def __repr__(self) -> str:
        counts = ", ".join(f"{int((self.state == state).sum()):,} {word}" for state, word in STATES.items())
        return f"MeshGrid({' x '.join(map(str, self.shape.tolist()))} cells of {self.cell:.3g} m: {counts})"

    def regions(self, cells: npt.ArrayLike | None = None) -> Floats:
        """(C, 6) lower and upper corners of cells by number; default all."""
        number = np.arange(len(self.state)) if cells is None else as_numbers(cells, "cells", len(self.state))
        nx, ny = int(self.shape[0]), int(self.shape[1])
        place = np.stack([number % nx, number // nx % ny, number // (nx * ny)], axis=1)
        low = self.origin + place * self.cell
        return np.column_stack([low, low + self.cell])

    def triangles(self, cell: int) -> Ints:
        """Rows of the faces that are listed in a cell, by its number."""
        cell = as_number(cell, "cell", len(self.state))
        return np.asarray(self._table.listed[self._table.start[cell] : self._table.start[cell + 1]].copy())

    def locate(self, points: npt.ArrayLike) -> Ints:
        """(N,) the number of the cell that holds each point (3,) or (N, 3); -1 outside the grid."""
        far = np.clip(np.floor((as_points(points, "points") - self.origin) / self.cell), -1, self.shape)
        place = far.astype(np.int64)
        inside = ((place >= 0) & (place < self.shape)).all(axis=1)
        number = (place[:, 2] * self.shape[1] + place[:, 1]) * self.shape[0] + place[:, 0]
        return np.where(inside, number, -1)

    def contains(self, points: npt.ArrayLike, *, threads: int | None = None) -> Bools:
        """(N,) whether points lie in a closed mesh, or on it: known cells tell, others by the triangles on the way to a known
        one; exact. The same as `thud.contains(mesh, points, method="grid")`."""
        where = as_points(points, "points")
        return mesh_contains(self.mesh, where, IDENTITY[None].copy(), len(where), threads=threads, method="grid")

    def raycast(
        self, origins: npt.ArrayLike, directions: npt.ArrayLike, *, max_distance: float = np.inf, threads: int | None = None
    ) -> RayHits:
        """First hits of rays with the triangles, cell by cell; arguments and result as of `thud.raycast`: what hits is decided
        exactly, on edges, from points on a face and for rays along one too."""
        o, d = as_points(origins, "origins"), unit(as_directions(directions, "directions"))
        reach, count = as_reach(max_distance), broadcast_rows("origins, directions", o, d)
        out = RayHits(np.empty(count), np.zeros((count, 3)), np.zeros((count, 3)), np.empty(count, np.int64))
        table = self._table
        run_rows(
            grid_ray_rows, count, threads, table.shape, table.frame, table.start, table.listed, table.triangles, o, d,
            reach, out.distance, out.triangle,
        )  # fmt: skip
        hit = np.flatnonzero(out.triangle >= 0)
        rows_o, rows_d = hit if len(o) > 1 else hit * 0, hit if len(d) > 1 else hit * 0
        out.point[hit] = o[rows_o] + out.distance[hit, None] * d[rows_d]
        corners = table.triangles[out.triangle[hit]].reshape(-1, 3, 3)
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        out.normal[hit] = normal / np.where(length > 0.0, length, 1.0)
        return out

    def walk(self, origin: npt.ArrayLike, direction: npt.ArrayLike) -> Ints:
        """Numbers of the cells that one ray goes through, in order (3DDDA)."""
        o, d = as_points(origin, "origin"), unit(as_directions(direction, "direction"))
        if len(o) != 1 or len(d) != 1:
            raise InvalidInputError("origin, direction: expected one ray, (3,) each")
        room = np.empty(int(self.shape.sum()) + 3, np.int64)
        return np.asarray(room[: int(grid_walk(self._table.shape, self._table.frame, o[0], d[0], room))].copy())


@device
def enter_grid(o, d, shape, frame):
    """Where a ray enters the grid, metres along it; inf for a ray that misses it."""
    size = frame[3]
    upper = (frame[0] + size * shape[0], frame[1] + size * shape[1], frame[2] + size * shape[2])
    return ray_aabb(o, d, (frame[0], frame[1], frame[2]), upper)[0]


@device
def first_cell(x, low, size, count):
    """Number along one axis of the cell at x, within the grid."""
    return min(max(cell_of(x, low, size, 0.0), 0), count - 1)


@device
def next_border(o, d, i, low, size):
    """Metres along the ray to where it leaves cell i along one axis."""
    if d > 0.0:
        return (low + (i + 1) * size - o) / d
    if d < 0.0:
        return (low + i * size - o) / d
    return math.inf


@device
def step_of(d):
    """Along one axis: to the next cell, the last, or none."""
    return 1 if d > 0.0 else (-1 if d < 0.0 else 0)


@kernel("i8[::1], f8[::1], f8[::1], f8[::1], i8[::1]")
def grid_walk(shape, frame, origin, direction, cells_out):
    """Numbers of the cells of a ray's way. Returns how many."""
    o, d = (origin[0], origin[1], origin[2]), (direction[0], direction[1], direction[2])
    t, size, found = enter_grid(o, d, shape, frame), frame[3], 0
    if t == math.inf:
        return 0
    i = first_cell(o[0] + t * d[0], frame[0], size, shape[0])
    j = first_cell(o[1] + t * d[1], frame[1], size, shape[1])
    k = first_cell(o[2] + t * d[2], frame[2], size, shape[2])
    while i >= 0 and j >= 0 and k >= 0 and i < shape[0] and j < shape[1] and k < shape[2]:
        cells_out[found] = (k * shape[1] + j) * shape[0] + i
        found += 1
        tx = next_border(o[0], d[0], i, frame[0], size)
        ty = next_border(o[1], d[1], j, frame[1], size)
        tz = next_border(o[2], d[2], k, frame[2], size)
        if tx <= ty and tx <= tz:
            i += step_of(d[0])
        elif ty <= tz:
            j += step_of(d[1])
        else:
            k += step_of(d[2])
    return found


@exact_device
def ray_length(o, shape, frame):
    """No triangle of the grid has a corner farther from the origin of a ray along an axis."""
    far = 0.0
    for axis in range(3):
        far = max(far, max(abs(o[axis] - frame[axis]), abs(o[axis] - frame[axis] - frame[3] * shape[axis])))
    return 1.0001 * far


@exact_kernel("i8, i8, i8[::1], f8[::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8, f8[::1], i8[::1]")
def grid_ray_rows(
    start, stop, shape, frame, starts, listed, triangles, origins, directions, reach, distance_out, triangle_out
):  # fmt: skip
    """First hit of each ray: a cell's triangles are asked while the ray is in it; a hit beyond it waits for its own cell."""
    size = frame[3]
    for r in range(start, stop):
        o = load3(origins, r if origins.shape[0] > 1 else 0, 0)
        d = load3(directions, r if directions.shape[0] > 1 else 0, 0)
        best, which, length = math.inf, np.int64(-1), ray_length(o, shape, frame)
        t = enter_grid(o, d, shape, frame)
        if t < math.inf and t <= reach:
            i = first_cell(o[0] + t * d[0], frame[0], size, shape[0])
            j = first_cell(o[1] + t * d[1], frame[1], size, shape[1])
            k = first_cell(o[2] + t * d[2], frame[2], size, shape[2])
            while i >= 0 and j >= 0 and k >= 0 and i < shape[0] and j < shape[1] and k < shape[2]:
                cell = (k * shape[1] + j) * shape[0] + i
                for n in range(starts[cell], starts[cell + 1]):
                    f = listed[n]
                    found = settle_hit(o, d, load3(triangles, f, 0), load3(triangles, f, 3), load3(triangles, f, 6), length)
                    if found < best or (found == best and f < which):
                        best, which = found, f
                tx = next_border(o[0], d[0], i, frame[0], size)
                ty = next_border(o[1], d[1], j, frame[1], size)
                tz = next_border(o[2], d[2], k, frame[2], size)
                out = min(tx, min(ty, tz))
                if best <= out + GRID_STEP * size or out > reach:
                    break
                if tx <= ty and tx <= tz:
                    i += step_of(d[0])
                elif ty <= tz:
                    j += step_of(d[1])
                else:
                    k += step_of(d[2])
        if best > reach:
            best, which = math.inf, np.int64(-1)
        distance_out[r], triangle_out[r] = best, which
