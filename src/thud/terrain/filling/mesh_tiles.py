"""Tiles of a triangle mesh: each triangle belongs to the tile that its middle lies in, and is whole. The overhang is how far
they reach beyond."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.filling.plan import Plan
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.record import TileKey
from thud.terrain.tiles.tolerances import MOST_TILES
from thud.terrain.tiles.triangle_tile import has_area, triangle_record


@dataclass(frozen=True)
class MeshJob:
    """Triangles (T, 3, 3) -> the record of a tile; corners in the same place are one vertex."""

    quantum: float
    leaf: int
    levels: int

    def __call__(self, key: TileKey, piece: Floats) -> bytes | None:
        """The record; None where no triangle has an area, rounded to the quantum as they are: there is no surface."""
        if not has_area(piece):
            return None
        vertices, faces = np.unique(piece.reshape(-1, 3), axis=0, return_inverse=True)
        return triangle_record(
            key, vertices, faces.reshape(-1, 3), quantum=self.quantum, leaf=self.leaf, levels=self.levels
        )  # fmt: skip


@dataclass(frozen=True)
class _Pieces:
    """Triangles by tile."""

    vertices: Floats
    faces: Ints
    """In the order of the tiles."""
    first: dict[TileKey, tuple[int, int]]

    def __call__(self, key: TileKey) -> Floats:
        begin, end = self.first[key]
        return self.vertices[self.faces[begin:end]]


def mesh_plan(
    mesh: TriangleMesh, kind: str, *, tile: float, quantum: float, leaf: int, levels: int, crs: str, origin: tuple[float, ...]
) -> Plan:
    """How to fill a store from a mesh."""
    if kind != "triangles":
        raise InvalidInputError(
            f"kind: tiles of a mesh are 'triangles', got {kind!r}; displaced ones are made of a field, as MeshField(mesh) is"
        )
    # Rounded first, so that a vertex is in the same place in whichever tiles it is.
    vertices = np.round(np.asarray(mesh.vertices, np.float64) / quantum) * quantum
    faces = np.asarray(mesh.faces, np.int64)
    corners = vertices[faces]
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    start = np.floor(low[:2] / quantum) * quantum
    middle = corners[:, :, :2].mean(axis=1)
    place = np.floor((middle - start) / tile).astype(np.int64)
    count = np.maximum(place.max(axis=0) + 1, 1)
    if float(count[0]) * float(count[1]) > MOST_TILES:
        raise InvalidInputError(f"tile: {tile:g} m is too small for a mesh of {(high - low).max():g} m")
    begin = start + place * tile
    over = max(float((begin - corners.min(axis=1)[:, :2]).max()), float((corners.max(axis=1)[:, :2] - begin - tile).max()), 0.0)
    name = place[:, 1] * count[0] + place[:, 0]
    order = np.argsort(name, kind="stable")
    used, first = np.unique(name[order], return_index=True)
    ends = [*first[1:].tolist(), len(order)]
    ranges = {
        TileKey(int(n % count[0]), int(n // count[0])): (int(a), int(b)) for n, a, b in zip(used, first, ends)
    }  # fmt: skip
    digest = hashlib.blake2b(np.ascontiguousarray(vertices, "<f8").tobytes(), digest_size=16)
    digest.update(np.ascontiguousarray(faces, "<i8").tobytes())
    manifest = Manifest(
        kind,
        (*low.tolist(), *high.tolist()),
        (tile, tile, 0.0),
        (int(count[0]), int(count[1])),
        corner=(float(start[0]), float(start[1]), 0.0),
        overhang=over,
        quantum=quantum,
        crs=crs,
        origin=origin,
        source={"source": "triangle mesh", "triangles": len(faces), "mesh": digest.hexdigest(), "leaf": leaf, "levels": levels},
    )
    return Plan(manifest, tuple(ranges), MeshJob(quantum, leaf, levels), _Pieces(vertices, faces[order], ranges))
