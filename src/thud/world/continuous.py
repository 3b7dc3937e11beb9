"""Nothing passes through anything in a step: fast bodies stop where they first meet another one.

The solver stops bodies at what was within the margin at the begin of the step. What a body would pass beyond that is found
here: the motions of fast bodies, from the poses before the step to those after it, are cast against what they sweep. At the
first impact both bodies stop for the rest of the step, with their velocities; the next step finds them in contact. A body that
stops may be in the way of others then, so that their motions past it are cast again, until nothing changes.

A pair is looked at only if it moves by more than it is thick (`inner_radius`): less than that, the solver pushes it out on
the side where it came in. What a turn moves counts alone: a ball that rolls moves by its way (`turning_reach`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.threads import run_rows
from thud.dynamics.tolerances import (
    FAST,
    HOLD_ROUNDS,
    IMPACT_GAP,
    IMPACT_ROUNDS,
    LEAST_LIFT_COSINE,
    LIFT,
    MOST_LIFT,
)
from thud.math.pose import load_rotation, load_translation, transform, untransform
from thud.math.vec3 import dot, load3, sub
from thud.results import CastStatus
from thud.rotations import quaternion_from_rotation, quaternion_from_vector, rotation_from_quaternion, vector_from_quaternion
from thud.world import narrow
from thud.world.body_boxes import swept_boxes
from thud.world.body_rows import ROW_MASK
from thud.world.step_contacts import StepContacts
from thud.world.step_rows import FREE, STILL

if TYPE_CHECKING:
    from thud.world.world import World

#: Bodies that are worth a hand-over to another thread.
_CHUNK = 4096


@kernel("i8, i8, u1[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1], f8[::1], f8[::1]")
def bound_motions(start, stop, role, before, after, bounds, arm, reach_out, way_out, turn_out):
    """How far points of bodies are from the origins of their frames, at most; how far those move; how long the way is that a
    turn moves any point, of those that it moves at all, which are within `arm` of the origin."""
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
        angle = 2.0 * math.asin(min(0.5 * math.sqrt(0.5 * turn), 1.0))
        still = role[k] == STILL
        way_out[k] = 0.0 if still else math.sqrt(way)
        turn_out[k] = 0.0 if still or turn == 0.0 else angle * min(reach_out[k], arm[k])


def stop_at_impacts(world: World, role: npt.NDArray[np.uint8], after: Floats, contacts: StepContacts) -> Floats | None:
    """Change poses `after` a step, (used, 12), of bodies that would have passed through others. `contacts`: of the step.
    Returns after which part of the step each body stopped; None if none did."""
    bodies, used = world._bodies, world._bodies.used
    before = bodies.poses[:used]
    reach, way, turn = np.empty(used), np.empty(used), np.empty(used)
    thick, arm = (x[bodies.shape[:used]] for x in (world._shapes.inner_radii(), world._shapes.turning_reaches()))
    arguments = (role, before, after, bodies.bounds, arm, reach, way, turn)
    run_rows(bound_motions, used, world.threads, *arguments, rows_per_chunk=_CHUNK)
    fast = (way + turn > FAST * thick) & ~bodies.sensor[:used]
    if not (fast & (role != STILL)).any():
        return None
    moves, free = role != STILL, role == FREE
    # Nothing else happens in copies of a world in which nothing is fast.
    moves &= world._in_copies_of(np.flatnonzero(fast))
    inverse_mass = np.where(free, 1.0 / np.where(free, bodies.mass[:used], 1.0), 0.0)
    pressed = _pressed(contacts, thick, fast)
    hold_apart(*pressed[:4], inverse_mass, turn, before, HOLD_ROUNDS, after)
    motion = np.concatenate([np.where(moves[:, None], after[:, 9:] - before[:, 9:], 0.0), _turns(before, after, moves)], axis=1)
    pairs = _swept_pairs(world, motion, fast)
    rows = pairs[(way + turn)[pairs].sum(axis=1) > FAST * thick[pairs].sum(axis=1)]
    rows = rows[~bodies.sensor[rows].any(axis=1) & free[rows].any(axis=1) & ~_left_out(contacts, rows, used)]
    if not len(rows):
        return None
    time = _first_times(world, rows, motion, turn, thick, reach, free, pressed)
    late = np.flatnonzero(time < 1.0)
    stopped = _poses_at(before[late], motion[late], time[late])
    _turn_velocities(world, late, after[late], stopped)
    after[late] = stopped
    # What touched those that stopped does not go on through them.
    inverse_mass[late] = 0.0
    hold_apart(*_of_copies(pressed, world._copies_of(rows[:, 0]), world)[:4], inverse_mass, turn, before, HOLD_ROUNDS, after)
    return time


def _turn_velocities(world: World, rows: Ints, after: Floats, stopped: Floats) -> None:
    """What a body turns by is turned with it when it is taken back to where it stopped: of a body that is not round, another
    axis would be another energy. The velocity of its centre of mass stays."""
    bodies = world._bodies
    old, new = after[:, :9].reshape(-1, 3, 3), stopped[:, :9].reshape(-1, 3, 3)
    center = np.nan_to_num(bodies.center_of_mass[rows])
    w = bodies.angular_velocity[rows]
    turned = np.einsum("nij,nkj,nk->ni", new, old, w)
    arm_old, arm_new = np.einsum("nij,nj->ni", old, center), np.einsum("nij,nj->ni", new, center)
    bodies.velocity[rows] += np.cross(w, arm_old) - np.cross(turned, arm_new)
    bodies.angular_velocity[rows] = turned


def _of_copies(pressed: Pressed, copies: Ints, world: World) -> Pressed:
    """Those of some copies of a world; a world that is alone is one."""
    chosen = np.isin(world._copies_of(pressed.pairs[:, 0]), copies)
    return pressed if chosen.all() else Pressed._make(np.ascontiguousarray(column[chosen]) for column in pressed)


def _rooms(pairs: Ints, thick: Floats, reach: Floats, free: Bools) -> Floats:
    """(M,) how far pairs may move past each other and be the solver's alone, metres."""
    own, both = FAST * thick[pairs].sum(axis=1), free[pairs].all(axis=1)
    return np.where(both, np.maximum(own, 2.0 * reach[pairs].min(axis=1)), own)


