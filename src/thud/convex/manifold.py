"""Contact manifolds: where two convex parts touch, as up to 8 points with one shared normal.

Given the contact normal, each part shows a face to the other: a polygon (box, hull, cap), a segment (capsule, side of
a cylinder or cone) or a point. If one of them faces the normal squarely it is the reference; the other's face is
clipped against its sides, along the normal. What is left within the margin are the contacts; otherwise the witness
points alone are.

A's frame throughout. The depth of each point is measured along the shared normal between the two faces, so none is
deeper than the penetration depth itself.

A point is known by what touches there: a corner of one face on the other face, or two sides that cross. Corners, sides and
faces have numbers in their own part, whichever of the two is the reference, so that the same point has the same id in the next
frame, and with A and B swapped the two halves of it swapped. 0 stands for the witness point.

Faces that all but coincide, as those of equal boxes in a stack do, would give their points other names with every breath: a
corner is now inside, now outside. So a point that lies within a small distance of a corner is named by it, of two such points
with one name one is kept, and crossings of sides that hardly bend the outline are left out. Where two sides that are all but
parallel cross else, a small motion moves the crossing far along them. It is then not the same point any more: the ids of both
sides also say in which cell of a fine division of their length it lies."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats
from thud._core.decorators import device, kernel, view_device
from thud.convex.convex_pair import finite_size
from thud.convex.support import hull_support, load_part, support
from thud.convex.tolerances import (
    EPA_GAP_CURVED,
    GJK_SLACK_CURVED,
    MANIFOLD_ALIKE,
    MANIFOLD_CAP_SIDES,
    MANIFOLD_CELL,
    MANIFOLD_CORNER,
    MANIFOLD_PARALLEL,
    MANIFOLD_SLACK,
    MANIFOLD_SLIDE,
    MANIFOLD_TIE,
)
from thud.math.pose import rotate, unrotate
from thud.math.vec3 import cross, dot, norm, norm2, sub
from thud.shapes.hull_topology import cube_loops
from thud.shapes.packed import (
    BOUND,
    EDGE_START,
    FACE_START,
    KIND,
    LINK_START,
    LOOP_START,
    P0,
    P1,
    RADIUS,
    SCAN_COUNT,
    VERTEX_COUNT,
    VERTEX_START,
)
from thud.shapes.shape import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HALF_SPACE, HULL

_SQUARE = math.sqrt(1.0 - MANIFOLD_PARALLEL * MANIFOLD_PARALLEL)

#: (6, 4, 2) faces of a box, their corners and edges in order, by their numbers.
BOX_LOOPS = cube_loops()

#: What a feature of a part is: its number is added. A part has fewer than 2^28 of each.
CORNER, SIDE, FACE = float(1 << 28), float(2 << 28), float(3 << 28)

#: Cells of a side, and what is added to its number for each; then the cells begin anew. Sides of larger numbers have none.
CELLS, CELL = 256, 1 << 20

#: Columns of a polygon's corners: place (3), feature of its own part, feature of the other part (0: its face), what the way
#: to the next corner runs along: a side of its own, or -1 - k for side k of the reference; and how far inside of the plane it
#: lies that is clipped by.
OWN, OTHER, ALONG, INSIDE = 3, 4, 5, 6

#: Once clipped, the place of INSIDE is that of the depth, and this one of the squared distances from the corners in the name.
HEIGHT, NEAR = 6, 7

#: Columns of all arrays of a `ManifoldSpace`: a row is a cache line.
_WIDTH = 8

#: Columns of a manifold's points: place (3), depth, features of A and B.
DEPTH, FEATURE_A, FEATURE_B = 3, 4, 5


class ManifoldSpace(NamedTuple):
    """Polygons that are clipped. Each thread has its own."""

    face_a: Floats
    face_b: Floats
    spare: Floats
    whole: Floats
    """The polygon that is clipped, as it was."""
    found: Floats
    """Points of a manifold."""


@view_device
def new_manifold_space(corners):
    """For faces of so many corners."""
    many = 3 * corners
    return ManifoldSpace(
        np.empty((many, _WIDTH)), np.empty((many, _WIDTH)), np.empty((many, _WIDTH)), np.empty((many, _WIDTH)),
        np.empty((many, _WIDTH)),
    )  # fmt: skip


@device
def _set(points, k, p, own, along):
    points[k, 0], points[k, 1], points[k, 2] = p
    points[k, OWN], points[k, OTHER], points[k, ALONG] = own, 0.0, along


@device
def _get(points, k):
    return points[k, 0], points[k, 1], points[k, 2]


@device
def _copy(source, k, target, j):
    for c in range(_WIDTH):
        target[j, c] = source[k, c]


@device
def _cap(points, radius, z, up):
    """Polygon inscribed in a cap, counter-clockwise seen from outside, its corners at azimuths that stay."""
    first = 0 if up else MANIFOLD_CAP_SIDES
    for k in range(MANIFOLD_CAP_SIDES):
        angle = (2.0 * math.pi / MANIFOLD_CAP_SIDES) * (k if up else -k)
        _set(points, k, (radius * math.cos(angle), radius * math.sin(angle), z), CORNER + first + k, SIDE + first + k)
    return MANIFOLD_CAP_SIDES


@device
def _line(points, p, q):
    """The line of a round side, from its lower end to its upper one."""
    ends, line = 2 * MANIFOLD_CAP_SIDES, SIDE + 2 * MANIFOLD_CAP_SIDES
    _set(points, 0, p, CORNER + ends, line)
    _set(points, 1, q, CORNER + ends + 1, line)
    return 2


@device
def _facing(packed, part, d):
    """Of the faces around the polytope's highest corner along d, the one that looks most along d (row of planes)."""
    first, start = packed.parts.ints[part, FACE_START], packed.parts.ints[part, VERTEX_START]
    link_row = packed.parts.ints[part, LINK_START]
    climbed = packed.parts.ints[part, VERTEX_COUNT] > packed.parts.ints[part, SCAN_COUNT]
    top = hull_support(
        packed.parts, start, start + packed.parts.ints[part, SCAN_COUNT],
        link_row if climbed else -1, d,
    ) - start  # fmt: skip
    if top >= packed.parts.ints[part, VERTEX_COUNT]:
        top = 0  # padding repeats vertex 0
    best, face = -2.0, first
    row = link_row + top
    for k in range(packed.parts.link_starts[row], packed.parts.link_starts[row + 1]):
        edge = packed.parts.ints[part, EDGE_START] + packed.parts.links[k, 1]
        for side in range(2, 4):
            f = first + packed.edges[edge, side]
            facing = packed.planes[f, 0] * d[0] + packed.planes[f, 1] * d[1] + packed.planes[f, 2] * d[2]
            if facing > best:
                best, face = facing, f
    return face


