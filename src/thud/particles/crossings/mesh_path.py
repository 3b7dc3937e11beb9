"""Paths against triangle meshes: down the tree with the exact box of the path over the times that matter, (3.6) a triangle.

A path is taken into the mesh's frame with 32 digits, and the planes of the triangles are kept with as many; so the roots of
(3.6) are right to a unit of roundoff however flat the path meets the plane, and the point of a crossing to some roundoffs of
its coordinates. A triangle is closed and wider than itself by that (TRIANGLE_EDGE): a path through an edge or a vertex meets at
least one of the triangles there.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.geometry.exact_vec3 import drop_axis, load3
from thud.geometry.predicates import two_diff
from thud.particles.colliders.frame import ROTATION
from thud.particles.crossings.double_double import dd_dot_dd, dd_product, dd_scaled, dd_shifted, dd_sum
from thud.particles.crossings.drag_plane import dragged_plane_roots
from thud.particles.crossings.drag_time import phi_psi
from thud.particles.crossings.path_box import (
    CAME,
    DRAG,
    LOCAL,
    REST,
    SIZE,
    TURNS,
    A,
    V,
    X,
    narrow_box,
    path_exactly,
    path_into_frame,
    path_pieces,
    path_point,
    path_size,
    piece_begin,
    piece_box,
    write_hit,
)
from thud.particles.crossings.tolerances import START_SAME, START_SLOPE, TRIANGLE_EDGE, TRIANGLE_FLAT, TRIANGLE_SIDE
from thud.particles.tolerances import START_ROUNDOFF

_I = np.int64

# Columns of a plane: normal (not of unit length), offset; then the rest of the four.
PLANE = 8


@exact_device
def _edge(vertices, i, j):
    """Vertex i minus vertex j: exactly, as double-doubles."""
    return (
        two_diff(vertices[i, 0], vertices[j, 0]),
        two_diff(vertices[i, 1], vertices[j, 1]),
        two_diff(vertices[i, 2], vertices[j, 2]),
    )


@exact_device
def _cofactor(a, b, c, d):
    """a d - b c of double-doubles."""
    return dd_sum(dd_product(a, d), dd_shifted(dd_product(b, c), -1.0))


@exact_kernel("i8, i8, f8[:,::1], i8[:,::1], i8[::1], f8[::1], f8[:,::1]")
def plane_rows(start, stop, vertices, faces, order, origin, plane_out):
    """Planes N . (p - p0) = 0 of the triangles in tree order, relative to `origin`. Eq. (3.5). N = 0 for one without area."""
    for k in range(start, stop):
        i, j, m = faces[order[k], 0], faces[order[k], 1], faces[order[k], 2]
        e, f = _edge(vertices, j, i), _edge(vertices, m, i)
        nx = _cofactor(e[1], e[2], f[1], f[2])
        ny = _cofactor(e[2], e[0], f[2], f[0])
        nz = _cofactor(e[0], e[1], f[0], f[1])
        p = (
            two_diff(vertices[i, 0], origin[0]),
            two_diff(vertices[i, 1], origin[1]),
            two_diff(vertices[i, 2], origin[2]),
        )
        d = dd_dot_dd((nx, ny, nz), p)
        size = max(abs(e[0][0]), abs(e[1][0]), abs(e[2][0])) * max(abs(f[0][0]), abs(f[1][0]), abs(f[2][0]))
        keep = 1.0 if max(abs(nx[0]), abs(ny[0]), abs(nz[0])) > TRIANGLE_FLAT * size else 0.0
        plane_out[k, 0], plane_out[k, 1], plane_out[k, 2], plane_out[k, 3] = (
            keep * nx[0],
            keep * ny[0],
            keep * nz[0],
            keep * d[0],
        )
        plane_out[k, 4], plane_out[k, 5], plane_out[k, 6], plane_out[k, 7] = (
            keep * nx[1],
            keep * ny[1],
            keep * nz[1],
            keep * d[1],
        )


@exact_kernel("i8[::1]")
def tree_depth(skip):
    """Levels of a tree given by its skip offsets, the root's included."""
    count = skip.shape[0]
    ends = np.empty(count, np.int64)
    depth, most = 0, 0
    for k in range(count):
        while depth > 0 and ends[depth - 1] <= k:
            depth -= 1
        ends[depth] = skip[k]
        depth += 1
        most = max(most, depth)
    return most


