"""The directions that the contacts of one row are sorted by."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device
from thud.math.vec3 import dot
from thud.mesh.manifolds.tolerances import ALIKE

# Columns: unit direction, how low the other body reaches along it (of two meshes: what pairs it has at
# first, `facet_pairs.py`, in the end 1 if it is in use), whether it had its turn, how deep it is.
LOW, USES, DEEP = 3, 4, 5
DIRECTION_REALS = 6


@device
def direction(directions, d):
    """Direction d."""
    return directions[d, 0], directions[d, 1], directions[d, 2]


@device
def nearest_direction(directions, count, n):
    """(number of the direction most like n, its cosine); (-1, -2) of none."""
    best, at = -2.0, np.int64(-1)
    for d in range(count):
        c = dot(direction(directions, d), n)
        if c > best:
            best, at = c, np.int64(d)
    return at, best


@device
def is_new(directions, count, n):
    """(number of the direction that n is counted to, whether it is a new one)."""
    at, cosine = nearest_direction(directions, count, n)
    if at >= 0 and (cosine >= ALIKE or count == directions.shape[0]):
        return at, False
    return np.int64(count), True


@device
def begin_turns(directions, count):
    """No direction had its turn, and how deep they are is not known."""
    for d in range(count):
        directions[d, DEEP], directions[d, USES] = math.inf, 0.0


@device
def next_turn(directions, count):
    """The least deep direction that had no turn yet, which it has now; -1 if none is left."""
    least = np.int64(-1)
    for d in range(count):
        if directions[d, USES] == 0.0 and directions[d, DEEP] < math.inf:
            if least < 0 or directions[d, DEEP] < directions[least, DEEP]:
                least = np.int64(d)
    if least >= 0:
        directions[least, USES] = 1.0
    return least


@device
def by_depth(directions, count, place):
    """The direction that comes in this place if they are sorted by how deep they are."""
    for d in range(count):
        before = 0
        for e in range(count):
            if directions[e, DEEP] < directions[d, DEEP] or (directions[e, DEEP] == directions[d, DEEP] and e < d):
                before += 1
        if before == place:
            return np.int64(d)
    return np.int64(place)
