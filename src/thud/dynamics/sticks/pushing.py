"""What bodies feel of the points that touch them: impulses, by the world's own `apply_impulse`."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud.dynamics.sticks.obstacles import CollisionQueries, Obstacles
from thud.dynamics.sticks.types import FASTEST, FELT, PUSH, STRUCK, STRUCK_TWIST, TWIST


def push_bodies(world: CollisionQueries, felt: list[tuple[Obstacles, Floats]]) -> None:
    """Hand over the impulses of a step: bodies and (B, PUSH) pushes, columns as in `types.py`, of each look at the world.

    Points meet a body as a wall: it does not give way within the step. So an impact gives a light body more than it would take:
    it is limited to what brings it to the speed of what hits it.
    """
    chosen = [np.flatnonzero(obstacles.free & (pushes != 0.0).any(axis=1)) for obstacles, pushes in felt]
    if not sum(len(rows) for rows in chosen):
        return
    every = np.concatenate([obstacles.handles[rows] for (obstacles, _), rows in zip(felt, chosen, strict=True)])
    places = np.concatenate([obstacles.poses[rows] for (obstacles, _), rows in zip(felt, chosen, strict=True)])
    parts = np.concatenate([pushes[rows] for (_, pushes), rows in zip(felt, chosen, strict=True)])
    # All looks of a step together: what limits an impact is its sum.
    handles, first, place = np.unique(every, return_index=True, return_inverse=True)
    poses, found = places[first], np.zeros((len(handles), PUSH))
    np.add.at(found, place, parts)
    found[:, FASTEST] = 0.0
    np.maximum.at(found[:, FASTEST], place, parts[:, FASTEST])
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
