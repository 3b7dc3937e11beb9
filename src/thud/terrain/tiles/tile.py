"""One tile of any kind: its record, checked, and what is asked of it."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints, read_only
from thud.bvh.height_tree import BOTTOM, SPACING_X, SPACING_Y, TOP
from thud.errors import ClosedTerrainError, DamagedStoreError
from thud.gates import as_positive, as_vector
from thud.terrain.tiles import displaced_tile, height_tile, triangle_tile
from thud.terrain.tiles.record import DISPLACED, HEIGHTS, KIND_NAMES, TRIANGLES, Record, TileKey, unpack
from thud.terrain.tiles.sphere_walk import EVERYTHING, count_triangles, triangles_in_reach
from thud.terrain.tiles.tile_arrays import TileArrays
from thud.terrain.tiles.tolerances import MOST_LEVELS

#: Rows that a walk has room for at first; more are asked for when it says how many there are.
_ROOM = 256


class TileTriangles(NamedTuple):
    """Some triangles of a tile, in the terrain's frame."""

    number: Ints
    """(N,) as `sphere_walk.py` has them, in the order of the leaves."""
    corners: Floats
    """(N, 3, 3) metres, counter-clockwise seen from outside."""
    planes: Floats
    """(N, 4) A, B, C, D: unit normal and A x + B y + C z + D = 0; 0 for a triangle without area."""


class Tile:
    """One tile: views of its record, which end with the terrain they came from.

    Arrays that were taken from a tile stay readable; what is asked of the tile itself after the terrain's close is a
    `ClosedTerrainError`.
    """

    def __init__(self, data: Any, *, key: TileKey | None = None, checksum: bool = True, owner: Any = None) -> None:
        self._owner = owner
        self._process = os.getpid()
        try:
            self._record = unpack(data, checksum=checksum, keep=owner)
            if key is not None and self._record.key != key:
                raise DamagedStoreError(f"it is tile {tuple(self._record.key)}: tiles were exchanged")
            self._arrays = _arrays(self._record)
        except DamagedStoreError as error:
            where = "" if key is None else f"tile {tuple(key)}: "
            raise type(error)(where + str(error).removeprefix(where)) from None

    def _check(self) -> None:
        if self._owner is not None and (self._owner.closed or self._process != os.getpid()):
            raise ClosedTerrainError(f"tile {tuple(self._record.key)}: its terrain was closed, or opened in another process")

    def __repr__(self) -> str:
        return f"Tile({tuple(self.key)}, {self.kind!r}, {len(self._arrays.links)} spheres)"

    @property
    def key(self) -> TileKey:
        """Its place in the grid of tiles."""
        return self._record.key

    @property
    def kind(self) -> str:
        """ "triangles", "heights" or "displaced"."""
        return KIND_NAMES[self._record.kind]

    @property
    def digest(self) -> bytes:
        """Checksum of the record."""
        return self._record.digest

    @property
    def arrays(self) -> TileArrays:
        """What kernels read. Nobody writes to it: it may be a file mapped into memory."""
        self._check()
        return self._arrays

    @property
    def sections(self) -> dict[str, npt.NDArray[Any]]:
        """The record's sections by name, read-only views."""
        self._check()
        return {name: read_only(array) for name, array in self._record.arrays.items()}

    @property
    def nbytes(self) -> dict[str, int]:
        """Bytes of each section."""
        return {name: array.nbytes for name, array in self._record.arrays.items()}

    @property
    def sphere(self) -> tuple[Floats, float]:
        """The sphere of level 0: centre in the terrain's frame, and radius, metres."""
        arrays = self.arrays
        return arrays.origin + arrays.nodes[0, :3], float(arrays.nodes[0, 3])

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper corner of its triangles in the terrain's frame, metres."""
        arrays = self.arrays
        if self._record.kind == TRIANGLES:
            corners = arrays.corners.reshape(-1, 3)
            return arrays.origin + corners.min(axis=0), arrays.origin + corners.max(axis=0)
        if self._record.kind == DISPLACED:
            box = self._record.arrays["box"]
            return box[:3].copy(), box[3:].copy()
        grid, numbers = arrays.grid, arrays.grid.numbers
        size = [grid.columns * numbers[SPACING_X], grid.rows * numbers[SPACING_Y]]
        return arrays.origin + [0.0, 0.0, numbers[BOTTOM]], arrays.origin + [*size, numbers[TOP]]

    @property
    def depth(self) -> int:
        """Greatest level of the sphere tree."""
        links, ends, deepest = self.arrays.links, np.empty(MOST_LEVELS + 2, np.int64), 0
        level = -1
        for k, following in enumerate(links[:, 7].tolist()):
            while level >= 0 and ends[level] <= k:
                level -= 1
            level += 1
            ends[level] = following
            deepest = max(deepest, level)
        return deepest

    @property
    def triangle_count(self) -> int:
        """How many triangles it has."""
        return int(count_triangles(self.arrays))

    @cached_property
    def shape(self) -> Any:
        """The tile as a `TriangleMesh`, `HeightField` or `DisplacedSurface` in the terrain's frame; all but meshes are in the
        tile's own memory."""
        self._check()
        if self._record.kind == TRIANGLES:
            return triangle_tile.triangle_shape(self._record)
        if self._record.kind == HEIGHTS:
            return height_tile.height_shape(self._arrays)
        return displaced_tile.displaced_shape(self._record, self._arrays)

    def triangles(self) -> TileTriangles:
        """All triangles."""
        return self._collect(np.array(self.sphere[0]), EVERYTHING)

    def in_reach(self, center: npt.ArrayLike, radius: float) -> TileTriangles:
        """The triangles whose distance from a point is at most `radius`: a walk of the sphere tree."""
        return self._collect(as_vector(center, "center"), as_positive(radius, "radius", zero=True))

    def _collect(self, center: Floats, reach: float) -> TileTriangles:
        arrays, room = self.arrays, _ROOM
        while True:
            number, corners, planes = np.empty(room, np.int64), np.empty((room, 9)), np.empty((room, 4))
            found = int(triangles_in_reach(arrays, center, reach, number, corners, planes, np.zeros(2, np.int64)))
            if found <= room:
                return TileTriangles(number[:found], corners[:found].reshape(-1, 3, 3), planes[:found])
            room = found

    def verify(self) -> None:
        """Named error unless bounds hold what they bound: more than is checked when a tile is read."""
        self._check()
        try:
            if self._record.kind == TRIANGLES:
                triangle_tile.check_triangles(self._record)
            elif self._record.kind == HEIGHTS:
                height_tile.check_heights(self._record, self._arrays)
            else:
                displaced_tile.check_displaced(self._record, self._arrays)
        except DamagedStoreError as error:
            raise DamagedStoreError(f"tile {tuple(self.key)}: {error}") from None


def _arrays(record: Record) -> TileArrays:
    if record.kind == TRIANGLES:
        return triangle_tile.triangle_arrays(record)
    if record.kind == HEIGHTS:
        return height_tile.height_arrays(record)
    if record.kind == DISPLACED:
        return displaced_tile.displaced_arrays(record)
    raise DamagedStoreError(f"kind {record.kind}")
