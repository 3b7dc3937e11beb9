"""Contacts of a shape and the ground below a displaced surface, exact on bilinear patches.

A face is a patch of the sheet, of the bottom or of a side of the ground. Each face that a convex part touches, or comes within
the margin of, gives contacts:

- A rounded part is its core, a point or a segment, made larger: the closest points of core and face are the contact.
- Other parts that are apart from the face have their closest points.
- Else the part is lifted out of the face and lowered again until it touches: how much of the way is left is the depth along
  that direction. Two directions are tried, the face's own normal and the mean of all faces of its kind that the part touches,
  by area; the smaller depth counts. So a sphere in a groove gets the normals of both walls, and a large box that grazes the
  steep side of a small bump is not pushed out sideways through the whole of its length. Vertices of the part below or above
  the face along that direction are contacts too; of round parts the corners of a polygon in their cap, or the ends of the line
  of their side: a cylinder stands and lies on them.

Which of them count is said in `contact_choice.py`.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import CAST_UNCONVERGED, HIT, OVERLAPPING, SEPARATED
from thud.constants import TINY
from thud.convex.casts.linear_cast import cast_pair
from thud.convex.gjk import part_size
from thud.convex.manifold import CORNER as OWN_CORNER
from thud.convex.manifold import OWN, has_round_face, new_manifold_space, round_face_toward
from thud.convex.own_parts import own_parts
from thud.convex.tolerances import MANIFOLD_CAP_SIDES
from thud.math.pose import load_rotation, load_translation, rotate, transform, unrotate
from thud.math.vec3 import cross, dot, load3, norm2, sub
from thud.pairing.rows import relative_pose, row_of
from thud.shapes.packed import BOUND, KIND, P0, P1, P2, P3, RADIUS, VERTEX_COUNT
from thud.shapes.shape import BOX, HALF_SPACE, HULL, SPHERE
from thud.terrain.collision.column import load_column
from thud.terrain.collision.contact_choice import (
    any_deep,
    drop_covered,
    drop_edges,
    known_corner,
    same_place,
    shortest_way,
    spread_out,
)
from thud.terrain.collision.contact_table import (
    ALONG,
    AT,
    CONTACT,
    CORNER,
    DEPTH,
    ROUGH,
    ROW,
    load_face,
    put_contact,
    unit_or,
)
from thud.terrain.collision.ground_walk import near_ground_parts, part_in_ground, walk_ground
from thud.terrain.collision.meets import part_place, part_point
from thud.terrain.collision.nearest import exact_nearest
from thud.terrain.collision.patch import line_meets_patch, patch_normal, patch_size
from thud.terrain.collision.patch_query import CAST, DISTANCE, GATHER, MEET, middle_of, patch_query
from thud.terrain.collision.tolerances import (
    BURIED_STEPS,
    BURIED_STEPS_UP,
    LIFT_APART,
    LIFT_CLEAR,
    LIFT_HALVES,
    LIFT_LEAST,
    LIFT_SAME,
    LIFT_STEEP,
    LIFT_STEPS,
    ON_EDGE,
    SAME_NORMAL,
)
from thud.terrain.collision.volumes import set_points
from thud.terrain.collision.walk import heights, part_box, walk_nearest, walk_part
from thud.terrain.collision.work_space import AWAY, BEST, FACE, PLACE, POINT, STATUS, PartQuery, new_work_space
from thud.terrain.surface_arrays import SIDE

_I = np.int64


# What a vertex adds to the number of a face, and how many numbers there are.
VERTEX_NUMBER, PATCH_NUMBERS = 0x1B873593, 1 << 31


@device
def start_of_lift(parts, query, corners, n, margin):
    """(whether there is one, how far up, how far down again): along n, so that the part does not begin in touch."""
    low, _high = heights(parts, query.b, query.r, query.t, n)
    top = -math.inf
    for k in range(4):
        top = max(top, n[0] * corners[k, 0] + n[1] * corners[k, 1] + n[2] * corners[k, 2])
    up = max(top - low, 0.0)
    up += margin + LIFT_CLEAR * (up + margin) + LIFT_LEAST * (part_size(parts, query.a, query.b) + abs(top) + abs(low))
    return low > -math.inf, up, up + margin


@kernel(inner="parts, part_query, work_space, vec3, f8")
def rough_lift(parts, query, space, n, margin):
    """(found, depth, point): `lift` for the tetrahedron of the patch: up to a quarter of its twist too much."""
    good, up, way = start_of_lift(parts, query, space.corners, n, margin)
    o = set_points(parts, query.a, space.corners, 4)
    if not good:
        return False, 0.0, o
    t = query.t
    at = (t[0] + up * n[0] - o[0], t[1] + up * n[1] - o[1], t[2] + up * n[2] - o[2])
    down = (-way * n[0], -way * n[1], -way * n[2])
    status, time, p, _n = cast_pair(parts, query.a, query.b, query.r, at, down, 1.0)
    found = status in (HIT, CAST_UNCONVERGED)
    return found, up - time * way, (p[0] + o[0], p[1] + o[1], p[2] + o[2])


@kernel(inner="parts, part_query, work_space, vec3, f8, f8")
def lift(parts, query, space, n, margin, depth):
    """(found, depth, point): how far a part must be lifted along n to clear the patch in `space`; negative if it can be
    lowered, by no more than `margin`. depth: that of the patch's tetrahedron, from where it is lowered by their distance."""
    a, b, r, t, _m, _mode = query
    zero = (0.0, 0.0, 0.0)
    least = LIFT_SAME * patch_size(space.corners)
    lower, p = depth, zero
    for _ in range(LIFT_STEPS):
        done, lower, p = settled(parts, query, space, n, depth, p)
        if not done:
            break
        if abs(lower - depth) <= least:
            return True, lower, p
        depth = lower
    good, up, way = start_of_lift(parts, query, space.corners, n, margin)
    if not good:
        return False, 0.0, zero
    start = (t[0] + up * n[0], t[1] + up * n[1], t[2] + up * n[2])
    down = (-way * n[0], -way * n[1], -way * n[2])
    hit, status, time, p, _n = patch_query(parts, PartQuery(a, b, r, start, down, _I(CAST)), space, 1.0)
    if not hit or (status != HIT and status != CAST_UNCONVERGED):
        return False, 0.0, zero
    depth, p = settled_between(parts, query, space, n, up - time * way, p, least)
    return True, depth, p


