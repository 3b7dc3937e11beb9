"""Facets of two meshes on each other: from pairs of triangles in reach to patches of contact points.

Everything is in the frame of A's tree; n leads from A to B, and moving B along n takes it out. Facets of A, and those of B,
that touch or lie inside the other body form smooth pieces; the mean normals of the pieces are the directions. Each pair of
triangles belongs to the direction along which B clears it by the shortest way. A pair that is apart and that none of them parts
as well as its own closest points do adds its own direction, if that is a normal of both surfaces there.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.bvh.wide import LEAF
from thud.convex.manifold import CORNER, OTHER, OWN, clip_by_face
from thud.convex.manifold import FACE as A_FACE
from thud.math.pose import unrotate, untransform
from thud.math.vec3 import cross, dot, norm2, sub
from thud.mesh.manifolds.convex_facets import height_over, or_face, touched_feature
from thud.mesh.manifolds.directions import DEEP, LOW, USES, begin_turns, direction, is_new, nearest_direction, next_turn
from thud.mesh.manifolds.facets import (
    DEPTH,
    DIRECTION,
    DROPPED,
    NAME,
    TOWARD,
    VERTICES,
    WAY_OUT,
    WITNESSED,
    facet_corner,
    facet_normal,
    highest_corner,
    load_polygon,
    may_lean,
)
from thud.mesh.manifolds.pair_columns import BELONGS, CROSSES, GAP, GAP_MIDDLE, GAP_NORMAL, OF_A, OF_B, WAY
from thud.mesh.manifolds.spread import FACET, FACET_B, HOW_DEEP, OF_GROUND, OF_OTHER, put_point, thin_points
from thud.mesh.manifolds.tolerances import (
    ALIKE,
    CLEARLY,
    DEEPER,
    EDGE_ON,
    FLAT,
    LEAST_MEAN,
    NEARLY,
    ON_FEATURE,
    SMOOTH,
    SNAP,
    SURE,
)
from thud.mesh.raycast import ROWS, first_hit

# Kinds of pieces, noted at their first facets.
NO_PIECE, EVEN, CURVED = 0.0, 1.0, 2.0

#: In place of the mark of a direction that had its turn: it took pairs, and had none of its own.
TAKES = 2.0

# What pairs a direction has at first: all apart, none, or some that cross.
APART, NO_PAIR, CROSSED = 0.0, 1.0, 2.0


@device
def area_normal(facets, k):
    """Area vector of facet k, twice as long as its area."""
    p = facet_corner(facets, k, 0)
    return cross(sub(facet_corner(facets, k, 1), p), sub(facet_corner(facets, k, 2), p))


@device
def piece_of(pieces, k):
    """The first facet of the piece that facet k is in."""
    while pieces[k] != k:
        pieces[k] = pieces[pieces[k]]
        k = pieces[k]
    return k


@kernel(inner="f8[:,::1], i8[:,::1], i8, i8[::1]")
def find_pieces(facets, beyond, many, pieces):
    """Smooth pieces of a surface: each facet notes the mean normal of its piece, 0 if that has none, and whether it is the
    first of it. beyond: the facet beyond each edge, -1 for none."""
    for k in range(many):
        pieces[k] = k
    for k in range(many):
        for e in range(3):
            other = beyond[k, e]
            if other >= 0 and dot(facet_normal(facets, k), facet_normal(facets, other)) >= SMOOTH:
                a, b = piece_of(pieces, np.int64(k)), piece_of(pieces, other)
                pieces[max(a, b)] = min(a, b)
    # Sums of area vectors and areas, at the first facet of each piece.
    for k in range(many):
        for c in range(4):
            facets[k, DEPTH + c] = 0.0
    for k in range(many):
        pieces[k] = piece_of(pieces, np.int64(k))
        m, first = area_normal(facets, k), pieces[k]
        for c in range(3):
            facets[first, DEPTH + c] += m[c]
        facets[first, DEPTH + 3] += math.sqrt(norm2(m))
    for k in range(many):
        first = pieces[k]
        x, y, z, area = (
            facets[first, DEPTH], facets[first, DEPTH + 1], facets[first, DEPTH + 2], facets[first, DEPTH + 3],
        )  # fmt: skip
        length = math.sqrt(x * x + y * y + z * z)
        scale = 1.0 / length if length > LEAST_MEAN * area else 0.0
        facets[k, TOWARD], facets[k, TOWARD + 1], facets[k, TOWARD + 2] = scale * x, scale * y, scale * z
        # A piece has a direction at its first facet.
        facets[k, WAY_OUT] = CURVED if length < FLAT * area else EVEN
        if first != k or scale == 0.0:
            facets[k, WAY_OUT] = NO_PIECE


@kernel(inner="f8[:,::1], i8, f8, f8[:,::1], i8")
def add_directions(facets, many, sign, directions, count):
    """Number of directions after the mean normals, times `sign`, of the pieces of a surface. Of two within a degree that of an
    even piece stands for both, whichever body it is of; of those of two even ones see `settle_rivals`."""
    for k in range(many):
        kind = facets[k, WAY_OUT]
        if kind == NO_PIECE:
            continue
        n = (sign * facets[k, TOWARD], sign * facets[k, TOWARD + 1], sign * facets[k, TOWARD + 2])
        at, fresh = is_new(directions, count, n)
        alike = not fresh and dot(direction(directions, at), n) >= ALIKE
        if fresh or (alike and kind == EVEN and directions[at, USES] == CURVED):
            directions[at, 0], directions[at, 1], directions[at, 2] = n
            directions[at, USES] = kind
        count += 1 if fresh else 0
    return count


@device
def way_of_pair(facets_a, a, facets_b, b, n):
    """How far facet b must move along n to be beyond facet a, whatever lies above what."""
    low = -highest_corner(facets_b, b, (-n[0], -n[1], -n[2]))
    return highest_corner(facets_a, a, n) - low


@device
def is_normal(facets, k, n):
    """Whether n is a normal of the surface at facet k, or one of the smooth piece that it is in."""
    mean = (facets[k, TOWARD], facets[k, TOWARD + 1], facets[k, TOWARD + 2])
    return dot(mean, n) >= SMOOTH or may_lean(facets, k, n)


@device
def is_normal_of_both(facets_a, a, facets_b, b, n):
    """The same at facet a of A, and of the opposite direction at facet b of B."""
    return is_normal(facets_a, a, n) and is_normal(facets_b, b, (-n[0], -n[1], -n[2]))


@device
def deep_at_most(facets_a, many_a, facets_b, many_b, n, enough):
    """How far B must move along n at most until all facets of A that face n are behind all of B that face it; inf if there are
    none of either, or if it is more than `enough`."""
    high, low = -math.inf, math.inf
    for k in range(many_a):
        if dot(facet_normal(facets_a, k), n) > EDGE_ON:
            high = max(high, highest_corner(facets_a, k, n))
    for k in range(many_b):
        if dot(facet_normal(facets_b, k), n) < -EDGE_ON:
            low = min(low, -highest_corner(facets_b, k, (-n[0], -n[1], -n[2])))
            if high - low > enough:
                return math.inf
    return high - low if high > -math.inf and low < math.inf else math.inf


@kernel(inner="f8[:,::1], i8, f8[:,::1], i8, f8, f8[:,::1], i8")
def settle_rivals(facets_a, many_a, facets_b, many_b, size, directions, count):
    """Of the normals of an even piece of A, which are directions, and of one of B that differ by less than a degree, one stands
    for both: that along which B clears all of A by the shorter way. Else it would be that of the body which comes first."""
    for d in range(count):
        directions[d, DEEP] = math.inf
    for k in range(many_b):
        if facets_b[k, WAY_OUT] != EVEN:
            continue
        n = (-facets_b[k, TOWARD], -facets_b[k, TOWARD + 1], -facets_b[k, TOWARD + 2])
        at, cosine = nearest_direction(directions, count, n)
        # The first rival of each direction.
        if ALIKE <= cosine < 1.0 and directions[at, USES] == EVEN and directions[at, DEEP] == math.inf:
            own = deep_at_most(facets_a, many_a, facets_b, many_b, direction(directions, at), math.inf)
            directions[at, DEEP] = own
            if deep_at_most(facets_a, many_a, facets_b, many_b, n, own) < own - DEEPER * size:
                directions[at, 0], directions[at, 1], directions[at, 2] = n


@device
def takes_only(directions, d):
    """Whether direction d is that of no pair at first, and took some: its points are corners inside the other body."""
    return directions[d, USES] == TAKES


@kernel(inner="f8[:,::1], i8, f8[:,::1], i8, i8[:,::1], f8[:,::1], i8, f8, f8[:,::1], i8")
def settle_pairs(facets_a, many_a, facets_b, many_b, pairs, gaps, many, size, directions, count):
    """Number of directions, after each pair was given the one it belongs to.

    Normals of both surfaces come first. Where those are not short, others count that are clearly shorter: a pair that they
    clear belongs to them, though it adds no points of its own. First those that both facets face, then any that is left in use.
    A direction that no pair has, since what faces it is inside the other body as a whole, is as deep as that may be.
    """
    for k in range(many):
        a, b = pairs[k, OF_A], pairs[k, OF_B]
        best, at = math.inf, np.int64(-1)
        for d in range(count):
            n = direction(directions, d)
            way = way_of_pair(facets_a, a, facets_b, b, n)
            if way < best - DEEPER * size and is_normal_of_both(facets_a, a, facets_b, b, n):
                best, at = way, np.int64(d)
        gap = gaps[k, GAP]
        if pairs[k, CROSSES] == 0 and gap > 0.0 and best > -gap + NEARLY * gap + DEEPER * size:
            n = (gaps[k, GAP_NORMAL], gaps[k, GAP_NORMAL + 1], gaps[k, GAP_NORMAL + 2])
            if may_lean(facets_a, a, n) and may_lean(facets_b, b, (-n[0], -n[1], -n[2])):
                at, fresh = is_new(directions, count, n)
                best = -gap
                if fresh:
                    directions[at, 0], directions[at, 1], directions[at, 2] = n
                    count += 1
        pairs[k, BELONGS], gaps[k, WAY] = at, best
    # How deep each direction is at least; then the least deep one takes what it clears, then the next.
    begin_turns(directions, count)
    longest = -math.inf
    for k in range(many):
        if pairs[k, BELONGS] >= 0:
            directions[pairs[k, BELONGS], DEEP] = min(directions[pairs[k, BELONGS], DEEP], gaps[k, WAY])
            longest = max(longest, gaps[k, WAY])
    # Without any direction the way out of the whole is better than one that is not short.
    enough = CLEARLY * longest if longest > -math.inf else SURE * size
    for d in range(count):
        directions[d, LOW] = APART
        if not directions[d, DEEP] < math.inf and enough >= SURE * size:
            deep = deep_at_most(facets_a, many_a, facets_b, many_b, direction(directions, d), enough)
            directions[d, DEEP], directions[d, LOW] = deep, NO_PAIR
    for k in range(many):
        if pairs[k, BELONGS] >= 0 and pairs[k, CROSSES] == 1:
            directions[pairs[k, BELONGS], LOW] = CROSSED
    for _turn in range(count):
        least = next_turn(directions, count)
        if least < 0:
            break
        n, deep = direction(directions, least), directions[least, DEEP]
        for k in range(many):
            # What is apart has its own normal; and along that of what is apart nothing that crosses would be pushed out.
            stays = pairs[k, CROSSES] == 1 and directions[least, LOW] == APART
            if pairs[k, BELONGS] != least and CLEARLY * gaps[k, WAY] > max(deep, 0.0) and not stays:
                way = way_of_pair(facets_a, pairs[k, OF_A], facets_b, pairs[k, OF_B], n)
                if way < CLEARLY * gaps[k, WAY]:
                    pairs[k, BELONGS], gaps[k, WAY] = -2 - least, way
                    if directions[least, LOW] == NO_PAIR:
                        # What is behind it may be deeper than what the pair shows.
                        gaps[k, WAY], directions[least, USES] = max(way, deep), TAKES
    for d in range(count):
        directions[d, LOW] = 1.0 if takes_only(directions, d) else 0.0
    for k in range(many):
        # What is inside the other body is beside what crosses: what is only near says nothing of its way out.
        if pairs[k, BELONGS] >= 0 and pairs[k, CROSSES] == 1:
            directions[pairs[k, BELONGS], LOW] = 1.0
    return count


@kernel(inner="f8[:,::1], i8[:,::1], i8, f8[:,::1], i8[:,::1], i8, vec3, f8, manifold_space, f8[:,::1], i8")
def clip_pair(facets_a, ints_a, a, facets_b, ints_b, b, n, margin, polygons, points, count):
    """(points noted, deepest of this pair or -inf) after those of facets a and b, one clipped by the other along n: by the one
    that faces n more, which is the same with the two bodies swapped."""
    m_a, m_b = facet_normal(facets_a, a), facet_normal(facets_b, b)
    cos_a, cos_b = dot(n, m_a), -dot(n, m_b)
    work, reference = polygons.face_b, polygons.found
    deepest = -math.inf
    if cos_a > EDGE_ON and cos_b > -EDGE_ON and cos_a >= cos_b:
        load_polygon(facets_a, ints_a, a, reference, True)
        load_polygon(facets_b, ints_b, b, work, False)
        many = clip_by_face(work, 3, polygons.spare, reference, 3, n)
        for i in range(many):
            q = (work[i, 0], work[i, 1], work[i, 2])
            depth = -height_over(facets_a, a, q) / cos_a
            if depth >= -margin:
                deepest = max(deepest, depth)
                middle = (q[0] + 0.5 * depth * n[0], q[1] + 0.5 * depth * n[1], q[2] + 0.5 * depth * n[2])
                of_a, of_b = or_face(work[i, OTHER], ints_a[a, NAME]), or_face(work[i, OWN], ints_b[b, NAME])
                count = put_point(points, count, middle, depth, of_a, of_b, a, b)
    elif cos_b > EDGE_ON and cos_a > -EDGE_ON:
        load_polygon(facets_b, ints_b, b, reference, True)
        load_polygon(facets_a, ints_a, a, work, False)
        many = clip_by_face(work, 3, polygons.spare, reference, 3, (-n[0], -n[1], -n[2]))
        for i in range(many):
            q = (work[i, 0], work[i, 1], work[i, 2])
            depth = -height_over(facets_b, b, q) / cos_b
            if depth >= -margin:
                deepest = max(deepest, depth)
                middle = (q[0] - 0.5 * depth * n[0], q[1] - 0.5 * depth * n[1], q[2] - 0.5 * depth * n[2])
                of_a, of_b = or_face(work[i, OWN], ints_a[a, NAME]), or_face(work[i, OTHER], ints_b[b, NAME])
                count = put_point(points, count, middle, depth, of_a, of_b, a, b)
    return count, deepest


@device
def block_corner(blocks, slot, k):
    """Corner k of the triangle in a leaf's slot of a wide tree."""
    at = slot + 3 * LEAF * k
    return blocks[at], blocks[at + LEAF], blocks[at + 2 * LEAF]


