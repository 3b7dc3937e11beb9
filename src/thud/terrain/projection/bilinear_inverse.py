"""Backward projection onto quadrilaterals, whose positions and directions are bilinear in (u, v) ([Yang] 5.2).

F(u, v, z) = A(u, v) + z B(u, v), with A = P - P' and B = N, is linear in each of its three variables; its zeros are looked for
in the box [0, 1]^2 x [lo, hi], cell by cell. Within a cell of centre c and half sizes h, with x, y, z in [-1, 1],

    J^-1 F = g + (x, y, z) + g_xy xy + g_xz xz + g_yz yz + g_xyz xyz,   J the Jacobian at c times h.

A cell has no zero where some |g| exceeds 1 + |g_xy| + ... (bounds of multilinear functions, met at the corners). Where the
products change by less than half as much as (x, y, z), the map is one to one and the iteration x <- -(g + products), held
within the cell, halves the way to the cell's zero each time if there is one. Any other cell is halved, along the variable that
the products depend on most. Long and infinite lengths are searched by their reciprocal z = 1 / length, with A = N, B = P - P'.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import UNIT_ROUNDOFF
from thud.geometry.exact_vec3 import add_scaled, cross, dot, norm2, sub
from thud.terrain.projection.alpha_triangle import AMBIGUOUS, INSIDE, OUTSIDE, UNCONVERGED, largest, scaled
from thud.terrain.projection.rows import SIGNATURE, load_point, load_quadrilateral
from thud.terrain.projection.tolerances import (
    BILINEAR_CELLS,
    BILINEAR_CLOSE,
    BILINEAR_EDGE,
    BILINEAR_FOLD,
    BILINEAR_HALVINGS,
    PROJECTION_COLLAPSE,
    PROJECTION_DISTINCT,
    PROJECTION_EDGE,
    PROJECTION_EDGE_MOST,
    PROJECTION_FAR,
    PROJECTION_NEAR,
    PROJECTION_POLISH,
    PROJECTION_RESIDUAL,
)


@exact_device
def bilinear_terms(a00, a10, a11, a01):
    """(a, a_u, a_v, a_uv) with a(u, v) = a + u a_u + v a_v + u v a_uv from the corners in cyclic order."""
    along_u, along_v = sub(a10, a00), sub(a01, a00)
    return a00, along_u, along_v, sub(sub(a11, a01), along_u)


@exact_device
def at(a, a_u, a_v, a_uv, u, v):
    """a + u a_u + v a_v + u v a_uv."""
    return add_scaled(add_scaled(add_scaled(a, a_u, u), a_v, v), a_uv, u * v)


@exact_device
def newton_step(u, v, z, a, a_u, a_v, a_uv, b, b_u, b_v, b_uv):
    """(du, dv, dz, |F|^2, normal F_u x F_v, gains) at (u, v, z); the step is 0 where the Jacobian is singular. The gains are
    what an error of 1 in F makes of u and v, and of z."""
    f = add_scaled(at(a, a_u, a_v, a_uv, u, v), at(b, b_u, b_v, b_uv, u, v), z)
    f_u = add_scaled(add_scaled(a_u, a_uv, v), add_scaled(b_u, b_uv, v), z)
    f_v = add_scaled(add_scaled(a_v, a_uv, u), add_scaled(b_v, b_uv, u), z)
    f_z = at(b, b_u, b_v, b_uv, u, v)
    n = cross(f_u, f_v)
    det = dot(n, f_z)
    across1, across2 = cross(f_v, f_z), cross(f_z, f_u)
    if det == 0.0:
        return 0.0, 0.0, 0.0, norm2(f), n, math.inf, math.inf
    gain_uv, gain_z = (largest(across1) + largest(across2)) / abs(det), largest(n) / abs(det)
    return -dot(across1, f) / det, -dot(across2, f) / det, -dot(n, f) / det, norm2(f), n, gain_uv, gain_z


@exact_device
def polished(u, v, z, a, a_u, a_v, a_uv, b, b_u, b_v, b_uv):
    """(found, u, v, z, gains): Newton's method while it gains; found if it reproduces the point and the cell has an area."""
    best, at_u, at_v, at_z, at_gain, at_gain_z, area = math.inf, u, v, z, 0.0, 0.0, 0.0
    for _ in range(12):
        du, dv, dz, rr, n, gain, gain_z = newton_step(u, v, z, a, a_u, a_v, a_uv, b, b_u, b_v, b_uv)
        if not rr < best:
            break
        best, at_u, at_v, at_z, at_gain, at_gain_z, area = rr, u, v, z, gain, gain_z, norm2(n)
        if rr <= (PROJECTION_POLISH * (1.0 + abs(z))) ** 2:
            break
        u, v, z = u + du, v + dv, z + dz
    z2 = at_z * at_z
    whole = (norm2(a_u) + norm2(a_uv) + z2 * (norm2(b_u) + norm2(b_uv))) * (
        norm2(a_v) + norm2(a_uv) + z2 * (norm2(b_v) + norm2(b_uv))
    )
    limit = PROJECTION_RESIDUAL * (1.0 + abs(at_z))
    found = best <= limit * limit and area > PROJECTION_COLLAPSE * PROJECTION_COLLAPSE * whole
    return found, at_u, at_v, at_z, at_gain, at_gain_z


