"""Samples of a displaced surface: base position and direction by interpolation (2.1), length from the maps, and the point
projected forwards (2.2).

A node is named by its quad and by whole numbers (x, y) from the quad's lowest corner, in samples (`ratio` of them to a
square of the map). Weights are quotients of whole numbers and nothing is contracted, so that a node on an edge gives the
same bits from whichever primitive and quad it is computed: there is no crack.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.terrain.surface_arrays import COUNT, FIRST, MATERIAL, QUAD, SIDE, V0, V3, S, T
from thud.terrain.tolerances import DETAIL_FADE

_I = np.int64


@exact_device
def node_weights(surface, primitive, x, y):
    """(four weights, their common denominator) of the node at (x, y) samples of the whole map; whole numbers. All are
    non-negative inside the primitive. A triangle's fourth is 0."""
    r = surface.ratio
    a, b, c = surface.primitives[primitive, 0], surface.primitives[primitive, 1], surface.primitives[primitive, 2]
    s0, t0 = r * _I(surface.coordinates[a, 0]), r * _I(surface.coordinates[a, 1])
    s1, t1 = r * _I(surface.coordinates[b, 0]), r * _I(surface.coordinates[b, 1])
    s2, t2 = r * _I(surface.coordinates[c, 0]), r * _I(surface.coordinates[c, 1])
    dx, dy = x - s0, y - t0
    if surface.primitives[primitive, V3] < 0:
        whole = (s1 - s0) * (t2 - t0) - (s2 - s0) * (t1 - t0)
        w1 = dx * (t2 - t0) - (s2 - s0) * dy
        w2 = (s1 - s0) * dy - dx * (t1 - t0)
        return whole - w1 - w2, w1, w2, _I(0), whole
    # A rectangle with vertices in the order (0,0), (1,0), (1,1), (0,1) of (u, v), turned in (s, t) by any quarter.
    if t1 == t0:
        p, q, width, height = dx * (1 if s1 > s0 else -1), dy * (1 if t2 > t1 else -1), abs(s1 - s0), abs(t2 - t1)
    else:
        p, q, width, height = dy * (1 if t1 > t0 else -1), dx * (1 if s2 > s1 else -1), abs(t1 - t0), abs(s2 - s1)
    if p < 0 or q < 0 or p > width or q > height:
        return _I(-1), _I(-1), _I(-1), _I(-1), width * height
    return (width - p) * (height - q), p * (height - q), p * q, (width - p) * q, width * height


@exact_device
def weights_at(surface, quad, x, y):
    """(primitive, four weights, their denominator): the first primitive of the quad that holds the node at (x, y) samples
    of the whole map."""
    k = _I(surface.quads[quad, FIRST])
    last = k + _I(surface.quads[quad, COUNT]) - 1
    while True:
        w0, w1, w2, w3, whole = node_weights(surface, k, x, y)
        if (w0 >= 0 and w1 >= 0 and w2 >= 0 and w3 >= 0) or k == last:
            return k, w0, w1, w2, w3, whole
        k += 1


@exact_device
def interpolate(surface, primitive, l0, l1, l2, l3, column):
    """Weighted sum of three columns of the primitive's vertices, Eq. (2.1)."""
    a, b, c = surface.primitives[primitive, 0], surface.primitives[primitive, 1], surface.primitives[primitive, 2]
    v = surface.vertices
    x = l0 * v[a, column] + l1 * v[b, column] + l2 * v[c, column]
    y = l0 * v[a, column + 1] + l1 * v[b, column + 1] + l2 * v[c, column + 1]
    z = l0 * v[a, column + 2] + l1 * v[b, column + 2] + l2 * v[c, column + 2]
    d = surface.primitives[primitive, V3]
    if d >= 0:
        x, y, z = x + l3 * v[d, column], y + l3 * v[d, column + 1], z + l3 * v[d, column + 2]
    # A sum of zeros may have either sign.
    return x + 0.0, y + 0.0, z + 0.0


@exact_device
def fading(surface, primitive, w0, w1, w2, w3, whole):
    """How much of the detail counts: 0 on edges and at vertices where it fades out, 1 away from them. On an edge that two
    primitives share it depends on the place along the edge alone."""
    bits = surface.fade[primitive]
    if bits == 0:
        return 1.0
    least = whole
    if surface.primitives[primitive, V3] < 0:
        e0, e1, e2, e3 = w0, w1, w2, whole
    else:
        # Distance from edge k, from vertex k to the next, as a part of the rectangle.
        e0, e1, e2, e3 = w2 + w3, w3 + w0, w0 + w1, w1 + w2
    if bits & 1:
        least = min(least, e0)
    if bits & 2:
        least = min(least, e1)
    if bits & 4:
        least = min(least, e2)
    if bits & 8:
        least = min(least, e3)
    if bits & 16:
        least = min(least, whole - w0)
    if bits & 32:
        least = min(least, whole - w1)
    if bits & 64:
        least = min(least, whole - w2)
    if bits & 128:
        least = min(least, whole - w3)
    return min(1.0, DETAIL_FADE * (least / whole))


