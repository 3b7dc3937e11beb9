"""A world to fly through, generated from a seed: a canyon, a plain with buildings, and caves, as tiles of triangles.

The ground is a lattice of heights. Caves are stretches of the canyon under a lid of rock, whose underside is their ceiling.
Buildings are closed boxes that stand in the ground, part of their tile's triangles like everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thud.terrain import Manifest, triangle_record, write_tiles

Floats = npt.NDArray[np.float64]

#: Metres a tile, and how high the canyon's walls and the caves' ceilings are.
TILE, WALL, CEILING = 512.0, 120.0, 24.0

#: Metres of which all coordinates are multiples.
QUANTUM = 2.0**-10

#: Metres of the transitions between canyon, plain and caves.
_BLEND = 200.0


@dataclass(frozen=True)
class FlightWorld:
    """So many tiles along x and y; a third canyon, a third plain, a third caves."""

    along: int
    across: int
    spacing: float
    """Metres between samples."""
    seed: int = 0

    @property
    def length(self) -> float:
        """Metres along x."""
        return self.along * TILE

    @property
    def width(self) -> float:
        """Metres along y."""
        return self.across * TILE

    def _waves(self) -> tuple[Floats, Floats, Floats]:
        rng = np.random.default_rng(self.seed)
        long = np.array([1500.0, 900.0, 500.0, 260.0, 90.0, 45.0, 22.0])
        turn = rng.uniform(0.0, 2.0 * np.pi, len(long))
        k = 2.0 * np.pi / long[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
        return k, rng.uniform(0.0, 2.0 * np.pi, len(long)), np.array([9.0, 6.0, 4.0, 2.5, 1.0, 0.5, 0.25])

    def floor(self, x: Floats, y: Floats) -> Floats:
        """Height without canyon and lids."""
        k, phase, height = self._waves()
        return sum(h * np.sin(a * x + b * y + p) for (a, b), p, h in zip(k, phase, height))  # type: ignore[return-value]

    def middle(self, x: Floats) -> Floats:
        """y of the canyon's middle."""
        return 0.5 * self.width + 0.16 * self.width * np.sin(x / 300.0) + 0.06 * self.width * np.sin(x / 110.0 + 1.0)

    def half_width(self, x: Floats) -> Floats:
        """Of its floor."""
        return 24.0 + 8.0 * np.sin(x / 170.0 + 0.5)

    def is_deep(self, x: Floats) -> Floats:
        """1 in the canyon and the caves, 0 on the plain."""
        third = self.length / 3.0
        return np.clip((third - x) / _BLEND, 0.0, 1.0) + np.clip((x - 2.0 * third) / _BLEND, 0.0, 1.0)

    def heights(self, x: Floats, y: Floats) -> Floats:
        """Of the ground."""
        away = np.clip((np.abs(y - self.middle(x)) - self.half_width(x)) / 30.0, 0.0, 1.0)
        rise = away * away * (3.0 - 2.0 * away)
        return self.floor(x, y) + WALL * rise * self.is_deep(x)

    def is_under_lid(self, x: Floats, y: Floats) -> npt.NDArray[np.bool_]:
        """Samples that the lid of a cave is over."""
        third = self.length / 3.0
        stretch = (x > 2.0 * third + 2.0 * _BLEND) & ((x - 2.0 * third) % 900.0 > 400.0)
        return stretch & (np.abs(y - self.middle(x)) < self.half_width(x) + 26.0)

    def ceiling(self, x: Floats, y: Floats) -> Floats:
        """Underside of the lid."""
        return self.floor(x, self.middle(x)) + CEILING + 2.0 * np.sin(x / 13.0) * np.sin(y / 11.0)

    def buildings(self, i: int, j: int) -> Iterator[tuple[Floats, Floats]]:
        """Lower and upper corner of those in a tile."""
        third = self.length / 3.0
        rng = np.random.default_rng([self.seed, i, j])
        for _ in range(24):
            half = rng.uniform([6.0, 6.0, 8.0], [14.0, 14.0, 30.0])
            xy = np.array([i, j]) * TILE + rng.uniform(half[:2] + 2.0, TILE - half[:2] - 2.0)
            if third + _BLEND < xy[0] < 2.0 * third - _BLEND:
                z = float(self.floor(xy[:1], xy[1:])[0])
                low, high = np.array([*(xy - half[:2]), z - 5.0]), np.array([*(xy + half[:2]), z + half[2]])
                yield np.round(low / QUANTUM) * QUANTUM, np.round(high / QUANTUM) * QUANTUM

    def mesh(self, i: int, j: int) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Vertices and faces of a tile."""
        cells = round(TILE / self.spacing)
        v, u = np.mgrid[-1 : cells + 2, -1 : cells + 2]
        x, y = (u + i * cells) * self.spacing, (v + j * cells) * self.spacing
        inner = (slice(1, -1), slice(1, -1))
        parts = [(np.stack([x[inner], y[inner], self.heights(x[inner], y[inner])], axis=-1).reshape(-1, 3), _grid(cells))]
        under = self.is_under_lid(x, y)
        if under[inner].any():
            parts += list(self._lid(x, y, under))
        parts += [_box(low, high) for low, high in self.buildings(i, j)]
        first = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
        return (
            np.concatenate([vertices for vertices, _ in parts]),
            np.concatenate([faces + start for (_, faces), start in zip(parts, first)]),
        )

    def _lid(self, x: Floats, y: Floats, under: npt.NDArray[np.bool_]) -> Iterator[tuple[Floats, npt.NDArray[np.int64]]]:
        """Ceiling, top and sides over the cells whose corners are all under it; arrays reach one sample beyond the tile."""
        cell = under[:-1, :-1] & under[1:, :-1] & under[:-1, 1:] & under[1:, 1:]
        low = np.stack([x, y, self.ceiling(x, y)], axis=-1)
        high = np.stack([x, y, self.floor(x, y) + WALL], axis=-1)
        own = np.zeros_like(cell)
        own[1:-1, 1:-1] = cell[1:-1, 1:-1]
        v, u = np.nonzero(own)
        if len(v) == 0:
            return
        corners = [(v, u), (v, u + 1), (v + 1, u + 1), (v + 1, u)]
        for points, way in ((high, (0, 1, 2, 3)), (low, (3, 2, 1, 0))):
            quad = np.stack([points[corners[k]] for k in way], axis=1)
            yield _quads(quad)
        # A side where the next cell has no lid: from a corner to the next, counter-clockwise about the cell.
        for k, (dv, du) in enumerate(((-1, 0), (0, 1), (1, 0), (0, -1))):
            edge = ~cell[v + dv, u + du]
            a, b = corners[k], corners[(k + 1) % 4]
            a, b = (a[0][edge], a[1][edge]), (b[0][edge], b[1][edge])
            if edge.any():
                yield _quads(np.stack([low[a], low[b], high[b], high[a]], axis=1))

    def records(self, **options: Any) -> Iterator[tuple[tuple[int, int], Any]]:
        """Key and maker of each tile, for `write_tiles`."""

        def make(i: int, j: int) -> bytes:
            return triangle_record((i, j), *self.mesh(i, j), quantum=QUANTUM, **options)

        for j in range(self.across):
            for i in range(self.along):
                yield (i, j), lambda i=i, j=j: make(i, j)

    def manifest(self) -> Manifest:
        """Of the store."""
        source = {"world": "flight", "seed": self.seed, "spacing": self.spacing}
        bounds = (0.0, 0.0, -60.0, self.length, self.width, 60.0 + WALL)
        return Manifest("triangles", bounds, (TILE, TILE, 0.0), (self.along, self.across), source=source)

    def build(self, path: Path, progress: Any = None) -> None:
        """Write the store, or go on with it."""
        write_tiles(path, self.manifest(), self.records(), progress=progress)


def _grid(cells: int) -> npt.NDArray[np.int64]:
    j, i = np.divmod(np.arange(cells * cells), cells)
    a = j * (cells + 1) + i
    b, c, d = a + 1, a + cells + 2, a + cells + 1
    return np.stack([a, b, c, a, c, d], axis=1).reshape(-1, 3)


def _quads(corners: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Vertices and faces of quadrilaterals (Q, 4, 3), counter-clockwise seen from outside."""
    first = 4 * np.arange(len(corners))[:, None]
    return corners.reshape(-1, 3), np.concatenate([first + [0, 1, 2], first + [0, 2, 3]])


def _box(low: Floats, high: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    corners = np.array([[(low, high)[k >> axis & 1][axis] for axis in range(3)] for k in range(8)])
    quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    return _quads(corners[np.array(quads)])
