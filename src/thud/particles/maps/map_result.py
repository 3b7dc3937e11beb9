"""ImpactMap: impacts of an interval as pixels, and the way back to impacts. 3.4, 3.5."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.columns import Columns
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.maps.map_encoding import place_from_bytes, speed_from_bytes, time_from_bytes
from thud.particles.maps.parameters import ElementCharts, map_charts

# Channels of a surface map, before those of textures.
ID, OFFSET, SPEED, COUNT = range(4)


@dataclass(frozen=True, slots=True, repr=False)
class MapImpacts(Columns):
    """What a map tells of impacts, M in all: pixel by pixel, or particle by particle."""

    collider: Ints
    """(M,) place in the list of colliders."""
    particle: Ints
    """(M,) row of the particle; -1 where the map has forgotten it (surface maps)."""
    time: Floats
    """(M,) seconds, as exact as the map's channel; the mean of all impacts of a pixel where they were added. NaN where
    `saturated`."""
    speed: Floats
    """(M,) m/s, likewise."""
    point: Floats
    """(M, 3) metres: the middle of the pixel on its collider, or the nearest place that it has within the pixel; NaN where
    there is no way back; or the particle's own."""
    coordinates: Floats
    """(M, 2) from 0 to 1: the middle of the pixel; NaN in particle maps."""
    count: Ints
    """(M,) impacts on that pixel; 1 in particle maps. Bytes end at 255: so many or more."""
    saturated: npt.NDArray[np.bool_]
    """(M,) pixels of bytes to which more was added than they hold: what it was is not known."""

    _unit = "place"

    def _say(self) -> list[str]:
        return [f"{int(self.saturated.sum()):,} saturated"]


