"""Tiles of a grid of heights, of every kind."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats
from thud.constants import MESH_COORDINATE
from thud.errors import InvalidInputError
from thud.shapes.height_field import HeightField
from thud.terrain.filling.height_windows import HeightWindows, scan
from thud.terrain.filling.plan import Plan, grid_keys
from thud.terrain.filling.triangulate import triangulate
from thud.terrain.making.heights import as_spacing, from_heights
from thud.terrain.tiles.displaced_tile import displaced_record
from thud.terrain.tiles.height_tile import height_record
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.record import TileKey
from thud.terrain.tiles.triangle_tile import triangle_record

#: Heights below so many quanta are exact in float32.
_SINGLE = 2.0**24


@dataclass(frozen=True)
class HeightJob:
    """Heights of a tile and one sample around it -> its record. The piece is (rows, columns) heights and where the tile begins
    in it: its first row and column, its rows and columns of cells."""

    kind: str
    spacing: tuple[float, float]
    tile: int
    quantum: float
    samples: int
    thickness: float | None
    error: float
    leaf: int
    levels: int

    def __call__(self, key: TileKey, piece: tuple[Floats, tuple[int, int, int, int]]) -> bytes | None:
        """The record; None where no ground is."""
        wide, (row, column, rows, columns) = piece
        wide = np.round(wide / self.quantum) * self.quantum
        heights = wide[row : row + rows + 1, column : column + columns + 1]
        there = ~np.isnan(heights)
        first = (key.i * self.tile, key.j * self.tile)
        tree: dict[str, Any] = {"leaf": self.leaf, "levels": self.levels}
        if self.kind == "heights":
            if not _any_triangle(there):
                return None
            exact = bool(np.nanmax(np.abs(heights)) <= _SINGLE * self.quantum)
            origin = (first[0] * self.spacing[0], first[1] * self.spacing[1], 0.0)
            stored = np.ascontiguousarray(heights, np.float32 if exact else np.float64)
            return height_record(key, HeightField(stored, self.spacing, origin, self.thickness), **tree)
        if not (there[:-1, :-1] & there[1:, :-1] & there[:-1, 1:] & there[1:, 1:]).any():
            return None
        if self.kind == "displaced":
            masked = np.ma.array(np.where(there, heights, 0.0), mask=~there) if not there.all() else heights
            made = from_heights(
                masked, self.spacing, samples=self.samples, thickness=self.thickness, quantum=self.quantum, first=first
            )
            return displaced_record(key, made.surface, **tree)
        # Heights were rounded before.
        bound = max(self.error - 0.5 * self.quantum, 0.0)
        places, faces = triangulate(wide, (row, column, rows, columns), bound)
        z = wide[places[:, 1], places[:, 0]]
        points = np.column_stack([(places - [column, row] + first) * np.array(self.spacing), z])
        return triangle_record(key, points, faces, quantum=self.quantum, **tree)


def _any_triangle(there: Bools) -> bool:
    ends = there[:-1, :-1] & there[1:, 1:]
    return bool((ends & (there[:-1, 1:] | there[1:, :-1])).any())


@dataclass(frozen=True)
class _Pieces:
    """Windows of a source: a tile and one sample around it."""

    source: HeightWindows
    tile: int

    def __call__(self, key: TileKey) -> tuple[Floats, tuple[int, int, int, int]]:
        rows, columns = self.source.shape
        row, column = key.j * self.tile, key.i * self.tile
        down, across = min(self.tile, rows - 1 - row), min(self.tile, columns - 1 - column)
        top, left = max(row - 1, 0), max(column - 1, 0)
        part = self.source.read((top, min(row + down + 2, rows)), (left, min(column + across + 2, columns)))
        return np.array(part, np.float64), (row - top, column - left, down, across)


def height_plan(
    source: HeightWindows,
    kind: str,
    *,
    tile: int,
    quantum: float,
    samples: int,
    thickness: float | None,
    error: float,
    leaf: int,
    levels: int,
) -> Plan:
    """How to fill a store from heights."""
    spacing: npt.NDArray[np.float64] = as_spacing(source.spacing)
    rows, columns = source.shape
    if kind == "displaced" and tile % samples:
        raise InvalidInputError(f"tile: expected a multiple of samples ({samples}) for displaced tiles, got {tile}")
    # Spacing and places must be exact, or neighbours would not agree on what they share.
    size = np.array([columns - 1, rows - 1]) * spacing
    if (size > MESH_COORDINATE).any():
        raise InvalidInputError(f"source: it reaches over {size.max():g} m; the limit is {MESH_COORDINATE:g}")
    looked = scan(source)
    if max(abs(looked.lowest), abs(looked.highest)) > MESH_COORDINATE:
        raise InvalidInputError(f"source: heights reach to {max(abs(looked.lowest), abs(looked.highest)):g} m")
    across, down = -(-(columns - 1) // tile), -(-(rows - 1) // tile)
    job = HeightJob(
        kind, (float(spacing[0]), float(spacing[1])), tile, quantum, samples, thickness, error, leaf, levels
    )  # fmt: skip
    keep = asdict(job)
    for name in ("kind", "spacing", "quantum") + (() if kind == "displaced" else ("samples",)):
        del keep[name]
    if kind != "triangles":
        del keep["error"]
    x, y = spacing.tolist()
    about = source.describe() | {"rows": rows, "columns": columns, "spacing": [x, y], "heights": looked.digest} | keep
    manifest = Manifest(
        kind,
        (0.0, 0.0, looked.lowest - quantum, float(size[0]), float(size[1]), looked.highest + quantum),
        (tile * x, tile * y, 0.0),
        (across, down),
        # Bounds of displaced tiles are rounded outward.
        overhang=0.0 if kind != "displaced" else 2.0**-10 * max(x, y),
        quantum=quantum,
        crs=source.crs,
        origin=source.origin,
        source=about,
    )
    return Plan(manifest, grid_keys(across, down), job, _Pieces(source, tile), tile * tile)
