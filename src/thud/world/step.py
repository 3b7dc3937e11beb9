"""One time step of a world: contacts, then the solver, then poses and velocities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.threads import core_count, run_rows
from thud.broadphase.boxes import STATIC
from thud.constants import FARTHEST_POSE
from thud.dynamics.energy_bound import SUMS, bound_energy
from thud.dynamics.inertia import principal_axes
from thud.dynamics.soft import contact_softness
from thud.dynamics.solver_types import (
    BODY,
    INVERSE_MASS,
    KEPT,
    PATCH,
    POINT,
    POINTS,
    TOUCHED,
    ContactGroups,
    ContactList,
    PointColumns,
    SolverBodies,
)
from thud.dynamics.team import run_team
from thud.dynamics.tolerances import PART_ANGLE, PARTS, PUSH_SPEED, SLOP_SIZE, TEAM_WORK, USUAL_SECONDS
from thud.results import WorldContacts
from thud.shapes.mass_properties import mass_properties
from thud.world.bodies import Bodies
from thud.world.contact_rows import Reaches
from thud.world.continuous import stop_at_impacts
from thud.world.find_contacts import follow_contacts
from thud.world.shape_set import ShapeSet
from thud.world.sleeping import fall_asleep, rests, wake_placed, wake_touched
from thud.world.step_contacts import StepContacts, check_hooked
from thud.world.step_rows import (
    DRIVEN,
    FREE,
    RULES,
    STILL,
    coefficients,
    describe_patches,
    fastest_turn,
    find_reaches,
    list_patches,
    load_bodies,
    store_bodies,
)

if TYPE_CHECKING:
    from thud.world.world import World

#: kg / m^3 of a body that was given no mass: that of water.
DENSITY = 1000.0

#: Bodies that are worth a hand-over to another thread: one takes about 30 ns.
_BODY_CHUNK = 2048


@dataclass(slots=True)
class Moments:
    """Inverses and principal axes of the bodies' inertias, made anew where an inertia has changed."""

    given: Floats
    inertia: Floats
    inverse: Floats
    axes: Floats
    moments: Floats
    """Of all bodies, with a row for the world behind them."""

    @classmethod
    def of(cls, inertia: Floats) -> Moments:
        """Of (N, 3, 3); identity where there is none."""
        whole = np.concatenate([inertia, np.eye(3)[None]])
        whole[~np.isfinite(whole[:, 0, 0])] = np.eye(3)
        axes, moments = principal_axes(whole)
        inverse = np.ascontiguousarray(np.linalg.inv(whole).reshape(-1, 9))
        return cls(inertia.copy(), whole.reshape(-1, 9), inverse, axes, moments)