@device
def box_face(d):
    """Of a box's faces -x, +x, -y, +y, -z, +z the one that looks most along d."""
    x, y, z = abs(d[0]), abs(d[1]), abs(d[2])
    if x >= y and x >= z:
        return np.int64(1 if d[0] > 0.0 else 0)
    if y >= z:
        return np.int64(3 if d[1] > 0.0 else 2)
    return np.int64(5 if d[2] > 0.0 else 4)


@device
def has_round_face(parts, part):
    """Whether it is a cylinder, a cone, or a capsule that is more than a sphere."""
    kind = parts.ints[part, KIND]
    return kind in (CYLINDER, CONE) or (kind == CAPSULE and parts.reals[part, P1] > 0.0)


@device
def round_face_toward(parts, part, d, points):
    """`face_toward` of a part that has a round face: a cap, or the line of the round side."""
    kind, radius = parts.ints[part, KIND], parts.reals[part, RADIUS]
    p0, p1 = parts.reals[part, P0], parts.reals[part, P1]
    across = math.sqrt(d[0] * d[0] + d[1] * d[1])
    ux, uy = (d[0] / across, d[1] / across) if across > 0.0 else (1.0, 0.0)
    if kind == CYLINDER:
        if abs(d[2]) >= across:
            up = d[2] > 0.0
            return _cap(points, p0, p1 if up else -p1, up), (0.0, 0.0, 1.0 if up else -1.0), 0 if up else 1
        return _line(points, (p0 * ux, p0 * uy, -p1), (p0 * ux, p0 * uy, p1)), (ux, uy, 0.0), 2
    if kind == CONE:
        slant = math.sqrt(p0 * p0 + 4.0 * p1 * p1)
        nr, nz = 2.0 * p1 / slant, p0 / slant
        if -d[2] >= nr * across + nz * d[2]:
            return _cap(points, p0, -p1, False), (0.0, 0.0, -1.0), 1
        return _line(points, (p0 * ux, p0 * uy, -p1), (0.0, 0.0, p1)), (ux * nr, uy * nr, nz), 2
    # The line of the side that faces d, not the ends moved along d: those leave the surface where it is tilted.
    return _line(points, (radius * ux, radius * uy, -p1), (radius * ux, radius * uy, p1)), (ux, uy, 0.0), 2


