"""Triangles of a field as facets of `mesh/manifolds`: their corners, and how the ground bends at their edges."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device
from thud.bvh.height_tree import cell_corners, triangle_there
from thud.bvh.mesh_edges import OPEN, bend_between
from thud.heightfield.prism import triangle_points
from thud.math.pose import untransform
from thud.math.vec3 import cross, sub
from thud.mesh.manifolds.facets import set_facet

#: Numbers of edges and vertices in ids go up to this (a count); beyond it they repeat.
_NUMBERS = np.int64(1 << 28)


@device
def triangle_of(grid, number):
    """(j, i, k) of a triangle's number."""
    cell = number >> 1
    j = cell // grid.columns
    return j, cell - j * grid.columns, number & 1


@device
def at_border(grid, number):
    """Whether the ground ends at an edge of a triangle."""
    j, i, k = triangle_of(grid, number)
    if not triangle_there(grid, j, i, 1 - k):
        return True
    if k == 0:
        return not (triangle_there(grid, j - 1, i, 1) and triangle_there(grid, j, i + 1, 1))
    return not (triangle_there(grid, j + 1, i, 0) and triangle_there(grid, j, i - 1, 0))


@device
def beyond_edge(grid, number, e):
    """(number of the triangle beyond edge e, that edge's place there); (-1, 0) where there is none."""
    j, i, k = triangle_of(grid, number)
    if k == 0:
        y, x, half, place = (j - 1, i, 1, 1) if e == 0 else ((j, i + 1, 1, 2) if e == 1 else (j, i, 1, 0))
    else:
        y, x, half, place = (j, i, 0, 2) if e == 0 else ((j + 1, i, 0, 0) if e == 1 else (j, i - 1, 0, 1))
    if not triangle_there(grid, y, x, half):
        return np.int64(-1), 0
    return 2 * (y * grid.columns + x) + half, place


@device
def points_of(grid, number):
    """Corners of a triangle, in the grid's frame."""
    j, i, k = triangle_of(grid, number)
    return triangle_points(grid, cell_corners(grid, j, i), j, i, k)


@device
def vertex_numbers(grid, number):
    """Numbers of the samples at its corners."""
    j, i, k = triangle_of(grid, number)
    wide = grid.columns + 1
    first, last = j * wide + i, (j + 1) * wide + i + 1
    if k == 0:
        return first % _NUMBERS, (first + 1) % _NUMBERS, last % _NUMBERS
    return first % _NUMBERS, last % _NUMBERS, (last - 1) % _NUMBERS


@device
def edge_of(grid, number, e):
    """(bend at edge e, number of the edge, the same from both sides)."""
    other, place = beyond_edge(grid, number, e)
    own = 3 * number + e
    if other < 0:
        return OPEN, own % _NUMBERS
    p, q, s = points_of(grid, number)
    a, b, c = points_of(grid, other)
    n, m = cross(sub(q, p), sub(s, p)), cross(sub(b, a), sub(c, a))
    start = p if e == 0 else (q if e == 1 else s)
    apex = c if place == 0 else (a if place == 1 else b)
    return bend_between(start, apex, n, m), min(own, 3 * other + place) % _NUMBERS


@device
def load_field_facet(grid, number, r, t, facets, ints, k):
    """Triangle of a field as facet k of the frame at (R, t) in the grid's; False if it has no normal."""
    p, q, s = points_of(grid, number)
    b0, e0 = edge_of(grid, number, 0)
    b1, e1 = edge_of(grid, number, 1)
    b2, e2 = edge_of(grid, number, 2)
    corners = untransform(r, t, p), untransform(r, t, q), untransform(r, t, s)
    return set_facet(facets, ints, k, corners, (b0, b1, b2), number, vertex_numbers(grid, number), (e0, e1, e2))
