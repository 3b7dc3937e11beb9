"""Tiles of each kind to test with, and their triangles made without the code under test."""

from __future__ import annotations

import numpy as np

import thud
from thud.terrain.tessellate import tessellate
from thud.terrain.tiles.displaced_tile import displaced_record
from thud.terrain.tiles.height_tile import height_record
from thud.terrain.tiles.triangle_tile import triangle_record

KINDS = ("triangles", "heights", "displaced")
QUANTUM = 2.0**-10


def hills(rows, columns, seed=0):
    """(rows, columns) heights in metres, multiples of the quantum."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:rows, :columns]
    raw = 6.0 * np.sin(0.31 * x + seed) * np.cos(0.23 * y) + rng.normal(size=(rows, columns)) * 0.3
    return np.round(raw / QUANTUM) * QUANTUM


def soup(seed, count=200, size=8.0):
    """(V, 3), (T, 3): triangles anywhere, some of them needles, some without area, some the same."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-40.0, 40.0, (count, 1, 3)) * [1.0, 1.0, 0.2]
    corners = centers + rng.normal(size=(count, 3, 3)) * rng.uniform(0.01, size, (count, 1, 1))
    corners[3::17, 2] = corners[3::17, 1]
    corners[1::19, 2] = 0.5 * (corners[1::19, 0] + corners[1::19, 1]) + 1e-3
    corners[2::23] = corners[0]
    return corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)


def record(kind, key=(0, 0), seed=0, rows=25, columns=33, **options):
    """One record of a kind."""
    origin = np.array([*(48.0 * np.array(key[:2])), 20.0])
    if kind == "triangles":
        vertices, faces = soup(seed)
        return triangle_record(key, vertices + origin, faces, quantum=QUANTUM, **options)
    if kind == "heights":
        heights = hills(rows, columns, seed)
        heights[5:9, 7:12] = np.nan
        heights[0, 0] = np.nan
        return height_record(key, thud.HeightField(heights, (2.0, 1.5), origin), **options)
    surface = thud.terrain.from_heights(hills(33, 33, seed), 1.5, samples=8, thickness=4.0, first=(32 * key[0], 32 * key[1]))
    return displaced_record(key, surface.surface, **options)


def triangles_of(tile):
    """(T, 3, 3) all triangles of a tile in the terrain's frame, from its shape."""
    shape = tile.shape
    if tile.kind == "displaced":
        vertices, faces = tessellate(shape)
    elif tile.kind == "heights":
        vertices, faces, _ = shape.surface()
    else:
        vertices, faces = np.asarray(shape.vertices), np.asarray(shape.faces)
    return vertices[faces]
