"""GJK (Gilbert, Johnson, Keerthi): the distance of two convex cores from their support mappings alone.

Everything is in A's frame; (r, t) is the pose of B in it. The Minkowski difference A - B holds the origin exactly when
the cores meet; v is its point closest to the origin found so far, so v points from B to A. Each support point w gives
the lower bound v.w / |v| of the distance, v itself the upper bound |v|. [Yang] 2.7.4 and 2.8.3; the simplex step
follows its Algorithms 1 and 3 in three dimensions.

Status is SEPARATED, OVERLAPPING or UNCONVERGED; an iteration limit never says SEPARATED.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED, UNCONVERGED
from thud.constants import GJK_FLOOR_CURVED, TOUCH, UNIT_ROUNDOFF
from thud.convex.simplex import (
    advance_with_care,
    closest_on_segment,
    closest_on_tetrahedron,
    closest_on_triangle,
    keep_carriers,
)
from thud.convex.support import load_part, support
from thud.convex.tolerances import (
    GJK_GAP,
    GJK_GAP_CURVED,
    GJK_ITERATIONS,
    GJK_ITERATIONS_CURVED,
    GJK_ROUNDOFF,
    GJK_SLACK,
    GJK_SLACK_CURVED,
    GJK_STALLS,
    SIMPLEX_CLEARLY,
)
from thud.math.pose import rotate, unrotate
from thud.math.vec3 import any_orthogonal, cross, dot, norm2
from thud.shapes.packed import BOUND, CENTER, KIND
from thud.shapes.shape import HULL

#: A quick search that makes no progress in this precision; never an answer: `gjk_careful` takes over.
STALLED = 3


@device
def part_size(parts, a, b):
    """Length that scales the tolerances of a pair: the sum of the bounding radii."""
    return parts.reals[a, BOUND] + parts.reals[b, BOUND]


@device
def touch_distance(parts, a, b, t):
    """Gap below which two cores count as touching."""
    return TOUCH * (part_size(parts, a, b) + abs(t[0]) + abs(t[1]) + abs(t[2]))


@device
def stopping(parts, a, b, t, polytopes):
    """When the bounds of the distance are close enough, relative to it and in metres, and after how many steps to give up."""
    size = part_size(parts, a, b)
    floor = GJK_ROUNDOFF * (size + abs(t[0]) + abs(t[1]) + abs(t[2]))
    if polytopes:
        return GJK_GAP, floor, GJK_ITERATIONS
    return GJK_GAP_CURVED, floor + GJK_FLOOR_CURVED * size, GJK_ITERATIONS_CURVED


@device
def center_axis(parts, a, b, r, t):
    """From B's centre to A's, in A's frame: GJK's first search direction. Never zero."""
    cb = rotate(r, (parts.reals[b, CENTER], parts.reals[b, CENTER + 1], parts.reals[b, CENTER + 2]))
    x = parts.reals[a, CENTER] - cb[0] - t[0]
    y = parts.reals[a, CENTER + 1] - cb[1] - t[1]
    z = parts.reals[a, CENTER + 2] - cb[2] - t[2]
    # Centres that coincide to within roundoff give no direction, only noise whose square may underflow.
    size = UNIT_ROUNDOFF * part_size(parts, a, b)
    if not x * x + y * y + z * z > size * size:
        return 1.0, 0.0, 0.0
    return x, y, z


@device
def difference_support(parts, part_a, part_b, r, t, v):
    """Support point w of A - B along -v, and the point of A it comes from. A's frame."""
    pa = support(parts, part_a, (-v[0], -v[1], -v[2]))
    pb = rotate(r, support(parts, part_b, unrotate(r, v)))
    return (pa[0] - (pb[0] + t[0]), pa[1] - (pb[1] + t[1]), pa[2] - (pb[2] + t[2])), pa


@device
def advance(n, w0, w1, w2, w3):
    """Closest point of the simplex w0 .. w(n-1), newest last: (inside, v, four weights)."""
    if n == 1:
        return False, w0, 1.0, 0.0, 0.0, 0.0
    if n == 2:
        v, x = closest_on_segment(w0, w1)
        return False, v, 1.0 - x, x, 0.0, 0.0
    if n == 3:
        v, x0, x1, x2 = closest_on_triangle(w0, w1, w2)
        return False, v, x0, x1, x2, 0.0
    return closest_on_tetrahedron(w0, w1, w2, w3)


