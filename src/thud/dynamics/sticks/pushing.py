"""What bodies feel of the points that touch them: impulses, by the world's own `apply_impulse`."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud.dynamics.sticks.obstacles import CollisionQueries, Obstacles
from thud.dynamics.sticks.types import FASTEST, FELT, STRUCK, STRUCK_TWIST, TWIST


def push_bodies(world: CollisionQueries, obstacles: Obstacles, pushes: Floats) -> None:
    """Hand over the impulses of a step. pushes: (B, PUSH) columns as in `types.py`.

    Points meet a body as a wall: it does not give way within the step. So an impact gives a light body more than it would take:
    it is limited to what brings it to the speed of what hits it.
    """
    rows = np.flatnonzero(obstacles.free & (pushes != 0.0).any(axis=1)) if len(obstacles.handles) else np.empty(0, np.int64)
    if not len(rows):
        return
    handles, found, poses = obstacles.handles[rows], pushes[rows], obstacles.poses[rows]
    # An impulse of 0: masses that were not given are filled in.
    world.apply_impulse(handles, (0.0, 0.0, 0.0))
    struck = np.linalg.norm(found[:, STRUCK : STRUCK + 3], axis=1)
    most = world.mass(handles) * found[:, FASTEST]
    part = np.where(struck > most, most / np.where(struck > 0.0, struck, 1.0), 1.0)[:, None]
    impulse = found[:, FELT : FELT + 3] + part * found[:, STRUCK : STRUCK + 3]
    moment = found[:, TWIST : TWIST + 3] + part * found[:, STRUCK_TWIST : STRUCK_TWIST + 3]
    center = poses[:, 9:] + np.einsum("nij,nj->ni", poses[:, :9].reshape(-1, 3, 3), world.center_of_mass(handles))
    moment = moment - np.cross(center, impulse)
    world.apply_impulse(handles, impulse, center)
    # The moment about the centre as two opposite impulses: u x (m x u) = m for a unit vector u across m.
    size = np.abs(moment)
    axis = np.eye(3)[np.argmin(size, axis=1)]
    u = np.cross(moment, axis)
    length = np.linalg.norm(u, axis=1)
    turns = np.flatnonzero(length > 0.0)
    if len(turns):
        u, m, c = u[turns] / length[turns, None], moment[turns], center[turns]
        pair = np.cross(m, u)
        world.apply_impulse(handles[turns], 0.5 * pair, c + u)
        world.apply_impulse(handles[turns], -0.5 * pair, c - u)
