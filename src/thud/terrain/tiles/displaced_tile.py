"""Tiles of kind `displaced`: a displaced surface, its planes, tree and bounding maps, and spheres over blocks of patches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from thud.constants import MESH_COORDINATE
from thud.errors import DamagedStoreError, FileFormatError, InvalidInputError
from thud.terrain import surface_check as check
from thud.terrain.bounding.maps import loose_quad, quad_offsets
from thud.terrain.rim import face_boxes, rim_bits
from thud.terrain.surface import DisplacedSurface
from thud.terrain.surface_arrays import COUNT, FIRST, LEAST, MATERIAL, QUAD, SIDE, V3, SurfaceArrays
from thud.terrain.surface_index import SurfaceIndex, check_index
from thud.terrain.tiles.blocks import block_shape, check_blocks, tile_blocks
from thud.terrain.tiles.record import DISPLACED, Record, as_key, pack
from thud.terrain.tiles.sphere_check import check_tree, sphere_fault
from thud.terrain.tiles.sphere_tree import build_sphere_tree
from thud.terrain.tiles.tile_arrays import (
    BLOCK_HIGH,
    BLOCK_QUAD,
    BLOCK_WIDE,
    BLOCK_X,
    BLOCK_Y,
    NO_CORNERS,
    NO_GRID,
    NO_PLANES,
    TileArrays,
)
from thud.terrain.tiles.tolerances import BOUND_SLACK, LEAF_TRIANGLES, TREE_LEVELS
from thud.terrain.tolerances import DETAIL_RATIO

#: Sections that are a surface without its index, in the order of `SurfaceArrays`.
_BARE = ("vertices", "coordinates", "primitives", "quads", "displacements", "details", "fade")

#: A surface without its index.
EMPTY_INDEX: dict[str, Any] = {
    "planes": np.zeros((0, 8)),
    "node_boxes": np.zeros((0, 6), np.float32),
    "node_ints": np.zeros((0, 2), np.int32),
    "map_ints": np.zeros((0, 3), np.int64),
    "lengths": np.zeros(0, np.float32),
    "codes": np.zeros(0, np.uint8),
    "flat": np.zeros(0, np.uint8),
    "rim": np.zeros(0, np.uint8),
    "face_boxes": np.zeros((0, 6), np.float32),
    "fall": np.zeros((0, 2)),
}


def displaced_record(
    key: Any, surface: DisplacedSurface, *, leaf: int = LEAF_TRIANGLES, levels: int = TREE_LEVELS
) -> bytes:  # fmt: skip
    """The record of a tile that is a displaced surface in the terrain's frame; its index is made if it is not there.

    Parameters
    ----------
    key : (i, j) or (i, j, k)
    surface : made with the `first` or `cells` of its tile, so that it fits its neighbours
    leaf, levels : N and M of the sphere tree
    """
    if not isinstance(surface, DisplacedSurface):
        raise InvalidInputError(f"surface: expected a DisplacedSurface, got {type(surface).__name__}")
    arrays, index = surface.arrays, surface._index
    origin = np.round(0.5 * (index.box[:3] + index.box[3:]))
    shape = block_shape(leaf)
    sides = arrays.quads[:, SIDE].astype(np.int64) * arrays.ratio
    of_side = {side: tile_blocks(0, side, side, shape) for side in np.unique(sides).tolist()}
    blocks = np.concatenate([of_side[side] for side in sides.tolist()])
    blocks[:, BLOCK_QUAD] = np.repeat(np.arange(len(sides)), [len(of_side[side]) for side in sides.tolist()])
    points, first = _block_points(surface, blocks, origin)
    triangles = 2 * blocks[:, BLOCK_WIDE].astype(np.int64) * blocks[:, BLOCK_HIGH]
    tree = build_sphere_tree(points, first, triangles, leaf=leaf, levels=levels)
    thickness = math.nan if surface.thickness is None else float(surface.thickness)
    sections: dict[str, Any] = {name: getattr(arrays, name) for name in _BARE} | index._asdict()
    sections |= {
        "origin": origin,
        "nodes": tree.nodes,
        "blocks": blocks[tree.order],
        "sizes": np.array([*arrays.displacements.shape, *arrays.details.shape, arrays.ratio]),
        "numbers": np.array([surface.ground_thickness, thickness]),
    }
    return pack(DISPLACED, as_key(key), sections)


def _block_points(surface: DisplacedSurface, blocks: npt.NDArray[np.int32], origin: npt.NDArray[np.float64]) -> tuple[Any, Any]:
    """Samples of each block in the tile's frame, and where those of each begin."""
    b = blocks.astype(np.int64)
    counts = (b[:, BLOCK_WIDE] + 1) * (b[:, BLOCK_HIGH] + 1)
    first = np.concatenate([[0], np.cumsum(counts)])
    points = np.empty((int(first[-1]), 3))
    sides = np.asarray(surface.quads)[:, 2][b[:, BLOCK_QUAD]]
    # A quad has at most 2^10 patches a side.
    sizes = np.unique((sides.astype(np.int64) << 22) + (b[:, BLOCK_WIDE] << 11) + b[:, BLOCK_HIGH]).tolist()
    for side, wide, high in ((size >> 22, (size >> 11) & 2047, size & 2047) for size in sizes):
        rows = np.flatnonzero((sides == side) & (b[:, BLOCK_WIDE] == wide) & (b[:, BLOCK_HIGH] == high))
        quads, place = np.unique(b[rows, BLOCK_QUAD], return_inverse=True)
        samples = surface.quad_samples(quads).point
        y, x = (grid.reshape(-1) for grid in np.meshgrid(np.arange(high + 1), np.arange(wide + 1), indexing="ij"))
        found = samples[place.reshape(-1, 1), b[rows, BLOCK_Y, None] + y, b[rows, BLOCK_X, None] + x]
        points[first[rows, None] + np.arange((wide + 1) * (high + 1))] = found - origin
    return points, first


