"""A tile as queries of the terrain need it: its shape, the box about its ground, and how far its triangles reach."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.bvh.height_tree import DEPTH
from thud.errors import DamagedStoreError
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.record import DISPLACED, HEIGHTS, KINDS, TRIANGLES
from thud.terrain.tiles.tile import Tile
from thud.terrain.tiles.tolerances import BOX_SLACK, MESH_BYTES


class GroundTile:
    """One tile, and what is made of it when it is first asked for."""

    def __init__(self, tile: Tile, nbytes: int) -> None:
        self.tile = tile
        self.kind = KINDS[tile.kind]
        self.page_bytes = nbytes
        self.names: Any = None
        """What its triangles and features are called in the terrain (`queries/names.py`)."""

    @property
    def nbytes(self) -> int:
        """Pages of the record, and the mesh that was made of it."""
        made = MESH_BYTES * len(self.tile._arrays.corners) if "shape" in self.__dict__ else 0
        return self.page_bytes + made

    @cached_property
    def shape(self) -> Any:
        """In the terrain's frame. Triangles are a surface, also where those of one tile happen to be closed."""
        shape = self.tile.shape
        if self.kind == TRIANGLES:
            # The tile's own attribute would stay with it.
            self.tile.__dict__.pop("shape", None)
            return open_mesh(shape)
        return shape

    @cached_property
    def box(self) -> tuple[Floats, Floats]:
        """Lower and upper corner of surface and ground."""
        lower, upper = self.tile.bounds
        if self.kind == HEIGHTS:
            lower[2] -= self.tile.arrays.grid.numbers[DEPTH]
        elif self.kind == DISPLACED:
            box = self.tile.shape.bounds()
            return box.lower[0].copy(), box.upper[0].copy()
        return lower, upper

    @cached_property
    def longest_edge(self) -> float:
        """Of its triangles, metres."""
        corners = self.tile.arrays.corners.reshape(-1, 3, 3).astype(np.float64)
        return math.sqrt(float(((corners - np.roll(corners, 1, axis=1)) ** 2).sum(axis=2).max()))


def reach_of_ground(manifest: Manifest, tile: GroundTile) -> tuple[Floats, Floats]:
    """Lower and upper corner of all ground of a terrain: of its surface, and as much more as the ground of a tile, whose depth
    is that of all, reaches beyond its own."""
    low, high = (np.array(one) for one in manifest.reach)
    if tile.kind in (HEIGHTS, DISPLACED):
        surface, ground = tile.tile.bounds, tile.box
        low, high = low - (surface[0] - ground[0]), high + (ground[1] - surface[1])
    return low, high


def check_reach(box: tuple[Floats, Floats], tile: GroundTile) -> None:
    """Named error for a tile that reaches beyond what holds all ground."""
    lower, upper = tile.box
    room = BOX_SLACK * np.abs(np.where(np.isfinite(box), box, 0.0)).max()
    if (lower < box[0] - room).any() or (upper > box[1] + room).any():
        raise DamagedStoreError(
            f"tile {tuple(tile.tile.key)} reaches from {lower} to {upper}, beyond the manifest's bounds"
        )  # fmt: skip


def open_mesh(mesh: TriangleMesh) -> TriangleMesh:
    """The same mesh, taken for a surface whether it is closed or not."""
    mesh.__dict__["is_closed"] = False
    return mesh


def triangles_in(ground: GroundTile, lower: Floats, upper: Floats) -> tuple[Floats, Ints]:
    """(T, 3, 3) triangles of a tile whose boxes meet a box, in the terrain's frame, and their numbers."""
    arrays = ground.tile.arrays
    corners = arrays.corners.reshape(-1, 3, 3)
    # Rounded outward, so that float32 loses none.
    low = np.nextafter((lower - arrays.origin).astype(np.float32), np.float32(-np.inf))
    high = np.nextafter((upper - arrays.origin).astype(np.float32), np.float32(np.inf))
    near = ((corners.max(axis=1) >= low) & (corners.min(axis=1) <= high)).all(axis=1)
    numbers = np.flatnonzero(near)
    return corners[numbers].astype(np.float64) + arrays.origin, numbers
