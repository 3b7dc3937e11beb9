"""A path and a bilinear patch, by interval root finding in (a, b, tau).

With the patch p00 + a e + b f + a b g and the path's time counted from the middle of a cell, a box of (a, b, tau), the
difference of the two is a polynomial that its own Taylor expansion gives exactly:

    F(m + d) = F(m) + J d + g da db - (acceleration / 2) dtau^2

So, for any matrix Y, roots obey d = -Y F(m) + (I - Y J) d - Y g da db + Y (acceleration / 2) dtau^2 (Krawczyk 1969); with Y
near the inverse of J the right side is a small box. What of the cell is outside of it holds no root; if it is well inside the
cell, there is one, and J is regular throughout, so that the path crosses the patch. Cells that do not shrink are halved. All
boxes are widened by a bound of the roundoff. With drag the last term is acceleration psi(dtau) (`drag_time.py`), bounded in
the same way over short cells.

- A cell smaller than PATCH_RESOLUTION, or in which F is nothing but roundoff, is decided by Newton's method, which must find a
  simple root there: a path that touches the patch or lies in it does not cross it.
- Borders are closed and wider than they are by PATH_PATCH_EDGE: no path slips between two patches.

Roots are then found to 32 digits of all that goes in, (a, b, tau) as double-doubles.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.geometry.exact_vec3 import cross, dot, sub
from thud.geometry.predicates import two_diff
from thud.particles.crossings.double_double import dd_product, dd_shifted, dd_sum
from thud.particles.crossings.drag_time import cell_bend, exact_phi_psi, phi_psi
from thud.particles.crossings.path_box import CAME, DRAG, REST, SIZE, A, V, X, path_velocity, unit3
from thud.particles.crossings.tolerances import (
    DRAG_SERIES,
    PATCH_CELLS,
    PATCH_GAIN,
    PATCH_NEAR,
    PATCH_NOISE,
    PATCH_RESOLUTION,
    PATCH_STEP,
    PATCH_TIME,
    PATCH_TOUCH,
    PATH_PATCH_EDGE,
    PATH_ROUNDOFF,
    START_SAME,
    START_SLOPE,
)
from thud.particles.tolerances import START_ROUNDOFF

_I = np.int64

# Work space of `patch_time`: cells that wait, their middles and half widths.
CELLS = 96

#: Newton's method in floats, then with 32 digits: most steps (counts), and the last of them, as a part of the values.
_STEPS, _EXACT_STEPS, _EXACT_END = 12, 8, 1e-20


@exact_device
def _corner(corners, k):
    return corners[k, 0], corners[k, 1], corners[k, 2]


@exact_device
def _edges(corners):
    """e, f, g of the patch."""
    p00, p10, p01, p11 = _corner(corners, 0), _corner(corners, 1), _corner(corners, 2), _corner(corners, 3)
    e, f = sub(p10, p00), sub(p01, p00)
    return e, f, sub(sub(p11, p01), e)


@exact_device
def _sum3(p, q, r, s, t, u):
    """p q + r s + t u, vectors and factors."""
    return p[0] * q + r[0] * s + t[0] * u, p[1] * q + r[1] * s + t[1] * u, p[2] * q + r[2] * s + t[2] * u


@exact_device
def _abs3(p):
    return abs(p[0]), abs(p[1]), abs(p[2])


@exact_device
def _place_exactly(local, corners, axis, t):
    """A coordinate of p(t) - p00, t a double-double; a double-double."""
    x = dd_sum((local[X + axis], local[REST + X + axis]), (-corners[0, axis], 0.0))
    v, a = (local[V + axis], local[REST + V + axis]), (local[A + axis], local[REST + A + axis])
    if local[DRAG] != 0.0:
        slow, twice = exact_phi_psi(local[DRAG], t[0])
        twice = dd_sum(twice, (slow[0] * t[1], 0.0))
        return dd_sum(x, dd_sum(dd_product(t, v), dd_product(twice, a)))
    return dd_sum(x, dd_product(t, dd_sum(v, dd_product(t, dd_shifted(a, 0.5)))))


@exact_kernel(inner="f8[:,::1], f8[::1], f8")
def path_from_corner(corners, local, t):
    """p(t) - p00 in floats, rounded once."""
    at = (t, 0.0)
    return (
        _place_exactly(local, corners, 0, at)[0],
        _place_exactly(local, corners, 1, at)[0],
        _place_exactly(local, corners, 2, at)[0],
    )


@exact_device
def _solve(ja, jb, jt, r):
    """(regular, da, db, dt) with ja da + jb db + jt dt = -r."""
    n = cross(ja, jb)
    whole = dot(n, jt)
    if whole == 0.0:
        return False, 0.0, 0.0, 0.0
    return True, -dot(cross(jb, jt), r) / whole, -dot(cross(jt, ja), r) / whole, -dot(n, r) / whole


@exact_device
def _time_terms(rate, s):
    """(s, s^2 / 2), with drag (phi(s), psi(s))."""
    return (s, 0.5 * s * s) if rate == 0.0 else phi_psi(rate, s)


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, f8, f8, f8, f8")
def patch_newton(e, f, g, y, v, acc, rate, a, b, s):
    """(converged, a, b, s): a e + b f + a b g = y + s v + s^2 acc / 2 by Newton's method in floats."""
    for _ in range(_STEPS):
        slow, twice = _time_terms(rate, s)
        p = _sum3(e, a, f, b, g, a * b)
        q = _sum3(y, 1.0, v, s, acc, twice)
        jt = (-v[0] - slow * acc[0], -v[1] - slow * acc[1], -v[2] - slow * acc[2])
        regular, da, db, ds = _solve(_sum3(e, 1.0, g, b, g, 0.0), _sum3(f, 1.0, g, a, g, 0.0), jt, sub(p, q))
        if not regular:
            return False, a, b, s
        a, b, s = a + da, b + db, s + ds
        if not abs(a) + abs(b) < 16.0:
            return False, a, b, s
        if abs(da) + abs(db) <= PATCH_STEP:
            return True, a, b, s
    return False, a, b, s


