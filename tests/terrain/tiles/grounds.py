"""The same ground as tiles of each kind, and whole, to compare what they say."""

from __future__ import annotations

import numpy as np

import thud
from tests.terrain.tiles.scenes import QUANTUM, hills
from thud.terrain import Manifest, displaced_record, height_record, triangle_record, write_tiles

#: Cells a side of a tile, metres a cell.
CELLS, CELL = 12, 2.0


def hilly(tiles, seed=3):
    """Heights of a whole terrain of so many tiles a side, with a canyon."""
    side = tiles * CELLS + 1
    y, x = np.mgrid[:side, :side]
    return hills(side, side, seed) - 12.0 * (np.abs(x - 15 - 4 * np.sin(0.3 * y)) < 3)


def whole_shape(heights, kind, thickness=None):
    """The ground as one shape."""
    field = thud.HeightField(heights, CELL, (0.0, 0.0, 0.0), thickness)
    if kind == "heights":
        return field
    if kind == "triangles":
        return field.to_mesh()
    return thud.terrain.from_heights(heights, CELL, samples=4, thickness=4.0).surface


def tile_records(heights, kind, thickness=None):
    """Key and record of each tile."""
    many = (np.array(heights.shape) - 1) // CELLS
    for j, i in np.ndindex(*many):
        part = heights[j * CELLS : (j + 1) * CELLS + 1, i * CELLS : (i + 1) * CELLS + 1]
        field = thud.HeightField(part, CELL, (i * CELLS * CELL, j * CELLS * CELL, 0.0), thickness)
        if kind == "heights":
            yield (i, j), height_record((i, j), field)
        elif kind == "triangles":
            vertices, faces, _ = field.surface()
            yield (i, j), triangle_record((i, j), vertices, faces, quantum=QUANTUM)
        else:
            made = thud.terrain.from_heights(part, CELL, samples=4, thickness=4.0, first=(i * CELLS, j * CELLS))
            yield (i, j), displaced_record((i, j), made.surface)


def open_terrain(path, heights, kind, thickness=None, **options):
    """The ground as tiles."""
    rows, columns = ((n - 1) // CELLS for n in heights.shape)
    size = CELLS * CELL
    low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
    overhang = 1.0 if kind == "displaced" else 0.0
    bounds = (0.0, 0.0, low, columns * size, rows * size, high)
    manifest = Manifest(kind, bounds, (size, size, 0.0), (columns, rows), overhang=overhang)
    write_tiles(path, manifest, tile_records(heights, kind, thickness))
    return thud.Terrain.open(path, **options)
