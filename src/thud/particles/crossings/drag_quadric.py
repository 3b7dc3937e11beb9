"""The first crossing of a path with drag and a quadric, within its bounds, by the scan of `interval_scan.py`. A touch is no
crossing, but at a singular point (`elements.py`)."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.colliders.element import CONE_NEGATIVE, CONE_POSITIVE, REGULAR
from thud.particles.colliders.element_arrays import SINGULAR
from thud.particles.crossings.drag_time import dragged_place, dragged_velocity, phi_psi
from thud.particles.crossings.elements import at_singular_point, dot3, in_bounds, times_quadric
from thud.particles.crossings.interval_scan import (
    CHANGE,
    LIMIT,
    NONE,
    SIDE,
    SINCE,
    START,
    TELLS,
    begin_search,
    field_root,
    next_change,
)
from thud.particles.crossings.path_columns import DRAG, V, X
from thud.particles.crossings.path_columns import A as ACC
from thud.particles.crossings.tolerances import DRAG_RESOLUTION, FIELD_CELLS, SINGULAR_PASS

_I = np.int64


@exact_device
def _three(local, at):
    return local[at], local[at + 1], local[at + 2]


@exact_kernel(inner="elements, i8, f8[::1], f8")
def passes_singular(elements, e, local, t):
    """Whether a path whose h all but touches zero at t goes through a singular point there, within the bounds."""
    kind = elements.ints[e, SINGULAR]
    if kind == REGULAR:
        return False
    x, v, a = _three(local, X), _three(local, V), _three(local, ACC)
    w = dragged_velocity(v, a, local[DRAG], t)
    inside = dot3(w, times_quadric(elements.reals, e, w))
    if inside == 0.0 or (kind == CONE_NEGATIVE and inside > 0.0) or (kind == CONE_POSITIVE and inside < 0.0):
        return False
    p = dragged_place(x, v, a, local[DRAG], t)
    return near_singular(elements, e, x, v, a, local[DRAG], p, t, SINGULAR_PASS) and in_bounds(elements, e, p, 0.0)


@exact_device
def near_singular(elements, e, x, v, a, rate, p, t, part):
    """`at_singular_point` of a path with drag: t^2 |a| is there the magnitude of the acceleration's part."""
    less = phi_psi(rate, t)[1] / (t * t) if t > 0.0 else 0.0
    return at_singular_point(elements, e, x, v, (less * a[0], less * a[1], less * a[2]), p, t, part)


@exact_device
def _inside(elements, e, local, t):
    p = dragged_place(_three(local, X), _three(local, V), _three(local, ACC), local[DRAG], t)
    return in_bounds(elements, e, p, 0.0)


@exact_kernel(inner="elements, i8, path_field, f8[::1], f8, f8, f8, f8, f8[::1], f8[:,::1], f8[::1]")
def quadric_crossing(elements, e, field, local, begin, end, side, start, search, cells, out):
    """(time, status): the first crossing of a quadric within its bounds from begin to end; inf if there is none; status 1: none
    is before that time, but the search came to its limit.

    side: sign of h at `begin`, or 0 where the particle is on the surface: then it is known where |h| is above `start`."""
    search[SIDE], search[SINCE], search[START] = side, begin, start
    search[TELLS] = 1.0 if elements.ints[e, SINGULAR] != REGULAR else 0.0
    begin_search(search, cells, begin, end, 0.0, DRAG_RESOLUTION, FIELD_CELLS)
    while True:
        what, low, high = next_change(field, local, search, cells, out)
        if what == NONE:
            return math.inf, _I(0)
        if what == LIMIT:
            return low, _I(1)
        if what == CHANGE:
            # The side before the change.
            root = field_root(field, local, low, high, -search[SIDE], out)
            if _inside(elements, e, local, root):
                return root, _I(0)
        elif search[SIDE] != 0.0 and passes_singular(elements, e, local, low):
            return low, _I(0)