def displaced_arrays(record: Record) -> TileArrays:
    """What kernels read; a named error for numbers that no tile has."""
    a = record.arrays
    if len(a["origin"]) != 3 or len(a["sizes"]) != 6 or len(a["numbers"]) != 2 or len(a["box"]) != 6:
        raise DamagedStoreError("a surface has three, six and two numbers, and a box of six")
    height, width, details, rows, columns, ratio = a["sizes"].tolist()
    count = len(a["vertices"])
    if min(height, width, rows, columns) < 1 or details < 0 or not 1 <= ratio <= DETAIL_RATIO or ratio & (ratio - 1):
        raise DamagedStoreError(f"a surface of {height} x {width} samples, {details} details of {rows} x {columns}, {ratio}")
    if (
        a["displacements"].size != height * width
        or a["details"].size != details * rows * columns
        or len(a["coordinates"]) != count
        or len(a["fade"]) != len(a["primitives"])
        or min(count, len(a["primitives"]), len(a["quads"])) == 0
    ):
        raise DamagedStoreError("a surface whose sections are not of the sizes that it says")
    for name in ("origin", "vertices", "displacements", "details"):
        # NaN is neither.
        if a[name].size and not (a[name].min() >= -MESH_COORDINATE and a[name].max() <= MESH_COORDINATE):
            raise DamagedStoreError(f"{name}: a number that is not finite, or beyond {MESH_COORDINATE:g}")
    thickness, stated = a["numbers"].tolist()
    if not 0.0 < thickness < math.inf or not (math.isnan(stated) or stated == thickness):
        raise DamagedStoreError(f"a surface of thickness {thickness}")
    bare = SurfaceArrays(
        vertices=a["vertices"], coordinates=a["coordinates"], primitives=a["primitives"], quads=a["quads"],
        displacements=a["displacements"].reshape(height, width), details=a["details"].reshape(details, rows, columns),
        fade=a["fade"], ratio=ratio, thickness=math.inf, **EMPTY_INDEX,
    )  # fmt: skip
    _check_surface(bare, None if math.isnan(stated) else stated)
    index = SurfaceIndex(*(a[name] for name in SurfaceIndex._fields))
    _check_index(index, bare)
    sides = bare.quads[:, SIDE].astype(np.int64) * ratio
    check_blocks(a["blocks"], np.column_stack([sides, sides]), all_patches=True)
    check_tree(a["nodes"], len(a["blocks"]))
    found = {name: value for name, value in index._asdict().items() if name in SurfaceArrays._fields}
    surface = bare._replace(**found, thickness=thickness)
    links = a["nodes"]
    return TileArrays(
        DISPLACED, a["origin"], links.view(np.float32), links, NO_CORNERS, NO_PLANES, a["blocks"], NO_GRID, surface
    )  # fmt: skip


def _check_surface(bare: SurfaceArrays, thickness: float | None) -> None:
    """What `DisplacedSurface` asks of its arguments, of what it made of them."""
    shape = bare.displacements.shape
    positions, directions = bare.vertices[:, :3], bare.vertices[:, 3:]
    coordinates, primitives = bare.coordinates.astype(np.int64), bare.primitives[:, :4].astype(np.int64)
    quads = bare.quads[:, :3].astype(np.int64)
    try:
        if not directions.any(axis=1).all():
            raise DamagedStoreError("directions: one is zero")
        if (primitives[:, :3] < 0).any() or (primitives < -1).any() or (primitives >= len(positions)).any():
            raise DamagedStoreError("primitives: one names a vertex that is not there")
        materials = bare.primitives[:, MATERIAL]
        if (materials < -1).any() or (materials >= len(bare.details)).any():
            raise DamagedStoreError("primitives: one has a material that is not there")
        check.check_vertices(positions, directions, coordinates, shape)
        check.check_quads(quads, shape)
        owner = check.quads_of(primitives, coordinates, quads, shape)
        check.check_primitives(primitives, coordinates, owner, quads)
        check.check_tiling(owner, primitives, coordinates, quads)
        check.check_reach(directions, bare.displacements, bare.details, thickness)
    except InvalidInputError as error:
        raise DamagedStoreError(str(error)) from None
    first = np.searchsorted(owner, np.arange(len(quads) + 1))
    ordered = (np.diff(owner) >= 0).all() and np.array_equal(bare.primitives[:, QUAD], owner)
    if not ordered or not np.array_equal(bare.quads[:, [FIRST, COUNT]], np.column_stack([first[:-1], np.diff(first)])):
        raise DamagedStoreError("primitives: they are not in the order of their quads")
    if (bare.fade[primitives[:, V3] < 0] & 0b10001000).any():
        raise DamagedStoreError("fade: a triangle has no fourth edge")


