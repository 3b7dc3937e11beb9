"""The earliest crossing of each path with drag with any elementary collider: down the tree over their boxes, planes by
`drag_plane.py`, quadrics by `drag_quadric.py`. Rows as in `flight_rows.py`."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import TINY
from thud.particles.colliders.element import QUADRIC, REGULAR
from thud.particles.colliders.element_arrays import COLLIDER, KIND, PART, SINGULAR
from thud.particles.crossings.double_double import dd_shifted
from thud.particles.crossings.drag_box import dragged_narrow, dragged_pieces
from thud.particles.crossings.drag_plane import dragged_plane_roots
from thud.particles.crossings.drag_quadric import near_singular, quadric_crossing
from thud.particles.crossings.drag_time import dragged_place, dragged_velocity, psi, when_phi
from thud.particles.crossings.element_rows import may_meet
from thud.particles.crossings.elements import (
    dot3,
    gradient,
    in_bounds,
    leaving_time,
    plane_coefficients,
    quadric_coefficients,
    singular_normal,
)
from thud.particles.crossings.interval_scan import CELL_STACK, SEARCH
from thud.particles.crossings.path_columns import DRAG, LOCAL, PATH_DRAG, SIZE, SLACK, TURNS, A, V, X
from thud.particles.crossings.path_field import OUT, PathField
from thud.particles.crossings.path_field import QUADRIC as QUADRIC_FIELD
from thud.particles.crossings.quadric_field import quadric_value
from thud.particles.crossings.tolerances import DRAG_BOX, DRAG_FARTHEST, PATH_SLACK, SINGULAR_NEAR

_I = np.int64


@exact_device
def _chord_axis(x, v, a, t, twice, sag):
    """As `chord_axis` of `element_rows.py`."""
    w = v + a * twice / t
    slack = PATH_SLACK * (abs(x) + t * abs(v) + twice * abs(a))
    inverse = 1.0 / w if abs(w) > TINY else 1e300
    return inverse, x + min(a * sag, 0.0) - slack, x + max(a * sag, 0.0) + slack


@exact_device
def dragged_chord(x, v, a, rate, t):
    """A path until t > 0 as a line that is thick along each axis: it is off its chord by a times one function of the time."""
    twice = psi(rate, t)
    farthest = when_phi(rate, twice / t)
    sag = (psi(rate, farthest) - farthest * twice / t) * (1.0 + 1e-9) if farthest < t else -0.5 * twice
    ix, lx, ux = _chord_axis(x[0], v[0], a[0], t, twice, sag)
    iy, ly, uy = _chord_axis(x[1], v[1], a[1], t, twice, sag)
    iz, lz, uz = _chord_axis(x[2], v[2], a[2], t, twice, sag)
    return t, ix, iy, iz, lx, ly, lz, ux, uy, uz


@exact_kernel(inner="f8[:,::1], i8, f8[::1], f8")
def times_in_element(boxes, e, local, reach):
    """The hull of the times of [0, reach] at which a path is in an element's box; begin > end: never."""
    low, high = (boxes[e, 0], boxes[e, 1], boxes[e, 2]), (boxes[e, 3], boxes[e, 4], boxes[e, 5])
    wide = 0.0
    for axis in range(3):
        if high[axis] - low[axis] < math.inf:
            wide = max(wide, high[axis] - low[axis])
    # Beyond the surface, so that its side is known there.
    wide *= DRAG_BOX
    low, high = (low[0] - wide, low[1] - wide, low[2] - wide), (high[0] + wide, high[1] + wide, high[2] + wide)
    pieces = dragged_pieces(local, reach, low, high)
    begin, end, slack = 1.0, 0.0, (local[SLACK] if pieces > 0 else 0.0)
    low, high = (low[0] - slack, low[1] - slack, low[2] - slack), (high[0] + slack, high[1] + slack, high[2] + slack)
    for k in range(pieces):
        b = local[TURNS + k - 1] if k > 0 else 0.0
        b, t = dragged_narrow(local, low[0], low[1], low[2], high[0], high[1], high[2], b, local[TURNS + k])
        if b <= t:
            begin, end = (b if begin > end else begin), t
    return begin, end


@exact_kernel(inner="elements, i8, path_field, f8[::1], vec3, i8, f8, f8[::1], f8[:,::1], f8[::1]")
def dragged_crossing(elements, e, field, local, came, is_last, reach, search, cells, out):
    """(time, status): the earliest time in [0, reach] at which a path crosses an element within its bounds; inf if it does not;
    status 1: none is before, but the search came to its limit. Starts on the element as in `element_crossing`."""
    kind, rate = elements.ints[e, KIND], local[DRAG]
    x, v, a = (
        (local[X], local[X + 1], local[X + 2]),
        (local[V], local[V + 1], local[V + 2]),
        (local[A], local[A + 1], local[A + 2]),
    )
    if kind == QUADRIC:
        c, roundoff = quadric_coefficients(elements.reals, e, x, v, a)
    else:
        c, roundoff = plane_coefficients(elements.reals, e, x, v, a)
    on, begin, c0 = is_last != 0 or abs(c[0][0]) <= roundoff, 0.0, c[0]
    if on:
        singular = kind == QUADRIC and near_singular(elements, e, x, v, a, rate, x, 0.0, SINGULAR_NEAR)
        if is_last == 0:
            n = singular_normal(elements, e, v) if singular else gradient(elements.reals, e, kind, x)
            before, after = dot3(n, came), dot3(n, v)
            if ((before > 0.0 and after > 0.0) or (before < 0.0 and after < 0.0)) and in_bounds(elements, e, x, 0.0):
                return 0.0, _I(0)
        if singular:
            begin = leaving_time(elements, e, x, v)
        c0 = (0.0, 0.0)
    if kind != QUADRIC:
        one, other = dragged_plane_roots(rate, c0, c[1], dd_shifted(c[2], 2.0), reach)
        if one < math.inf and in_bounds(elements, e, dragged_place(x, v, a, rate, one), 0.0):
            return one, _I(0)
        if other < math.inf and in_bounds(elements, e, dragged_place(x, v, a, rate, other), 0.0):
            return other, _I(0)
        return math.inf, _I(0)
    first, last = times_in_element(elements.boxes, e, local, reach)
    if first > last or begin > last:
        return math.inf, _I(0)
    first = max(first, begin)
    # Where it comes into the box its side is known; not where it starts on the surface.
    side, start = 0.0, 2.0 * abs(c[0][0])
    if first > 0.0 or not on:
        start, h = 0.0, quadric_value(elements.reals, e, local, first)
        side = 1.0 if h > 0.0 else -1.0
    return quadric_crossing(elements, e, field, local, first, last, side, start, search, cells, out)


