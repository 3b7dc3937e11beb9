"""Casts of a shape that turns against a displaced surface, by conservative advancement on their distance.

No point of the shape moves faster, relative to the surface, than the displacement and the two rotations together allow; so
over a distance d nothing can touch before d / speed. Nor does any point of the surface, relative to the shape: the smaller of
the two speeds counts (the first has no bound for a half-space). All rows take their steps together.
"""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud.constants import TINY, UNIT_ROUNDOFF
from thud.pairing.leaves import placed
from thud.pairing.motions import empty_impacts
from thud.results import CastStatus, Impacts, Status
from thud.shapes.shape import Shape
from thud.terrain.collision.tolerances import SURFACE_CAST_GAP, SURFACE_CAST_STEPS
from thud.terrain.surface import DisplacedSurface


def turned(vectors: Floats) -> Floats:
    """(N, 3, 3) rotations of rotation vectors."""
    angle = np.linalg.norm(vectors, axis=1)
    x, y, z = (vectors / np.where(angle > 0.0, angle, 1.0)[:, None]).T
    zero = np.zeros_like(x)
    k = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)
    s, c = np.sin(angle)[:, None, None], (1.0 - np.cos(angle))[:, None, None]
    return np.eye(3) + s * k + c * (k @ k)


def moved(rows: Floats, motion: Floats, time: Floats) -> Floats:
    """Poses at a time of their motions (N, 6)."""
    rotation = turned(motion[:, 3:] * time[:, None]) @ rows[:, :9].reshape(-1, 3, 3)
    return np.concatenate([rotation.reshape(-1, 9), rows[:, 9:] + motion[:, :3] * time[:, None]], axis=1)


def reach_about_origin(shape: Shape, inner: Floats) -> float:
    """The farthest that a point of the shape, at a (12,) pose in another frame, is from the origin of that frame."""
    center, radius = shape.bounding_sphere()
    return float(np.linalg.norm(inner[:9].reshape(3, 3) @ center + inner[9:])) + radius


def advance(
    surface: DisplacedSurface,
    shape: Shape,
    rows_s: Floats,
    rows_o: Floats,
    move_s: Floats,
    move_o: Floats,
    inner_s: Floats,
    inner_o: Floats,
    count: int,
    threads: int | None,
) -> Impacts:
    """First contacts with motions (N, 6) of the frames that the two stand in at (12,) inner poses."""
    from thud.terrain.collision.queries import distance

    out = empty_impacts(count)
    rows_s, rows_o, move_s, move_o = (
        np.ascontiguousarray(np.broadcast_to(array, (count, array.shape[1]))) for array in (rows_s, rows_o, move_s, move_o)
    )
    radius, extent = reach_about_origin(shape, inner_o), reach_about_origin(surface, inner_s)
    step = np.linalg.norm(move_o[:, :3] - move_s[:, :3], axis=1)
    turn_s, turn_o = np.linalg.norm(move_s[:, 3:], axis=1), np.linalg.norm(move_o[:, 3:], axis=1)
    # Where the one turns, what is near it moves in its frame the faster the farther it is from its origin.
    apart = np.linalg.norm(rows_o[:, 9:] - rows_s[:, 9:], axis=1) + step
    speed = step + turn_s * extent + turn_o * (apart + extent)
    if np.isfinite(radius):
        speed = np.minimum(speed, step + turn_o * radius + turn_s * (apart + radius))
    # A part of what is smaller, the shape; coordinates that are large add what they are rounded by.
    size = min(shape.bounding_sphere()[1], surface.bounding_sphere()[1])
    gap = SURFACE_CAST_GAP * size + 16.0 * UNIT_ROUNDOFF * (extent + np.abs(rows_s[:, 9:]).max(axis=1))
    time = np.zeros(count)
    out.time[:], out.point[:], out.normal[:], out.status[:] = np.inf, 0.0, 0.0, CastStatus.MISS
    live = np.arange(count)
    for count_of_steps in range(SURFACE_CAST_STEPS):
        if len(live) == 0:
            break
        at = time[live]
        place_s = placed(moved(rows_s[live], move_s[live], at), inner_s)
        place_o = placed(moved(rows_o[live], move_o[live], at), inner_o)
        found = distance(surface, shape, place_s, place_o, len(live), threads=threads)
        met = (found.status == Status.OVERLAPPING) | (found.distance <= gap[live])
        # A distance that did not converge bounds nothing from below: the time stays where it is.
        lost = (found.status == Status.UNCONVERGED) & ~met
        out.status[live[lost]], out.time[live[lost]] = CastStatus.UNCONVERGED, at[lost]
        if count_of_steps == 0:
            begun = found.status == Status.OVERLAPPING
            out.status[live[begun]] = CastStatus.OVERLAPPING_AT_START
            out.normal[live[begun]] = 0.0
        done = live[met]
        fresh = out.status[done] == CastStatus.MISS
        out.status[done[fresh]] = CastStatus.HIT
        out.time[done] = at[met]
        out.point[done] = found.point_a[met]
        out.normal[done[fresh]] = found.normal[met][fresh]
        ahead = ~met & ~lost
        time[live[ahead]] += (found.distance[ahead] - 0.5 * gap[live[ahead]]) / np.maximum(speed[live[ahead]], TINY)
        live = live[ahead]
        live = live[time[live] <= 1.0]
    out.status[live], out.time[live] = CastStatus.UNCONVERGED, time[live]
    return out
