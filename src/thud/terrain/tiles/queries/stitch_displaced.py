"""Displaced tiles as one surface: their arrays one after the other, one tree over theirs, and a rim where none goes on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.terrain.rim import rim_bits
from thud.terrain.surface import DisplacedSurface
from thud.terrain.surface_arrays import CELLS, FIRST, LENGTHS, MATERIAL, QUAD, SurfaceArrays, T
from thud.terrain.surface_index import SurfaceIndex
from thud.terrain.tiles.displaced_tile import EMPTY_INDEX
from thud.terrain.tiles.ground_tile import GroundTile
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.queries.names import TILE_STRIDE, Names, mixed, tile_number
from thud.terrain.tiles.record import TileKey

if TYPE_CHECKING:
    from thud.terrain.tiles.terrain import Terrain

#: Numbers of the faces of a quad in ids, as `terrain/collision/contacts.py` has them.
_QUAD_NUMBERS = 1048576


def stitch_displaced(
    terrain: Terrain, keys: list[TileKey], _low: Floats | None, _high: Floats | None
) -> tuple[DisplacedSurface, Names, int] | None:
    """All quads of the tiles; None where tiles have details of different sizes, or ground of different depth."""
    tiles = [terrain.ground(key) for key in keys]
    parts: list[SurfaceArrays] = [ground.tile.arrays.surface for ground in tiles]
    first = parts[0]
    with_details = [part for part in parts if len(part.details)]
    if any(part.ratio != first.ratio or part.thickness != first.thickness for part in parts):
        return None
    if len({part.details.shape[1:] for part in with_details}) > 1:
        return None
    joined = _joined(parts)
    index = _index(parts, tiles)
    surface = object.__new__(DisplacedSurface)
    surface.__setstate__({"bare": tuple(joined), "thickness": float(first.thickness), "index": index})
    surface.__dict__["_index"] = index._replace(rim=rim_bits(surface))
    numbers = [tile_number(terrain.manifest, ground) for ground in tiles]
    quads = np.cumsum([0, *(len(part.quads) for part in parts)])
    return surface, _names(terrain, tiles, numbers, quads), surface.nbytes


def _joined(parts: list[SurfaceArrays]) -> SurfaceArrays:
    """Base mesh and maps of all. Maps lie one above the other."""
    width = max(part.displacements.shape[1] for part in parts)
    vertices = coordinates = primitives = quads = 0
    columns: dict[str, list[Any]] = {name: [] for name in ("coordinates", "primitives", "quads", "maps")}
    details = [part.details for part in parts if len(part.details)] or [parts[0].details]
    materials = 0
    for part in parts:
        shift = np.array([0, coordinates], dtype=np.int32)
        columns["coordinates"].append(part.coordinates + shift)
        rows = part.primitives.copy()
        rows[:, :4] += np.where(rows[:, :4] >= 0, vertices, 0).astype(np.int32)
        rows[:, QUAD] += quads
        rows[:, MATERIAL] += np.where(rows[:, MATERIAL] >= 0, materials, 0).astype(np.int32)
        columns["primitives"].append(rows)
        rows = part.quads.copy()
        rows[:, T] += coordinates
        rows[:, FIRST] += primitives
        columns["quads"].append(rows)
        height, own = part.displacements.shape
        columns["maps"].append(np.pad(part.displacements, ((0, 0), (0, width - own))))
        vertices, coordinates = vertices + len(part.vertices), coordinates + height
        primitives, quads = primitives + len(part.primitives), quads + len(part.quads)
        materials += len(part.details)
    return SurfaceArrays(
        vertices=np.concatenate([part.vertices for part in parts]),
        coordinates=np.concatenate(columns["coordinates"]),
        primitives=np.concatenate(columns["primitives"]),
        quads=np.concatenate(columns["quads"]),
        displacements=np.ascontiguousarray(np.concatenate(columns["maps"])),
        details=np.ascontiguousarray(np.concatenate(details)),
        fade=np.concatenate([part.fade for part in parts]),
        ratio=parts[0].ratio,
        thickness=math.inf,
        **EMPTY_INDEX,
    )


def _index(parts: list[SurfaceArrays], tiles: list[GroundTile]) -> SurfaceIndex:
    """Planes, trees and bounding maps of all."""
    lengths = np.cumsum([0, *(len(part.lengths) for part in parts)])
    cells = np.cumsum([0, *(len(part.codes) for part in parts)])
    maps = []
    for part, length, cell in zip(parts, lengths, cells):
        rows = part.map_ints.copy()
        rows[:, LENGTHS] += length
        rows[:, CELLS] += cell
        maps.append(rows)
    primitives = np.cumsum([0, *(len(part.primitives) for part in parts)])
    quads = np.cumsum([0, *(len(part.quads) for part in parts)])
    boxes = np.array([ground.tile.sections["box"] for ground in tiles])
    node_ints, node_boxes, face_boxes = _one_tree(parts, primitives)
    unconverged = [ground.tile.sections["unconverged"] + quad for ground, quad in zip(tiles, quads)]
    return SurfaceIndex(
        planes=np.concatenate([part.planes for part in parts]),
        node_boxes=node_boxes,
        node_ints=node_ints,
        map_ints=np.concatenate(maps),
        lengths=np.concatenate([part.lengths for part in parts]),
        codes=np.concatenate([part.codes for part in parts]),
        flat=np.concatenate([part.flat for part in parts]),
        unconverged=np.concatenate(unconverged).astype(np.int64),
        box=np.concatenate([boxes[:, :3].min(axis=0), boxes[:, 3:].max(axis=0)]),
        rim=np.concatenate([part.rim for part in parts]),
        face_boxes=face_boxes,
        fall=np.concatenate([part.fall for part in parts]),
    )


def _one_tree(
    parts: list[SurfaceArrays], primitives: Ints
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Nodes of all trees, and above them a node for the first and the rest, for the second and the rest, and so on."""
    total = sum(len(part.node_ints) for part in parts) + len(parts) - 1
    ints: list[Any] = []
    boxes: dict[str, list[Any]] = {"node_boxes": [], "face_boxes": []}
    start = 0
    for k, part in enumerate(parts):
        if k < len(parts) - 1:
            ints.append(np.array([[total, -1]], dtype=np.int32))
            for name, found in boxes.items():
                roots = np.array([getattr(rest, name)[0] for rest in parts[k:]])
                found.append(np.concatenate([roots[:, :3].min(axis=0), roots[:, 3:].max(axis=0)])[None])
            start += 1
        own = part.node_ints.copy()
        own[:, 0] += start
        own[:, 1] += np.where(own[:, 1] >= 0, primitives[k], 0).astype(np.int32)
        ints.append(own)
        for name, found in boxes.items():
            found.append(getattr(part, name))
        start += len(own)
    return np.concatenate(ints), np.concatenate(boxes["node_boxes"]), np.concatenate(boxes["face_boxes"])


