"""What the kernels of characters take and write: arrays that travel together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.dynamics.characters.tolerances import HITS

# Columns of Obstacles.runs. FIRST, STOP: triangles. PART: a curved convex part instead, -1 for none. BODY: whose it is. SOLID:
# whether the triangles have an inside.
FIRST, STOP, PART, BODY, SOLID = range(5)
RUN_INTS = 5

# Columns of rules.
DT, GRAVITY, STEP_HEIGHT, STEEPEST = range(4)

# What a hit was met by.
WALK, STEP, FALL, CARRY, PUSH = range(5)

# How a move ended.
DONE, LIMITED, OVERLAPPING = range(3)


class Obstacles(NamedTuple):
    """All that is in reach of N characters. Each run is one body's part for one character.

    Triangles are in the character's own space: relative to where it starts, divided by its radii, so that it is the unit
    sphere about the origin ([Slides], M = diag(1/x, 1/y, 1/z)).
    """

    first: Ints
    """(N + 1,) where the runs of each character begin."""
    runs: Ints
    """(M, RUN_INTS) columns as above."""
    poses: Floats
    """(M, 12) of the body's part relative to where the character starts, metres."""
    corners: Floats
    """(T, 9) triangles."""
    planes: Floats
    """(T, 4) unit normal and offset; 0 for a triangle without area."""


class Movers(NamedTuple):
    """N characters before a move, world frame, metres."""

    position: Floats
    radii: Floats
    motion: Floats
    carry: Floats
    """(N, 3) by what the body that it stands on has moved it since."""
    carrier: Ints
    """(N,) that body, as in `runs`; -1 for none."""
    fall: Floats
    """(N,) m/s upward."""
    grounded: npt.NDArray[np.uint8]
    ground_normal: Floats


class Moved(NamedTuple):
    """N characters after it."""

    position: Floats
    fall: Floats
    grounded: npt.NDArray[np.uint8]
    ground_normal: Floats
    ground_point: Floats
    ground_body: Ints
    status: npt.NDArray[np.uint8]
    hit_count: Ints
    hit_ints: Ints
    """(N, HITS, 2) body, and what it was met by."""
    hit_reals: Floats
    """(N, HITS, 6) point and normal, world frame."""


def new_moved(count: int) -> Moved:
    """Room for N characters."""
    return Moved(
        np.empty((count, 3)), np.empty(count), np.empty(count, np.uint8), np.empty((count, 3)), np.empty((count, 3)),
        np.empty(count, np.int64), np.empty(count, np.uint8), np.zeros(count, np.int64), np.empty((count, HITS, 2), np.int64),
        np.empty((count, HITS, 6)),
    )  # fmt: skip
