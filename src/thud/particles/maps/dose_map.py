"""Dose maps: how many impacts, how much energy and momentum fell on each square metre of colliders."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud._core.atomic import replaced
from thud._core.png import png_bytes
from thud.errors import InvalidInputError
from thud.gates import as_positive, as_size, finite_array
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.flight.system import ParticleSystem, as_system
from thud.particles.maps.drawn import drawn_triangles
from thud.particles.maps.glb import TexturedMesh, glb_bytes
from thud.particles.maps.impact_maps import as_resolution
from thud.particles.maps.parameters import DEFAULT_EXTENT, map_charts
from thud.particles.maps.pixel_areas import pixel_areas
from thud.particles.maps.tolerances import LEAST_PIXEL
from thud.particles.tolerances import LARGEST

Quantity = Literal["number", "energy", "momentum", "normal_momentum"]

#: Colours from none to most, red, green and blue from 0 to 255: dark blue over green to yellow, brighter all the way.
_COLORS = np.array([
    [68, 1, 84], [71, 45, 123], [59, 82, 139], [44, 114, 142], [33, 145, 140], [40, 174, 128], [94, 201, 98], [173, 220, 48],
    [253, 231, 37],
], dtype=float)  # fmt: skip


def _named(path: str | os.PathLike[str], suffix: str) -> None:
    """Named error unless a file's name ends as what is written into it."""
    if os.path.splitext(os.fspath(path))[1].lower() != suffix:
        raise InvalidInputError(f"path: expected a name that ends in {suffix}, got {os.path.basename(os.fspath(path))!r}")


@dataclass(frozen=True, eq=False)
class DoseMap:
    """Impacts in [t0, t1) per area, pixel by pixel of each collider: a value times `area`, summed, is that of all impacts."""

    number: Floats
    """(C, q, p) impacts, 1/m^2."""
    energy: Floats
    """(C, q, p) kinetic energy on arrival, J/m^2."""
    momentum: Floats
    """(C, q, p) magnitudes of momentum on arrival, N s/m^2."""
    normal_momentum: Floats
    """(C, q, p) what of it goes along the normal, N s/m^2."""
    area: Floats
    """(C, q, p) m^2 of the collider's surface in each pixel; 0 where there is none of it."""
    t0: float
    t1: float
    extent: float
    """Half the window of what has no end, metres."""
    outside: int
    """Impacts without coordinates, beyond that window: in no pixel."""
    colliders: ColliderSet = field(repr=False)

    def _values(self, quantity: str) -> Floats:
        if quantity not in ("number", "energy", "momentum", "normal_momentum"):
            raise InvalidInputError(f'quantity: expected "number", "energy", "momentum" or "normal_momentum", got {quantity!r}')
        values = np.asarray(getattr(self, quantity))
        if np.isnan(values[self.number > 0.0]).any():
            raise InvalidInputError(f'quantity: {quantity} needs a mass; give ParticleSystem(mass=...), or ask for "number"')
        return values

    def image(self, collider: int, quantity: Quantity = "energy", *, most: float | None = None) -> npt.NDArray[np.uint8]:
        """(q, p, 4) colours from none to `most` (None: the largest of all colliders), row 0 at v = 0; clear where there is no
        surface."""
        if isinstance(collider, bool) or not isinstance(collider, (int, np.integer)) or not 0 <= collider < len(self.area):
            raise InvalidInputError(f"collider: expected a place from 0 to {len(self.area) - 1}, got {collider!r}")
        values = self._values(quantity)
        top = float(np.nanmax(values, initial=0.0)) if most is None else as_positive(most, "most")
        part = np.clip(np.nan_to_num(values[collider]) / (top if top > 0.0 else 1.0), 0.0, 1.0)
        image = np.empty((*part.shape, 4), np.uint8)
        at = np.linspace(0.0, 1.0, len(_COLORS))
        for k in range(3):
            image[..., k] = np.rint(np.interp(part, at, _COLORS[:, k]))
        image[..., 3] = np.where(self.area[collider] == 0.0, 0, 255)
        return image

    def __repr__(self) -> str:
        colliders, rows, columns = self.number.shape
        return f"DoseMap({colliders} collider{'s' * (colliders != 1)}, {columns} x {rows} pixels each)"

    def to_png(
        self, path: str | os.PathLike[str], collider: int = 0, quantity: Quantity = "energy", *, most: float | None = None
    ) -> None:
        """Write the map of one collider as a picture, p by q pixels, v upwards.

        Parameters
        ----------
        path : of the file, .png, in a folder that exists
        collider : place of the collider
        quantity : "number", "energy", "momentum" or "normal_momentum"
        most : what the brightest colour means, in the quantity's unit; None: the largest of all colliders
        """
        _named(path, ".png")
        data = png_bytes(np.ascontiguousarray(self.image(collider, quantity, most=most)[::-1]))
        with replaced(path) as file:
            file.write(data)

    def to_glb(self, path: str | os.PathLike[str], quantity: Quantity = "energy", *, most: float | None = None) -> None:
        """Write all colliders with their maps as textures, a node each, embedded in one GLB file.

        Meshes are as they are; curved surfaces are drawn with 48 by 48 squares a chart. Colliders without a way back from
        coordinates are left out.

        Parameters
        ----------
        path : of the file, .glb, in a folder that exists
        quantity, most : as in `to_png`
        """
        _named(path, ".glb")
        charts, meshes = map_charts(self.colliders, self.extent).charts, []
        for k, collider in enumerate(self.colliders.colliders):
            points, uv, faces = drawn_triangles(charts[k])
            if len(faces):
                image = self.image(k, quantity, most=most)
                meshes.append(TexturedMesh(f"{k} {type(collider).__name__}", points, uv, faces, image))
        if not meshes:
            raise InvalidInputError("colliders: none has a surface to draw")
        data = glb_bytes(meshes)
        with replaced(path) as file:
            file.write(data)