class GroupRoom:
    """Memory for groups of contacts, kept from step to step: fresh pages cost more than what is written to them."""

    def __init__(self) -> None:
        self._whole = np.empty((0, 4))

    def reals(self, count: int) -> Floats:
        """(count, 4), of any content."""
        if len(self._whole) < count:
            self._whole = np.empty((count + count // 2, 4))
        return self._whole[:count]


def responds(bodies: Bodies) -> Bools:
    """(used,) bodies that contacts and forces move."""
    used = bodies.used
    return bodies.present() & (bodies.rules[:used, STATIC] == 0) & ~bodies.kinematic[:used] & ~bodies.sensor[:used]


def fill_masses(bodies: Bodies, shapes: ShapeSet) -> bool:
    """See `WorldPhysics._fill_masses`. Returns whether there was something to do."""
    used = bodies.used
    free = bodies.alive[:used] & (bodies.rules[:used, STATIC] == 0) & ~bodies.kinematic[:used]
    rows = np.flatnonzero(free & np.isnan(bodies.mass[:used]))
    if not len(rows):
        return False
    for index in np.unique(bodies.shape[rows]).tolist():
        own = rows[bodies.shape[rows] == index]
        try:
            known = mass_properties(shapes.shape(index), DENSITY)
        except Exception as error:
            name = bodies.names.get(int(own[0]), f"handle {int(bodies.handles(own[:1])[0])}")
            raise type(error)(f"body {name}: {error}; give it a mass, or make it static or kinematic") from None
        bodies.mass[own], bodies.inertia[own], bodies.center_of_mass[own] = known.mass, known.inertia, known.center_of_mass
    return True


def centers_of(bodies: Bodies, rows: Ints) -> Floats:
    """(N, 3) centres of mass in the world; where none is known the origin of the body's frame."""
    poses, local = bodies.poses[rows], np.nan_to_num(bodies.center_of_mass[rows])
    return poses[:, 9:] + np.einsum("nij,nj->ni", poses[:, :9].reshape(-1, 3, 3), local)


def world_inertias(bodies: Bodies, rows: Ints) -> Floats:
    """(N, 3, 3) about the centres of mass, world frame."""
    turn = bodies.poses[rows, :9].reshape(-1, 3, 3)
    return turn @ bodies.inertia[rows] @ np.swapaxes(turn, 1, 2)


def push_now(bodies: Bodies, rows: Ints, impulse: Floats, arms: Floats) -> None:
    """Change velocities by impulses at arms from the centres of mass."""
    spin = np.linalg.solve(world_inertias(bodies, rows), np.cross(arms, impulse)[:, :, None])[:, :, 0]
    change = impulse / bodies.mass[rows, None]
    # Of the frame's origin, which turns about the centre of mass.
    change += np.cross(spin, bodies.poses[rows, 9:] - centers_of(bodies, rows))
    np.add.at(bodies.velocity, rows, change)
    np.add.at(bodies.angular_velocity, rows, spin)


def energy_of(bodies: Bodies, gravity: Floats) -> tuple[float, float]:
    """(kinetic, potential) of the bodies that respond."""
    rows = np.flatnonzero(responds(bodies))
    centers, w = centers_of(bodies, rows), bodies.angular_velocity[rows]
    v = bodies.velocity[rows] + np.cross(w, centers - bodies.poses[rows, 9:])
    m = bodies.mass[rows]
    turning = np.einsum("ni,nij,nj->", w, world_inertias(bodies, rows), w)
    weight = m * bodies.gravity_scale[rows]
    return float(0.5 * (m @ (v * v).sum(axis=1) + turning)), float(-(weight @ (centers @ gravity)))


@dataclass(slots=True)
class _Touching:
    """What is known of the bodies before they are moved."""

    role: npt.NDArray[np.uint8]
    contacts: StepContacts
    patches: ContactList
    smallest: float
    """The least side of the boxes of what moves freely, metres."""


def step(world: World, dt: float, substeps: int) -> None:
    """See `World.step`."""
    world._begin("step")
    bodies, records = world._bodies, world._records
    fill_masses(bodies, world._shapes)
    world.broken = world.lost = np.empty(0, np.int64)
    if rests(world):
        world.time += dt
        return
    wake_placed(world)
    if records.width < KEPT:
        records.widen(KEPT)
    used = bodies.used
    force, torque = bodies.force[:used].copy(), bodies.torque[:used].copy()
    touching, touched = _find(world, dt), records.touches_before
    spin = fastest_turn(touching.role, bodies.angular_velocity, touching.patches) * dt
    parts = min(1 + int(spin / PART_ANGLE), PARTS)
    for part in range(parts):
        if part:
            bodies.force[:used], bodies.torque[:used] = force, torque
            last = world._step_contacts.impulse
            touching = _find(world, dt / parts)
            before = records.previous(world.threads)
            touching.contacts.impulse[before >= 0] = last[before[before >= 0]]
        _solve(world, touching, dt / parts, -(-substeps // parts))
    records.touches_before = touched
    world.time += dt


def _find(world: World, dt: float) -> _Touching:
    """Contacts of a part of a step."""
    bodies, role = world._bodies, roles(world._bodies)
    world._update()
    reaches = Reaches.empty(bodies.used)
    smallest = find_reaches(role, bodies.bounds, bodies.velocity, bodies.gravity_scale, dt, world.gravity, reaches)
    found = follow_contacts(world, reaches, POINTS)
    with world.stats.phase("solve"):
        wake_touched(world, found, role)
        contacts = with_coefficients(world, found)
        return _Touching(role, contacts, find_patches(world, found, contacts, role), smallest)


def _solve(world: World, touching: _Touching, dt: float, substeps: int) -> None:
    """Velocities and poses after a part of a step."""
    from thud.dynamics.step_solver import solve_step

    bodies, records = world._bodies, world._records
    role, contacts, patches = touching.role, touching.contacts, touching.patches
    with world.stats.phase("solve"):
        solver = _solver_bodies(world, role)
        room = world._group_room = world._group_room or GroupRoom()
        groups, lanes = _groups(patches, solver, room)
        locks = hold_locked(world, role)
        held = len(world._joints) or len(locks[0])
        centers = np.nan_to_num(bodies.center_of_mass[: bodies.used]) if held else bodies.center_of_mass[:0]
        joints, colours, rows = world._joints.solver_rows(solver.reals[:, INVERSE_MASS].copy(), centers, *locks)
        kept = records.columns if world._substep in (0.0, dt / substeps) else records.columns * (dt / substeps / world._substep)
        points = PointColumns(contacts.point, contacts.normal, contacts.depth, contacts.impulse, np.ascontiguousarray(kept))
        share, slop = min(1.0, dt / USUAL_SECONDS), SLOP_SIZE * touching.smallest
        run_team(
            solve_step, _members(world, len(patches.rows)), solver, groups, patches, points, lanes, joints, colours,
            contact_softness(dt / substeps), dt / substeps, substeps, PUSH_SPEED, slop, world.bounce_threshold, share,
        )  # fmt: skip
        room_k, room_s = np.empty(bodies.used, np.int64), np.empty((bodies.used, SUMS))
        bound_energy(
            bodies.poses, bodies.velocity, bodies.angular_velocity, bodies.center_of_mass, patches, joints.rows, solver, dt,
            room_k, room_s,
        )  # fmt: skip
        records.columns, world._step_contacts = points.kept, contacts
        world._substep = dt / substeps
        if len(world._joints):
            broken, freed = world._joints.keep_step(rows, joints, dt)
            world.broken = np.concatenate([world.broken, broken])
            if len(freed):
                bodies.calm[freed] = 0.0
                world._parted = None
        _put_back(world, solver, role, dt)
        fall_asleep(world, dt)


def roles(bodies: Bodies) -> npt.NDArray[np.uint8]:
    """(used,) STILL, DRIVEN or FREE."""
    used = bodies.used
    role = np.where(responds(bodies), np.uint8(FREE), np.uint8(STILL))  # asleep or not
    role[bodies.kinematic[:used] & bodies.present()] = DRIVEN
    return role


def hold_locked(world: World, role: npt.NDArray[np.uint8]) -> tuple[Ints, Ints, Floats]:
    """Rows of free bodies with locked axes, bits of the axes, and where they are held: where they are, if they were placed
    since."""
    bodies, used = world._bodies, world._bodies.used
    rows = np.flatnonzero((bodies.locked[:used] & 7 != 0) & (role == FREE))
    if len(rows):
        placed = rows[(bodies.revision[rows] != bodies.slept[rows]).any(axis=1)]
        bodies.held[placed] = centers_of(bodies, placed)
    return rows, bodies.locked[rows] & 7, bodies.held[rows]


def _members(world: World, patches: int) -> int:
    """Threads that a step of so many patches is worth."""
    if patches < TEAM_WORK:
        return 1
    return core_count() if world.threads is None else world.threads


def _solver_bodies(world: World, role: npt.NDArray[np.uint8]) -> SolverBodies:
    """Bodies as the solver has them, by rows of the table; the last one is the world itself."""
    bodies, used = world._bodies, world._bodies.used
    inertia = bodies.inertia[:used]
    known = world._moments
    # By their bits: NaN, of bodies that have none, is then equal to itself.
    if known is None or known.given.shape != inertia.shape or (known.given.view(np.int64) != inertia.view(np.int64)).any():
        known = world._moments = Moments.of(inertia)
    reals, rotation = np.empty((used + 1, BODY)), np.empty((used + 1, 9))
    reals[used], rotation[used] = 0.0, np.eye(3).ravel()
    damping = np.zeros((used + 1, 2))
    damping[:used] = bodies.damping[:used]
    push = np.empty((used + 1, 6))
    push[used] = 0.0
    solver = SolverBodies(
        reals, rotation, np.empty((used + 1, 9)), known.inertia, known.inverse, known.axes, known.moments, push, damping,
        np.zeros((used + 1, 6)),
    )  # fmt: skip
    run_rows(
        load_bodies, used, world.threads, role, bodies.poses, bodies.velocity, bodies.angular_velocity, bodies.center_of_mass,
        bodies.mass, bodies.gravity_scale, bodies.force, bodies.torque, bodies.locked, world.gravity, solver,
        rows_per_chunk=_BODY_CHUNK,
    )  # fmt: skip
    return solver


def with_coefficients(world: World, found: WorldContacts) -> StepContacts:
    """What was found, with coefficients, after the hook."""
    bodies, many = world._bodies, len(found.depth)
    contacts = StepContacts(
        found.handle_a, found.handle_b, found.point, found.normal, found.depth, found.feature, np.empty(many, np.bool_),
        np.empty(many), np.empty(many), np.empty((many, 3)), np.ones(many, np.bool_), np.zeros((many, 3)),
    )  # fmt: skip
    coefficients(
        found.rows, found.start, found.count, found.sensor, bodies.friction, bodies.restitution, bodies.surface_velocity,
        RULES[world.friction_rule], RULES[world.restitution_rule], contacts.sensor, contacts.friction, contacts.restitution,
        contacts.surface_velocity,
    )  # fmt: skip
    if world.contact_hook is not None:
        world.contact_hook(contacts)
        check_hooked(contacts, many)
    return contacts


def find_patches(world: World, found: WorldContacts, contacts: StepContacts, role: npt.NDArray[np.uint8]) -> ContactList:
    """Patches of contact that are solved, with their coefficients."""
    bodies = world._bodies
    rows = np.empty((len(found.point), 4), np.int64)
    many = int(list_patches(found.rows, found.start, found.count, found.sensor, role, contacts.normal, contacts.keep, rows))
    rows, reals = rows[:many], np.empty((many, 9))
    packed, shape_rows = world._shapes.packed()
    if many:
        run_rows(
            describe_patches, many, world.threads, packed, shape_rows, bodies.shape, world._shapes.is_covered, bodies.poses,
            bodies.turning_friction, RULES[world.friction_rule], rows, contacts.point, contacts.normal, contacts.friction,
            contacts.restitution, contacts.surface_velocity, reals, rows_per_chunk=_BODY_CHUNK,
        )  # fmt: skip
    return ContactList(rows, reals)


def _groups(patches: ContactList, solver: SolverBodies, room_for: GroupRoom) -> tuple[ContactGroups, Ints]:
    """Room for the patches in groups of four, by colours, and the lane of each patch."""
    from thud.dynamics.colouring import colour_pairs, sort_colours
    from thud.dynamics.step_solver import group_patches

    many = len(patches.rows)
    moves = np.ascontiguousarray(solver.reals[:, INVERSE_MASS])
    colour = np.empty(many, np.int64)
    colours = int(colour_pairs(patches.rows, moves, np.empty(len(moves), np.uint64), colour))
    order, starts = np.empty(many, np.int64), np.empty(colours + 1, np.int64)
    weights = POINTS + 1
    room = np.empty(colours * weights + 1, np.int64)
    sort_colours(colour, np.ascontiguousarray(patches.rows[:, 3]), colours, weights, room, order, starts)
    most = int((-(-np.diff(starts) // 4)).sum())
    groups = ContactGroups(
        room_for.reals(most * (PATCH + POINTS * POINT)), np.empty(most, np.int64), np.empty((most, 2, 4), np.int64),
        np.empty(most, np.int64), np.empty(colours + 1, np.int64),
    )  # fmt: skip
    lanes = np.empty((many, 2), np.int64)
    group_patches(patches, order, starts, len(moves) - 1, groups, lanes)
    return groups, lanes


def _put_back(world: World, solver: SolverBodies, role: npt.NDArray[np.uint8], dt: float) -> None:
    """Poses and velocities of what moved. What leaves the limits of poses is stopped there."""
    bodies, used = world._bodies, world._bodies.used
    poses, lost = bodies.poses[:used].copy(), np.empty(used, np.bool_)
    run_rows(
        store_bodies, used, world.threads, role, bodies.center_of_mass, solver, FARTHEST_POSE, poses, bodies.velocity,
        bodies.angular_velocity, lost, rows_per_chunk=_BODY_CHUNK,
    )  # fmt: skip
    if lost.any():
        world.lost = np.union1d(world.lost, bodies.handles(np.flatnonzero(lost)))
        role = np.where(lost, np.uint8(STILL), role)
        # Nor is what they did to others known.
        kept, joints = world._records.columns, world._joints
        for array in (kept, world._step_contacts.impulse, joints.impulses, joints.value, joints.load):
            array[~np.isfinite(array)] = 0.0
    time = stop_at_impacts(world, role, poses, world._step_contacts)
    if time is not None:
        # What was stopped in free flight was not pulled for the rest of the step.
        flying = (time < 1.0) & (role == FREE) & (solver.reals[:used, TOUCHED] == 0.0)
        bodies.velocity[:used][flying] -= ((1.0 - time[flying]) * dt)[:, None] * solver.acceleration[:used, :3][flying]
    rows = np.flatnonzero(role != STILL)
    bodies.place(rows, poses[rows])
    bodies.force[:used], bodies.torque[:used] = 0.0, 0.0
