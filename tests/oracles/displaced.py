"""Displaced surfaces to test with: grids of quads with curved bases and skewed directions, in one map or each quad apart."""

from __future__ import annotations

import numpy as np

from thud.terrain import DisplacedSurface


def bumpy_map(rng: np.random.Generator, shape: tuple[int, int], height: float, rough: float = 0.2) -> np.ndarray:
    """Smooth waves with some noise."""
    t, s = np.mgrid[: shape[0], : shape[1]].astype(float)
    out = np.zeros(shape)
    for _ in range(6):
        k = rng.normal(size=2) * 0.35
        out += rng.normal() * np.sin(k[0] * s + k[1] * t + rng.uniform(0, 6.28))
    return (height * (out / 2.5 + rough * rng.normal(size=shape))).astype(np.float32)


def grid_surface(
    rng: np.random.Generator,
    *,
    quads: tuple[int, int] = (3, 2),
    side: int = 8,
    cell: float = 4.0,
    bend: float = 0.3,
    skew: float = 0.3,
    height: float = 0.5,
    rough: float = 0.2,
    apart: bool = False,
    quadrilaterals: bool = False,
    diagonals: bool = True,
    overhang: float = 0.0,
    free: bool = False,
    **options,
) -> DisplacedSurface:
    """A grid of quads. `bend`: how much base vertices leave the plane (of `cell`); `skew`: how much directions leave
    the normal; `overhang`: radians by which the base rolls over from one end to the other; `apart`: each quad has its own
    place in the map; `free`: four triangles about an inner vertex, with edges along neither axis."""
    nx, ny = quads
    x, y = np.meshgrid(np.arange(nx + 1) * cell, np.arange(ny + 1) * cell)
    base = np.stack([x, y, np.zeros_like(x)], axis=-1) + bend * cell * rng.uniform(-0.5, 0.5, (ny + 1, nx + 1, 3))
    turn = np.zeros_like(x)
    if overhang:
        radius = nx * cell / overhang
        turn = x / radius
        lift = base[..., 2]
        base = np.stack([(radius - lift) * np.sin(turn), base[..., 1], radius - (radius - lift) * np.cos(turn)], axis=-1)
    up = np.stack([-np.sin(turn), np.zeros_like(x), np.cos(turn)], axis=-1)
    direction = up + skew * rng.uniform(-1, 1, up.shape)
    whole = bumpy_map(rng, (ny * side + 1, nx * side + 1), height, rough)
    positions, directions, coordinates, primitives, squares = [], [], [], [], []
    gap = side + 2 if apart else side
    displacements = np.zeros((ny * gap + 1, nx * gap + 1), dtype=np.float32)
    for j in range(ny):
        for i in range(nx):
            s0, t0 = i * gap, j * gap
            squares.append((s0, t0, side))
            displacements[t0 : t0 + side + 1, s0 : s0 + side + 1] = whole[
                j * side : (j + 1) * side + 1, i * side : (i + 1) * side + 1
            ]
            corner = []
            for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)):
                corner.append(len(positions))
                positions.append(base[j + dj, i + di])
                directions.append(direction[j + dj, i + di])
                coordinates.append((s0 + di * side, t0 + dj * side))
            a, b, c, d = corner
            if quadrilaterals:
                primitives.append((a, b, c, d))
            elif free and side >= 4:
                m = len(positions)
                # An inner vertex anywhere: the base is then a roof with it as its top.
                u, v = int(rng.integers(1, side)), int(rng.integers(1, side))
                p, q = u / side, v / side
                weights = np.array([(1 - p) * (1 - q), p * (1 - q), p * q, (1 - p) * q])
                positions.append(weights @ np.array([positions[k] for k in corner]))
                directions.append(weights @ np.array([directions[k] for k in corner]))
                coordinates.append((s0 + u, t0 + v))
                primitives += [(a, b, m, -1), (b, c, m, -1), (c, d, m, -1), (d, a, m, -1)]
            elif diagonals and (i + j) % 2:
                primitives += [(a, b, c, -1), (a, c, d, -1)]
            else:
                primitives += [(a, b, d, -1), (b, c, d, -1)]
    positions, directions, coordinates = np.array(positions), np.array(directions), np.array(coordinates)
    primitives = np.array(primitives)
    if not apart:
        # One vertex a place of the map.
        _, first, inverse = np.unique(coordinates, axis=0, return_index=True, return_inverse=True)
        inverse = inverse.reshape(-1)
        positions, directions, coordinates = positions[first], directions[first], coordinates[first]
        primitives = np.where(primitives >= 0, inverse[np.maximum(primitives, 0)], -1)
    return DisplacedSurface(positions, directions, coordinates, primitives, np.array(squares), displacements, **options)
