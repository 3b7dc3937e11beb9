"""What a terrain is: the manifest of its store."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud.constants import MESH_COORDINATE
from thud.errors import DamagedStoreError, ForeignStoreError, InvalidInputError, StoreVersionError
from thud.gates import as_positive
from thud.terrain.tiles.record import KINDS, TileKey, as_key
from thud.terrain.tiles.tolerances import LARGEST_MANIFEST, LEAST_TILE, MOST_TILES, PLACE_SLACK
from thud.terrain.tiles.triangle_tile import as_quantum

FORMAT = "thud terrain"
VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """What a terrain is.

    The terrain's frame is metres, z up, moved by `origin` from the coordinates of `crs`. Tile (i, j, k) is that from
    corner + (i, j, k) * tile_size on; of a grid of one layer k is 0 and the size along z is 0.

    Parameters
    ----------
    kind : of the tiles: "triangles", "heights" or "displaced"
    bounds : lower and upper corner (x0, y0, z0, x1, y1, z1), metres
    tile_size : metres along x, y and z
    corner : of tile (0, 0, 0), metres
    first, count : the grid of tiles: the lowest key and how many along each axis; two numbers for one layer; 2^24 places at
        most. Not all of them need be there
    overhang : metres that a tile may reach beyond its place in the grid, along x and y, and along z if there are layers
    quantum : metres, a power of two: what all tiles share is in multiples of it
    units : "metre"
    crs : the coordinate system that the terrain's frame lies in, as text (an EPSG code, WKT); empty for none
    origin : of the terrain's frame in that system
    source : anything else that is worth keeping, as JSON: names and values
    content_hash : of a finished store: of this manifest and all records. None while it is being built
    """

    kind: str
    bounds: tuple[float, ...]
    tile_size: tuple[float, ...]
    count: tuple[int, ...]
    first: tuple[int, ...] = (0, 0, 0)
    corner: tuple[float, ...] = (0.0, 0.0, 0.0)
    overhang: float = 0.0
    quantum: float = 2.0**-10
    units: str = "metre"
    crs: str = ""
    origin: tuple[float, ...] = (0.0, 0.0, 0.0)
    source: dict[str, Any] = field(default_factory=dict)
    content_hash: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise InvalidInputError(f"kind: expected one of {', '.join(KINDS)}, got {self.kind!r}")
        if self.units != "metre":
            raise InvalidInputError(f"units: expected 'metre', got {self.units!r}")
        for name, count in (("bounds", 6), ("tile_size", 3), ("corner", 3), ("origin", 3)):
            object.__setattr__(self, name, _numbers(getattr(self, name), name, count))
        object.__setattr__(self, "first", _whole(self.first, "first", 0))
        object.__setattr__(self, "count", _whole(self.count, "count", 1))
        if any(low > high for low, high in zip(self.bounds[:3], self.bounds[3:])):
            raise InvalidInputError(f"bounds: expected lower corner, then upper corner, got {self.bounds}")
        if any(not (size >= LEAST_TILE or (size == 0.0 and axis == 2)) for axis, size in enumerate(self.tile_size)):
            raise InvalidInputError(
                f"tile_size: expected metres along x, y and z (0: one layer), at least {LEAST_TILE:g}, got {self.tile_size}"
            )
        if min(self.count) < 1 or math.prod(self.count) > MOST_TILES:
            raise InvalidInputError(
                f"count: expected at least one tile along each axis and at most {MOST_TILES} places of tiles, got {self.count}"
            )
        object.__setattr__(self, "quantum", as_quantum(self.quantum))
        object.__setattr__(self, "overhang", as_positive(self.overhang, "overhang", zero=True))
        if not isinstance(self.crs, str):
            raise InvalidInputError(f"crs: expected text, got {type(self.crs).__name__}")
        if not isinstance(self.source, dict):
            raise InvalidInputError(f"source: expected names and values, got {type(self.source).__name__}")
        if self.content_hash is not None and not (
            isinstance(self.content_hash, str) and re.fullmatch("[0-9a-f]{64}", self.content_hash)
        ):
            raise InvalidInputError(f"content_hash: expected 64 hexadecimal digits, got {self.content_hash!r}")
        self.to_json()

    @property
    def is_complete(self) -> bool:
        """Whether the build was finished."""
        return self.content_hash is not None

    @cached_property
    def reach(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Lower and upper corner of all that tiles may reach: their places and the overhang, and upright, and wherever they
        are farther out, the bounds."""
        low, high = list(self.bounds[:3]), list(self.bounds[3:])
        for axis, size in enumerate(self.tile_size):
            if size > 0.0:
                begin = self.corner[axis] + self.first[axis] * size
                low[axis] = min(low[axis], begin - self.overhang)
                high[axis] = max(high[axis], begin + self.count[axis] * size + self.overhang)
        return tuple(low), tuple(high)

    def holds(self, key: TileKey) -> bool:
        """Whether a key is in the grid of tiles."""
        return all(low <= at < low + count for at, low, count in zip(key, self.first, self.count))

    def keys_near(self, lower: Sequence[float] | Floats, upper: Sequence[float] | Floats) -> Iterator[TileKey]:
        """Keys of the tiles that may reach into a box, in the order of the store."""
        ranges = []
        for axis in range(3):
            first, count, size = self.first[axis], self.count[axis], self.tile_size[axis]
            begin, end = first, first + count
            if size > 0.0:
                begin = max(begin, math.floor((lower[axis] - self.overhang - self.corner[axis]) / size))
                end = min(end, math.floor((upper[axis] + self.overhang - self.corner[axis]) / size) + 1)
                # A tile that ends where the box begins touches it.
                begin = max(first, begin - 1) if begin * size + self.corner[axis] >= lower[axis] - self.overhang else begin
            ranges.append(range(begin, end))
        for k in ranges[2]:
            for j in ranges[1]:
                for i in ranges[0]:
                    yield TileKey(i, j, k)

    def fits(self, key: TileKey, lower: Floats, upper: Floats) -> bool:
        """Whether a tile with these bounds reaches no farther beyond its place than the overhang."""
        for axis in range(3):
            size = self.tile_size[axis]
            if size > 0.0:
                begin = self.corner[axis] + key[axis] * size
                slack = self.overhang + PLACE_SLACK * (abs(begin) + size)
                if lower[axis] < begin - slack or upper[axis] > begin + size + slack:
                    return False
        return True

    def to_json(self) -> bytes:
        """As it is stored: the same manifest is the same bytes."""
        values = {"format": FORMAT, "version": VERSION} | {one.name: getattr(self, one.name) for one in fields(self)}
        try:
            text = json.dumps(values, sort_keys=True, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(f"source: expected what JSON can say ({error})") from None
        data = text.encode()
        if len(data) > LARGEST_MANIFEST:
            raise InvalidInputError(f"source: the manifest has {len(data)} bytes; expected at most {LARGEST_MANIFEST}")
        return data

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """The manifest of a store, checked."""
        if len(data) > LARGEST_MANIFEST:
            raise DamagedStoreError(f"a manifest of {len(data)} bytes; expected at most {LARGEST_MANIFEST}")
        try:
            values = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise DamagedStoreError(f"manifest: not JSON ({error})") from None
        if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
            raise ForeignStoreError(f"manifest: expected the format {FORMAT!r}")
        version = values.pop("version", None)
        if version != VERSION or isinstance(version, bool):
            raise StoreVersionError(f"version {version!r} of terrains; this thud reads version {VERSION}")
        names = {one.name for one in fields(cls)}
        if set(values) != names:
            raise DamagedStoreError(f"manifest: wrong or missing are {sorted(set(values) ^ names)[:6]}")
        try:
            return cls(**values)
        except InvalidInputError as error:
            raise DamagedStoreError(f"manifest: {error}") from None

    def unfinished(self) -> Manifest:
        """The same terrain before its build was finished."""
        return replace(self, content_hash=None)

    def finished(self, records: Iterable[tuple[bytes, int, bytes]]) -> Manifest:
        """With the content hash of these records: key, size and digest of each, in the order of the keys."""
        found = hashlib.blake2b(self.unfinished().to_json(), digest_size=32)
        for key, size, digest in records:
            found.update(key + size.to_bytes(8, "little") + digest)
        return replace(self, content_hash=found.hexdigest())


def _whole(value: Any, name: str, above: int) -> tuple[int, ...]:
    """Three whole numbers; `above` is the third where two are given."""
    try:
        numbers = as_key((*value, above) if len(value) == 2 else value)
    except (InvalidInputError, TypeError):
        raise InvalidInputError(f"{name}: expected two or three whole numbers, got {value!r}") from None
    return tuple(numbers)


def _numbers(value: Any, name: str, count: int) -> tuple[float, ...]:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (count,) or not all(math.isfinite(x) and abs(x) <= MESH_COORDINATE for x in array.tolist()):
        raise InvalidInputError(f"{name}: expected {count} numbers, metres, got {value!r}")
    return tuple(array.tolist())
