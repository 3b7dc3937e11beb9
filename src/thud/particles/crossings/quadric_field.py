"""A quadric along a path with drag: over a cell of time (`drag_cell.py`) h is a quartic of s whose coefficients are known up to
bounds; so are h and h'. All are widened by bounds of their roundoff."""

from __future__ import annotations

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import UNIT_ROUNDOFF
from thud.geometry.predicates import two_diff, two_product
from thud.particles.colliders.element_arrays import ORIGIN, G, J
from thud.particles.crossings.double_double import dd_dot_dd, dd_dot_scaled, dd_scaled, dd_sum
from thud.particles.crossings.drag_cell import dragged_cell
from thud.particles.crossings.drag_time import exact_phi_psi
from thud.particles.crossings.elements import abs_dot3, abs_times_quadric, dot3, quadric_row, real3, times_quadric
from thud.particles.crossings.path_columns import DRAG, V, X
from thud.particles.crossings.path_columns import A as ACC
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
from thud.particles.crossings.tolerances import ROOT_NEAR, ROOT_TOUCH


@exact_kernel(inner="f8[:,::1], i8, f8, f8[::1], f8, f8, f8[::1]")
def enclose_quadric(reals, e, singular, local, begin, end, out):
    """Bounds of h, of h' and of h in the middle, for times from begin to end; outward rounded. singular: 1 if it has
    singular points, else 0."""
    m, w = 0.5 * (begin + end), 0.5 * (end - begin)
    if w > 0.0:
        w += 2.0 * UNIT_ROUNDOFF * abs(m)
    shift, v, h, off, off_speed, bend = dragged_cell(local, m, w)
    o, g = real3(reals, e, ORIGIN), real3(reals, e, G)
    q = (local[X] - o[0] + shift[0], local[X + 1] - o[1] + shift[1], local[X + 2] - o[2] + shift[2])
    aq, av = times_quadric(reals, e, q), times_quadric(reals, e, v)
    n = (aq[0] + g[0], aq[1] + g[1], aq[2] + g[2])
    k0, k1 = dot3(q, n) + dot3(q, g) + reals[e, J], 2.0 * dot3(n, v)
    nh = 2.0 * dot3(n, h)
    k2, k3, k4 = dot3(av, v) + nh, 2.0 * dot3(av, h), dot3(times_quadric(reals, e, h), h)
    more = w * w * (1.0 + bend)
    size = (
        abs(q[0]) + w * abs(v[0]) + more * abs(h[0]),
        abs(q[1]) + w * abs(v[1]) + more * abs(h[1]),
        abs(q[2]) + w * abs(v[2]) + more * abs(h[2]),
    )
    twice = 2.0 * w * (1.0 + bend)
    swift = (abs(v[0]) + twice * abs(h[0]), abs(v[1]) + twice * abs(h[1]), abs(v[2]) + twice * abs(h[2]))
    slopes = abs_times_quadric(reals, e, size)
    slopes = (slopes[0] + abs(g[0]), slopes[1] + abs(g[1]), slopes[2] + abs(g[2]))
    wide = abs_times_quadric(reals, e, (1.0, 1.0, 1.0))
    whole = wide[0] + wide[1] + wide[2]
    # How steep f is anywhere on the cell, a sum over the axes.
    reach = abs_times_quadric(reals, e, (size[0] - abs(q[0]), size[1] - abs(q[1]), size[2] - abs(q[2])))
    steepest = abs(n[0]) + abs(n[1]) + abs(n[2]) + reach[0] + reach[1] + reach[2]
    weight = dot3(size, slopes) + abs_dot3(size, g) + abs(reals[e, J])
    noise = 32.0 * UNIT_ROUNDOFF
    err = off * (2.0 * steepest + off * whole) + noise * weight
    err_mid = off * (2.0 * (abs(n[0]) + abs(n[1]) + abs(n[2])) + off * whole) + noise * weight
    bent = bend * (2.0 + bend) * abs(k4)
    err += w * w * (bend * (abs(nh) + w * abs(k3)) + w * w * bent)
    least = k0 + w * (-abs(k1) + w * (min(k2, 0.0) - w * (abs(k3) - w * min(k4, 0.0))))
    curve = k2 - w * abs(k3) + w * w * min(k4, 0.0)
    if curve > 0.0 and abs(k1) < 2.0 * curve * w:
        least = max(least, k0 - k1 * k1 / (4.0 * curve))
    most = k0 + w * (abs(k1) + w * (max(k2, 0.0) + w * (abs(k3) + w * max(k4, 0.0))))
    curve = k2 + w * abs(k3) + w * w * max(k4, 0.0)
    if curve < 0.0 and abs(k1) < -2.0 * curve * w:
        most = min(most, k0 - k1 * k1 / (4.0 * curve))
    turn = w * (2.0 * abs(k2) + w * (3.0 * abs(k3) + w * 4.0 * abs(k4)))
    loose = w * (bend * (2.0 * abs(nh) + 3.0 * w * abs(k3)) + 4.0 * w * w * bent)
    push = abs_times_quadric(reals, e, swift)
    loose += 2.0 * off * (push[0] + push[1] + push[2] + off_speed * whole) + 2.0 * steepest * off_speed
    loose += 2.0 * noise * abs_dot3(slopes, swift)
    out[LOW], out[HIGH] = least - err, most + err
    out[STEEP_LOW], out[STEEP_HIGH] = k1 - turn - loose, k1 + turn + loose
    out[MIDDLE_LOW], out[MIDDLE_HIGH] = k0 - err_mid, k0 + err_mid
    out[NEAR], out[TOUCH] = singular * ROOT_NEAR * weight, ROOT_TOUCH * weight


@exact_device
def _place(local, o, axis, t, twice):
    """A coordinate of p(t) - o as a double-double."""
    start = dd_sum(two_diff(local[X + axis], o[axis]), two_product(t, local[V + axis]))
    return dd_sum(start, dd_scaled(twice, local[ACC + axis]))


@exact_kernel(inner="f8[:,::1], i8, f8[::1], f8")
def quadric_value(reals, e, local, t):
    """h(t) from double-doubles."""
    o, g = real3(reals, e, ORIGIN), real3(reals, e, G)
    _slow, twice = exact_phi_psi(local[DRAG], t)
    q = (_place(local, o, 0, t, twice), _place(local, o, 1, t, twice), _place(local, o, 2, t, twice))
    n = (
        dd_sum(dd_dot_scaled(q, quadric_row(reals, e, 0)), (2.0 * g[0], 0.0)),
        dd_sum(dd_dot_scaled(q, quadric_row(reals, e, 1)), (2.0 * g[1], 0.0)),
        dd_sum(dd_dot_scaled(q, quadric_row(reals, e, 2)), (2.0 * g[2], 0.0)),
    )
    return dd_sum(dd_dot_dd(q, n), (reals[e, J], 0.0))[0]