@device
def settled_between(parts, query, space, n, depth, p, least):
    """(depth, point): `settled` until a step is below `least`. On a twisted patch a step may lead too far, into touch, or past
    what it leads to by many times its way; so it is kept between a depth that is too little and one that is too much, and
    halves them where it would leave them."""
    low, high = -math.inf, math.inf
    for _ in range(LIFT_HALVES):
        done, lower, q = settled(parts, query, space, n, depth, p)
        if done:
            p = q
            if abs(lower - depth) <= least:
                return lower, p
            if lower < depth:
                high = min(high, depth)
            else:
                low = max(low, depth)
        elif high < math.inf:
            low = max(low, depth)
        else:
            break
        depth = lower if done and low < lower < high else 0.5 * (low + high)
    return depth, p


@kernel(inner="parts, part_query, work_space, vec3, f8, vec3")
def settled(parts, query, space, n, depth, p):
    """(done, depth, point): a depth along n that is a little too much for the patch in `space`, made exact: from a little above
    there, their distance is the rest of the way. Not done where they are not apart there, or along the patch."""
    a, b, r, t, still, _mode = query
    corners = space.corners
    back = depth + LIFT_APART * patch_size(corners)
    lifted = (t[0] + back * n[0], t[1] + back * n[1], t[2] + back * n[2])
    above = PartQuery(a, b, r, lifted, still, _I(DISTANCE))
    hit, status, d, q, away = patch_query(parts, above, space, math.inf)
    steep = dot(n, away)
    if not hit or status != SEPARATED or not steep > LIFT_STEEP:
        return False, depth, p
    # The part's point, where the part is; along n from there to the patch itself.
    y = (q[0] + d * away[0] - back * n[0], q[1] + d * away[1] - back * n[1], q[2] + d * away[2] - back * n[2])
    depth = back - d / steep
    done, u, v, along = line_on_patch(corners, y, n, space.result[PLACE], space.result[PLACE + 1], depth)
    if done and -ON_EDGE <= u <= 1.0 + ON_EDGE and -ON_EDGE <= v <= 1.0 + ON_EDGE:
        return True, along, (y[0] + along * n[0], y[1] + along * n[1], y[2] + along * n[2])
    return True, depth, q


