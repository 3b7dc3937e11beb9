"""Pictures of colliders: rays of light are particles of first order, and what they hit is seen.

Every collider that stops particles can be drawn so, and nothing else is needed: eye, sun and sky are sources of particles,
and a texture is read where they hit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.particles.colliders.collider_set import ColliderSet, as_set
from thud.particles.flight.system import ParticleSystem
from thud.particles.maps.parameters import DEFAULT_EXTENT, impact_coordinates
from thud.particles.maps.splat_points import cover_points, splat_reach
from thud.particles.maps.textures import read_textures
from thud.particles.maps.tolerances import SPLAT_BACK
from thud.report.camera import Camera
from thud.results import ParticleImpacts

#: Unit vector to the sun, and the parts of light that come from it, from the sky, and from everywhere.
SUN = np.array([0.55, -0.50, 0.75]) / np.linalg.norm([0.55, -0.50, 0.75])
SUNLIGHT, SKYLIGHT, GLOW = 0.50, 0.50, 0.14

#: Colours of the sky above and at the horizon, from 0 to 1.
ZENITH, HORIZON = np.array([0.50, 0.58, 0.68]), np.array([0.90, 0.92, 0.94])

#: Metres that light is followed, and by how much it starts above the surface that it comes from.
FAR, LIFT = 200.0, 1e-5

#: Rays that are followed at a time (a count).
_BAND = 200_000


@dataclass(frozen=True)
class Look:
    """How a collider is painted.

    Parameters
    ----------
    color : (3,) from 0 to 1
    stripes : seams across u and across v of its coordinates; 0 has none
    """

    color: tuple[float, float, float] = (0.72, 0.74, 0.78)
    stripes: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False)
class View:
    """What a camera sees of colliders, before it is painted: S rays that hit something."""

    camera: Camera
    pixel: Ints
    """(S,) pixel, row after row from the top."""
    share: Floats
    """(S,) of the pixel: 1, or less where several rays make it up."""
    collider: Ints
    """(S,) place of what is hit."""
    distance: Floats
    """(S,) from the eye, metres."""
    uv: Floats
    """(S, 2) coordinates on the collider; NaN where it has none."""
    light: Floats
    """(S,) that falls there, from 0 to about 1."""
    point: Floats
    """(S, 3) what is hit, metres."""
    normal: Floats
    """(S, 3) unit normal there, on the eye's side."""

    def depth(self) -> Floats:
        """(height, width) distance of the nearest that is seen in pixels, inf where nothing is."""
        whole = np.full(self.camera.height * self.camera.width, np.inf)
        np.minimum.at(whole, self.pixel, self.distance)
        return whole.reshape(self.camera.height, self.camera.width)

    def paint(self, looks: list[Look], coverage: Any = None, ink: npt.ArrayLike = (0.97, 0.98, 1.0)) -> Floats:
        """(height, width, 3) picture from 0 to 1.

        Parameters
        ----------
        looks : one a collider
        coverage : how much `ink` covers, from 0 to 1: (S,) of rays (`splats`); or of each collider's texture, (C, q, p) or a
            list of (q, p) (`particles.splat`)
        ink : (3,) from 0 to 1, or one row a collider
        """
        camera = self.camera
        paint = np.array([look.color for look in looks]).reshape(-1, 3)[self.collider] * self._seams(looks)[:, None]
        if coverage is not None and np.ndim(coverage[0]) == 0:
            paint = paint + np.asarray(coverage)[:, None] * (self._inks(ink, looks) - paint)
        elif coverage is not None:
            flat: list[Floats | None] = [np.asarray(one, dtype=float)[:, :, None] for one in coverage]
            amount = read_textures(self.collider, self.uv, flat, 1, "bilinear")
            paint = paint + amount * (self._inks(ink, looks) - paint)
        # Distance fades into the sky.
        fade = np.clip((self.distance - 20.0) / 70.0, 0.0, 0.9)[:, None]
        paint = paint * self.light[:, None] * (1.0 - fade) + HORIZON * fade
        count = camera.height * camera.width
        covered = np.bincount(self.pixel, self.share, count)
        image = _sky(camera) * (1.0 - covered[:, None])
        for channel in range(3):
            image[:, channel] += np.bincount(self.pixel, self.share * paint[:, channel], count)
        return np.clip(image, 0.0, 1.0).reshape(camera.height, camera.width, 3)

    def _inks(self, ink: npt.ArrayLike, looks: list[Look]) -> Floats:
        """(S, 3) ink on what is hit."""
        return np.broadcast_to(np.asarray(ink, dtype=float), (len(looks), 3))[self.collider]

    def splats(self, impacts: ParticleImpacts, *, radius: float, fastest: float | None = None) -> Floats:
        """(S,) how much of each ray's place splats cover, from 0 to 1: discs about impacts on the same collider and the same
        side of it, by distance in space.

        Parameters
        ----------
        impacts : on the colliders that are seen
        radius : metres, of the fastest impact; others' in proportion to their speed
        fastest : m/s; None: that of the impacts
        """
        out = np.zeros(len(self.pixel))
        reach = splat_reach(np.asarray(impacts.speed), radius, fastest)
        # The soft edge is as wide as half a pixel there.
        soft = np.minimum(0.5 * self.camera.field / self.camera.width * self.distance, radius)
        for place in np.unique(impacts.collider):
            mine, rows = np.flatnonzero(impacts.collider == place), np.flatnonzero(self.collider == place)
            at = SimpleNamespace(point=impacts.point[mine], normal=impacts.normal[mine])
            out[rows] = cover_points(
                self.point[rows], soft[rows], at, reach[mine],
                normals=self.normal[rows], impact_normals=impacts.normal[mine], least=SPLAT_BACK,
            )  # fmt: skip
        return out

    def _seams(self, looks: list[Look]) -> Floats:
        """(S,) darker along seams."""
        shade = np.ones(len(self.pixel))
        count = np.array([look.stripes for look in looks], dtype=float).reshape(-1, 2)[self.collider]
        for axis in range(2):
            rows = np.flatnonzero((count[:, axis] > 0.0) & ~np.isnan(self.uv[:, axis]))
            place = self.uv[rows, axis] * count[rows, axis]
            off = np.abs(place - np.rint(place))
            # Boards differ a little from one another.
            tone = 1.0 + 0.05 * np.sin(12.9898 * np.floor(place) + 4.1)
            shade[rows] *= tone * (0.62 + 0.38 * np.clip((off - 0.02) / 0.02, 0.0, 1.0))
        return shade