@kernel(inner="packed, i8, vec3, f8[:,::1]")
def face_toward(packed, part, d, points):
    """The face of the part that looks most along the unit vector d, part's frame.

    Writes its corners into `points`; returns (corner count, unit normal, number of the face).
    """
    kind = packed.parts.ints[part, KIND]
    radius = packed.parts.reals[part, RADIUS]
    if kind in (BOX, HULL):
        first, start = packed.parts.ints[part, FACE_START], packed.parts.ints[part, VERTEX_START]
        face = first + box_face(d) if kind == BOX else _facing(packed, part, d)
        loop = packed.parts.ints[part, LOOP_START] + face - first
        low, high = packed.loop_starts[loop], packed.loop_starts[loop + 1]
        for k in range(low, high):
            v = start + packed.loops[k, 0]
            corner = (packed.parts.vertices[0, v], packed.parts.vertices[1, v], packed.parts.vertices[2, v])
            _set(points, k - low, corner, CORNER + packed.loops[k, 0], SIDE + packed.loops[k, 1])
        return high - low, (packed.planes[face, 0], packed.planes[face, 1], packed.planes[face, 2]), face - first
    if has_round_face(packed.parts, part):
        return round_face_toward(packed.parts, part, d, points)
    # A point: sphere, ellipsoid.
    p = support(packed.parts, load_part(packed.parts, part), d)
    _set(points, 0, (p[0] + radius * d[0], p[1] + radius * d[1], p[2] + radius * d[2]), 0.0, 0.0)
    return 1, d, 0


@device
def _next(k, count):
    """The place after k on a closed way; a division would take longer than all the rest of a step."""
    return k + 1 if k + 1 < count else 0


@device
def _clip(points, count, spare, face, side, sides, inward):
    """Keep the part of the polygon (or segment) on the inner side of a plane through side `side` of the reference `face`.
    Returns the new count."""
    origin, outside, kept = _get(face, side), False, 0
    for k in range(count):
        inside = dot(inward, sub(_get(points, k), origin))
        points[k, INSIDE] = inside
        outside = outside or inside < 0.0
    if not outside:
        return count
    for k in range(count):
        after = _next(k, count)
        sp, sq = points[k, INSIDE], points[after, INSIDE]
        if sp >= 0.0:
            _copy(points, k, spare, kept)
            kept += 1
        # A segment has one side only, a polygon closes.
        if (sp < 0.0) != (sq < 0.0) and (count > 2 or k == 0):
            u, p, q = sp / (sp - sq), _get(points, k), _get(points, after)
            along = points[k, ALONG]
            own, other = along, face[side, ALONG]
            if along < 0.0:
                # Two sides of the reference meet: one of its corners, on the face that is clipped.
                own, other = 0.0, face[side if np.int64(-along) - 1 == side - 1 else _next(side, sides), OWN]
            at = (p[0] + u * (q[0] - p[0]), p[1] + u * (q[1] - p[1]), p[2] + u * (q[2] - p[2]))
            # From here on along the polygon's own side where it comes in, along the reference's where it goes out.
            _set(spare, kept, at, own, along if sp < 0.0 else -1.0 - side)
            spare[kept, OTHER] = other
            kept += 1
    for k in range(kept):
        _copy(spare, k, points, k)
    return kept


@kernel
def clip_by_face(points, count, spare, face, sides, n):
    """Clip `points` against the sides of the polygon `face`, along n (outward of the face)."""
    for k in range(sides):
        inward = cross(n, sub(_get(face, _next(k, sides)), _get(face, k)))
        count = _clip(points, count, spare, face, k, sides, inward)
        if count == 0:
            break
    return count


@device
def side_cell(at, middle, direction, cell):
    """What is added to the number of a side, of a part whose frame begins at `middle`, where another one crosses it at a small
    angle: which cell of it that is."""
    along = dot(sub(at, middle), direction) / (math.sqrt(norm2(direction)) * cell)
    return CELL * (np.int64(math.floor(along)) & (CELLS - 1))