@device
def line_on_patch(corners, p, n, u, v, length):
    """(converged, u, v, length): where the line p + length n meets a patch, from a guess."""
    for k in range(4):
        for axis in range(3):
            corners[k, axis] -= p[axis]
    done, u, v, length = line_meets_patch(corners, (0.0, 0.0, 0.0), n, u, v, length)
    for k in range(4):
        for axis in range(3):
            corners[k, axis] += p[axis]
    return done, u, v, length


@device
def half_space_depth(parts, b, r, t, corners):
    """(depth, point, normal): how deep the deepest corner of a patch is in a half-space, which must go back along its
    normal."""
    up = rotate(r, (parts.reals[b, P0], parts.reals[b, P1], parts.reals[b, P2]))
    top = parts.reals[b, P3] + dot(up, t)
    depth, p = -math.inf, (0.0, 0.0, 0.0)
    for k in range(4):
        q = (corners[k, 0], corners[k, 1], corners[k, 2])
        if top - dot(up, q) > depth:
            depth, p = top - dot(up, q), q
    return depth, p, (-up[0], -up[1], -up[2])


@device
def patch_area_normal(corners):
    """The cross product of the diagonals: twice the patch's area as seen along its mean normal."""
    e = (corners[3, 0] - corners[0, 0], corners[3, 1] - corners[0, 1], corners[3, 2] - corners[0, 2])
    f = (corners[2, 0] - corners[1, 0], corners[2, 1] - corners[1, 1], corners[2, 2] - corners[1, 2])
    return cross(e, f)


@device
def on_edge(u, v):
    """Whether a place is on an edge of its patch."""
    return u <= ON_EDGE or v <= ON_EDGE or u >= 1.0 - ON_EDGE or v >= 1.0 - ON_EDGE


@device
def mean_normal(surface, found, count, face, space):
    """Mean unit normal, by area, of the faces of one kind; 0 if they cancel."""
    x, y, z = 0.0, 0.0, 0.0
    for k in range(count):
        if found[k, 0] == face:
            load_face(surface, found, k, space)
            n = patch_area_normal(space.corners)
            x, y, z = x + n[0], y + n[1], z + n[2]
    return unit_or((x, y, z), (0.0, 0.0, 0.0))