@device
def exit_ray(wide, turned, p, n, reach, rays):
    """(distance along the unit vector n, face row) at which p, in the mesh's frame, leaves a closed mesh; (-1, -1) if it is
    outside. rays: work space of a ray."""
    t, slot = first_hit(p, n, wide, reach, np.int64(0), rays.stack, rays.stack_t, rays.t_box, rays.t_triangle)
    if slot < 0:
        return -1.0, np.int64(-1)
    a, b, c = block_corner(wide.blocks, slot, 0), block_corner(wide.blocks, slot, 1), block_corner(wide.blocks, slot, 2)
    out = dot(cross(sub(b, a), sub(c, a)), n)
    if (out > 0.0) == (turned == 0) and out != 0.0:
        return t, wide.rows[slot + ROWS]
    return -1.0, np.int64(-1)


@device
def clear_table(seen, many):
    """Empty a table of numbers in which so many will be noted; returns its mask."""
    slots = np.int64(64)
    while slots < 4 * many and 2 * slots <= seen.shape[0]:
        slots *= 2
    for k in range(slots):
        seen[k] = -1
    return slots - 1


@device
def is_first_seen(seen, mask, number):
    """Note a number in the table; False if it was there. In a crowded table one may be taken for new again."""
    place = (number * 2654435761) & mask
    for step in range(16):
        at = (place + step) & mask
        if seen[at] == number:
            return False
        if seen[at] < 0:
            seen[at] = number
            break
    return True