def dose_map(
    system: ParticleSystem,
    colliders: Any,
    t0: float,
    t1: float,
    *,
    resolution: int | tuple[int, int] = 256,
    extent: float = DEFAULT_EXTENT,
    threads: int | None = None,
) -> DoseMap:
    """Number, energy and momentum of the impacts in [t0, t1) per area of the colliders.

    Parameters
    ----------
    system : the particles; without a `mass` energy and momenta are NaN
    colliders : a list of colliders or a `ColliderSet`
    t0, t1 : seconds, t0 < t1
    resolution : p, or (p, q), pixels along u and v (`impact_coordinates`)
    extent : metres; what has no end is mapped within +- this about its own point
    threads : at most so many; None: all cores
    """
    ready = as_system(system).colliders(colliders)
    times = [finite_array(value, name, limit=LARGEST) for name, value in (("t0", t0), ("t1", t1))]
    if any(value.ndim for value in times) or not times[0] < times[1]:
        raise InvalidInputError(f"t1: expected seconds, more than t0, got {t0!r} and {t1!r}")
    p, q = as_resolution(resolution, len(ready))
    charts = map_charts(ready, as_size(extent, "extent"))
    impacts = system.impacts(ready, float(times[0]), float(times[1]), threads=threads)
    uv = charts.coordinates(impacts.collider, impacts.part, impacts.point, threads)
    known = np.flatnonzero(~np.isnan(uv[:, 0]))
    x, y = (np.minimum((uv[known, axis] * n).astype(np.int64), n - 1) for axis, n in enumerate((p, q)))
    pixel = (impacts.collider[known] * q + y) * p + x
    area = np.zeros((len(ready), q, p))
    for k, chart in enumerate(charts.charts):
        area[k] = pixel_areas(chart, p, q)
    flat = area.reshape(-1)
    hit = np.unique(pixel)
    # A sliver of surface that was hit, but too thin to be found, has some area too.
    thin = hit[flat[hit] == 0.0]
    usual = area.sum(axis=(1, 2)) / np.maximum((area > 0.0).sum(axis=(1, 2)), 1)
    flat[thin] = LEAST_PIXEL * usual[thin // (p * q)]
    sums = {
        "number": np.ones(len(known)),
        "energy": impacts.energy[known],
        "momentum": impacts.mass[known] * impacts.speed[known],
        "normal_momentum": impacts.normal_momentum[known],
    }
    divisor = np.where(flat == 0.0, 1.0, flat)
    doses = {
        name: (np.bincount(pixel, values, len(flat)) / divisor).reshape(area.shape) for name, values in sums.items()
    }  # fmt: skip
    return DoseMap(
        **doses, area=area, t0=float(times[0]), t1=float(times[1]), extent=charts.extent,
        outside=len(uv) - len(known), colliders=ready,
    )  # fmt: skip
