"""One pair of convex parts, any kinds: picks the closed form where there is one, else GJK and EPA.

A's frame throughout; (r, t) is B's part in it. The order of choice is fixed: half-spaces, then spheres and capsules,
then a sphere against a shape with a point distance, then two boxes, then GJK / EPA on the cores.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED, UNCONVERGED
from thud.constants import TOUCH
from thud.convex.box_box import depth_box_box, intersects_box_box
from thud.convex.capsule_capsule import contact_capsule_capsule
from thud.convex.epa import epa_depth
from thud.convex.gjk import gjk_distance, gjk_intersects, touch_distance
from thud.convex.point_distance import point_part
from thud.convex.support import load_part, support
from thud.convex.tolerances import WITNESS_GAP
from thud.math.pose import rotate, transpose, unrotate
from thud.math.vec3 import dot, norm, norm2
from thud.shapes.packed import BOUND, KIND, P0, P1, P2, P3, RADIUS
from thud.shapes.shape import BOX, CAPSULE, HALF_SPACE, HULL, SPHERE


@device
def flip(r, t):
    """The pose of A in B's frame, from that of B in A's."""
    s = unrotate(r, t)
    return transpose(r), (-s[0], -s[1], -s[2])


@kernel(inner="parts, i8, i8, mat3, vec3")
def half_space_pair(parts, a, b, r, t):
    """Half-space a against any b: (signed distance, point on A, unit normal from A to B).

    Two half-spaces overlap with depth inf unless they face each other exactly.
    """
    n = (parts.reals[a, P0], parts.reals[a, P1], parts.reals[a, P2])
    m = unrotate(r, n)
    if parts.ints[b, KIND] == HALF_SPACE:
        x, y, z = m[0] + parts.reals[b, P0], m[1] + parts.reals[b, P1], m[2] + parts.reals[b, P2]
        on_a = (n[0] * parts.reals[a, P3], n[1] * parts.reals[a, P3], n[2] * parts.reals[a, P3])
        if abs(x) + abs(y) + abs(z) > TOUCH:
            return -math.inf, on_a, n
        # B is solid where n.x >= its own height.
        return n[0] * t[0] + n[1] * t[1] + n[2] * t[2] - parts.reals[b, P3] - parts.reals[a, P3], on_a, n
    part_b = load_part(parts, b)
    p = rotate(r, support(parts, part_b, (-m[0], -m[1], -m[2])))
    radius = parts.reals[b, RADIUS]
    p = (p[0] + t[0] - radius * n[0], p[1] + t[1] - radius * n[1], p[2] + t[2] - radius * n[2])
    d = n[0] * p[0] + n[1] * p[1] + n[2] * p[2] - parts.reals[a, P3]
    return d, (p[0] - d * n[0], p[1] - d * n[1], p[2] - d * n[2]), n


@kernel(inner="parts, i8, i8, mat3, vec3")
def analytic_pair(parts, a, b, r, t):
    """Signed distance where a closed form exists: (found, signed distance, point on A, unit normal from A to B)."""
    kind_a, kind_b = parts.ints[a, KIND], parts.ints[b, KIND]
    ra, rb = parts.reals[a, RADIUS], parts.reals[b, RADIUS]
    if kind_a == HALF_SPACE:
        d, p, n = half_space_pair(parts, a, b, r, t)
        return True, d, p, n
    if kind_b == HALF_SPACE:
        rt, tt = flip(r, t)
        d, p, n = half_space_pair(parts, b, a, rt, tt)
        # Back to A's frame; A's point is B's point moved by the distance.
        q = (p[0] + d * n[0], p[1] + d * n[1], p[2] + d * n[2])
        q, n = rotate(r, q), rotate(r, n)
        return True, d, (q[0] + t[0], q[1] + t[1], q[2] + t[2]), (-n[0], -n[1], -n[2])
    if kind_a <= CAPSULE and kind_b <= CAPSULE:
        d, p, n = contact_capsule_capsule(parts.reals[a, P1], parts.reals[b, P1], r, t)
        return True, d - ra - rb, (p[0] + ra * n[0], p[1] + ra * n[1], p[2] + ra * n[2]), n
    if kind_b == SPHERE and kind_a != HULL:
        d, p, n = point_part(parts, a, t)
        return True, d - rb, p, n
    if kind_a == SPHERE and kind_b != HULL:
        s = unrotate(r, t)
        d, p, n = point_part(parts, b, (-s[0], -s[1], -s[2]))
        n = rotate(r, n)
        n = (-n[0], -n[1], -n[2])
        return True, d - ra, (ra * n[0], ra * n[1], ra * n[2]), n
    return False, 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


@kernel(inner="parts, i8, i8, mat3, vec3, vec3")
def closed_intersects(parts, a, b, r, t, axis):
    """Whether parts a and b meet, where a closed form exists: (found, status, axis from B to A)."""
    if parts.ints[a, KIND] == BOX and parts.ints[b, KIND] == BOX:
        hit = intersects_box_box(
            parts.reals[a, P0],
            parts.reals[a, P1],
            parts.reals[a, P2],
            parts.reals[b, P0],
            parts.reals[b, P1],
            parts.reals[b, P2],
            r,
            t,
            touch_distance(parts, a, b, t),
        )
        return True, OVERLAPPING if hit else SEPARATED, axis
    found, d, _p, n = analytic_pair(parts, a, b, r, t)
    return found, OVERLAPPING if d <= analytic_touch(parts, a, b, t) else SEPARATED, (-n[0], -n[1], -n[2])


@kernel(inner="parts, i8, i8, mat3, vec3, vec3")
def pair_intersects(parts, a, b, r, t, axis):
    """(status, axis): whether parts a and b meet; `axis` from B to A starts the search, the one returned may start
    the next."""
    kind_a, kind_b = parts.ints[a, KIND], parts.ints[b, KIND]
    # A hull has a closed form with a half-space only.
    if (kind_a != HULL and kind_b != HULL) or kind_a == HALF_SPACE or kind_b == HALF_SPACE:
        found, status, separating = closed_intersects(parts, a, b, r, t, axis)
        if found:
            return status, separating
    radius = parts.reals[a, RADIUS] + parts.reals[b, RADIUS]
    return gjk_intersects(parts, a, b, r, t, axis, radius)


@device
def finite_size(parts, a, b):
    """Sum of the bounding radii and centre offsets, a half-space counting by its offset alone."""
    size = 0.0
    if parts.reals[a, BOUND] < math.inf:
        size += parts.reals[a, BOUND]
    else:
        size += abs(parts.reals[a, P3])
    if parts.reals[b, BOUND] < math.inf:
        size += parts.reals[b, BOUND]
    else:
        size += abs(parts.reals[b, P3])
    return size


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, f8")
def pair_distance(parts, a, b, r, t, axis, reach):
    """Unsigned: (status, distance, point on A, unit normal from A to B) of parts a and b.

    In an overlap: distance 0, a common point, normal 0. Beyond `reach` the distance is a lower bound above it.
    """
    zero = (0.0, 0.0, 0.0)
    found, d, p, n = analytic_pair(parts, a, b, r, t)
    if found:
        if d > analytic_touch(parts, a, b, t):
            return SEPARATED, d, p, n
        return OVERLAPPING, 0.0, common_point(parts, a, b, r, t, p, n, d), zero
    ra = parts.reals[a, RADIUS]
    radius = ra + parts.reals[b, RADIUS]
    touch = touch_distance(parts, a, b, t)
    # Not before they are known to be apart.
    reach = max(reach, touch)
    status, v, p, lower = gjk_distance(parts, a, b, r, t, axis, reach + radius)
    return unsigned_outcome(status, v, p, lower, ra, radius, touch, reach)


@device
def unsigned_outcome(status, v, p, lower, ra, radius, touch, reach):
    """What `pair_distance` makes of GJK's answer for cores with radii that sum to `radius`, A's being `ra`."""
    zero = (0.0, 0.0, 0.0)
    if status == OVERLAPPING:
        return OVERLAPPING, 0.0, p, zero
    length = norm(v)
    n = (-v[0] / length, -v[1] / length, -v[2] / length)
    d = max(lower, 0.0) - radius if lower > reach + radius else length - radius
    if lower - radius > touch or (status == UNCONVERGED and length - radius > touch):
        return status, d, (p[0] + ra * n[0], p[1] + ra * n[1], p[2] + ra * n[2]), n
    # Cores apart, rounded shapes overlapping: a point of both lies on the line between the cores.
    s = min(ra, length)
    return OVERLAPPING, 0.0, (p[0] + s * n[0], p[1] + s * n[1], p[2] + s * n[2]), zero


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, f8, i8, f8[::1], i8[::1]")
def pair_signed(parts, a, b, r, t, axis, reach, faces, x, i):
    """Signed: (status, distance, point on A, unit normal from A to B); negative depth in an overlap.

    faces, x, i: EPA's limit and scratch arrays. Beyond `reach` the distance is a lower bound above it.
    """
    found, d, p, n = analytic_pair(parts, a, b, r, t)
    if found:
        return OVERLAPPING if d <= analytic_touch(parts, a, b, t) else SEPARATED, d, p, n
    ra = parts.reals[a, RADIUS]
    radius = ra + parts.reals[b, RADIUS]
    touch = touch_distance(parts, a, b, t)
    # Not before they are known to be apart.
    reach = max(reach, touch)
    status, v, p, lower = gjk_distance(parts, a, b, r, t, axis, reach + radius)
    length = norm(v)
    if status == SEPARATED:
        # A plane proves it, so the direction is as good as the distance, however close the cores are.
        n = (-v[0] / length, -v[1] / length, -v[2] / length)
        if lower - radius > touch:
            d = lower - radius if lower > reach + radius else length - radius
        else:
            status, d = OVERLAPPING, lower - radius
        return status, d, (p[0] + ra * n[0], p[1] + ra * n[1], p[2] + ra * n[2]), n
    if status == UNCONVERGED and lower - radius > touch:
        # Surely apart, by an amount that is not known as well as it should be.
        n = (-v[0] / length, -v[1] / length, -v[2] / length)
        return UNCONVERGED, length - radius, (p[0] + ra * n[0], p[1] + ra * n[1], p[2] + ra * n[2]), n
    return pair_depth(parts, a, b, r, t, axis, faces, x, i)


@device
def analytic_touch(parts, a, b, t):
    """Signed distance up to which a closed form counts as touching."""
    return TOUCH * (finite_size(parts, a, b) + abs(t[0]) + abs(t[1]) + abs(t[2]))


@kernel
def common_point(parts, a, b, r, t, p, n, d):
    """A point of both shapes, from the witness point p on A, normal n and signed distance d <= 0 of a closed form."""
    kind_a, kind_b = parts.ints[a, KIND], parts.ints[b, KIND]
    if d == -math.inf:
        return half_spaces_point(parts, a, b, r, t)
    # From A's surface back along the normal, as far as B's surface or the core of a rounded shape, whichever is first:
    # the middle of the overlap would leave a shape that is thinner than the depth.
    if kind_a == HALF_SPACE:
        s = d
    elif kind_b == HALF_SPACE:
        s = 0.0
    elif kind_b <= CAPSULE:
        s = min(d + parts.reals[b, RADIUS], 0.0)
    else:
        s = max(d, -parts.reals[a, RADIUS])
    return p[0] + s * n[0], p[1] + s * n[1], p[2] + s * n[2]


@device
def half_spaces_point(parts, a, b, r, t):
    """A point of two half-spaces that do not face each other exactly."""
    n = (parts.reals[a, P0], parts.reals[a, P1], parts.reals[a, P2])
    m = rotate(r, (parts.reals[b, P0], parts.reals[b, P1], parts.reals[b, P2]))
    height_a, height_b = parts.reals[a, P3], parts.reals[b, P3] + dot(m, t)
    e = (n[0] + m[0], n[1] + m[1], n[2] + m[2])
    if dot(n, m) > 0.0:
        # Below both planes, along the sum of the normals; |n + m|^2 is twice 1 + n.m.
        u = 2.0 * min(height_a, height_b) / norm2(e)
        return u * e[0], u * e[1], u * e[2]
    # From A's plane along it into B, twice as far as B's plane. The direction is the part of n + m in A's plane: m less its
    # part along n would cancel where the planes are all but parallel, and then the way is long.
    x = (height_a * n[0], height_a * n[1], height_a * n[2])
    outside = dot(m, x) - height_b
    if outside > 0.0:
        s = dot(n, e)
        g = (e[0] - s * n[0], e[1] - s * n[1], e[2] - s * n[2])
        s = dot(n, g)
        g = (g[0] - s * n[0], g[1] - s * n[1], g[2] - s * n[2])
        u = 2.0 * outside / norm2(g)
        x = (x[0] - u * g[0], x[1] - u * g[1], x[2] - u * g[2])
    return x


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, i8, f8[::1], i8[::1]")
def pair_depth(parts, a, b, r, t, axis, faces, x, i):
    """Penetration of two overlapping cores: (status, negative depth, point on A, unit normal from A to B)."""
    ra, rb = parts.reals[a, RADIUS], parts.reals[b, RADIUS]
    if parts.ints[a, KIND] == BOX and parts.ints[b, KIND] == BOX:
        depth, n = depth_box_box(
            parts.reals[a, P0],
            parts.reals[a, P1],
            parts.reals[a, P2],
            parts.reals[b, P0],
            parts.reals[b, P1],
            parts.reals[b, P2],
            r,
            t,
            math.inf,
        )
        status, placed, p = OVERLAPPING, False, (0.0, 0.0, 0.0)
    else:
        status, depth, n, placed, p = epa_depth(parts, a, b, r, t, axis, faces, x, i)
    if not placed:
        p = shifted_witness(parts, a, b, r, t, depth, n)
    return status, -depth - ra - rb, (p[0] + ra * n[0], p[1] + ra * n[1], p[2] + ra * n[2]), n


@device
def shifted_witness(parts, a, b, r, t, depth, n):
    """Witness point on A of a known depth and normal.

    Move B out by the depth and a little more: then A and B are apart by just that little, along n, and the closest
    point on A that GJK finds is the witness. Little, as GJK's direction is off by up to a millionth of a radian.
    """
    shift = depth + WITNESS_GAP * (parts.reals[a, BOUND] + parts.reals[b, BOUND])
    moved = (t[0] + shift * n[0], t[1] + shift * n[1], t[2] + shift * n[2])
    _status, _v, p, _lower = gjk_distance(parts, a, b, r, moved, (-n[0], -n[1], -n[2]), 1e308)
    return p
