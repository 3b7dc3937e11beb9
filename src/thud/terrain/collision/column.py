"""The columns below a patch, of which the ground consists, and the faces at which it ends.

A column is the straight line from a point q(a, b) of a patch against the direction n(a, b), bilinear between those of the four
nodes, as long as the surface is thick: x(a, b, l) = q(a, b) - l n(a, b). It is ground down to the next sheet that crosses
it. The ends of a patch's columns are a bilinear patch, its bottom; the columns over an edge of it are another, a side where
the surface ends there. All of them lie in the ground.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.terrain.collision.patch import patch_point
from thud.terrain.collision.tolerances import GROUND_NEXT, SLAB_ROOM
from thud.terrain.collision.uncut import is_uncut
from thud.terrain.projection.alpha_triangle import AMBIGUOUS, INSIDE, UNCONVERGED
from thud.terrain.projection.bilinear_inverse import bilinear_project
from thud.terrain.sampling import along, node, node_base
from thud.terrain.surface_arrays import COUNT, FIRST, SIDE, V3

_I = np.int64

# What a patch is a face of: the sheet, the bottom, or a side over its edge y = 0, x = 1, y = 1, x = 0.
SHEET, BOTTOM, RIM = 0, 1, 2
FACES = 6


@exact_kernel(inner="surface, i8, i8, i8, f8[:,::1], f8[:,::1]")
def load_column(surface, quad, x, y, tops_out, ends_out):
    """The four samples of patch (x, y) of a quad, p00, p10, p01, p11, and the ends of their columns."""
    for k in range(4):
        p, n, length = node(surface, quad, x + (k & 1), y + (k >> 1))
        q = along(p, n, length)
        e = along(q, n, -surface.thickness)
        tops_out[k, 0], tops_out[k, 1], tops_out[k, 2] = q
        ends_out[k, 0], ends_out[k, 1], ends_out[k, 2] = e


@exact_device
def has_face(surface, quad, x, y, face):
    """Whether patch (x, y) of a quad has a face of this number: a side only where the surface ends."""
    if face <= BOTTOM:
        return True
    most = surface.ratio * _I(surface.quads[quad, SIDE]) - 1
    bit = face - RIM
    if bit == 0:
        at_edge = y == 0
    elif bit == 1:
        at_edge = x == most
    elif bit == 2:
        at_edge = y == most
    else:
        at_edge = x == 0
    return at_edge and (surface.rim[quad] >> bit) & 1 == 1


@exact_kernel(inner="i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1]")
def set_face(face, tops, ends, corners_out, above_out):
    """A face as a patch whose normal leads out of the ground, and the sheet's points above its corners."""
    for k in range(4):
        if face == SHEET:
            own, is_end = k, False
        elif face == BOTTOM:
            # s and t change places.
            own, is_end = (k >> 1) | ((k & 1) << 1), True
        else:
            # Along the edge, counter-clockwise around the patch, and up.
            bit = face - RIM
            first = 0 if bit == 0 else (1 if bit == 1 else (3 if bit == 2 else 2))
            second = 1 if bit == 0 else (3 if bit == 1 else (2 if bit == 2 else 0))
            own, is_end = (first if k & 1 == 0 else second), k < 2
        for axis in range(3):
            corners_out[k, axis] = ends[own, axis] if is_end else tops[own, axis]
            above_out[k, axis] = tops[own, axis]


@exact_device
def face_is_ground(surface, quad, corners, above, a, b, space):
    """Whether point (a, b) of a face is ground: its column is not cut above it."""
    x, top = patch_point(corners, a, b), patch_point(above, a, b)
    w = (above[0, 0] - corners[0, 0], above[0, 1] - corners[0, 1], above[0, 2] - corners[0, 2])
    return is_uncut(surface, quad, x, top, math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), space)


@exact_device
def sub3(p, q):
    """p - q."""
    return p[0] - q[0], p[1] - q[1], p[2] - q[2]