@kernel(inner="surface, parts, part_query, work_space, f8, i8, f8[:,::1]")
def face_contacts(surface, parts, query, space, margin, count, contacts_out):
    """One contact for each of the faces found, in contacts_out; those apart by more than `margin` are left out. Returns their
    number."""
    a, b, r, t, still, _mode = query
    found, corners, result = space.found, space.corners, space.result
    radius = parts.reals[b, RADIUS]
    half_space = parts.ints[b, KIND] == HALF_SPACE
    near = PartQuery(a, b, r, t, still, _I(DISTANCE))
    kept, kind, mean = 0, _I(-1), (0.0, 0.0, 0.0)
    for k in range(count):
        if found[k, 0] != kind:
            # Faces come kind by kind.
            kind = found[k, 0]
            mean = mean_normal(surface, found, count, kind, space)
        load_face(surface, found, k, space)
        number = face_number(surface, found, k, _I(0))
        if half_space:
            depth, p, n = half_space_depth(parts, b, r, t, corners)
            if depth >= -margin:
                put_contact(contacts_out, kept, depth, n, p, b, number, k, False)
                kept += 1
            continue
        # Apart, or a core that is.
        parts.reals[b, RADIUS] = 0.0
        hit, status, d, p, n = patch_query(parts, near, space, (radius + margin) * (1.0 + ON_EDGE) + TINY)
        apart = hit and status == SEPARATED
        if apart:
            d, p, n = exact_nearest(parts, near, space, d, p, n)
        parts.reals[b, RADIUS] = radius
        if apart:
            u, v = result[PLACE], result[PLACE + 1]
            front = dot(n, patch_normal(corners, u, v))
            edge = on_edge(u, v)
            if d > radius + margin:
                continue
            if front > 0.0:
                put_contact(contacts_out, kept, radius - d, n, p, b, number, k, edge)
                kept += 1
            if front > 0.0 or edge or d > radius or radius == 0.0:
                continue
            # The core is behind the face: out through it, a sphere the way it came, what is longer as other parts.
            if parts.ints[b, KIND] == SPHERE:
                put_contact(contacts_out, kept, radius + d, (-n[0], -n[1], -n[2]), p, b, number, k, edge)
                kept += 1
                continue
        if not hit:
            continue
        n = unit_or(patch_area_normal(corners), patch_normal(corners, 0.5, 0.5))
        if norm2(n) == 0.0:
            continue
        hit, depth, p = rough_lift(parts, query, space, n, margin)
        if norm2(mean) > 0.0 and dot(mean, n) < 1.0 - SAME_NORMAL:
            again, other, q = rough_lift(parts, query, space, mean, margin)
            if again and (not hit or other < depth):
                hit, depth, p, n = True, other, q, mean
        if hit and depth >= -margin:
            put_contact(contacts_out, kept, depth, n, p, b, number, k, False)
            contacts_out[kept, ROUGH] = 1.0
            kept += 1
    return kept


@kernel(inner="surface, parts, part_query, work_space, f8, i8, f8[:,::1]")
def make_exact(surface, parts, query, space, margin, kept, contacts):
    """Contacts that were found by the tetrahedra of patches, on the patches themselves. Returns how many stay."""
    stay = 0
    for k in range(kept):
        if contacts[k, ROUGH] > 0.0:
            load_face(surface, space.found, _I(contacts[k, ROW]), space)
            n = (contacts[k, ALONG], contacts[k, ALONG + 1], contacts[k, ALONG + 2])
            hit, depth, p = lift(parts, query, space, n, margin, contacts[k, DEPTH])
            if not hit or depth < -margin:
                continue
            contacts[k, DEPTH] = depth
            contacts[k, AT], contacts[k, AT + 1], contacts[k, AT + 2] = p
        for column in range(CONTACT):
            contacts[stay, column] = contacts[k, column]
        stay += 1
    return stay


