"""The ground below one triangle of a field as a convex part, and what is quickly said of it and another part.

Everything is in the grid's frame; (R, t) is the other part in it.
"""

from __future__ import annotations

import math

from thud._core.decorators import device
from thud.bvh.height_tree import DEPTH, SPACING_X, SPACING_Y
from thud.convex.support import load_part, support
from thud.heightfield.objects import PRISM, SHAPE
from thud.heightfield.tolerances import FLOOR_CELLS
from thud.math.pose import rotate, transform, unrotate
from thud.math.vec3 import norm2
from thud.mesh.box_tree import load_triangle
from thud.shapes.packed import BOUND, CENTER, RADIUS, SCAN_COUNT, VERTEX_START


@device
def triangle_points(grid, corners, j, i, k):
    """The three corners of triangle k of cell [j, i], whose samples have the heights `corners`."""
    h00, h10, h01, h11 = corners
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    p = (x * i, y * j, h00)
    if k == 0:
        return p, (x * (i + 1), y * j, h10), (x * (i + 1), y * (j + 1), h11)
    return p, (x * (i + 1), y * (j + 1), h11), (x * i, y * (j + 1), h01)


@device
def heights_of(corners, k):
    """(least, greatest) height of triangle k."""
    h00, h10, h01, h11 = corners
    third = h10 if k == 0 else h01
    return min(h00, min(h11, third)), max(h00, max(h11, third))


@device
def floor_below(grid, low):
    """Height down to which ground without end is asked, of what lies no lower than `low`."""
    return low - FLOOR_CELLS * (grid.numbers[SPACING_X] + grid.numbers[SPACING_Y])


@device
def put_vertex(parts, column, x, y, z):
    """One vertex of a part."""
    parts.vertices[0, column], parts.vertices[1, column], parts.vertices[2, column] = x, y, z


@device
def set_prism(parts, grid, points, floor):
    """Write the ground below a triangle over the placeholder: down by the depth, or to `floor` if it has no end."""
    p, q, s = points
    start, depth = parts.ints[PRISM, VERTEX_START], grid.numbers[DEPTH]
    # `floor` is below all three.
    a, b, c = (p[2] - depth, q[2] - depth, s[2] - depth) if depth < math.inf else (floor, floor, floor)
    put_vertex(parts, start, p[0], p[1], p[2])
    put_vertex(parts, start + 1, q[0], q[1], q[2])
    put_vertex(parts, start + 2, s[0], s[1], s[2])
    put_vertex(parts, start + 3, p[0], p[1], a)
    put_vertex(parts, start + 4, q[0], q[1], b)
    put_vertex(parts, start + 5, s[0], s[1], c)
    for k in range(6, parts.ints[PRISM, SCAN_COUNT]):
        put_vertex(parts, start + k, p[0], p[1], p[2])
    x, y = (p[0] + q[0] + s[0]) / 3.0, (p[1] + q[1] + s[1]) / 3.0
    z = (p[2] + q[2] + s[2] + a + b + c) / 6.0
    parts.reals[PRISM, CENTER], parts.reals[PRISM, CENTER + 1], parts.reals[PRISM, CENTER + 2] = x, y, z
    far = max(farther(p, a, x, y, z), max(farther(q, b, x, y, z), farther(s, c, x, y, z)))
    parts.reals[PRISM, BOUND] = math.sqrt(far)


@device
def farther(p, low, x, y, z):
    """Squared distance from (x, y, z) of the farther end of the upright edge from p down to the height `low`."""
    rise = max(abs(p[2] - z), abs(low - z))
    return (p[0] - x) * (p[0] - x) + (p[1] - y) * (p[1] - y) + rise * rise


@device
def lowest_point(parts, r, t, n):
    """The point of part 0, rounding included, that is lowest along n (not of unit length), in the grid's frame."""
    d = unrotate(r, (-n[0], -n[1], -n[2]))
    p = transform(r, t, support(parts, load_part(parts, SHAPE), d))
    radius = parts.reals[SHAPE, RADIUS]
    if radius > 0.0:
        s = radius / math.sqrt(norm2(n))
        p = (p[0] - s * n[0], p[1] - s * n[1], p[2] - s * n[2])
    return p


@device
def part_box(parts, r, t):
    """(x0, x1, y0, y1, z0, z1): the box of part 0 in the grid's frame."""
    part, radius = load_part(parts, SHAPE), parts.reals[SHAPE, RADIUS]
    x, y, z = (r[0], r[1], r[2]), (r[3], r[4], r[5]), (r[6], r[7], r[8])
    x0 = rotate(r, support(parts, part, (-x[0], -x[1], -x[2])))[0]
    x1 = rotate(r, support(parts, part, x))[0]
    y0 = rotate(r, support(parts, part, (-y[0], -y[1], -y[2])))[1]
    y1 = rotate(r, support(parts, part, y))[1]
    z0 = rotate(r, support(parts, part, (-z[0], -z[1], -z[2])))[2]
    z1 = rotate(r, support(parts, part, z))[2]
    return (
        t[0] + x0 - radius, t[0] + x1 + radius, t[1] + y0 - radius, t[1] + y1 + radius, t[2] + z0 - radius, t[2] + z1 + radius,
    )  # fmt: skip


@device
def triangle_box(corners, k, r, t):
    """The same of triangle k of a mesh."""
    p, q, s = load_triangle(corners, k)
    p, q, s = transform(r, t, p), transform(r, t, q), transform(r, t, s)
    return (
        min(p[0], min(q[0], s[0])), max(p[0], max(q[0], s[0])), min(p[1], min(q[1], s[1])), max(p[1], max(q[1], s[1])),
        min(p[2], min(q[2], s[2])), max(p[2], max(q[2], s[2])),
    )  # fmt: skip


@device
def widened(box, room):
    """A box that is wider by `room` on all sides."""
    return box[0] - room, box[1] + room, box[2] - room, box[3] + room, box[4] - room, box[5] + room


@device
def box_reach(box):
    """What the coordinates of a box reach to."""
    return max(max(abs(box[0]), abs(box[1])), max(max(abs(box[2]), abs(box[3])), max(abs(box[4]), abs(box[5]))))