@exact_device
def _exact3(local, column):
    """Three columns of a path's row as double-doubles."""
    return (
        (local[column], local[REST + column]),
        (local[column + 1], local[REST + column + 1]),
        (local[column + 2], local[REST + column + 2]),
    )


@exact_device
def _quotient(a, b):
    """a / b of double-doubles, as a float."""
    t = a[0] / b[0]
    if not abs(t) < math.inf:
        return t
    rest = dd_sum(a, dd_scaled(b, -t))
    return t + rest[0] / b[0]


@exact_kernel(inner="Tuple((f8, f8)), Tuple((f8, f8)), Tuple((f8, f8))")
def plane_roots(c0, c1, c2):
    """(nearest, farthest): the simple roots of c0 + c1 t + c2 t^2 by their distance from 0; inf where there is none. Double
    roots are none."""
    if c2[0] == 0.0:
        return (_quotient(dd_shifted(c0, -1.0), c1) if c1[0] != 0.0 else math.inf), math.inf
    under = dd_sum(dd_product(c1, c1), dd_shifted(dd_product(c0, c2), -4.0))
    if not under[0] > 0.0:
        return math.inf, math.inf
    # The square root as a double-double: one step of Newton's method.
    s = math.sqrt(under[0])
    rest = dd_sum(under, dd_shifted(dd_product((s, 0.0), (s, 0.0)), -1.0))
    root = dd_sum((s, 0.0), (rest[0] / (2.0 * s), 0.0))
    if c1[0] < 0.0:
        root = dd_shifted(root, -1.0)
    q = dd_shifted(dd_sum(c1, root), -0.5)
    return _quotient(c0, q), _quotient(q, c2)


@exact_device
def _beyond(a, b, p, sign, reach):
    """Whether p lies more than `reach` beyond the edge from a to b of a triangle, in its projection."""
    x, y = b[0] - a[0], b[1] - a[1]
    px, py = p[0] - a[0], p[1] - a[1]
    side = sign * (x * py - y * px)
    # The roundoff of these lines themselves adds to it.
    reach += TRIANGLE_SIDE * (abs(px) + abs(py))
    return side < -reach * (abs(x) + abs(y))


@exact_kernel(inner="f8[:,::1], i8, vec3, vec3, f8")
def in_triangle(corners, k, n, p, reach):
    """Whether p, in the plane of triangle k with normal n, is within `reach` of it; closed."""
    nx, ny, nz = abs(n[0]), abs(n[1]), abs(n[2])
    axis = 0 if nx >= ny and nx >= nz else (1 if ny >= nz else 2)
    sign = 1.0 if n[axis] > 0.0 else -1.0
    q = drop_axis(p, axis)
    a, b = drop_axis(load3(corners, k, 0), axis), drop_axis(load3(corners, k, 3), axis)
    c = drop_axis(load3(corners, k, 6), axis)
    if _beyond(a, b, q, sign, reach) or _beyond(b, c, q, sign, reach):
        return False
    return not _beyond(c, a, q, sign, reach)


