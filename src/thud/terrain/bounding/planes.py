"""Upper and lower bounding plane of every primitive (Algorithm 6), and the box about its part of the surface.

The planes are parallel to the base primitive and hold all of the surface whose (s, t) lie in the primitive. That part is a
union of bilinear patches cut by the primitive's edges. A linear function such as the height is bilinear on a patch, so it
has its extremes on the border of what is left of it:

- at samples inside the primitive or on its edges; along s and t the surface is straight between them;
- where an edge that follows neither axis leaves a patch: a point of a patch's border, interpolated linearly between two
  neighbouring samples, one inside the primitive, the other outside (Figure 3.2);
- between two such points the height along the edge is a quadratic, which may have an extreme of its own. (The paper leaves
  this out; on a cliff beside the primitive the surface then rises above its plane.)
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.terrain.bounding.tolerances import PLANE_SLACK
from thud.terrain.sampling import node_point, node_weights
from thud.terrain.surface_arrays import LEAST, LOWER, MOST, NORMAL, OFFSET, QUAD, UPPER, V3, S, T

_I = np.int64


@exact_device
def base_plane(surface, k):
    """(unit normal, offset) of a base primitive; of a quadrilateral by its diagonals, through its first vertex."""
    v = surface.vertices
    a, b, c, d = surface.primitives[k, 0], surface.primitives[k, 1], surface.primitives[k, 2], surface.primitives[k, 3]
    if d < 0:
        ex, ey, ez = v[b, 0] - v[a, 0], v[b, 1] - v[a, 1], v[b, 2] - v[a, 2]
        fx, fy, fz = v[c, 0] - v[a, 0], v[c, 1] - v[a, 1], v[c, 2] - v[a, 2]
    else:
        ex, ey, ez = v[c, 0] - v[a, 0], v[c, 1] - v[a, 1], v[c, 2] - v[a, 2]
        fx, fy, fz = v[d, 0] - v[b, 0], v[d, 1] - v[b, 1], v[d, 2] - v[b, 2]
    nx, ny, nz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
    largest = max(abs(nx), max(abs(ny), abs(nz)))
    nx, ny, nz = nx / largest, ny / largest, nz / largest
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    nx, ny, nz = nx / length, ny / length, nz / length
    return nx, ny, nz, nx * v[a, 0] + ny * v[a, 1] + nz * v[a, 2]


@exact_kernel
def sample(surface, quad, x, y):
    """A sample of the surface; not inlined, which would take long to compile."""
    return node_point(surface, quad, x, y)


@exact_kernel
def include(planes, boxes, k, p):
    """Take the point into the primitive's planes and box."""
    height = planes[k, NORMAL] * p[0] + planes[k, NORMAL + 1] * p[1] + planes[k, NORMAL + 2] * p[2] - planes[k, OFFSET]
    planes[k, LOWER], planes[k, UPPER] = min(planes[k, LOWER], height), max(planes[k, UPPER], height)
    for axis in range(3):
        boxes[k, axis], boxes[k, axis + 3] = min(boxes[k, axis], p[axis]), max(boxes[k, axis + 3], p[axis])


@exact_device
def extreme(a, middle, b):
    """Where the quadratic with Bezier values a, middle, b leaves the interval between a and b; b where it does not."""
    if min(a, b) <= middle <= max(a, b):
        return b
    x = (a - middle) / ((a - middle) + (b - middle))
    return (1.0 - x) * (1.0 - x) * a + 2.0 * x * (1.0 - x) * middle + x * x * b


@exact_kernel
def include_curve(planes, boxes, k, p, middle, q):
    """Take in a quadratic curve from p to q with its Bezier point in the middle."""
    include(planes, boxes, k, p)
    include(planes, boxes, k, q)
    nx, ny, nz, offset = planes[k, NORMAL], planes[k, NORMAL + 1], planes[k, NORMAL + 2], planes[k, OFFSET]
    height = extreme(
        nx * p[0] + ny * p[1] + nz * p[2] - offset,
        nx * middle[0] + ny * middle[1] + nz * middle[2] - offset,
        nx * q[0] + ny * q[1] + nz * q[2] - offset,
    )
    planes[k, LOWER], planes[k, UPPER] = min(planes[k, LOWER], height), max(planes[k, UPPER], height)
    for axis in range(3):
        most = extreme(p[axis], middle[axis], q[axis])
        boxes[k, axis], boxes[k, axis + 3] = min(boxes[k, axis], most), max(boxes[k, axis + 3], most)


@exact_device
def mixed(a, b, p00, p10, p01, p11):
    """Point (a, b) of a bilinear patch, Eq. (3.5)."""
    w00, w10, w01, w11 = (1.0 - a) * (1.0 - b), a * (1.0 - b), (1.0 - a) * b, a * b
    return (
        w00 * p00[0] + w10 * p10[0] + w01 * p01[0] + w11 * p11[0],
        w00 * p00[1] + w10 * p10[1] + w01 * p01[1] + w11 * p11[1],
        w00 * p00[2] + w10 * p10[2] + w01 * p01[2] + w11 * p11[2],
    )


