"""Box against box by the separating-axis test: 3 + 3 face normals and 9 cross products of edges.

Boolean with early out, and the least overlap of all axes, which is the penetration depth of two boxes exactly.
A's frame; (r, t) is B in it.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.convex.tolerances import BOX_FACE_FIRST, BOX_PARALLEL, BOX_ROUNDOFF


@kernel(inner="f8, f8, f8, f8, f8, f8, mat3, vec3, f8")
def intersects_box_box(ax, ay, az, bx, by, bz, r, t, touch):
    """Whether the boxes meet; a gap of at most `touch` counts as touching."""
    q = (abs(r[0]), abs(r[1]), abs(r[2]), abs(r[3]), abs(r[4]), abs(r[5]), abs(r[6]), abs(r[7]), abs(r[8]))
    # A's faces, then B's.
    if abs(t[0]) > ax + (bx * q[0] + by * q[1] + bz * q[2]) + touch:
        return False
    if abs(t[1]) > ay + (bx * q[3] + by * q[4] + bz * q[5]) + touch:
        return False
    if abs(t[2]) > az + (bx * q[6] + by * q[7] + bz * q[8]) + touch:
        return False
    if abs(t[0] * r[0] + t[1] * r[3] + t[2] * r[6]) > bx + (ax * q[0] + ay * q[3] + az * q[6]) + touch:
        return False
    if abs(t[0] * r[1] + t[1] * r[4] + t[2] * r[7]) > by + (ax * q[1] + ay * q[4] + az * q[7]) + touch:
        return False
    if abs(t[0] * r[2] + t[1] * r[5] + t[2] * r[8]) > bz + (ax * q[2] + ay * q[5] + az * q[8]) + touch:
        return False
    # Cross products: A's axis i with B's axis j. Not of unit length, so the touch distance scales with their sine and
    # roundoff does not: where it matters, look again with the axis at unit length.
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        a1 = ay if i == 0 else (az if i == 1 else ax)
        a2 = az if i == 0 else (ax if i == 1 else ay)
        t1 = t[1] if i == 0 else (t[2] if i == 1 else t[0])
        t2 = t[2] if i == 0 else (t[0] if i == 1 else t[1])
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            b1 = by if j == 0 else (bz if j == 1 else bx)
            b2 = bz if j == 0 else (bx if j == 1 else by)
            c1, c2 = r[3 * i1 + j], r[3 * i2 + j]
            sine2 = c1 * c1 + c2 * c2
            if sine2 <= BOX_PARALLEL * BOX_PARALLEL:
                continue
            reach = a1 * abs(c2) + a2 * abs(c1) + b1 * q[3 * i + j2] + b2 * q[3 * i + j1]
            noise = BOX_ROUNDOFF * (a1 + a2 + b1 + b2 + abs(t1) + abs(t2))
            if abs(t2 * c1 - t1 * c2) > reach - noise and edge_overlap(ax, ay, az, bx, by, bz, r, t, i, j)[0] < -touch:
                return False
    return True


@device
def edge_overlap(ax, ay, az, bx, by, bz, r, t, i, j):
    """Overlap along the cross product of A's axis i and B's axis j: (overlap, unit axis from A to B). Not for parallel ones.

    The axis is exact but for the roundoff of r. As it has unit length, so is the overlap: an axis that is a little off shows
    the boxes less apart than they are, never more.
    """
    w = (r[j], r[3 + j], r[6 + j])
    n = (0.0, -w[2], w[1]) if i == 0 else ((w[2], 0.0, -w[0]) if i == 1 else (-w[1], w[0], 0.0))
    sine = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    n = (n[0] / sine, n[1] / sine, n[2] / sine)
    along = t[0] * n[0] + t[1] * n[1] + t[2] * n[2]
    if along < 0.0:
        n, along = (-n[0], -n[1], -n[2]), -along
    m = (
        abs(n[0] * r[0] + n[1] * r[3] + n[2] * r[6]),
        abs(n[0] * r[1] + n[1] * r[4] + n[2] * r[7]),
        abs(n[0] * r[2] + n[1] * r[5] + n[2] * r[8]),
    )
    return ax * abs(n[0]) + ay * abs(n[1]) + az * abs(n[2]) + bx * m[0] + by * m[1] + bz * m[2] - along, n


@kernel(inner="f8, f8, f8, f8, f8, f8, mat3, vec3, f8")
def depth_box_box(ax, ay, az, bx, by, bz, r, t, reach):
    """Least overlap over the 15 axes: (depth, unit normal from A to B). Negative depth: separated along that axis. The first
    axis along which they are farther apart than `reach` ends the search."""
    q = (abs(r[0]), abs(r[1]), abs(r[2]), abs(r[3]), abs(r[4]), abs(r[5]), abs(r[6]), abs(r[7]), abs(r[8]))
    best, normal = 1e308, (1.0, 0.0, 0.0)
    # A's face normals.
    for i in range(3):
        extent = ax if i == 0 else (ay if i == 1 else az)
        along = t[0] if i == 0 else (t[1] if i == 1 else t[2])
        overlap = extent + (bx * q[3 * i] + by * q[3 * i + 1] + bz * q[3 * i + 2]) - abs(along)
        if overlap < best:
            s = math.copysign(1.0, along)
            best, normal = overlap, (s if i == 0 else 0.0, s if i == 1 else 0.0, s if i == 2 else 0.0)
            if best < -reach:
                return best, normal
    # B's face normals.
    for j in range(3):
        extent = bx if j == 0 else (by if j == 1 else bz)
        along = t[0] * r[j] + t[1] * r[3 + j] + t[2] * r[6 + j]
        overlap = extent + (ax * q[j] + ay * q[3 + j] + az * q[6 + j]) - abs(along)
        if overlap < best:
            s = math.copysign(1.0, along)
            best, normal = overlap, (s * r[j], s * r[3 + j], s * r[6 + j])
            if best < -reach:
                return best, normal
    # Cross products of edges. Not of unit length at first, which saves a root; only one that may show less overlap than those
    # before is looked at again.
    preference = BOX_FACE_FIRST * (ax + ay + az + bx + by + bz)
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        a1 = ay if i == 0 else (az if i == 1 else ax)
        a2 = az if i == 0 else (ax if i == 1 else ay)
        t1 = t[1] if i == 0 else (t[2] if i == 1 else t[0])
        t2 = t[2] if i == 0 else (t[0] if i == 1 else t[1])
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            b1 = by if j == 0 else (bz if j == 1 else bx)
            b2 = bz if j == 0 else (bx if j == 1 else by)
            c1, c2 = r[3 * i1 + j], r[3 * i2 + j]
            sine2 = c1 * c1 + c2 * c2
            if sine2 <= BOX_PARALLEL * BOX_PARALLEL:
                continue
            noise = BOX_ROUNDOFF * (a1 + a2 + b1 + b2 + abs(t1) + abs(t2))
            rough = a1 * abs(c2) + a2 * abs(c1) + b1 * q[3 * i + j2] + b2 * q[3 * i + j1] - abs(t2 * c1 - t1 * c2) - noise
            limit = best - preference
            if rough >= 0.0 and (limit <= 0.0 or rough * rough >= limit * limit * sine2):
                continue
            overlap, n = edge_overlap(ax, ay, az, bx, by, bz, r, t, i, j)
            if overlap < limit:
                best, normal = overlap, n
                if best < -reach:
                    return best, normal
    return best, normal