@device
def _aside2(q, points, k, n):
    """Squared distance of q from corner k, seen along n."""
    d = sub(q, _get(points, k))
    s = dot(d, n)
    return norm2(d) - s * s


@device
def _near_corner(q, points, first, count, corners, n, limit2):
    """Of `count` corners of a polygon from `first` on the one next to q, seen along n: (its feature, squared distance), or 0
    for both if none is near."""
    feature, nearest = 0.0, 0.0
    for m in range(count):
        k = first + m if first + m < corners else first + m - corners
        d2 = _aside2(q, points, k, n)
        if d2 <= limit2 and (feature == 0.0 or d2 < nearest):
            feature, nearest = points[k, OWN], d2
    return feature, nearest


@device
def _side_at(points, corners, feature):
    """Place of the corner from which a side runs on."""
    for k in range(corners):
        if points[k, ALONG] == feature:
            return np.int64(k)
    return np.int64(0)


@kernel
def _name_points(points, count, whole, corners, face, sides, n, places, size):
    """Names of the points of a clipped polygon that last, see the module. `whole` is the polygon as it was, `face` the
    reference, n its outward normal; places: origins of the frames of the parts whose they are. Returns how many points are
    left."""
    limit2, slack, kept = (MANIFOLD_CORNER * size) ** 2, MANIFOLD_SLACK * size, 0
    for k in range(count):
        q, own, other = _get(points, k), points[k, OWN], points[k, OTHER]
        if own >= SIDE:
            i, j = _side_at(whole, corners, own), _side_at(face, sides, other)
            own_corner, near_own = _near_corner(q, whole, i, 2, corners, n, limit2)
            other_corner, near_other = _near_corner(q, face, j, 2, sides, n, limit2)
            if own_corner == 0.0 and other_corner == 0.0:
                way, edge = sub(_get(whole, _next(i, corners)), _get(whole, i)), sub(_get(face, _next(j, sides)), _get(face, j))
                inward = cross(n, edge)
                s = dot(inward, way)
                small = s * s < MANIFOLD_SLIDE * MANIFOLD_SLIDE * norm2(inward) * norm2(way)
                if small and own < SIDE + CELL and other < SIDE + CELL:
                    own += side_cell(q, places[0], way, MANIFOLD_CELL * size)
                    other += side_cell(q, places[1], edge, MANIFOLD_CELL * size)
            else:
                own, other = own_corner, other_corner
        elif own > 0.0:
            near_own = 0.0
            other, near_other = _near_corner(q, face, 0, sides, sides, n, limit2)
        else:
            near_other = 0.0
            own, near_own = _near_corner(q, whole, 0, corners, corners, n, limit2)
        points[k, OWN], points[k, OTHER], points[k, NEAR] = own, other, near_own + near_other
        same = kept
        for m in range(kept):
            if points[m, OWN] == own and points[m, OTHER] == other:
                same = m
        if same == kept:
            if kept < k:
                _copy(points, k, points, kept)
            kept += 1
        elif points[k, HEIGHT] > points[same, HEIGHT] + slack or (
            points[k, HEIGHT] >= points[same, HEIGHT] - slack and points[k, NEAR] < points[same, NEAR]
        ):
            _copy(points, k, points, same)
    return _without_flat(points, kept, limit2) if kept > 3 else kept


@device
def _without_flat(points, count, limit2):
    """Without the crossings of sides that lie all but on the line between their neighbours, and no deeper. Returns the
    count."""
    kept = 0
    for k in range(count):
        if points[k, OWN] >= SIDE:
            before, after = kept - 1 if kept > 0 else count - 1, _next(k, count)
            p = _get(points, before)
            e, d = sub(_get(points, after), p), sub(_get(points, k), p)
            flat = norm2(cross(e, d)) <= limit2 * norm2(e)
            if flat and points[k, HEIGHT] <= max(points[before, HEIGHT], points[after, HEIGHT]):
                continue
        if kept < k:
            _copy(points, k, points, kept)
        kept += 1
    return kept


@device
def _put_point(out, k, q, half, n, depth, feature_a, feature_b):
    """Point k of a manifold: `half` of the depth along n from q, on one of the faces."""
    out[k, 0], out[k, 1], out[k, 2] = q[0] + half * n[0], q[1] + half * n[1], q[2] + half * n[2]
    out[k, DEPTH], out[k, FEATURE_A], out[k, FEATURE_B] = depth, feature_a, feature_b