@exact_device
def _may_cross(planes, k, local, begin, end):
    """False if, in plain floats and beyond their roundoff, the path keeps to one side of plane k from begin to end."""
    c0 = planes[k, 0] * local[X] + planes[k, 1] * local[X + 1] + planes[k, 2] * local[X + 2] - planes[k, 3]
    c1 = planes[k, 0] * local[V] + planes[k, 1] * local[V + 1] + planes[k, 2] * local[V + 2]
    c2 = 0.5 * (planes[k, 0] * local[A] + planes[k, 1] * local[A + 1] + planes[k, 2] * local[A + 2])
    first, last = c0 + begin * (c1 + begin * c2), c0 + end * (c1 + end * c2)
    away, later = c1 + 2.0 * begin * c2, c1 + 2.0 * end * c2
    if local[DRAG] != 0.0:
        one, other = phi_psi(local[DRAG], begin), phi_psi(local[DRAG], end)
        first, last = c0 + begin * c1 + 2.0 * one[1] * c2, c0 + end * c1 + 2.0 * other[1] * c2
        away, later = c1 + 2.0 * one[0] * c2, c1 + 2.0 * other[0] * c2
    size = abs(planes[k, 0]) + abs(planes[k, 1]) + abs(planes[k, 2])
    least = 2.0 * START_SAME * size * path_size(local, end)
    if (first > least and last > least) or (first < -least and last < -least):
        # An extreme between them may still reach the plane.
        return (away > 0.0) != (later > 0.0) or away == 0.0
    return True


@exact_kernel(inner="f8[:,::1], f8[:,::1], i8, f8[::1], i8, i8, f8")
def triangle_time(planes, corners, k, local, same, last, best):
    """When the path crosses triangle k, up to and including `best`; inf if it does not. Eq. (3.6).

    same: the particle has just left this mesh; last: this very triangle.
    """
    n = ((planes[k, 0], planes[k, 4]), (planes[k, 1], planes[k, 5]), (planes[k, 2], planes[k, 6]))
    high = (planes[k, 0], planes[k, 1], planes[k, 2])
    c0 = dd_sum(dd_dot_dd(n, _exact3(local, X)), (-planes[k, 3], -planes[k, 7]))
    c1 = dd_dot_dd(n, _exact3(local, V))
    c2 = dd_shifted(dd_dot_dd(n, _exact3(local, A)), 0.5)
    if local[DRAG] != 0.0:
        # Two times after the start, or inf; of a start on the plane its root is none of them.
        near, far = dragged_plane_roots(local[DRAG], c0, c1, dd_shifted(c2, 2.0), best)
    else:
        near, far = plane_roots(c0, c1, c2)
    size = abs(high[0]) + abs(high[1]) + abs(high[2])
    if last or abs(c0[0]) <= (START_SAME if same else START_ROUNDOFF) * size * local[SIZE]:
        # The particle starts on the plane, and the root near 0 is where it has been, unless it would pass through.
        came = high[0] * local[CAME] + high[1] * local[CAME + 1] + high[2] * local[CAME + 2]
        fast = abs(local[CAME]) + abs(local[CAME + 1]) + abs(local[CAME + 2])
        goes = abs(local[V]) + abs(local[V + 1]) + abs(local[V + 2])
        slope = START_SLOPE * size
        through = abs(came) > slope * fast and abs(c1[0]) > slope * goes and (came > 0.0) == (c1[0] > 0.0)
        if not last and through:
            if in_triangle(corners, k, high, (local[X], local[X + 1], local[X + 2]), START_SAME * local[SIZE]):
                return 0.0
        elif local[DRAG] != 0.0:
            near, far = dragged_plane_roots(local[DRAG], (0.0, 0.0), c1, dd_shifted(c2, 2.0), best)
        else:
            near = math.inf
    if far < near:
        near, far = far, near
    for i in range(2):
        tau = near if i == 0 else far
        if 0.0 <= tau <= best and tau < math.inf:
            reach = TRIANGLE_EDGE * path_size(local, tau)
            if in_triangle(corners, k, high, path_point(local, tau), reach):
                return tau
    return math.inf


@exact_device
def _child(local, boxes, k, begin, end):
    """The times of [begin, end] at which the path may be in node k."""
    return narrow_box(
        local, boxes[k, 0], boxes[k, 1], boxes[k, 2], boxes[k, 3], boxes[k, 4], boxes[k, 5], begin, end
    )  # fmt: skip


@exact_device
def _meet(box, boxes, k):
    """Whether a box meets that of node k."""
    return not (
        (box[0] > boxes[k, 3])
        | (box[3] < boxes[k, 0])
        | (box[1] > boxes[k, 4])
        | (box[4] < boxes[k, 1])
        | (box[2] > boxes[k, 5])
        | (box[5] < boxes[k, 2])
    )


