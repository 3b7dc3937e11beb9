"""Triangles of the ground that are near the other body, with what is known of their edges.

The ground is a mesh or a height field. A facet is one of its triangles in the frame of the other body, counter-clockwise seen
from outside. A direction n leads from the ground to the other body; moving that body along n takes it out.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device
from thud.convex.manifold import ALONG, CORNER, OTHER, OWN, SIDE
from thud.math.vec3 import cross, dot, norm2, sub
from thud.mesh.manifolds.tolerances import HAIR, LEAN, THIN

# Columns of facets: corners, unit normal, bend at each edge (radians), way out along the own direction; depth, point midway and
# direction of the closest or deepest pair (of facets of two meshes: mean normal of the piece that it is in).
NORMAL, BEND, WAY_OUT, DEPTH, WITNESS, TOWARD = 9, 12, 15, 16, 17, 20
FACET_REALS = 23

# Columns of their whole numbers: face row, vertices, edges, number of the direction (-1: none yet, -2: dropped, -3: waits for
# its neighbours), whether there is a closest or deepest pair, number of the face in ids (of a mesh its row).
FACE, VERTICES, EDGES, DIRECTION, WITNESSED, NAME = 0, 1, 4, 7, 8, 9
FACET_INTS = 10

OPEN_QUESTION, DROPPED, WAITS = -1, -2, -3

#: Bends above this (radians) mean that there is no second triangle.
FREE = 3.14159


@device
def facet_corner(facets, k, c):
    """Corner c of facet k."""
    return facets[k, 3 * c], facets[k, 3 * c + 1], facets[k, 3 * c + 2]


@device
def facet_normal(facets, k):
    """Unit normal of facet k, out of the ground."""
    return facets[k, NORMAL], facets[k, NORMAL + 1], facets[k, NORMAL + 2]


@device
def other_bend(bend):
    """The bend at an edge seen from the other side; where there is no second triangle it stays free."""
    return bend if bend > FREE else -bend


@device
def set_facet(facets, ints, k, corners, bends, face, name, vertices, edges):
    """Write facet k; False if it is so thin that it has no normal."""
    p, q, s = corners
    d, e = sub(q, p), sub(s, p)
    n = cross(d, e)
    n2 = norm2(n)
    longest2 = max(norm2(d), max(norm2(e), norm2(sub(s, q))))
    if not n2 > THIN * longest2 * longest2:
        return False
    length = math.sqrt(n2)
    facets[k, 0], facets[k, 1], facets[k, 2] = p
    facets[k, 3], facets[k, 4], facets[k, 5] = q
    facets[k, 6], facets[k, 7], facets[k, 8] = s
    facets[k, NORMAL], facets[k, NORMAL + 1], facets[k, NORMAL + 2] = n[0] / length, n[1] / length, n[2] / length
    facets[k, BEND], facets[k, BEND + 1], facets[k, BEND + 2] = bends
    ints[k, FACE], ints[k, NAME], ints[k, DIRECTION], ints[k, WITNESSED] = face, name, OPEN_QUESTION, 0
    ints[k, VERTICES], ints[k, VERTICES + 1], ints[k, VERTICES + 2] = vertices
    ints[k, EDGES], ints[k, EDGES + 1], ints[k, EDGES + 2] = edges
    return True


@device
def may_lean(facets, k, n):
    """Whether the unit vector n is a normal of the surface at facet k: it leans over no edge by more than the surface bends
    there. So an edge between two triangles in one plane has no normal but theirs, and no body catches on it."""
    m = facet_normal(facets, k)
    up, leans = dot(n, m), False
    for c in range(3):
        p, q = facet_corner(facets, k, c), facet_corner(facets, k, (c + 1) % 3)
        # Outward across the edge, in the facet's plane.
        o = cross(sub(q, p), m)
        over = dot(n, o) / math.sqrt(norm2(o))
        # Where n is all but along the edge, roundoff decides nothing.
        if over > LEAN:
            leans = True
            if math.atan2(over, up) > facets[k, BEND + c] + LEAN:
                return False
    # What points inward leads out over a sharp edge only.
    return leans or up > 0.0


@device
def load_polygon(facets, ints, k, out, wider):
    """The facet as a polygon of `convex/manifold.py`; what is clipped by it is clipped by one `wider` by a hair, so that what
    stands on its edge is not lost."""
    p, q, s = facet_corner(facets, k, 0), facet_corner(facets, k, 1), facet_corner(facets, k, 2)
    grow = 1.0 + HAIR if wider else 1.0
    for c in range(3):
        corner = p if c == 0 else (q if c == 1 else s)
        for axis in range(3):
            middle = (p[axis] + q[axis] + s[axis]) / 3.0
            out[c, axis] = middle + grow * (corner[axis] - middle)
        out[c, OWN], out[c, OTHER] = CORNER + np.float64(ints[k, VERTICES + c]), 0.0
        out[c, ALONG] = SIDE + np.float64(ints[k, EDGES + c])


@device
def highest_corner(facets, k, n):
    """How far facet k reaches along n."""
    return max(dot(n, facet_corner(facets, k, 0)), max(dot(n, facet_corner(facets, k, 1)), dot(n, facet_corner(facets, k, 2))))


@device
def turn_facet(facets, ints, k):
    """Let the other side of facet k face outward."""
    for c in range(3):
        facets[k, 3 + c], facets[k, 6 + c] = facets[k, 6 + c], facets[k, 3 + c]
        facets[k, NORMAL + c] = -facets[k, NORMAL + c]
        facets[k, BEND + c] = other_bend(facets[k, BEND + c])
    ints[k, VERTICES + 1], ints[k, VERTICES + 2] = ints[k, VERTICES + 2], ints[k, VERTICES + 1]
    # The edges run the other way: the first and the last change places.
    facets[k, BEND], facets[k, BEND + 2] = facets[k, BEND + 2], facets[k, BEND]
    ints[k, EDGES], ints[k, EDGES + 2] = ints[k, EDGES + 2], ints[k, EDGES]