@device
def sinks_along(facets, ints, k, d, along):
    """Whether facet k belongs to direction d and faces against the way out."""
    return ints[k, DIRECTION] == d and -dot(facet_normal(facets, k), along) > EDGE_ON


@kernel(inner="f8[:,::1], i8[:,::1], i8, i8, vec3, f8, mesh_side, mat3, vec3, f8, i8[::1], i8, f8[:,::1], i8")
def sunk_corners(facets, ints, many, d, n, sign, side, r, t, size, seen, mask, points, count):
    """Points noted after the corners of the facets that belong to direction d and lie inside the other body, as deep as that is
    above them along n times `sign`. (R, t): the other mesh's frame in this one. seen: table of the corners of this row that
    were looked at, for one direction each."""
    along = (sign * n[0], sign * n[1], sign * n[2])
    local, farthest = unrotate(r, along), math.inf if side.closed == 1 else size
    for k in range(many):
        if not sinks_along(facets, ints, k, d, along):
            continue
        # Those that cross an open surface lie on both sides of it: of them the lowest corners alone are surely below.
        crosses = side.closed == 0 and ints[k, WITNESSED] == 1
        low = -highest_corner(facets, k, (-along[0], -along[1], -along[2])) + DEEPER * size if crosses else math.inf
        for c in range(3):
            p, vertex = facet_corner(facets, k, c), ints[k, VERTICES + c]
            if dot(along, p) > low or not is_first_seen(seen, mask, 2 * vertex + (1 if sign > 0.0 else 0)):
                continue
            deep, face = exit_ray(side.wide, side.turned, untransform(r, t, p), local, farthest, side.rays)
            if deep > 0.0:
                half = 0.5 * sign * deep
                middle = (p[0] + half * n[0], p[1] + half * n[1], p[2] + half * n[2])
                own, other = CORNER + np.float64(vertex), A_FACE + np.float64(face)
                # A's features first; B sinks into A where sign is 1.
                if sign > 0.0:
                    count = put_point(points, count, middle, deep, other, own, -1 - face, k)
                else:
                    count = put_point(points, count, middle, deep, own, other, k, -1 - face)
                if count == points.shape[0]:
                    count = thin_points(points, count, n, size)
    return count


