"""What the kernels of sticks take and write: arrays that travel together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints

Int32 = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Float32 = npt.NDArray[np.float32]

# Kinds of pairs: a point (0) and a face (1, 2, 3); two edges (0, 1) and (2, 3).
FACE, EDGES = 0, 1

# Bits of what a triangle of a body looks after: from 0 on three points, from OWN_EDGE on three edges; IS_FACE.
OWN_EDGE, IS_FACE = 3, 64

# What a stick resists: both, being longer, being shorter.
BOTH, LONGER, SHORTER = 0, 1, -1

# Columns of rules. H: seconds of a sub-step. FADE: what is left of a velocity after it. OWN_GAP, BODY_GAP: kept between
# surfaces of cloth, and to bodies, metres. OWN_FRICTION: coefficient. ORIGIN: from which corridors are measured. In metres:
# DRIFT and MOST, the least and the greatest margin of a point; CALM, by less than which calm points miss where they are thought
# to be; WATCH, half of what beyond the reach of contacts distances of calm leaves are known.
H, PULL, FADE, OWN_GAP, BODY_GAP, OWN_FRICTION, ORIGIN, DRIFT, WATCH, CALM, MOST = 0, 1, 4, 5, 6, 7, 8, 11, 12, 13, 14
RULES = 15

# Columns of counts. DONE: sub-steps that were made. OUTSIDE: points that left their rooms. NEED: pairs or contacts of the
# fullest chunk, if there was no room for them. Then sums over the step: HELD pairs that were held back, CROSSED pairs that
# could not be kept apart, PUSHES rounds that it took, LOOKS for near pairs, CONTACTS in the last sub-step.
DONE, OUTSIDE, NEED, HELD, CROSSED, PUSHES, LOOKS, CONTACTS = range(8)
COUNTS = 8

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
    base: Floats
    margin: Floats
    watch: Float32
    """(N + 3T, 3), (N + 3T,), (N + 3T,): where a point was thought to be at the end of the sub-step when pairs were last looked
    for; by how much it may miss that for them to be good, metres; by how much its corridor is wider at the begin."""
    stray: Float32
    """(N + 3T,) by how much it does."""
    drift: Floats
    """(N,) by how much it did in the sub-step before."""
    low: Floats
    high: Floats
    """(N, 3) a box about each point, in which triangles of bodies are known."""
    rows: Float32
    """(N + 3T, ROW) corridors from `x` to `base`; see `corridors.py`."""
    dirty: Bytes
    """(N + 3T,) whether pairs of the point are to be looked for again."""


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


class Room(NamedTuple):
    """For what is found, in chunks: for each part of the tree those with bodies, then for each those of cloth with itself. Each
    chunk has room for R."""

    pair_count: Ints
    pair_points: Int32
    pair_kind: Bytes
    pair_body: Int32
    """(C,), (C, R, 4), (C, R), (C, R): pairs of a point and a face, or of two edges, that may pass each other. Place of the
    body, -1 for two of cloth."""
    pair_slack: Float32
    """(C, R) metres: how far apart the two are at the end of the sub-step, less what their points stray."""
    contact_count: Ints
    contact_points: Int32
    contact_body: Int32
    contact: Floats
    """(C,), (C, R, 4), (C, R), (C, R, CONTACT)"""
    fail_count: Ints
    fail_pair: Int32
    fail: Floats
    """(C,), (C, R), (C, R, 4): of pairs that would pass each other, normal and least gap."""
    stamp: Int32
    """(N,) round in which a point was last held back."""
    turn: Int32
    """(1,) the next chunk that nobody looks at."""


class Tree(NamedTuple):
    """What of cloth meets things, in L leaves of a heap; node k has the children 2k and 2k + 1."""

    faces: Int32
    edges: Int32
    points: Int32
    """(F, 3), (M, 2), (Q,) points: each edge and point once, by leaves; a leaf begins a block, and -1 fills its last."""
    first_face: Ints
    first_edge: Ints
    first_point: Ints
    """(L + 1,) those of each leaf."""
    face_rows: Float32
    edge_rows: Float32
    nodes: Float32
    """(F, ROW), (M, ROW), (2 L, ROW) corridors."""
    face_blocks: Float32
    edge_blocks: Float32
    point_blocks: Float32
    """(F / LANES, ROW * LANES) and so on: the same by blocks."""
    dirty_faces: Bytes
    dirty_edges: Bytes
    dirty_nodes: Bytes
    """(F,), (M,), (2 L,) whether a point of it is."""
    first_corner: Ints
    corners: Int32
    """(L + 1,), (C,) all points of what is in a leaf, each once a leaf."""
    move: Float32
    moved: Float32
    """(L, 6) boxes about the ways of a leaf's points, lower corner and the negative of the upper: as they are thought to go in
    this sub-step, and as they went in the one before."""
    stray: Float32
    watch: Float32
    """(L,) the greatest margin of its points, and the least of what their corridors are wider by to know distances, metres."""
    other: Int32
    apart: Float32
    when: Ints
    """(L, NEAR) other leaves whose distance is known, of all that is not joined; that distance, metres; at the begin of which
    sub-step."""
    now: Ints
    """(1,) the sub-step."""


class Triangles(NamedTuple):
    """T triangles of bodies, whose corners follow the points of cloth."""

    body: Int32
    """(T,) place of the body."""
    owns: Bytes
    """(T,) bits: the points and edges that a triangle looks after, each one's by one triangle alone."""
    friction: Floats
    """(B,) of cloth with each body."""
    pushes: Floats
    """(B, PUSH) what each feels."""
    rows: Float32
    """(T, ROW) corridors."""


class Desk(NamedTuple):
    """What one member of a team writes on while it looks for pairs."""

    stack: Ints
    """(S, 2) nodes that wait."""
    todo: Int32
    """(W, 5) pairs of two leaves, or of a leaf and a triangle: points and kind."""
    rows: Float32
    """(3, ROW) corridors of a triangle's edges."""
