"""A generated world: mountains, cliffs that lean over, and tunnels, of any size, from a seed.

It is a signed field of ground: a function of the seed and the place alone. So each tile is made from its own window, and a
tile of a small world is the same bytes as that of a large one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import MOST, Floats, finite_array
from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.constants import MESH_COORDINATE
from thud.errors import InvalidInputError
from thud.gates import as_points, as_positive
from thud.terrain.filling.field_tiles import field_plan
from thud.terrain.filling.noise import hash3, noise2, noise3, uniform
from thud.terrain.filling.plan import Plan
from thud.terrain.filling.tolerances import WORLD_STEPS, WORLD_TRACE
from thud.terrain.making.make import as_side
from thud.terrain.making.tolerances import TRACE_STEPS

# All lengths are metres.
#: Octaves below the mountains: wavelength and height of each. The first three are what tunnels follow.
_OCTAVES = np.array([[1500.0, 126.0], [700.0, 60.0], [330.0, 27.0], [150.0, 11.0], [70.0, 4.0], [32.0, 1.4], [15.0, 0.5]])
_SMOOTH = 3

#: Cliffs: most height, half of the width over which it is reached, and how far they lean over, a metre of height.
_CLIFF, _CLIFF_HALF, _CLIFF_LEAN = 170.0, 46.0, 0.5

#: Tunnels: one in most squares of this side; half of its length, least radius and what is added, least depth and what is added.
_TUNNEL_SQUARE, _TUNNEL_LENGTH = 2048.0, 600.0
_TUNNEL_RADIUS, _TUNNEL_WIDER, _TUNNEL_DEPTH, _TUNNEL_DEEPER = 44.0, 10.0, 120.0, 30.0

#: How far its middle may be from that of its square, in all; and about its mouths, half way from no cliff to cliffs as they
#: are, and half of the width of that. A square's tunnel, mouths and all, stays inside: 582 + 170 + 270 is below half of its
#: side.
_TUNNEL_SHIFT, _MOUTH, _MOUTH_HALF = 240.0, 170.0, 100.0

#: Edges where a tunnel comes out are rounded by this.
_FILLET = 64.0

#: What the sums above stay within.
LOWEST, HIGHEST = -1056.0, 1120.0

#: Cells around a world that are looked at and belong to none of its tiles, so that its border is like any other place.
_MARGIN = 32

#: Largest cell: tunnels and cliffs must be wider.
_LARGEST_CELL = 32.0


@exact_device
def _step(t):
    """From 0 to 1, smoothly, as t goes from -1 to 1."""
    t = min(max(0.5 + 0.5 * t, 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)


@exact_kernel
def _ground(x, y, z, seed, octaves):
    """The field at a point: positive above the ground. It grows by 1 to about 3 a metre."""
    salt = 64 * seed
    wide = noise2(x / 6100.0, y / 6100.0, salt + 1)
    ridge = noise2(x / 3200.0, y / 3200.0, salt + 2)
    smooth = 260.0 * wide + 520.0 * _step(1.6 * noise2(x / 9000.0, y / 9000.0, salt)) * (
        1.0 - math.sqrt(4.0 * ridge * ridge + 0.03)
    )
    for k in range(_SMOOTH):
        smooth += octaves[k, 1] * noise2(x / octaves[k, 0], y / octaves[k, 0], salt + 8 + k)
    height = smooth + octaves[_SMOOTH, 1] * noise2(x / octaves[_SMOOTH, 0], y / octaves[_SMOOTH, 0], salt + 8 + _SMOOTH)
    rough = height - smooth
    for k in range(_SMOOTH + 1, octaves.shape[0]):
        height += octaves[k, 1] * noise2(x / octaves[k, 0], y / octaves[k, 0], salt + 8 + k)
    # A plateau is higher than what is around it by `rise`, and its edge lies farther out the higher one comes. Where a tunnel
    # comes out there is none: a wall between its mouth and a cliff could be thinner than a cell.
    along, across, bits, more = _tunnel_frame(x, y, salt)
    mouth = math.fabs(along) - 0.97 * _TUNNEL_LENGTH
    clear = _step((math.sqrt(mouth * mouth + across * across) - _MOUTH) / _MOUTH_HALF)
    rise = clear * _CLIFF * _step(1.5 + 3.0 * wide)
    edge = 1700.0 * noise2(x / 2900.0, y / 2900.0, salt + 3) + 120.0 * noise2(x / 420.0, y / 420.0, salt + 7) + 3.0 * rough
    lean = _CLIFF_LEAN * min(max(z - height - 0.5 * rise, -_CLIFF), _CLIFF)
    found = z - height - rise * _step((edge + lean) / _CLIFF_HALF)
    tunnel = _tunnel(x, y, z, z - smooth, along, across, bits, more, salt)
    # Ground without the tunnel.
    near = max(_FILLET - math.fabs(found + tunnel), 0.0) / _FILLET
    return max(found, -tunnel) + 0.25 * near * near * _FILLET


@exact_kernel
def _tunnel_frame(x, y, salt):
    """Place along and across the tunnel of this square, and what else is drawn for it; far away if there is none."""
    i, j = math.floor(x / _TUNNEL_SQUARE), math.floor(y / _TUNNEL_SQUARE)
    bits = hash3(np.int64(i), np.int64(j), 0, salt + 4)
    more = hash3(np.int64(i), np.int64(j), 1, salt + 4)
    px = x - (i + 0.5) * _TUNNEL_SQUARE - _TUNNEL_SHIFT * (uniform(bits, 0) - 0.5)
    py = y - (j + 0.5) * _TUNNEL_SQUARE - _TUNNEL_SHIFT * (uniform(bits, 1) - 0.5)
    angle = math.pi * uniform(bits, 2)
    c, s = math.cos(angle), math.sin(angle)
    along, across = c * px + s * py, c * py - s * px
    if uniform(more, 0) > 0.8:
        along = _TUNNEL_SQUARE
    return along, across, bits, more


@exact_kernel
def _tunnel(x, y, z, above, along, across, bits, more, salt):
    """Distance from the tunnel, about; negative inside. `above`: metres above the smooth ground, which the tunnel follows deep
    below and leaves at both ends."""
    if math.fabs(along) > 1.3 * _TUNNEL_LENGTH:
        return _TUNNEL_SQUARE
    part = along / _TUNNEL_LENGTH
    across -= 45.0 * math.sin(5.0 * part + 6.0 * uniform(bits, 3)) * (1.0 - part * part)
    radius = _TUNNEL_RADIUS + _TUNNEL_WIDER * uniform(more, 1)
    deep = _TUNNEL_DEPTH + _TUNNEL_DEEPER * uniform(more, 2)
    seventh = part**7
    # Straight up is not straight away from a tunnel that climbs: it would become as narrow as it is steep.
    climb = 11.2 * seventh * deep / _TUNNEL_LENGTH
    over = above + deep * (1.0 - 1.4 * seventh * part)
    found = math.sqrt(across * across + over * over / (1.0 + climb * climb)) - radius
    if found < 0.5 * _FILLET:
        found += 5.0 * noise3(x / 48.0, y / 48.0, z / 48.0, salt + 5) + 1.2 * noise3(x / 17.0, y / 17.0, z / 17.0, salt + 6)
    # It ends in the air.
    return max(found, math.fabs(along) - 1.2 * _TUNNEL_LENGTH)


@exact_kernel("i8, i8, i8, f8[:,::1], f8[:,::1], f8[::1]")
def ground_rows(start, stop, seed, octaves, points, out):
    """The field at points."""
    for row in range(start, stop):
        out[row] = _ground(points[row, 0], points[row, 1], points[row, 2], seed, octaves)


@exact_kernel("i8, i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8, f8, f8[::1]")
def trace_rows(start, stop, seed, octaves, position, direction, reach, cell, out):
    """Lengths from positions along directions to the ground, as `making/trace.py` has them: from above back into it, from
    inside out of it; NaN if there is none within `reach` metres. Steps bracket it, then false position with halving
    (Illinois)."""
    for row in range(start, stop):
        px, py, pz = position[row, 0], position[row, 1], position[row, 2]
        dx, dy, dz = direction[row, 0], direction[row, 1], direction[row, 2]
        scale = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz)
        near, f_near = 0.0, _ground(px, py, pz, seed, octaves)
        if f_near == 0.0:
            out[row] = 0.0
            continue
        sign = scale if f_near < 0.0 else -scale
        out[row] = math.nan
        steps = np.int64(math.ceil(reach / cell * TRACE_STEPS))
        for k in range(1, steps + 1):
            far = sign * min(k * cell / TRACE_STEPS, reach)
            f_far = _ground(px + far * dx, py + far * dy, pz + far * dz, seed, octaves)
            if (f_far >= 0.0) != (f_near >= 0.0):
                out[row] = _root(px, py, pz, dx, dy, dz, near, far, f_near, f_far, WORLD_TRACE * cell * scale, seed, octaves)
                break
            near, f_near = far, f_far


@exact_kernel
def _root(px, py, pz, dx, dy, dz, a, b, fa, fb, tolerance, seed, octaves):
    side = 0
    t = b
    for _ in range(WORLD_STEPS):
        before = t
        t = (fa * b - fb * a) / (fa - fb)
        if math.fabs(b - a) <= tolerance or math.fabs(t - before) <= 0.5 * tolerance:
            break
        f = _ground(px + t * dx, py + t * dy, pz + t * dz, seed, octaves)
        if (f >= 0.0) == (fb >= 0.0):
            b, fb = t, f
            if side == 1:
                fa *= 0.5
            side = 1
        else:
            a, fa = t, f
            if side == -1:
                fb *= 0.5
            side = -1
    return t


@dataclass(frozen=True)
class GeneratedWorld:
    """A world that is made tile by tile, and the field of its ground. Made by `generated_world`."""

    seed: int
    size: tuple[float, float]
    """Metres along x and y."""
    spacing: float
    """Metres between samples."""
    samples: int
    """Patches a side of a quad."""

    @property
    def cell(self) -> float:
        """Side of the cells, metres."""
        return self.spacing * self.samples

    def __call__(self, points: npt.ArrayLike) -> Floats:
        """(N, 3) points, metres -> (N,) about the distance from the ground; negative inside. It has no border."""
        where = as_points(points, "points", limit=MOST)
        out = np.empty(len(where))
        run_rows(ground_rows, len(where), None, self.seed, _OCTAVES, where, out)
        return out

    def trace(self, position: Floats, direction: Floats, reach: float, cell: float) -> Floats:
        """Lengths to the ground, as `making/trace.py` has them."""
        out = np.empty(len(position))
        places, ways = np.ascontiguousarray(position), np.ascontiguousarray(direction)
        run_rows(trace_rows, len(out), None, self.seed, _OCTAVES, places, ways, float(reach), float(cell), out)
        return out


def generated_world(seed: int, size: npt.ArrayLike, *, spacing: float = 2.0, samples: int = 16) -> GeneratedWorld:
    """A world with mountains, cliffs that lean over and tunnels, for `thud.terrain.build`.

    It begins at (0, 0). A larger one of the same seed, spacing and samples has the same tiles where the smaller one is.

    Parameters
    ----------
    seed : a whole number from 0 to 2^32 - 1
    size : metres along x and y; one number for both. Up to whole cells
    spacing : metres between samples
    samples : patches a side of the quads, a power of two; a quad is at most 32 m wide, for tunnels are some 90 m wide
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**32:
        raise InvalidInputError(f"seed: expected a whole number from 0 to 2^32 - 1, got {seed!r}")
    step, side = as_positive(spacing, "spacing"), as_side(samples)
    if step * side > _LARGEST_CELL:
        raise InvalidInputError(
            f"spacing: quads of {side} x {side} samples are {step * side:g} m wide; expected at most {_LARGEST_CELL:g} m"
        )
    given = finite_array(size, "size")
    if given.shape not in ((), (1,), (2,)) or (given < 2.0 * step * side).any() or (given > MESH_COORDINATE / 2).any():
        raise InvalidInputError(
            f"size: expected metres along x and y, from {2.0 * step * side:g} to {MESH_COORDINATE / 2:g}, got {size!r}"
        )
    x, y = np.broadcast_to(given, (2,)).tolist()
    return GeneratedWorld(int(seed), (x, y), step, side)


def world_plan(world: GeneratedWorld, kind: str, *, thickness: float | None, **options: Any) -> Plan:
    """How to fill a store with a generated world."""
    cell = world.cell
    cells = [math.ceil(size / cell - 1e-9) for size in world.size]
    lower = (-_MARGIN * cell, -_MARGIN * cell, LOWEST)
    upper = ((cells[0] + _MARGIN) * cell, (cells[1] + _MARGIN) * cell, HIGHEST)
    about = {"source": "generated world", "seed": world.seed, "spacing": world.spacing}
    return field_plan(
        world, kind, lower=lower, upper=upper, cell=cell, samples=world.samples, thickness=thickness, crs="",
        origin=(0.0, 0.0, 0.0), about=about, margin=_MARGIN, **options,
    )  # fmt: skip
