"""Implicit blobs along a path: 5.2.1.

    f(p) = sum_i s_i g_i^3 - threshold,   g_i = max(0, 1 - |p - c_i|^2 / R_i^2)    (Wyvill et al. 1986)

Along a path |p - c_i|^2 is a quartic in time. Over a cell, an interval of time of middle m and half width w, its Taylor
polynomial about m bounds it, so g_i, and so h = f(p) and h'; and h also lies in h(m) + [-w, w] h'. All bounds are widened by
those of their roundoff (`enclose_blobs`). Segments (`segment_field.py`) are rows with more columns. Outside of all balls h is
-threshold; the tree over their boxes tells when the path is near which.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import UNIT_ROUNDOFF
from thud.geometry.predicates import two_diff, two_product
from thud.particles.crossings.double_double import dd_dot_dd, dd_product, dd_scaled, dd_shifted, dd_sum
from thud.particles.crossings.drag_cell import path_cell
from thud.particles.crossings.drag_time import exact_phi_psi
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
from thud.particles.crossings.segment_field import segment_bounds, segment_field
from thud.particles.crossings.tolerances import BLOB_EXACT, SEGMENT_EXACT

_I = np.int64

# Columns of a ball: centre, 1 / R^2 and the rest of it, strength.
CENTER, INVERSE2, INVERSE2_REST, STRENGTH = 0, 3, 4, 5
BALL = 6


@exact_kernel(inner="f8[:,::1], i8[::1], f8[:,::1], i8, f8, f8[::1], f8, f8, f8[::1]")
def enclose_blobs(balls, items, spans, count, threshold, local, begin, end, out):
    """Bounds of h, of h' and of h in the middle, for times from begin to end; outward rounded."""
    m, w = 0.5 * (begin + end), 0.5 * (end - begin)
    # Half a roundoff may be missing at either end.
    w += 2.0 * UNIT_ROUNDOFF * abs(m)
    (gx, gy, gz), v0, (hx, hy, hz), off, off_speed, bend = path_cell(local, m, w)
    pull = 2.0 * (abs(hx) + abs(hy) + abs(hz)) * (1.0 + bend)
    speed = abs(v0[0]) + abs(v0[1]) + abs(v0[2])
    low, high, steep_low, steep_high, mid_low, mid_high = -threshold, -threshold, 0.0, 0.0, -threshold, -threshold
    weight, steep_weight = abs(threshold), 0.0
    for j in range(count):
        if spans[j, 0] > end or spans[j, 1] < begin:
            continue
        k = items[j]
        qx, qy, qz = local[X] - balls[k, 0] + gx, local[X + 1] - balls[k, 1] + gy, local[X + 2] - balls[k, 2] + gz
        s, r2 = balls[k, STRENGTH], balls[k, INVERSE2]
        if balls.shape[1] > BALL:
            swift = speed + 2.0 * w * pull
            value, err, slope, err_slope, change = segment_bounds(
                balls, k, qx, qy, qz, v0, w, swift, pull, off, off_speed
            )  # fmt: skip
            most = err + w * (abs(slope) + err_slope + 0.5 * change)
            f_low, f_high = max(0.0, value - most), min(1.0 + err, value + most)
            low, high = low + min(s * f_low, s * f_high), high + max(s * f_low, s * f_high)
            mid_low, mid_high = mid_low + s * value - abs(s) * err, mid_high + s * value + abs(s) * err
            turn = abs(s) * (err_slope + change)
            steep_low, steep_high = steep_low + s * slope - turn, steep_high + s * slope + turn
            weight, steep_weight = weight + abs(s) * (1.0 + err), steep_weight + abs(s * slope) + turn
            continue
        # |q(m + t)|^2 = k0 + k1 t + k2 t^2 + k3 t^3 + k4 t^4.
        k0 = qx * qx + qy * qy + qz * qz
        k1 = 2.0 * (qx * v0[0] + qy * v0[1] + qz * v0[2])
        k2 = v0[0] * v0[0] + v0[1] * v0[1] + v0[2] * v0[2] + 2.0 * (qx * hx + qy * hy + qz * hz)
        k3 = 2.0 * (v0[0] * hx + v0[1] * hy + v0[2] * hz)
        k4 = hx * hx + hy * hy + hz * hz
        # Roundoff of the square and of its slope: from that of q and q', and of the products.
        far = abs(qx) + abs(qy) + abs(qz) + w * (speed + w * pull)
        swift = speed + 2.0 * w * pull
        err = (2.0 * far * off + 24.0 * UNIT_ROUNDOFF * far * far) * r2 + 8.0 * UNIT_ROUNDOFF
        err_slope = (2.0 * (off * swift + far * off_speed) + 24.0 * UNIT_ROUNDOFF * far * swift) * r2
        err_mid = err + 4.0 * UNIT_ROUNDOFF
        if local[DRAG] != 0.0:
            # The acceleration is known up to a factor, and the place on a long cell up to more than roundoff.
            qh, more = abs(2.0 * (qx * hx + qy * hy + qz * hz)), bend * (2.0 + bend) * k4
            err += (3.0 * off * off + w * w * (bend * (qh + w * abs(k3)) + w * w * more)) * r2
            loose = w * (bend * (2.0 * qh + 3.0 * w * abs(k3)) + 4.0 * w * w * more)
            err_slope += (6.0 * off * off_speed + loose) * r2
        curve = k2 - abs(k3) * w
        bent = k2 + abs(k3) * w + k4 * w * w
        if curve > 0.0 and abs(k1) < 2.0 * curve * w:
            least = k0 - k1 * k1 / (4.0 * curve)
        else:
            least = k0 - abs(k1) * w + curve * w * w
        most = k0 + abs(k1) * w + max(0.0, bent) * w * w
        g_low, g_high = max(0.0, 1.0 - most * r2 - err), max(0.0, 1.0 - max(0.0, least) * r2 + err)
        if g_high == 0.0:
            continue
        cube_low, cube_high = g_low * g_low * g_low, g_high * g_high * g_high
        low += min(s * cube_low, s * cube_high)
        high += max(s * cube_low, s * cube_high)
        weight += abs(s) * cube_high
        g_mid = 1.0 - k0 * r2
        g0, g1 = max(0.0, g_mid - err_mid), max(0.0, g_mid + err_mid)
        mid_low += min(s * g0 * g0 * g0, s * g1 * g1 * g1)
        mid_high += max(s * g0 * g0 * g0, s * g1 * g1 * g1)
        # g' = -(|q|^2)' / R^2.
        turn = w * max(abs(2.0 * k2 - 3.0 * abs(k3) * w), abs(2.0 * k2 + 3.0 * abs(k3) * w + 4.0 * k4 * w * w))
        p_low, p_high = (-k1 - turn) * r2 - err_slope, (-k1 + turn) * r2 + err_slope
        square_low, square_high = g_low * g_low, g_high * g_high
        d_low = 3.0 * (square_high if p_low < 0.0 else square_low) * p_low
        d_high = 3.0 * (square_high if p_high > 0.0 else square_low) * p_high
        steep_low += min(s * d_low, s * d_high)
        steep_high += max(s * d_low, s * d_high)
        steep_weight += abs(s) * max(abs(d_low), abs(d_high))
    slack = (8.0 + 2.0 * count) * UNIT_ROUNDOFF
    low, high = low - slack * weight, high + slack * weight
    mid_low, mid_high = mid_low - slack * weight, mid_high + slack * weight
    steep_low, steep_high = steep_low - slack * steep_weight, steep_high + slack * steep_weight
    steepest = w * max(abs(steep_low), abs(steep_high)) * (1.0 + 4.0 * UNIT_ROUNDOFF)
    low, high = max(low, mid_low - steepest), min(high, mid_high + steepest)
    out[LOW], out[HIGH], out[STEEP_LOW], out[STEEP_HIGH] = low, high, steep_low, steep_high
    out[MIDDLE_LOW], out[MIDDLE_HIGH] = mid_low, mid_high
    out[NEAR], out[TOUCH] = 0.0, (BLOB_EXACT if balls.shape[1] == BALL else SEGMENT_EXACT) * (1.0 + abs(threshold))