@exact_device
def map_length(surface, quad, x, y):
    """Length in the displacement map at a node of the quad, (x, y) samples of the whole map: linear between map samples."""
    r = surface.ratio
    if r == 1:
        return np.float64(surface.displacements[y, x])
    # The last square of the quad for its far border: never read beyond the quad.
    i = min(x // r, _I(surface.quads[quad, S]) + _I(surface.quads[quad, SIDE]) - 1)
    j = min(y // r, _I(surface.quads[quad, T]) + _I(surface.quads[quad, SIDE]) - 1)
    fx, fy = x - r * i, y - r * j
    d = surface.displacements
    along = (r - fx) * (r - fy) * np.float64(d[j, i]) + fx * (r - fy) * np.float64(d[j, i + 1])
    along += (r - fx) * fy * np.float64(d[j + 1, i]) + fx * fy * np.float64(d[j + 1, i + 1])
    return along / (r * r)


@exact_device
def node_base(surface, quad, x, y):
    """(base position, direction) of node (x, y) of a quad, in samples from its lowest corner."""
    gx, gy = x + surface.ratio * _I(surface.quads[quad, S]), y + surface.ratio * _I(surface.quads[quad, T])
    k, w0, w1, w2, w3, whole = weights_at(surface, quad, gx, gy)
    l0, l1, l2, l3 = w0 / whole, w1 / whole, w2 / whole, w3 / whole
    return interpolate(surface, k, l0, l1, l2, l3, 0), interpolate(surface, k, l0, l1, l2, l3, 3)


@exact_device
def node(surface, quad, x, y):
    """(base position, direction, length) of node (x, y) of a quad, in samples from its lowest corner."""
    gx, gy = x + surface.ratio * _I(surface.quads[quad, S]), y + surface.ratio * _I(surface.quads[quad, T])
    k, w0, w1, w2, w3, whole = weights_at(surface, quad, gx, gy)
    l0, l1, l2, l3 = w0 / whole, w1 / whole, w2 / whole, w3 / whole
    p = interpolate(surface, k, l0, l1, l2, l3, 0)
    n = interpolate(surface, k, l0, l1, l2, l3, 3)
    length = map_length(surface, quad, gx, gy)
    material = surface.primitives[k, MATERIAL]
    if material >= 0:
        tile = np.float64(surface.details[material, gy % surface.details.shape[1], gx % surface.details.shape[2]])
        length += fading(surface, k, w0, w1, w2, w3, whole) * tile
    return p, n, length


@exact_device
def along(p, n, length):
    """p + length n, Eq. (2.2)."""
    return p[0] + length * n[0], p[1] + length * n[1], p[2] + length * n[2]


@exact_device
def node_point(surface, quad, x, y):
    """The sample: a node projected forwards."""
    p, n, length = node(surface, quad, x, y)
    return along(p, n, length)


@exact_kernel("i8, i8, surface, i8[::1], f8[:,:,:,::1], f8[:,:,:,::1], f8[:,:,::1], f8[:,:,:,::1]")
def quads_samples_rows(start, stop, surface, rows, position_out, direction_out, length_out, point_out):
    """All nodes of quads of one side, indexed [row, y, x]."""
    for row in range(start, stop):
        for y in range(length_out.shape[1]):
            for x in range(length_out.shape[2]):
                p, n, length = node(surface, rows[row], x, y)
                q = along(p, n, length)
                for k in range(3):
                    position_out[row, y, x, k], direction_out[row, y, x, k], point_out[row, y, x, k] = p[k], n[k], q[k]
                length_out[row, y, x] = length


@exact_kernel("i8, i8, surface, i8[::1], f8[::1], f8[::1], f8[:,::1], f8[:,::1], f8[::1]")
def forward_rows(start, stop, surface, primitive, u, v, position_out, direction_out, length_out):
    """Base position, direction and length at (u, v) of primitives: (2.1), and the length between the samples around."""
    for row in range(start, stop):
        k = primitive[row]
        if surface.primitives[k, V3] < 0:
            l0, l1, l2, l3 = 1.0 - u[row] - v[row], u[row], v[row], 0.0
        else:
            l0, l1, l2, l3 = (1.0 - u[row]) * (1.0 - v[row]), u[row] * (1.0 - v[row]), u[row] * v[row], (1.0 - u[row]) * v[row]
        p = interpolate(surface, k, l0, l1, l2, l3, 0)
        n = interpolate(surface, k, l0, l1, l2, l3, 3)
        s, t = map_place(surface, k, l0, l1, l2, l3)
        position_out[row, 0], position_out[row, 1], position_out[row, 2] = p
        direction_out[row, 0], direction_out[row, 1], direction_out[row, 2] = n
        length_out[row] = length_at(surface, _I(surface.primitives[k, QUAD]), s, t)


@exact_device
def map_place(surface, primitive, l0, l1, l2, l3):
    """(s, t) in samples of the whole map at the given weights of a primitive's vertices."""
    a, b, c = surface.primitives[primitive, V0], surface.primitives[primitive, 1], surface.primitives[primitive, 2]
    m = surface.coordinates
    s = l0 * m[a, 0] + l1 * m[b, 0] + l2 * m[c, 0]
    t = l0 * m[a, 1] + l1 * m[b, 1] + l2 * m[c, 1]
    d = surface.primitives[primitive, V3]
    if d >= 0:
        s, t = s + l3 * m[d, 0], t + l3 * m[d, 1]
    return surface.ratio * s, surface.ratio * t


@exact_device
def patch_at(surface, quad, s, t):
    """(x, y, a, b): the patch of a quad at (s, t) samples of the whole map and the place in it; clipped to the quad."""
    most = surface.ratio * _I(surface.quads[quad, SIDE]) - 1
    a, b = s - surface.ratio * _I(surface.quads[quad, S]), t - surface.ratio * _I(surface.quads[quad, T])
    x, y = min(max(_I(np.floor(a)), 0), most), min(max(_I(np.floor(b)), 0), most)
    return x, y, a - x, b - y


@exact_device
def length_at(surface, quad, s, t):
    """Length at (s, t) samples of the whole map, bilinear between the nodes of the quad."""
    x, y, a, b = patch_at(surface, quad, s, t)
    length = 0.0
    for k in range(4):
        weight = (a if k & 1 else 1.0 - a) * (b if k >> 1 else 1.0 - b)
        length += weight * node(surface, quad, x + (k & 1), y + (k >> 1))[2]
    return length