class _Samples(NamedTuple):
    """Rays that hit something, and what is known there. See `View`; sun, sky: parts of their light."""

    ray: Ints
    collider: Ints
    normal: Floats
    distance: Floats
    uv: Floats
    sun: Floats
    sky: Floats
    point: Floats

    def take(self, rows: npt.NDArray[Any]) -> _Samples:
        return _Samples(*(column[rows] for column in self))


def view(
    colliders: Any,
    camera: Camera,
    *,
    fine: int = 3,
    sky_rays: int = 4,
    extent: float = DEFAULT_EXTENT,
    progress: Callable[[int, int], None] | None = None,
) -> View:
    """Look at colliders.

    Parameters
    ----------
    colliders : a list or a `ColliderSet`
    camera : from where
    fine : rays a side of a pixel in which edges or borders of shadows are seen
    sky_rays : rays to the sky from each point that is seen: how much of the sky is hidden there
    extent : of coordinates of what has no end, see `particles.impact_coordinates`
    progress : called with rays done and all, as far as they are known
    """
    ready = as_set(colliders)
    rng = np.random.default_rng(0)
    count = camera.width * camera.height
    done, total = 0, count

    def advance(rays: int) -> None:
        nonlocal done
        done += rays
        if progress is not None:
            progress(done, total)

    samples = _look(ready, camera, camera.rays(), sky_rays, extent, rng, advance)
    if sky_rays:
        samples = samples._replace(sky=_smooth(camera, samples))
    light = GLOW + SUNLIGHT * samples.sun + SKYLIGHT * samples.sky
    pixel, share = samples.ray, np.ones(len(samples.ray))
    edge = _edges(camera, samples)
    pixels = np.flatnonzero(edge)
    if fine > 1 and len(pixels):
        y, x = np.divmod(pixels, camera.width)
        steps = np.arange(fine)
        rows = ((y[:, None, None] * fine + steps[:, None]) * camera.width * fine + x[:, None, None] * fine + steps).reshape(-1)
        total += len(rows)
        finer = _look(ready, camera, camera.rays(fine, rows), sky_rays, extent, rng, advance)
        inner = np.flatnonzero(~edge[pixel])
        more = GLOW + SUNLIGHT * finer.sun + SKYLIGHT * finer.sky
        pixel = np.concatenate([pixel[inner], pixels[finer.ray // fine**2]])
        share = np.concatenate([share[inner], np.full(len(finer.ray), 1.0 / fine**2)])
        light = np.concatenate([light[inner], more])
        samples = _Samples(*(np.concatenate([a, b]) for a, b in zip(samples.take(inner), finer)))
    return View(camera, pixel, share, samples.collider, samples.distance, samples.uv, light, samples.point, samples.normal)


def _look(
    colliders: ColliderSet, camera: Camera, rays: Floats, sky_rays: int, extent: float, rng: np.random.Generator,
    advance: Callable[[int], None],
) -> _Samples:  # fmt: skip
    """What rays from the eye hit, a band of them at a time."""
    parts = []
    for start in range(0, len(rays), _BAND):
        directions = rays[start : start + _BAND]
        seen = _follow(colliders, np.asarray(camera.eye), directions)
        uv = impact_coordinates(seen, colliders, extent=extent)
        sun, sky = _light(colliders, seen, sky_rays, rng)
        parts.append(_Samples(start + seen.particle, seen.collider, seen.normal, seen.time, uv, sun, sky, seen.point))
        advance(len(directions))
    found = _Samples(*(np.concatenate(column) for column in zip(*parts)))
    return found.take(np.argsort(found.ray, kind="stable"))


def _grid(camera: Camera, samples: _Samples) -> Floats:
    """(height, width, 6) collider (-1: none), distance, normal, sun of the samples of a camera's own rays."""
    grid = np.zeros((camera.height * camera.width, 6))
    grid[:, 0] = -1.0
    grid[samples.ray] = np.column_stack([samples.collider, samples.distance, samples.normal, samples.sun])
    return grid.reshape(camera.height, camera.width, 6)


def _alike(a: Floats, b: Floats, bend: float) -> npt.NDArray[np.bool_]:
    """Whether pixels of a grid show one smooth surface: normals whose cosine is at least `bend`, and no step in depth."""
    cosine = np.einsum("...k,...k->...", a[..., 2:5], b[..., 2:5])
    step = np.abs(a[..., 1] - b[..., 1]) < 0.05 * np.maximum(a[..., 1], b[..., 1])
    nothing = (a[..., 0] < 0.0) & (b[..., 0] < 0.0)
    return (a[..., 0] == b[..., 0]) & (nothing | (step & (cosine >= bend)))


def _edges(camera: Camera, samples: _Samples) -> npt.NDArray[np.bool_]:
    """(pixels,) whether a neighbour shows another surface or the other side of a shadow's border."""
    grid = _grid(camera, samples)
    edge = np.zeros((camera.height, camera.width), bool)
    for a, b in (((slice(None), slice(1, None)), (slice(None), slice(-1))), ((slice(1, None),), (slice(-1),))):
        differ = ~_alike(grid[a], grid[b], 0.9) | (np.abs(grid[a][..., 5] - grid[b][..., 5]) > 0.15)
        edge[a] |= differ
        edge[b] |= differ
    return edge.reshape(-1)


def _follow(colliders: ColliderSet, start: Floats, directions: Floats, most: float = FAR) -> ParticleImpacts:
    """What rays hit: particles of 1 m/s, so that times are metres."""
    return ParticleSystem(start, directions, lifetime=most, generations=1).impacts(colliders, 0.0, most)


def _light(colliders: ColliderSet, seen: ParticleImpacts, sky_rays: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Parts of the sun's and of the sky's light at points that are seen."""
    if not len(seen):
        return np.empty(0), np.empty(0)
    start = seen.point + LIFT * np.maximum(1.0, seen.time)[:, None] * seen.normal
    facing = seen.normal @ SUN
    sun = np.clip(facing, 0.0, 1.0)
    lit = np.flatnonzero(facing > 0.0)
    if len(lit):
        hidden = _follow(colliders, start[lit], np.broadcast_to(SUN, (len(lit), 3)).copy())
        sun[lit[hidden.particle]] = 0.0
    # The sky is brighter above: a facet that looks sideways sees half of it, and the ground's light below.
    open_sky = 0.65 + 0.35 * seen.normal[:, 2]
    if sky_rays:
        hidden_part = np.zeros(len(start))
        for k in range(sky_rays):
            # About the normal, by the cosine; in equal parts of the circle so that few rays will do.
            turn = 2.0 * np.pi * (k + rng.random(len(start))) / sky_rays
            rise = 2.0 * rng.random(len(start)) - 1.0
            flat = np.sqrt(1.0 - rise * rise)
            ball = np.column_stack([flat * np.cos(turn), flat * np.sin(turn), rise])
            toward = seen.normal + 0.98 * ball
            toward /= np.linalg.norm(toward, axis=1, keepdims=True)
            found = _follow(colliders, start, toward, 6.0)
            hidden_part[found.particle] += np.exp(-found.time / 2.5)
        open_sky = open_sky * (1.0 - 0.85 * hidden_part / sky_rays)
    return sun, open_sky


def _smooth(camera: Camera, samples: _Samples) -> Floats:
    """The sky's light as means over neighbours on the same surface: takes the grain of few rays away."""
    high, wide = camera.height, camera.width
    grid, value = _grid(camera, samples), np.zeros((high, wide))
    value.flat[samples.ray] = samples.sky
    for reach in (1, 2, 3):
        total, count = value.copy(), np.ones((high, wide))
        for dy, dx in ((0, reach), (reach, 0), (reach, reach), (reach, -reach)):
            if dy >= high or abs(dx) >= wide:
                continue
            here = (slice(0, high - dy), slice(max(0, -dx), wide - max(0, dx)))
            there = (slice(dy, high), slice(max(0, dx), wide + min(0, dx)))
            same = _alike(grid[here], grid[there], 0.95)
            total[here] += np.where(same, value[there], 0.0)
            total[there] += np.where(same, value[here], 0.0)
            count[here] += same
            count[there] += same
        value = total / count
    return value.reshape(-1)[samples.ray]


def _sky(camera: Camera) -> Floats:
    """(pixels, 3) the sky behind each."""
    rise = np.clip(camera.rays()[:, 2:] * 2.5, 0.0, 1.0)
    return HORIZON + rise * (ZENITH - HORIZON)