def _left_out(contacts: StepContacts, rows: Ints, used: int) -> Bools:
    """(M,) whether a hook left out all contacts of a pair of rows: then nothing holds the two apart, nor does this. (What is
    farther away than contacts are looked for stops once; then the hook sees it.)"""
    if contacts.keep.all():
        return np.zeros(len(rows), np.bool_)
    touching, swept = np.stack([contacts.handle_a, contacts.handle_b]) & ROW_MASK, rows.T
    pair = touching.min(axis=0) * used + touching.max(axis=0)
    gone = np.setdiff1d(pair[~contacts.keep], pair[contacts.keep])
    return np.isin(swept.min(axis=0) * used + swept.max(axis=0), gone)


class Pressed(NamedTuple):
    """Points that are in contact at the begin of a step, which casts do not see."""

    pairs: Ints
    """(M, 2) rows."""
    normal: Floats
    point: Floats
    """(M, 3) world frame, at the begin."""
    room: Floats
    """(M,) how far the two may be driven into each other, metres."""
    gap: Floats
    """(M,) how far apart they are there, negative where they overlap."""


def _pressed(contacts: StepContacts, thick: Floats, fast: Bools) -> Pressed:
    """Contacts of fast bodies."""
    pairs = np.stack([contacts.handle_a, contacts.handle_b], axis=1) & ROW_MASK
    chosen = np.flatnonzero(fast[pairs].any(axis=1) & contacts.keep & ~contacts.sensor)
    pairs = np.ascontiguousarray(pairs[chosen])
    room = np.maximum(FAST * thick[pairs].sum(axis=1) - contacts.depth[chosen], 0.0)
    return Pressed(pairs, contacts.normal[chosen], contacts.point[chosen], room, -contacts.depth[chosen])


def _stop_behind(pressed: Pressed, motion: Floats, time: Floats, free: Bools) -> None:
    """What pushes a body that stops before it stops with it, but for the room between them."""
    if not len(pressed.pairs):
        return
    own = time[pressed.pairs]
    late = np.argmax(own, axis=1)
    every = np.arange(len(late))
    moving = pressed.pairs[every, late]
    # Into the other one: along the normal for A, against it for B.
    rate = np.where(late == 0, 1.0, -1.0) * np.einsum("ni,ni->n", pressed.normal, motion[moving, :3])
    first, last = own.min(axis=1), own.max(axis=1)
    past = np.flatnonzero(((last - first) * rate > pressed.room) & free[moving])
    np.minimum.at(time, moving[past], first[past] + pressed.room[past] / rate[past])