# Names -------------------------------------------------------------------------------------------------------------------


def _names(terrain: Terrain, tiles: list[GroundTile], numbers: list[int], quads: Ints) -> Names:
    boxes = np.array([np.concatenate(ground.tile.bounds) for ground in tiles])
    number = np.array(numbers)

    def triangles(quad: Ints) -> Ints:
        tile = np.clip(np.searchsorted(quads, np.maximum(quad, 0), side="right") - 1, 0, len(number) - 1)
        return np.where(quad >= 0, number[tile] * TILE_STRIDE + quad - quads[tile], quad)

    def features(feature: Ints, where: Floats) -> Ints:
        # A face's number says nothing of its tile; where it touches does, but for a hair at borders.
        gap = np.maximum(np.maximum(boxes[:, :3] - where[:, None], where[:, None] - boxes[:, 3:]), 0.0).sum(axis=2)
        tile = np.argmin(gap, axis=1) if len(where) else np.empty(0, np.int64)
        own = (feature - quads[tile] * _QUAD_NUMBERS) % 2**31
        return mixed(number[tile], own)

    return Names(triangles, features)


def displaced_tile_features(manifest: Manifest, ground: GroundTile) -> Callable[[Ints, Floats], Ints]:
    """Of one tile."""
    number = tile_number(manifest, ground)
    return lambda feature, _where: mixed(number, feature % 2**31)
