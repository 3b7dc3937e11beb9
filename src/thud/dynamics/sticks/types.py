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

# Bits of Tree.owns: from 0 on three points, from OWN_EDGE on three edges, whether it is a face.
OWN_EDGE, IS_FACE = 3, 64

# What a stick resists: both, being longer, being shorter.
BOTH, LONGER, SHORTER = 0, 1, -1

# Columns of rules. H: seconds of a sub-step. FADE: what is left of a velocity after it. OWN_GAP, BODY_GAP: kept between
# surfaces of cloth, and to bodies, metres. OWN_FRICTION: coefficient.
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
    ref: Floats
    way: Floats
    margin: Floats
    """(N + 3T, 3), (N + 3T, 3), (N + 3T,): as long as the pairs are good for, points go from `ref` along `way`, and stray from
    it by no more than a margin along each axis."""
    stray: npt.NDArray[np.float32]
    """(N + 3T,) by what they do, at the begin or at the end of the sub-step."""


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
    slack: npt.NDArray[np.float32]
    """(P,) metres: the two stay this far apart, less what their points stray from their ways."""


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


class Tree(NamedTuple):
    """E elements of cloth: faces, edges without one, points without either."""

    elements: Int32
    """(E, 3) points; of an edge the last is there twice, a point three times."""
    owns: Bytes
    """(E,) bits: the points and edges that the element looks after, each one's by one element alone; IS_FACE."""
    boxes: Floats
    nodes: Floats
    """(E, 12), (2 L, 12) corridors of elements and of the nodes of a heap with L leaves; see `tree.py`."""


class Found(NamedTuple):
    """Room for pairs that are found, in parts."""

    total: Ints
    points: Int32
    kind: Bytes
    body: Int32
    slack: npt.NDArray[np.float32]
    """(parts,), (parts, R, 4), (parts, R), (parts, R), (parts, R)"""
