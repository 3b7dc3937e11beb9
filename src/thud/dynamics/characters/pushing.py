"""What characters do to the bodies that they meet: impulses, with Newton's third law left to the character's own strength."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.dynamics.characters.obstacles import CollisionQueries, NearBodies
from thud.dynamics.characters.types import FALL, STEP, Moved


def push_bodies(
    world: CollisionQueries,
    near: NearBodies,
    moved: Moved,
    motion: Floats,
    fall: Floats,
    mass: float,
    limit: float,
    weight: float,
) -> None:
    """Push the free bodies that were met.

    motion, fall : (N, 3) and (N,) velocities that the characters wanted to walk and to fall with, m/s
    limit, weight : N s in this move: the greatest push by walking; that of standing on something
    """
    handles, free = near.handles, near.free
    if not free.any():
        return
    # An impulse of 0: masses that were not given are filled in.
    world.apply_impulse(handles[free], (0.0, 0.0, 0.0))
    row, place = np.nonzero(np.arange(moved.hit_ints.shape[1]) < moved.hit_count[:, None])
    body, kind = moved.hit_ints[row, place, 0], moved.hit_ints[row, place, 1]
    chosen = np.flatnonzero(free[body] & (kind != STEP))
    # A body that was met several times is pushed where it was met first.
    _pairs, first = np.unique(np.stack([row[chosen], body[chosen]]), axis=1, return_index=True)
    chosen = chosen[first]
    row, place, body, kind = row[chosen], place[chosen], body[chosen], kind[chosen]
    point, into = moved.hit_reals[row, place, :3], -moved.hit_reals[row, place, 3:]
    falls = kind == FALL
    own = np.where(falls[:, None], fall[row][:, None] * [0.0, 0.0, 1.0], motion[row])
    speed, response = _at_points(world, near, body, point, into)
    approach = np.maximum(np.einsum("ni,ni->n", own, into) - speed, 0.0)
    impulse = approach / (response + 1.0 / mass)
    impulse = np.where(falls, impulse, np.minimum(impulse, limit))
    world.apply_impulse(handles[body], impulse[:, None] * into, point)
    stands = np.flatnonzero((moved.ground_body >= 0) & free[moved.ground_body])
    if len(stands):
        down = np.array([0.0, 0.0, -weight])
        world.apply_impulse(handles[moved.ground_body[stands]], down, moved.ground_point[stands])


def _at_points(world: CollisionQueries, near: NearBodies, body: Ints, point: Floats, along: Floats) -> tuple[Floats, Floats]:
    """(M,) speeds of points of bodies along directions, and by how much 1 N s along them changes those."""
    handles, poses = near.handles[body], near.poses[body]
    turn = poses[:, :9].reshape(-1, 3, 3)
    linear, angular = world.velocities(handles)
    speed = np.einsum("ni,ni->n", linear + np.cross(angular, point - poses[:, 9:]), along)
    center = poses[:, 9:] + np.einsum("nij,nj->ni", turn, world.center_of_mass(handles))
    twist = np.einsum("nji,nj->ni", turn, np.cross(point - center, along))
    spin = np.linalg.solve(world.inertia(handles), twist[:, :, None])[:, :, 0]
    return speed, 1.0 / world.mass(handles) + np.einsum("ni,ni->n", twist, spin)
