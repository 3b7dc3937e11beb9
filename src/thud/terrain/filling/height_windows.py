"""Heights on a regular grid that may be larger than memory: what a source must offer, and arrays as one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, number_array
from thud.errors import InvalidInputError
from thud.terrain.filling.tolerances import SCAN_SAMPLES
from thud.terrain.making.heights import as_spacing


@runtime_checkable
class HeightWindows(Protocol):
    """A grid of heights of which windows are read, one at a time.

    Sample [j, i] lies at (i spacing[0], j spacing[1]) from `origin`, with y up: row 0 is the southernmost.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows (y) and columns (x) of samples."""

    @property
    def spacing(self) -> tuple[float, float]:
        """Metres along x and y."""

    @property
    def crs(self) -> str:
        """Coordinate system of `origin`, as text; empty for none."""

    @property
    def origin(self) -> tuple[float, float, float]:
        """Of sample [0, 0] in that system; the terrain's frame begins there."""

    def read(self, rows: tuple[int, int], columns: tuple[int, int]) -> Floats:
        """(rows, columns) heights in metres of the samples from the first up to, and without, the second; NaN for none."""

    def describe(self) -> dict[str, Any]:
        """What the manifest is to keep of it, as JSON can say it."""


@dataclass(frozen=True, eq=False)
class ArrayWindows:
    """An array of heights, in memory or mapped. Masked entries and NaN are holes.

    Parameters
    ----------
    heights : (H, W) metres, indexed [y, x]
    spacing : metres between samples along x and y
    crs, origin : as of `Manifest`
    """

    heights: Any
    spacing: tuple[float, float]
    crs: str = ""
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    shape: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        data = np.ma.getdata(self.heights) if isinstance(self.heights, np.ma.MaskedArray) else self.heights
        array = data if isinstance(data, np.ndarray) else number_array(data, "source")
        if array.dtype.kind not in "fiu" or array.ndim != 2 or min(array.shape) < 2:
            raise InvalidInputError(
                f"source: expected heights of shape (H, W), at least 2 a side, got {array.dtype} of shape {array.shape}"
            )
        if not isinstance(self.heights, np.ma.MaskedArray):
            object.__setattr__(self, "heights", array)
        object.__setattr__(self, "shape", (int(array.shape[0]), int(array.shape[1])))

    def read(self, rows: tuple[int, int], columns: tuple[int, int]) -> Floats:
        """As of `HeightWindows`."""
        part = self.heights[rows[0] : rows[1], columns[0] : columns[1]]
        if isinstance(part, np.ma.MaskedArray):
            return np.where(np.ma.getmaskarray(part), np.nan, np.ma.getdata(part).astype(np.float64))
        return np.array(part, dtype=np.float64)

    def describe(self) -> dict[str, Any]:
        """As of `HeightWindows`."""
        return {"source": "array of heights"}


@dataclass(frozen=True)
class Scan:
    """What one look at all of a source says."""

    lowest: float
    highest: float
    holes: int
    digest: str
    """Of all heights: a build goes on only with the same ones."""


def scan(source: HeightWindows) -> Scan:
    """Look through a source once, a band of rows at a time."""
    found = hashlib.blake2b(np.array(source.shape, "<i8").tobytes(), digest_size=16)
    low, high, holes = np.inf, -np.inf, 0
    for rows in bands(source.shape):
        part = np.ascontiguousarray(source.read(rows, (0, source.shape[1])), "<f8")
        if part.shape != (rows[1] - rows[0], source.shape[1]):
            raise InvalidInputError(f"source: it gave {part.shape} for rows {rows[0]} to {rows[1]}")
        missing = np.isnan(part)
        if np.isinf(part).any():
            row, column = np.argwhere(np.isinf(part))[0].tolist()
            raise InvalidInputError(f"source: the height at row {rows[0] + row}, column {column} is infinite")
        holes += int(missing.sum())
        if not missing.all():
            low, high = min(low, float(np.nanmin(part))), max(high, float(np.nanmax(part)))
        # NaN has many forms; a hole is a hole.
        part[missing] = np.nan
        found.update(part.data)
    if low > high:
        raise InvalidInputError("source: it has no heights; all of them are holes")
    return Scan(low, high, holes, found.hexdigest())


def bands(shape: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Ranges of rows of about SCAN_SAMPLES."""
    step = max(1, SCAN_SAMPLES // shape[1])
    for first in range(0, shape[0], step):
        yield first, min(first + step, shape[0])


def as_heights(source: Any, spacing: npt.ArrayLike | None, crs: str, origin: Any) -> HeightWindows:
    """The gate of heights."""
    if isinstance(source, HeightWindows):
        return source
    if spacing is None:
        raise InvalidInputError("spacing: needed for an array of heights: metres between samples")
    step = as_spacing(spacing)
    return ArrayWindows(source, (float(step[0]), float(step[1])), crs, origin)
