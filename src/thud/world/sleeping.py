"""Bodies at rest that `step` leaves out, island by island, and what wakes them.

A body wakes if it was given a velocity, a force or another pose, shape or coefficient; if what it touched was removed or
moved; and with its island, if a body that is awake touches one of it. The contacts of sleeping bodies stay known, with their
impulses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Ints
from thud.broadphase.boxes import STATIC
from thud.dynamics.islands import find_islands, rest_islands, wake_islands
from thud.dynamics.tolerances import SLEEP_SPEED
from thud.results import WorldContacts
from thud.world.body_rows import ROW_MASK
from thud.world.joint_table import WORLD
from thud.world.step_rows import FREE, STILL

if TYPE_CHECKING:
    from thud.world.world import World


def rests(world: World) -> bool:
    """Whether nothing has happened since a step that left all bodies asleep."""
    if world._resting is None:
        return False
    world._update()
    if world._resting != _signs(world) or disturbed(world).any():
        world._resting = None
        return False
    return True


def _signs(world: World) -> tuple[object, ...]:
    """What is another one when something has changed."""
    return world._bodies.clock, id(world._current_rules()), world._joints.changes, world.gravity.tobytes()


def wake_rows(world: World, rows: Ints) -> None:
    """Wake bodies, and those that they touched in the last step or are joined to: they change, or go."""
    bodies, used = world._bodies, world._bodies.used
    world._resting = None
    if not bodies.asleep[:used].any():
        return
    rows = rows[world._with_sleepers()[rows]]
    marked = np.zeros(used, np.bool_)
    marked[rows] = True
    for pairs in (world._records.points.pairs, world._joints.bodies[(world._joints.bodies != WORLD).all(axis=1)]):
        ends = pairs & ROW_MASK
        ends = ends[(ends < used).all(axis=1)]
        near = ends[marked[ends].any(axis=1)].ravel()
        bodies.asleep[near], bodies.calm[near] = False, 0.0
    bodies.asleep[rows], bodies.calm[rows] = False, 0.0


def disturbed(world: World) -> Bools:
    """(used,) bodies that were placed or reshaped since the last step, and those that move or are pushed."""
    bodies, used = world._bodies, world._bodies.used
    found: Bools = np.asarray(bodies.velocity[:used].any(axis=1) | bodies.angular_velocity[:used].any(axis=1))
    found &= bodies.rules[:used, STATIC] == 0
    found |= bodies.force[:used].any(axis=1) | bodies.torque[:used].any(axis=1)
    found |= (bodies.revision[:used] != bodies.slept[:used]).any(axis=1)
    return found & bodies.present()


def wake_placed(world: World) -> None:
    """Wake what touched bodies that were placed elsewhere or reshaped since the last step; all if gravity is another."""
    bodies, used = world._bodies, world._bodies.used
    if not bodies.asleep[:used].any():
        return
    if world._gravity_before is not None and not np.array_equal(world._gravity_before, world.gravity):
        some = world._with_sleepers()
        bodies.asleep[:used][some], bodies.calm[:used][some] = False, 0.0
        return
    rows = np.flatnonzero((bodies.revision[:used] != bodies.slept[:used]).any(axis=1) & bodies.alive[:used])
    if len(rows):
        wake_rows(world, rows)


def wake_touched(world: World, found: WorldContacts, role: npt.NDArray[np.uint8]) -> None:
    """Wake what is disturbed or touched by what moves, with its island; those that sleep on are STILL in this step."""
    bodies, used = world._bodies, world._bodies.used
    moves = role == FREE
    joints = np.where(world._joints.bodies == WORLD, -1, world._joints.bodies & ROW_MASK)
    island = np.empty(used, np.int64)
    rows = np.ascontiguousarray(found.rows)
    find_islands(rows, found.sensor, joints, moves, island)
    world._islands, world._gravity_before = island, world.gravity.copy()
    asleep = bodies.asleep[:used]
    if not asleep.any():
        return
    upset = disturbed(world)
    # What is no part of islands wakes those that touch it, if it moves.
    other = upset & ~moves
    if other.any():
        hit = (other[rows[:, 0]] | other[rows[:, 1]]) & ~found.sensor
        upset[rows[hit].ravel()] = True
    was = asleep.copy()
    wake_islands(island, upset, np.empty(used, np.bool_), asleep)
    bodies.calm[:used][was & ~asleep] = 0.0
    role[asleep & moves] = STILL


def fall_asleep(world: World, dt: float) -> None:
    """Islands that have been calm for long enough."""
    bodies, used = world._bodies, world._bodies.used
    bodies.slept[:used] = bodies.revision[:used]
    world._resting = None
    if world.sleep_after is None:
        if bodies.asleep[:used].any():
            bodies.asleep[:used] = False
        return
    rest_islands(
        world._islands, bodies.velocity, bodies.angular_velocity, bodies.bounds, SLEEP_SPEED, dt, world.sleep_after,
        bodies.calm, np.empty(used, np.bool_), bodies.asleep,
    )  # fmt: skip
    free = world._islands >= 0
    if bodies.asleep[:used][free].all() and not driven(world).any():
        world._update()
        world._resting = _signs(world)


def driven(world: World) -> Bools:
    """(used,) bodies that move by their velocities."""
    bodies, used = world._bodies, world._bodies.used
    moving = bodies.velocity[:used].any(axis=1) | bodies.angular_velocity[:used].any(axis=1)
    return bodies.kinematic[:used] & bodies.present() & moving
