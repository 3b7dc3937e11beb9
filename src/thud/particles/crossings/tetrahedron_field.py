"""Polynomials in tetrahedra along a path: implicit surface patches, 5.2.1.

In each tetrahedron, with barycentric coordinates l0 .. l3 and control values c, f is a polynomial in Bernstein-Bezier form,

    f = sum over i0 + i1 + i2 + i3 = d of  d! / (i0! i1! i2! i3!)  c_i  l0^i0 l1^i1 l2^i2 l3^i3        (Bajaj, Chen, Xu 1995)

Along a path each l is a quadratic in time, but for what drag bends, so h = f(p(t)) has degree 2 d. Over a cell of time the l
have three control values each; composed with f they give the 2 d + 1 of h, between whose least and greatest h lies, and those
of h' likewise (DeRose 1988). So the bounds of a piece of the path within a tetrahedron shrink with the square of the cell.

The order of control values is that of (i1, i2, i3) with n = i1 + i2 + i3, m = i2 + i3, k = i3: the place is
n (n + 1) (n + 2) / 6 + m (m + 1) / 2 + k, in any degree.

A path is in a tetrahedron between roots of its l, which have 32 digits. Its pieces are looked through one by one. From one to
the next the sign of h is kept, so that a change between the two is seen, too, be it at a kink or where f jumps.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import UNIT_ROUNDOFF
from thud.geometry.predicates import two_diff, two_product
from thud.particles.crossings.double_double import dd_dot_dd, dd_dot_scaled, dd_product, dd_scaled, dd_shifted, dd_sum
from thud.particles.crossings.drag_cell import path_cell
from thud.particles.crossings.drag_plane import dragged_plane_roots
from thud.particles.crossings.drag_time import exact_phi_psi
from thud.particles.crossings.mesh_path import plane_roots
from thud.particles.crossings.path_box import narrow_box, path_point, piece_begin
from thud.particles.crossings.path_columns import DRAG, TURNS, A, V, X
from thud.particles.crossings.path_field import (
    HIGH,
    LOW,
    MIDDLE_HIGH,
    MIDDLE_LOW,
    NEAR,
    STEEP_HIGH,
    STEEP_LOW,
    TOUCH,
)
from thud.particles.crossings.tolerances import TETRAHEDRON_EXACT, TETRAHEDRON_JOIN

_I = np.int64

# Columns of a tetrahedron: its first vertex; the gradients of l1, l2, l3, in floats and what the floats leave; the largest
# magnitude of its control values; its row among all.
ORIGIN, GRADIENT, REST, LARGEST, ROW = 0, 3, 12, 21, 22
TETRAHEDRON = 23

# Scratch. Control values of the l of a cell, each times its binomial (4 x 3); slopes (4 x 2); up to ten times; errors of the l,
# of their slopes and of the l in the middle; sums of their magnitudes and of those of their slopes; then control values.
LAMBDA, SLOPE, TIMES = 0, 12, 20
ERROR, ERROR_SLOPE, ERROR_MIDDLE, SIZE_OF, SIZE_SLOPE = 30, 31, 32, 33, 34
TABLE = 36

#: Pieces that a path may have in one tetrahedron (a count): four, and borders between its monotone parts.
PIECES = 8


def work_size(degree: int) -> int:
    """Numbers of scratch for control values of a degree."""
    wide = 2 * degree + 3
    return TABLE + ((degree + 1) * (degree + 2) * (degree + 3) // 6 + 2) * wide


@exact_device
def _degree(count):
    """Of polynomials with so many control values."""
    d = 1
    while (d + 1) * (d + 2) * (d + 3) // 6 < count:
        d += 1
    return d


@exact_device
def _first(n):
    """Place of the first control value with i1 + i2 + i3 = n."""
    return n * (n + 1) * (n + 2) // 6


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


@exact_device
def _cross(a, b):
    return _cofactor(a[1], a[2], b[1], b[2]), _cofactor(a[2], a[0], b[2], b[0]), _cofactor(a[0], a[1], b[0], b[1])


@exact_device
def _ratio(a, b):
    """a / b of double-doubles, as a double-double."""
    one = a[0] / b[0]
    rest = dd_sum(a, dd_shifted(dd_scaled(b, one), -1.0))
    return dd_sum((one, 0.0), (rest[0] / b[0], 0.0))


@exact_kernel("i8, i8, f8[:,::1], i8[:,::1], f8[:,::1], i8[::1], f8[:,::1]")
def tetrahedron_rows(start, stop, vertices, tetrahedra, values, chosen, rows_out):
    """The columns of the chosen tetrahedra."""
    for at in range(start, stop):
        t = chosen[at]
        i = tetrahedra[t, 0]
        a, b, c = (
            _edge(vertices, tetrahedra[t, 1], i),
            _edge(vertices, tetrahedra[t, 2], i),
            _edge(vertices, tetrahedra[t, 3], i),
        )
        n1, n2, n3 = _cross(b, c), _cross(c, a), _cross(a, b)
        volume = dd_dot_dd(a, n1)
        for axis in range(3):
            rows_out[at, ORIGIN + axis] = vertices[i, axis]
            g1, g2, g3 = _ratio(n1[axis], volume), _ratio(n2[axis], volume), _ratio(n3[axis], volume)
            rows_out[at, GRADIENT + axis], rows_out[at, REST + axis] = g1
            rows_out[at, GRADIENT + 3 + axis], rows_out[at, REST + 3 + axis] = g2
            rows_out[at, GRADIENT + 6 + axis], rows_out[at, REST + 6 + axis] = g3
        most = 0.0
        for j in range(values.shape[1]):
            most = max(most, abs(values[at, j]))
        rows_out[at, LARGEST], rows_out[at, ROW] = most, t


@exact_kernel(inner="f8[:,::1], i8, f8[::1], f8, f8, f8[::1]")
def barycentric_cell(rows, k, local, begin, end, work):
    """Writes the control values of l0 .. l3 over a cell, those of their slopes, and their errors."""
    m, w = 0.5 * (begin + end), 0.5 * (end - begin)
    # Half a roundoff may be missing at either end.
    w += 2.0 * UNIT_ROUNDOFF * abs(m)
    g, v, h, off, off_speed, bend = path_cell(local, m, w)
    q = (
        local[X] - rows[k, ORIGIN] + g[0],
        local[X + 1] - rows[k, ORIGIN + 1] + g[1],
        local[X + 2] - rows[k, ORIGIN + 2] + g[2],
    )
    # l0 = 1 - l1 - l2 - l3.
    z0, z1, z2 = 1.0, 0.0, 0.0
    error, error_slope, error_middle, size, size_slope = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        j = GRADIENT + 3 * i
        gx, gy, gz = rows[k, j], rows[k, j + 1], rows[k, j + 2]
        steep = abs(gx) + abs(gy) + abs(gz)
        l0, l1, l2 = (
            gx * q[0] + gy * q[1] + gz * q[2],
            gx * v[0] + gy * v[1] + gz * v[2],
            gx * h[0] + gy * h[1] + gz * h[2],
        )
        z0, z1, z2 = z0 - l0, z1 - l1, z2 - l2
        at = LAMBDA + 3 * (i + 1)
        work[at], work[at + 1], work[at + 2] = l0 - w * (l1 - w * l2), 2.0 * (l0 - w * w * l2), l0 + w * (l1 + w * l2)
        work[SLOPE + 2 * (i + 1)], work[SLOPE + 2 * (i + 1) + 1] = l1 - 2.0 * w * l2, l1 + 2.0 * w * l2
        terms = abs(gx * q[0]) + abs(gy * q[1]) + abs(gz * q[2])
        fast = abs(gx * v[0]) + abs(gy * v[1]) + abs(gz * v[2])
        pull = abs(gx * h[0]) + abs(gy * h[1]) + abs(gz * h[2])
        most = abs(l0) + w * (abs(l1) + w * abs(l2))
        here = off * steep + 16.0 * UNIT_ROUNDOFF * (terms + w * (fast + w * pull))
        error_middle += here
        error += here + bend * w * w * abs(l2)
        error_slope += off_speed * steep + 16.0 * UNIT_ROUNDOFF * (fast + 2.0 * w * pull) + 2.0 * bend * w * abs(l2)
        size += most
        size_slope += abs(l1) + 2.0 * w * abs(l2)
    work[LAMBDA], work[LAMBDA + 1], work[LAMBDA + 2] = z0 - w * (z1 - w * z2), 2.0 * (z0 - w * w * z2), z0 + w * (z1 + w * z2)
    work[SLOPE], work[SLOPE + 1] = z1 - 2.0 * w * z2, z1 + 2.0 * w * z2
    # l0 has the errors of all three, and is no larger than 1 and their sum.
    work[ERROR], work[ERROR_MIDDLE] = 2.0 * error + 8.0 * UNIT_ROUNDOFF, 2.0 * error_middle + 8.0 * UNIT_ROUNDOFF
    work[ERROR_SLOPE] = 2.0 * error_slope
    work[SIZE_OF], work[SIZE_SLOPE] = size + abs(z0) + w * (abs(z1) + w * abs(z2)), 2.0 * size_slope


@exact_device
def _bounded(work, at, count):
    """Least and greatest control value of a polynomial whose `count` numbers from `at` on are these times binomials."""
    low, high, binomial = work[at], work[at], 1.0
    for j in range(1, count):
        binomial = binomial * (count - j) / j
        c = work[at + j] / binomial
        low, high = min(low, c), max(high, c)
    return low, high


@exact_kernel(inner="f8[:,::1], f8[:,::1], i8, f8[::1], f8[::1], f8, f8, f8[::1]")
def enclose_piece(rows, values, k, work, local, begin, end, out):
    """Bounds of h, of h' and of h in the middle in tetrahedron k, for times from begin to end; outward rounded."""
    barycentric_cell(rows, k, local, begin, end, work)
    degree = _degree(values.shape[1])
    wide = 2 * degree + 3
    spare = TABLE + _first(degree + 1) * wide
    for j in range(values.shape[1]):
        work[TABLE + j * wide] = values[k, j]
    # Down to degree 1: each step puts the l in for one of the factors of f.
    for r in range(degree - 1):
        left = degree - r - 1
        for n in range(left + 1):
            for m in range(n + 1):
                one = _first(n + 1) + m * (m + 1) // 2
                two = one + m + 1
                for i in range(m + 1):
                    at = TABLE + (_first(n) + m * (m + 1) // 2 + i) * wide
                    at1, at2 = TABLE + (one + i) * wide, TABLE + (two + i) * wide
                    for j in range(2 * r + 3):
                        total = 0.0
                        for a in range(3):
                            b = j - a
                            if 0 <= b <= 2 * r:
                                total += work[LAMBDA + a] * work[at + b] + work[LAMBDA + 3 + a] * work[at1 + b]
                                total += work[LAMBDA + 6 + a] * work[at2 + b] + work[LAMBDA + 9 + a] * work[at2 + wide + b]
                        work[spare + j] = total
                    for j in range(2 * r + 3):
                        work[at + j] = work[spare + j]
    # h = sum of l F, h' = degree times the sum of l' F.
    last = 2 * degree - 2
    slope = spare + wide
    middle = 0.0
    for j in range(last + 3):
        total = 0.0
        for a in range(3):
            if 0 <= j - a <= last:
                for i in range(4):
                    total += work[LAMBDA + 3 * i + a] * work[TABLE + i * wide + j - a]
        work[spare + j] = total
        middle += total
    for j in range(last + 2):
        total = 0.0
        for a in range(2):
            if 0 <= j - a <= last:
                for i in range(4):
                    total += work[SLOPE + 2 * i + a] * work[TABLE + i * wide + j - a]
        work[slope + j] = degree * total
    middle /= 4.0**degree
    most, size = rows[k, LARGEST], work[SIZE_OF] + work[ERROR]
    noise = (24.0 + 16.0 * degree) * UNIT_ROUNDOFF
    power = 1.0
    for _ in range(degree - 1):
        power *= size
    err = most * power * (degree * work[ERROR] + noise * size)
    err_middle = most * power * (degree * work[ERROR_MIDDLE] + noise * size)
    err_slope = degree * most * power * (work[ERROR_SLOPE] + noise * work[SIZE_SLOPE])
    err_slope += degree * (degree - 1) * most * power / size * work[SIZE_SLOPE] * work[ERROR]
    low, high = _bounded(work, spare, last + 3)
    out[LOW], out[HIGH] = low - err, high + err
    low, high = _bounded(work, slope, last + 2)
    out[STEEP_LOW], out[STEEP_HIGH] = low - err_slope, high + err_slope
    out[MIDDLE_LOW], out[MIDDLE_HIGH] = middle - err_middle, middle + err_middle
    out[NEAR], out[TOUCH] = 0.0, TETRAHEDRON_EXACT * err_middle


@exact_device
def piece_at(spans, count, t):
    """The first piece that the path is in at t; between two the earlier one."""
    found = 0
    for j in range(count):
        if spans[j, 0] > t:
            break
        found = j
        if spans[j, 1] >= t:
            break
    return found


@exact_kernel(inner="f8[:,::1], f8[:,::1], i8[::1], f8[:,::1], i8, f8[::1], f8[::1], f8, f8, f8[::1]")
def enclose_tetrahedra(rows, values, items, spans, count, work, local, begin, end, out):
    """Bounds of h, of h' and of h in the middle, for times from begin to end within one piece; outward rounded."""
    here = piece_at(spans, count, 0.5 * (begin + end))
    enclose_piece(rows, values, items[here], work, local, begin, end, out)


@exact_kernel(inner="f8[:,::1], i8, f8[::1]")
def exact_place(rows, k, local):
    """x - first vertex as double-doubles."""
    return (
        two_diff(local[X], rows[k, ORIGIN]),
        two_diff(local[X + 1], rows[k, ORIGIN + 1]),
        two_diff(local[X + 2], rows[k, ORIGIN + 2]),
    )


@exact_device
def _gradient(rows, k, i):
    """Gradient of l(i + 1) as double-doubles."""
    g, r = GRADIENT + 3 * i, REST + 3 * i
    return (rows[k, g], rows[k, r]), (rows[k, g + 1], rows[k, r + 1]), (rows[k, g + 2], rows[k, r + 2])


@exact_device
def _rest_of_one(a, b, c):
    """1 - a - b - c of double-doubles."""
    return dd_sum((1.0, 0.0), dd_shifted(dd_sum(dd_sum(a, b), c), -1.0))


@exact_kernel(inner="f8[:,::1], i8, f8[::1], f8")
def exact_barycentric(rows, k, local, t):
    """l0 .. l3 at t as double-doubles."""
    square = dd_shifted(two_product(t, t), 0.5) if local[DRAG] == 0.0 else exact_phi_psi(local[DRAG], t)[1]
    p = exact_place(rows, k, local)
    q = (
        dd_sum(dd_sum(p[0], two_product(t, local[V])), dd_scaled(square, local[A])),
        dd_sum(dd_sum(p[1], two_product(t, local[V + 1])), dd_scaled(square, local[A + 1])),
        dd_sum(dd_sum(p[2], two_product(t, local[V + 2])), dd_scaled(square, local[A + 2])),
    )
    l1, l2, l3 = dd_dot_dd(_gradient(rows, k, 0), q), dd_dot_dd(_gradient(rows, k, 1), q), dd_dot_dd(_gradient(rows, k, 2), q)
    return _rest_of_one(l1, l2, l3), l1, l2, l3


@exact_kernel(inner="f8[:,::1], f8[:,::1], i8[::1], f8[:,::1], i8, f8[::1], f8[::1], f8")
def tetrahedra_value(rows, values, items, spans, count, work, local, t):
    """h(t), from double-doubles."""
    k = items[piece_at(spans, count, t)]
    l0, l1, l2, l3 = exact_barycentric(rows, k, local, t)
    degree = _degree(values.shape[1])
    for j in range(values.shape[1]):
        work[TABLE + 2 * j], work[TABLE + 2 * j + 1] = values[k, j], 0.0
    for r in range(degree):
        for n in range(degree - r):
            for m in range(n + 1):
                one = _first(n + 1) + m * (m + 1) // 2
                two = one + m + 1
                for i in range(m + 1):
                    at = TABLE + 2 * (_first(n) + m * (m + 1) // 2 + i)
                    a, b = TABLE + 2 * (one + i), TABLE + 2 * (two + i)
                    total = dd_product(l0, (work[at], work[at + 1]))
                    total = dd_sum(total, dd_product(l1, (work[a], work[a + 1])))
                    total = dd_sum(total, dd_product(l2, (work[b], work[b + 1])))
                    work[at], work[at + 1] = dd_sum(total, dd_product(l3, (work[b + 2], work[b + 3])))
    return work[TABLE]


@exact_kernel(inner="f8[:,::1], i8")
def row_of_tetrahedron(rows, last):
    """Row of tetrahedron `last`; -1: it is none of them."""
    low, high = 0, rows.shape[0]
    while low < high:
        half = (low + high) // 2
        if rows[half, ROW] < last:
            low = half + 1
        else:
            high = half
    return _I(low) if low < rows.shape[0] and rows[low, ROW] == last else _I(-1)


@exact_kernel(inner="f8[:,::1], f8[:,::1], i8, f8[::1], vec3")
def tetrahedron_gradient(rows, values, k, work, p):
    """grad f of tetrahedron k at p."""
    q = p[0] - rows[k, ORIGIN], p[1] - rows[k, ORIGIN + 1], p[2] - rows[k, ORIGIN + 2]
    g = GRADIENT
    l1 = rows[k, g] * q[0] + rows[k, g + 1] * q[1] + rows[k, g + 2] * q[2]
    l2 = rows[k, g + 3] * q[0] + rows[k, g + 4] * q[1] + rows[k, g + 5] * q[2]
    l3 = rows[k, g + 6] * q[0] + rows[k, g + 7] * q[1] + rows[k, g + 8] * q[2]
    l0 = 1.0 - l1 - l2 - l3
    degree = _degree(values.shape[1])
    for j in range(values.shape[1]):
        work[TABLE + j] = values[k, j]
    for r in range(degree - 1):
        for n in range(degree - r):
            for m in range(n + 1):
                one = _first(n + 1) + m * (m + 1) // 2
                two = one + m + 1
                for i in range(m + 1):
                    at, a, b = TABLE + _first(n) + m * (m + 1) // 2 + i, TABLE + one + i, TABLE + two + i
                    work[at] = l0 * work[at] + l1 * work[a] + l2 * work[b] + l3 * work[b + 1]
    at = TABLE
    a, b, c = degree * (work[at + 1] - work[at]), degree * (work[at + 2] - work[at]), degree * (work[at + 3] - work[at])
    return (
        a * rows[k, g] + b * rows[k, g + 3] + c * rows[k, g + 6],
        a * rows[k, g + 1] + b * rows[k, g + 4] + c * rows[k, g + 7],
        a * rows[k, g + 2] + b * rows[k, g + 5] + c * rows[k, g + 8],
    )


@exact_kernel(inner="f8[:,::1], f8[:,::1], i8[::1], f8[:,::1], i8, f8[::1], f8[::1], f8")
def tetrahedra_normal(rows, values, items, spans, count, work, local, t):
    """(grad f, row of the tetrahedron) at t: out of f < 0; not of unit length."""
    k = items[piece_at(spans, count, t)]
    return tetrahedron_gradient(rows, values, k, work, path_point(local, t)), _I(rows[k, ROW])


@exact_kernel(inner="f8[:,::1], i8, f8[::1], f8, f8, f8[::1]")
def border_times(rows, k, local, begin, end, work):
    """How many times from begin to end are written, the ends among them, in their order: between two of them the path is in
    tetrahedron k, or it is not. 0: it never is."""
    barycentric_cell(rows, k, local, begin, end, work)
    slack, straddles = work[ERROR], False
    for i in range(4):
        a, b, c = work[LAMBDA + 3 * i], 0.5 * work[LAMBDA + 3 * i + 1], work[LAMBDA + 3 * i + 2]
        if max(a, b, c) < -slack:
            return _I(0)
        straddles = straddles or min(a, b, c) < slack
    work[TIMES] = begin
    count = _I(1)
    if straddles:
        x, v, a = exact_place(rows, k, local), (local[V], local[V + 1], local[V + 2]), (local[A], local[A + 1], local[A + 2])
        one, two, three = _gradient(rows, k, 0), _gradient(rows, k, 1), _gradient(rows, k, 2)
        x1, x2, x3 = dd_dot_dd(one, x), dd_dot_dd(two, x), dd_dot_dd(three, x)
        v1, v2, v3 = dd_dot_scaled(one, v), dd_dot_scaled(two, v), dd_dot_scaled(three, v)
        a1, a2, a3 = dd_dot_scaled(one, a), dd_dot_scaled(two, a), dd_dot_scaled(three, a)
        for i in range(4):
            c0, c1, c2 = x1, v1, a1
            if i == 1:
                c0, c1, c2 = x2, v2, a2
            elif i == 2:
                c0, c1, c2 = x3, v3, a3
            elif i == 3:
                c0 = _rest_of_one(x1, x2, x3)
                c1, c2 = dd_sum(dd_sum(v1, v2), v3), dd_sum(dd_sum(a1, a2), a3)
                c1, c2 = dd_shifted(c1, -1.0), dd_shifted(c2, -1.0)
            if local[DRAG] != 0.0:
                near, far = dragged_plane_roots(local[DRAG], c0, c1, c2, end)
            else:
                near, far = plane_roots(c0, c1, dd_shifted(c2, 0.5))
            for t in (near, far):
                if begin < t < end:
                    at = count
                    while work[TIMES + at - 1] > t:
                        work[TIMES + at] = work[TIMES + at - 1]
                        at -= 1
                    work[TIMES + at] = t
                    count += 1
    work[TIMES + count] = end
    return count + 1


@exact_kernel(inner="f8[:,::1], i8, f8[::1], f8, f8[::1]")
def is_in(rows, k, local, t, work):
    """Whether the path is in tetrahedron k at t; closed. What floats cannot tell has 32 digits: a path past a vertex is not for
    an instant in one that only touches it, whose f has another sign beyond."""
    barycentric_cell(rows, k, local, t, t, work)
    least = min(work[LAMBDA], work[LAMBDA + 3], work[LAMBDA + 6], work[LAMBDA + 9])
    if abs(least) > work[ERROR]:
        return least > 0.0
    l0, l1, l2, l3 = exact_barycentric(rows, k, local, t)
    return min(l0[0], l1[0], l2[0], l3[0]) >= -TETRAHEDRON_EXACT * work[ERROR]


@exact_kernel(inner="f8[:,::1], f8[:,::1], i8[::1], i8[::1], f8[::1], f8[::1], i8, i8[::1], f8[:,::1]")
def near_tetrahedra(rows, boxes, skip, item, local, work, pieces, items_out, spans_out):
    """How many pieces of the path are in tetrahedra, in which, and from when to when, in the order of these times."""
    count, most = _I(0), items_out.shape[0]
    for piece in range(pieces):
        begin, end = piece_begin(local, piece), local[TURNS + piece]
        k = _I(0)
        while k < skip.shape[0]:
            b, e = narrow_box(
                local, boxes[k, 0], boxes[k, 1], boxes[k, 2], boxes[k, 3], boxes[k, 4], boxes[k, 5], begin, end
            )  # fmt: skip
            if b > e:
                k = skip[k]
                continue
            t = item[k]
            k += 1
            if t < 0 or b == e:
                continue
            times, before = border_times(rows, t, local, b, e, work), -1.0
            for j in range(times - 1):
                b, e = work[TIMES + j], work[TIMES + j + 1]
                if b == e or not is_in(rows, t, local, 0.5 * (b + e), work):
                    continue
                if before == b:
                    spans_out[count - 1, 1] = e
                elif count < most:
                    items_out[count], spans_out[count, 0], spans_out[count, 1] = t, b, e
                    count += 1
                before = e
    for j in range(1, count):
        t, b, e = items_out[j], spans_out[j, 0], spans_out[j, 1]
        k = j
        while k > 0 and spans_out[k - 1, 0] > b:
            items_out[k], spans_out[k, 0], spans_out[k, 1] = items_out[k - 1], spans_out[k - 1, 0], spans_out[k - 1, 1]
            k -= 1
        items_out[k], spans_out[k, 0], spans_out[k, 1] = t, b, e
    # Gaps of roundoff between neighbours are none.
    stop = spans_out[0, 1] if count > 0 else 0.0
    for j in range(1, count):
        if stop < spans_out[j, 0] <= stop * (1.0 + TETRAHEDRON_JOIN):
            spans_out[j, 0] = stop
        stop = max(stop, spans_out[j, 1])
    return count