@device
def way_along(before, after, turn, k, p, n):
    """How far the surface of body k goes along n, from a point p of it on. What is round has other points there as it turns."""
    if turn[k] == 0.0:
        return dot(n, sub(load_translation(after, k), load_translation(before, k)))
    moved = transform(load_rotation(after, k), load_translation(after, k), untransform(
        load_rotation(before, k), load_translation(before, k), p))  # fmt: skip
    return dot(n, sub(moved, p))


@kernel("i8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1], f8[::1], f8[:,::1], i8, f8[:,::1]")
def hold_apart(pairs, normal, point, room, inverse_mass, turn, before, rounds, after):
    """Take bodies back that were driven into each other by more than their room, each by its share, along their normals.
    turn: how far a turn moves points of each, 0 for what is round."""
    for _ in range(rounds):
        least = True
        for k in range(pairs.shape[0]):
            a, b = pairs[k, 0], pairs[k, 1]
            n, p = load3(normal, k, 0), load3(point, k, 0)
            excess = way_along(before, after, turn, a, p, n) - way_along(before, after, turn, b, p, n) - room[k]
            whole = inverse_mass[a] + inverse_mass[b]
            if excess > 0.0 and whole > 0.0:
                least = False
                for c in range(3):
                    after[a, 9 + c] -= n[c] * excess * inverse_mass[a] / whole
                    after[b, 9 + c] += n[c] * excess * inverse_mass[b] / whole
        if least:
            return


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
    found = world._swept_pairs(bounds)
    return found[fast[found].any(axis=1)]


def _first_times(
    world: World,
    pairs: Ints,
    motion: Floats,
    turn: Floats,
    thick: Floats,
    reach: Floats,
    free: Bools,
    pressed: Pressed,
) -> Floats:
    """(used,) the part of its motion after which each body stops, 1 for all of it. Driven bodies never stop."""
    scene, time = world._scene(), np.ones(world._bodies.used)
    room, thin = _rooms(pairs, thick, reach, free), FAST * thick[pairs].sum(axis=1)
    way = np.linalg.norm(motion[:, :3], axis=1) + turn
    # As long as all move: pairs that move past each other, not together.
    past = np.linalg.norm(motion[pairs[:, 0], :3] - motion[pairs[:, 1], :3], axis=1) + turn[pairs].sum(axis=1)
    fast = pairs[past > room]
    lift = _lifts(pressed, fast, motion, turn, thick, reach, scene.poses)
    both = _impact_times(*_lifted(scene, fast, motion, turn, reach, lift)) if len(fast) else np.empty(0)
    for side in range(2):
        np.minimum.at(time, fast[:, side], np.where(free[fast[:, side]], both, 1.0))
    for _ in range(IMPACT_ROUNDS):
        start = time.copy()
        _stop_behind(pressed, motion, time, free)
        # Where one stops before the other, the other goes on past it.
        first, last = time[pairs].min(axis=1), time[pairs].max(axis=1)
        late = np.argmax(time[pairs], axis=1)
        uneven = np.flatnonzero((last - first) * way[pairs[np.arange(len(pairs)), late]] > thin)
        if not len(uneven):
            if np.array_equal(start, time):
                return time
            continue
        late = late[uneven]
        moving, still = pairs[uneven, late], pairs[uneven, 1 - late]
        begin, rest = first[uneven], last[uneven] - first[uneven]
        two = np.concatenate([still, moving])
        part = motion[two]
        placed = _poses_at(scene.poses[two], part, np.concatenate([begin, begin]))
        apart = np.stack([still, moving], axis=1)
        placed[len(still) :, 9:] += _lifts(pressed, apart, motion, turn, thick, reach, scene.poses)
        part[: len(still)] = 0.0
        part[len(still) :] *= rest[:, None]
        count = np.arange(len(still))
        staged = replace(scene, shape=np.ascontiguousarray(scene.shape[two]), poses=np.ascontiguousarray(placed))
        hit = _impact_times(staged, np.stack([count, count + len(still)], axis=1), part, turn[two], IMPACT_GAP * reach[two])
        stop = np.where(hit < 1.0, begin + hit * rest, 1.0)
        np.minimum.at(time, moving, np.where(free[moving], stop, 1.0))
        if np.array_equal(start, time):
            return time
    # Not settled: what moves together up to the first stop of the two was looked at.
    open_copies = np.unique(world._copies_of(np.flatnonzero(start != time)))
    pairs = pairs[np.isin(world._copies_of(pairs[:, 0]), open_copies)]
    pressed = _of_copies(pressed, open_copies, world)
    while True:
        start = time.copy()
        _stop_behind(pressed, motion, time, free)
        first = time[pairs].min(axis=1)
        for side in range(2):
            np.minimum.at(time, pairs[:, side], np.where(free[pairs[:, side]], first, 1.0))
        if np.array_equal(start, time):
            return time


