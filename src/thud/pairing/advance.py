"""Casts of shapes that turn, by conservative advancement on their distance.

No point of B moves faster, relative to A, than the displacement and the two rotations together allow; so over a distance d
nothing can touch before d / speed. Nor does any point of A, relative to B: the smaller of the two speeds counts (an unbounded
shape has none). All rows take their steps together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.constants import TINY
from thud.pairing.leaves import placed
from thud.pairing.motions import empty_impacts
from thud.results import CastStatus, Distances, Impacts, Status
from thud.shapes.shape import Shape


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


def predicted_rows(rows: Floats, motion: Floats) -> Floats:
    """Poses at the end of their motions, (N, 3) or (N, 6); one of either for all."""
    if not motion.any():
        return rows if len(rows) >= len(motion) else np.repeat(rows, len(motion), axis=0)
    count = max(len(rows), len(motion)) if len(rows) and len(motion) else 0
    whole = np.zeros((count, 6))
    whole[:, : motion.shape[1]] = motion
    rows = np.broadcast_to(rows, (count, 12))
    return np.ascontiguousarray(moved(rows, whole, np.ones(count)))


def reach_about_origin(shape: Shape, inner: Floats) -> float:
    """The farthest that a point of the shape, at a (12,) pose in another frame, is from the origin of that frame."""
    center, radius = shape.bounding_sphere()
    return float(np.linalg.norm(inner[:9].reshape(3, 3) @ center + inner[9:])) + radius


def advance(
    distance: Callable[[Floats, Floats, int], Distances],
    rows_a: Floats,
    rows_b: Floats,
    move_a: Floats,
    move_b: Floats,
    inner_a: Floats,
    inner_b: Floats,
    count: int,
    *,
    reach_a: float,
    reach_b: float,
    gap: Callable[[Floats], Floats],
    steps: int,
    longest: Callable[[Floats, Floats, Ints], Floats] | None = None,
) -> Impacts:
    """First contacts with motions (N, 6) of the frames that A and B stand in at (12,) inner poses.

    Parameters
    ----------
    distance : unsigned distances of A and B at poses of their own
    reach_a, reach_b : how far each reaches from the origin of its frame; inf if it has no end, but not both
    gap : poses of A's frame -> distance that counts as contact, metres
    steps : most steps; what is not done by then is UNCONVERGED
    longest : poses of A and B, rows -> longest step that the speeds hold for, as a time; default: any
    """
    out = empty_impacts(count)
    rows_a, rows_b, move_a, move_b = (
        np.ascontiguousarray(np.broadcast_to(array, (count, array.shape[1]))) for array in (rows_a, rows_b, move_a, move_b)
    )
    step = np.linalg.norm(move_b[:, :3] - move_a[:, :3], axis=1)
    turn_a, turn_b = np.linalg.norm(move_a[:, 3:], axis=1), np.linalg.norm(move_b[:, 3:], axis=1)
    # Where the one turns, what is near it moves in its frame the faster the farther it is from its origin.
    apart = np.linalg.norm(rows_b[:, 9:] - rows_a[:, 9:], axis=1) + step
    speed = np.full(count, np.inf)
    if np.isfinite(reach_a):
        speed = step + turn_a * reach_a + turn_b * (apart + reach_a)
    if np.isfinite(reach_b):
        speed = np.minimum(speed, step + turn_b * reach_b + turn_a * (apart + reach_b))
    near = gap(rows_a)
    time = np.zeros(count)
    out.time[:], out.point[:], out.normal[:], out.status[:] = np.inf, 0.0, 0.0, CastStatus.MISS
    live = np.arange(count)
    for count_of_steps in range(steps):
        if len(live) == 0:
            break
        at = time[live]
        place_a = placed(moved(rows_a[live], move_a[live], at), inner_a)
        place_b = placed(moved(rows_b[live], move_b[live], at), inner_b)
        found = distance(place_a, place_b, len(live))
        met = (found.status == Status.OVERLAPPING) | (found.distance <= near[live])
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
        stride = (found.distance[ahead] - 0.5 * near[live[ahead]]) / np.maximum(speed[live[ahead]], TINY)
        if longest is not None:
            stride = np.minimum(stride, longest(place_a, place_b, live)[ahead])
        time[live[ahead]] += stride
        live = live[ahead]
        live = live[time[live] <= 1.0]
    out.status[live], out.time[live] = CastStatus.UNCONVERGED, time[live]
    return out
