"""The earliest crossing of each path with any elementary collider: down the tree over their boxes, the filter, then 32 digits.

Rows as in `flight_rows.py`.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import TINY
from thud.particles.colliders.element import QUADRIC, REGULAR
from thud.particles.colliders.element_arrays import COLLIDER, KIND, PART, SINGULAR
from thud.particles.crossings.element_filter import DOUBTFUL, rough_crossing
from thud.particles.crossings.elements import at_singular_point, dot3, element_crossing, gradient, path_at, singular_normal
from thud.particles.crossings.tolerances import FILTER_CLOSE, PATH_SLACK, SINGULAR_NEAR

#: Up to so many elements (counts) a row looks at each of them, at each box; more have a tree.
FEW_PLAIN = 2
FEW_ELEMENTS = 16


@exact_device
def chord_axis(x, v, a, t):
    """One coordinate of a path until t as x + w tau + d: 1 / w, and x + d, least and greatest, widened by roundoff.

    w is the mean velocity, and d = -a tau (t - tau) / 2 lies between 0 and -a t^2 / 8."""
    w = v + 0.5 * t * a
    sag = -0.125 * a * t * t
    slack = PATH_SLACK * (abs(x) + t * (abs(v) + t * abs(a)))
    # A path that stays has any speed that is too small to matter.
    inverse = 1.0 / w if abs(w) > TINY else 1e300
    return inverse, x + min(sag, 0.0) - slack, x + max(sag, 0.0) + slack


@exact_device
def chord(x, v, a, t):
    """A path until t as a line that is thick along each axis (`chord_axis`)."""
    ix, lx, ux = chord_axis(x[0], v[0], a[0], t)
    iy, ly, uy = chord_axis(x[1], v[1], a[1], t)
    iz, lz, uz = chord_axis(x[2], v[2], a[2], t)
    return t, ix, iy, iz, lx, ly, lz, ux, uy, uz


@exact_device
def may_meet(line, boxes, k):
    """Whether a path, as its chord, may come into a box."""
    t, ix, iy, iz, lx, ly, lz, ux, uy, uz = line
    one, other = (boxes[k, 0] - ux) * ix, (boxes[k, 3] - lx) * ix
    begin, end = max(0.0, min(one, other)), min(t, max(one, other))
    one, other = (boxes[k, 1] - uy) * iy, (boxes[k, 4] - ly) * iy
    begin, end = max(begin, min(one, other)), min(end, max(one, other))
    one, other = (boxes[k, 2] - uz) * iz, (boxes[k, 5] - lz) * iz
    begin, end = max(begin, min(one, other)), min(end, max(one, other))
    # Never missed for the roundoff of a quotient.
    return begin * (1.0 - FILTER_CLOSE) <= end


@exact_device
def last_time(x, v, a, low, high):
    """From when on one coordinate of a path without end is outside of [low, high] for good; inf if it stays inside."""
    edge = high if a > 0.0 or (a == 0.0 and v > 0.0) else low
    if a == 0.0:
        return max((edge - x) / v, 0.0) if v != 0.0 else (math.inf if low <= x <= high else 0.0)
    # The later root of x + v t + a t^2 / 2 = edge.
    under = v * v - 2.0 * a * (x - edge)
    if not under > 0.0:
        return 0.0
    root = math.sqrt(under)
    at = (-v + math.copysign(root, a)) / a if v * a <= 0.0 else 2.0 * (edge - x) / (v + math.copysign(root, v))
    return max(at, 0.0) if at == at else math.inf


@exact_device
def leaving_time(common, x, v, a):
    """From when on a path without end is outside of the common box of what is finite; inf if it stays."""
    if common[0] > common[3]:
        return 0.0
    t = min(
        last_time(x[0], v[0], a[0], common[0], common[3]),
        min(last_time(x[1], v[1], a[1], common[1], common[4]), last_time(x[2], v[2], a[2], common[2], common[5])),
    )
    return t * (1.0 + FILTER_CLOSE)


@exact_device
def is_endless(boxes, k):
    """Whether a box reaches to infinity."""
    low = min(boxes[k, 0], min(boxes[k, 1], boxes[k, 2]))
    high = max(boxes[k, 3], max(boxes[k, 4], boxes[k, 5]))
    return low == -math.inf or high == math.inf


@exact_device
def improved(elements, e, x, v, a, came, last_collider, last_part, best, found, reach):
    """(time, element) of the earliest crossing so far, with that of element e."""
    # What a particle slides on it does not hit.
    if last_collider == elements.ints[e, COLLIDER] and last_part == -2 - elements.ints[e, PART]:
        return best, found
    is_last = np.int64(1 if last_collider == elements.ints[e, COLLIDER] and last_part == elements.ints[e, PART] else 0)
    verdict, t = DOUBTFUL, math.inf
    if is_last == 0:
        verdict, t = rough_crossing(elements, e, x, v, a, best, reach)
    if verdict == DOUBTFUL:
        t = element_crossing(elements, e, x, v, a, came, is_last, reach)
    if t < best or (t == best and found >= 0 and e < found):
        return t, e
    return best, found


@exact_device
def earliest_element(elements, x, v, a, came, last_collider, last_part, reach):
    """(time, element) of the earliest crossing of a path with any element before `reach`; element -1: none."""
    many = elements.ints.shape[0]
    best, found = reach, np.int64(-1)
    bounded = best < math.inf
    if many <= FEW_PLAIN:
        # Not worth a chord.
        for e in range(many):
            best, found = improved(elements, np.int64(e), x, v, a, came, last_collider, last_part, best, found, reach)
        return best, found
    # A path without end has a chord until it leaves all that is finite; what is not is looked at.
    until = best if bounded else leaving_time(elements.common, x, v, a)
    culls = until < math.inf
    line = chord(x, v, a, until if culls else 0.0)
    few = many <= FEW_ELEMENTS
    nodes = many if few else elements.skip.shape[0]
    k = np.int64(0)
    while k < nodes:
        e = k
        if few:
            k += 1
            if culls and not may_meet(line, elements.boxes, e) and (bounded or not is_endless(elements.boxes, e)):
                continue
        else:
            if culls and not may_meet(line, elements.node_boxes, k) and (bounded or not is_endless(elements.node_boxes, k)):
                k = elements.skip[k]
                continue
            e = elements.item[k]
            k += 1
            if e < 0:
                continue
        t, which = improved(elements, e, x, v, a, came, last_collider, last_part, best, found, reach)
        if which != found:
            best, found = t, which
            bounded, culls, line = True, True, chord(x, v, a, best)
    return best, found


@exact_device
def unit_normal(elements, e, x, v, a, p, t):
    """Unit normal of element e at p, where a path is at t; of either side."""
    n = gradient(elements.reals, e, elements.ints[e, KIND], p)
    if elements.ints[e, KIND] != QUADRIC:
        return n
    if elements.ints[e, SINGULAR] != REGULAR and at_singular_point(elements, e, x, v, a, p, t, SINGULAR_NEAR):
        return singular_normal(elements, e, (v[0] + t * a[0], v[1] + t * a[1], v[2] + t * a[2]))
    length = math.sqrt(dot3(n, n))
    return (n[0] / length, n[1] / length, n[2] / length) if length > 0.0 else n


@exact_kernel("i8, i8, elements, f8[:,::1], f8[:,::1], i8[:,::1], f8[::1], i8[:,::1], f8[:,::1]")
def element_rows(start, stop, elements, paths, came, last, time, hit, normal):
    """The earliest crossing of each row's path with any element; rows as in `flight_rows.py`."""
    for row in range(start, stop):
        x, v = (paths[row, 0], paths[row, 1], paths[row, 2]), (paths[row, 3], paths[row, 4], paths[row, 5])
        a = (paths[row, 6], paths[row, 7], paths[row, 8])
        before = (came[row, 0], came[row, 1], came[row, 2])
        best, found = earliest_element(elements, x, v, a, before, last[row, 0], last[row, 1], time[row])
        if found >= 0:
            time[row], hit[row, 0], hit[row, 1] = best, elements.ints[found, COLLIDER], elements.ints[found, PART]
            n = unit_normal(elements, found, x, v, a, path_at(x, v, a, best), best)
            normal[row, 0], normal[row, 1], normal[row, 2] = n
