"""Casts of shapes that turn, by conservative advancement on their distance.

No point of B moves faster, relative to A, than the displacement and the two rotations together allow; so over a distance d
nothing can touch before d / speed. Nor does any point of A, relative to B: the smaller of the two speeds counts (an unbounded
shape has none). All rows take their steps together.

Two in touch, nearer than what counts as contact, are in contact unless they part: where their nearest points move away from
each other, time goes on by what closes no more than that gap. What is met after such a step is met before it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.constants import TINY
from thud.pairing.leaves import placed
from thud.pairing.motions import empty_impacts
from thud.pairing.tolerances import PARTING
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


def _parting_rate(
    found: Distances, live: Ints, at: Floats, rows: tuple[Floats, Floats], moves: tuple[Floats, Floats]
) -> Floats:
    """How fast the nearest points of A and B, as points of the two, move away from each other, a step."""
    velocities = []
    for place, move, x in zip(rows, moves, (found.point_a, found.point_b), strict=True):
        arm = x - place[live, 9:] - move[live, :3] * at[:, None]
        velocities.append(move[live, :3] + np.cross(move[live, 3:], arm))
    return np.einsum("ni,ni->n", found.normal, velocities[1] - velocities[0])


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
    time, held = np.zeros(count), np.zeros(count)
    # Of the last look.
    point, normal = np.zeros((count, 3)), np.zeros((count, 3))
    out.time[:], out.point[:], out.normal[:], out.status[:] = np.inf, 0.0, 0.0, CastStatus.MISS
    live = np.arange(count)
    for count_of_steps in range(steps):
        if len(live) == 0:
            break
        at = time[live]
        place_a = placed(moved(rows_a[live], move_a[live], at), inner_a)
        place_b = placed(moved(rows_b[live], move_b[live], at), inner_b)
        found = distance(place_a, place_b, len(live))
        overlapping = found.status == Status.OVERLAPPING
        touching = ~overlapping & (found.distance <= near[live])
        parting = touching & (_parting_rate(found, live, at, (rows_a, rows_b), (move_a, move_b)) > PARTING * speed[live])
        met = overlapping | (touching & ~parting)
        # A distance that did not converge bounds nothing from below: the time stays where it is.
        lost = (found.status == Status.UNCONVERGED) & ~met
        out.status[live[lost]], out.time[live[lost]] = CastStatus.UNCONVERGED, at[lost]
        first = count_of_steps == 0
        # An overlap later on is by roundoff, or by what a step in touch may lead in: contact is where the last look was.
        told = ~overlapping | first
        point[live[told]], normal[live[told]] = found.point_a[told], found.normal[told]
        done = live[met]
        out.status[done] = np.where(overlapping[met] & first, CastStatus.OVERLAPPING_AT_START, CastStatus.HIT)
        out.time[done], out.point[done] = held[done], point[done]
        out.normal[done] = np.where((overlapping[met] & first)[:, None], 0.0, normal[done])
        ahead = ~met & ~lost
        room = np.where(parting, near[live], found.distance - 0.5 * near[live])[ahead]
        stride = room / np.maximum(speed[live[ahead]], TINY)
        if longest is not None:
            stride = np.minimum(stride, longest(place_a, place_b, live)[ahead])
        time[live[ahead]] += stride
        held[live[ahead]] = np.where(parting[ahead], at[ahead], time[live[ahead]])
        live = live[ahead]
        live = live[time[live] <= 1.0]
    out.status[live], out.time[live] = CastStatus.UNCONVERGED, time[live]
    return out