@device
def mix(x0, x1, x2, x3, a0, a1, a2, a3):
    """Weighted sum of four points."""
    return (
        x0 * a0[0] + x1 * a1[0] + x2 * a2[0] + x3 * a3[0],
        x0 * a0[1] + x1 * a1[1] + x2 * a2[1] + x3 * a3[1],
        x0 * a0[2] + x1 * a1[2] + x2 * a2[2] + x3 * a3[2],
    )


@device
def carried(v, x0, x1, x2, x3, w0, w1, w2, w3, slack):
    """Whether the weights give v, to within `slack`. In a flat simplex they may be noise where v itself is right."""
    m = mix(x0, x1, x2, x3, w0, w1, w2, w3)
    return norm2((m[0] - v[0], m[1] - v[1], m[2] - v[2])) <= slack * slack


@device
def inside_witness(w0, w1, w2, w3, a0, a1, a2, a3):
    """The point of A that meets B when the tetrahedron holds the origin: weights are the volumes it splits into."""
    x0 = abs(dot(w1, cross(w2, w3)))
    x1 = abs(dot(w0, cross(w2, w3)))
    x2 = abs(dot(w0, cross(w1, w3)))
    x3 = abs(dot(w0, cross(w1, w2)))
    total = x0 + x1 + x2 + x3
    if not total > 0.0:
        return a0
    return mix(x0 / total, x1 / total, x2 / total, x3 / total, a0, a1, a2, a3)