@exact_device
def _patch_exactly(corners, axis, a, b):
    """A coordinate of a e + b f + a b g from double-doubles a, b."""
    e = two_diff(corners[1, axis], corners[0, axis])
    f = two_diff(corners[2, axis], corners[0, axis])
    g = dd_sum(two_diff(corners[3, axis], corners[2, axis]), dd_shifted(e, -1.0))
    return dd_sum(dd_product(a, dd_sum(e, dd_product(b, g))), dd_product(b, f))


@exact_kernel(inner="f8[:,::1], f8[::1], f8, f8, f8")
def patch_polish(corners, local, a, b, tau):
    """(converged, a, b, tau): the simple root near the one given, by Newton's method with values of 32 digits.

    At a double root, where the path touches the patch, the steps only halve.
    """
    e, f, g = _edges(corners)
    at, bt, tt = (a, 0.0), (b, 0.0), (tau, 0.0)
    da, db, dt, before, slow = 0.0, 0.0, 0.0, math.inf, 0
    for _ in range(_EXACT_STEPS):
        r = (
            dd_sum(_patch_exactly(corners, 0, at, bt), dd_shifted(_place_exactly(local, corners, 0, tt), -1.0))[0],
            dd_sum(_patch_exactly(corners, 1, at, bt), dd_shifted(_place_exactly(local, corners, 1, tt), -1.0))[0],
            dd_sum(_patch_exactly(corners, 2, at, bt), dd_shifted(_place_exactly(local, corners, 2, tt), -1.0))[0],
        )
        w = path_velocity(local, tt[0])
        jt = (-w[0], -w[1], -w[2])
        regular, da, db, dt = _solve(_sum3(e, 1.0, g, bt[0], g, 0.0), _sum3(f, 1.0, g, at[0], g, 0.0), jt, r)
        if not regular:
            return False, at[0], bt[0], tt[0]
        at, bt, tt = dd_sum(at, (da, 0.0)), dd_sum(bt, (db, 0.0)), dd_sum(tt, (dt, 0.0))
        if abs(dt) > 0.1 * before:
            slow += 1
        before = abs(dt)
        if abs(da) + abs(db) <= _EXACT_END and abs(dt) <= _EXACT_END * abs(tt[0]):
            break
    return slow < 2 and abs(da) + abs(db) <= PATH_PATCH_EDGE, at[0], bt[0], tt[0]


