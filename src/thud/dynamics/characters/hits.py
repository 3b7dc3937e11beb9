"""What a move writes of its hits and of its end: devices of both methods."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device
from thud.dynamics.characters.tolerances import HITS
from thud.dynamics.characters.types import BODY
from thud.dynamics.characters.unit_sphere import times, world_normal


@device
def begin_row(moved, row):
    """No hits, no ground."""
    moved.hit_count[row], moved.grounded[row], moved.ground_body[row], moved.status[row] = 0, 0, -1, 0
    for k in range(3):
        moved.ground_normal[row, k], moved.ground_point[row, k] = 0.0, 0.0


@device
def note_hit(obstacles, movers, moved, row, radii, normal, point, run, what):
    """One more hit."""
    k = moved.hit_count[row]
    if k >= HITS:
        return
    moved.hit_count[row] = k + 1
    moved.hit_ints[row, k, 0], moved.hit_ints[row, k, 1] = obstacles.runs[run, BODY], what
    n, p = world_normal(normal, radii), times(point, radii)
    for c in range(3):
        moved.hit_reals[row, k, c], moved.hit_reals[row, k, 3 + c] = movers.position[row, c] + p[c], n[c]


@device
def note_ground(obstacles, movers, moved, row, radii, normal, point, run):
    """What it stands on."""
    moved.grounded[row], moved.ground_body[row] = 1, obstacles.runs[run, BODY]
    n, p = world_normal(normal, radii), times(point, radii)
    for c in range(3):
        moved.ground_normal[row, c], moved.ground_point[row, c] = n[c], movers.position[row, c] + p[c]


@device
def end_row(movers, moved, row, radii, c, fall):
    """Where it is and how fast it falls."""
    for k in range(3):
        moved.position[row, k] = movers.position[row, k] + c[k] * radii[k]
    moved.fall[row] = fall


@device
def worse(moved, row, status):
    """The worst that happened."""
    moved.status[row] = max(moved.status[row], np.uint8(status))
