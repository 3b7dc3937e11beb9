"""The surface of a field as facets of `mesh/manifolds`: its triangles, the walls where the ground ends, and its underside.

Facet 8 T + s belongs to triangle T. s is TOP, or UNDER: the triangle moved down by the thickness and turned round, or one of
the two triangles of the wall below edge e: LOWER + 2 e (tail, tail below, head below), UPPER + 2 e (tail, head below, head).
Edge e leads from corner e, its tail, to the next, its head; the ground is on its left. Walls of ground without end go down to
below what it is compared with, and on from there: their lower edges bend by nothing. Everything is in the grid's frame.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.bvh.height_tree import DEPTH, cell_corners, triangle_there
from thud.bvh.mesh_edges import bend_between
from thud.heightfield.prism import floor_below, triangle_points
from thud.math.pose import untransform
from thud.math.vec3 import cross, sub
from thud.mesh.manifolds.facets import set_facet

#: Facets of a triangle (a count), and their places.
FACETS = 8
TOP, UNDER, LOWER, UPPER = 0, 1, 2, 3

#: Numbers of faces, edges and vertices in ids go up to this (a count); beyond it they repeat.
_NUMBERS = np.int64(1 << 28)

# Kinds of edges and places of faces in ids.
_ABOVE, _BELOW, _DIAGONAL, _UPRIGHT = 0, 1, 2, 3
_WALL_NAME = 2


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
def facet_there(grid, number, s):
    """Whether triangle `number` has facet s."""
    if s == TOP:
        return True
    if s == UNDER:
        return grid.numbers[DEPTH] < math.inf
    return beyond_edge(grid, number, (s - LOWER) >> 1)[0] < 0


@device
def points_of(grid, number):
    """Corners of a triangle."""
    j, i, k = triangle_of(grid, number)
    return triangle_points(grid, cell_corners(grid, j, i), j, i, k)


@device
def lowered(grid, p, floor):
    """The point of the underside below p, or of the height `floor` where there is none."""
    deep = grid.numbers[DEPTH]
    return p[0], p[1], p[2] - deep if deep < math.inf else floor


@device
def edge_ends(points, e):
    """(tail, head) of edge e of a triangle."""
    p, q, s = points
    return (p, q) if e == 0 else ((q, s) if e == 1 else (s, p))


@kernel(inner="height_grid, i8, f8")
def facet_points(grid, code, low):
    """Corners of a facet. low: how low what the ground is compared with reaches."""
    s = code % FACETS
    p, q, r = points_of(grid, code // FACETS)
    if s == TOP:
        return p, q, r
    if s == UNDER:
        return lowered(grid, p, low), lowered(grid, r, low), lowered(grid, q, low)
    tail, head = edge_ends((p, q, r), (s - LOWER) >> 1)
    floor = floor_below(grid, min(low, min(tail[2], head[2])))
    if (s - LOWER) & 1 == 0:
        return tail, lowered(grid, tail, floor), lowered(grid, head, floor)
    return tail, lowered(grid, head, floor), head


# Edges --------------------------------------------------------------------------------------------------------------------


@kernel
def next_wall(grid, number, e):
    """(triangle, edge) of the wall that begins where the one below edge e of a triangle ends: round the head of that edge,
    through the ground."""
    f = (e + 1) % 3
    other, place = beyond_edge(grid, number, f)
    while other >= 0:
        number, f = other, (place + 1) % 3
        other, place = beyond_edge(grid, number, f)
    return number, f


@kernel
def last_wall(grid, number, e):
    """(triangle, edge) of the wall that ends where the one below edge e begins."""
    f = (e + 2) % 3
    other, place = beyond_edge(grid, number, f)
    while other >= 0:
        number, f = other, (place + 2) % 3
        other, place = beyond_edge(grid, number, f)
    return number, f


@kernel
def facet_beyond(grid, code, c):
    """The facet beyond edge c of a facet; -1 for none."""
    number, s = code // FACETS, code % FACETS
    if s <= UNDER:
        # The underside is turned round.
        e = c if s == TOP else 2 - c
        other, _place = beyond_edge(grid, number, e)
        if other >= 0:
            return FACETS * other + s
        return FACETS * number + (UPPER if s == TOP else LOWER) + 2 * e
    e = (s - LOWER) >> 1
    if (s - LOWER) & 1 == 0:
        if c == 0:
            other, f = last_wall(grid, number, e)
            return FACETS * other + UPPER + 2 * f
        if c == 1:
            return FACETS * number + UNDER if grid.numbers[DEPTH] < math.inf else np.int64(-1)
        return code + 1
    if c == 1:
        other, f = next_wall(grid, number, e)
        return FACETS * other + LOWER + 2 * f
    return code - 1 if c == 0 else FACETS * number


@device
def area_of(points):
    """Area vector of a triangle."""
    return cross(sub(points[1], points[0]), sub(points[2], points[0]))


@device
def wall_normal(tail, head):
    """Horizontal vector out of the wall below an edge."""
    return head[1] - tail[1], tail[0] - head[0], 0.0


@kernel(inner="height_grid, i8, i8")
def edge_bend(grid, number, e):
    """By how much the ground bends at edge e of the top of a triangle, in radians."""
    points = points_of(grid, number)
    tail, head = edge_ends(points, e)
    other, place = beyond_edge(grid, number, e)
    if other < 0:
        return bend_between(tail, (tail[0], tail[1], tail[2] - 1.0), area_of(points), wall_normal(tail, head))
    beyond = points_of(grid, other)
    _tail, apex = edge_ends(beyond, (place + 1) % 3)
    return bend_between(tail, apex, area_of(points), area_of(beyond))


@kernel(inner="height_grid, i8, i8")
def upright_bend(grid, number, e):
    """The same where the wall below edge e of a triangle meets the next one."""
    tail, head = edge_ends(points_of(grid, number), e)
    other, f = next_wall(grid, number, e)
    start, end = edge_ends(points_of(grid, other), f)
    return bend_between(head, end, wall_normal(tail, head), wall_normal(start, end))


@kernel(inner="height_grid, i8, i8")
def lower_bend(grid, number, e):
    """The same where the wall below edge e meets the underside."""
    if not grid.numbers[DEPTH] < math.inf:
        return 0.0
    points = points_of(grid, number)
    tail, head = edge_ends(points, e)
    _head, apex = edge_ends(points, (e + 1) % 3)
    m = area_of(points)
    return bend_between(tail, apex, wall_normal(tail, head), (-m[0], -m[1], -m[2]))


# Ids ----------------------------------------------------------------------------------------------------------------------


@device
def sample_number(grid, number, c):
    """Number of the sample at corner c of a triangle."""
    j, i, k = triangle_of(grid, number)
    wide = grid.columns + 1
    first, last = j * wide + i, (j + 1) * wide + i + 1
    if c == 0:
        return first
    return (first + 1 if c == 1 else last) if k == 0 else (last if c == 1 else last - 1)


@device
def sample_name(number, below):
    """Number of a vertex in ids: that of a sample, or the one below it."""
    return (2 * number + below) % _NUMBERS


@device
def vertex_name(grid, number, c, below):
    """The same of corner c of a triangle."""
    return sample_name(sample_number(grid, number, c), below)


@device
def edge_name(grid, number, e, kind):
    """Number of an edge of the top or the underside in ids, the same from both sides."""
    other, place = beyond_edge(grid, number, e)
    own = 3 * number + e
    return (4 * (own if other < 0 else min(own, 3 * other + place)) + kind) % _NUMBERS


@device
def upright_name(grid, number, c):
    """Number of the upright edge below corner c of a triangle in ids."""
    return (4 * sample_number(grid, number, c) + _UPRIGHT) % _NUMBERS


@device
def face_name(code):
    """Number of a facet in ids; a wall's two triangles have one."""
    s = code % FACETS
    return (FACETS * (code // FACETS) + (s if s < LOWER else _WALL_NAME + ((s - LOWER) >> 1))) % _NUMBERS


# Facets -------------------------------------------------------------------------------------------------------------------


@kernel(inner="height_grid, i8, f8, mat3, vec3, f8[:,::1], i8[:,::1], i8")
def load_field_facet(grid, code, low, r, t, facets, ints, k):
    """Facet `code` of a field as facet k of the frame at (R, t) in the grid's; False if it has no normal."""
    number, s = code // FACETS, code % FACETS
    p, q, o = facet_points(grid, code, low)
    corners = untransform(r, t, p), untransform(r, t, q), untransform(r, t, o)
    if s == TOP:
        bends = edge_bend(grid, number, 0), edge_bend(grid, number, 1), edge_bend(grid, number, 2)
        vertices = vertex_name(grid, number, 0, 0), vertex_name(grid, number, 1, 0), vertex_name(grid, number, 2, 0)
        edges = edge_name(grid, number, 0, _ABOVE), edge_name(grid, number, 1, _ABOVE), edge_name(grid, number, 2, _ABOVE)
    elif s == UNDER:
        bends = under_bend(grid, number, 2), under_bend(grid, number, 1), under_bend(grid, number, 0)
        vertices = vertex_name(grid, number, 0, 1), vertex_name(grid, number, 2, 1), vertex_name(grid, number, 1, 1)
        edges = edge_name(grid, number, 2, _BELOW), edge_name(grid, number, 1, _BELOW), edge_name(grid, number, 0, _BELOW)
    else:
        e = (s - LOWER) >> 1
        head = (e + 1) % 3
        diagonal = (4 * (3 * number + e) + _DIAGONAL) % _NUMBERS
        if (s - LOWER) & 1 == 0:
            other, f = last_wall(grid, number, e)
            bends = upright_bend(grid, other, f), lower_bend(grid, number, e), 0.0
            vertices = vertex_name(grid, number, e, 0), vertex_name(grid, number, e, 1), vertex_name(grid, number, head, 1)
            edges = upright_name(grid, number, e), edge_name(grid, number, e, _BELOW), diagonal
        else:
            bends = 0.0, upright_bend(grid, number, e), edge_bend(grid, number, e)
            vertices = vertex_name(grid, number, e, 0), vertex_name(grid, number, head, 1), vertex_name(grid, number, head, 0)
            edges = diagonal, upright_name(grid, number, head), edge_name(grid, number, e, _ABOVE)
    return set_facet(facets, ints, k, corners, bends, number, face_name(code), vertices, edges)


@device
def under_bend(grid, number, e):
    """The bend of the underside below edge e: where the top is convex it is hollow, by as much."""
    if beyond_edge(grid, number, e)[0] < 0:
        return lower_bend(grid, number, e)
    return -edge_bend(grid, number, e)


@device
def reaches_box(points, box):
    """Whether the box of a triangle meets a box."""
    p, q, s = points
    return (
        min(p[0], min(q[0], s[0])) <= box[1] and max(p[0], max(q[0], s[0])) >= box[0]
        and min(p[1], min(q[1], s[1])) <= box[3] and max(p[1], max(q[1], s[1])) >= box[2]
        and min(p[2], min(q[2], s[2])) <= box[5] and max(p[2], max(q[2], s[2])) >= box[4]
    )  # fmt: skip


@kernel(inner="height_grid, i8[::1], i8, UniTuple(f8, 6), mat3, vec3, f8[:,::1], i8[:,::1]")
def load_near_facets(grid, numbers, found, box, r, t, facets, ints):
    """How many facets of the first `found` triangles are in reach of a box; loads them as far as there is room."""
    many = np.int64(0)
    for k in range(found):
        number = numbers[k]
        end = np.int64(FACETS if at_border(grid, number) else LOWER)
        for s in range(end):
            code = FACETS * number + s
            if facet_there(grid, number, s) and reaches_box(facet_points(grid, code, box[4]), box):
                if many >= facets.shape[0] or load_field_facet(grid, code, box[4], r, t, facets, ints, many):
                    many += 1
    return many
