"""Tiles of a signed distance field: displaced surfaces, or their patches as triangles. Each is made of its own cells and a few
around them, and together they are the surface made at once, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thud.errors import InvalidInputError, NoSurfaceError
from thud.gates import as_positive, as_vector
from thud.terrain.filling.plan import Plan, grid_keys
from thud.terrain.filling.tolerances import FIELD_OVERHANG
from thud.terrain.making.fields import Field, GridField
from thud.terrain.making.make import as_side, from_field
from thud.terrain.making.tolerances import CELL_ROUNDING
from thud.terrain.tessellate import tessellate
from thud.terrain.tiles.displaced_tile import displaced_record
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.record import TileKey
from thud.terrain.tiles.triangle_tile import triangle_record


@dataclass(frozen=True)
class FieldJob:
    """A field -> the record of a tile. There is no piece: the field is asked."""

    field: Field
    kind: str
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    cell: float
    samples: int
    smoothing: int
    thickness: float
    quantum: float
    first: tuple[int, int]
    """Cell of the grid at which tile (0, 0) begins."""
    tile: int
    """Cells a side."""
    count: tuple[int, int, int]
    """Cells in all tiles, and layers of cells."""
    leaf: int
    levels: int

    def __call__(self, key: TileKey, piece: None) -> bytes | None:
        """The record; None where the field has no surface."""
        begin = np.array([self.first[0] + key.i * self.tile, self.first[1] + key.j * self.tile, 0])
        end = np.array(
            [
                min(begin[0] + self.tile, self.first[0] + self.count[0]),
                min(begin[1] + self.tile, self.first[1] + self.count[1]),
                self.count[2],
            ]
        )
        try:
            made = from_field(
                self.field, self.lower, self.upper, self.cell, samples=self.samples, smoothing=self.smoothing,
                thickness=self.thickness, cells=np.stack([begin, end]), measure=False,
            )  # fmt: skip
        except NoSurfaceError:
            return None
        if self.kind == "displaced":
            return displaced_record(key, made.surface, leaf=self.leaf, levels=self.levels)
        vertices, faces = tessellate(made.surface)
        return triangle_record(key, vertices, faces, quantum=self.quantum, leaf=self.leaf, levels=self.levels)


def field_plan(
    field: Field | GridField,
    kind: str,
    *,
    lower: npt.ArrayLike | None,
    upper: npt.ArrayLike | None,
    cell: float | None,
    tile: int,
    samples: int,
    smoothing: int,
    thickness: float | None,
    quantum: float,
    leaf: int,
    levels: int,
    crs: str,
    origin: tuple[float, ...],
    about: dict[str, Any],
    margin: int = 0,
) -> Plan:
    """How to fill a store from a field. `margin`: cells around the domain that belong to no tile, but are looked at."""
    if kind == "heights":
        raise InvalidInputError("kind: a field may have overhangs; expected 'displaced' or 'triangles', got 'heights'")
    if isinstance(field, GridField):
        lower = field.bounds[0] if lower is None else lower
        upper = field.bounds[1] if upper is None else upper
        cell = float(np.min(field.spacing)) if cell is None else cell
    if lower is None or upper is None or cell is None:
        raise InvalidInputError("lower, upper, cell: needed for a field that is a function")
    low, high, size = as_vector(lower, "lower"), as_vector(upper, "upper"), as_positive(cell, "cell")
    side = as_side(samples)
    if tile % side:
        raise InvalidInputError(f"tile: expected a multiple of samples ({side}), got {tile}")
    if (high - low < 2.0 * size).any():
        raise InvalidInputError(f"upper: expected a domain of at least two cells of {size:g} m a side, got {high - low}")
    shape = np.ceil((high - low) / size - CELL_ROUNDING)
    if (shape[:2] / (tile // side) > 2**20).any() or shape[2] > 2**16:
        raise InvalidInputError(f"cell: {size:g} m is too small for a domain of {(high - low).max():g} m")
    whole = shape.astype(np.int64)
    inner = whole - [2 * margin, 2 * margin, 0]
    cells = tile // side
    across, down = (int(-(-n // cells)) for n in inner[:2])
    deep = size if thickness is None else as_positive(thickness, "thickness")
    job = FieldJob(
        field, kind, tuple(low.tolist()), tuple(high.tolist()), size, side, smoothing, deep, quantum, (margin, margin), cells,
        (int(inner[0]), int(inner[1]), int(whole[2])), leaf, levels,
    )  # fmt: skip
    corner = low + [margin * size, margin * size, 0.0]
    end = corner + inner * size
    reach = FIELD_OVERHANG * size
    keep = {"cell": size, "samples": side, "smoothing": smoothing, "thickness": deep, "tile": tile, "leaf": leaf}
    manifest = Manifest(
        kind,
        (*(corner - [reach, reach, 0.0]).tolist(), *(end + [reach, reach, 0.0]).tolist()),
        (cells * size, cells * size, 0.0),
        (across, down),
        corner=(float(corner[0]), float(corner[1]), 0.0),
        overhang=reach,
        quantum=quantum,
        crs=crs,
        origin=origin,
        source=about | keep | {"levels": levels},
    )
    return Plan(manifest, grid_keys(across, down), job, samples=tile * tile)
