"""Which of the contacts of a part with the ground count.

A closest point on an edge counts only where no face beside it is nearer: there is no normal but those of the surface. Where a
part is in the sheet and in the bottom or a side at once, the shorter way out counts. What lies between vertices that touch is
said by them.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.convex.manifold import has_round_face
from thud.math.vec3 import add_scaled, cross, dot, norm2, sub
from thud.terrain.collision.column import FACES
from thud.terrain.collision.contact_table import (
    ALONG,
    AT,
    CONTACT,
    CORNER,
    DEPTH,
    EDGE,
    OUT,
    ROW,
    contact_point,
    load_face,
    unit_or,
)
from thud.terrain.collision.patch import patch_size, tangents
from thud.terrain.collision.tolerances import EDGE_LEAN, LIFT_LEAST, ON_EDGE, SAME_NORMAL

_I = np.int64


@device
def corner_of(corners, k):
    """Corner k of a patch."""
    return corners[k, 0], corners[k, 1], corners[k, 2]


@device
def foot_on_segment(p, x, y):
    """(place, from 0 to 1, squared distance) of the point of the segment from x to y that is nearest to p."""
    e, d = sub(y, x), sub(p, x)
    whole = norm2(e)
    s = min(max(dot(d, e) / whole, 0.0), 1.0) if whole > 0.0 else 0.0
    return s, norm2((d[0] - s * e[0], d[1] - s * e[1], d[2] - s * e[2]))


@device
def rise_inward(corners, p, n, least):
    """(whether a point p is on the patch's border, how steeply direction n rises from there into the patch): its greatest
    cosine with a way across the borders that p is on."""
    is_on, steepest = False, -1.0
    for side in range(4):
        # From corner i to corner j: at b = 0 and 1 along a, at a = 0 and 1 along b.
        i, j = (1 if side == 3 else (2 if side == 1 else 0)), (1 if side == 0 else (2 if side == 2 else 3))
        s, far2 = foot_on_segment(p, corner_of(corners, i), corner_of(corners, j))
        if far2 > least * least:
            continue
        a, b = (s if side < 2 else side - 2.0), (s if side >= 2 else side * 1.0)
        ex, ey, ez, fx, fy, fz = tangents(corners, a, b)
        sign = 1.0 if side == 0 or side == 2 else -1.0
        way = (sign * fx, sign * fy, sign * fz) if side < 2 else (sign * ex, sign * ey, sign * ez)
        is_on, steepest = True, max(steepest, dot(n, unit_or(way, (0.0, 0.0, 0.0))))
    return is_on, steepest


@device
def leave_out(contacts, kept):
    """Take out the contacts that are marked. Returns how many stay."""
    stay = 0
    for i in range(kept):
        if contacts[i, OUT] == 0.0:
            for column in range(CONTACT):
                contacts[stay, column] = contacts[i, column]
            stay += 1
    return stay


@kernel(inner="surface, work_space, i8, f8[:,::1]")
def drop_edges(surface, space, kept, contacts):
    """Leave out closest points on edges where a face beside the edge is nearer, or has the same point. Of a flat face that goes
    on beyond the edge it is nearer by the square of what a normal is off it: it is asked which way that leans. Returns how many
    stay."""
    for i in range(kept):
        good, p = True, contact_point(contacts, i)
        if contacts[i, EDGE] > 0.0:
            n = (contacts[i, ALONG], contacts[i, ALONG + 1], contacts[i, ALONG + 2])
            for j in range(kept):
                if j == i or not good:
                    continue
                load_face(surface, space.found, _I(contacts[j, ROW]), space)
                least = 2.0 * ON_EDGE * patch_size(space.corners)
                is_shared, rise = rise_inward(space.corners, p, n, least)
                if not is_shared:
                    continue
                leans = contacts[j, DEPTH] >= contacts[i, DEPTH] - least and rise > EDGE_LEAN
                deeper = leans or contacts[j, DEPTH] > contacts[i, DEPTH] + least
                same = contacts[j, EDGE] > 0.0 and norm2(sub(p, contact_point(contacts, j))) <= least * least and j < i
                good = not (deeper or same)
        # Marked, as those before are still compared with.
        contacts[i, OUT] = 0.0 if good else 1.0
    return leave_out(contacts, kept)


@kernel(inner="work_space, i8, f8[:,::1]")
def shortest_way(space, kept, contacts):
    """Of sheet, bottom and sides that the part is in at once, leave out those through which the way is longer than the
    shortest. Returns how many contacts stay."""
    least, best = math.inf, _I(-1)
    for face in range(FACES):
        way = -math.inf
        for k in range(kept):
            if space.found[_I(contacts[k, ROW]), 0] == face:
                way = max(way, contacts[k, DEPTH])
        if 0.0 <= way < least:
            least, best = way, _I(face)
    if best < 0:
        return kept
    stay = 0
    for k in range(kept):
        if space.found[_I(contacts[k, ROW]), 0] == best or contacts[k, DEPTH] < 0.0:
            for column in range(CONTACT):
                contacts[stay, column] = contacts[k, column]
            stay += 1
    return stay


@device
def covered_by(contacts, i, j, k, m, least):
    """Whether contact i lies, seen along its normal, in the triangle of three others of the same normal, and no more than
    `least` deeper than they are there."""
    n = (contacts[i, ALONG], contacts[i, ALONG + 1], contacts[i, ALONG + 2])
    p = contact_point(contacts, j)
    e, f, w = sub(contact_point(contacts, k), p), sub(contact_point(contacts, m), p), sub(contact_point(contacts, i), p)
    area = dot(cross(e, f), n)
    if not abs(area) > least * least:
        return False
    u, v = dot(cross(w, f), n) / area, dot(cross(e, w), n) / area
    if min(u, min(v, 1.0 - u - v)) < -ON_EDGE:
        return False
    depth = (1.0 - u - v) * contacts[j, DEPTH] + u * contacts[k, DEPTH] + v * contacts[m, DEPTH]
    return contacts[i, DEPTH] <= depth + least


@device
def corner_along(contacts, i, j):
    """Whether contact j is at a vertex and has the normal of contact i."""
    return contacts[j, CORNER] > 0.0 and (
        contacts[i, ALONG] * contacts[j, ALONG] + contacts[i, ALONG + 1] * contacts[j, ALONG + 1]
        + contacts[i, ALONG + 2] * contacts[j, ALONG + 2] > 1.0 - SAME_NORMAL
    )  # fmt: skip


@device
def same_place(contacts, j, p, least):
    """Whether contact j is at p."""
    return norm2(sub(p, contact_point(contacts, j))) <= least * least


@device
def known_corner(contacts, i, kept, p, least):
    """Whether a vertex at p is a contact along the normal of contact i already: on an edge it is below two patches."""
    known = False
    for j in range(kept):
        known = known or (corner_along(contacts, i, j) and same_place(contacts, j, p, least))
    return known


@device
def covered_between(contacts, i, j, k, least):
    """The same on the line between two others. To the side of it, the point of a round part is known to the root of its depth's
    error only."""
    n = (contacts[i, ALONG], contacts[i, ALONG + 1], contacts[i, ALONG + 2])
    p = contact_point(contacts, j)
    e, w = sub(contact_point(contacts, k), p), sub(contact_point(contacts, i), p)
    e, w = add_scaled(e, n, -dot(e, n)), add_scaled(w, n, -dot(w, n))
    whole = norm2(e)
    if not whole > least * least:
        return False
    s = dot(w, e) / whole
    depth = (1.0 - s) * contacts[j, DEPTH] + s * contacts[k, DEPTH]
    aside = norm2(add_scaled(w, e, -s)) > least * least / LIFT_LEAST
    return -ON_EDGE <= s <= 1.0 + ON_EDGE and not aside and contacts[i, DEPTH] <= depth + least


@device
def covered(contacts, i, kept, is_round, least):
    """Whether contact i says no more than those at vertices: where a face lies on flat ground, a patch is touched all over, and
    which of its points comes out is left to rounding. is_round: between the corners of a cap and its rim it is covered too, if
    it is no deeper than some corner."""
    many, deepest = 0, -math.inf
    for j in range(kept):
        if corner_along(contacts, i, j):
            many, deepest = many + 1, max(deepest, contacts[j, DEPTH])
    if is_round and many > 2 and contacts[i, DEPTH] <= deepest + least:
        return True
    for j in range(kept):
        if corner_along(contacts, i, j):
            if same_place(contacts, j, contact_point(contacts, i), least) and contacts[i, DEPTH] <= contacts[j, DEPTH] + least:
                return True
            for k in range(j + 1, kept):
                if corner_along(contacts, i, k):
                    if covered_between(contacts, i, j, k, least):
                        return True
                    for m in range(k + 1, kept):
                        if corner_along(contacts, i, m) and covered_by(contacts, i, j, k, m, least):
                            return True
    return False


@kernel(inner="surface, parts, part_query, work_space, i8, f8[:,::1]")
def drop_covered(surface, parts, query, space, kept, contacts):
    """Leave out contacts that vertices cover. Returns how many stay."""
    is_round = has_round_face(parts, query.b)
    for i in range(kept):
        contacts[i, OUT] = 0.0
        if contacts[i, CORNER] == 0.0:
            load_face(surface, space.found, _I(contacts[i, ROW]), space)
            contacts[i, OUT] = 1.0 if covered(contacts, i, kept, is_round, LIFT_LEAST * patch_size(space.corners)) else 0.0
    return leave_out(contacts, kept)


@device
def any_deep(contacts, count):
    """Whether any of the contacts is of an overlap."""
    most = -math.inf
    for k in range(count):
        most = max(most, contacts[k, DEPTH])
    return most >= 0.0


@kernel(inner="f8[:,::1], i8, i8")
def spread_out(contacts, count, most):
    """Bring up to `most` contacts to the front: the deepest, then each time that which is farthest from those taken, deep ones
    first among near equals. Returns how many."""
    if count <= most:
        return count
    for taken in range(most):
        best, value = taken, -math.inf
        for k in range(taken, count):
            worth = contacts[k, DEPTH]
            if taken > 0:
                worth = math.inf
                for j in range(taken):
                    x = contacts[k, AT] - contacts[j, AT]
                    y = contacts[k, AT + 1] - contacts[j, AT + 1]
                    z = contacts[k, AT + 2] - contacts[j, AT + 2]
                    worth = min(worth, x * x + y * y + z * z)
            if worth > value:
                best, value = k, worth
        for column in range(contacts.shape[1]):
            contacts[taken, column], contacts[best, column] = contacts[best, column], contacts[taken, column]
    return most
