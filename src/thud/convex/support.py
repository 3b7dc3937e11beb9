"""Support mappings: the farthest point of a convex part's core along a direction, in the part's own frame.

The core of a sphere is its centre, of a capsule its segment; the rounding radius is added by the callers. The
direction need not be of unit length.

A part is loaded once into a tuple of scalars, (kind, first vertex, end of the scan, row of its links or -1, p0, p1,
p2): passing arrays into helpers costs a reference count each time, which is what made this loop slow.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.simd import support_index
from thud.shapes.packed import KIND, LINK_START, P0, P1, P2, SCAN_COUNT, VERTEX_COUNT, VERTEX_START
from thud.shapes.shape import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HULL


@device
def load_part(parts, k):
    """Part k as the scalars that `support` reads."""
    start = parts.ints[k, VERTEX_START]
    link_row = parts.ints[k, LINK_START]
    if parts.ints[k, VERTEX_COUNT] <= parts.ints[k, SCAN_COUNT]:
        link_row = -1
    return (
        parts.ints[k, KIND],
        start,
        start + parts.ints[k, SCAN_COUNT],
        link_row,
        parts.reals[k, P0],
        parts.reals[k, P1],
        parts.reals[k, P2],
    )


@kernel
def climb(parts, start, link_row, vertex, d):
    """Walk from `vertex` (a column of parts.vertices) to ever higher neighbours along d; returns the top.

    On a convex polytope a vertex with no higher neighbour is the highest.
    """
    height = parts.vertices[0, vertex] * d[0] + parts.vertices[1, vertex] * d[1] + parts.vertices[2, vertex] * d[2]
    while True:
        best = vertex
        row = link_row + vertex - start
        for k in range(parts.link_starts[row], parts.link_starts[row + 1]):
            other = start + parts.links[k, 0]
            value = parts.vertices[0, other] * d[0] + parts.vertices[1, other] * d[1] + parts.vertices[2, other] * d[2]
            if value > height:
                height, best = value, other
        if best == vertex:
            return vertex
        vertex = best


@device
def hull_support(parts, start, stop, link_row, d):
    """Column of the hull's vertex farthest along d: a SIMD scan; for large hulls of a well-spread sample, then uphill."""
    found = support_index(parts.vertices, start, stop, d[0], d[1], d[2])
    if link_row >= 0:
        found = climb(parts, start, link_row, found, d)
    return found


@device
def box_support(hx, hy, hz, d):
    """Corner of a box farthest along d."""
    return math.copysign(hx, d[0]), math.copysign(hy, d[1]), math.copysign(hz, d[2])


@kernel
def curved_support(kind, p0, p1, p2, d):
    """Support of the kinds that are neither hull nor box."""
    if kind == CAPSULE:
        return 0.0, 0.0, math.copysign(p1, d[2])
    if kind == CYLINDER:
        across = math.sqrt(d[0] * d[0] + d[1] * d[1])
        if across > 0.0:
            return p0 * (d[0] / across), p0 * (d[1] / across), math.copysign(p1, d[2])
        return 0.0, 0.0, math.copysign(p1, d[2])
    if kind == CONE:
        # The apex wins where d points more upwards than the cone's side does.
        across = math.sqrt(d[0] * d[0] + d[1] * d[1])
        if 2.0 * p1 * d[2] >= p0 * across:
            return 0.0, 0.0, p1
        if across > 0.0:
            return p0 * (d[0] / across), p0 * (d[1] / across), -p1
        return 0.0, 0.0, -p1
    if kind == ELLIPSOID:
        # Scale by the largest component, so that tiny directions do not underflow.
        largest = max(abs(d[0]), abs(d[1]), abs(d[2]))
        if largest > 0.0:
            x, y, z = p0 * (d[0] / largest), p1 * (d[1] / largest), p2 * (d[2] / largest)
            length = math.sqrt(x * x + y * y + z * z)
            return p0 * (x / length), p1 * (y / length), p2 * (z / length)
        return p0, 0.0, 0.0
    return 0.0, 0.0, 0.0  # a sphere's centre


@device
def support(parts, part, d):
    """Farthest point of the part's core along d, part's frame; `part` from `load_part`."""
    kind, start, stop, link_row, p0, p1, p2 = part
    if kind == HULL:
        i = hull_support(parts, start, stop, link_row, d)
        return parts.vertices[0, i], parts.vertices[1, i], parts.vertices[2, i]
    if kind == BOX:
        return box_support(p0, p1, p2, d)
    return curved_support(kind, p0, p1, p2, d)
