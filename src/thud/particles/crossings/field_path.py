"""Paths against implicit surfaces: blobs and segments (`blob_field.py`), polynomials in tetrahedra (`tetrahedron_field.py`).

What a path comes near is a list of rows of the field, each with the times from when to when. `interval_scan.py` looks
through these: of balls through stretches in which their times overlap, of tetrahedra through one after the other. In between
the side is known (outside of all balls h is -threshold) or there is nothing to cross (outside of all tetrahedra, and in those
whose control values have one sign).
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.crossings.blob_field import blob_normal, near_balls
from thud.particles.crossings.interval_scan import (
    CELL_STACK,
    CHANGE,
    LEFT,
    LIMIT,
    SEARCH,
    SIDE,
    SINCE,
    START,
    TELLS,
    begin_search,
    enclose,
    field_root,
    next_change,
    side_at,
    sign_of,
)
from thud.particles.crossings.path_box import improves, path_pieces, path_point, path_velocity, unit3
from thud.particles.crossings.path_columns import CAME, DRAG, LOCAL, PATH_DRAG, REST, SIZE, V, X
from thud.particles.crossings.path_field import BLOBS, MIDDLE_HIGH, MIDDLE_LOW, OUT, PathField
from thud.particles.crossings.tetrahedron_field import (
    PIECES,
    near_tetrahedra,
    row_of_tetrahedron,
    tetrahedra_normal,
    tetrahedron_gradient,
)
from thud.particles.crossings.tolerances import (
    DRAG_RESOLUTION,
    FIELD_CELLS,
    FIELD_RESOLUTION,
    FIELD_SHORTEST,
    START_SAME,
    START_SLOPE,
)
from thud.particles.tolerances import START_ROUNDOFF

_I = np.int64


@exact_device
def field_normal(field, local, t):
    """(normal, part) at t: out of the solid side where strengths are positive, out of f < 0 in tetrahedra; of any length."""
    if field.kind == BLOBS:
        return blob_normal(field.rows, field.items, field.count[0], local, t)
    return tetrahedra_normal(field.rows, field.values, field.items, field.spans, field.count[0], field.work, local, t)


@exact_kernel(inner="path_field, f8[::1], i8, f8[::1]")
def start_side(field, local, same, out):
    """(sign of h at the start, or 0 on the surface; whether the particle passes through it there)."""
    enclose(field, local, 0.0, 0.0, out)
    h = 0.5 * (out[MIDDLE_LOW] + out[MIDDLE_HIGH])
    n, _part = field_normal(field, local, 0.0)
    steep = abs(n[0]) + abs(n[1]) + abs(n[2])
    near = (START_SAME if same else START_ROUNDOFF) * local[SIZE] * steep + 0.5 * (out[MIDDLE_HIGH] - out[MIDDLE_LOW])
    if abs(h) > near:
        return (1.0 if h > 0.0 else -1.0), False
    came = n[0] * local[CAME] + n[1] * local[CAME + 1] + n[2] * local[CAME + 2]
    goes = n[0] * local[V] + n[1] * local[V + 1] + n[2] * local[V + 2]
    fast = abs(local[CAME]) + abs(local[CAME + 1]) + abs(local[CAME + 2])
    speed = abs(local[V]) + abs(local[V + 1]) + abs(local[V + 2])
    slope = START_SLOPE * steep
    through = abs(came) > slope * fast and abs(goes) > slope * speed and (came > 0.0) == (goes > 0.0)
    return 0.0, through and not same


@exact_device
def _clear_sign(n, v):
    """Sign of n . v; 0 where v runs along the surface."""
    along = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
    size = (abs(n[0]) + abs(n[1]) + abs(n[2])) * (abs(v[0]) + abs(v[1]) + abs(v[2]))
    return sign_of(along, along, START_SLOPE * size)


@exact_kernel(inner="path_field, f8[::1], i8")
def out_by_an_edge(field, local, last):
    """When a particle that has just bounced off tetrahedron `last` is through the surface of another one, within roundoff of
    where it starts, since f has a kink between them; -1: it is not."""
    row = row_of_tetrahedron(field.rows, last)
    if row < 0:
        return -1.0
    x, v = (local[X], local[X + 1], local[X + 2]), (local[V], local[V + 1], local[V + 2])
    came = (local[CAME], local[CAME + 1], local[CAME + 2])
    # It was on the side from which it came to that one.
    side = -_clear_sign(tetrahedron_gradient(field.rows, field.values, row, field.work, x), came)
    for j in range(field.count[0]):
        t = field.spans[j, 0] * (1.0 + FIELD_SHORTEST)
        p = path_point(local, t)
        if max(abs(p[0] - x[0]), abs(p[1] - x[1]), abs(p[2] - x[2])) > START_SAME * local[SIZE]:
            break
        goes = _clear_sign(tetrahedron_gradient(field.rows, field.values, field.items[j], field.work, p), v)
        if side != 0.0 and goes == -side and field.items[j] != row:
            return t
    return -1.0


@exact_kernel(inner="path_field, f8[::1], i8, i8, f8, f8[::1], f8[:,::1], f8[::1]")
def field_crossing(field, local, same, last, end, search, cells, out):
    """(time, status): the first change of h's sign, inf if there is none; status 1: it is not before that time, but the
    search came to its limit."""
    spans, count = field.spans, field.count[0]
    outside = -1.0 if field.level > 0.0 else 1.0
    search[SIDE], search[SINCE], search[START], search[TELLS] = outside, 0.0, 0.0, 0.0
    if spans[0, 0] <= 0.0:
        # The path may start near a ball, or in a tetrahedron.
        search[SIDE], through = start_side(field, local, same, out)
        if through:
            return 0.0, _I(0)
        if field.kind != BLOBS and same and search[SIDE] == 0.0:
            t = out_by_an_edge(field, local, last)
            if t >= 0.0:
                return t, _I(0)
    left, j, done = _I(FIELD_CELLS), _I(0), 0.0
    while j < count:
        begin, stop = spans[j, 0], spans[j, 1]
        j += 1
        if field.kind == BLOBS:
            # Balls whose times overlap belong to one stretch.
            while j < count and spans[j, 0] <= stop:
                stop = max(stop, spans[j, 1])
                j += 1
        elif begin > done:
            search[SIDE] = side_at(field, local, begin, out)
        elif stop <= done:
            # In two tetrahedra at once: along a face.
            continue
        elif done > 0.0:
            # Where f jumps it has another sign just behind the border.
            after = min(done * (1.0 + FIELD_SHORTEST), stop)
            sign, side = side_at(field, local, after, out), search[SIDE]
            if sign != 0.0 and side != 0.0 and sign != side:
                return field_root(field, local, search[SINCE], after, side, out), _I(0)
        if begin > done:
            search[SINCE] = begin
        begin = max(begin, done)
        least, part = max(FIELD_RESOLUTION * (stop - begin), FIELD_SHORTEST * stop), 0.0
        if local[DRAG] != 0.0:
            # It may stay for ages where it has all but stopped: cells are as fine as their own time asks.
            least, part = FIELD_SHORTEST * begin, DRAG_RESOLUTION
        begin_search(search, cells, begin, stop, least, part, left)
        what, low, high = next_change(field, local, search, cells, out)
        if what == CHANGE:
            # The side before the change.
            return field_root(field, local, low, high, -search[SIDE], out), _I(0)
        if what == LIMIT:
            return low, _I(1)
        if stop >= end:
            break
        left, done = _I(search[LEFT]), stop
        if field.kind == BLOBS:
            # Between stretches h is -threshold.
            search[SIDE], search[SINCE] = outside, stop
    return math.inf, _I(0)


@exact_kernel(inner="f8[:,::1], f8[:,::1], i8, f8, f8[::1]")
def load_path(paths, came, row, reach, local):
    """A path in the world frame."""
    for k in range(9):
        local[X + k], local[REST + k] = paths[row, k], 0.0
    local[DRAG] = paths[row, PATH_DRAG]
    for k in range(3):
        local[CAME + k] = came[row, k]
    local[SIZE] = max(abs(local[X]), abs(local[X + 1]), abs(local[X + 2])) + reach


@exact_kernel(inner="path_field, f8[::1], i8, i8, f8, f8[::1], i8[:,::1], f8[:,::1]")
def write_field(field, local, row, collider, tau, time, hit, normal):
    """Write a crossing."""
    n, part = field_normal(field, local, tau)
    if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
        n = path_velocity(local, tau)
    n = unit3(n)
    time[row], hit[row, 0], hit[row, 1] = tau, collider, part
    normal[row, 0], normal[row, 1], normal[row, 2] = n


@exact_kernel(
    "i8, i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], i8[::1], i8[::1], f8, f8, i8, i8, "
    "f8[:,::1], f8[:,::1], i8[:,::1], f8[::1], i8[:,::1], f8[:,::1], u1[::1]"
)
def field_rows(
    start, stop, kind, rows, values, boxes, skip, item, level, reach, scratch, collider,
    paths, came, last, time, hit, normal, status,
):  # fmt: skip
    """Earliest crossing of each path with an implicit surface. Parts are balls or segments, those that add most there, or
    tetrahedra.

    status is set to 1 where the search came to its limit: the time is then a lower bound.
    """
    many = rows.shape[0] * (1 if kind == BLOBS else PIECES)
    local, items, spans, count = np.empty(LOCAL), np.empty(many, np.int64), np.empty((many, 2)), np.empty(1, np.int64)
    slots, search, cells, out = np.empty(rows.shape[0], np.int64), np.empty(SEARCH), np.empty((CELL_STACK, 2)), np.empty(OUT)
    field = PathField(kind, rows, values, level, items, spans, count, np.empty(scratch))
    if kind == BLOBS:
        for k in range(rows.shape[0]):
            slots[k] = -1
    low, high = (boxes[0, 0], boxes[0, 1], boxes[0, 2]), (boxes[0, 3], boxes[0, 4], boxes[0, 5])
    for row in range(start, stop):
        load_path(paths, came, row, reach, local)
        # A little beyond: a crossing at the very time of another collider's may count.
        end = time[row] * (1.0 + START_SAME)
        pieces = path_pieces(local, end, low, high)
        if pieces == 0:
            continue
        if kind == BLOBS:
            count[0] = near_balls(rows, boxes, skip, item, local, pieces, items, spans, slots)
        else:
            count[0] = near_tetrahedra(rows, boxes, skip, item, local, field.work, pieces, items, spans)
        if count[0] == 0:
            continue
        same = _I(last[row, 0] == collider)
        tau, doubt = field_crossing(field, local, same, last[row, 1], end, search, cells, out)
        if tau < math.inf and improves(tau, collider, time, hit, row):
            write_field(field, local, row, collider, tau, time, hit, normal)
            status[row] = doubt