@exact_device
def _from_center(local, balls, k, t):
    """p(t) - c in floats."""
    if local[DRAG] != 0.0:
        p = path_point(local, t)
        return p[0] - balls[k, 0], p[1] - balls[k, 1], p[2] - balls[k, 2]
    return (
        local[X] - balls[k, 0] + t * (local[V] + 0.5 * t * local[A]),
        local[X + 1] - balls[k, 1] + t * (local[V + 1] + 0.5 * t * local[A + 1]),
        local[X + 2] - balls[k, 2] + t * (local[V + 2] + 0.5 * t * local[A + 2]),
    )


@exact_device
def _place(local, balls, k, axis, t, t2):
    """A coordinate of p(t) - c as a double-double; t2 = t^2, with drag 2 psi(t)."""
    start = dd_sum(two_diff(local[X + axis], balls[k, CENTER + axis]), two_product(t, local[V + axis]))
    return dd_sum(start, dd_scaled(t2, 0.5 * local[A + axis]))


@exact_kernel(inner="f8[:,::1], i8[::1], i8, f8, f8[::1], f8")
def blob_value(balls, items, count, threshold, local, t):
    """h(t), of balls from double-doubles."""
    h = (-threshold, 0.0)
    t2 = two_product(t, t) if local[DRAG] == 0.0 else dd_shifted(exact_phi_psi(local[DRAG], t)[1], 2.0)
    for j in range(count):
        k = items[j]
        if balls.shape[1] > BALL:
            x, y, z = _from_center(local, balls, k, t)
            h = dd_sum(h, (balls[k, STRENGTH] * segment_field(balls, k, x, y, z)[0], 0.0))
            continue
        q = (_place(local, balls, k, 0, t, t2), _place(local, balls, k, 1, t, t2), _place(local, balls, k, 2, t, t2))
        r2 = (balls[k, INVERSE2], balls[k, INVERSE2_REST])
        g = dd_sum((1.0, 0.0), dd_shifted(dd_product(dd_dot_dd(q, q), r2), -1.0))
        if g[0] > 0.0:
            h = dd_sum(h, dd_scaled(dd_product(dd_product(g, g), g), balls[k, STRENGTH]))
    return h[0]


