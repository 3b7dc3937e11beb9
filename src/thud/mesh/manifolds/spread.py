"""Few points of a patch for many: those that span it, and the deepest."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.convex.manifold import CORNER, SIDE
from thud.math.vec3 import any_orthogonal, cross, dot, norm2
from thud.mesh.manifolds.tolerances import AS_FAR, DEEPER, FEW_POINTS, LESS_AREA, LINES, MORE_AREA

# Columns of points: place, depth, features of the ground and of the other body, facets of both.
PLACE, HOW_DEEP, OF_GROUND, OF_OTHER, FACET, FACET_B = 0, 3, 4, 5, 6, 7
POINT = 8


@device
def put_point(points, count, q, depth, of_ground, of_other, facet, facet_b):
    """Note a point if there is room; returns how many there are."""
    if count < points.shape[0]:
        points[count, 0], points[count, 1], points[count, 2] = q
        points[count, HOW_DEEP], points[count, OF_GROUND], points[count, OF_OTHER] = depth, of_ground, of_other
        points[count, FACET], points[count, FACET_B] = facet, facet_b
        count += 1
    return count


@device
def put_best_point(points, count, q, depth, of_ground, of_other, facet, facet_b):
    """The same, but of points with one name only the deepest is kept."""
    for k in range(count):
        if points[k, OF_GROUND] == of_ground and points[k, OF_OTHER] == of_other:
            if depth > points[k, HOW_DEEP]:
                put_point(points, k, q, depth, of_ground, of_other, facet, facet_b)
            return count
    return put_point(points, count, q, depth, of_ground, of_other, facet, facet_b)


@device
def swap_points(points, i, j):
    """Exchange two points."""
    for c in range(POINT):
        points[i, c], points[j, c] = points[j, c], points[i, c]


@device
def is_before(points, i, j, slack):
    """Whether point i, which is as far out as point j, is taken before it: the deeper one by more than `slack`, else by the
    ids, in an order that is the same with the two bodies swapped. Of two with one id that of facets comes first: what is near
    can name it. One that a ray found knows its face alone."""
    if abs(points[i, HOW_DEEP] - points[j, HOW_DEEP]) > slack:
        return points[i, HOW_DEEP] > points[j, HOW_DEEP]
    sum_i, sum_j = points[i, OF_GROUND] + points[i, OF_OTHER], points[j, OF_GROUND] + points[j, OF_OTHER]
    if sum_i != sum_j:
        return sum_i < sum_j
    apart_i, apart_j = abs(points[i, OF_GROUND] - points[i, OF_OTHER]), abs(points[j, OF_GROUND] - points[j, OF_OTHER])
    if apart_i != apart_j:
        return apart_i < apart_j
    return min(points[i, FACET], points[i, FACET_B]) >= 0.0 > min(points[j, FACET], points[j, FACET_B])


@device
def points_apart(points, count, slack):
    """How many points show a gap of more than `slack`: those are kept, in front."""
    kept = np.int64(0)
    for k in range(count):
        if points[k, HOW_DEEP] < -slack:
            for c in range(POINT):
                points[kept, c] = points[k, c]
            kept += 1
    return kept


@device
def deepest_point(points, start, count, slack):
    """Of the points from `start` on the deepest; of those that are as deep the first by their ids."""
    most = -math.inf
    for k in range(start, count):
        most = max(most, points[k, HOW_DEEP])
    found = -1
    for k in range(start, count):
        if points[k, HOW_DEEP] >= most - slack and (found < 0 or is_before(points, k, found, math.inf)):
            found = k
    return found


@device
def outside_by(points, kept, j, u, v):
    """How far point j is outside of the polygon of the first `kept` points (2 to 4, not in order), across n: the distance from
    the nearest of their lines that has it alone on its far side; 0 if there is none."""
    x, y = dot((points[j, 0], points[j, 1], points[j, 2]), u), dot((points[j, 0], points[j, 1], points[j, 2]), v)
    best = 0.0
    for a in range(kept):
        for b in range(a):
            ax, ay = dot((points[a, 0], points[a, 1], points[a, 2]), u), dot((points[a, 0], points[a, 1], points[a, 2]), v)
            bx, by = dot((points[b, 0], points[b, 1], points[b, 2]), u), dot((points[b, 0], points[b, 1], points[b, 2]), v)
            ex, ey = bx - ax, by - ay
            length = math.sqrt(ex * ex + ey * ey)
            if not length > 0.0:
                continue
            off = (ex * (y - ay) - ey * (x - ax)) / length
            # All others on the other side.
            alone = True
            for c in range(kept):
                if c != a and c != b:
                    cx = dot((points[c, 0], points[c, 1], points[c, 2]), u)
                    cy = dot((points[c, 0], points[c, 1], points[c, 2]), v)
                    if (ex * (cy - ay) - ey * (cx - ax)) * off > 0.0:
                        alone = False
            if alone and abs(off) > best:
                best = abs(off)
    return best


@device
def area_of_four(points, a, b, c, d, u, v):
    """Twice the area of the largest quadrangle of four points, across n: half the largest of |diagonal x diagonal|."""
    best = 0.0
    for turn in range(3):
        i, j, k, m = (a, b, c, d) if turn == 0 else ((a, c, b, d) if turn == 1 else (a, d, b, c))
        p = (points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2])
        q = (points[m, 0] - points[k, 0], points[m, 1] - points[k, 1], points[m, 2] - points[k, 2])
        best = max(best, abs(dot(p, u) * dot(q, v) - dot(p, v) * dot(q, u)))
    return best


@kernel(inner="f8[:,::1], i8, vec3, vec3")
def grow_area(points, count, u, v):
    """Exchange each of the first four points for another if that makes their quadrangle clearly larger; four times."""
    for _turn in range(4):
        for place in range(4):
            a, b, c = (1 if place == 0 else 0), (2 if place <= 1 else 1), (3 if place <= 2 else 2)
            best, where = area_of_four(points, a, b, c, place, u, v), -1
            for k in range(4, count):
                area = area_of_four(points, a, b, c, k, u, v)
                if area > best * (1.0 + MORE_AREA):
                    best, where = area, k
            if where >= 0:
                swap_points(points, place, where)


@device
def is_corner(points, k):
    """Whether a point is a corner of either body, not a crossing of edges."""
    return CORNER <= points[k, OF_GROUND] < SIDE or CORNER <= points[k, OF_OTHER] < SIDE


@kernel(inner="f8[:,::1], i8, vec3, vec3")
def prefer_corners(points, count, u, v):
    """Exchange crossings of edges among the first four points for corners, while that costs next to nothing of their area. A
    crossing slides when a body moves, and one that is farther out than a corner of the face that carries is of a side that
    sinks in."""
    enough = (1.0 - LESS_AREA) * area_of_four(points, 0, 1, 2, 3, u, v)
    for _turn in range(4):
        best, at, where = enough, -1, -1
        for place in range(4):
            if is_corner(points, place):
                continue
            a, b, c = (1 if place == 0 else 0), (2 if place <= 1 else 1), (3 if place <= 2 else 2)
            for k in range(4, count):
                if is_corner(points, k):
                    area = area_of_four(points, a, b, c, k, u, v)
                    if area > best * (1.0 + AS_FAR) or (
                        where >= 0 and area > best * (1.0 - AS_FAR) and is_before(points, k, where, math.inf)
                    ):
                        best, at, where = max(area, best), place, k
        if where < 0:
            break
        swap_points(points, at, where)


@kernel(inner="f8[:,::1], i8, i8, i8, vec3")
def least_missed(points, count, kept, other, n):
    """Which of the first `kept` points makes room for another one: that without which the rest and the other one come nearest
    to the width of all, across n, where they fall short most. The last of fewer than four.

    Widths are those at right angles to the lines between two of the five: no frame changes them, and the least width of a
    polygon is one of them.
    """
    if kept < 4:
        return kept - 1
    worst = (1.0, 1.0, 1.0, 1.0)
    for i in range(4):
        for j in range(i + 1, 5):
            b = other if j == 4 else j
            d = cross(n, (points[b, 0] - points[i, 0], points[b, 1] - points[i, 1], points[b, 2] - points[i, 2]))
            least, most = math.inf, -math.inf
            for k in range(count):
                far = dot(d, (points[k, 0], points[k, 1], points[k, 2]))
                least, most = min(least, far), max(most, far)
            if most > least:
                whole = most - least
                left = (
                    width_without(points, 0, other, d) / whole, width_without(points, 1, other, d) / whole,
                    width_without(points, 2, other, d) / whole, width_without(points, 3, other, d) / whole,
                )  # fmt: skip
                worst = (min(worst[0], left[0]), min(worst[1], left[1]), min(worst[2], left[2]), min(worst[3], left[3]))
    best, where = worst[0], 0
    for place in range(1, 4):
        if worst[place] > best * (1.0 + MORE_AREA):
            best, where = worst[place], place
    return where


@device
def width_without(points, place, other, d):
    """Width along d of the first four points, another one in place of one of them."""
    least, most = math.inf, -math.inf
    for k in range(4):
        at = other if k == place else k
        far = dot(d, (points[at, 0], points[at, 1], points[at, 2]))
        least, most = min(least, far), max(most, far)
    return most - least


@device
def across(n):
    """Two unit vectors at right angles to n and to each other."""
    u = any_orthogonal(n)
    length = math.sqrt(norm2(u))
    u = (u[0] / length, u[1] / length, u[2] / length)
    return u, cross(n, u)


@kernel(inner="f8[:,::1], i8, vec3, f8")
def thin_points(points, count, n, size):
    """Keep the deepest point and those that are farthest out across n, both ways along some lines, in front; returns how many.
    What they span is all but what all of them do, and they are few."""
    swap_points(points, 0, deepest_point(points, 0, count, DEEPER * size))
    kept, (u, v), slack = 1, across(n), AS_FAR * size
    for line in range(LINES):
        angle = math.pi * line / LINES
        x, y = math.cos(angle), math.sin(angle)
        d = (x * u[0] + y * v[0], x * u[1] + y * v[1], x * u[2] + y * v[2])
        low, high = 0, 0
        least = most = dot(d, (points[0, 0], points[0, 1], points[0, 2]))
        for k in range(1, count):
            far = dot(d, (points[k, 0], points[k, 1], points[k, 2]))
            if far > most + slack or (far > most - slack and is_before(points, k, high, DEEPER * size)):
                most, high = max(most, far), k
            if far < least - slack or (far < least + slack and is_before(points, k, low, DEEPER * size)):
                least, low = min(least, far), k
        if high >= kept:
            swap_points(points, kept, high)
            low = high if low == kept else (kept if low == high else low)
            kept += 1
        if low >= kept:
            swap_points(points, kept, low)
            kept += 1
    return kept


@kernel(inner="f8[:,::1], i8, vec3, i8, f8")
def spread_points(points, count, n, limit, size):
    """Keep at most `limit` (1 to 4) of the points, in front; returns how many.

    Two that are as far apart as any, all but; then whichever is farthest outside of what those kept span across n; the one that
    is missed least makes room for the deepest, if none kept is as deep. Points that add nothing to the span are left out.
    """
    if count <= 1:
        return count
    if count > FEW_POINTS:
        count = thin_points(points, count, n, size)
    deepest = deepest_point(points, 0, count, DEEPER * size)
    most = points[deepest, HOW_DEEP]
    if limit == 1:
        swap_points(points, 0, deepest)
        return 1
    u, v = across(n)
    # The farthest from any, here the first by its id, is a corner of the hull; and the farthest from that.
    first = 0
    for k in range(1, count):
        first = k if is_before(points, k, first, math.inf) else first
    swap_points(points, 0, first)
    for turn in range(2):
        best, where = -1.0, 0
        px, py = dot((points[0, 0], points[0, 1], points[0, 2]), u), dot((points[0, 0], points[0, 1], points[0, 2]), v)
        for k in range(1, count):
            q = (points[k, 0], points[k, 1], points[k, 2])
            x, y = dot(q, u) - px, dot(q, v) - py
            far = x * x + y * y
            if far > best * (1.0 + AS_FAR) or (far > best * (1.0 - AS_FAR) and is_before(points, k, where, DEEPER * size)):
                best, where = max(far, best), k
        if turn == 0:
            swap_points(points, 0, where)
        else:
            swap_points(points, 1, where)
            extent = math.sqrt(max(best, 0.0))
    least = AS_FAR * size
    if not extent > least:
        # All in one place: the deepest.
        swap_points(points, 0, deepest_point(points, 0, count, DEEPER * size))
        return 1
    kept = 2
    while kept < min(limit, count):
        best, where = max(least, AS_FAR * extent), -1
        for k in range(kept, count):
            off = outside_by(points, kept, k, u, v)
            if off > best * (1.0 + AS_FAR) or (
                where >= 0 and off > best * (1.0 - AS_FAR) and is_before(points, k, where, DEEPER * size)
            ):
                best, where = max(best, off), k
        if where < 0:
            break
        swap_points(points, kept, where)
        kept += 1
    if kept == 4:
        grow_area(points, count, u, v)
        prefer_corners(points, count, u, v)
    held = -math.inf
    for k in range(kept):
        held = max(held, points[k, HOW_DEEP])
    if held < most - DEEPER * size:
        deepest = deepest_point(points, kept, count, DEEPER * size)
        if kept < limit:
            swap_points(points, kept, deepest)
            kept += 1
        else:
            swap_points(points, least_missed(points, count, kept, deepest, n), deepest)
    return kept