def _lifts(pressed: Pressed, pairs: Ints, motion: Floats, turn: Floats, thick: Floats, reach: Floats, poses: Floats) -> Floats:
    """(M, 3) by how much the second body of each pair is moved off the first one before the two are cast.

    What the solver holds apart is no impact. A body that tumbles over an edge goes on an arc, and the cast takes the chord,
    which leads the edge through the ground by the arc's height; what is pressed sinks in by a little, too. Neither stops it:
    the two are lifted off each other by as much, along the mean of the normals of what they touch with. Casts of convex shapes
    see for themselves that what touches parts.
    """
    lift = np.zeros((len(pairs), 3))
    if not len(pressed.pairs) or not len(pairs):
        return lift
    angle = np.where(turn > 0.0, np.linalg.norm(motion[:, 3:], axis=1), 0.0)
    arms = np.linalg.norm(pressed.point[:, None] - poses[pressed.pairs][:, :, 9:], axis=2)
    size = reach[pressed.pairs].min(axis=1)
    high = np.minimum((arms * angle[pressed.pairs] ** 2).sum(axis=1) / 8.0 + LIFT * size, MOST_LIFT * size)
    near = np.flatnonzero((pressed.gap <= high) & (thick[pressed.pairs] == 0.0).any(axis=1))
    codes, count = np.sort(pairs, axis=1) @ [len(thick), 1], len(pairs)
    order = np.argsort(codes, kind="stable")
    touching = np.sort(pressed.pairs[near], axis=1) @ [len(thick), 1]
    place = np.searchsorted(codes[order], touching)
    known = (place < count) & (codes[order][np.minimum(place, count - 1)] == touching)
    near, row = near[known], order[place[known]]
    normal = np.where((pressed.pairs[near, 0] == pairs[row, 0])[:, None], pressed.normal[near], -pressed.normal[near])
    np.add.at(lift, row, normal)
    length = np.linalg.norm(lift, axis=1, keepdims=True)
    lift /= np.where(length > 0.0, length, 1.0)
    # As far as it takes along each of the normals; not between two that face each other.
    cosine = np.einsum("ni,ni->n", normal, lift[row])
    steep = np.full(count, np.inf)
    np.minimum.at(steep, row, cosine)
    far = np.zeros(count)
    np.maximum.at(far, row, high[near] / np.maximum(cosine, LEAST_LIFT_COSINE))
    return lift * np.where((steep > LEAST_LIFT_COSINE) & (steep < np.inf), far, 0.0)[:, None]


def _lifted(
    scene: narrow.Scene, pairs: Ints, motion: Floats, turn: Floats, reach: Floats, lift: Floats
) -> tuple[narrow.Scene, Ints, Floats, Floats, Floats]:
    """What `_impact_times` takes, each pair by itself, the second bodies moved."""
    two, count = np.ascontiguousarray(pairs.T).ravel(), np.arange(len(pairs))
    placed = scene.poses[two]
    placed[len(pairs) :, 9:] += lift
    staged = replace(scene, shape=np.ascontiguousarray(scene.shape[two]), poses=placed)
    return staged, np.stack([count, count + len(pairs)], axis=1), motion[two], turn[two], IMPACT_GAP * reach[two]


def _impact_times(scene: narrow.Scene, pairs: Ints, motion: Floats, turn: Floats, gap: Floats) -> Floats:
    """(M,) when pairs first meet, by `gap` metres before; 1 for those that do not, and for those that meet already."""
    # A ball sweeps the same whether it turns or not.
    motion = np.concatenate([motion[:, :3], np.where(turn[:, None] > 0.0, motion[:, 3:], 0.0)], axis=1)
    found = narrow.impacts(scene, pairs, motion, np.zeros(len(scene.shape), np.bool_))
    # What did not converge may meet from its time on.
    met = (found.time <= 1.0) & (found.status != CastStatus.OVERLAPPING_AT_START)
    away = gap[pairs].min(axis=1)
    far = np.linalg.norm(motion[pairs[:, 0], :3] - motion[pairs[:, 1], :3], axis=1) + turn[pairs].sum(axis=1)
    early = away / np.maximum(far, away)
    return np.where(met, np.maximum(np.where(met, found.time, 1.0) - early, 0.0), 1.0)
