"""Nothing passes through anything in a step: fast bodies stop where they first meet another one.

The solver stops bodies at what was within the margin at the begin of the step. What a body would pass beyond that is found
here: the motions of fast bodies, from the poses before the step to those after it, are cast against what they sweep. At the
first impact both bodies stop for the rest of the step, with their velocities; the next step finds them in contact. A body that
stops may be in the way of others then, so that their motions past it are cast again, until nothing changes.

A pair is looked at only if it moves by more than it is thick (`inner_radius`): less than that, the solver pushes it out on
the side where it came in.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.decorators import kernel
from thud._core.threads import run_rows
from thud.broadphase.boxes import Boxes
from thud.dynamics.tolerances import FAST, IMPACT_GAP, IMPACT_ROUNDS
from thud.results import CastStatus
from thud.rotations import quaternion_from_rotation, quaternion_from_vector, rotation_from_quaternion, vector_from_quaternion
from thud.world import narrow
from thud.world.body_boxes import swept_boxes
from thud.world.step_rows import FREE, STILL

if TYPE_CHECKING:
    from thud.world.world import World

#: Bodies that are worth a hand-over to another thread.
_CHUNK = 4096


@kernel("i8, i8, u1[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1]")
def bound_motions(start, stop, role, before, after, bounds, reach_out, far_out):
    """How far points of bodies are from the origins of their frames, at most, and how far any of them moves."""
    for k in range(start, stop):
        reach, way, turn = 0.0, 0.0, 0.0
        for c in range(3):
            side = max(abs(bounds[k, c] - before[k, 9 + c]), abs(bounds[k, 3 + c] - before[k, 9 + c]))
            reach += side * side
            way += (after[k, 9 + c] - before[k, 9 + c]) ** 2
        for c in range(9):
            turn += (after[k, c] - before[k, c]) ** 2
        reach_out[k] = math.sqrt(reach)
        # The chord of a turn by w at distance 1 is 2 sin(w / 2), the norm of the matrices' difference that times the root of 2.
        far_out[k] = math.sqrt(way) + (math.sqrt(0.5 * turn) * reach_out[k] if turn > 0.0 else 0.0) if role[k] != STILL else 0.0


def stop_at_impacts(world: World, role: npt.NDArray[np.uint8], after: Floats) -> None:
    """Change poses `after` a step, (used, 12), of bodies that would have passed through others."""
    bodies, used = world._bodies, world._bodies.used
    before = bodies.poses[:used]
    reach, far = np.empty(used), np.empty(used)
    run_rows(bound_motions, used, world.threads, role, before, after, bodies.bounds, reach, far, rows_per_chunk=_CHUNK)
    thick = world._shapes.inner_radii()[bodies.shape[:used]]
    fast = (far > FAST * thick) & ~bodies.sensor[:used]
    if not (fast & (role != STILL)).any():
        return
    moves = role != STILL
    motion = np.concatenate([np.where(moves[:, None], after[:, 9:] - before[:, 9:], 0.0), _turns(before, after, moves)], axis=1)
    pairs = _swept_pairs(world, motion, fast)
    rows = pairs[far[pairs].sum(axis=1) > FAST * thick[pairs].sum(axis=1)]
    rows = rows[~bodies.sensor[rows].any(axis=1) & (role[rows] == FREE).any(axis=1)]
    if not len(rows):
        return
    time = _first_times(world, rows, motion, far, IMPACT_GAP * reach, role)
    late = np.flatnonzero(time < 1.0)
    after[late] = _poses_at(before[late], motion[late], time[late])


def _turns(before: Floats, after: Floats, moves: Bools) -> Floats:
    """(used, 3) rotation vectors from poses before to poses after, world frame."""
    found = np.zeros((len(before), 3))
    rows = np.flatnonzero(moves)
    a, b = before[rows, :9].reshape(-1, 3, 3), after[rows, :9].reshape(-1, 3, 3)
    turn = b @ np.swapaxes(a, 1, 2)
    found[rows] = vector_from_quaternion(quaternion_from_rotation(np.ascontiguousarray(turn)))
    return found


def _poses_at(poses: Floats, motion: Floats, time: Floats) -> Floats:
    """(N, 12) poses after a part of a motion, as `thud.cast` moves bodies."""
    turn = rotation_from_quaternion(quaternion_from_vector(time[:, None] * motion[:, 3:]), "turn")
    rotation = turn.reshape(-1, 3, 3) @ poses[:, :9].reshape(-1, 3, 3)
    return np.concatenate([rotation.reshape(-1, 9), poses[:, 9:] + time[:, None] * motion[:, :3]], axis=1)


def _swept_pairs(world: World, motion: Floats, fast: Bools) -> Ints:
    """(M, 2) rows of bodies whose swept boxes overlap, of which one is fast."""
    bodies, used = world._bodies, world._bodies.used
    world._update()
    packed, shape_rows = world._shapes.packed()
    bounds, rows = bodies.bounds[:used].copy(), np.flatnonzero(bodies.present())
    way, turn = np.ascontiguousarray(motion[:, :3]), np.ascontiguousarray(motion[:, 3:])
    arguments = (packed, shape_rows, bodies.shape, bodies.poses, way, turn, 1.0, bodies.bounds, rows, bounds)
    run_rows(swept_boxes, len(rows), world.threads, *arguments)
    found = world._filtered(world._swept_phase.pairs(Boxes(bounds, world._current_rules()), threads=world.threads))
    return found[fast[found].any(axis=1)]


def _first_times(world: World, pairs: Ints, motion: Floats, far: Floats, gap: Floats, role: npt.NDArray[np.uint8]) -> Floats:
    """(used,) the part of its motion after which each body stops, 1 for all of it. Driven bodies never stop."""
    scene, time, free = world._scene(), np.ones(world._bodies.used), role == FREE
    both = _impact_times(scene, pairs, motion, far, gap)
    for side in range(2):
        np.minimum.at(time, pairs[:, side], np.where(free[pairs[:, side]], both, 1.0))
    for _ in range(IMPACT_ROUNDS):
        # Where one stops before the other, the other goes on past it.
        first, last = time[pairs].min(axis=1), time[pairs].max(axis=1)
        uneven = np.flatnonzero(last > first)
        if not len(uneven):
            return time
        late = np.argmax(time[pairs[uneven]], axis=1)
        moving, still = pairs[uneven, late], pairs[uneven, 1 - late]
        begin, rest = first[uneven], last[uneven] - first[uneven]
        two = np.concatenate([still, moving])
        part = motion[two]
        placed = _poses_at(scene.poses[two], part, np.concatenate([begin, begin]))
        part[: len(still)] = 0.0
        part[len(still) :] *= rest[:, None]
        count = np.arange(len(still))
        staged = replace(scene, shape=np.ascontiguousarray(scene.shape[two]), poses=np.ascontiguousarray(placed))
        hit = _impact_times(staged, np.stack([count, count + len(still)], axis=1), part, far[two], gap[two])
        stop = np.where(hit < 1.0, begin + hit * rest, 1.0)
        before = time.copy()
        np.minimum.at(time, moving, np.where(free[moving], stop, 1.0))
        if np.array_equal(before, time):
            return time
    # Not settled: what moves together up to the first stop of the two was looked at.
    while True:
        before = time.copy()
        first = time[pairs].min(axis=1)
        for side in range(2):
            np.minimum.at(time, pairs[:, side], np.where(free[pairs[:, side]], first, 1.0))
        if np.array_equal(before, time):
            return time


def _impact_times(scene: narrow.Scene, pairs: Ints, motion: Floats, far: Floats, gap: Floats) -> Floats:
    """(M,) when pairs first meet, by `gap` metres before; 1 for those that do not, and for those that meet already."""
    found = narrow.impacts(scene, pairs, motion, np.zeros(len(scene.shape), np.bool_))
    # What did not converge may meet from its time on.
    met = (found.time <= 1.0) & (found.status != CastStatus.OVERLAPPING_AT_START)
    away = gap[pairs].min(axis=1)
    early = away / np.maximum(far[pairs].sum(axis=1), away)
    return np.where(met, np.maximum(np.where(met, found.time, 1.0) - early, 0.0), 1.0)