@exact_device
def solved(f, f_x, f_y, f_z, det):
    """J^-1 f by Cramer's rule, J = [f_x f_y f_z] of determinant det."""
    return dot(f, cross(f_y, f_z)) / det, dot(f, cross(f_z, f_x)) / det, dot(f, cross(f_x, f_y)) / det


@exact_device
def row_sum(i, xy, xz, yz, xyz, twos, threes):
    """twos (|g_xy| + |g_xz| + |g_yz|) + threes |g_xyz| of component i."""
    return twos * (abs(xy[i]) + abs(xz[i]) + abs(yz[i])) + threes * abs(xyz[i])


@exact_device
def look(cu, cv, cz, hu, hv, hz, a, a_u, a_v, a_uv, b, b_u, b_v, b_uv):
    """(verdict, axis, u, v, z) of a cell: 0 no zero, 1 at most the one near (u, v, z), 2 to be halved along the axis."""
    # Taylor terms at the centre, times the half sizes.
    b0 = at(b, b_u, b_v, b_uv, cu, cv)
    f = add_scaled(at(a, a_u, a_v, a_uv, cu, cv), b0, cz)
    fbu, fbv = add_scaled(b_u, b_uv, cv), add_scaled(b_v, b_uv, cu)
    f_x = scaled(add_scaled(add_scaled(a_u, a_uv, cv), fbu, cz), hu)
    f_y = scaled(add_scaled(add_scaled(a_v, a_uv, cu), fbv, cz), hv)
    f_z = scaled(b0, hz)
    f_xy = scaled(add_scaled(a_uv, b_uv, cz), hu * hv)
    f_xz, f_yz, f_xyz = scaled(fbu, hu * hz), scaled(fbv, hv * hz), scaled(b_uv, hu * hv * hz)
    # The box of F over the cell.
    for i in range(3):
        bound = abs(f_x[i]) + abs(f_y[i]) + abs(f_z[i]) + row_sum(i, f_xy, f_xz, f_yz, f_xyz, 1.0, 1.0)
        if abs(f[i]) > bound * (1.0 + 64.0 * UNIT_ROUNDOFF) + 64.0 * UNIT_ROUNDOFF * (1.0 + abs(cz)):
            return 0, 0, cu, cv, cz
    det = dot(f_x, cross(f_y, f_z))
    if det * det <= BILINEAR_FOLD * norm2(f_x) * norm2(f_y) * norm2(f_z):
        # Near a fold: halve along the axis that F changes most by.
        by_x, by_y, by_z = norm2(f_x), norm2(f_y), norm2(f_z)
        return 2, (0 if by_x >= by_y and by_x >= by_z else (1 if by_y >= by_z else 2)), cu, cv, cz
    g = solved(f, f_x, f_y, f_z, det)
    xy, xz = solved(f_xy, f_x, f_y, f_z, det), solved(f_xz, f_x, f_y, f_z, det)
    yz, xyz = solved(f_yz, f_x, f_y, f_z, det), solved(f_xyz, f_x, f_y, f_z, det)
    steep, by_x, by_y, by_z = 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        if abs(g[i]) > 1.0 + BILINEAR_EDGE + row_sum(i, xy, xz, yz, xyz, 1.0, 1.0):
            return 0, 0, cu, cv, cz
        # Lipschitz constant of the products on the cell, and what each variable has to do with them.
        steep = max(steep, row_sum(i, xy, xz, yz, xyz, 2.0, 3.0))
        by_x += abs(xy[i]) + abs(xz[i])
        by_y += abs(xy[i]) + abs(yz[i])
        by_z += abs(xz[i]) + abs(yz[i])
    if not steep <= 0.5:
        return 2, (0 if by_x >= by_y and by_x >= by_z else (1 if by_y >= by_z else 2)), cu, cv, cz
    x, y, z = -g[0], -g[1], -g[2]
    way = 2.0
    for _ in range(10):
        # From a point of the cell on: the cell's zero, if there is one, is at most `way` off, and the next point at most half.
        sx, sy, sz = min(max(x, -1.0), 1.0), min(max(y, -1.0), 1.0), min(max(z, -1.0), 1.0)
        p, q, r, s = sx * sy, sx * sz, sy * sz, sx * sy * sz
        x = -(g[0] + xy[0] * p + xz[0] * q + yz[0] * r + xyz[0] * s)
        y = -(g[1] + xy[1] * p + xz[1] * q + yz[1] * r + xyz[1] * s)
        z = -(g[2] + xy[2] * p + xz[2] * q + yz[2] * r + xyz[2] * s)
        move = max(abs(x - sx), max(abs(y - sy), abs(z - sz)))
        if move > 1.5 * way + BILINEAR_EDGE:
            return 0, 0, cu, cv, cz
        if move < BILINEAR_CLOSE:
            break
        way *= 0.5
    return 1, 0, cu + hu * x, cv + hv * y, cz + hz * z


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, vec3, vec3, f8, f8, i8, f8, f8, f8, i8, f8, f8, f8")
def search_cells(
    a00, a10, a11, a01, b00, b10, b11, b01, z0, z1, reverse, low, high, noise, status, best_u, best_v, best_length
):
    """(status, u, v, length, cells, finished): continues from what was found before."""
    a, a_u, a_v, a_uv = bilinear_terms(a00, a10, a11, a01)
    b, b_u, b_v, b_uv = bilinear_terms(b00, b10, b11, b01)
    # A cell is a path of halvings, lower halves first: bit k of `path` says which half at depth k, two bits of `axes` of what.
    path, axes, depth, cells, finished = np.int64(0), np.int64(0), np.int64(0), np.int64(0), True
    while True:
        cells += 1
        # The root cell reaches a little over the edges, which are closed.
        cu, cv, hu, hv = 0.5, 0.5, 0.5 + PROJECTION_EDGE_MOST, 0.5 + PROJECTION_EDGE_MOST
        cz, hz = 0.5 * (z0 + z1), 0.5 * (z1 - z0)
        for k in range(depth):
            upper = 1.0 if (path >> k) & 1 else -1.0
            axis = (axes >> (2 * k)) & 3
            if axis == 0:
                hu *= 0.5
                cu += upper * hu
            elif axis == 1:
                hv *= 0.5
                cv += upper * hv
            else:
                hz *= 0.5
                cz += upper * hz
        verdict, axis, u, v, z = look(cu, cv, cz, hu, hv, hz, a, a_u, a_v, a_uv, b, b_u, b_v, b_uv)
        if verdict == 2 and depth < BILINEAR_HALVINGS:
            axes |= np.int64(axis) << (2 * depth)
            depth += 1
        else:
            if verdict != 0:
                found, u, v, z, gain, gain_z = polished(u, v, z, a, a_u, a_v, a_uv, b, b_u, b_v, b_uv)
                if reverse == 1:
                    found = found and abs(z) >= PROJECTION_FAR
                length = 1.0 / z if reverse == 1 and z != 0.0 else z
                margin = min(min(u, 1.0 - u), min(v, 1.0 - v))
                blur = 16.0 * noise * (1.0 + abs(z))
                across = min(PROJECTION_EDGE + blur * gain, PROJECTION_EDGE_MOST)
                along = min(PROJECTION_EDGE + blur * gain_z * (length * length if reverse == 1 else 1.0), PROJECTION_EDGE_MOST)
                if found and margin >= -across and low - along <= length <= high + along:
                    if status == OUTSIDE:
                        status, best_u, best_v, best_length = INSIDE, u, v, length
                    else:
                        # Cells that touch find the same zero twice.
                        apart = max(abs(u - best_u), abs(v - best_v))
                        if max(apart, abs(length - best_length) / (1.0 + abs(length))) > PROJECTION_DISTINCT:
                            status = AMBIGUOUS
                        if length > best_length:
                            best_u, best_v, best_length = u, v, length
            # The next cell: back over the upper halves, then to the upper half of the last lower one.
            while depth > 0 and (path >> (depth - 1)) & 1:
                depth -= 1
                path &= ~(np.int64(1) << depth)
                axes &= ~(np.int64(3) << (2 * depth))
            if depth == 0:
                break
            path |= np.int64(1) << (depth - 1)
        if cells >= BILINEAR_CELLS:
            finished = False
            break
    return status, best_u, best_v, best_length, cells, finished


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, vec3, vec3, vec3, f8, f8")
def bilinear_project_counted(p, p00, p10, p11, p01, n00, n10, n11, n01, lo, hi):
    """As `bilinear_project`, and the number of cells that were looked at."""
    a00, a10, a11, a01 = sub(p00, p), sub(p10, p), sub(p11, p), sub(p01, p)
    size = max(max(largest(a00), largest(a10)), max(largest(a11), largest(a01)))
    reach = max(max(largest(n00), largest(n10)), max(largest(n11), largest(n01)))
    if not (size > 0.0 and reach > 0.0):
        return OUTSIDE, math.inf, math.inf, math.inf, np.int64(0)
    noise = UNIT_ROUNDOFF * (1.0 + (largest(p) + largest(p00)) / size)
    k, m, unit = 1.0 / size, 1.0 / reach, size / reach
    a00, a10, a11, a01 = scaled(a00, k), scaled(a10, k), scaled(a11, k), scaled(a01, k)
    n00, n10, n11, n01 = scaled(n00, m), scaled(n10, m), scaled(n11, m), scaled(n01, m)
    low, high = lo / unit, hi / unit
    status, u, v, length = np.int64(OUTSIDE), math.inf, math.inf, math.inf
    cells, finished = np.int64(0), True
    z0, z1 = max(low - PROJECTION_EDGE_MOST, -PROJECTION_NEAR), min(high + PROJECTION_EDGE_MOST, PROJECTION_NEAR)
    if z0 <= z1:
        status, u, v, length, cells, finished = search_cells(
            a00, a10, a11, a01, n00, n10, n11, n01, z0, z1, np.int64(0), low, high, noise, status, u, v, length
        )
    if low < -PROJECTION_NEAR or high > PROJECTION_NEAR:
        z1 = 1.0 / (PROJECTION_NEAR * (1.0 - PROJECTION_EDGE_MOST))
        status, u, v, length, more, done = search_cells(
            n00, n10, n11, n01, a00, a10, a11, a01, -z1, z1, np.int64(1), low, high, noise, status, u, v, length
        )
        cells += more
        finished = finished and done
    if not finished and status != AMBIGUOUS:
        status = np.int64(UNCONVERGED)
    return status, u, v, length * unit, cells


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, vec3, vec3, vec3, f8, f8")
def bilinear_project(p, p00, p10, p11, p01, n00, n10, n11, n01, lo, hi):
    """(status, u, v, length) of the point p on the quadrilateral of corners (0,0), (1,0), (1,1), (0,1), lengths in [lo, hi].

    OUTSIDE: infinity. UNCONVERGED: too many cells, as where solutions form a curve; (u, v, length) is one of them or infinity.
    """
    status, u, v, length, _cells = bilinear_project_counted(p, p00, p10, p11, p01, n00, n10, n11, n01, lo, hi)
    return status, u, v, length


@exact_kernel(SIGNATURE)
def bilinear_rows(
    start, stop, points, positions, directions, ranges, starts, u_out, v_out, length_out, iterations_out, status_out
):
    """Each row by `bilinear_project_counted`; `starts` is not read."""
    for i in range(start, stop):
        p, lo, hi = load_point(points, ranges, i)
        p00, p10, p11, p01 = load_quadrilateral(positions, i)
        n00, n10, n11, n01 = load_quadrilateral(directions, i)
        status, u, v, length, cells = bilinear_project_counted(p, p00, p10, p11, p01, n00, n10, n11, n01, lo, hi)
        u_out[i], v_out[i], length_out[i] = u, v, length
        iterations_out[i], status_out[i] = cells, np.uint8(status)