@exact_kernel(inner="f8[:,::1], i8[::1], i8, f8[::1], f8")
def blob_normal(balls, items, count, local, t):
    """(-grad f, the ball that adds most): out of the blobs where strengths are positive; not of unit length."""
    nx, ny, nz, most, strongest = 0.0, 0.0, 0.0, -1.0, _I(-1)
    for j in range(count):
        k = items[j]
        qx, qy, qz = _from_center(local, balls, k, t)
        if balls.shape[1] > BALL:
            s = balls[k, STRENGTH]
            value, gx, gy, gz = segment_field(balls, k, qx, qy, qz)
            nx, ny, nz = nx - s * gx, ny - s * gy, nz - s * gz
            adds = abs(s) * value
            if adds > most or (adds == most and k < strongest):
                most, strongest = adds, k
            continue
        g = max(0.0, 1.0 - (qx * qx + qy * qy + qz * qz) * balls[k, INVERSE2])
        scale = 6.0 * balls[k, STRENGTH] * g * g * balls[k, INVERSE2]
        nx, ny, nz = nx + scale * qx, ny + scale * qy, nz + scale * qz
        adds = abs(balls[k, STRENGTH]) * g * g * g
        if adds > most or (adds == most and k < strongest):
            most, strongest = adds, k
    return (nx, ny, nz), strongest


@exact_kernel(inner="f8[:,::1], f8[:,::1], i8[::1], i8[::1], f8[::1], i8, i8[::1], f8[:,::1], i8[::1]")
def near_balls(balls, boxes, skip, item, local, pieces, items_out, spans_out, slots):
    """How many balls the path comes near, which, and from when to when, in the order of these times."""
    count = _I(0)
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
            ball = item[k]
            if ball >= 0:
                at = slots[ball]
                if at < 0:
                    at, slots[ball] = count, count
                    items_out[at], spans_out[at, 0], spans_out[at, 1] = ball, b, e
                    count += 1
                else:
                    spans_out[at, 1] = e
            k += 1
    for j in range(count):
        slots[items_out[j]] = -1
    for j in range(1, count):
        ball, b, e = items_out[j], spans_out[j, 0], spans_out[j, 1]
        k = j
        while k > 0 and spans_out[k - 1, 0] > b:
            items_out[k], spans_out[k, 0], spans_out[k, 1] = items_out[k - 1], spans_out[k - 1, 0], spans_out[k - 1, 1]
            k -= 1
        items_out[k], spans_out[k, 0], spans_out[k, 1] = ball, b, e
    return count