@device
def _or_face(feature, face):
    """A feature, or the face that stands for it."""
    return feature if feature > 0.0 else FACE + face


@kernel(inner="packed, i8, i8, mat3, vec3, f8, vec3, vec3, f8, manifold_space")
def face_contacts(packed, a, b, r, t, d, p, n, margin, space):
    """Where the faces, or lines, that parts a and b show to each other along n touch, within the margin. Of the signed distance
    d and the witness p on A use is made for half-spaces only.

    Writes the points into space.found; returns (how many, depth of the deepest).
    """
    face_a, face_b, spare, out = space.face_a, space.face_b, space.spare, space.found
    kind_a, kind_b = packed.parts.ints[a, KIND], packed.parts.ints[b, KIND]
    count_a, count_b, number_a, number_b = 0, 0, 0, 0
    normal_a, normal_b = n, (-n[0], -n[1], -n[2])
    if kind_a != HALF_SPACE:
        count_a, normal_a, number_a = face_toward(packed, a, n, face_a)
    if kind_b != HALF_SPACE:
        m = unrotate(r, n)
        count_b, normal_b, number_b = face_toward(packed, b, (-m[0], -m[1], -m[2]), face_b)
        normal_b = rotate(r, normal_b)
        for k in range(count_b):
            q = rotate(r, _get(face_b, k))
            face_b[k, 0], face_b[k, 1], face_b[k, 2] = q[0] + t[0], q[1] + t[1], q[2] + t[2]
    square_a, square_b = dot(normal_a, n), -dot(normal_b, n)
    # A half-space is a face without sides.
    face_like_a = kind_a == HALF_SPACE or (count_a >= 3 and square_a >= _SQUARE)
    face_like_b = kind_b == HALF_SPACE or (count_b >= 3 and square_b >= _SQUARE)
    count = 0
    if (face_like_a and count_b > 1) or (face_like_b and count_a > 1):
        origin_a = _get(face_a, 0) if count_a > 0 else p
        origin_b = _get(face_b, 0) if count_b > 0 else (p[0] + d * n[0], p[1] + d * n[1], p[2] + d * n[2])
        a_first = face_like_a and count_b > 1 and (square_a >= square_b - MANIFOLD_TIE or not face_like_b)
        size = min(packed.parts.reals[a, BOUND], packed.parts.reals[b, BOUND])
        count = _clipped_faces(
            space, (count_a, number_a), normal_a, origin_a, (count_b, number_b), normal_b, origin_b, n, a_first, t, size
        )
    elif count_a == 2 and count_b == 2 and square_a >= _SQUARE and square_b >= _SQUARE:
        count = _segment_contacts(face_a, face_b, spare, n, _end_radii(packed, a), _end_radii(packed, b), out)
    return _within(out, count, margin)


@device
def _clipped_faces(space, a, normal_a, origin_a, b, normal_b, origin_b, n, a_first, t, size):
    """Contacts of the two faces in `space`, each given by (corners, number), normal and a point of its plane; the reference is
    A's if `a_first`, else B's. `size`: that of the smaller part. Returns how many."""
    count_a, number_a = a
    count_b, number_b = b
    zero, out = (0.0, 0.0, 0.0), space.found
    if a_first:
        count = _clip_and_name(space, space.face_b, count_b, space.face_a, count_a, normal_a, origin_a, n, (t, zero), size)
        for k in range(count):
            # Height of A's face along n above each corner of B's.
            q, depth = _get(space.face_b, k), space.face_b[k, HEIGHT]
            feature_a, feature_b = _or_face(space.face_b[k, OTHER], number_a), _or_face(space.face_b[k, OWN], number_b)
            _put_point(out, k, q, 0.5 * depth, n, depth, feature_a, feature_b)
        return count
    m = (-n[0], -n[1], -n[2])
    count = _clip_and_name(space, space.face_a, count_a, space.face_b, count_b, normal_b, origin_b, m, (zero, t), size)
    for k in range(count):
        q, depth = _get(space.face_a, k), space.face_a[k, HEIGHT]
        feature_a, feature_b = _or_face(space.face_a[k, OWN], number_a), _or_face(space.face_a[k, OTHER], number_b)
        _put_point(out, k, q, -0.5 * depth, n, depth, feature_a, feature_b)
    return count