@device
def upright(v, p, q):
    """v, the closest point of segment pq to the origin, without the roundoff that it has along pq."""
    e = (q[0] - p[0], q[1] - p[1], q[2] - p[2])
    s = dot(v, e) / norm2(e)
    return v[0] - s * e[0], v[1] - s * e[1], v[2] - s * e[2]


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, f8")
def gjk_attempt(parts, a, b, r, t, axis, reach):
    """GJK with care from the direction `axis`; see `gjk_distance` for what it returns.

    Three things stop the quick search for no good reason. In a flat simplex the signed areas and volumes it goes by are
    noise, so that v gets longer: here every face and edge is tried then. Where one vertex of the simplex is far away, a
    step may turn v without shortening it, and only the next one gains: here a few such steps in a row are allowed. And a
    short v that is the difference of long ones has a poor direction: here it is set upright on its edge.
    """
    part_a, part_b = load_part(parts, a), load_part(parts, b)
    polytopes = part_a[0] <= HULL and part_b[0] <= HULL
    gap, floor, limit = stopping(parts, a, b, t, polytopes)
    size, touch = part_size(parts, a, b), touch_distance(parts, a, b, t)
    loose = (GJK_SLACK if polytopes else GJK_SLACK_CURVED) * size
    zero = (0.0, 0.0, 0.0)
    w0, w1, w2, w3 = zero, zero, zero, zero
    a0, a1, a2, a3 = zero, zero, zero, zero
    x0, x1, x2, x3 = 0.0, 0.0, 0.0, 0.0
    v, best, shortest = axis, axis, math.inf
    n, stalls, lower, shown = 0, 0, -math.inf, -math.inf
    for _ in range(limit):
        w, pa = difference_support(parts, part_a, part_b, r, t, v)
        length = math.sqrt(norm2(v))
        shown = dot(v, w) / length
        if shown > lower:
            lower, best = shown, (v[0] / length, v[1] / length, v[2] / length)
        if lower > reach:
            return SEPARATED, v, pa, lower
        if n > 0 and (length - shown <= gap * min(length, size) + floor or stalls > GJK_STALLS):
            break
        if n == 0:
            w0, a0 = w, pa
        elif n == 1:
            w1, a1 = w, pa
        elif n == 2:
            w2, a2 = w, pa
        else:
            w3, a3 = w, pa
        inside, v, x0, x1, x2, x3 = advance(n + 1, w0, w1, w2, w3)
        if inside:
            return OVERLAPPING, zero, inside_witness(w0, w1, w2, w3, a0, a1, a2, a3), lower
        stalls += 1
        if norm2(v) >= SIMPLEX_CLEARLY * shortest * shortest or not carried(v, x0, x1, x2, x3, w0, w1, w2, w3, loose):
            v, x0, x1, x2, x3 = advance_with_care(n + 1, w0, w1, w2, w3)
        length = math.sqrt(norm2(v))
        if length < shortest:
            stalls = 0
        if length <= touch:
            return OVERLAPPING, v, mix(x0, x1, x2, x3, a0, a1, a2, a3), lower
        shortest = min(length, shortest)
        n, w0, w1, w2, a0, a1, a2, x0, x1, x2 = keep_carriers(x0, x1, x2, x3, w0, w1, w2, w3, a0, a1, a2, a3)
        x3 = 0.0
        if n == 2:
            v = upright(v, w0, w1)
    # The two bounds of this v have met as well as they ever will.
    length = math.sqrt(norm2(v))
    slack = gap * min(length, size) + floor + loose
    if length - shown > slack and 2.0 * length * (length - lower) <= (10.0 * slack) ** 2 and lower > 0.0:
        # An earlier direction proves what the last does not, and all but leads from one closest point to the other.
        v, shown = (length * best[0], length * best[1], length * best[2]), lower
    return SEPARATED if length - shown <= slack else UNCONVERGED, v, mix(x0, x1, x2, x3, a0, a1, a2, a3), lower


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, f8")
def gjk_careful(parts, a, b, r, t, axis, reach):
    """`gjk_distance` for searches that have come to a halt, slower: `axis` is where they did.

    Tries again, with care, from there and from the two sides of it: a simplex may be too flat to tell on which side of a
    face the origin is, and another way leads to another simplex.
    """
    status, v, p, lower = gjk_attempt(parts, a, b, r, t, axis, reach)
    side = any_orthogonal(axis)
    for _ in range(2):
        if status != UNCONVERGED:
            break
        again = gjk_attempt(parts, a, b, r, t, side, reach)
        if again[0] != UNCONVERGED:
            status, v, p, lower = again
        side = cross(axis, side)
    slack = GJK_SLACK if parts.ints[a, KIND] <= HULL and parts.ints[b, KIND] <= HULL else GJK_SLACK_CURVED
    short = norm2(v) <= (10.0 * slack * part_size(parts, a, b)) ** 2
    if status == UNCONVERGED and short and lower <= touch_distance(parts, a, b, t):
        # Not shown to be apart, and by less than the promised tolerance if at all: they touch.
        status = OVERLAPPING
    return status, v, p, lower


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, f8")
def careful_status(parts, a, b, r, t, axis, radius):
    """Whether two cores come within `radius` of each other, for boolean searches that have come to a halt at `axis`."""
    reach = radius + touch_distance(parts, a, b, t)
    status, _v, _p, lower = gjk_careful(parts, a, b, r, t, axis, reach)
    return OVERLAPPING if status == SEPARATED and lower <= reach else status


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, f8")
def gjk_search(parts, a, b, r, t, axis, radius):
    """Whether two cores come within `radius` of each other (touching counts). Stops at the first separating axis.

    `axis` is the first search direction, from B to A. Returns (status, v): with SEPARATED v is the separating axis, with
    STALLED the direction the search has come to.
    """
    part_a, part_b = load_part(parts, a), load_part(parts, b)
    gap, floor, limit = stopping(parts, a, b, t, part_a[0] <= HULL and part_b[0] <= HULL)
    reach = radius + touch_distance(parts, a, b, t)
    reach2, floor2 = reach * reach, floor * floor
    zero = (0.0, 0.0, 0.0)
    w0, w1, w2, w3 = zero, zero, zero, zero
    v = axis
    n, last2 = 0, 1e308
    for _ in range(limit):
        w, _pa = difference_support(parts, part_a, part_b, r, t, v)
        vw = dot(v, w)
        v2 = norm2(v)
        # The plane through w orthogonal to v separates: the distance is at least v.w / |v|.
        if vw > 0.0 and vw * vw > reach2 * v2:
            return SEPARATED, v
        # Upper and lower bound agree as well as `gjk_distance` asks, and the lower one is within reach.
        excess = v2 - vw - gap * v2
        if n > 0 and (excess <= 0.0 or excess * excess <= floor2 * v2):
            return OVERLAPPING, v
        if n == 0:
            w0 = w
        elif n == 1:
            w1 = w
        elif n == 2:
            w2 = w
        else:
            w3 = w
        inside, v, x0, x1, x2, x3 = advance(n + 1, w0, w1, w2, w3)
        v2 = norm2(v)
        if inside or v2 <= reach2:
            return OVERLAPPING, v
        if v2 >= last2:
            break
        last2 = v2
        n, w0, w1, w2, _0, _1, _2, x0, x1, x2 = keep_carriers(x0, x1, x2, x3, w0, w1, w2, w3, w0, w1, w2, w3)
    return STALLED, v


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, f8")
def gjk_intersects(parts, a, b, r, t, axis, radius):
    """`gjk_search`, and with care where that has come to a halt."""
    status, v = gjk_search(parts, a, b, r, t, axis, radius)
    if status == STALLED:
        status = careful_status(parts, a, b, r, t, v, radius)
    return status, v


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, f8")
def gjk_distance(parts, a, b, r, t, axis, reach):
    """Distance of two cores, up to `reach` (beyond it the search stops at the first proof).

    Returns (status, v, point of A, lower bound). |v| is the distance. With SEPARATED v . x proves it, to the tolerances of
    `stopping`; the cores may still touch within them: compare the lower bound with the touch distance. OVERLAPPING: the
    cores meet, or |v| is below the touch distance and its direction may be noise.
    """
    part_a, part_b = load_part(parts, a), load_part(parts, b)
    polytopes = part_a[0] <= HULL and part_b[0] <= HULL
    gap, floor, limit = stopping(parts, a, b, t, polytopes)
    size, touch = part_size(parts, a, b), touch_distance(parts, a, b, t)
    loose = (GJK_SLACK if polytopes else GJK_SLACK_CURVED) * size
    touch2 = touch * touch
    zero = (0.0, 0.0, 0.0)
    w0, w1, w2, w3 = zero, zero, zero, zero
    a0, a1, a2, a3 = zero, zero, zero, zero
    x0, x1, x2, x3 = 0.0, 0.0, 0.0, 0.0
    v, v2, last2 = axis, norm2(axis), 1e308
    n, lower = 0, -1e308
    for _ in range(limit):
        w, pa = difference_support(parts, part_a, part_b, r, t, v)
        vw = dot(v, w)
        length = math.sqrt(v2)
        lower = max(lower, vw / length)
        if lower > reach:
            return SEPARATED, v, pa, lower
        if n > 0 and v2 - vw <= (gap * min(length, size) + floor) * length:
            if not carried(v, x0, x1, x2, x3, w0, w1, w2, w3, loose):
                break
            return SEPARATED, v, mix(x0, x1, x2, x3, a0, a1, a2, a3), lower
        if n == 0:
            w0, a0 = w, pa
        elif n == 1:
            w1, a1 = w, pa
        elif n == 2:
            w2, a2 = w, pa
        else:
            w3, a3 = w, pa
        inside, v, x0, x1, x2, x3 = advance(n + 1, w0, w1, w2, w3)
        v2 = norm2(v)
        if inside:
            return OVERLAPPING, zero, inside_witness(w0, w1, w2, w3, a0, a1, a2, a3), lower
        if v2 <= touch2:
            if not carried(v, x0, x1, x2, x3, w0, w1, w2, w3, loose):
                break
            return OVERLAPPING, v, mix(x0, x1, x2, x3, a0, a1, a2, a3), lower
        if v2 >= last2:
            break
        last2 = v2
        n, w0, w1, w2, a0, a1, a2, x0, x1, x2 = keep_carriers(x0, x1, x2, x3, w0, w1, w2, w3, a0, a1, a2, a3)
        x3 = 0.0
    # No progress left in this precision, or a closest point whose place on A is not known.
    return gjk_careful(parts, a, b, r, t, v, reach)