@kernel(inner="surface, parts, part_query, work_space, f8, i8, f8[:,::1], f8[:,::1]")
def add_vertices(surface, parts, query, space, margin, kept, rim, contacts):
    """Append vertices of a box or hull, and corners of the cap or line of a round part, that lie below a face that the part
    touches, along the contact's direction, as far as there is room. rim: work space. Returns how many contacts there are."""
    b, r, t = query.b, query.r, query.t
    kind, is_round = parts.ints[b, KIND], has_round_face(parts, b)
    if not is_round and ((kind != BOX and kind != HULL) or parts.reals[b, RADIUS] > 0.0):
        return kept
    many = _I(8) if kind == BOX else parts.ints[b, VERTEX_COUNT]
    first, center = kept, middle_of(parts, query)
    for k in range(first):
        load_face(surface, space.found, _I(contacts[k, ROW]), space)
        n = (contacts[k, ALONG], contacts[k, ALONG + 1], contacts[k, ALONG + 2])
        if dot(n, unit_or(patch_area_normal(space.corners), n)) < LIFT_STEEP:
            continue
        least = LIFT_LEAST * patch_size(space.corners)
        if is_round:
            count, _normal, _face = round_face_toward(parts, b, unrotate(r, (-n[0], -n[1], -n[2])), rim)
            many = _I(count)
        # Of a cap's polygon every other corner: with four there is room for what lies deeper.
        for which in range(0, many, _I(2) if is_round and many > 2 else _I(1)):
            if kept >= contacts.shape[0]:
                return kept
            name = _I(rim[which, OWN] - OWN_CORNER) if is_round else _I(which)
            v = transform(r, t, load3(rim, which, 0) if is_round else part_point(parts, b, which))
            if dot(n, sub(v, center)) > 0.0:
                continue
            done, x, y, depth = line_on_patch(space.corners, v, n, 0.5, 0.5, 0.0)
            if not done or x < 0.0 or y < 0.0 or x > 1.0 or y > 1.0 or depth < -margin:
                continue
            p = (v[0] + depth * n[0], v[1] + depth * n[1], v[2] + depth * n[2])
            if known_corner(contacts, k, kept, p, least):
                continue
            number = face_number(surface, space.found, _I(contacts[k, ROW]), _I(name + 1))
            if same_place(contacts, k, p, least):
                # The contact is at the vertex: it is that of the vertex, and named by it.
                put_contact(contacts, k, depth, n, p, b, number, _I(contacts[k, ROW]), False)
                contacts[k, CORNER] = 1.0
                continue
            put_contact(contacts, kept, depth, n, p, b, number, _I(contacts[k, ROW]), False)
            contacts[kept, CORNER] = 1.0
            kept += 1
    return kept


@kernel(inner="surface, parts, part_query, work_space, vec3, vec3, f8, i8")
def way_up(surface, parts, query, space, n, p, least, times):
    """(free, length): how far a part must go along n to be free: beyond a point p of a face, and on by its own height as long
    as something is in the way; by `least` at least, and each time as much more."""
    a, b, r, t, still, _mode = query
    low, high = heights(parts, b, r, t, n)
    step = max(high - low, least)
    way = (max(dot(n, p) - low, 0.0) + LIFT_LEAST * (high - low)) * (1.0 + LIFT_CLEAR)
    for _ in range(times):
        at = (t[0] + way * n[0], t[1] + way * n[1], t[2] + way * n[2])
        there = PartQuery(a, b, r, at, still, _I(MEET))
        part_box(parts, b, r, at, space.box)
        space.result[BEST] = 0.0
        if walk_part(surface, parts, there, space, _I(0)) == 0 and not part_in_ground(surface, parts, there, space):
            return True, way
        way += step
        step += least
    return False, way


