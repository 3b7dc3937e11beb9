"""What the row kernels of manifolds share: where contacts are written to, and the work space of a thread."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, view_device
from thud._core.status import OVERLAPPING
from thud.convex.manifold import ManifoldSpace, new_manifold_space
from thud.convex.own_parts import own_parts
from thud.convex.rows.work_space import EpaSpace, new_epa_space
from thud.convex.tolerances import EPA_FACES_FIRST
from thud.math.pose import rotate, transform
from thud.math.vec3 import dot
from thud.mesh.manifolds.directions import DIRECTION_REALS, direction
from thud.mesh.manifolds.facets import FACE, FACET_INTS, FACET_REALS
from thud.mesh.manifolds.pair_columns import PAIR_INTS, PAIR_REALS
from thud.mesh.manifolds.spread import FACET, FACET_B, HOW_DEEP, OF_GROUND, OF_OTHER, POINT
from thud.mesh.manifolds.tolerances import DIRECTIONS, OFF
from thud.shapes.packed import Packed

# Columns of a contact: depth, unit normal from the ground, point midway, number of its patch, features of the ground and of the
# other body, face rows of both (-1: no mesh).
DEEP, ALONG_N, MIDWAY, PATCH, GROUND, OTHER_SIDE, FACE_GROUND, FACE_OTHER = 0, 1, 4, 7, 8, 9, 10, 11
CONTACT = 12

#: Added to a feature where the same two touch in several patches, so that each point has an id of its own. Features are
#: smaller.
AGAIN = float(1 << 30)

#: Normals whose cosine is above this are one (6e-6 rad): faces that carry give the same one however far they are looked for.
ONE_NORMAL = 1.0 - 2e-11

#: Room for points of one patch before they are thinned out (a count).
_POINTS = 1024


class ManifoldRows(NamedTuple):
    """Contacts of N rows, as far as they fit."""

    contacts: Floats
    """(N, room, CONTACT) world frame."""
    counts: Ints
    """(N,) how many a row has."""
    needed: Ints
    """(N,) how many facets there must be room for."""
    status: npt.NDArray[np.uint8]
    """(N,)"""


class FacetSpace(NamedTuple):
    """What a thread writes to."""

    facets: Floats
    ints: Ints
    keys: Ints
    """Facets found, to be sorted."""
    directions: Floats
    points: Floats
    epa: EpaSpace
    polygons: ManifoldSpace


@view_device
def new_facet_space(room, corners):
    """For so many facets, and faces of so many corners."""
    return FacetSpace(
        np.empty((room, FACET_REALS)), np.empty((room, FACET_INTS), np.int64), np.empty(room, np.int64),
        np.empty((DIRECTIONS, DIRECTION_REALS)), np.empty((_POINTS, POINT)), new_epa_space(EPA_FACES_FIRST),
        new_manifold_space(corners),
    )  # fmt: skip


@view_device
def own_packed(packed):
    """The same with parts of its own to write over."""
    return Packed(
        packed.shape_ints, own_parts(packed.parts), packed.part_poses, packed.planes, packed.loop_starts, packed.loops,
        packed.edges, packed.node_boxes, packed.node_ints,
    )  # fmt: skip


@device
def face_of(ints, facet):
    """Face row of a facet; -1 - k stands for face k itself."""
    k = np.int64(facet)
    return np.float64(ints[k, FACE] if k >= 0 else -1 - k)


@device
def same_name(contacts, row, filled, ground, other):
    """How many contacts of the row, of other patches, have these features already, up to 3."""
    again = 0
    for k in range(filled):
        own, own_other = contacts[row, k, GROUND], contacts[row, k, OTHER_SIDE]
        own, own_other = own - AGAIN if own >= AGAIN else own, own_other - AGAIN if own_other >= AGAIN else own_other
        if own == ground and own_other == other:
            again += 1
    return min(again, 3)


@device
def put_contacts(out, row, filled, space, d, many, patch, r, t, margin, ints_b, of_mesh):
    """Contacts noted in a row after `many` points of direction d, which are one patch; (r, t) is their frame in the world.
    of_mesh: whether the other body has facets too, ints_b. What touches by roundoff alone is at most `margin` apart."""
    n = rotate(r, direction(space.directions, d))
    points = space.points
    for k in range(many):
        if filled < out.contacts.shape[1]:
            p = transform(r, t, (points[k, 0], points[k, 1], points[k, 2]))
            out.contacts[row, filled, DEEP] = max(points[k, HOW_DEEP], -margin)
            out.contacts[row, filled, PATCH] = np.float64(patch)
            for c in range(3):
                out.contacts[row, filled, ALONG_N + c], out.contacts[row, filled, MIDWAY + c] = n[c], p[c]
            again = same_name(out.contacts, row, filled, points[k, OF_GROUND], points[k, OF_OTHER])
            # The greater number is marked first, whichever body's it is.
            first, second = (1, 2) if points[k, OF_GROUND] >= points[k, OF_OTHER] else (2, 1)
            out.contacts[row, filled, GROUND] = points[k, OF_GROUND] + (AGAIN if again & first else 0.0)
            out.contacts[row, filled, OTHER_SIDE] = points[k, OF_OTHER] + (AGAIN if again & second else 0.0)
            out.contacts[row, filled, FACE_GROUND] = face_of(space.ints, points[k, FACET])
            out.contacts[row, filled, FACE_OTHER] = face_of(ints_b, points[k, FACET_B]) if of_mesh else -1.0
        filled += 1
    return filled


@device
def patch_along(contacts, row, filled, n):
    """(number of the patch of a row that has the normal n, place behind its last contact, how many it has); (-1, filled, 0) if
    there is none."""
    patch, behind, many = np.float64(-1.0), filled, np.int64(0)
    for k in range(filled):
        along = (contacts[row, k, ALONG_N], contacts[row, k, ALONG_N + 1], contacts[row, k, ALONG_N + 2])
        if dot(along, n) > ONE_NORMAL:
            patch, behind, many = contacts[row, k, PATCH], k + 1, many + 1
    return patch, behind, many


@device
def move_last(contacts, row, filled, many, behind):
    """The last `many` of the contacts of a row go behind another patch, whose number and normal they have from now on."""
    for k in range(many):
        place = behind + k
        for c in range(CONTACT):
            last = contacts[row, filled - many + k, c]
            for j in range(filled - many + k, place, -1):
                contacts[row, j, c] = contacts[row, j - 1, c]
            contacts[row, place, c] = last
        contacts[row, place, PATCH] = contacts[row, behind - 1, PATCH]
        for c in range(3):
            contacts[row, place, ALONG_N + c] = contacts[row, behind - 1, ALONG_N + c]


@device
def deepest_contact(out, row):
    """The greatest depth of a row."""
    deepest = -math.inf
    for k in range(out.counts[row]):
        deepest = max(deepest, out.contacts[row, k, DEEP])
    return deepest


@device
def is_as_deep(deep, truth):
    """Whether a depth is the true one but for a tenth."""
    return (1.0 - OFF) * truth <= deep <= (1.0 + OFF) * truth


@device
def keep_contacts(contacts, row, many, spare):
    """Keep the first contacts of a row in `spare`."""
    for k in range(many):
        for c in range(CONTACT):
            spare[k, c] = contacts[row, k, c]


@device
def put_back(spare, many, out, row):
    """The row has the kept contacts, which overlap, again."""
    out.counts[row], out.status[row] = many, OVERLAPPING
    for k in range(many):
        for c in range(CONTACT):
            out.contacts[row, k, c] = spare[k, c]


class PairSpace(NamedTuple):
    """What a thread writes to beside `FacetSpace`, which has A's facets."""

    facets: Floats
    """Of B."""
    ints: Ints
    keys: Ints
    pairs: Ints
    """(room, PAIR_INTS)"""
    gaps: Floats
    """(room, PAIR_REALS)"""
    queue: Ints
    """Triangles that a flood has reached."""
    seen: Ints
    """Tables of what was looked at; a power of two."""
    beyond: Ints
    """(room, 3) facets beyond the edges."""


@view_device
def new_pair_space(room):
    """For so many facets of a side, and as many pairs."""
    slots = 64
    while slots < 8 * room:
        slots *= 2
    return PairSpace(
        np.empty((room, FACET_REALS)), np.empty((room, FACET_INTS), np.int64), np.empty(room, np.int64),
        np.empty((room, PAIR_INTS), np.int64), np.empty((room, PAIR_REALS)), np.empty(room, np.int64),
        np.empty(slots, np.int64), np.empty((room, 3), np.int64),
    )  # fmt: skip
