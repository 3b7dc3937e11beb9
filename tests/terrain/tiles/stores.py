"""Stores to test with. As a program it builds one, slowly, and is there to be killed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from tests.terrain.tiles.scenes import record
from thud import HeightField, Terrain
from thud.terrain import Manifest, TileWriter, height_record, write_tiles

#: Tiles a side.
SIDE = 6


def manifest(kind="heights", side=SIDE):
    size = 48.0 * side + 100.0
    return Manifest(
        kind, (-100.0, -100.0, -50.0, size, size, 100.0), (48.0, 48.0, 0.0), (side, side), overhang=300.0, source={"seed": 7}
    )


def keys(side=SIDE):
    return [(i, j) for j in range(side) for i in range(side)]


def make(key, kind="heights"):
    return record(kind, key, seed=key[0] + 31 * key[1], rows=13, columns=17)


def height_tiles(path: Path, heights: np.ndarray) -> Terrain:
    """Four tiles of a field of 9 x 9 samples."""
    tiles = []
    for i, j in np.ndindex(2, 2):
        part = heights[4 * j : 4 * j + 5, 4 * i : 4 * i + 5]
        field = HeightField(part, 0.25, (i - 1.0, j - 1.0, 0.0), thickness=0.5)
        tiles.append(((i, j), height_record((i, j), field)))
    bounds = (-1.0, -1.0, float(heights.min()), 1.0, 1.0, float(heights.max()))
    manifest = Manifest("heights", bounds, (1.0, 1.0, 0.0), (2, 2), corner=(-1.0, -1.0, 0.0))
    write_tiles(path, manifest, tiles)
    return Terrain.open(path)


def build(path, *, pause=0.0, commit=1):
    """Go on with the store, tile by tile, and finish it."""
    with TileWriter(path, manifest()) as writer:
        for n, key in enumerate(keys()):
            if (*key, 0) in writer.keys:
                continue
            writer.put(make(key))
            if n % commit == 0:
                writer.flush()
                print(f"{key[0]} {key[1]}", flush=True)
            time.sleep(pause)
        found = writer.finish()
    print("finished", found.content_hash, flush=True)


if __name__ == "__main__":
    build(sys.argv[1], pause=float(sys.argv[2]))