@kernel(inner="surface, parts, part_query, work_space, f8[:,::1]")
def buried_contact(surface, parts, query, space, contacts_out):
    """The contact of a part that touches no face from outside and is in the ground: out through the nearest face, along the
    way to it, until it is free; then back until it touches. Where that way leads on into the ground, as through a bottom that
    lies in other columns, out through the sheet; or up its columns, as from below one wall of a groove. Returns how many, 0
    or 1."""
    a, b, r, t, still, _mode = query
    result, found, box = space.result, space.found, space.box
    result[BEST], result[STATUS] = math.inf, SEPARATED
    near = PartQuery(a, b, r, t, still, _I(DISTANCE))
    hits = walk_nearest(surface, parts, near, space)
    up, top = (0.0, 0.0, 0.0), (result[POINT], result[POINT + 1], result[POINT + 2])
    through = (-result[AWAY], -result[AWAY + 1], -result[AWAY + 2])
    if hits > 0:
        load_column(surface, found[0, 1], found[0, 2], found[0, 3], space.tops, space.ends)
        up = (
            space.tops[0, 0] - space.ends[0, 0], space.tops[0, 1] - space.ends[0, 1], space.tops[0, 2] - space.ends[0, 2],
        )  # fmt: skip
    hits += walk_ground(surface, parts, near, space, _I(0))
    if hits == 0:
        return 0
    n, p = (-result[AWAY], -result[AWAY + 1], -result[AWAY + 2]), (result[POINT], result[POINT + 1], result[POINT + 2])
    if norm2(n) == 0.0:
        found[0, 0] = _I(result[FACE])
        load_face(surface, found, 0, space)
        n = patch_normal(space.corners, result[PLACE], result[PLACE + 1])
    low, _high = heights(parts, b, r, t, n)
    if norm2(n) == 0.0 or not low > -math.inf:
        return 0
    free, way = way_up(surface, parts, query, space, n, p, 0.0, _I(BURIED_STEPS))
    if not free and norm2(through) > 0.0:
        free, other = way_up(surface, parts, query, space, through, top, 0.0, _I(BURIED_STEPS))
        if free:
            n, way = through, other
    if not free and norm2(up) > 0.0:
        up = unit_or(up, n)
        # There is an end to it, which a flat or small part comes to by no steps of its own height.
        least = parts.reals[b, BOUND]
        free, other = way_up(surface, parts, query, space, up, top, least, _I(BURIED_STEPS_UP))
        if free:
            n, way = up, other
    at = (t[0] + way * n[0], t[1] + way * n[1], t[2] + way * n[2])
    back = PartQuery(a, b, r, at, (-way * n[0], -way * n[1], -way * n[2]), _I(CAST))
    part_box(parts, b, r, at, box)
    result[BEST], result[STATUS] = 1.0, SEPARATED
    hits = walk_part(surface, parts, back, space, _I(0))
    hits += walk_ground(surface, parts, back, space, _I(0))
    depth = way
    found[0, 0] = _I(result[FACE])
    if hits > 0 and result[STATUS] == HIT:
        load_face(surface, found, 0, space)
        depth, p = way * (1.0 - result[BEST]), (result[POINT], result[POINT + 1], result[POINT + 2])
        depth, p = settled_between(parts, query, space, n, depth, p, LIFT_SAME * patch_size(space.corners))
    put_contact(contacts_out, 0, depth, n, p, b, face_number(surface, found, _I(0), _I(0)), 0, False)
    return 1


@device
def face_number(surface, found, k, vertex):
    """A number of each face and vertex of a part that stays the same: 2^20 a quad are more than its most samples."""
    quad, x, y = found[k, 1], found[k, 2], found[k, 3]
    number = quad * _I(1048576) + y * surface.ratio * _I(surface.quads[quad, SIDE]) + x
    return (number + found[k, 0] * _I(0x2545F491) + vertex * _I(VERTEX_NUMBER)) % _I(PATCH_NUMBERS)