def _check_index(index: SurfaceIndex, bare: SurfaceArrays) -> None:
    sides, primitives = bare.quads[:, SIDE].astype(np.int64), len(bare.primitives)
    map_ints, lengths, cells = quad_offsets(sides)
    nodes = 2 * primitives - 1
    wanted = {
        "planes": primitives, "node_boxes": nodes, "node_ints": nodes, "map_ints": len(sides), "lengths": lengths,
        "codes": cells, "flat": cells, "box": 6, "rim": len(sides), "face_boxes": nodes, "fall": primitives,
    }  # fmt: skip
    for name, rows in wanted.items():
        if len(getattr(index, name)) != rows:
            raise DamagedStoreError(f"{name}: {len(getattr(index, name))} rows; expected {rows}")
    try:
        check_index(index, map_ints, sides, primitives)
    except FileFormatError as error:
        raise DamagedStoreError(str(error)) from None


def check_displaced(record: Record, arrays: TileArrays) -> None:
    """Named error unless spheres hold their patches, planes, boxes, rims and falls are those of the surface, and the volumes of
    its bounding maps hold its samples. (Maps are the optimum of a search, which is not made again.)"""
    surface = displaced_shape(record, arrays)
    points, first = _block_points(surface, arrays.blocks, arrays.origin)
    fault = int(sphere_fault(arrays.links, arrays.nodes, points, first))
    if fault >= 0:
        raise DamagedStoreError(f"sphere tree, node {fault}: its sphere does not hold its samples")
    name = _wrong_bounds(surface)
    if name:
        raise DamagedStoreError(f"{name}: they are not those of the surface")

    def get(rows: npt.NDArray[np.int64]) -> tuple[Any, Any, Any]:
        samples = surface.quad_samples(rows)
        return samples.position, samples.direction, samples.length

    quad = loose_quad(surface.bounding_maps(), get, BOUND_SLACK)
    if quad >= 0:
        raise DamagedStoreError(f"bounding maps, quad {quad}: a volume does not hold its samples")


def _wrong_bounds(surface: DisplacedSurface) -> str:
    """Name of planes, boxes, rims or falls of the surface's index that are not what is computed anew, but for roundoff; or
    nothing."""
    index, (planes, boxes) = surface._index, surface._bounded
    skip, item = (index.node_ints[:, k].astype(np.int64) for k in (0, 1))
    size = float(np.abs(boxes).max())
    # The leaves below a node follow each other.
    leaves = item >= 0
    before = np.concatenate([[0], np.cumsum(leaves)])
    runs = np.stack([before[:-1], before[skip]], axis=1).reshape(-1)
    rows = np.concatenate([boxes[item[leaves]], boxes[:1]])
    low, high = np.minimum.reduceat(rows[:, :3], runs)[::2], np.maximum.reduceat(rows[:, 3:], runs)[::2]
    lengths = max(float(np.abs(planes[:, LEAST:]).max()), 1.0)
    rim = rim_bits(surface)
    pairs: dict[str, tuple[npt.NDArray[Any], Any]] = {
        "planes": (planes, np.array([1.0] * 3 + [size] * 3 + [lengths] * 2)),
        "node_boxes": (np.concatenate([low, high], axis=1), size),
        "box": (np.concatenate([low[0], high[0]]), size),
        "rim": (rim, 0.0),
        "face_boxes": (face_boxes(surface, boxes, skip, item, rim), size),
        "fall": (surface._fall(planes), size),
    }
    for name, (found, scale) in pairs.items():
        if not (np.abs(getattr(index, name).astype(np.float64) - found) <= BOUND_SLACK * scale).all():
            return name
    return ""


def displaced_shape(record: Record, arrays: TileArrays) -> DisplacedSurface:
    """The tile as a displaced surface in the terrain's frame, in the tile's own memory."""
    surface = object.__new__(DisplacedSurface)
    bare = arrays.surface._replace(**EMPTY_INDEX, thickness=math.inf)
    stated = float(record.arrays["numbers"][1])
    index = tuple(record.arrays[name] for name in SurfaceIndex._fields)
    surface.__setstate__(
        {"bare": tuple(bare), "thickness": None if math.isnan(stated) else stated, "index": index}
    )  # fmt: skip
    return surface
