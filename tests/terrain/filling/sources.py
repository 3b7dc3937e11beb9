"""Sources to build from. As a program it builds a store, and is there to be killed."""

from __future__ import annotations

import sys

import numpy as np

#: Rows and columns of samples, samples a tile.
SHAPE, TILE = (150, 205), 32


def hills(shape=SHAPE, seed=3):
    """Heights in metres."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: shape[0], : shape[1]]
    return 400.0 + 30.0 * np.sin(0.05 * x) * np.cos(0.07 * y) + 4.0 * np.sin(0.4 * x + 0.3 * y) + 0.2 * rng.normal(size=shape)


def holed(shape=SHAPE, seed=3):
    """The same with holes: inside, on borders and corners of tiles, and one larger than a tile."""
    out = hills(shape, seed)
    out[10:14, 40:47] = np.nan
    out[32, 60:70] = np.nan
    out[60:68, 64] = np.nan
    # On one side of a border alone.
    out[40:46, 65] = np.nan
    out[33, 20:29] = np.nan
    out[96:97, 96:97] = np.nan
    out[90:150, 150:205] = np.nan
    out[0, 0] = np.nan
    return out


def cave(points):
    """Hills with a tunnel, arithmetic alone."""
    x, y, z = points.T
    hill = 6.0 / (1.0 + 0.02 * ((x - 9.0) ** 2 + (y - 11.0) ** 2)) + 4.0 / (1.0 + 0.05 * ((x - 30.0) ** 2 + (y - 27.0) ** 2))
    return np.maximum(0.8 * (z - hill - 1.0), 2.0 - np.sqrt((y - 11.0) ** 2 + (z - 2.0) ** 2))


if __name__ == "__main__":
    from thud.terrain import build

    path, kind, workers = sys.argv[1:4]
    done = build(
        holed(), path, spacing=2.0, kind=kind, tile=8, workers=int(workers), samples=8 if kind == "displaced" else None,
        progress=lambda done, total, key: print(done, total, flush=True),
    )  # fmt: skip
    print("finished", done.content_hash, flush=True)