@device
def _clip_and_name(space, points, count, face, sides, normal, origin, n, places, size):
    """Clip a polygon by the sides of the reference, along n, its outward direction; then how deep each point lies below its
    plane, and lasting names. Returns the count."""
    corners = count
    for k in range(corners):
        _copy(points, k, space.whole, k)
    count = clip_by_face(points, count, space.spare, face, sides, n)
    square = dot(normal, n)
    for k in range(count):
        points[k, HEIGHT] = dot(normal, sub(origin, _get(points, k))) / square
    if sides > 0:
        count = _name_points(points, count, space.whole, corners, face, sides, n, places, size)
    return count


@device
def _within(out, count, margin):
    """Keep the points that are within the margin, in place: (how many, depth of the deepest)."""
    kept, deepest = 0, -math.inf
    for k in range(count):
        if out[k, DEPTH] >= -margin:
            deepest = max(deepest, out[k, DEPTH])
            if kept < k:
                _copy(out, k, out, kept)
            kept += 1
    return kept, deepest


@device
def _box_corners(points, half, face):
    """The corners of one of a box's faces, its own frame."""
    for k in range(4):
        v = BOX_LOOPS[face, k, 0]
        corner = (
            half[0] if v & 1 else -half[0],
            half[1] if v & 2 else -half[1],
            half[2] if v & 4 else -half[2],
        )  # fmt: skip
        _set(points, k, corner, CORNER + v, SIDE + BOX_LOOPS[face, k, 1])


@device
def box_contact_points(half_a, half_b, r, t, n, margin, space):
    """Where the faces that two boxes, of these half extents, show to each other along n touch, within the margin: as
    `face_contacts`."""
    face_a, face_b = space.face_a, space.face_b
    m = unrotate(r, n)
    number_a, number_b = box_face(n), box_face((-m[0], -m[1], -m[2]))
    axis_a, axis_b = number_a >> 1, number_b >> 1
    sign_a, sign_b = 1.0 if number_a & 1 else -1.0, 1.0 if number_b & 1 else -1.0
    normal_a = (sign_a if axis_a == 0 else 0.0, sign_a if axis_a == 1 else 0.0, sign_a if axis_a == 2 else 0.0)
    normal_b = (sign_b if axis_b == 0 else 0.0, sign_b if axis_b == 1 else 0.0, sign_b if axis_b == 2 else 0.0)
    normal_b = rotate(r, normal_b)
    square_a, square_b = dot(normal_a, n), -dot(normal_b, n)
    count = np.int64(0)
    if square_a >= _SQUARE or square_b >= _SQUARE:
        _box_corners(face_a, half_a, number_a)
        _box_corners(face_b, half_b, number_b)
        for k in range(4):
            q = rotate(r, _get(face_b, k))
            face_b[k, 0], face_b[k, 1], face_b[k, 2] = q[0] + t[0], q[1] + t[1], q[2] + t[2]
        a_first = square_a >= _SQUARE and (square_a >= square_b - MANIFOLD_TIE or square_b < _SQUARE)
        four, size = np.int64(4), min(norm(half_a), norm(half_b))
        count = _clipped_faces(
            space, (four, number_a), normal_a, _get(face_a, 0), (four, number_b), normal_b, _get(face_b, 0), n, a_first, t, size
        )
    return _within(space.found, count, margin)


@device
def is_curved_pair(packed, a, b):
    """Whether EPA comes only near to the surface of one of them."""
    kind_a, kind_b = packed.parts.ints[a, KIND], packed.parts.ints[b, KIND]
    return CYLINDER <= kind_a <= ELLIPSOID or CYLINDER <= kind_b <= ELLIPSOID


@device
def _gap_along(packed, a, b, r, t, n):
    """How far parts a and b are apart along the unit vector n from A to B; negative in an overlap."""
    m = unrotate(r, n)
    p = support(packed.parts, load_part(packed.parts, a), n)
    q = rotate(r, support(packed.parts, load_part(packed.parts, b), (-m[0], -m[1], -m[2])))
    radius = packed.parts.reals[a, RADIUS] + packed.parts.reals[b, RADIUS]
    return dot(n, (q[0] + t[0] - p[0], q[1] + t[1] - p[1], q[2] + t[2] - p[2])) - radius


