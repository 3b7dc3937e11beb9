"""A convex part on facets: from triangles in reach to patches of contact points.

Everything is in the part's frame; n leads from the ground to the part. Four steps:

1. Facets on which the part lies flat or shallow: their own normal is the direction.
2. Facets that a direction of step 1 already clears by a short way belong to it: the sides of a cube that a box stands on.
3. For the others the closest or deepest pair of part and triangle gives the direction, if it is a normal of the surface there;
   else their own normal does.
4. What a less deep direction clears by a clearly shorter way belongs to that one. Each direction is a patch: the part's face
   toward it is clipped by the facets, along the direction, and the points are thinned out.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import CAST_UNCONVERGED, MISS, OVERLAPPING, SEPARATED, UNCONVERGED
from thud.convex.casts.linear_cast import cast_pair
from thud.convex.convex_pair import pair_signed
from thud.convex.gjk import center_axis
from thud.convex.manifold import ALONG, CORNER, OTHER, OWN, SIDE, clip_by_face, face_toward
from thud.convex.manifold import FACE as A_FACE
from thud.convex.rows.work_space import epa_faces
from thud.convex.support import load_part, support
from thud.math.vec3 import cross, dot, norm2, sub
from thud.mesh.manifolds.directions import DEEP, LOW, begin_turns, direction, is_new, next_turn
from thud.mesh.manifolds.facets import (
    DEPTH,
    DIRECTION,
    DROPPED,
    EDGES,
    NAME,
    OPEN_QUESTION,
    TOWARD,
    VERTICES,
    WAITS,
    WAY_OUT,
    WITNESS,
    WITNESSED,
    facet_corner,
    facet_normal,
    highest_corner,
    load_polygon,
    may_lean,
)
from thud.mesh.manifolds.spread import (
    FACET,
    HOW_DEEP,
    OF_GROUND,
    OF_OTHER,
    put_best_point,
    put_point,
    spread_points,
    thin_points,
)
from thud.mesh.manifolds.tolerances import ALIKE, CLEAR_ROOM, CLEARLY, DEEPER, EDGE_ON, NEAR_FEATURE, ON_FEATURE, SNAP, SURE
from thud.shapes.packed import BOUND, RADIUS, SCAN_COUNT, VERTEX_START

_IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_ZERO = (0.0, 0.0, 0.0)


@device
def lowest_of(packed, n):
    """(lowest point of part 0 along the unit vector n, rounding included)."""
    p = support(packed.parts, load_part(packed.parts, 0), (-n[0], -n[1], -n[2]))
    radius = packed.parts.reals[0, RADIUS]
    return p[0] - radius * n[0], p[1] - radius * n[1], p[2] - radius * n[2]


@device
def over_facet(facets, k, n, q):
    """Whether q is above or below facet k, seen along n."""
    for c in range(3):
        a, b = facet_corner(facets, k, c), facet_corner(facets, k, (c + 1) % 3)
        if dot(cross(n, sub(b, a)), sub(q, a)) < 0.0:
            return False
    return True


@device
def height_over(facets, k, q):
    """Height of q over the plane of facet k."""
    return dot(facet_normal(facets, k), sub(q, facet_corner(facets, k, 0)))


@device
def copy_polygon(source, count, target):
    """The corners of a polygon."""
    for k in range(count):
        for c in range(6):
            target[k, c] = source[k, c]


@device
def or_face(feature, face):
    """A feature, or the face that stands for it."""
    return feature if feature > 0.0 else A_FACE + np.float64(face)


@kernel(inner="f8[:,::1], i8[:,::1], i8, vec3, i8, vec3, i8, f8, manifold_space, f8[:,::1], i8")
def clip_points(facets, ints, k, n, sides, normal, number, margin, polygons, points, count):
    """(points noted, deepest of this facet or -inf) after those of facet k and the part's face toward it, clipped along n.

    polygons.face_a: the part's face of `sides` corners, with its normal and number.
    """
    m = facet_normal(facets, k)
    cosine, square = dot(n, m), -dot(n, normal)
    work, facet = polygons.face_b, polygons.found
    deepest = -math.inf
    if cosine > EDGE_ON:
        load_polygon(facets, ints, k, facet, True)
        copy_polygon(polygons.face_a, sides, work)
        many = clip_by_face(work, sides, polygons.spare, facet, 3, n)
        for i in range(many):
            q = (work[i, 0], work[i, 1], work[i, 2])
            depth = -height_over(facets, k, q) / cosine
            if depth >= -margin:
                deepest = max(deepest, depth)
                middle = (q[0] + 0.5 * depth * n[0], q[1] + 0.5 * depth * n[1], q[2] + 0.5 * depth * n[2])
                ground, other = or_face(work[i, OTHER], ints[k, NAME]), or_face(work[i, OWN], number)
                count = put_point(points, count, middle, depth, ground, other, k, 0)
    elif cosine > -EDGE_ON and sides >= 3 and square > EDGE_ON:
        # The facet is seen from its edge: it is clipped by the part's face.
        load_polygon(facets, ints, k, work, False)
        many = clip_by_face(work, 3, polygons.spare, polygons.face_a, sides, (-n[0], -n[1], -n[2]))
        origin = (polygons.face_a[0, 0], polygons.face_a[0, 1], polygons.face_a[0, 2])
        for i in range(many):
            q = (work[i, 0], work[i, 1], work[i, 2])
            depth = dot(normal, sub(origin, q)) / square
            if depth >= -margin:
                deepest = max(deepest, depth)
                middle = (q[0] - 0.5 * depth * n[0], q[1] - 0.5 * depth * n[1], q[2] - 0.5 * depth * n[2])
                ground, other = or_face(work[i, OWN], ints[k, NAME]), or_face(work[i, OTHER], number)
                count = put_point(points, count, middle, depth, ground, other, k, 0)
    return count, deepest


@device
def write_triangle(packed, facets, k):
    """Facet k over the placeholder triangle, part 1."""
    parts = packed.parts
    start = parts.ints[1, VERTEX_START]
    p, q, s = facet_corner(facets, k, 0), facet_corner(facets, k, 1), facet_corner(facets, k, 2)
    for i in range(parts.ints[1, SCAN_COUNT]):
        c = p if i == 0 else (q if i == 1 else s)
        parts.vertices[0, start + i], parts.vertices[1, start + i], parts.vertices[2, start + i] = c
    m = ((p[0] + q[0] + s[0]) / 3.0, (p[1] + q[1] + s[1]) / 3.0, (p[2] + q[2] + s[2]) / 3.0)
    parts.reals[1, 5], parts.reals[1, 6], parts.reals[1, 7] = m
    parts.reals[1, BOUND] = math.sqrt(max(norm2(sub(p, m)), max(norm2(sub(q, m)), norm2(sub(s, m)))))


@device
def touched_feature(facets, ints, k, q, least):
    """Number of what of facet k the point q lies on, to a distance of `least`: the nearest vertex, else edge, or its face."""
    nearest, at = least * least, -1
    for c in range(3):
        off2 = norm2(sub(q, facet_corner(facets, k, c)))
        if off2 <= nearest:
            nearest, at = off2, c
    if at >= 0:
        return CORNER + np.float64(ints[k, VERTICES + at])
    m, nearest = facet_normal(facets, k), least
    for c in range(3):
        a, b = facet_corner(facets, k, c), facet_corner(facets, k, (c + 1) % 3)
        o = cross(sub(b, a), m)
        off = abs(dot(o, sub(q, a))) / math.sqrt(norm2(o))
        if off <= nearest:
            nearest, at = off, c
    return SIDE + np.float64(ints[k, EDGES + at]) if at >= 0 else A_FACE + np.float64(ints[k, NAME])


@device
def touched_side(polygon, sides, number, q, least):
    """The same of a face of the part, given by its corners and its number."""
    for c in range(sides):
        if norm2(sub(q, (polygon[c, 0], polygon[c, 1], polygon[c, 2]))) <= least * least:
            return polygon[c, OWN]
    for c in range(sides):
        d = (c + 1) % sides
        a, b = (polygon[c, 0], polygon[c, 1], polygon[c, 2]), (polygon[d, 0], polygon[d, 1], polygon[d, 2])
        e, r = sub(b, a), sub(q, a)
        along = dot(r, e) / norm2(e)
        off = (r[0] - along * e[0], r[1] - along * e[1], r[2] - along * e[2])
        if -0.01 <= along <= 1.01 and norm2(off) <= least * least:
            return polygon[c, ALONG]
    return A_FACE + np.float64(number)


@device
def add_direction(directions, count, packed, n):
    """(number of the direction that n belongs to, how many there are then)."""
    at, fresh = is_new(directions, count, n)
    if fresh:
        directions[at, 0], directions[at, 1], directions[at, 2] = n
        directions[at, LOW] = dot(n, lowest_of(packed, n))
        count += 1
    return at, count


@device
def add_own_direction(packed, facets, k, directions, count, polygons):
    """The same of the closest or deepest pair of facet k; a face of the part gives its normal exactly."""
    n = (facets[k, TOWARD], facets[k, TOWARD + 1], facets[k, TOWARD + 2])
    sides, normal, _number = face_toward(packed, np.int64(0), (-n[0], -n[1], -n[2]), polygons.face_a)
    if sides >= 3 and -dot(normal, n) >= SNAP:
        n = (-normal[0], -normal[1], -normal[2])
    return add_direction(directions, count, packed, n)


@device
def lies_on(packed, facets, ints, k, directions, d, way, size, polygons, points):
    """Whether the part, which is apart from facet k along direction d, is as near to it as that says; or, if it overlaps it
    along d, lies above or below it at all."""
    n = direction(directions, d)
    sides, normal, number = face_toward(packed, np.int64(0), (-n[0], -n[1], -n[2]), polygons.face_a)
    full = np.int64(points.shape[0])
    _none, deepest = clip_points(facets, ints, k, n, sides, normal, number, math.inf, polygons, points, full)
    return deepest >= way - DEEPER * size if way < 0.0 else deepest > -math.inf


@kernel(inner="packed, f8[:,::1], i8, vec3, f8, f8")
def way_along(packed, facets, k, n, way, margin):
    """(depth, point of the facet): how far the part must move along n to clear facet k, negative if it could go back by so
    much, up to `margin`; -inf if it passes by. way: an upper bound."""
    write_triangle(packed, facets, k)
    lift = max(way, 0.0)
    lift += CLEAR_ROOM * (lift + packed.parts.reals[0, BOUND])
    back = lift + margin
    moved = (lift * n[0], lift * n[1], lift * n[2])
    status, time, p, _m = cast_pair(
        packed.parts, np.int64(1), np.int64(0), _IDENTITY, moved, (-back * n[0], -back * n[1], -back * n[2]), 1.0
    )
    if status in (MISS, CAST_UNCONVERGED):
        return -math.inf, p
    return lift - time * back, p


@device
def nearest_at_corner(facets, ints, many, k, size):
    """Whether the closest pair of facet k is at one of its corners, and no facet that has this corner too is nearer."""
    depth = facets[k, DEPTH]
    on = (
        facets[k, WITNESS] + 0.5 * depth * facets[k, TOWARD], facets[k, WITNESS + 1] + 0.5 * depth * facets[k, TOWARD + 1],
        facets[k, WITNESS + 2] + 0.5 * depth * facets[k, TOWARD + 2],
    )  # fmt: skip
    feature = np.int64(touched_feature(facets, ints, k, on, ON_FEATURE * size))
    if feature >= np.int64(SIDE):
        return False
    vertex = feature - np.int64(CORNER)
    for j in range(many):
        if j != k and vertex in (ints[j, VERTICES], ints[j, VERTICES + 1], ints[j, VERTICES + 2]):
            if ints[j, DIRECTION] >= 0 and ints[j, WITNESSED] == 0:
                return False
            if ints[j, WITNESSED] == 1 and facets[j, DEPTH] > depth + DEEPER * size:
                return False
    return True


@kernel(inner="packed, f8[:,::1], i8[:,::1], i8, f8, f8, f8, f8[:,::1], epa_space, manifold_space, f8[:,::1]")
def settle_facets(packed, facets, ints, many, margin, look, size, directions, space, polygons, points):
    """(status, number of directions): gives each of the `many` facets its direction, or drops it. look: a way out that is short
    in any case."""
    count, status = np.int64(0), SEPARATED
    short = max(SURE * size, look * (1.0 + DEEPER))
    # Step 1.
    for k in range(many):
        n = facet_normal(facets, k)
        low = lowest_of(packed, n)
        way = -height_over(facets, k, low)
        high = lowest_of(packed, (-n[0], -n[1], -n[2]))
        facets[k, WAY_OUT] = way
        if way < -margin or height_over(facets, k, high) < -margin:
            ints[k, DIRECTION] = DROPPED
            continue
        if way <= short:
            flat = over_facet(facets, k, n, low)
            if not flat:
                sides, normal, number = face_toward(packed, np.int64(0), (-n[0], -n[1], -n[2]), polygons.face_a)
                _none, deepest = clip_points(
                    facets, ints, k, n, sides, normal, number, margin, polygons, points, np.int64(points.shape[0])
                )
                # Nothing of the part is lower than what lies on the facet.
                flat = deepest >= way - DEEPER * size
            if flat:
                ints[k, DIRECTION], count = add_direction(directions, count, packed, n)
    # Steps 2 and 3.
    sure = count
    faces = epa_faces(space)
    for k in range(many):
        if ints[k, DIRECTION] != OPEN_QUESTION:
            continue
        best, at = math.inf, np.int64(-1)
        for d in range(sure):
            way = highest_corner(facets, k, direction(directions, d)) - directions[d, LOW]
            if way < best:
                best, at = way, np.int64(d)
        # Within a margin a facet beside the part may be near it another way.
        sure_of_it = best >= 0.0 and margin < ON_FEATURE * size
        if (
            at >= 0
            and best <= short
            and (sure_of_it or lies_on(packed, facets, ints, k, directions, at, best, size, polygons, points))
        ):
            ints[k, DIRECTION], facets[k, WAY_OUT] = at, best
            continue
        write_triangle(packed, facets, k)
        a, b = np.int64(0), np.int64(1)
        axis = center_axis(packed.parts, a, b, _IDENTITY, _ZERO)
        outcome, d, p, n = pair_signed(packed.parts, a, b, _IDENTITY, _ZERO, axis, margin, faces, space.reals, space.ints)
        if outcome != UNCONVERGED and d > margin:
            ints[k, DIRECTION] = DROPPED
            continue
        status = max(status, OVERLAPPING if outcome == OVERLAPPING else status)
        # From the facet to the part; p is on the part, the facet at p - d n.
        n = (-n[0], -n[1], -n[2])
        ints[k, WITNESSED], facets[k, DEPTH] = 1, -d
        for c in range(3):
            facets[k, WITNESS + c], facets[k, TOWARD + c] = p[c] - 0.5 * d * n[c], n[c]
        if outcome == UNCONVERGED or dot(n, facet_normal(facets, k)) >= SNAP:
            ints[k, WITNESSED] = 0 if outcome == UNCONVERGED else 1
            ints[k, DIRECTION], count = add_direction(directions, count, packed, facet_normal(facets, k))
        elif may_lean(facets, k, n):
            facets[k, WAY_OUT] = -d
            ints[k, DIRECTION], count = add_own_direction(packed, facets, k, directions, count, polygons)
        elif d > 0.0:
            # From behind there is no contact.
            ints[k, WITNESSED] = 1 if dot(n, facet_normal(facets, k)) > 0.0 else 0
            ints[k, DIRECTION] = WAITS
        else:
            ints[k, DIRECTION], count = add_direction(directions, count, packed, facet_normal(facets, k))
    # Nearest at an edge that has no such normal: the neighbour there has the contact. At a corner the edges do not tell, but
    # the other triangles there do.
    for k in range(many):
        if ints[k, DIRECTION] == WAITS:
            if nearest_at_corner(facets, ints, many, k, size):
                facets[k, WAY_OUT] = facets[k, DEPTH]
                ints[k, DIRECTION], count = add_own_direction(packed, facets, k, directions, count, polygons)
            else:
                ints[k, DIRECTION] = DROPPED
    # Step 4: how deep each direction is at least; then the least deep one takes what it clears, then the next.
    begin_turns(directions, count)
    for k in range(many):
        if ints[k, DIRECTION] >= 0:
            directions[ints[k, DIRECTION], DEEP] = min(directions[ints[k, DIRECTION], DEEP], facets[k, WAY_OUT])
    for _turn in range(count):
        least = next_turn(directions, count)
        if least < 0:
            break
        n, deep = direction(directions, least), directions[least, DEEP]
        for k in range(many):
            # What is apart has its own normal.
            own = ints[k, DIRECTION]
            if own >= 0 and own != least and CLEARLY * facets[k, WAY_OUT] > max(deep, 0.0):
                way = highest_corner(facets, k, n) - directions[least, LOW]
                if way < CLEARLY * facets[k, WAY_OUT]:
                    ints[k, DIRECTION], facets[k, WAY_OUT] = least, way
    return status, count


@kernel(inner="packed, f8[:,::1], i8[:,::1], i8, f8, f8, f8[:,::1], i8, manifold_space, f8[:,::1], i8")
def patch_points(packed, facets, ints, many, margin, size, directions, d, polygons, points, limit):
    """Number of points of the patch along direction d, in front of `points`; fills them."""
    n = direction(directions, d)
    sides, normal, number = face_toward(packed, np.int64(0), (-n[0], -n[1], -n[2]), polygons.face_a)
    low = lowest_of(packed, n)
    count, deepest = np.int64(0), -math.inf
    for k in range(many):
        if ints[k, DIRECTION] != d:
            continue
        count, depth = clip_points(facets, ints, k, n, sides, normal, number, margin, polygons, points, count)
        deepest = max(deepest, depth)
        if count > points.shape[0] - 64:
            count = thin_points(points, count, n, size)
    for k in range(many):
        if ints[k, DIRECTION] != d:
            continue
        # What reaches lower than the face, and what a closest pair shows.
        way = highest_corner(facets, k, n) - directions[d, LOW]
        if way > deepest + DEEPER * size:
            cosine = dot(n, facet_normal(facets, k))
            if cosine > EDGE_ON and over_facet(facets, k, n, low):
                depth = -height_over(facets, k, low) / cosine
                on = (low[0] + depth * n[0], low[1] + depth * n[1], low[2] + depth * n[2])
            else:
                depth, on = way_along(packed, facets, k, n, way, margin)
            if depth >= -margin and depth > deepest + DEEPER * size:
                middle = (on[0] - 0.5 * depth * n[0], on[1] - 0.5 * depth * n[1], on[2] - 0.5 * depth * n[2])
                feature = touched_feature(facets, ints, k, on, ON_FEATURE * size)
                count = put_best_point(points, count, middle, depth, feature, 0.0, k, 0)
                deepest = depth
        toward = (facets[k, TOWARD], facets[k, TOWARD + 1], facets[k, TOWARD + 2])
        if ints[k, WITNESSED] == 1 and facets[k, DEPTH] > deepest + DEEPER * size and dot(toward, n) >= ALIKE:
            depth = facets[k, DEPTH]
            middle = (facets[k, WITNESS], facets[k, WITNESS + 1], facets[k, WITNESS + 2])
            on = (middle[0] + 0.5 * depth * n[0], middle[1] + 0.5 * depth * n[1], middle[2] + 0.5 * depth * n[2])
            feature = touched_feature(facets, ints, k, on, ON_FEATURE * size)
            count = put_best_point(points, count, middle, depth, feature, 0.0, k, 0)
            deepest = depth
    count = spread_points(points, count, n, limit, size)
    # Names that last: what lies near a corner or an edge is named by it, however it was clipped.
    for k in range(count):
        q, half = (points[k, 0], points[k, 1], points[k, 2]), 0.5 * points[k, HOW_DEEP]
        on = (q[0] + half * n[0], q[1] + half * n[1], q[2] + half * n[2])
        points[k, OF_GROUND] = touched_feature(facets, ints, np.int64(points[k, FACET]), on, NEAR_FEATURE * size)
        if sides >= 2 and points[k, OF_OTHER] > 0.0:
            on = (q[0] - half * n[0], q[1] - half * n[1], q[2] - half * n[2])
            points[k, OF_OTHER] = touched_side(polygons.face_a, sides, number, on, NEAR_FEATURE * size)
    return count


@kernel(inner="packed, f8[:,::1], i8[:,::1], i8, f8, f8[:,::1], f8[:,::1], f8")
def nearest_point(packed, facets, ints, many, deepest, directions, points, size):
    """Number of points, 0 or 1: the closest pair of all facets, if nothing found so far is as near or as deep. Its normal is
    one of the surface, whatever its edges look like, since no other facet is nearer. Direction 0 becomes its own."""
    best, at = deepest + DEEPER * size, np.int64(-1)
    for k in range(many):
        # An overlap that the patches do not show is one of roundoff, whose normal says nothing.
        shown = facets[k, DEPTH] >= 0.0 and deepest > -math.inf
        if ints[k, WITNESSED] == 1 and facets[k, DEPTH] > best and not shown:
            best, at = facets[k, DEPTH], np.int64(k)
    if at < 0:
        return np.int64(0)
    n = (facets[at, TOWARD], facets[at, TOWARD + 1], facets[at, TOWARD + 2])
    directions[0, 0], directions[0, 1], directions[0, 2] = n
    middle = (facets[at, WITNESS], facets[at, WITNESS + 1], facets[at, WITNESS + 2])
    on = (middle[0] + 0.5 * best * n[0], middle[1] + 0.5 * best * n[1], middle[2] + 0.5 * best * n[2])
    return put_point(points, np.int64(0), middle, best, touched_feature(facets, ints, at, on, ON_FEATURE * size), 0.0, at, 0)
