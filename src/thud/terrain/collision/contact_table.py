"""Contacts of one part with the ground while they are found: a row each of a table."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device
from thud.constants import TINY
from thud.math.vec3 import norm2
from thud.terrain.collision.column import load_column, set_face

# Columns of a contact: depth, normal from the ground to the part (3), point on the ground (3), part, number of face and of the
# part's vertex; which of the faces found; 1 where a closest point is on an edge of its face; 1 where the
# depth is one to the tetrahedron of the patch; 1 to be left out; 1 where it is at a vertex of the part.
DEPTH, ALONG, AT, PART, PATCH, ROW, EDGE, ROUGH, OUT, CORNER = 0, 1, 4, 7, 8, 9, 10, 11, 12, 13
CONTACT = 14


@device
def put_contact(contacts, k, depth, n, p, part, number, row, edge):
    """Write contact k."""
    contacts[k, DEPTH], contacts[k, PART], contacts[k, PATCH] = depth, np.float64(part), np.float64(number)
    contacts[k, ALONG], contacts[k, ALONG + 1], contacts[k, ALONG + 2] = n
    contacts[k, AT], contacts[k, AT + 1], contacts[k, AT + 2] = p
    contacts[k, ROW], contacts[k, EDGE] = np.float64(row), (1.0 if edge else 0.0)
    contacts[k, ROUGH], contacts[k, OUT], contacts[k, CORNER] = 0.0, 0.0, 0.0


@device
def contact_point(contacts, k):
    """Its point on the ground."""
    return contacts[k, AT], contacts[k, AT + 1], contacts[k, AT + 2]


@device
def load_face(surface, found, k, space):
    """Face k of those found, as the patch in `space`."""
    load_column(surface, found[k, 1], found[k, 2], found[k, 3], space.tops, space.ends)
    set_face(found[k, 0], space.tops, space.ends, space.corners, space.above)


@device
def unit_or(v, fallback):
    """v of length 1, or the fallback where it has none."""
    length = math.sqrt(norm2(v))
    if not length > TINY:
        return fallback
    return v[0] / length, v[1] / length, v[2] / length