@kernel(
    "i8, i8, surface, query_object, f8[:,::1], f8[:,::1], f8, i8, i8, f8[:,:,::1], i8[::1], u1[::1], i8[::1]",
)
def surface_contacts_rows(
    start, stop, surface, shape, poses_s, poses_o,
    margin, most, room,
    contacts_out, count_out, status_out, needed_out,
):  # fmt: skip
    """Contacts of each row, world frame, normal from the surface to the shape, as far as they fit: needed_out[row] says
    how many rows of room and of contacts it takes (0: it fitted)."""
    parts, part_poses = own_parts(shape.parts), shape.part_poses
    space, local = new_work_space(room), np.empty((room + 256, CONTACT))
    box, result, found, rim = space.box, space.result, space.found, new_manifold_space(MANIFOLD_CAP_SIDES).face_a
    listed = np.empty(part_poses.shape[0], np.int64)
    a, still = _I(part_poses.shape[0] - 1), (0.0, 0.0, 0.0)
    for row in range(start, stop):
        row_s = row_of(poses_s, row)
        r, t = relative_pose(poses_s, row_s, poses_o, row_of(poses_o, row))
        world_r, world_t = load_rotation(poses_s, row_s), load_translation(poses_s, row_s)
        status, count, needed = SEPARATED, 0, _I(0)
        many = near_ground_parts(surface, shape, r, t, margin, _I(1), box, listed)
        for i in range(many):
            b = listed[i]
            rb, tb = part_place(part_poses, b, r, t)
            # Rounded off by the margin, the part touches all that is so near.
            radius, level = parts.reals[b, RADIUS], parts.reals[b, P3]
            parts.reals[b, RADIUS] = radius + margin
            if parts.ints[b, KIND] == HALF_SPACE:
                parts.reals[b, P3] = level + margin
            part_box(parts, b, rb, tb, box)
            result[BEST], result[STATUS] = 0.0, SEPARATED
            query = PartQuery(a, b, rb, tb, still, _I(GATHER))
            hits = walk_part(surface, parts, query, space, _I(0))
            hits = walk_ground(surface, parts, query, space, _I(hits))
            parts.reals[b, RADIUS], parts.reals[b, P3] = radius, level
            if hits > room:
                needed = max(needed, _I(hits))
                continue
            unique = _I(sorted_unique(found, hits))
            kept = _I(face_contacts(surface, parts, query, space, margin, unique, local))
            kept = _I(drop_edges(surface, space, kept, local))
            if parts.ints[b, KIND] != HALF_SPACE:
                # A half-space goes back from all of the ground at once.
                kept = _I(shortest_way(space, kept, local))
            # Vertices of all faces first, without what they cover: they are farthest out. What is kept is made exact.
            kept = _I(add_vertices(surface, parts, query, space, margin, kept, rim, local))
            kept = _I(drop_covered(surface, parts, query, space, kept, local))
            kept = _I(spread_out(local, kept, most))
            kept = _I(make_exact(surface, parts, query, space, margin, kept, local))
            kept = _I(drop_covered(surface, parts, query, space, kept, local))
            if not any_deep(local, kept):
                inside = PartQuery(a, b, rb, tb, still, _I(MEET))
                part_box(parts, b, rb, tb, box)
                if part_in_ground(surface, parts, inside, space):
                    part_box(parts, b, rb, tb, box)
                    kept = _I(buried_contact(surface, parts, query, space, local))
            kept = spread_out(local, kept, most)
            for k in range(kept):
                if local[k, DEPTH] >= 0.0:
                    status = OVERLAPPING
                if count < contacts_out.shape[1]:
                    p = transform(world_r, world_t, (local[k, AT], local[k, AT + 1], local[k, AT + 2]))
                    n = rotate(world_r, (local[k, ALONG], local[k, ALONG + 1], local[k, ALONG + 2]))
                    for column in range(CONTACT):
                        contacts_out[row, count, column] = local[k, column]
                    for axis in range(3):
                        contacts_out[row, count, ALONG + axis] = n[axis]
                        contacts_out[row, count, AT + axis] = p[axis]
                count += 1
        if count > contacts_out.shape[1]:
            needed = max(needed, _I(count))
        count_out[row], status_out[row], needed_out[row] = count, status, needed


@device
def patch_order(found, k):
    """One number by which faces are sorted: the sheet first; quad, then y, then x, each below 2^11."""
    return (found[k, 0] << 58) | (found[k, 1] << 22) | (found[k, 3] << 11) | found[k, 2]


@device
def swap_patches(found, i, j):
    """Exchange two rows."""
    for c in range(4):
        found[i, c], found[j, c] = found[j, c], found[i, c]


@kernel(inner="i8[:,::1], i8, i8")
def sift_down(found, root, count):
    """Let a row sink to its place in the heap."""
    while True:
        child = 2 * root + 1
        if child >= count:
            return
        if child + 1 < count and patch_order(found, child) < patch_order(found, child + 1):
            child += 1
        if patch_order(found, root) >= patch_order(found, child):
            return
        swap_patches(found, root, child)
        root = child


@kernel(inner="i8[:,::1], i8")
def sorted_unique(found, count):
    """Sort the faces found by a heap and drop repeats: a patch on an edge is found from both primitives.
    Returns how many."""
    for root in range(count // 2 - 1, -1, -1):
        sift_down(found, root, count)
    for last in range(count - 1, 0, -1):
        swap_patches(found, 0, last)
        sift_down(found, _I(0), last)
    kept = 0
    for i in range(count):
        if kept == 0 or patch_order(found, i) != patch_order(found, kept - 1):
            for c in range(4):
                found[kept, c] = found[i, c]
            kept += 1
    return kept