@dataclass(frozen=True, eq=False)
class ImpactMap:
    """Impacts in [t0, t1) as pixels."""

    data: npt.NDArray[Any]
    """Surface: (C, q, p, channels), row 0 at v = 0: id, time offset, speed, count, then textures. Particle: (N, 1, 6) floats:
    id, time offset, speed, x, y, z; or (N, 4, 3) bytes: id, time offset, speed, then x, y and z with three bytes each."""
    t0: float
    """Start of the window, seconds: the caller's t0 and the latency."""
    t1: float
    """End of it."""
    encoding: str
    """"float": float32; "uint8"."""
    combine: str
    """"last" or "add"."""
    layout: str
    """"surface" or "particle"."""
    speed_range: tuple[float, float] | None
    """Speeds that bytes 0 and 255 mean, m/s."""
    box: Floats | None
    """(6,) that x, y and z of a particle map of bytes are parts of, metres."""
    extent: float
    """Half the window of what has no end, metres."""
    colliders: ColliderSet = field(repr=False)

    def __repr__(self) -> str:
        if self.layout == "particle":
            what = f"{len(self.data):,} particle{'s' * (len(self.data) != 1)}"
        else:
            p, q = self.resolution
            what = f"{len(self.data)} collider{'s' * (len(self.data) != 1)}, {p} x {q} pixels each"
        hit = int(np.count_nonzero(self.data[..., 0, ID] if self.layout == "particle" else self.data[..., ID]))
        return f"ImpactMap({what}, {hit:,} hit, {self.encoding}, from {self.t0:.4g} s, to {self.t1:.4g} s)"

    @property
    def resolution(self) -> tuple[int, int]:
        """(p, q): pixels along u and along v."""
        return self.data.shape[-2], self.data.shape[-3]

    def spacing(self, collider: int) -> tuple[float, float]:
        """Metres a pixel along u and along v of a planar collider: M/p by N/q, 3.5.1. Nearer impacts may share one."""
        if self.layout != "surface":
            raise UnsupportedQueryError("spacing: a particle map has no pixels on colliders")
        whole = isinstance(collider, (int, np.integer)) and not isinstance(collider, bool)
        if not whole or not 0 <= collider < len(self.colliders):
            raise InvalidInputError(f"collider: expected a place from 0 to {len(self.colliders) - 1}, got {collider!r}")
        charts = map_charts(self.colliders, self.extent).charts[collider]
        if not isinstance(charts, ElementCharts) or len(charts.charts) != 1 or not charts.charts[0].flat:
            raise UnsupportedQueryError(
                f"collider: {type(self.colliders.colliders[collider]).__name__} has no one spacing; it varies over the surface"
            )
        lengths = np.linalg.norm(charts.charts[0].edges, axis=1)
        p, q = self.resolution
        return float(lengths[0] / p), float(lengths[1] / q)

    @property
    def saturated(self) -> npt.NDArray[np.bool_]:
        """(C, q, p) pixels to which more was added than their bytes hold: their sums end at 255, and decode to NaN. A lower
        resolution makes more of them, a shorter window or encoding="float" none. None in particle maps."""
        if self.layout == "particle" or self.encoding != "uint8" or self.combine != "add":
            return np.zeros(self.data.shape[:-1], bool)
        # One impact alone may have 255; and the sum of several that is just 255 cannot be told from more.
        full = (self.data[..., OFFSET] == 255) | (self.data[..., SPEED] == 255)
        return (full & (self.data[..., COUNT] > 1)) | (self.data[..., COUNT] == 255)

    def decode(self) -> MapImpacts:
        """The impacts that the map tells of: one a pixel (surface: collider by collider, row by row) or one a particle."""
        return self._decode_particles() if self.layout == "particle" else self._decode_pixels()

    def _time_and_speed(self, time: npt.NDArray[Any], speed: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        if self.encoding == "uint8":
            assert self.speed_range is not None
            return self.t0 + time_from_bytes(time) * (self.t1 - self.t0), speed_from_bytes(speed, self.speed_range)
        return self.t0 + time.astype(float) * (self.t1 - self.t0), speed.astype(float)

    def _decode_pixels(self) -> MapImpacts:
        collider, row, column = np.nonzero(self.data[..., ID])
        pixels = self.data[collider, row, column]
        count = np.rint(pixels[:, COUNT]).astype(np.int64)
        full = self.saturated[collider, row, column]
        if self.combine == "add":
            # Sums, of bytes or of floats; their means are what can be told.
            each = pixels[:, :COUNT].astype(float) / np.maximum(count, 1)[:, None]
            offset, speed = each[:, OFFSET], each[:, SPEED]
            if self.encoding == "uint8":
                assert self.speed_range is not None
                offset = (offset + 0.5) / 256.0
                speed = self.speed_range[0] + speed / 255.0 * (self.speed_range[1] - self.speed_range[0])
            time = self.t0 + offset * (self.t1 - self.t0)
            time, speed = np.where(full, np.nan, time), np.where(full, np.nan, speed)
        else:
            time, speed = self._time_and_speed(pixels[:, OFFSET], pixels[:, SPEED])
        p, q = self.resolution
        uv = np.column_stack([(column + 0.5) / p, (row + 0.5) / q])
        points = map_charts(self.colliders, self.extent).near(collider, uv, (0.5 / p, 0.5 / q))
        return MapImpacts(collider, np.full(len(collider), -1), time, speed, points, uv, count, full)

    def _decode_particles(self) -> MapImpacts:
        (particle,) = np.nonzero(self.data[:, 0, ID])
        pixels = self.data[particle]
        collider = pixels[:, 0, ID].astype(np.int64) - 1
        time, speed = self._time_and_speed(pixels[:, 0, OFFSET], pixels[:, 0, SPEED])
        if self.encoding == "uint8":
            assert self.box is not None
            point = place_from_bytes(pixels[:, 1:], self.box)
        else:
            point = pixels[:, 0, 3:].astype(float)
        m = len(particle)
        return MapImpacts(
            collider, particle, time, speed, point, np.full((m, 2), np.nan), np.ones(m, np.int64), np.zeros(m, bool)
        )