@kernel(inner="packed, i8, i8, mat3, vec3, f8, vec3, f8")
def least_gap(packed, a, b, r, t, d, n, margin):
    """Distance of parts a and b that are apart by d along n, as a search found it. Over a curved surface that ends above the
    truth: what is apart along n by no more than the margin is within it."""
    if packed.parts.ints[a, KIND] == HALF_SPACE or packed.parts.ints[b, KIND] == HALF_SPACE or not is_curved_pair(packed, a, b):
        return d
    if not 0.0 < d - margin <= GJK_SLACK_CURVED * finite_size(packed.parts, a, b):
        return d
    return max(_gap_along(packed, a, b, r, t, n), 0.0)


@kernel(inner="packed, i8, i8, mat3, vec3, f8, vec3, manifold_space")
def squared_way_out(packed, a, b, r, t, d, n, space):
    """(signed distance, normal) of an overlap, from those that EPA found near a curved surface.

    Where they are all but those of a flat face, EPA comes near the face's normal and never to it, another way with A and B
    swapped. The normal itself is the way out then, and no longer.
    """
    best, found = d, n
    if packed.parts.ints[a, KIND] == HALF_SPACE or packed.parts.ints[b, KIND] == HALF_SPACE:
        return best, found
    count, normal, _number = face_toward(packed, a, n, space.face_a)
    if count >= 3 and dot(normal, n) >= _SQUARE:
        gap = _gap_along(packed, a, b, r, t, normal)
        if gap >= best:
            best, found = gap, normal
    m = unrotate(r, n)
    count, normal, _number = face_toward(packed, b, (-m[0], -m[1], -m[2]), space.face_b)
    normal = rotate(r, (-normal[0], -normal[1], -normal[2]))
    if count >= 3 and dot(normal, n) >= _SQUARE:
        gap = _gap_along(packed, a, b, r, t, normal)
        if gap >= best:
            best, found = gap, normal
    return best, found


@kernel(inner="packed, i8, i8, mat3, vec3, f8, vec3, vec3, f8, i8, manifold_space")
def pair_manifold(packed, a, b, r, t, d, p, n, margin, limit, space):
    """Contacts of parts a and b with signed distance d <= margin, witness p on A and normal n from A to B.

    Writes up to `limit` points into space.found; returns how many.
    """
    kept, deepest = face_contacts(packed, a, b, r, t, d, p, n, margin, space)
    # The deepest point is always among them, even where a face stands for a curved surface.
    slack = MANIFOLD_SLACK * min(packed.parts.reals[a, BOUND], packed.parts.reals[b, BOUND])
    if is_curved_pair(packed, a, b):
        # What the search itself may be off by adds no point, so that it does not come and go.
        slack = EPA_GAP_CURVED * finite_size(packed.parts, a, b)
    if deepest < -d - slack:
        put_witness(space.found, kept, p, d, n, 0.0, 0.0)
        kept += 1
    return reduce_manifold(space.found, kept, limit)


@device
def put_witness(out, k, p, d, n, feature_a, feature_b):
    """Point k of a manifold: midway between the witness p on A and the one on B, at signed distance d along n."""
    at = (p[0] + 0.5 * d * n[0], p[1] + 0.5 * d * n[1], p[2] + 0.5 * d * n[2])
    _put_point(out, k, at, 0.0, n, -d, feature_a, feature_b)


@device
def _end_radii(packed, part):
    """Radii of a capsule, cylinder or cone where the line of its side begins and ends."""
    kind = packed.parts.ints[part, KIND]
    radius = packed.parts.reals[part, RADIUS] if kind == CAPSULE else packed.parts.reals[part, P0]
    return radius, 0.0 if kind == CONE else radius