@exact_device
def row3(points, k):
    """Row k."""
    return points[k, 0], points[k, 1], points[k, 2]


@exact_kernel(inner="surface, i8, vec3, work_space")
def in_column(surface, quad, p, space):
    """(whether a point is ground of the columns in `space`, of this quad, a, b, part of the column's length)."""
    tops, ends = space.tops, space.ends
    for axis in range(3):
        low, high = math.inf, -math.inf
        for k in range(4):
            low, high = min(low, min(tops[k, axis], ends[k, axis])), max(high, max(tops[k, axis], ends[k, axis]))
        if p[axis] < low or p[axis] > high:
            return False, 0.0, 0.0, 0.0
    way = sub3(row3(ends, 0), row3(tops, 0))
    m, n = across_columns(tops, way)
    for side in range(2):
        a = m if side == 0 else n
        low, high = slab_of(tops, 4, a)
        low_end, high_end = slab_of(ends, 4, a)
        if beside(p, a, min(low, low_end), max(high, high_end)):
            return False, 0.0, 0.0, 0.0
    t0, t1, t2, t3 = row3(tops, 0), row3(tops, 1), row3(tops, 3), row3(tops, 2)
    w0, w1, w2, w3 = (
        sub3(row3(ends, 0), t0), sub3(row3(ends, 1), t1), sub3(row3(ends, 3), t2), sub3(row3(ends, 2), t3),
    )  # fmt: skip
    most = 1.0
    for _ in range(4):
        status, a, b, part = bilinear_project(p, t0, t1, t2, t3, w0, w1, w2, w3, 0.0, most)
        if status == UNCONVERGED:
            # The columns run along each other here: on the safe side.
            return True, 0.5, 0.5, 0.0
        if status != INSIDE and status != AMBIGUOUS:
            return False, 0.0, 0.0, 0.0
        top = patch_point(tops, a, b)
        way = sub3(top, p)
        length = math.sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2])
        if is_uncut(surface, quad, p, top, length / part if part > 0.0 else 0.0, space):
            return True, a, b, part
        if status == INSIDE:
            return False, a, b, part
        # The longest of several comes first: look above it.
        most = part - GROUND_NEXT
    return False, 0.0, 0.0, 0.0


@exact_device
def quad_drop(surface, quad):
    """Box that holds the way from any sample of a quad to the end of its column."""
    lx, ly, lz, ux, uy, uz = math.inf, math.inf, math.inf, -math.inf, -math.inf, -math.inf
    first, deep = _I(surface.quads[quad, FIRST]), -surface.thickness
    for k in range(first, first + _I(surface.quads[quad, COUNT])):
        for i in range(3 if surface.primitives[k, V3] < 0 else 4):
            v = surface.primitives[k, i]
            x, y, z = deep * surface.vertices[v, 3], deep * surface.vertices[v, 4], deep * surface.vertices[v, 5]
            lx, ly, lz = min(lx, x), min(ly, y), min(lz, z)
            ux, uy, uz = max(ux, x), max(uy, y), max(uz, z)
    return lx, ly, lz, ux, uy, uz


@exact_device
def way_down(surface, quad, x, y):
    """From a sample to the end of its column."""
    _p, n = node_base(surface, quad, x, y)
    return -surface.thickness * n[0], -surface.thickness * n[1], -surface.thickness * n[2]


@exact_device
def apart2(p, q):
    """Squared distance."""
    d = sub3(p, q)
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2]


