"""One time step of a world: contacts, then the solver, then poses and velocities.

The table of bodies has the velocity of the origin of each body's frame, as `World.impacts` uses it; the solver has that of the
centre of mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud.broadphase.boxes import STATIC
from thud.constants import FARTHEST_POSE
from thud.dynamics.inertia import principal_axes
from thud.dynamics.soft import contact_softness
from thud.dynamics.solver_types import (
    BODY,
    FRICTION,
    IMPULSE,
    IMPULSE_1,
    IMPULSE_2,
    INVERSE_MASS,
    POINT,
    RESTITUTION,
    TANGENT_1,
    TANGENT_2,
    ContactPoints,
    SolverBodies,
    V,
    W,
    X,
)
from thud.dynamics.tolerances import MARGIN_LEAST, MARGIN_SIZE, PUSH_SPEED, SLOP_SIZE, USUAL_SECONDS
from thud.shapes.mass_properties import mass_properties
from thud.world.bodies import Bodies
from thud.world.contact_records import KEPT, PRESSED, RUBBED, USUALLY
from thud.world.find_contacts import find_contacts
from thud.world.physics import RULES
from thud.world.shape_set import ShapeSet

if TYPE_CHECKING:
    from thud.world.world import World

#: Points of a contact patch that are solved: four carry any load.
_POINTS = 4

#: kg / m^3 of a body that was given no mass: that of water.
DENSITY = 1000.0


@dataclass(slots=True)
class Moments:
    """Inverses and principal axes of the bodies' inertias, made anew where an inertia has changed."""

    inertia: Floats
    inverse: Floats
    axes: Floats
    moments: Floats

    @classmethod
    def of(cls, inertia: Floats) -> Moments:
        """Of (N, 3, 3); identity where there is none."""
        known = np.isfinite(inertia[:, 0, 0])
        whole = np.where(known[:, None, None], inertia, np.eye(3))
        axes, moments = principal_axes(whole)
        return cls(inertia.copy(), np.ascontiguousarray(np.linalg.inv(whole).reshape(-1, 9)), axes, moments)


def responds(bodies: Bodies) -> Bools:
    """(used,) bodies that contacts and forces move."""
    used = bodies.used
    return bodies.present() & (bodies.rules[:used, STATIC] == 0) & ~bodies.kinematic[:used] & ~bodies.sensor[:used]


def fill_masses(bodies: Bodies, shapes: ShapeSet) -> None:
    """See `WorldPhysics._fill_masses`."""
    used = bodies.used
    free = bodies.alive[:used] & (bodies.rules[:used, STATIC] == 0) & ~bodies.kinematic[:used]
    rows = np.flatnonzero(free & np.isnan(bodies.mass[:used]))
    for index in np.unique(bodies.shape[rows]).tolist():
        own = rows[bodies.shape[rows] == index]
        try:
            known = mass_properties(shapes.shape(index), DENSITY)
        except Exception as error:
            name = bodies.names.get(int(own[0]), f"handle {int(bodies.handles(own[:1])[0])}")
            raise type(error)(f"body {name}: {error}; give it a mass, or make it static or kinematic") from None
        bodies.mass[own], bodies.inertia[own], bodies.center_of_mass[own] = known.mass, known.inertia, known.center_of_mass


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


def step(world: World, dt: float, substeps: int) -> None:
    """See `World.step`."""
    from thud.dynamics.contact_solver import solve_step

    world._begin("step")
    bodies = world._bodies
    fill_masses(bodies, world._shapes)
    free = responds(bodies)
    if world._records.width < KEPT:
        world._records.widen(KEPT)
    solver = _solver_bodies(world, free)
    size = _smallest(world, free)
    margin = _margin(world, size, solver, dt)
    found = find_contacts(world, margin, _POINTS)
    rows = np.repeat(found.rows, found.count, axis=0)
    solid = np.repeat(~found.sensor, found.count) & (free[rows[:, 0]] | free[rows[:, 1]])
    chosen = np.flatnonzero(solid)
    rows = np.ascontiguousarray(rows[chosen])
    points = ContactPoints(np.zeros((len(chosen), POINT)), rows)
    for column, own, rule in (
        (FRICTION, bodies.friction, world.friction_rule),
        (RESTITUTION, bodies.restitution, world.restitution_rule),
    ):
        points.reals[:, column] = RULES[rule](own[rows[:, 0]], own[rows[:, 1]])
    former = world._records.columns[chosen]
    with world.stats.phase("solve"):
        solve_step(
            solver, points, np.ascontiguousarray(found.point[chosen]), np.ascontiguousarray(found.normal[chosen]),
            np.ascontiguousarray(found.depth[chosen]), np.ascontiguousarray(former), contact_softness(dt / substeps), dt,
            substeps, PUSH_SPEED, SLOP_SIZE * size, world.bounce_threshold,
        )  # fmt: skip
    _keep_impulses(world, points, chosen, dt)
    _put_back(world, solver, free)
    world.time += dt


