"""The rasteriser in Numba: tiles in parallel, works everywhere. Rules of coverage: `raster.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._threads import run_rows
from thud.imagespace.raster import bin_triangles, contained_rows, count_faces, draw_edges, pass_edges, pass_faces, snap_rows
from thud.imagespace.rasteriser import Drawing, Work

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Side of a tile, pixels.
TILE = 64

#: Findings a tile that there is room for at first (a count).
ROOM = 512


class CpuRasteriser:
    """See `Rasteriser`."""

    name = "Numba"

    def __init__(self, threads: int | None = None) -> None:
        self.work, self._threads = Work(), threads

    def load(self, drawing: Drawing) -> None:
        """Take a drawing and clear all buffers."""
        self._drawing = drawing
        self._bins: tuple[Ints, Ints, Ints] | None = None
        self._fixed, self._edge_fixed = (np.empty((len(drawing.points), 2), np.int64) for _ in range(2))
        for points, fixed in ((drawing.points, self._fixed), (drawing.edge_points, self._edge_fixed)):
            run_rows(snap_rows, len(points), self._threads, points, fixed, rows_per_chunk=8192)
        pixels = drawing.width * drawing.height
        self._depth, self._owner = np.full(pixels, np.inf), np.full(pixels, -1, np.int64)
        self._stencil, self._colour = np.zeros(pixels, np.int32), np.full((2, pixels), -1, np.int64)

    def draw_edges(self, *, behind: bool = False) -> int:
        """Pass 1."""
        d = self._drawing
        # Edges nearer than 0 are not seen.
        last = self._depth if behind else np.full(len(self._depth), np.nextafter(0.0, -1.0))
        self._depth, self._owner = np.full(len(last), np.inf), np.full(len(last), -1, np.int64)
        self._stencil[:], self._colour[:] = 0, -1
        drawn = draw_edges(
            0, len(d.edges), self._edge_fixed, d.edge_points, d.edges, d.width, d.height, last, self._depth, self._owner
        )
        far = self._depth > d.depth
        self._depth[far], self._owner[far] = np.inf, -1
        self._count(1, 0, len(d.edges), drawn)
        return int((self._owner >= 0).sum())

    def count_faces(self, first: int, last: int, *, front: int, back: int) -> None:
        """Passes 2 and 3."""
        d = self._drawing
        begin, end = int(d.triangle_starts[first]), int(d.triangle_starts[last])
        drawn = count_faces(
            begin, end, self._fixed, d.points, d.triangles, d.width, d.height, self._depth, self._owner, front, back,
            self._stencil,
        )  # fmt: skip
        self._count(1, end - begin, 0, drawn)

    def identify_edges(self, *, reset: bool, query: bool = False) -> Ints:
        """Pass 4."""
        d = self._drawing
        counts = np.zeros(d.count, np.int64)
        objects = np.repeat(np.arange(d.count), np.diff(d.edge_starts))
        pass_edges(self._owner, self._stencil, objects, int(reset), int(not query), self._colour, counts)
        self._count(1, 0, len(d.edges), 0)
        return counts if query else np.empty(0, np.int64)

    def identify_polygons(self, number: int, *, query: bool = False) -> int:
        """Pass 7."""
        d = self._drawing
        begin, end = int(d.triangle_starts[number]), int(d.triangle_starts[number + 1])
        passed, drawn = pass_faces(
            begin, end, self._fixed, d.points, d.triangles, d.width, d.height, self._depth, self._owner, number,
            self._stencil, self._colour, int(not query),
        )  # fmt: skip
        self._count(1, end - begin, 0, drawn)
        return int(passed)

    def contained(self) -> tuple[Ints, Ints, Ints]:
        """Passes 5 to 7 for every object."""
        d = self._drawing
        across, up = -(-d.width // TILE), -(-d.height // TILE)
        if self._bins is None:
            self._bins = self._bin_triangles(across, up)
        ends, items, objects = self._bins
        marks, room = np.full(len(self._depth), -1, np.int64), ROOM
        while True:
            found = np.empty((across * up, room, 3), np.int64)
            count, drawn = np.empty(across * up, np.int64), np.empty(across * up, np.int64)
            run_rows(
                contained_rows, across * up, self._threads, self._fixed, d.points, d.triangles, objects, d.width, d.height,
                TILE, ends, items, self._depth, self._owner, self._stencil, marks, room, found, count, drawn, rows_per_chunk=1,
            )  # fmt: skip
            if int(count.max(initial=0)) <= room:
                break
            room, marks[:] = 2 * int(count.max()), -1
        self._count(3, len(d.triangles), 0, int(drawn.sum()))
        rows = np.concatenate([found[k, : count[k]] for k in range(len(count))])
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        return rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].copy()

    def _bin_triangles(self, across: int, up: int) -> tuple[Ints, Ints, Ints]:
        """Where each tile's triangles end, the triangles tile by tile, and the object of each."""
        d = self._drawing
        starts = np.zeros(across * up + 1, np.int64)
        bin_triangles(self._fixed, d.triangles, TILE, across, up, 0, starts, np.empty(0, np.int64))
        ends = np.cumsum(starts)
        items, ends = np.empty(int(ends[-1]), np.int64), np.ascontiguousarray(ends[:-1])
        bin_triangles(self._fixed, d.triangles, TILE, across, up, 1, ends, items)
        return ends, items, np.repeat(np.arange(d.count), np.diff(d.triangle_starts))

    def read_stencil(self) -> npt.NDArray[np.int32]:
        """(height, width)"""
        return self._stencil.reshape(self._drawing.height, -1).copy()

    def read_colour(self) -> tuple[Ints, Ints]:
        """(height, width) identified edges and the objects that hold them."""
        return tuple(c.reshape(self._drawing.height, -1).copy() for c in self._colour)  # type: ignore[return-value]

    def read_edges(self) -> tuple[Ints, Floats]:
        """(height, width) nearest edges and their depths."""
        height = self._drawing.height
        return self._owner.reshape(height, -1).copy(), self._depth.reshape(height, -1).copy()

    def maximum_colour(self) -> int:
        """Largest number of an identified edge."""
        return int(self._colour[0].max(initial=-1))

    def release(self) -> None:
        """Nothing is held."""

    def _count(self, passes: int, polygons: int, edges: int, fragments: int) -> None:
        work = self.work
        work.passes, work.polygons = work.passes + passes, work.polygons + polygons
        work.edges, work.fragments = work.edges + edges, work.fragments + int(fragments)
