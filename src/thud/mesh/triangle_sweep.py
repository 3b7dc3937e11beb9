"""When does a triangle that moves along a line first meet another one: in closed form.

Two triangles first touch at a corner of one and the face of the other, or at two edges: 6 + 9 cases, each a linear equation
for the time and a look at whether the point lies within the face or the edges. Edges count as a little longer than they
are, so that no contact slips between two cases. Triangles that overlap at the start are not seen.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.math.vec3 import add_scaled, cross, dot, norm, norm2, sub
from thud.mesh.tolerances import SWEEP_EDGE, SWEEP_PARALLEL


@device
def corner_meets_face(x, m, p, e1, e2, n, n2, best):
    """Time before `best` at which the point x, moving by m, meets the face p, p + e1, p + e2 with normal n; else `best`."""
    time = -dot(n, sub(x, p)) / dot(n, m)
    if 0.0 <= time < best:
        y = sub(add_scaled(x, m, time), p)
        v, w = dot(cross(y, e2), n), dot(cross(e1, y), n)
        if v >= -SWEEP_EDGE * n2 and w >= -SWEEP_EDGE * n2 and v + w <= (1.0 + SWEEP_EDGE) * n2:
            return time
    return best


@device
def edge_meets_edge(p, e, q, f, m, best):
    """(time, place on the first edge) at which the edge q, q + f, moving by m, meets p, p + e; `best` if not before."""
    c = cross(e, f)
    c2 = norm2(c)
    if c2 > SWEEP_PARALLEL * norm2(e) * norm2(f):
        y = sub(q, p)
        time = -dot(c, y) / dot(c, m)
        if 0.0 <= time < best:
            y = add_scaled(y, m, time)
            u, v = dot(cross(y, f), c), dot(cross(y, e), c)
            low, high = -SWEEP_EDGE * c2, (1.0 + SWEEP_EDGE) * c2
            if low <= u <= high and low <= v <= high:
                return time, u / c2
    return best, 0.0


@kernel(inner="Tuple((vec3, vec3, vec3)), Tuple((vec3, vec3, vec3)), vec3, f8")
def sweep_triangles(p, q, m, latest):
    """(time, normal, point): when and where the triangle q, moving by m, first meets p, at up to `latest`; time is inf if it
    does not. The normal has length 1 and points against the motion."""
    d0, d1, d2 = sub(p[1], p[0]), sub(p[2], p[1]), sub(p[0], p[2])
    e0, e1, e2 = sub(q[1], q[0]), sub(q[2], q[1]), sub(q[0], q[2])
    back = (-m[0], -m[1], -m[2])
    best, normal, point = latest, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    found = False
    n, f = cross(d0, d1), (-d2[0], -d2[1], -d2[2])
    n2 = norm2(n)
    for k in range(3):
        x = q[0] if k == 0 else (q[1] if k == 1 else q[2])
        time = corner_meets_face(x, m, p[0], d0, f, n, n2, best)
        if time < best:
            best, normal, point, found = time, n, add_scaled(x, m, time), True
    n, f = cross(e0, e1), (-e2[0], -e2[1], -e2[2])
    n2 = norm2(n)
    for k in range(3):
        x = p[0] if k == 0 else (p[1] if k == 1 else p[2])
        time = corner_meets_face(x, back, q[0], e0, f, n, n2, best)
        if time < best:
            best, normal, point, found = time, n, x, True
    for i in range(3):
        x = p[0] if i == 0 else (p[1] if i == 1 else p[2])
        d = d0 if i == 0 else (d1 if i == 1 else d2)
        for j in range(3):
            y = q[0] if j == 0 else (q[1] if j == 1 else q[2])
            e = e0 if j == 0 else (e1 if j == 1 else e2)
            time, along = edge_meets_edge(x, d, y, e, m, best)
            if time < best:
                best, normal, point, found = time, cross(d, e), add_scaled(x, d, along), True
    if not found:
        return math.inf, normal, point
    length = norm(normal)
    if dot(normal, m) > 0.0:
        length = -length
    return best, (normal[0] / length, normal[1] / length, normal[2] / length), point
