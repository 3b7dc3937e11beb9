"""Contact manifolds: where two convex parts touch, as up to 8 points with one shared normal.

Given the contact normal, each part shows a face to the other: a polygon (box, hull, cap), a segment (capsule, side of
a cylinder or cone) or a point. If one of them faces the normal squarely it is the reference; the other's face is
clipped against its sides, along the normal. What is left within the margin are the contacts; otherwise the witness
points alone are.

A's frame throughout. The depth of each point is measured along the shared normal between the two faces, so none is
deeper than the penetration depth itself.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats
from thud._core.decorators import device, kernel, view_device
from thud.convex.support import hull_support, load_part, support
from thud.convex.tolerances import MANIFOLD_CAP_SIDES, MANIFOLD_PARALLEL, MANIFOLD_SLACK, MANIFOLD_TIE
from thud.math.pose import rotate, unrotate
from thud.math.vec3 import cross, dot, sub
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
from thud.shapes.shape import BOX, CAPSULE, CONE, CYLINDER, HALF_SPACE, HULL

_SQUARE = math.sqrt(1.0 - MANIFOLD_PARALLEL * MANIFOLD_PARALLEL)


class ManifoldSpace(NamedTuple):
    """Polygons that are clipped. Each thread has its own."""

    face_a: Floats
    face_b: Floats
    spare: Floats
    found: Floats
    """Points of a manifold: place, depth, feature."""


@view_device
def new_manifold_space(corners):
    """For faces of so many corners."""
    many = 3 * corners
    return ManifoldSpace(np.empty((many, 3)), np.empty((many, 3)), np.empty((many, 3)), np.empty((many, 5)))


@device
def _set(points, k, p):
    points[k, 0], points[k, 1], points[k, 2] = p


@device
def _get(points, k):
    return points[k, 0], points[k, 1], points[k, 2]


@device
def _cap(points, radius, z, up, ux, uy):
    """Polygon inscribed in a cap, counter-clockwise seen from outside, with a corner at the azimuth (ux, uy)."""
    for k in range(MANIFOLD_CAP_SIDES):
        angle = (2.0 * math.pi / MANIFOLD_CAP_SIDES) * (k if up else -k)
        c, s = math.cos(angle), math.sin(angle)
        _set(points, k, (radius * (c * ux - s * uy), radius * (s * ux + c * uy), z))
    return MANIFOLD_CAP_SIDES


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


@kernel(inner="packed, i8, vec3, f8[:,::1]")
def _face_toward(packed, part, d, points):
    """The face of the part that looks most along the unit vector d, part's frame.

    Writes its corners into `points`; returns (corner count, unit normal, id of the face or -1).
    """
    kind = packed.parts.ints[part, KIND]
    radius = packed.parts.reals[part, RADIUS]
    p0, p1 = packed.parts.reals[part, P0], packed.parts.reals[part, P1]
    across = math.sqrt(d[0] * d[0] + d[1] * d[1])
    ux, uy = (d[0] / across, d[1] / across) if across > 0.0 else (1.0, 0.0)
    if kind in (BOX, HULL):
        first, start = packed.parts.ints[part, FACE_START], packed.parts.ints[part, VERTEX_START]
        face = _facing(packed, part, d)
        loop = packed.parts.ints[part, LOOP_START] + face - first
        low, high = packed.loop_starts[loop], packed.loop_starts[loop + 1]
        for k in range(low, high):
            v = start + packed.loops[k, 0]
            _set(points, k - low, (packed.parts.vertices[0, v], packed.parts.vertices[1, v], packed.parts.vertices[2, v]))
        return high - low, (packed.planes[face, 0], packed.planes[face, 1], packed.planes[face, 2]), face - first
    if kind == CYLINDER:
        if abs(d[2]) >= across:
            up = d[2] > 0.0
            return _cap(points, p0, p1 if up else -p1, up, ux, uy), (0.0, 0.0, 1.0 if up else -1.0), 0 if up else 1
        _set(points, 0, (p0 * ux, p0 * uy, -p1))
        _set(points, 1, (p0 * ux, p0 * uy, p1))
        return 2, (ux, uy, 0.0), 2
    if kind == CONE:
        slant = math.sqrt(p0 * p0 + 4.0 * p1 * p1)
        nr, nz = 2.0 * p1 / slant, p0 / slant
        if -d[2] >= nr * across + nz * d[2]:
            return _cap(points, p0, -p1, False, ux, uy), (0.0, 0.0, -1.0), 0
        _set(points, 0, (p0 * ux, p0 * uy, -p1))
        _set(points, 1, (0.0, 0.0, p1))
        return 2, (ux * nr, uy * nr, nz), 1
    if kind == CAPSULE and p1 > 0.0:
        # The line of the side that faces d, not the ends moved along d: those leave the surface where it is tilted.
        _set(points, 0, (radius * ux, radius * uy, -p1))
        _set(points, 1, (radius * ux, radius * uy, p1))
        return 2, (ux, uy, 0.0), 0
    # A point: sphere, ellipsoid.
    p = support(packed.parts, load_part(packed.parts, part), d)
    _set(points, 0, (p[0] + radius * d[0], p[1] + radius * d[1], p[2] + radius * d[2]))
    return 1, d, -1


@kernel
def _clip(points, count, spare, origin, inward):
    """Keep the part of the polygon (or segment) on the inner side of a plane; returns the new count."""
    kept = 0
    for k in range(count):
        p, q = _get(points, k), _get(points, (k + 1) % count)
        sp, sq = dot(inward, sub(p, origin)), dot(inward, sub(q, origin))
        if sp >= 0.0:
            _set(spare, kept, p)
            kept += 1
        # A segment has one side only, a polygon closes.
        if (sp < 0.0) != (sq < 0.0) and (count > 2 or k == 0):
            u = sp / (sp - sq)
            _set(spare, kept, (p[0] + u * (q[0] - p[0]), p[1] + u * (q[1] - p[1]), p[2] + u * (q[2] - p[2])))
            kept += 1
    for k in range(kept):
        _set(points, k, _get(spare, k))
    return kept


@kernel
def _clip_by_face(points, count, spare, face, sides, n):
    """Clip `points` against the sides of the polygon `face`, along n (outward of the face)."""
    for k in range(sides):
        p, q = _get(face, k), _get(face, (k + 1) % sides)
        inward = cross(n, sub(q, p))
        count = _clip(points, count, spare, p, inward)
        if count == 0:
            break
    return count


@kernel(inner="packed, i8, i8, mat3, vec3, f8, vec3, vec3, f8, i8, manifold_space")
def pair_manifold(packed, a, b, r, t, d, p, n, margin, limit, space):
    """Contacts of parts a and b with signed distance d <= margin, witness p on A and normal n from A to B.

    Writes up to `limit` rows (point, depth, feature as a float) into space.found; returns how many.
    """
    face_a, face_b, spare, out = space.face_a, space.face_b, space.spare, space.found
    kind_a, kind_b = packed.parts.ints[a, KIND], packed.parts.ints[b, KIND]
    witness = (p[0] + 0.5 * d * n[0], p[1] + 0.5 * d * n[1], p[2] + 0.5 * d * n[2])
    count_a, count_b, feature_a, feature_b = 0, 0, -1, -1
    normal_a, normal_b = n, (-n[0], -n[1], -n[2])
    if kind_a != HALF_SPACE:
        count_a, normal_a, feature_a = _face_toward(packed, a, n, face_a)
    if kind_b != HALF_SPACE:
        m = unrotate(r, n)
        count_b, normal_b, feature_b = _face_toward(packed, b, (-m[0], -m[1], -m[2]), face_b)
        normal_b = rotate(r, normal_b)
        for k in range(count_b):
            q = rotate(r, _get(face_b, k))
            _set(face_b, k, (q[0] + t[0], q[1] + t[1], q[2] + t[2]))
    square_a, square_b = dot(normal_a, n), -dot(normal_b, n)
    # A half-space is a face without sides. Prefer A as the reference where both are as square.
    face_like_a = kind_a == HALF_SPACE or (count_a >= 3 and square_a >= _SQUARE)
    face_like_b = kind_b == HALF_SPACE or (count_b >= 3 and square_b >= _SQUARE)
    count = 0
    if face_like_a and count_b > 1 and (square_a >= square_b - MANIFOLD_TIE or not face_like_b):
        count = _clip_by_face(face_b, count_b, spare, face_a, count_a, n)
        # Height of A's face along n above each corner of B's.
        origin = _get(face_a, 0) if count_a > 0 else p
        for k in range(count):
            q = _get(face_b, k)
            depth = dot(normal_a, sub(origin, q)) / square_a
            out[k, 0], out[k, 1], out[k, 2] = q[0] + 0.5 * depth * n[0], q[1] + 0.5 * depth * n[1], q[2] + 0.5 * depth * n[2]
            out[k, 3] = depth
    elif face_like_b and count_a > 1:
        count = _clip_by_face(face_a, count_a, spare, face_b, count_b, (-n[0], -n[1], -n[2]))
        origin = _get(face_b, 0) if count_b > 0 else (p[0] + d * n[0], p[1] + d * n[1], p[2] + d * n[2])
        for k in range(count):
            q = _get(face_a, k)
            depth = dot(normal_b, sub(origin, q)) / square_b
            out[k, 0], out[k, 1], out[k, 2] = q[0] - 0.5 * depth * n[0], q[1] - 0.5 * depth * n[1], q[2] - 0.5 * depth * n[2]
            out[k, 3] = depth
    elif count_a == 2 and count_b == 2 and square_a >= _SQUARE and square_b >= _SQUARE:
        count = _segment_contacts(face_a, face_b, spare, n, _end_radii(packed, a), _end_radii(packed, b), out)
    # Keep what is within the margin, in place.
    kept = 0
    for k in range(count):
        if out[k, 3] >= -margin:
            for c in range(4):
                out[kept, c] = out[k, c]
            kept += 1
    # The deepest point is always among them, even where a face stands for a curved surface.
    deepest = -math.inf
    for k in range(kept):
        deepest = max(deepest, out[k, 3])
    if deepest < -d - MANIFOLD_SLACK * (packed.parts.reals[a, BOUND] if kind_a != HALF_SPACE else packed.parts.reals[b, BOUND]):
        out[kept, 0], out[kept, 1], out[kept, 2] = witness
        out[kept, 3] = -d
        kept += 1
    kept = _reduce(out, kept, limit)
    for k in range(kept):
        out[k, 4] = ((feature_a + 1.0) * 1048576.0 + (feature_b + 1.0)) * 64.0 + k
    return kept


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
    count = _clip(face_b, 2, spare, a0, u)
    if count > 0:
        count = _clip(face_b, count, spare, a1, (-u[0], -u[1], -u[2]))
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
        out[kept, 0], out[kept, 1], out[kept, 2] = (
            q[0] + 0.5 * depth * n[0],
            q[1] + 0.5 * depth * n[1],
            q[2] + 0.5 * depth * n[2],
        )
        out[kept, 3] = depth
        kept += 1
    return kept


@kernel
def _reduce(out, count, limit):
    """Keep `limit` points: the deepest, then always the one farthest from those kept. Returns the count."""
    if count <= limit:
        return count
    for k in range(limit):
        best, where = -math.inf, k
        for j in range(k, count):
            if k == 0:
                score = out[j, 3]
            else:
                score = math.inf
                for m in range(k):
                    x, y, z = out[j, 0] - out[m, 0], out[j, 1] - out[m, 1], out[j, 2] - out[m, 2]
                    score = min(score, x * x + y * y + z * z)
            if score > best:
                best, where = score, j
        for c in range(4):
            out[k, c], out[where, c] = out[where, c], out[k, c]
    return limit