@exact_kernel(
    inner="i8[::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8, f8, i8, i8, f8, i8, i8[::1], f8[:,::1]"
)
def walk_piece(skip, first, order, boxes, corners, planes, local, begin, end, same, last, best, found, nodes, times):
    """(time, tree position) of the first crossing of the mesh by one monotone piece of the path; `found` is the best so far, at
    `best`, or -1. At equal times the lower face wins. Nodes are entered in the order of their times."""
    begin, end = _child(local, boxes, 0, begin, min(end, best))
    if begin > end:
        return best, found
    nodes[0], times[0, 0], times[0, 1], depth = 0, begin, end, 1
    while depth > 0:
        depth -= 1
        k, begin, end = nodes[depth], times[depth, 0], min(times[depth, 1], best)
        if begin > end:
            continue
        # Down to a leaf; of two children the one met first goes on.
        while skip[k] > k + 1:
            left = k + 1
            right = skip[left]
            box = piece_box(local, begin, end)
            b0, e0, b1, e1 = 1.0, 0.0, 1.0, 0.0
            if _meet(box, boxes, left):
                b0, e0 = _child(local, boxes, left, begin, end)
            if _meet(box, boxes, right):
                b1, e1 = _child(local, boxes, right, begin, end)
            if b0 <= e0 and b1 <= e1:
                if b1 < b0:
                    nodes[depth], times[depth, 0], times[depth, 1] = left, b0, e0
                    k, begin, end = right, b1, e1
                else:
                    nodes[depth], times[depth, 0], times[depth, 1] = right, b1, e1
                    k, begin, end = left, b0, e0
                depth += 1
            elif b0 <= e0:
                k, begin, end = left, b0, e0
            elif b1 <= e1:
                k, begin, end = right, b1, e1
            else:
                k = _I(-1)
                break
        if k < 0:
            continue
        at = first[k]
        if not _may_cross(planes, at, local, begin, end):
            continue
        face = order[at]
        tau = triangle_time(planes, corners, at, local, same, _I(same and face == last), best)
        if tau < best or (tau == best and tau < math.inf and (found < 0 or face < order[found])):
            best, found = tau, at
    return best, found


@exact_kernel(
    "i8, i8, i8[::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], i8, i8, "
    "f8[:,::1], f8[:,::1], i8[:,::1], f8[::1], i8[:,::1], f8[:,::1]"
)
def mesh_rows(
    start, stop, skip, first, order, boxes, corners, planes, frame, depth, collider, paths, came, last, time, hit, normal
):
    """Earliest crossing of each path with a mesh. Parts are rows of the mesh's faces; normals follow the faces' winding."""
    local, nodes, times = np.zeros(LOCAL), np.empty(depth + 2, np.int64), np.empty((depth + 2, 2))
    low, high = (boxes[0, 0], boxes[0, 1], boxes[0, 2]), (boxes[0, 3], boxes[0, 4], boxes[0, 5])
    for row in range(start, stop):
        path_into_frame(frame, paths, row, local)
        pieces = path_pieces(local, time[row], low, high)
        if pieces == 0:
            continue
        same = _I(last[row, 0] == collider)
        # A crossing at the very time of an earlier collider's does not count.
        allowed = hit[row, 0] >= 0 and collider < hit[row, 0]
        best, found, ready = time[row], _I(-1), False
        for piece in range(pieces):
            begin, end = piece_begin(local, piece), local[TURNS + piece]
            if begin > best:
                break
            if not ready:
                b, e = _child(local, boxes, 0, begin, end)
                if b > e:
                    continue
                path_exactly(frame, paths, came, row, local)
                ready = True
            best, found = walk_piece(
                skip, first, order, boxes, corners, planes, local, begin, end, same, last[row, 1], best, found, nodes, times
            )  # fmt: skip
        if found >= 0 and (best < time[row] or allowed):
            n = (planes[found, 0], planes[found, 1], planes[found, 2])
            write_hit(frame, ROTATION, row, best, collider, order[found], n, time, hit, normal)
