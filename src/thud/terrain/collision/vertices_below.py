"""The final test of [Yang]: is a vertex of a part below the surface, by backward projection (2.4.2)?

As 3.6 and 5.1 describe the old method, every vertex of the object is projected onto every primitive near the object
(`every_vertex_below`). By 2.6 only those are that lie between the bounding planes of the primitive (`vertices_below`); those
below the lower one count as inside as far down as there is ground.

The paper has no word for what is below a sheet but above the next one. Where a projection ends below the sheet, the point
itself is asked whether it is ground (`ground_walk.in_ground`).
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud.math.pose import transform
from thud.shapes.packed import KIND
from thud.shapes.shape import HALF_SPACE
from thud.terrain.collision.counts import ALPHA_PLANE, CUBIC, PROJECTED, VERTICES_BEYOND
from thud.terrain.collision.ground import BELOW, compare, height_over, project, vertex
from thud.terrain.collision.ground_walk import in_ground
from thud.terrain.collision.meets import part_point, vertex_count
from thud.terrain.projection.aligned_plane import aligned_project
from thud.terrain.projection.alpha_plane import newton_project
from thud.terrain.projection.alpha_triangle import AMBIGUOUS, INSIDE, UNCONVERGED
from thud.terrain.surface_arrays import LEAST, LOWER, MOST, UPPER, V3

_I = np.int64


@kernel(inner="surface, i8, vec3, i8, work_space")
def vertex_below(surface, k, p, projection, space):
    """Whether a vertex, projected backwards onto primitive k, is below the surface and in the ground (2.4.2)."""
    least, most = surface.planes[k, LEAST] - surface.thickness, surface.planes[k, MOST]
    if projection == CUBIC or surface.primitives[k, V3] >= 0:
        status, u, v, length = project(surface, k, p, least, most)
    else:
        p0, p1, p2 = vertex(surface, k, 0, 0), vertex(surface, k, 1, 0), vertex(surface, k, 2, 0)
        n0, n1, n2 = vertex(surface, k, 0, 3), vertex(surface, k, 1, 3), vertex(surface, k, 2, 3)
        if projection == ALPHA_PLANE:
            found = newton_project(p, p0, p1, p2, n0, n1, n2, least, most, most)
            status, u, v, length = found[0], found[1], found[2], found[3]
        else:
            found3 = aligned_project(p, p0, p1, p2, n0, n1, n2, least, most)
            status, u, v, length = found3[0], found3[1], found3[2], found3[3]
    if status == UNCONVERGED and projection == CUBIC:
        return in_ground(surface, p, space)[0]
    if status != INSIDE and status != AMBIGUOUS:
        return False
    return compare(surface, k, p, u, v, length, space.corners)[0] == BELOW and in_ground(surface, p, space)[0]


@device
def own_vertices(parts, b):
    """How many vertices a part has; of what is curved six extreme points. A half-space has none: whether it meets the surface
    is left to the patches."""
    return vertex_count(parts, b) if parts.ints[b, KIND] != HALF_SPACE else _I(0)


@device
def between_planes(surface, k, p):
    """Whether a point is between the bounding planes of primitive k (2.6), or below the lower one where there may be ground."""
    return surface.planes[k, LOWER] + min(surface.fall[k, 0], 0.0) <= height_over(surface, k, p) <= surface.planes[k, UPPER]


@kernel(inner="surface, parts, i8, mat3, vec3, i8, i8, work_space, i8[::1]")
def every_vertex_below(surface, parts, b, r, t, k, projection, space, counts):
    """Whether any vertex of a part is below the surface of primitive k: all are projected until one is."""
    for which in range(own_vertices(parts, b)):
        counts[PROJECTED] += 1
        if vertex_below(surface, k, transform(r, t, part_point(parts, b, which)), projection, space):
            return True
    return False


@kernel(inner="surface, parts, i8, mat3, vec3, i8, i8, work_space, i8[::1]")
def vertices_below(surface, parts, b, r, t, k, projection, space, counts):
    """The first vertex of a part that is below the surface of primitive k, or -1: those between the planes are projected
    until one is."""
    for which in range(own_vertices(parts, b)):
        p = transform(r, t, part_point(parts, b, which))
        if not between_planes(surface, k, p):
            counts[VERTICES_BEYOND] += 1
            continue
        counts[PROJECTED] += 1
        if vertex_below(surface, k, p, projection, space):
            return _I(which)
    return _I(-1)
