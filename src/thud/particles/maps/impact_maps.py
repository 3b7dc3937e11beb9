"""The impact map: where on each collider particles hit in an interval, as pixels. 3.4.2, 3.4.3, 3.5."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.gates import as_size, finite_array
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.flight.system import ParticleSystem, as_system
from thud.particles.maps.map_encoding import MOST_IDS, place_bytes, scene_box, speed_bytes, time_bytes, time_offsets
from thud.particles.maps.map_result import COUNT, OFFSET, SPEED, ImpactMap
from thud.particles.maps.parameters import DEFAULT_EXTENT, map_charts
from thud.particles.maps.textures import Textures, as_textures, read_textures
from thud.particles.tolerances import LARGEST, MOST_TEXELS


class MapPlan(NamedTuple):
    """What is to be drawn: the checked arguments, for either backend."""

    t0: float
    t1: float
    p: int
    q: int
    encoding: str
    combine: str
    layout: str
    textures: list[Floats | None]
    depth: int
    filter: str
    speed_range: tuple[float, float] | None
    box: Floats | None
    extent: float


def impact_map(
    system: ParticleSystem,
    colliders: Any,
    t0: float,
    t1: float,
    *,
    resolution: int | tuple[int, int] = 256,
    encoding: Literal["float", "uint8"] = "float",
    combine: Literal["last", "add"] = "last",
    latency: float = 0.0,
    layout: Literal["surface", "particle"] = "surface",
    textures: Textures | None = None,
    texture_filter: Literal["nearest", "bilinear"] = "nearest",
    speed_range: tuple[float, float] | None = None,
    box: npt.ArrayLike | None = None,
    extent: float = DEFAULT_EXTENT,
    backend: Literal["numba", "gl"] = "numba",
    threads: int | None = None,
) -> ImpactMap:
    """The impacts in [t0 + latency, t1 + latency), one map a collider.

    Parameters
    ----------
    system : the particles
    colliders : a list of colliders or a `ColliderSet`
    t0, t1 : seconds, t0 < t1
    resolution : p, or (p, q), pixels along u and v (`impact_coordinates`): of a rectangle of M by N metres a pixel is
        M/p by N/q
    encoding : "float": float32; "uint8": 8 bits a channel, time to 1/256 of the interval, up to 255 colliders
    combine : "last": the latest impact of a pixel stays; "add": offsets and speeds of all are summed (bytes end at 255). The
        count is that of all impacts of the pixel either way
    latency : seconds to look ahead, 3.5.1
    layout : "surface": a pixel is a place on a collider; "particle": each particle has its own pixels, which tell of its last
        impact in the window and where it was, 3.5.2
    textures : by place of the collider, (H, W) or (H, W, K): read at impacts, K more channels, 5.2.1. As bytes: 0 to 1 is 0 to
        255
    texture_filter : "nearest" or "bilinear"
    speed_range : m/s that bytes 0 and 255 mean; None: from 0 to the fastest of the window
    box : (6,) that bytes of x, y and z of a particle map are parts of; None: the colliders'. What lies beyond is moved to it
    extent : metres; what has no end is mapped within +- this about its own point; impacts beyond it are not in the map
    backend : "numba", or "gl": an OpenGL vertex program computes impacts, and points are drawn into a frame buffer
    threads : at most so many; None: all cores
    """
    ready = as_system(system).colliders(colliders)
    plan = _plan(
        ready, t0, t1, resolution, encoding, combine, latency, layout, textures, texture_filter, speed_range, box, extent
    )
    if backend not in ("numba", "gl"):
        raise InvalidInputError(f'backend: expected "numba" or "gl", got {backend!r}')
    if backend == "gl":
        from thud.particles.maps.backend_gl import draw_map

        plan, data = draw_map(system, ready, plan)
    else:
        found = system.impacts(ready, plan.t0, plan.t1, threads=threads)
        plan, data = draw_impacts(found, ready, plan, system.count, threads)
    return ImpactMap(
        data, plan.t0, plan.t1, encoding, combine, layout, plan.speed_range, plan.box, plan.extent, ready
    )  # fmt: skip


def _plan(
    colliders: ColliderSet, t0: Any, t1: Any, resolution: Any, encoding: str, combine: str, latency: Any, layout: str,
    textures: Textures | None, texture_filter: str, speed_range: Any, box: Any, extent: Any,
) -> MapPlan:  # fmt: skip
    """Check the arguments."""
    for name, value, expected in (
        ("encoding", encoding, ("float", "uint8")),
        ("combine", combine, ("last", "add")),
        ("layout", layout, ("surface", "particle")),
        ("texture_filter", texture_filter, ("nearest", "bilinear")),
    ):
        if value not in expected:
            raise InvalidInputError(f'{name}: expected "{expected[0]}" or "{expected[1]}", got {value!r}')
    times = [finite_array(value, name, limit=LARGEST) for name, value in (("t0", t0), ("t1", t1), ("latency", latency))]
    if any(value.ndim for value in times):
        raise InvalidInputError("t0, t1, latency: expected numbers of seconds")
    begin, end, ahead = (float(value) for value in times)
    if not begin < end:
        raise InvalidInputError(f"t1: expected more than t0 = {begin}, got {end}")
    p, q = as_resolution(resolution, 1 if layout == "particle" else len(colliders))
    if encoding == "uint8" and len(colliders) > MOST_IDS:
        raise InvalidInputError(f'colliders: 8 bits tell {MOST_IDS} apart, got {len(colliders)}; use encoding="float"')
    if layout == "particle" and (combine != "last" or textures is not None):
        name = "combine" if combine != "last" else "textures"
        raise InvalidInputError(f'{name}: a particle map has its last impact alone; use layout="surface"')
    if speed_range is not None:
        speeds = finite_array(speed_range, "speed_range")
        if speeds.shape != (2,) or not 0.0 <= speeds[0] < speeds[1]:
            raise InvalidInputError(f"speed_range: expected (slowest, fastest) in m/s, got {speed_range!r}")
        speed_range = (float(speeds[0]), float(speeds[1]))
    extent = as_size(extent, "extent")
    if box is not None:
        box = finite_array(box, "box")
        if box.shape != (6,) or not (box[:3] <= box[3:]).all():
            raise InvalidInputError("box: expected (6,) lower and upper corner")
    elif layout == "particle" and encoding == "uint8":
        box = scene_box(colliders, extent)
    arrays, depth = as_textures(textures or {}, len(colliders))
    return MapPlan(
        begin + ahead, end + ahead, p, q, encoding, combine, layout, arrays, depth, texture_filter, speed_range, box, extent
    )


def as_resolution(resolution: Any, maps: int) -> tuple[int, int]:
    """(p, q) from p or (p, q), for so many maps."""
    pair = (resolution, resolution) if np.ndim(resolution) == 0 else tuple(resolution)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1 for n in pair)
    if len(pair) != 2 or not whole:
        raise InvalidInputError(f"resolution: expected p or (p, q), whole numbers of at least 1, got {resolution!r}")
    p, q = int(pair[0]), int(pair[1])
    if p * q * max(maps, 1) > MOST_TEXELS:
        raise InvalidInputError(
            f"resolution: {maps} maps of {p} by {q} have {p * q * max(maps, 1):.3g} pixels; expected at most {MOST_TEXELS}"
        )
    return p, q


def with_speed_range(plan: MapPlan, speed: Floats) -> MapPlan:
    """The plan with a range of speeds, where bytes need one and the caller gave none."""
    if plan.encoding == "float" or plan.speed_range is not None:
        return plan
    top = float(np.max(speed, initial=0.0))
    return plan._replace(speed_range=(0.0, top if top > 0.0 else 1.0))


def draw_impacts(
    impacts: Any, colliders: ColliderSet, plan: MapPlan, particles: int, threads: int | None
) -> tuple[MapPlan, npt.NDArray[Any]]:
    """The map of impacts, which are in the order of time."""
    plan = with_speed_range(plan, impacts.speed)
    offset = time_offsets(impacts.time, plan.t0, plan.t1)
    if plan.layout == "particle":
        return plan, _particle_pixels(impacts, offset, plan, particles)
    from thud.particles.maps.map_rows import draw_rows

    uv = map_charts(colliders, plan.extent).coordinates(impacts.collider, impacts.part, impacts.point, threads)
    values = np.empty((len(uv), 2 + plan.depth))
    values[:, 0], values[:, 1] = offset, impacts.speed
    if plan.depth:
        values[:, 2:] = read_textures(impacts.collider, uv, plan.textures, plan.depth, plan.filter)
    if plan.encoding == "uint8":
        assert plan.speed_range is not None
        values[:, 0], values[:, 1] = time_bytes(offset), speed_bytes(impacts.speed, plan.speed_range)
        values[:, 2:] = np.floor(np.clip(values[:, 2:], 0.0, 1.0) * 255.0 + 0.5)
    total = len(colliders) * plan.q * plan.p
    pixels = np.zeros((total, 4 + plan.depth), np.float32)
    sums = np.zeros((total if plan.combine == "add" else 0, values.shape[1]))
    draw_rows(impacts.collider, uv, values, plan.p, plan.q, pixels, sums)
    if plan.combine == "add":
        pixels[:, OFFSET : SPEED + 1], pixels[:, COUNT + 1 :] = sums[:, :2], sums[:, 2:]
    if plan.encoding == "uint8":
        pixels = np.minimum(pixels, 255.0).astype(np.uint8)
    return plan, pixels.reshape(len(colliders), plan.q, plan.p, 4 + plan.depth)


def _particle_pixels(impacts: Any, offset: Floats, plan: MapPlan, particles: int) -> npt.NDArray[Any]:
    """The last impact of each particle, 3.5.2."""
    if plan.encoding == "float":
        record = np.zeros((particles, 1, 6), np.float32)
        record[impacts.particle, 0] = np.column_stack([impacts.collider + 1, offset, impacts.speed, impacts.point])
        return record
    assert plan.speed_range is not None
    assert plan.box is not None
    data = np.zeros((particles, 4, 3), np.uint8)
    first = np.column_stack([impacts.collider + 1, time_bytes(offset), speed_bytes(impacts.speed, plan.speed_range)])
    data[impacts.particle, 0] = first
    data[impacts.particle, 1:] = place_bytes(impacts.point, plan.box)
    return data
