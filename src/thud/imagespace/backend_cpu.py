"""The rasteriser in Numba: tiles in parallel, works everywhere. Rules of coverage: `raster.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.threads import core_count, run_rows
from thud.imagespace.raster import (
    bin_triangles,
    contained_rows,
    count_faces,
    draw_edges,
    finish_edges,
    pass_edges,
    pass_faces,
    snap_rows,
)
from thud.imagespace.rasteriser import Drawing, Work

#: Side of a tile, pixels.
TILE = 64

#: Rows of pixels that edges are drawn in at once, at least: each band looks at all edges.
BAND = 64

#: Triangles that are sorted into tiles at once, at least (a count).
CHUNK = 16_384

#: Tiles that are looked at together, and findings of each that there is room for at first (counts): 12 MB.
TILES, ROOM = 256, 2048


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
        self._limit = np.full(pixels, -np.inf)
        self._depth, self._owner = np.full(pixels, np.inf), np.full(pixels, -1, np.int64)
        self._stencil, self._colour = np.zeros(pixels, np.int32), np.full((2, pixels), -1, np.int64)

    def draw_edges(self, *, behind: bool = False) -> int:
        """Pass 1."""
        d = self._drawing
        # Edges nearer than 0 are not seen.
        last = self._depth if behind else np.full(len(self._depth), np.nextafter(0.0, -1.0))
        self._depth, self._owner = np.full(len(last), np.inf), np.full(len(last), -1, np.int64)
        self._stencil[:], self._colour[:] = 0, -1
        threads = core_count() if self._threads is None else self._threads
        rows = max(BAND, -(-d.height // (2 * threads))) if threads > 1 else d.height
        drawn = np.zeros(-(-d.height // rows), np.int64)
        run_rows(
            draw_edges, len(drawn), self._threads, rows, self._edge_fixed, d.edge_points, d.edges, d.width, d.height, last,
            self._depth, self._owner, drawn, rows_per_chunk=1,
        )  # fmt: skip
        count = finish_edges(d.depth, self._depth, self._owner, self._limit)
        self._count(1, 0, len(d.edges), int(drawn.sum()))
        return int(count)

    def count_faces(self, first: int, last: int, *, front: int, back: int) -> None:
        """Passes 2 and 3."""
        d = self._drawing
        begin, end = int(d.triangle_starts[first]), int(d.triangle_starts[last])
        drawn = count_faces(
            begin, end, self._fixed, d.points, d.triangles, d.width, d.height, self._limit, front, back, self._stencil,
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
            begin, end, self._fixed, d.points, d.triangles, d.width, d.height, self._limit, number, self._stencil,
            self._colour, int(not query),
        )  # fmt: skip
        self._count(1, end - begin, 0, drawn)
        return int(passed)

    def contained(self) -> tuple[Ints, Ints, Ints]:
        """Passes 5 to 7 for every object."""
        d = self._drawing
        across, up = -(-d.width // TILE), -(-d.height // TILE)
        if self._bins is None:
            self._bins = self._bin_triangles(across, up)
        starts, items, objects = self._bins
        rows, fragments = [np.empty((0, 3), np.int64)], 0
        for first in range(0, across * up, TILES):
            tiles, room = np.arange(first, min(first + TILES, across * up)), ROOM
            while len(tiles):
                found = np.empty((len(tiles), room, 3), np.int64)
                count, drawn = np.empty(len(tiles), np.int64), np.empty(len(tiles), np.int64)
                run_rows(
                    contained_rows, len(tiles), self._threads, tiles, self._fixed, d.points, d.triangles, objects, d.width,
                    d.height, TILE, starts, items, self._limit, self._stencil, found, count, drawn, rows_per_chunk=1,
                )  # fmt: skip
                fits = count <= room
                rows += [found[k, : count[k]].copy() for k in np.flatnonzero(fits & (count > 0))]
                fragments += int(drawn[fits].sum())
                # The others once more, with room for what they have.
                tiles, room = tiles[~fits], int(count.max(initial=0))
        self._count(3, len(d.triangles), 0, fragments)
        seen = np.concatenate(rows)
        seen = seen[np.argsort(seen[:, 0] * d.count + seen[:, 1])]
        return seen[:, 0].copy(), seen[:, 1].copy(), seen[:, 2].copy()

    def _bin_triangles(self, across: int, up: int) -> tuple[Ints, Ints, Ints]:
        """Where each tile's triangles begin (and, behind, end), the triangles tile by tile, and the object of each."""
        d = self._drawing
        chunks, tiles = max(1, len(d.triangles) // CHUNK), across * up
        size = -(-len(d.triangles) // chunks)
        places, none = np.zeros((chunks, tiles), np.int64), np.empty(0, np.int64)
        shape = (self._fixed, d.triangles, TILE, across, up)
        run_rows(bin_triangles, chunks, self._threads, size, *shape, 0, places, none, rows_per_chunk=1)
        # Tile by tile, and in a tile chunk by chunk: triangles stay in order.
        ends = np.cumsum(places.T.ravel())
        starts = np.concatenate([[0], ends[chunks - 1 :: chunks]])
        items = np.empty(int(ends[-1]), np.int64)
        places = np.ascontiguousarray((ends - places.T.ravel()).reshape(tiles, chunks).T)
        run_rows(bin_triangles, chunks, self._threads, size, *shape, 1, places, items, rows_per_chunk=1)
        return starts, items, np.repeat(np.arange(d.count), np.diff(d.triangle_starts))

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