@device
def give_directions(facets, ints, many, directions, count, sign):
    """Each facet of a surface to the direction, times `sign`, that it faces most, of those along which it is pushed out."""
    for k in range(many):
        m, best = facet_normal(facets, k), EDGE_ON
        ints[k, DIRECTION] = DROPPED
        for d in range(count):
            cosine = sign * dot(direction(directions, d), m)
            if directions[d, LOW] == 1.0 and cosine > best:
                best, ints[k, DIRECTION] = cosine, d


@kernel(
    inner="f8[:,::1], i8[:,::1], f8[:,::1], i8[:,::1], i8[:,::1], f8[:,::1], i8, i8, vec3, f8, f8, manifold_space, f8[:,::1]"
)
def pair_points(facets_a, ints_a, facets_b, ints_b, pairs, gaps, many, d, n, margin, size, polygons, points):
    """Number of points of the pairs of direction d; fills them."""
    count, deepest = np.int64(0), -math.inf
    for k in range(many):
        if pairs[k, BELONGS] != d:
            continue
        count, depth = clip_pair(
            facets_a, ints_a, pairs[k, OF_A], facets_b, ints_b, pairs[k, OF_B], n, margin, polygons, points, count
        )
        deepest = max(deepest, depth)
        if count > points.shape[0] - 64:
            count = thin_points(points, count, n, size)
    for k in range(many):
        gap = gaps[k, GAP]
        if pairs[k, BELONGS] != d or pairs[k, CROSSES] == 1 or gap > margin or not -gap > deepest + DEEPER * size:
            continue
        m = (gaps[k, GAP_NORMAL], gaps[k, GAP_NORMAL + 1], gaps[k, GAP_NORMAL + 2])
        if dot(m, n) > SNAP:
            middle = (gaps[k, GAP_MIDDLE], gaps[k, GAP_MIDDLE + 1], gaps[k, GAP_MIDDLE + 2])
            on_a = (middle[0] - 0.5 * gap * n[0], middle[1] - 0.5 * gap * n[1], middle[2] - 0.5 * gap * n[2])
            on_b = (middle[0] + 0.5 * gap * n[0], middle[1] + 0.5 * gap * n[1], middle[2] + 0.5 * gap * n[2])
            of_a = touched_feature(facets_a, ints_a, pairs[k, OF_A], on_a, ON_FEATURE * size)
            of_b = touched_feature(facets_b, ints_b, pairs[k, OF_B], on_b, ON_FEATURE * size)
            count = put_point(points, count, middle, -gap, of_a, of_b, pairs[k, OF_A], pairs[k, OF_B])
            deepest = -gap
    return count


