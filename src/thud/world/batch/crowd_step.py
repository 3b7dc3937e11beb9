"""One time step of a crowd: what `world/step.py` does to a world, to all copies at once.

The number of parts of a step, the slop and the solver are each copy's own. A copy that rests is left as it is; one that takes
its step in parts takes the later parts in a crowd of those that do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.threads import run_rows
from thud.constants import FARTHEST_POSE
from thud.dynamics.islands import rest_islands
from thud.dynamics.soft import contact_softness
from thud.dynamics.solver_types import KEPT, POINTS, ContactList, PointColumns
from thud.dynamics.tolerances import PART_ANGLE, PARTS, PUSH_SPEED, SLEEP_SPEED, SLOP_SIZE, USUAL_SECONDS
from thud.world.batch.crowd import Crowd
from thud.world.batch.crowd_parts import gather, put
from thud.world.batch.crowd_rows import reaches_of_copies, solve_copies, turns_of_copies
from thud.world.batch.crowd_types import CrowdAfter, CrowdBodies, CrowdJoints, CrowdPlan
from thud.world.body_rows import ROW_MASK
from thud.world.contact_rows import Reaches
from thud.world.continuous import stop_at_impacts
from thud.world.find_contacts import follow_contacts
from thud.world.joint_table import WORLD
from thud.world.sleeping import disturbed, driven, wake_placed, wake_touched
from thud.world.step import Moments, fill_masses, find_patches, hold_locked, roles, with_coefficients
from thud.world.step_contacts import StepContacts
from thud.world.step_rows import FREE, STILL

#: Copies that are worth a hand-over to another thread: a step of one takes some 10 us, its bounds less than 1 us.
_SOLVE_CHUNK, _BOUND_CHUNK = 4, 256


@dataclass(slots=True)
class _Touching:
    """What is known of the bodies before they are moved."""

    role: npt.NDArray[np.uint8]
    contacts: StepContacts
    patches: ContactList
    start: Ints
    """(N + 1,) first patch of each copy."""
    smallest: Floats
    """(N,) the least side of the boxes of what moves freely, metres."""


def step_crowd(crowd: Crowd, dt: float, substeps: int) -> None:
    """Go on by dt seconds, as each copy would alone."""
    crowd._begin("step")
    crowd.broken, crowd.lost = np.empty((0, 2), np.int64), np.empty(0, np.int64)
    if fill_masses(crowd._bodies, crowd._shapes):
        crowd._moments = None
    resting = _rests(crowd)
    if not resting.any():
        _step(crowd, dt, substeps)
    elif not resting.all():
        active = np.flatnonzero(~resting)
        some = gather(crowd, active)
        some._begin("step")
        some.broken, some.lost = crowd.broken, crowd.lost
        _step(some, dt, substeps)
        _put_back_some(crowd, active, some)
        crowd.stats = some.stats
    crowd.times += dt


def _put_back_some(crowd: Crowd, copies: Ints, some: Crowd) -> None:
    """Copies that were stepped in a crowd of their own."""
    put(crowd, copies, some)
    crowd._gravity_before = some._gravity_before
    way = copies - np.arange(len(copies))
    lost = some.lost + way[some.copy_of(some.lost)] * crowd.size
    crowd.lost = np.union1d(crowd.lost, lost)
    broken = some.broken.copy()
    broken[:, 0] = copies[broken[:, 0]] if len(broken) else broken[:, 0]
    crowd.broken = np.concatenate([crowd.broken, broken])


def _rests(crowd: Crowd) -> Bools:
    """(N,) copies in which nothing has happened since a step that left all bodies asleep."""
    if not crowd.resting.any():
        return crowd.resting
    if crowd._gravity_before is not None and not np.array_equal(crowd._gravity_before, crowd.gravity):
        crowd.resting[:] = False
        return crowd.resting
    touched = crowd.by_copy(crowd._bodies.moved).any(axis=1) | crowd.by_copy(disturbed(crowd)).any(axis=1)
    crowd.resting &= ~touched
    return crowd.resting


def _step(crowd: Crowd, dt: float, substeps: int) -> None:
    """A step of copies of which none rests."""
    wake_placed(crowd)
    bodies, records = crowd._bodies, crowd._records
    if records.width < KEPT:
        records.widen(KEPT)
    used = bodies.used
    touching = _find(crowd, np.full(crowd.copies, dt))
    fastest = np.empty(crowd.copies)
    run_rows(
        turns_of_copies, crowd.copies, crowd.threads, touching.role, bodies.angular_velocity, touching.patches,
        touching.start, fastest, rows_per_chunk=_BOUND_CHUNK,
    )  # fmt: skip
    parts = np.minimum(1 + np.minimum(fastest * dt / PART_ANGLE, PARTS).astype(np.int64), PARTS)
    several = np.unique(parts[parts > 1]).tolist()
    pushes = (bodies.force[:used].copy(), bodies.torque[:used].copy()) if several else None
    _solve(crowd, touching, dt / parts, -(-substeps // parts))
    for many in several:
        assert pushes is not None
        copies = np.flatnonzero(parts == many)
        some = gather(crowd, copies)
        some.stats, some.broken, some.lost = crowd.stats, crowd.broken[:0], crowd.lost[:0]
        rows = (copies[:, None] * crowd.size + np.arange(crowd.size)).ravel()
        touched = some._records.touches_before
        for _ in range(many - 1):
            some._bodies.force[:], some._bodies.torque[:] = pushes[0][rows], pushes[1][rows]
            last = some._step_contacts.impulse
            touching = _find(some, np.full(len(copies), dt / many))
            before = some._records.previous(some.threads)
            touching.contacts.impulse[before >= 0] = last[before[before >= 0]]
            _solve(some, touching, np.full(len(copies), dt / many), np.full(len(copies), -(-substeps // many)))
        some._records.touches_before = touched
        _put_back_some(crowd, copies, some)


def _find(crowd: Crowd, dt: Floats) -> _Touching:
    """Contacts of a part of a step of dt (N,) seconds."""
    bodies, role = crowd._bodies, roles(crowd._bodies)
    crowd._update()
    reaches, smallest = Reaches.empty(bodies.used), np.empty(crowd.copies)
    run_rows(
        reaches_of_copies, crowd.copies, crowd.threads, crowd.size, role, bodies.bounds, bodies.velocity, bodies.gravity_scale,
        dt, crowd.gravity, reaches, smallest, rows_per_chunk=_BOUND_CHUNK,
    )  # fmt: skip
    found = follow_contacts(crowd, reaches, POINTS)
    with crowd.stats.phase("solve"):
        wake_touched(crowd, found, role)
        contacts = with_coefficients(crowd, found)
        patches = find_patches(crowd, found, contacts, role)
    start = np.searchsorted(patches.rows[:, 0], np.arange(crowd.copies + 1) * crowd.size)
    return _Touching(role, contacts, patches, start, smallest)


def _softness(h: Floats) -> Floats:
    """(N, 2, 3) of sub-steps of h (N,) seconds."""
    if h.min() == h.max():
        return np.tile(contact_softness(float(h[0])), (len(h), 1, 1))
    found = np.empty((len(h), 2, 3))
    for each in np.unique(h).tolist():
        found[h == each] = contact_softness(each)
    return found


def _solve(crowd: Crowd, touching: _Touching, dt: Floats, substeps: Ints) -> None:
    """Velocities and poses after a part of a step of dt (N,) seconds in so many (N,) sub-steps."""
    bodies, records, used = crowd._bodies, crowd._records, crowd._bodies.used
    role, contacts, patches = touching.role, touching.contacts, touching.patches
    with crowd.stats.phase("solve"):
        h = dt / substeps
        hold_locked(crowd, role)
        known = _moments(crowd)
        table = CrowdBodies(
            role, bodies.poses, bodies.velocity, bodies.angular_velocity, bodies.center_of_mass, bodies.mass,
            bodies.gravity_scale, bodies.force, bodies.torque, bodies.locked, bodies.held, bodies.damping, known.inertia,
            known.inverse, known.axes, known.moments,
        )  # fmt: skip
        joints = _joints(crowd)
        points = PointColumns(contacts.point, contacts.normal, contacts.depth, contacts.impulse, _kept(crowd, h))
        share = np.minimum(1.0, dt / USUAL_SECONDS)
        plan = CrowdPlan(touching.start, h, substeps, _softness(h), SLOP_SIZE * touching.smallest, share)
        after = CrowdAfter(bodies.poses[:used].copy(), np.empty(used, np.bool_), np.empty(used), np.empty((used, 3)))
        run_rows(
            solve_copies, crowd.copies, crowd.threads, crowd.size, table, joints, plan, patches, points, crowd.gravity,
            PUSH_SPEED, crowd.bounce_threshold, FARTHEST_POSE, after, rows_per_chunk=_SOLVE_CHUNK,
        )  # fmt: skip
        records.columns, crowd._step_contacts = points.kept, contacts
        crowd.substeps[:] = h
        if len(crowd._joints):
            _keep_joints(crowd, joints, dt)
        _put_back(crowd, role, after, dt)
        _fall_asleep(crowd, dt)


def _kept(crowd: Crowd, h: Floats) -> Floats:
    """What is known of the points from the step before; impulses for sub-steps of h (N,) seconds."""
    columns, before = crowd._records.columns, crowd.substeps
    same = (before == 0.0) | (before == h)
    if same.all():
        return np.ascontiguousarray(columns)
    factor = np.where(same, 1.0, h / np.where(same, 1.0, before))
    copy = np.repeat(crowd.copy_of(crowd._records.points.pairs[:, 0]), crowd._records.points.length)
    return np.ascontiguousarray(columns * factor[copy][:, None])


def _moments(crowd: Crowd) -> Moments:
    """Of all bodies; made anew where masses were changed."""
    if crowd._moments is None:
        crowd._moments = Moments.of(crowd._bodies.inertia[: crowd._bodies.used])
    return crowd._moments


def _joints(crowd: Crowd) -> CrowdJoints:
    """The joints as the kernel has them."""
    table, size = crowd._joints, crowd.size
    rows = table.bodies & ROW_MASK
    copy = crowd.joint_copies()
    ends = np.where(table.bodies == WORLD, size, rows - copy[:, None] * size)
    start = np.searchsorted(copy, np.arange(crowd.copies + 1))
    return CrowdJoints(
        start, ends, table.kind, table.frames, table.reals, table.impulses, table.value, np.zeros((len(table), 6))
    )


def _keep_joints(crowd: Crowd, joints: CrowdJoints, dt: Floats) -> None:
    """Loads, and joints that broke."""
    table, copy = crowd._joints, crowd.joint_copies()
    table.load[...] = joints.wrench / dt[copy][:, None]
    broken, ends = table.broken()
    if broken.any():
        gone = np.stack([copy[broken], table.handle[broken]], axis=1)
        crowd.broken = np.concatenate([crowd.broken, gone])
        table.keep(~broken)
        crowd._parted = None
        crowd._bodies.calm[ends[ends != WORLD] & ROW_MASK] = 0.0


def _put_back(crowd: Crowd, role: npt.NDArray[np.uint8], after: CrowdAfter, dt: Floats) -> None:
    """Poses of what moved. What leaves the limits of poses is stopped there."""
    bodies, used = crowd._bodies, crowd._bodies.used
    if after.lost.any():
        crowd.lost = np.union1d(crowd.lost, bodies.handles(np.flatnonzero(after.lost)))
        role = np.where(after.lost, np.uint8(STILL), role)
        joints = crowd._joints
        for array in (crowd._records.columns, crowd._step_contacts.impulse, joints.impulses, joints.value, joints.load):
            array[~np.isfinite(array)] = 0.0
    time = stop_at_impacts(crowd, role, after.poses, crowd._step_contacts)
    if time is not None:
        flying = (time < 1.0) & (role == FREE) & (after.touched == 0.0)
        seconds = np.repeat(dt, crowd.size)
        bodies.velocity[:used][flying] -= ((1.0 - time[flying]) * seconds[flying])[:, None] * after.acceleration[flying]
    rows = np.flatnonzero(role != STILL)
    bodies.place(rows, after.poses[rows])
    bodies.force[:used], bodies.torque[:used] = 0.0, 0.0


def _fall_asleep(crowd: Crowd, dt: Floats) -> None:
    """Islands that have been calm for long enough, and copies of which all have."""
    bodies, used = crowd._bodies, crowd._bodies.used
    bodies.slept[:used] = bodies.revision[:used]
    crowd.resting[:] = False
    if crowd.sleep_after is None:
        if bodies.asleep[:used].any():
            bodies.asleep[:used] = False
        return
    every = np.repeat(dt, crowd.size)
    for seconds in np.unique(dt).tolist():
        rest_islands(
            np.where(every == seconds, crowd._islands, -1), bodies.velocity, bodies.angular_velocity, bodies.bounds,
            SLEEP_SPEED, seconds, crowd.sleep_after, bodies.calm, np.empty(used, np.bool_), bodies.asleep,
        )  # fmt: skip
    calm = bodies.asleep[:used] | (crowd._islands < 0)
    crowd.resting[:] = crowd.by_copy(calm & ~driven(crowd)).all(axis=1)
    if crowd.resting.any():
        # Boxes are those of the poses from here on: what moves later is told by its mark.
        crowd._update()