@device
def _segment_contacts(face_a, face_b, spare, n, radii_a, radii_b, out):
    """Two nearly parallel segments: B's, cut to the length of A's; returns the count (0 if they are not parallel).

    Ends that are off to the side, as on needles that cross at a small angle, are left out: there the round sides have curved
    away from the lines, the more so the thinner they are, as a cone is near its apex.
    """
    a0, a1, b0, b1 = _get(face_a, 0), _get(face_a, 1), _get(face_b, 0), _get(face_b, 1)
    u, w = sub(a1, a0), sub(b1, b0)
    c = cross(u, w)
    u2 = dot(u, u)
    if dot(c, c) > MANIFOLD_PARALLEL * MANIFOLD_PARALLEL * u2 * dot(w, w):
        return 0
    thin = min(radii_a[0], radii_b[0])
    count = _cut(face_b, 2, spare, a0, u, face_a[0, OWN])
    if count > 0:
        count = _cut(face_b, count, spare, a1, (-u[0], -u[1], -u[2]), face_a[1, OWN])
    kept = 0
    for k in range(count):
        q = _get(face_b, k)
        s = dot(sub(q, a0), u) / u2
        across = sub((a0[0] + s * u[0], a0[1] + s * u[1], a0[2] + s * u[2]), q)
        depth = dot(n, across)
        z = dot(sub(q, b0), w) / dot(w, w)
        here = min(radii_a[0] + s * (radii_a[1] - radii_a[0]), radii_b[0] + z * (radii_b[1] - radii_b[0]))
        aside = MANIFOLD_PARALLEL * max(here, MANIFOLD_PARALLEL * thin)
        if dot(across, across) - depth * depth > aside * aside:
            continue
        feature_a = face_b[k, OTHER] if face_b[k, OTHER] > 0.0 else face_a[0, ALONG]
        _put_point(out, kept, q, 0.5 * depth, n, depth, feature_a, face_b[k, OWN])
        kept += 1
    return kept


@device
def _cut(points, count, spare, origin, inward, end):
    """Cut a segment by the plane through one end of the other, whose number that end is; returns the new count."""
    kept = 0
    for k in range(count):
        p, q = _get(points, k), _get(points, (k + 1) % count)
        sp, sq = dot(inward, sub(p, origin)), dot(inward, sub(q, origin))
        if sp >= 0.0:
            _copy(points, k, spare, kept)
            kept += 1
        if (sp < 0.0) != (sq < 0.0) and k == 0 and count == 2:
            u = sp / (sp - sq)
            at = (p[0] + u * (q[0] - p[0]), p[1] + u * (q[1] - p[1]), p[2] + u * (q[2] - p[2]))
            _set(spare, kept, at, points[0, ALONG], points[0, ALONG])
            spare[kept, OTHER] = end
            kept += 1
    for k in range(kept):
        _copy(spare, k, points, k)
    return kept


@kernel
def reduce_manifold(out, count, limit):
    """Keep `limit` points, spread as far as they go, and among them the deepest. Returns the count.

    From the first by its id on, always the one farthest from those kept; of points that are all but as far the first by their
    ids. So a small motion keeps the same ones, but for one that makes room for the deepest.
    """
    if count <= limit:
        return count
    for k in range(1, count):
        j = k
        while j > 0 and _before(out, j, j - 1):
            _swap(out, j, j - 1)
            j -= 1
    for k in range(1, limit):
        best, where = 0.0, k
        for j in range(k, count):
            score = math.inf
            for m in range(k):
                score = min(score, norm2(sub(_get(out, j), _get(out, m))))
            if score > best * (1.0 + MANIFOLD_ALIKE):
                best, where = score, j
        _move_up(out, where, k)
    kept, deepest, extent2 = 0, 0, 0.0
    for k in range(count):
        kept = k if k < limit and out[k, DEPTH] > out[kept, DEPTH] else kept
        deepest = k if out[k, DEPTH] > out[deepest, DEPTH] else deepest
        extent2 = max(extent2, norm2(sub(_get(out, k), _get(out, 0))))
    if out[kept, DEPTH] < out[deepest, DEPTH] - MANIFOLD_SLACK * math.sqrt(extent2):
        _swap(out, limit - 1, deepest)
    return limit


@device
def _before(out, i, j):
    """Whether point i comes before point j in an order of the ids that is the same with A and B swapped."""
    sum_i, sum_j = out[i, FEATURE_A] + out[i, FEATURE_B], out[j, FEATURE_A] + out[j, FEATURE_B]
    return sum_i < sum_j or (
        sum_i == sum_j and abs(out[i, FEATURE_A] - out[i, FEATURE_B]) < abs(out[j, FEATURE_A] - out[j, FEATURE_B])
    )


@device
def _swap(out, i, j):
    for c in range(6):
        out[i, c], out[j, c] = out[j, c], out[i, c]


@device
def _move_up(out, i, j):
    """Point i to place j, those between one down: the rest stays in order."""
    while i > j:
        _swap(out, i, i - 1)
        i -= 1