def _solver_bodies(world: World, free: Bools) -> SolverBodies:
    """Bodies as the solver has them, by rows of the table."""
    bodies, used = world._bodies, world._bodies.used
    every = np.arange(used)
    inertia = bodies.inertia[:used]
    known = world._moments
    if known is None or known.inertia.shape != inertia.shape or not np.array_equal(known.inertia, inertia, equal_nan=True):
        known = world._moments = Moments.of(inertia)
    reals = np.zeros((used, BODY))
    centers = centers_of(bodies, every)
    w = bodies.angular_velocity[:used]
    reals[:, X : X + 3] = centers
    reals[:, V : V + 3] = bodies.velocity[:used] + np.cross(w, centers - bodies.poses[:used, 9:])
    reals[:, W : W + 3] = w
    reals[free, INVERSE_MASS] = 1.0 / bodies.mass[:used][free]
    still = ~free & ~(bodies.kinematic[:used] & bodies.present())
    reals[still, V : W + 3] = 0.0
    push = np.zeros((used, 6))
    push[free, :3] = bodies.gravity_scale[:used][free, None] * world.gravity
    push[free, :3] += bodies.force[:used][free] / bodies.mass[:used][free, None]
    push[free, 3:] = bodies.torque[:used][free]
    return SolverBodies(
        reals, np.ascontiguousarray(bodies.poses[:used, :9]), np.ascontiguousarray(np.nan_to_num(inertia).reshape(-1, 9)),
        known.inverse, known.axes, known.moments, push, np.ascontiguousarray(bodies.damping[:used]), np.zeros(used, np.uint8),
    )  # fmt: skip


def _smallest(world: World, free: Bools) -> float:
    """The least side of the boxes about the bodies that move; 0 if none does."""
    world._update()
    bounds = world._bodies.bounds[np.flatnonzero(free)]
    return float((bounds[:, 3:] - bounds[:, :3]).min()) if len(bounds) else 0.0


def _margin(world: World, size: float, solver: SolverBodies, dt: float) -> float:
    """How far contacts are looked for: as far as the fastest body goes in the step, bounded by the smallest body's size."""
    speed = float(np.linalg.norm(solver.reals[:, V : V + 3], axis=1).max(initial=0.0))
    return min(max(dt * (speed + dt * float(np.linalg.norm(world.gravity))), MARGIN_LEAST * size), MARGIN_SIZE * size)


def _keep_impulses(world: World, points: ContactPoints, chosen: Ints, dt: float) -> None:
    """Impulses for the next step, and for who asks."""
    columns, out = world._records.columns, points.reals
    usual = columns[chosen, USUALLY]
    columns[...] = 0.0
    columns[chosen, PRESSED] = out[:, IMPULSE]
    # Of a new point the first load is the usual one.
    share = np.where(usual > 0.0, min(1.0, dt / USUAL_SECONDS), 1.0)
    columns[chosen, USUALLY] = usual + share * (out[:, IMPULSE] - usual)
    for impulse, tangent in ((IMPULSE_1, TANGENT_1), (IMPULSE_2, TANGENT_2)):
        columns[chosen, RUBBED : RUBBED + 3] += out[:, impulse, None] * out[:, tangent : tangent + 3]


def _put_back(world: World, solver: SolverBodies, free: Bools) -> None:
    """Poses and velocities of what moved. What leaves the limits of poses is stopped there."""
    bodies, used = world._bodies, world._bodies.used
    moving = free | (bodies.kinematic[:used] & bodies.present())
    reals, turn = solver.reals, solver.rotation.reshape(-1, 3, 3)
    lost = ~(np.isfinite(reals[:, : W + 3]).all(axis=1) & np.isfinite(solver.rotation).all(axis=1))
    lost |= (np.abs(reals[:, X : X + 3]) > FARTHEST_POSE).any(axis=1)
    world.lost = bodies.handles(np.flatnonzero(lost & moving))
    bodies.velocity[:used][lost & moving] = bodies.angular_velocity[:used][lost & moving] = 0.0
    rows = np.flatnonzero(moving & ~lost)
    arms = np.einsum("nij,nj->ni", turn[rows], -np.nan_to_num(bodies.center_of_mass[rows]))
    poses = np.concatenate([solver.rotation[rows], reals[rows, X : X + 3] + arms], axis=1)
    w = reals[rows, W : W + 3]
    bodies.place(rows, np.ascontiguousarray(poses))
    driven = bodies.kinematic[rows]
    bodies.velocity[rows[~driven]] = (reals[rows, V : V + 3] + np.cross(w, arms))[~driven]
    bodies.angular_velocity[rows[~driven]] = w[~driven]
    bodies.force[:used], bodies.torque[:used] = 0.0, 0.0
