"""How far along a line a point meets the marked triangles of a tree."""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.math.vec3 import cross, dot, sub
from thud.mesh.box_tree import U, load_triangle
from thud.mesh.tolerances import SWEEP_EDGE


@device
def ray_meets(o, d, triangle, touch):
    """Distance along the unit vector d at which a point o meets a triangle, its edges being part of it; inf if it does not.
    What lies behind by up to `touch` is at 0."""
    e, f = sub(triangle[1], triangle[0]), sub(triangle[2], triangle[0])
    c = cross(d, f)
    det = dot(e, c)
    if det == 0.0:
        return math.inf
    s = sub(o, triangle[0])
    u = dot(s, c) / det
    q = cross(s, e)
    v = dot(d, q) / det
    if u < -SWEEP_EDGE or v < -SWEEP_EDGE or u + v > 1.0 + SWEEP_EDGE:
        return math.inf
    t = dot(f, q) / det
    return math.inf if t < -touch else max(t, 0.0)


@device
def inverse(x):
    """1 / x, and a large number for 0."""
    return 1.0 / x if abs(x) > 1e-300 else math.copysign(1e300, x)


@kernel(inner="part_tree, i8, vec3, vec3, f8, f8, f8, walk_space")
def part_height(tree, part, o, d, limit, slack, touch, space):
    """Distance along the unit vector d, at most `limit`, at which o first meets a triangle of the part; inf if it does not.
    slack: what float32 boxes may be off by."""
    ix, iy, iz = inverse(d[0]), inverse(d[1]), inverse(d[2])
    best = math.inf
    stack = space.stack
    stack[0], depth = U(0), 1
    while depth > 0:
        depth -= 1
        slot = stack[depth]
        if part != 0 and tree.mark[slot] != part:
            continue
        down = tree.child[slot]
        if down < 0:
            best = min(best, ray_meets(o, d, load_triangle(tree.corners, U(-1 - down)), touch))
            continue
        base = U(48) * U(down)
        reach = min(best, limit) + slack
        for lane in range(8):
            k = base + U(lane)
            hx, hy, hz = tree.boxes[k + U(24)], tree.boxes[k + U(32)], tree.boxes[k + U(40)]
            if hx < 0.0:
                continue
            x, y, z = tree.boxes[k] - o[0], tree.boxes[k + U(8)] - o[1], tree.boxes[k + U(16)] - o[2]
            wx, wy, wz = (hx + slack) * abs(ix), (hy + slack) * abs(iy), (hz + slack) * abs(iz)
            near = max(x * ix - wx, max(y * iy - wy, z * iz - wz))
            far = min(x * ix + wx, min(y * iy + wy, z * iz + wz))
            if near <= far and far >= -slack and near <= reach:
                stack[depth] = U(8) * U(down) + U(lane)
                depth += 1
    return best if best <= limit else math.inf
