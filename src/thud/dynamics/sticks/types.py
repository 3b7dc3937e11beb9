"""What the kernels of sticks take and write: arrays that travel together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints

Int32 = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

# Kinds of pairs: a point (0) and a face (1, 2, 3); two edges (0, 1) and (2, 3).
FACE, EDGES = 0, 1

# What a stick resists: both, being longer, being shorter.
BOTH, LONGER, SHORTER = 0, 1, -1

# Columns of rules. H: seconds of a sub-step. FADE: what is left of a velocity after it. OWN_GAP, BODY_GAP: kept between surfaces
# of cloth, and to bodies, metres. OWN_FRICTION: coefficient.
H, PULL, FADE, OWN_GAP, BODY_GAP, OWN_FRICTION = 0, 1, 4, 5, 6, 7
RULES = 8

# Columns of counts. DONE: sub-steps that were made. OUTSIDE: points that left their boxes. Then sums over the step: HELD pairs
# that were held back, CROSSED pairs that could not be kept apart, PUSHES rounds that it took, CONTACTS in the last sub-step.
DONE, OUTSIDE, HELD, CROSSED, PUSHES, CONTACTS = range(6)
COUNTS = 6

# Columns of a contact: normal from B to A, weights of the four points, gap to keep, impulse times h along the normal and across
# it, friction, sum of weight^2 over mass, how fast the two approached.
NORMAL, WEIGHT, GOAL, PRESS, RUB, GRIP, GIVE, APPROACH = 0, 3, 7, 8, 9, 12, 13, 14
CONTACT = 15

# Columns of what bodies feel: impulses and their moments about the world's origin, N s and N m s; those by which points came to
# rest on impact; greatest speed of approach, m/s.
FELT, TWIST, STRUCK, STRUCK_TWIST, FASTEST = 0, 3, 6, 9, 12
PUSH = 13


class Points(NamedTuple):
    """N points of the sticks, then three corners of each of T triangles of bodies, which move as the bodies do."""

    x: Floats
    y: Floats
    """(N + 3T, 3) at the begin and at the end of a sub-step."""
    before: Floats
    after: Floats
    """(N + 3T, 3) where those that nothing pushes are at the begin and at the end of the step."""
    velocity: Floats
    """(N, 3)"""
    give: Floats
    """(N + 3T,) 1 / kg; 0 for what nothing pushes."""
    boxes: Floats
    """(N + 3T, 6) that the points do not leave as long as the pairs are good for."""


class Net(NamedTuple):
    """K sticks, by colours: of one colour no two share a point."""

    ends: Int32
    """(K, 2)"""
    rest: Floats
    compliance: Floats
    """(K,) metres; metres a newton, 0 for a stick."""
    mode: npt.NDArray[np.int8]
    alive: Bytes
    tension: Floats
    """(K,) multipliers of the last sub-step."""
    colours: Ints
    """(C + 1,) first stick of each colour."""


class Pairs(NamedTuple):
    """P pairs of a point and a face, or two edges, that may come near each other."""

    points: Int32
    """(P, 4)"""
    kind: Bytes
    """(P,)"""
    body: Int32
    """(P,) place of the body; -1 for two of cloth."""


class Room(NamedTuple):
    """For what is found in chunks of pairs: contacts, and pairs that would pass each other."""

    contact_count: Ints
    contact_pair: Int32
    contact: Floats
    """(chunks,); (chunks * CHUNK,); (chunks * CHUNK, CONTACT)"""
    fail_count: Ints
    fail_pair: Int32
    fail: Floats
    """(chunks,); (chunks * CHUNK,); (chunks * CHUNK, 4): normal, least gap"""
    stamp: Int32
    """(N,) round in which a point was last held back."""


class Grid(NamedTuple):
    """Items in cells: points, edges, faces; of each kind first those of cloth, then those of bodies."""

    items: Int32
    """(I, 3) points; of an edge the last is there twice, a point three times."""
    boxes: Floats
    """(I, 6)"""
    cells: Int32
    """(I, 6) first and last cell along each axis; none if last < first."""
    starts: Ints
    """(2^bits + 1,) where the entries of each place of the table begin."""
    entry: Int32
    key: Ints
    """Item and cell of each entry, by place, then by item."""
    kinds: Ints
    """(4,) first edge, first face, number of items; points of cloth."""
    sides: Ints
    """(3,) cells along each axis."""