@exact_kernel(inner="surface, i8, i8, i8, i8, i8, f8[:,::1]")
def drop_cell(surface, quad, step, x, y, rims, points):
    """Let the bounding volume of a cell hold the bottom below it instead, and what lies in between where the quad has sides,
    all but what is returned: each corner goes down its own column, and what lies between corners does so to within how their
    columns differ."""
    pace = step * surface.ratio
    w0, w1 = way_down(surface, quad, x * pace, y * pace), way_down(surface, quad, (x + 1) * pace, y * pace)
    w2, w3 = way_down(surface, quad, x * pace, (y + 1) * pace), way_down(surface, quad, (x + 1) * pace, (y + 1) * pace)
    for k in range(4):
        way = w0 if k == 0 else (w1 if k == 1 else (w2 if k == 2 else w3))
        for axis in range(3):
            if rims == 0:
                points[k, axis] += way[axis]
            points[k + 4, axis] += way[axis]
    if surface.quads[quad, COUNT] > 2:
        # Vertices inside the quad may stand out.
        lx, ly, lz, ux, uy, uz = quad_drop(surface, quad)
        return math.sqrt((ux - lx) * (ux - lx) + (uy - ly) * (uy - ly) + (uz - lz) * (uz - lz))
    most = max(max(apart2(w0, w1), apart2(w0, w2)), max(apart2(w0, w3), apart2(w1, w2)))
    most = max(most, max(apart2(w1, w3), apart2(w2, w3)))
    return math.sqrt(most)


@exact_device
def cross3(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@exact_device
def across_columns(points, w):
    """Two directions across columns that run along w below the first four points: at right angles to their sides."""
    e = (
        points[1, 0] - points[0, 0] + points[3, 0] - points[2, 0], points[1, 1] - points[0, 1] + points[3, 1] - points[2, 1],
        points[1, 2] - points[0, 2] + points[3, 2] - points[2, 2],
    )  # fmt: skip
    f = (
        points[2, 0] - points[0, 0] + points[3, 0] - points[1, 0], points[2, 1] - points[0, 1] + points[3, 1] - points[1, 1],
        points[2, 2] - points[0, 2] + points[3, 2] - points[1, 2],
    )  # fmt: skip
    return cross3(e, w), cross3(f, w)


@exact_device
def slab_of(points, count, m):
    """Least and greatest m . x of the first points."""
    low, high = math.inf, -math.inf
    for k in range(count):
        x = m[0] * points[k, 0] + m[1] * points[k, 1] + m[2] * points[k, 2]
        low, high = min(low, x), max(high, x)
    return low, high


@exact_device
def beside(p, m, low, high):
    """Whether m . p is not between two bounds, by more than rounding."""
    x = m[0] * p[0] + m[1] * p[1] + m[2] * p[2]
    room = SLAB_ROOM * (abs(low) + abs(high) + abs(m[0] * p[0]) + abs(m[1] * p[1]) + abs(m[2] * p[2]))
    return x < low - room or x > high + room


@exact_device
def ways_along(surface, quad, m):
    """Least and greatest m . w of no way and the ways w to the ends of a quad's columns."""
    low, high = 0.0, 0.0
    first, deep = _I(surface.quads[quad, FIRST]), -surface.thickness
    for k in range(first, first + _I(surface.quads[quad, COUNT])):
        for i in range(3 if surface.primitives[k, V3] < 0 else 4):
            v = surface.primitives[k, i]
            rise = deep * (m[0] * surface.vertices[v, 3] + m[1] * surface.vertices[v, 4] + m[2] * surface.vertices[v, 5])
            low, high = min(low, rise), max(high, rise)
    return low, high


@exact_kernel(inner="surface, i8, vec3, UniTuple(f8, 6), f8[:,::1]")
def beside_cell(surface, quad, p, drop, points):
    """Whether a point is beside all columns of a cell, whose bounding volume is the eight points."""
    w = (drop[0] + drop[3], drop[1] + drop[4], drop[2] + drop[5])
    m, n = across_columns(points, w)
    low, high = slab_of(points, 8, m)
    less, more = ways_along(surface, quad, m)
    if beside(p, m, low + less, high + more):
        return True
    low, high = slab_of(points, 8, n)
    less, more = ways_along(surface, quad, n)
    return beside(p, n, low + less, high + more)