@kernel(inner="f8[:,::1], i8[:,::1], f8[:,::1], i8[:,::1], i8[:,::1], f8[:,::1], i8, f8, f8, f8[:,::1], f8[:,::1], f8")
def nearest_pair_point(facets_a, ints_a, facets_b, ints_b, pairs, gaps, many, deepest, margin, directions, points, size):
    """Number of points, 0 or 1: the closest pair, if nothing found so far is as near. Its normal is one of both surfaces,
    whatever their edges look like, since no other pair is nearer. Direction 0 becomes its own."""
    best, at = min(-deepest - DEEPER * size, margin), np.int64(-1)
    for k in range(many):
        if pairs[k, CROSSES] == 0 and gaps[k, GAP] < best:
            best, at = gaps[k, GAP], np.int64(k)
    if at < 0 or not best > 0.0:
        return np.int64(0)
    n = (gaps[at, GAP_NORMAL], gaps[at, GAP_NORMAL + 1], gaps[at, GAP_NORMAL + 2])
    directions[0, 0], directions[0, 1], directions[0, 2] = n
    a, b = pairs[at, OF_A], pairs[at, OF_B]
    middle = (gaps[at, GAP_MIDDLE], gaps[at, GAP_MIDDLE + 1], gaps[at, GAP_MIDDLE + 2])
    on_a = (middle[0] - 0.5 * best * n[0], middle[1] - 0.5 * best * n[1], middle[2] - 0.5 * best * n[2])
    on_b = (middle[0] + 0.5 * best * n[0], middle[1] + 0.5 * best * n[1], middle[2] + 0.5 * best * n[2])
    of_a = touched_feature(facets_a, ints_a, a, on_a, ON_FEATURE * size)
    of_b = touched_feature(facets_b, ints_b, b, on_b, ON_FEATURE * size)
    return put_point(points, np.int64(0), middle, -best, of_a, of_b, a, b)


@kernel(inner="f8[:,::1], i8[:,::1], f8[:,::1], i8[:,::1], f8[:,::1], i8, vec3, f8")
def name_pair_points(facets_a, ints_a, facets_b, ints_b, points, count, n, near):
    """Names that last: what lies nearer than `near` to a corner or an edge is named by it, however it was clipped."""
    for k in range(count):
        q, half = (points[k, 0], points[k, 1], points[k, 2]), 0.5 * points[k, HOW_DEEP]
        a, b = np.int64(points[k, FACET]), np.int64(points[k, FACET_B])
        if a >= 0:
            on = (q[0] + half * n[0], q[1] + half * n[1], q[2] + half * n[2])
            points[k, OF_GROUND] = touched_feature(facets_a, ints_a, a, on, near)
        if b >= 0:
            on = (q[0] - half * n[0], q[1] - half * n[1], q[2] - half * n[2])
            points[k, OF_OTHER] = touched_feature(facets_b, ints_b, b, on, near)