@exact_kernel(inner="f8[:,::1], f8[::1], i8, i8, f8, f8, f8")
def settle_start(corners, local, same, last, a, b, tau):
    """The time of a crossing: tau; 0 where the particle starts on the patch and would pass through; inf where it has just been
    there."""
    e, f, g = _edges(corners)
    n = unit3(cross(_sum3(e, 1.0, g, b, g, 0.0), _sum3(f, 1.0, g, a, g, 0.0)))
    v, came = (local[V], local[V + 1], local[V + 2]), (local[CAME], local[CAME + 1], local[CAME + 2])
    goes = dot(n, v)
    near = (START_SAME if same else START_ROUNDOFF) * local[SIZE]
    above = dot(n, sub(path_from_corner(corners, local, 0.0), _sum3(e, a, f, b, g, a * b)))
    # The root of the start is where its distance is used up; a hop, however low, comes down later.
    if abs(above) > near or abs(tau * goes) > 2.0 * abs(above) + PATH_ROUNDOFF * local[SIZE]:
        return tau if tau >= 0.0 else math.inf
    comes = dot(n, came)
    fast, speed = math.sqrt(dot(came, came)), math.sqrt(dot(v, v))
    through = abs(comes) > START_SLOPE * fast and abs(goes) > START_SLOPE * speed and (comes > 0.0) == (goes > 0.0)
    return 0.0 if through and not last else math.inf


@exact_device
def _put(cells, k, a, b, s, wa, wb, ws):
    cells[k, 0], cells[k, 1], cells[k, 2], cells[k, 3], cells[k, 4], cells[k, 5] = a, b, s, wa, wb, ws


@exact_device
def _cut(middle, half, low, high):
    """(middle, half width) of an interval cut down to middle + [low, high]; negative: nothing is left."""
    low, high = max(low, -half), min(high, half)
    return middle + 0.5 * (low + high), 0.5 * (high - low)


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, f8, vec3, f8, f8[:,::1], i8")
def shrink_cell(e, f, g, y, v, acc, rate, size, flat, cells, k):
    """What becomes of cell k: 0 it holds no crossing, 1 just one, 2 it has shrunk, 3 it has not, 4 it is nothing but roundoff.
    Writes it shrunk.

    size: magnitudes added up along each axis; flat: below this part of the vectors' lengths J is not inverted.
    """
    a, b, s, wa, wb, ws = cells[k, 0], cells[k, 1], cells[k, 2], cells[k, 3], cells[k, 4], cells[k, 5]
    ja, jb = _sum3(e, 1.0, g, b, g, 0.0), _sum3(f, 1.0, g, a, g, 0.0)
    slow, twice = _time_terms(rate, s)
    jt = (-v[0] - slow * acc[0], -v[1] - slow * acc[1], -v[2] - slow * acc[2])
    r = sub(_sum3(e, a, f, b, g, a * b), _sum3(y, 1.0, v, s, acc, twice))
    noise = (PATCH_NOISE * size[0], PATCH_NOISE * size[1], PATCH_NOISE * size[2])
    long = rate * ws > DRAG_SERIES
    if long:
        # A line with the last velocity, and what is left of the exponential (`drag_cell.py`): such a cell is only cut down.
        early, late, one = math.exp(-rate * (s - ws)), math.exp(-rate * (s + ws)), 1.0 / rate
        spread, back = 0.5 * one * one * (early - late), one * one * (1.0 - 0.5 * (early + late))
        u = (v[0] + one * acc[0], v[1] + one * acc[1], v[2] + one * acc[2])
        jt = (-u[0], -u[1], -u[2])
        r = sub(_sum3(e, a, f, b, g, a * b), _sum3(y, 1.0, u, s, acc, -back))
        noise = (noise[0] + spread * abs(acc[0]), noise[1] + spread * abs(acc[1]), noise[2] + spread * abs(acc[2]))
        acc = (0.0, 0.0, 0.0)
    elif rate != 0.0:
        # No larger in the whole cell.
        most = math.exp(-rate * s) * (1.0 + cell_bend(rate, ws))
        acc = (most * acc[0], most * acc[1], most * acc[2])
    # Along the axes, then along the normal: F keeps away from 0.
    for i in range(3):
        reach = abs(ja[i]) * wa + abs(jb[i]) * wb + abs(g[i]) * wa * wb + ws * (abs(jt[i]) + 0.5 * ws * abs(acc[i]))
        if abs(r[i]) > reach + noise[i]:
            return 0
    n = cross(ja, jb)
    whole = dot(n, jt)
    off = dot(_abs3(n), noise)
    reach = abs(dot(n, g)) * wa * wb + ws * (abs(whole) + 0.5 * ws * abs(dot(n, acc)))
    if abs(dot(n, r)) > reach + off:
        return 0
    if abs(dot(n, r)) + reach <= off:
        return 3 if long else 4
    if not abs(whole) > flat * math.sqrt(dot(n, n) * dot(jt, jt)):
        return 3
    ya, yb = cross(jb, jt), cross(jt, ja)
    low_a, high_a, off_a = _image(ya, whole, r, g, acc, noise, wa * wb, ws)
    low_b, high_b, off_b = _image(yb, whole, r, g, acc, noise, wa * wb, ws)
    low_s, high_s, off_s = _image(n, whole, r, g, acc, noise, wa * wb, ws)
    if low_a > wa or high_a < -wa or low_b > wb or high_b < -wb or low_s > ws or high_s < -ws:
        return 0
    if not long and low_a > -wa and high_a < wa and low_b > -wb and high_b < wb and low_s > -ws and high_s < ws:
        # A contraction, if its second-order part is below half the cell.
        if (
            2.0 * _bend(ya, whole, g, acc, wa * wb, ws) < wa
            and 2.0 * _bend(yb, whole, g, acc, wa * wb, ws) < wb
            and 2.0 * _bend(n, whole, g, acc, wa * wb, ws) < ws
        ):
            return 1
    a, ha = _cut(a, wa, low_a, high_a)
    b, hb = _cut(b, wb, low_b, high_b)
    s, hs = _cut(s, ws, low_s, high_s)
    _put(cells, k, a, b, s, ha, hb, hs)
    if not long and ha <= 2.0 * off_a and hb <= 2.0 * off_b and hs <= 2.0 * off_s:
        return 4
    return 2 if ha < PATCH_GAIN * wa or hb < PATCH_GAIN * wb or hs < PATCH_GAIN * ws else 3


