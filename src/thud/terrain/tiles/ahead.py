"""Which tiles a camera will soon need: those along its motion, then those in its view."""

from __future__ import annotations

import math

import numpy as np

from thud._core.arrays import Floats
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.queries.reach import key_of, place_boxes, range_pairs, tile_ranges
from thud.terrain.tiles.record import TileKey
from thud.terrain.tiles.tolerances import AHEAD_STEPS, AHEAD_TILES, VIEW_TILES


def tiles_ahead(manifest: Manifest, position: Floats, motion: Floats, room: float) -> list[TileKey]:
    """Along a motion, as far as it would go in so many steps and at least some tiles, the first that is reached first.

    room : metres about the way
    """
    tile = min(size for size in manifest.tile_size if size > 0.0)
    length = math.sqrt(float(motion @ motion))
    way = motion / length if length > 0.0 else motion
    reach = min(AHEAD_STEPS * length, 2.0 * AHEAD_TILES * tile) if length > 0.0 else 0.0
    steps = np.arange(0.0, max(reach, AHEAD_TILES * tile if length > 0.0 else 0.0) + 0.25 * tile, 0.5 * tile)
    places = position + steps[:, None] * way
    # The farther ahead, the less is known where to.
    wide = room + 0.25 * (steps[:, None] + tile)
    _, number = range_pairs(manifest, *tile_ranges(manifest, places - wide, places + wide))
    _, first = np.unique(number, return_index=True)
    return [key_of(manifest, int(number[k])) for k in np.sort(first)]


def tiles_in_view(manifest: Manifest, position: Floats, planes: Floats) -> list[TileKey]:
    """Tiles about a place that are behind no plane of a frustum, the nearest first."""
    tile = max(size for size in manifest.tile_size if size > 0.0)
    wide = VIEW_TILES * tile
    _, number = range_pairs(manifest, *tile_ranges(manifest, position[None] - wide, position[None] + wide))
    low, high = place_boxes(manifest, number, (np.array(manifest.bounds[:3]), np.array(manifest.bounds[3:])))
    center, radius = 0.5 * (low + high), 0.5 * np.linalg.norm(high - low, axis=1)
    size = np.linalg.norm(planes[:, :3], axis=1)
    seen = (center @ planes[:, :3].T + planes[:, 3] >= -radius[:, None] * size).all(axis=1)
    gap = np.linalg.norm(np.maximum(np.maximum(low - position, position - high), 0.0), axis=1)
    order = np.flatnonzero(seen)[np.argsort(gap[seen], kind="stable")]
    return [key_of(manifest, int(number[k])) for k in order]
