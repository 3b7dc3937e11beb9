"""EPA, the expanding polytope: the penetration depth of two convex cores that overlap.

A polytope of support points grows inside the Minkowski difference A - B. Always the face whose plane is nearest to the
origin is pushed out, until its support point gains nothing: that face is on the boundary. Its offset is a lower bound
of the depth, and the support height of any face normal tried is an upper bound; the search ends when they meet.

Two things make it robust where textbook versions fail. The offset of a face is signed, so the polytope need not hold
the origin at the start: a fresh tetrahedron of far-apart support points replaces GJK's last simplex, which is often
flat. And a face in whose plane a new point lies counts as seen by it, so faces of one plane merge instead of leaving
slivers; a face without area is never chosen and always seen.

A's frame; (r, t) is B in it. The normal points from A to B: moving B by depth * normal separates.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, UNCONVERGED
from thud.convex.gjk import difference_support, part_size
from thud.convex.simplex import closest_on_triangle
from thud.convex.support import load_part
from thud.convex.tolerances import EPA_AREA, EPA_COPLANAR, EPA_GAP, EPA_GAP_CURVED, EPA_THIN
from thud.math.vec3 import any_orthogonal, cross, dot, norm2, sub
from thud.shapes.shape import HULL

# Faces of the first tetrahedron: three vertices, counter-clockwise from outside, and the neighbours across their edges.
_TETRAHEDRON = ((0, 1, 2, 1, 2, 3), (1, 0, 3, 0, 3, 2), (2, 1, 3, 0, 1, 3), (0, 2, 3, 0, 2, 1))

# Layout of the scratch arrays for a polytope of at most F faces, V = F/2 + 4 vertices.
# Reals: vertices (w, point of A) 6V; planes (normal, offset) 4F; heap keys 4F.
# Ints: faces (3 vertices, 3 neighbours across the edges v0v1, v1v2, v2v0) 6F; alive F; free F; heap 4F; stack F;
# horizon (face outside, tail, head) 3F; new face by tail vertex V.


@device
def epa_vertices(faces):
    """V of F."""
    return faces // 2 + 4


@device
def epa_reals(faces):
    """Length of the real scratch array."""
    return 6 * epa_vertices(faces) + 8 * faces


@device
def epa_ints(faces):
    """Length of the integer scratch array."""
    return 16 * faces + epa_vertices(faces)


@device
def _w(x, k):
    """Minkowski-difference point of vertex k."""
    return x[6 * k], x[6 * k + 1], x[6 * k + 2]


@device
def _put(x, k, w, pa):
    x[6 * k], x[6 * k + 1], x[6 * k + 2] = w
    x[6 * k + 3], x[6 * k + 4], x[6 * k + 5] = pa


@kernel
def _heap_push(x, i, faces, count, key, face):
    """Add (key, face); returns the new count."""
    keys, heap = 6 * epa_vertices(faces) + 4 * faces, 8 * faces
    child = count
    while child > 0:
        parent = (child - 1) // 2
        if x[keys + parent] <= key:
            break
        x[keys + child], i[heap + child] = x[keys + parent], i[heap + parent]
        child = parent
    x[keys + child], i[heap + child] = key, face
    return count + 1


@kernel
def _heap_drop(x, i, faces, count):
    """Remove the least; returns the new count."""
    keys, heap = 6 * epa_vertices(faces) + 4 * faces, 8 * faces
    count -= 1
    key, face = x[keys + count], i[heap + count]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= count:
            break
        if child + 1 < count and x[keys + child + 1] < x[keys + child]:
            child += 1
        if x[keys + child] >= key:
            break
        x[keys + parent], i[heap + parent] = x[keys + child], i[heap + child]
        parent = child
    x[keys + parent], i[heap + parent] = key, face
    return count


@kernel
def _heap_tidy(x, i, faces, count):
    """Remove all entries whose face is gone; returns the new count. At most one entry a living face is left."""
    keys, heap, planes = 6 * epa_vertices(faces) + 4 * faces, 8 * faces, 6 * epa_vertices(faces)
    kept = np.int64(0)
    for k in range(count):
        key, face = x[keys + k], i[heap + k]
        if i[6 * faces + face] == 1 and x[planes + 4 * face + 3] == key:
            kept = _heap_push(x, i, faces, kept, key, face)
    return kept


@kernel
def _make_face(x, i, faces, face, v0, v1, v2, n0, n1, n2, area2, thin2):
    """Fill face slot `face`; its plane has offset inf and normal 0 if the triangle has (almost) no area.

    That is a squared area of area2, or a squared height of thin2.
    """
    f = 6 * face
    i[f], i[f + 1], i[f + 2], i[f + 3], i[f + 4], i[f + 5] = v0, v1, v2, n0, n1, n2
    i[6 * faces + face] = 1
    p0, p1, p2 = _w(x, v0), _w(x, v1), _w(x, v2)
    e, f, g = sub(p1, p0), sub(p2, p0), sub(p2, p1)
    n = cross(e, f)
    length2 = norm2(n)
    at = 6 * epa_vertices(faces) + 4 * face
    if length2 <= max(area2, thin2 * max(norm2(e), norm2(f), norm2(g))):
        x[at], x[at + 1], x[at + 2], x[at + 3] = 0.0, 0.0, 0.0, math.inf
        return math.inf
    length = math.sqrt(length2)
    n = (n[0] / length, n[1] / length, n[2] / length)
    offset = (dot(n, p0) + dot(n, p1) + dot(n, p2)) / 3.0
    x[at], x[at + 1], x[at + 2] = n
    x[at + 3] = offset
    return offset


@kernel
def _first_tetrahedron(parts, part_a, part_b, r, t, axis, x):
    """Four far-apart support points as vertices 0 to 3; returns whether the tetrahedron has a volume."""
    w0, a0 = difference_support(parts, part_a, part_b, r, t, axis)
    w1, a1 = difference_support(parts, part_a, part_b, r, t, (-axis[0], -axis[1], -axis[2]))
    line = sub(w1, w0)
    length2 = norm2(line)
    if not length2 > 0.0:
        return False
    # Third: the farthest from the line of the supports in four directions around it.
    e = any_orthogonal(line)
    f = cross(line, e)
    w2, a2, far = w0, a0, 0.0
    for k in range(4):
        d = e if k < 2 else f
        if k % 2 == 1:
            d = (-d[0], -d[1], -d[2])
        w, pa = difference_support(parts, part_a, part_b, r, t, d)
        height = norm2(cross(line, sub(w, w0)))
        if height > far:
            w2, a2, far = w, pa, height
    if not far > 0.0:
        return False
    # Fourth: the farther from the plane of the two supports across it.
    n = cross(line, sub(w2, w0))
    w3, a3, high = w0, a0, 0.0
    for k in range(2):
        d = n if k == 0 else (-n[0], -n[1], -n[2])
        w, pa = difference_support(parts, part_a, part_b, r, t, d)
        height = dot(n, sub(w, w0))
        if abs(height) > abs(high):
            w3, a3, high = w, pa, height
    if high == 0.0:
        return False
    # Outward faces need vertex 3 below the plane (0, 1, 2).
    _put(x, 0, w0, a0)
    if high > 0.0:
        _put(x, 1, w2, a2)
        _put(x, 2, w1, a1)
    else:
        _put(x, 1, w1, a1)
        _put(x, 2, w2, a2)
    _put(x, 3, w3, a3)
    return True


@kernel
def foot_point(x, i, faces, face_count, face, near):
    """How far the polytope's face misses the origin's foot on the plane of `face`, and the point of A that goes with it.

    The foot may lie on any triangle of that plane, or within `near` of it: many share it where A and B have parallel faces.
    """
    planes = 6 * epa_vertices(faces)
    at = planes + 4 * face
    n, offset = (x[at], x[at + 1], x[at + 2]), x[at + 3]
    point, best2 = (0.0, 0.0, 0.0), math.inf
    for k in range(face_count):
        other = planes + 4 * k
        if k != face and (i[6 * faces + k] == 0 or x[other + 3] - offset > near):
            continue
        v0, v1, v2 = i[6 * k], i[6 * k + 1], i[6 * k + 2]
        if k != face and max(below(x, v0, n, offset), below(x, v1, n, offset), below(x, v2, n, offset)) > near:
            continue
        v, x0, x1, x2 = closest_on_triangle(_w(x, v0), _w(x, v1), _w(x, v2))
        miss2 = norm2((v[0] - offset * n[0], v[1] - offset * n[1], v[2] - offset * n[2]))
        if miss2 < best2:
            best2 = miss2
            point = (
                x0 * x[6 * v0 + 3] + x1 * x[6 * v1 + 3] + x2 * x[6 * v2 + 3],
                x0 * x[6 * v0 + 4] + x1 * x[6 * v1 + 4] + x2 * x[6 * v2 + 4],
                x0 * x[6 * v0 + 5] + x1 * x[6 * v1 + 5] + x2 * x[6 * v2 + 5],
            )
    return math.sqrt(best2), point


@device
def below(x, k, n, offset):
    """How far vertex k lies below the plane."""
    return offset - dot(n, _w(x, k))


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, i8, f8[::1], i8[::1]")
def epa_depth(parts, a, b, r, t, axis, faces, x, i):
    """Penetration depth of cores a and b: (status, depth, unit normal from A to B, whether the point is known, point of A).

    `axis` is any first direction; x, i are scratch arrays of epa_reals(faces) floats and epa_ints(faces) ints. The depth
    is an upper bound: moving B by depth * normal surely separates. UNCONVERGED: bounds did not meet (face limit, or a
    polytope that roundoff made inconsistent). The point is known when the search has ended on the face that shows the
    depth: it is then the point of A that goes with the origin's foot on that face.
    """
    part_a, part_b = load_part(parts, a), load_part(parts, b)
    size = part_size(parts, a, b)
    polytopes = part_a[0] <= HULL and part_b[0] <= HULL
    gap = (EPA_GAP if polytopes else EPA_GAP_CURVED) * size
    coplanar = EPA_COPLANAR * (size + abs(t[0]) + abs(t[1]) + abs(t[2]))
    # Polytopes: a face in whose plane w lies is seen by it, so that no slivers stay. Curved shapes: it is not, as the rim
    # of a flat cap gets thousands of points and each would build the whole cap anew.
    hidden = -coplanar if polytopes else coplanar
    area2 = (EPA_AREA * size * size) ** 2
    # A sliver in a flat side, such as a cap's between three points of its rim, has a normal off by roundoff over its height.
    thin2 = 0.0 if polytopes else (EPA_THIN * size) ** 2
    upper, lower = 1e308, -1e308
    normal, point = (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if not _first_tetrahedron(parts, part_a, part_b, r, t, axis, x):
        return UNCONVERGED, upper, normal, False, point
    v_max = epa_vertices(faces)
    planes, keys = 6 * v_max, 6 * v_max + 4 * faces
    alive, free, heaped, stacked, horizons, by_tail = 6 * faces, 7 * faces, 8 * faces, 12 * faces, 13 * faces, 16 * faces
    heap = np.int64(4)
    for k in range(4):
        v0, v1, v2, n0, n1, n2 = _TETRAHEDRON[k]
        _heap_push(x, i, faces, k, _make_face(x, i, faces, k, v0, v1, v2, n0, n1, n2, area2, thin2), k)
    vertex_count, face_count, free_count, nobody = np.int64(4), np.int64(4), np.int64(0), np.int64(-1)
    while heap > 0 and vertex_count < v_max:
        key, face = x[keys], i[heaped]
        plane = planes + 4 * face
        if i[alive + face] == 0 or x[plane + 3] != key:
            heap = _heap_drop(x, i, faces, heap)  # buried meanwhile
            continue
        if key == math.inf:
            break
        lower = key
        n = (x[plane], x[plane + 1], x[plane + 2])
        w, pa = difference_support(parts, part_a, part_b, r, t, (-n[0], -n[1], -n[2]))
        height = dot(n, w)
        if height < upper:
            upper, normal = height, n
        if height - lower <= gap:
            miss, point = foot_point(x, i, faces, face_count, face, 0.5 * gap)
            if miss <= gap or height - lower <= max(coplanar, 0.01 * gap):
                return OVERLAPPING, height, n, miss <= gap, point
            # The plane is near the origin, but the face is not: the origin is outside the polytope, beside it. Go on, if w
            # is clearly outside: a point that lies in the face but for roundoff would turn faces inside out.
        # Remove all faces that see w, starting from this one. Seeing is a function of plane and point alone, so an
        # edge towards a face that does not see w is on the horizon for good.
        _put(x, vertex_count, w, pa)
        i[alive + face] = 0
        i[stacked] = face
        stack, horizon = 1, 0
        while stack > 0:
            stack -= 1
            seen = i[stacked + stack]
            i[free + free_count] = seen
            free_count += 1
            for k in range(3):
                other = i[6 * seen + 3 + k]
                if i[alive + other] == 0:
                    continue
                at = planes + 4 * other
                away = x[at] * w[0] + x[at + 1] * w[1] + x[at + 2] * w[2] - x[at + 3]
                if x[at + 3] == math.inf or away > hidden:
                    i[alive + other] = 0
                    i[stacked + stack] = other
                    stack += 1
                else:
                    edge = horizons + 3 * horizon
                    tail, head = i[6 * seen + k], i[6 * seen + (k + 1) % 3]
                    i[edge], i[edge + 1], i[edge + 2] = other, tail, head
                    i[by_tail + tail] = -1
                    i[by_tail + head] = -1
                    horizon += 1
        if heap + horizon > 4 * faces:
            heap = _heap_tidy(x, i, faces, heap)
        if horizon < 3 or free_count + faces - face_count < horizon:
            break
        # A fan of new faces from w to the horizon. A vertex that starts two horizon edges means that roundoff tore
        # the polytope: stop with the bounds known so far.
        torn = False
        for k in range(horizon):
            edge = horizons + 3 * k
            other, tail, head = i[edge], i[edge + 1], i[edge + 2]
            if free_count > 0:
                free_count -= 1
                new = i[free + free_count]
            else:
                new = face_count
                face_count += 1
            torn = torn or i[by_tail + tail] >= 0
            i[by_tail + tail] = new
            offset = _make_face(x, i, faces, new, tail, head, vertex_count, other, nobody, nobody, area2, thin2)
            heap = _heap_push(x, i, faces, heap, offset, new)
            for j in range(3):
                if i[6 * other + j] == head:
                    i[6 * other + 3 + j] = new
        for k in range(horizon):
            edge = horizons + 3 * k
            here, after = i[by_tail + i[edge + 1]], i[by_tail + i[edge + 2]]
            torn = torn or after < 0
            if not torn:
                i[6 * here + 4] = after
                i[6 * after + 5] = here
        if torn:
            break
        vertex_count += 1
    # Not on a face that is surely on the boundary; but another normal may have met the lower bound.
    return OVERLAPPING if upper - lower <= gap else UNCONVERGED, upper, normal, False, point