@exact_device
def _image(row, whole, r, g, acc, noise, area, ws):
    """Bounds of one coordinate of the right side of Krawczyk's equation and their roundoff; row / whole is a row of Y."""
    c = -dot(row, r) / whole
    twist = abs(dot(row, g) / whole) * area
    curve = 0.5 * dot(row, acc) / whole * ws * ws
    slack = dot(_abs3(row), noise) / abs(whole)
    return c - twist + min(0.0, curve) - slack, c + twist + max(0.0, curve) + slack, slack


@exact_device
def _bend(row, whole, g, acc, area, ws):
    """Half width of the second-order part of one coordinate."""
    return (abs(dot(row, g)) * area + abs(dot(row, acc)) * ws * ws) / abs(whole)


@exact_kernel(inner="f8[:,::1], f8[::1], f8, f8, f8, i8, i8, f8[:,::1]")
def patch_time(corners, local, begin, end, best, same, last, cells):
    """(tau, a, b, status): the first crossing of a patch from begin to end, up to `best`; inf: none. status 1: the search came
    to its limit, none is before tau.

    same: the particle has just left this surface; last: this very patch.
    """
    none = (math.inf, 0.0, 0.0, _I(0))
    e, f, g = _edges(corners)
    end = min(end, best)
    if begin == 0.0:
        # A start on the patch may be a little beyond it.
        v = path_velocity(local, 0.0)
        speed = math.sqrt(dot(v, v))
        if speed > 0.0:
            begin = -4.0 * START_ROUNDOFF * local[SIZE] / speed
    rate = local[DRAG]
    if rate != 0.0:
        begin = max(begin, -DRAG_SERIES / rate)
    y, v, acc = path_from_corner(corners, local, begin), path_velocity(local, begin), (local[A], local[A + 1], local[A + 2])
    if rate != 0.0:
        less = math.exp(-rate * begin)
        acc = (less * acc[0], less * acc[1], less * acc[2])
    span = end - begin
    ae, af, ag = _abs3(e), _abs3(f), _abs3(g)
    size = (
        2.0 * (ae[0] + af[0] + ag[0]) + abs(y[0]) + span * (abs(v[0]) + span * abs(acc[0])),
        2.0 * (ae[1] + af[1] + ag[1]) + abs(y[1]) + span * (abs(v[1]) + span * abs(acc[1])),
        2.0 * (ae[2] + af[2] + ag[2]) + abs(y[2]) + span * (abs(v[2]) + span * abs(acc[2])),
    )
    if rate != 0.0:
        _slow, twice = phi_psi(rate, span)
        size = (
            2.0 * (ae[0] + af[0] + ag[0]) + abs(y[0]) + span * abs(v[0]) + 2.0 * twice * abs(acc[0]),
            2.0 * (ae[1] + af[1] + ag[1]) + abs(y[1]) + span * abs(v[1]) + 2.0 * twice * abs(acc[1]),
            2.0 * (ae[2] + af[2] + ag[2]) + abs(y[2]) + span * abs(v[2]) + 2.0 * twice * abs(acc[2]),
        )
    wide_a, wide_b = math.sqrt(dot(e, e)) + math.sqrt(dot(g, g)), math.sqrt(dot(f, f)) + math.sqrt(dot(g, g))
    if not (wide_a > 0.0 and wide_b > 0.0 and span >= 0.0):
        return none
    fast = math.sqrt(dot(v, v)) + (span if rate == 0.0 else phi_psi(rate, span)[0]) * math.sqrt(dot(acc, acc))
    least = PATCH_RESOLUTION * (wide_a + wide_b + fast * span)
    half = 0.5 + PATH_PATCH_EDGE
    slack = PATCH_TIME * end
    _put(cells, 0, 0.5, 0.5, 0.5 * span, half, half, 0.5 * span + slack)
    found, found_a, found_b = math.inf, 0.0, 0.0
    depth, left = 1, PATCH_CELLS
    while depth > 0:
        depth -= 1
        if begin + cells[depth, 2] - cells[depth, 5] > min(best, found):
            continue
        left -= 1
        if left < 0 or depth + 2 >= CELLS:
            lower = math.inf
            for k in range(depth + 1):
                lower = min(lower, begin + cells[k, 2] - cells[k, 5])
            lower = max(lower, 0.0)
            if lower < found:
                return lower, 0.5, 0.5, _I(1)
            break
        outcome = shrink_cell(e, f, g, y, v, acc, rate, size, PATCH_TOUCH, cells, depth)
        if outcome == 0:
            continue
        if outcome == 2:
            depth += 1
            continue
        a, b, s, wa, wb, ws = (
            cells[depth, 0], cells[depth, 1], cells[depth, 2], cells[depth, 3], cells[depth, 4], cells[depth, 5]
        )  # fmt: skip
        small = wide_a * wa + wide_b * wb + fast * ws <= least
        if outcome == 1 or outcome == 4 or small:
            done, ra, rb, rs = patch_newton(e, f, g, y, v, acc, rate, a, b, s)
            if done:
                done, ra, rb, tau = patch_polish(corners, local, ra, rb, begin + rs)
                near = abs(ra - a) <= 2.0 * wa + PATCH_NEAR and abs(rb - b) <= 2.0 * wb + PATCH_NEAR
                within = near and fast * abs(tau - begin - s) <= 2.0 * fast * ws + PATCH_NEAR * (wide_a + wide_b)
                if done and (outcome == 1 or within):
                    if abs(ra - 0.5) <= half and abs(rb - 0.5) <= half:
                        tau = settle_start(corners, local, same, last, ra, rb, tau)
                        if tau <= best and tau < found:
                            found, found_a, found_b = tau, ra, rb
                    continue
            if outcome == 4 or small:
                continue
        # Halve along what is longest in space.
        if (fast * ws >= wide_a * wa and fast * ws >= wide_b * wb) or rate * ws > DRAG_SERIES:
            ws *= 0.5
            _put(cells, depth, a, b, s + ws, wa, wb, ws)
            _put(cells, depth + 1, a, b, s - ws, wa, wb, ws)
        elif wide_a * wa >= wide_b * wb:
            wa *= 0.5
            _put(cells, depth, a + wa, b, s, wa, wb, ws)
            _put(cells, depth + 1, a - wa, b, s, wa, wb, ws)
        else:
            wb *= 0.5
            _put(cells, depth, a, b + wb, s, wa, wb, ws)
            _put(cells, depth + 1, a, b - wb, s, wa, wb, ws)
        depth += 2
    return found, found_a, found_b, _I(0)
