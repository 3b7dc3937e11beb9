"""The 3D grid point test of [Slides]: cells marked inside, outside or unknown.

Deviation (erratum): the slides put a triangle into the cell of its barycentre, which misses cells that it crosses. Here
a cell lists every triangle that may overlap it, and is UNKNOWN if there is one. Cells without are IN or OUT, all cells of
a connected region alike, by one exact test for each region.

A point in an UNKNOWN cell is decided exactly: along +x there is a cell that is known, with its middle q (in the point's row);
the point is as q is if the way to q crosses an even number of triangles, and those are listed in the cells in between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud import geometry
from thud._core.decorators import exact_device, exact_kernel
from thud.bvh.tolerances import GRID_CELLS, GRID_FLAT, GRID_LEAST, GRID_SLACK
from thud.gates import Array
from thud.geometry.mesh import parity_along_x

OUT, IN, UNKNOWN = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class CellTable:
    """A grid about a mesh, one layer of cells wider than it on each side."""

    shape: npt.NDArray[np.int64]
    """(3,) cells along x, y, z; cell (i, j, k) has number (k * ny + j) * nx + i."""
    frame: Array
    """(4,) lower corner, size of a cell (metres)."""
    state: npt.NDArray[np.uint8]
    """(C,) OUT, IN or UNKNOWN."""
    start: npt.NDArray[np.int64]
    """(C + 1,) where the list of each cell begins."""
    listed: npt.NDArray[np.int64]
    """Face rows, by cell."""
    triangles: Array
    """(T, 9) corners of the triangles."""

    @property
    def arrays(self) -> tuple[npt.NDArray, ...]:
        """What `grid_rows` takes."""
        return self.shape, self.frame, self.state, self.start, self.listed, self.triangles


def build_grid(vertices: Array, faces: npt.NDArray[np.int64], *, cells: int | None = None, closed: bool = True) -> CellTable:
    """Grid of about so many cells, by default four a triangle, about a mesh; without triangles a cell of an open one is OUT."""
    from scipy import ndimage

    triangles = np.ascontiguousarray(vertices[faces].reshape(-1, 9))
    points = triangles.reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    extent = np.maximum(high - low, GRID_FLAT * (high - low).max())
    cell = float((extent.prod() / min(4.0 * len(faces) + 64.0 if cells is None else float(cells), GRID_CELLS)) ** (1.0 / 3.0))
    # No smaller than what coordinates so far from the origin can resolve.
    cell = max(cell, GRID_LEAST * float(np.abs(points).max()))
    shape = np.floor((high - low) / cell).astype(np.int64) + 3
    frame = np.append(low - cell, cell)
    total = int(shape.prod())
    start = np.zeros(total + 1, dtype=np.int64)
    list_triangles(shape, frame, triangles, 0, start, np.empty(0, dtype=np.int64))
    start = np.concatenate([[0], np.cumsum(start[:-1])])
    listed = np.empty(int(start[-1]), dtype=np.int64)
    list_triangles(shape, frame, triangles, 1, start[:-1].copy(), listed)
    state = np.full(total, UNKNOWN, dtype=np.uint8)
    empty = (np.diff(start) == 0).reshape(shape[::-1])
    if not closed:
        state[empty.ravel()] = OUT
        return CellTable(shape, frame, state, start, listed, triangles)
    regions, count = ndimage.label(empty)
    regions = regions.ravel()
    # One cell of each region; region 0 is that of the cells that are not empty.
    _, first = np.unique(regions, return_index=True)
    if count:
        some = first[-count:]
        place = np.stack([some % shape[0], some // shape[0] % shape[1], some // (shape[0] * shape[1])], axis=1)
        inside = geometry.point_in_mesh(frame[:3] + (place + 0.5) * cell, vertices, faces)
        known = np.concatenate([[UNKNOWN], np.where(inside, IN, OUT)]).astype(np.uint8)
        state = known[regions]
    return CellTable(shape, frame, state, start, listed, triangles)


@exact_device
def cell_of(x, low, size, slack):
    """Number of the cell along one axis."""
    return np.int64(np.floor((x - low) / size + slack))


@exact_kernel("i8[::1], f8[::1], f8[:,::1], i8, i8[::1], i8[::1]")
def list_triangles(shape, frame, triangles, fill, place_inout, listed_out):
    """For each cell the triangles whose box and whose plane meet it: with fill 0 their number, then themselves."""
    size = frame[3]
    for t in range(triangles.shape[0]):
        c = triangles[t]
        ux, uy, uz = c[3] - c[0], c[4] - c[1], c[5] - c[2]
        vx, vy, vz = c[6] - c[0], c[7] - c[1], c[8] - c[2]
        nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        # Half the width of a cell along the normal, with slack.
        half = (0.5 + GRID_SLACK) * size * (abs(nx) + abs(ny) + abs(nz))
        i0 = cell_of(min(c[0], min(c[3], c[6])), frame[0], size, -GRID_SLACK)
        i1 = cell_of(max(c[0], max(c[3], c[6])), frame[0], size, GRID_SLACK)
        j0 = cell_of(min(c[1], min(c[4], c[7])), frame[1], size, -GRID_SLACK)
        j1 = cell_of(max(c[1], max(c[4], c[7])), frame[1], size, GRID_SLACK)
        k0 = cell_of(min(c[2], min(c[5], c[8])), frame[2], size, -GRID_SLACK)
        k1 = cell_of(max(c[2], max(c[5], c[8])), frame[2], size, GRID_SLACK)
        for k in range(max(k0, 0), min(k1, shape[2] - 1) + 1):
            for j in range(max(j0, 0), min(j1, shape[1] - 1) + 1):
                for i in range(max(i0, 0), min(i1, shape[0] - 1) + 1):
                    x = frame[0] + (i + 0.5) * size - c[0]
                    y = frame[1] + (j + 0.5) * size - c[1]
                    z = frame[2] + (k + 0.5) * size - c[2]
                    if abs(nx * x + ny * y + nz * z) <= half:
                        cell = (k * shape[1] + j) * shape[0] + i
                        if fill:
                            listed_out[place_inout[cell]] = t
                        place_inout[cell] += 1


@exact_kernel(inner="vec3, i8[::1], f8[::1], u1[::1], i8[::1], i8[::1], f8[:,::1], i8[::1], i8")
def point_in_grid(p, shape, frame, state, start, listed, triangles, seen, mark):
    """Whether p lies in or on the closed mesh. seen[t] = mark for triangles done; the mark is a new number each time."""
    size = frame[3]
    for axis in range(3):
        x = p[0] if axis == 0 else (p[1] if axis == 1 else p[2])
        if not (x >= frame[axis] and x < frame[axis] + size * shape[axis]):
            return False
    i, j, k = cell_of(p[0], frame[0], size, 0.0), cell_of(p[1], frame[1], size, 0.0), cell_of(p[2], frame[2], size, 0.0)
    i, j, k = min(i, shape[0] - 1), min(j, shape[1] - 1), min(k, shape[2] - 1)
    row = (k * shape[1] + j) * shape[0]
    end = i
    while state[row + end] == UNKNOWN:
        end += 1
    inside = state[row + end] == IN
    if end == i:
        return inside
    q = (frame[0] + (end + 0.5) * size, p[1], p[2])
    for cell in range(row + i, row + end):
        for n in range(start[cell], start[cell + 1]):
            t = listed[n]
            if seen[t] == mark:
                continue
            seen[t] = mark
            c = triangles[t]
            if max(c[1], max(c[4], c[7])) < p[1] or min(c[1], min(c[4], c[7])) > p[1]:
                continue
            if max(c[2], max(c[5], c[8])) < p[2] or min(c[2], min(c[5], c[8])) > p[2]:
                continue
            if max(c[0], max(c[3], c[6])) < p[0] or min(c[0], min(c[3], c[6])) > q[0]:
                continue
            a, b, d = (c[0], c[1], c[2]), (c[3], c[4], c[5]), (c[6], c[7], c[8])
            found = parity_along_x(p, a, b, d)
            if found == 2:
                return True
            if found != parity_along_x(q, a, b, d):
                inside = not inside
    return inside