@exact_kernel(inner="elements, f8[::1], vec3, i8, i8, f8, f8[::1], f8[:,::1], f8[::1], i8[::1], f8[:,::1], f8[::1]")
def earliest_dragged(elements, local, came, last_collider, last_part, reach, search, cells, out, which, spans, none):
    """(time, element, status) of the earliest crossing of a path with any element up to `reach`; element -1: none."""
    best, found, doubt = min(reach, DRAG_FARTHEST), _I(-1), _I(0)
    if not best > 0.0:
        return best, found, doubt
    x, v, a = (
        (local[X], local[X + 1], local[X + 2]),
        (local[V], local[V + 1], local[V + 2]),
        (local[A], local[A + 1], local[A + 2]),
    )
    line = dragged_chord(x, v, a, local[DRAG], best)
    k = _I(0)
    while k < elements.skip.shape[0]:
        if not may_meet(line, elements.node_boxes, k):
            k = elements.skip[k]
            continue
        e = elements.item[k]
        k += 1
        if e < 0:
            continue
        same = last_collider == elements.ints[e, COLLIDER]
        # What a particle slides on it does not hit.
        if same and last_part == -2 - elements.ints[e, PART]:
            continue
        is_last = _I(1 if same and last_part == elements.ints[e, PART] else 0)
        which[0] = e
        singular = 0.0 if elements.ints[e, SINGULAR] == REGULAR else 1.0
        field = PathField(_I(QUADRIC_FIELD), elements.reals, spans, singular, which, spans, which, none)
        t, status = dragged_crossing(elements, e, field, local, came, is_last, reach, search, cells, out)
        if t < best or (t == best and t < math.inf and (found < 0 or e < found)):
            best, found, doubt = t, e, status
            if best > 0.0:
                line = dragged_chord(x, v, a, local[DRAG], best)
    return best, found, doubt


@exact_device
def dragged_normal(elements, e, x, v, a, rate, p, t):
    """Unit normal of element e at p, where a path is at t; of either side."""
    n = gradient(elements.reals, e, elements.ints[e, KIND], p)
    if elements.ints[e, KIND] != QUADRIC:
        return n
    if elements.ints[e, SINGULAR] != REGULAR and near_singular(elements, e, x, v, a, rate, p, t, SINGULAR_NEAR):
        return singular_normal(elements, e, dragged_velocity(v, a, rate, t))
    length = math.sqrt(dot3(n, n))
    return (n[0] / length, n[1] / length, n[2] / length) if length > 0.0 else n


@exact_kernel("i8, i8, elements, f8[:,::1], f8[:,::1], i8[:,::1], f8[::1], i8[:,::1], f8[:,::1], u1[::1]")
def dragged_element_rows(start, stop, elements, paths, came, last, time, hit, normal, status):
    """Improve the earliest crossing of each row's path, all with drag, by that with any element.

    status is set to 1 where the search came to its limit: the time is then a lower bound.
    """
    local, search, cells, out = np.zeros(LOCAL), np.empty(SEARCH), np.empty((CELL_STACK, 2)), np.empty(OUT)
    which, spans, none = np.empty(1, np.int64), np.empty((0, 2)), np.empty(0)
    for row in range(start, stop):
        for k in range(9):
            local[X + k] = paths[row, k]
        local[DRAG] = paths[row, PATH_DRAG]
        local[SIZE] = max(abs(local[X]), abs(local[X + 1]), abs(local[X + 2]))
        before = (came[row, 0], came[row, 1], came[row, 2])
        best, found, doubt = earliest_dragged(
            elements, local, before, last[row, 0], last[row, 1], time[row], search, cells, out, which, spans, none
        )  # fmt: skip
        if found < 0:
            continue
        collider = elements.ints[found, COLLIDER]
        if best < time[row] or (hit[row, 0] >= 0 and best == time[row] and collider < hit[row, 0]):
            x, v = (paths[row, 0], paths[row, 1], paths[row, 2]), (paths[row, 3], paths[row, 4], paths[row, 5])
            a, rate = (paths[row, 6], paths[row, 7], paths[row, 8]), paths[row, PATH_DRAG]
            time[row], hit[row, 0], hit[row, 1], status[row] = best, collider, elements.ints[found, PART], doubt
            n = dragged_normal(elements, found, x, v, a, rate, dragged_place(x, v, a, rate, best), best)
            normal[row, 0], normal[row, 1], normal[row, 2] = n
