"""Where a field along a path, h(t) = f(p(t)), changes its sign: interval root finding, one for all kinds of fields.

A field bounds h and h' over a cell, an interval of time (`path_field.py`). Cells are taken in the order of time and halved:

- where h does not hold 0, its sign is known: if it is not that of before, h has crossed 0 in between;
- where h' does not hold 0, h is monotone, and its sign at the end of the cell tells as much;
- in a cell narrower than the resolution, or in which h is nothing but roundoff, its extreme is looked at with 32 digits: only
  crossings there and back within one such cell that do not reach it can be missed. A touch is no crossing.

A crossing is then found by Newton's method in its bracket (`field_root`), with values of h of 32 digits from where floats
cannot tell their sign. The search may go on after a crossing: all that it knows is in `search`.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import UNIT_ROUNDOFF
from thud.particles.crossings.blob_field import blob_value, enclose_blobs
from thud.particles.crossings.path_columns import DRAG
from thud.particles.crossings.path_field import (
    BLOBS,
    HIGH,
    LOW,
    MIDDLE_HIGH,
    MIDDLE_LOW,
    NEAR,
    QUADRIC,
    STEEP_HIGH,
    STEEP_LOW,
    TOUCH,
)
from thud.particles.crossings.quadric_field import enclose_quadric, quadric_value
from thud.particles.crossings.tetrahedron_field import enclose_tetrahedra, tetrahedra_value
from thud.particles.crossings.tolerances import DRAG_SERIES, FIELD_NOISE, ROOT_STEPS

_I = np.int64

# Columns of a search: the last sign that is known and when it was; how near to 0 a value says nothing while it is not known;
# cells narrower than a length, or than a part of their time, are not halved; how many are left; how many wait; whether extremes
# are to be told of (1), or the first one that waits has been (2).
SIDE, SINCE, START, LEAST, PART, LEFT, WAITING, TELLS = range(8)
SEARCH = 8

#: Halved cells that wait (a count): each halving adds one.
CELL_STACK = 320

# What `next_change` says: no change; one between two times; the search came to its limit; an extreme in a cell that is not
# halved.
NONE, CHANGE, LIMIT, EXTREME = range(4)


@exact_device
def enclose(field, local, begin, end, out):
    """Bounds of h over the times from begin to end, as in `path_field.py`; outward rounded."""
    if field.kind == BLOBS:
        enclose_blobs(field.rows, field.items, field.spans, field.count[0], field.level, local, begin, end, out)
    elif field.kind == QUADRIC:
        enclose_quadric(field.rows, field.count[0], field.level, local, begin, end, out)
    else:
        enclose_tetrahedra(
            field.rows, field.values, field.items, field.spans, field.count[0], field.work, local, begin, end, out
        )  # fmt: skip


@exact_device
def exact_value(field, local, t):
    """h(t) with 32 digits, as a float."""
    if field.kind == BLOBS:
        return blob_value(field.rows, field.items, field.count[0], field.level, local, t)
    if field.kind == QUADRIC:
        return quadric_value(field.rows, field.count[0], local, t)
    return tetrahedra_value(field.rows, field.values, field.items, field.spans, field.count[0], field.work, local, t)


@exact_device
def sign_of(low, high, near):
    """Of all numbers from low to high; 0 if they differ, or are within `near` of 0."""
    return 1.0 if low > near else (-1.0 if high < -near else 0.0)


@exact_kernel(inner="path_field, f8[::1], f8, f8[::1]")
def side_at(field, local, t, out):
    """Sign of h(t); 0 where it cannot be told from a touch."""
    enclose(field, local, t, t, out)
    sign = sign_of(out[MIDDLE_LOW], out[MIDDLE_HIGH], out[NEAR])
    if sign == 0.0:
        h = exact_value(field, local, t)
        sign = sign_of(h, h, max(out[NEAR], out[TOUCH]))
    return sign


@exact_kernel(inner="path_field, f8[::1], f8, f8, f8, f8[::1]")
def field_root(field, local, low, high, side, out):
    """The crossing between low, where h has the sign `side`, and high, where it has the other; of a stretch of zeros the
    begin."""
    t, before = 0.5 * (low + high), high - low
    for _ in range(ROOT_STEPS):
        enclose(field, local, t, t, out)
        h, steep = 0.5 * (out[MIDDLE_LOW] + out[MIDDLE_HIGH]), 0.5 * (out[STEEP_LOW] + out[STEEP_HIGH])
        if abs(h) <= 32.0 * (out[MIDDLE_HIGH] - out[MIDDLE_LOW]):
            h = exact_value(field, local, t)
        if h == 0.0 and steep != 0.0:
            return t
        if h != 0.0 and (h > 0.0) == (side > 0.0):
            low = t
        else:
            high = t
        to = t - h / steep if h != 0.0 and steep != 0.0 else math.inf
        if not low <= to <= high or abs(to - t) > 0.5 * before:
            to = 0.5 * (low + high)
        before = abs(to - t)
        if before <= UNIT_ROUNDOFF * abs(t):
            return to
        t = to
    return t


@exact_kernel(inner="f8[::1], f8[:,::1], f8, f8, f8, f8, i8")
def begin_search(search, cells, begin, end, least, part, cells_left):
    """Begin a search from begin to end; what is known of the side stays."""
    cells[0, 0], cells[0, 1] = begin, end
    search[LEAST], search[PART], search[LEFT], search[WAITING] = least, part, cells_left, 1.0


@exact_kernel(inner="path_field, f8[::1], f8[::1], f8[:,::1], f8[::1]")
def next_change(field, local, search, cells, out):
    """(what, low, high): CHANGE: h changes its sign between low and high; EXTREME: it may have one in low .. high, at low
    (told only if asked for); LIMIT: it does not before low."""
    depth = _I(search[WAITING])
    while depth > 0:
        depth -= 1
        search[WAITING] = depth
        b, e, side, since = cells[depth, 0], cells[depth, 1], search[SIDE], search[SINCE]
        if search[LEFT] <= 0.0:
            return _I(LIMIT), since, e
        search[LEFT] -= 1.0
        enclose(field, local, b, e, out)
        near = out[NEAR] + (search[START] if side == 0.0 else 0.0)
        sign = sign_of(out[LOW], out[HIGH], near)
        small = out[HIGH] - out[LOW] <= FIELD_NOISE * (out[MIDDLE_HIGH] - out[MIDDLE_LOW] + 2.0 * near)
        # On a long cell of a path with drag a value is off by more than roundoff.
        small = small and local[DRAG] * (e - b) <= DRAG_SERIES
        small = small or e - b <= search[LEAST] or e - b <= search[PART] * e or depth + 2 > CELL_STACK
        if sign == 0.0 and (out[STEEP_LOW] > 0.0 or out[STEEP_HIGH] < 0.0):
            # Monotone: the sign at its end tells.
            enclose(field, local, e, e, out)
            sign = sign_of(out[MIDDLE_LOW], out[MIDDLE_HIGH], near)
        if sign != 0.0:
            search[SIDE], search[SINCE] = sign, e
            if side != 0.0 and sign != side:
                return _I(CHANGE), since, e
        elif small:
            # Its extreme with more digits tells whether h comes out on the other side of 0 in here.
            enclose(field, local, b, b, out)
            steep = out[STEEP_LOW] + out[STEEP_HIGH]
            enclose(field, local, e, e, out)
            later = out[STEEP_LOW] + out[STEEP_HIGH]
            turns = (steep > 0.0) != (later > 0.0)
            turn = b + (e - b) * (steep / (steep - later)) if turns else 0.5 * (b + e)
            if turns and search[TELLS] == 1.0:
                # The same cell comes again.
                search[TELLS], search[WAITING] = 2.0, depth + 1
                return _I(EXTREME), turn, e
            search[TELLS] = min(search[TELLS], 1.0)
            h = exact_value(field, local, turn)
            if side != 0.0 and abs(h) > out[TOUCH] and (h > 0.0) != (side > 0.0):
                search[SIDE], search[SINCE] = -side, turn
                return _I(CHANGE), since, turn
        else:
            middle = 0.5 * (b + e)
            cells[depth, 0], cells[depth, 1] = middle, e
            cells[depth + 1, 0], cells[depth + 1, 1] = b, middle
            depth += 2
            search[WAITING] = depth
    return _I(NONE), search[SINCE], search[SINCE]