@exact_kernel
def include_edge(surface, planes, boxes, k, quad, x0, y0, x1, y1):
    """Take in the surface along an edge that follows neither axis, from (x0, y0) to (x1, y1) samples of the quad."""
    dx, dy = x1 - x0, y1 - y0
    nx, ny = abs(dx), abs(dy)
    i, j = _I(0), _I(0)
    while i < nx or j < ny:
        # From one grid line to the next: after i lines of x and j of y. The next is at (i + 1) / nx or (j + 1) / ny.
        start = max(i / nx, j / ny)
        next_x, next_y = (i + 1) * ny, (j + 1) * nx
        stop = (i + 1) / nx if next_x <= next_y else (j + 1) / ny
        x, y = x0 + min(i, nx - 1) * (1 if dx > 0 else -1), y0 + min(j, ny - 1) * (1 if dy > 0 else -1)
        x, y = (x if dx > 0 else x - 1), (y if dy > 0 else y - 1)
        p00, p10 = sample(surface, quad, x, y), sample(surface, quad, x + 1, y)
        p01, p11 = sample(surface, quad, x, y + 1), sample(surface, quad, x + 1, y + 1)
        a, b = x0 + start * dx - x, y0 + start * dy - y
        c, d = x0 + stop * dx - x, y0 + stop * dy - y
        p, q = mixed(a, d, p00, p10, p01, p11), mixed(c, b, p00, p10, p01, p11)
        middle = (0.5 * (p[0] + q[0]), 0.5 * (p[1] + q[1]), 0.5 * (p[2] + q[2]))
        include_curve(planes, boxes, k, mixed(a, b, p00, p10, p01, p11), middle, mixed(c, d, p00, p10, p01, p11))
        if next_x <= next_y:
            i += 1
        if next_y <= next_x:
            j += 1


@exact_device
def corner(surface, k, which, quad):
    """(x, y) samples of a primitive's vertex from its quad's lowest corner."""
    v, r = surface.primitives[k, which], surface.ratio
    return (
        r * (_I(surface.coordinates[v, 0]) - _I(surface.quads[quad, S])),
        r * (_I(surface.coordinates[v, 1]) - _I(surface.quads[quad, T])),
    )


@exact_kernel
def include_surface(surface, planes, boxes, k):
    """Algorithm 6: take in all of the surface that belongs to the primitive."""
    quad = _I(surface.primitives[k, QUAD])
    r = surface.ratio
    triangle = surface.primitives[k, V3] < 0
    (x0, y0), (x1, y1), (x2, y2) = corner(surface, k, 0, quad), corner(surface, k, 1, quad), corner(surface, k, 2, quad)
    gx, gy = r * _I(surface.quads[quad, S]), r * _I(surface.quads[quad, T])
    for y in range(min(y0, min(y1, y2)), max(y0, max(y1, y2)) + 1):
        for x in range(min(x0, min(x1, x2)), max(x0, max(x1, x2)) + 1):
            w0, w1, w2, w3, _whole = node_weights(surface, k, gx + x, gy + y)
            if w0 >= 0 and w1 >= 0 and w2 >= 0 and w3 >= 0:
                include(planes, boxes, k, sample(surface, quad, x, y))
    if triangle:
        if x0 != x1 and y0 != y1:
            include_edge(surface, planes, boxes, k, quad, x0, y0, x1, y1)
        if x1 != x2 and y1 != y2:
            include_edge(surface, planes, boxes, k, quad, x1, y1, x2, y2)
        if x2 != x0 and y2 != y0:
            include_edge(surface, planes, boxes, k, quad, x2, y2, x0, y0)


@exact_kernel
def find_lengths(surface, planes, k):
    """The lengths between the two planes: a point is P + l N with P and N of the base primitive; its height is that of P and
    l (N . normal)."""
    normal = (planes[k, NORMAL], planes[k, NORMAL + 1], planes[k, NORMAL + 2])
    count = 3 if surface.primitives[k, V3] < 0 else 4
    base_least, base_most, rise_least, rise_most = 0.0, 0.0, math.inf, 0.0
    for i in range(count):
        v = surface.primitives[k, i]
        p = (surface.vertices[v, 0], surface.vertices[v, 1], surface.vertices[v, 2])
        height = normal[0] * p[0] + normal[1] * p[1] + normal[2] * p[2] - planes[k, OFFSET]
        n = (surface.vertices[v, 3], surface.vertices[v, 4], surface.vertices[v, 5])
        rise = normal[0] * n[0] + normal[1] * n[1] + normal[2] * n[2]
        base_least, base_most = min(base_least, height), max(base_most, height)
        rise_least, rise_most = min(rise_least, rise), max(rise_most, rise)
    low, high = planes[k, LOWER] - base_most, planes[k, UPPER] - base_least
    planes[k, LEAST] = low / (rise_most if low > 0.0 else rise_least)
    planes[k, MOST] = high / (rise_least if high > 0.0 else rise_most)


@exact_kernel("i8, i8, surface, f8[:,::1], f8[:,::1]")
def bounding_planes_rows(start, stop, surface, planes_out, boxes_out):
    """Planes (columns of `surface_arrays`) and boxes (lower, upper) of primitives."""
    for k in range(start, stop):
        nx, ny, nz, offset = base_plane(surface, k)
        planes_out[k, NORMAL], planes_out[k, NORMAL + 1], planes_out[k, NORMAL + 2] = nx, ny, nz
        planes_out[k, OFFSET], planes_out[k, LOWER], planes_out[k, UPPER] = offset, math.inf, -math.inf
        for axis in range(3):
            boxes_out[k, axis], boxes_out[k, axis + 3] = math.inf, -math.inf
        include_surface(surface, planes_out, boxes_out, k)
        size = 0.0
        for axis in range(6):
            size = max(size, abs(boxes_out[k, axis]))
        slack = PLANE_SLACK * (size + abs(offset))
        planes_out[k, LOWER] -= slack
        planes_out[k, UPPER] += slack
        find_lengths(surface, planes_out, k)
        for axis in range(3):
            boxes_out[k, axis] -= slack
            boxes_out[k, axis + 3] += slack
