"""Contacts of a shape and a displaced surface.

For each patch that a convex part touches, the part is lifted above it and lowered again until it touches: how much of the
way is left is the depth along that direction. Two directions are tried, the patch's own normal and the mean of all patches
that the part touches, weighted by area; the smaller depth counts. So a sphere in a groove gets the normals of both walls,
and a large box that grazes the steep side of a small bump is not pushed out sideways through the whole of its length.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import CAST_UNCONVERGED, HIT, OVERLAPPING, SEPARATED
from thud.constants import TINY
from thud.convex.casts.linear_cast import cast_pair
from thud.convex.gjk import part_size
from thud.convex.own_parts import own_parts
from thud.math.pose import load_rotation, load_translation, rotate, transform
from thud.math.vec3 import cross, dot, norm2
from thud.pairing.rows import relative_pose, row_of
from thud.shapes.packed import KIND, P0, P1, P2, P3, RADIUS
from thud.shapes.shape import HALF_SPACE
from thud.terrain.collision.meets import part_in_ground, part_place
from thud.terrain.collision.patch import load_patch, patch_normal, patch_point
from thud.terrain.collision.tolerances import LIFT_CLEAR, LIFT_LEAST, SAME_NORMAL
from thud.terrain.collision.volumes import set_points
from thud.terrain.collision.walk import DISTANCE, GATHER, heights, near_parts, part_box, patch_query, walk_part
from thud.terrain.collision.work_space import BEST, NEAR, STATUS, PartQuery, new_work_space
from thud.terrain.surface_arrays import SIDE

_I = np.int64


# Columns of a contact: depth, normal from the surface to the part (3), point on the surface (3), part, number of the patch.
DEPTH, ALONG, AT, PART, PATCH = 0, 1, 4, 7, 8
CONTACT = 9


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, f8, f8[:,::1]")
def lift(parts, a, b, r, t, n, margin, corners):
    """(found, depth, point): how far part b must be lifted along n to clear the hull of a patch; negative if it can be
    lowered, by no more than `margin`."""
    o = set_points(parts, a, corners, 4)
    at = (t[0] - o[0], t[1] - o[1], t[2] - o[2])
    low, _high = heights(parts, b, r, at, n)
    top = 0.0
    for k in range(1, 4):
        top = max(top, n[0] * (corners[k, 0] - o[0]) + n[1] * (corners[k, 1] - o[1]) + n[2] * (corners[k, 2] - o[2]))
    if not low > -math.inf:
        return False, 0.0, o
    # Well above it, so that the cast does not start in touch.
    up = max(top - low, 0.0)
    up += margin + LIFT_CLEAR * (up + abs(top) + margin) + LIFT_LEAST * part_size(parts, a, b)
    way = up + margin
    start = (at[0] + up * n[0], at[1] + up * n[1], at[2] + up * n[2])
    m = (-way * n[0], -way * n[1], -way * n[2])
    status, time, p, _n = cast_pair(parts, a, b, r, start, m, 1.0)
    if status in (HIT, CAST_UNCONVERGED):
        return True, up - time * way, (p[0] + o[0], p[1] + o[1], p[2] + o[2])
    return False, 0.0, o


@device
def half_space_depth(parts, b, r, t, corners):
    """(found, depth, point, normal): how deep the deepest corner of a patch is in a half-space, which must go back along
    its normal."""
    up = rotate(r, (parts.reals[b, P0], parts.reals[b, P1], parts.reals[b, P2]))
    top = parts.reals[b, P3] + dot(up, t)
    depth, p = -math.inf, (0.0, 0.0, 0.0)
    for k in range(4):
        q = (corners[k, 0], corners[k, 1], corners[k, 2])
        if top - dot(up, q) > depth:
            depth, p = top - dot(up, q), q
    return True, depth, p, (-up[0], -up[1], -up[2])


@device
def patch_area_normal(corners):
    """Half the cross product of the diagonals: the patch's area as seen along its mean normal."""
    e = (corners[3, 0] - corners[0, 0], corners[3, 1] - corners[0, 1], corners[3, 2] - corners[0, 2])
    f = (corners[2, 0] - corners[1, 0], corners[2, 1] - corners[1, 1], corners[2, 2] - corners[1, 2])
    return cross(e, f)


@device
def unit_or(v, fallback):
    """v of length 1, or the fallback where it has none."""
    length = math.sqrt(norm2(v))
    if not length > TINY:
        return fallback
    return v[0] / length, v[1] / length, v[2] / length


@kernel(inner="surface, parts, i8, i8, mat3, vec3, f8, i8[:,::1], i8, f8[:,::1], f8[:,::1]")
def part_contacts(surface, parts, a, b, r, t, margin, found, count, corners, contacts_out):
    """One contact for each of the patches found, in contacts_out; those apart by more than `margin` are left out. Returns their
    number."""
    sx, sy, sz = 0.0, 0.0, 0.0
    for k in range(count):
        load_patch(surface, found[k, 1], found[k, 2], found[k, 3], corners)
        n = patch_area_normal(corners)
        sx, sy, sz = sx + n[0], sy + n[1], sz + n[2]
    mean = unit_or((sx, sy, sz), (0.0, 0.0, 0.0))
    kept = 0
    half_space = parts.ints[b, KIND] == HALF_SPACE
    for k in range(count):
        quad, x, y = found[k, 1], found[k, 2], found[k, 3]
        load_patch(surface, quad, x, y, corners)
        if half_space:
            hit, depth, p, n = half_space_depth(parts, b, r, t, corners)
        else:
            hit, depth, p, n = False, 0.0, (0.0, 0.0, 0.0), unit_or(patch_area_normal(corners), patch_normal(corners, 0.5, 0.5))
        if norm2(n) == 0.0:
            continue
        if not half_space:
            hit, depth, p = lift(parts, a, b, r, t, n, margin, corners)
        if not half_space and norm2(mean) > 0.0 and dot(mean, n) < 1.0 - SAME_NORMAL:
            again, other, q = lift(parts, a, b, r, t, mean, margin, corners)
            if again and (not hit or other < depth):
                hit, depth, p, n = True, other, q, mean
        if not hit or depth < -margin:
            continue
        contacts_out[kept, DEPTH], contacts_out[kept, PART] = depth, b
        contacts_out[kept, ALONG], contacts_out[kept, ALONG + 1], contacts_out[kept, ALONG + 2] = n
        contacts_out[kept, AT], contacts_out[kept, AT + 1], contacts_out[kept, AT + 2] = p
        contacts_out[kept, PATCH] = patch_number(surface, quad, x, y)
        kept += 1
    return kept


@kernel(inner="surface, parts, part_query, work_space, f8, i8, f8[:,::1]")
def nearest_contact(surface, parts, query, space, margin, count, contacts_out):
    """The contact of a part that no patch found is near enough to along its normal or the mean: at the nearest point."""
    best, kept, found = margin, 0, space.found
    for k in range(count):
        quad, x, y = found[k, 1], found[k, 2], found[k, 3]
        load_patch(surface, quad, x, y, space.corners)
        hit, _status, distance, p, n = patch_query(parts, query, space, best)
        if not hit or norm2(n) == 0.0:
            continue
        best, kept = distance, 1
        contacts_out[0, DEPTH], contacts_out[0, PART] = -distance, query.b
        contacts_out[0, ALONG], contacts_out[0, ALONG + 1], contacts_out[0, ALONG + 2] = n
        contacts_out[0, AT], contacts_out[0, AT + 1], contacts_out[0, AT + 2] = p
        contacts_out[0, PATCH] = patch_number(surface, quad, x, y)
    return kept


@kernel(inner="surface, parts, i8, mat3, vec3, i8, i8, i8, f8[:,::1], f8[:,::1]")
def buried_contact(surface, parts, b, r, t, quad, x, y, corners, contacts_out):
    """The contact of a part that is in the ground as a whole: up to the tangent plane in the middle of the patch above it."""
    load_patch(surface, quad, x, y, corners)
    n = patch_normal(corners, 0.5, 0.5)
    p = patch_point(corners, 0.5, 0.5)
    low, _high = heights(parts, b, r, t, n)
    if norm2(n) == 0.0 or not low > -math.inf:
        return 0
    contacts_out[0, DEPTH], contacts_out[0, PART] = max(dot(n, p) - low, 0.0), b
    contacts_out[0, ALONG], contacts_out[0, ALONG + 1], contacts_out[0, ALONG + 2] = n
    contacts_out[0, AT], contacts_out[0, AT + 1], contacts_out[0, AT + 2] = p
    contacts_out[0, PATCH] = patch_number(surface, quad, x, y)
    return 1


@device
def patch_number(surface, quad, x, y):
    """A number of each patch that stays the same: 2^20 a quad are more than its most samples."""
    return np.float64(quad * _I(1048576) + y * surface.ratio * _I(surface.quads[quad, SIDE]) + x)


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
    space, local = new_work_space(room), np.empty((room, CONTACT))
    box, corners, result, found, counter = space.box, space.corners, space.result, space.found, space.counter
    listed = np.empty(part_poses.shape[0], np.int64)
    a, still = _I(part_poses.shape[0] - 1), (0.0, 0.0, 0.0)
    for row in range(start, stop):
        row_s = row_of(poses_s, row)
        r, t = relative_pose(poses_s, row_s, poses_o, row_of(poses_o, row))
        world_r, world_t = load_rotation(poses_s, row_s), load_translation(poses_s, row_s)
        status, count, needed = SEPARATED, 0, _I(0)
        many = near_parts(surface, shape, r, t, margin, box, listed)
        for i in range(many):
            b = listed[i]
            rb, tb = part_place(part_poses, b, r, t)
            # Rounded off by the margin, the part touches all that is so near.
            radius, level = parts.reals[b, RADIUS], parts.reals[b, P3]
            parts.reals[b, RADIUS] = radius + margin
            if parts.ints[b, KIND] == HALF_SPACE:
                parts.reals[b, P3] = level + margin
            part_box(parts, b, rb, tb, box)
            result[BEST], result[STATUS], result[NEAR] = 0.0, SEPARATED, 0.0
            hits = walk_part(surface, parts, PartQuery(a, b, rb, tb, still, _I(GATHER)), space, _I(0))
            parts.reals[b, RADIUS], parts.reals[b, P3] = radius, level
            if hits > room:
                needed = max(needed, _I(hits))
                continue
            unique = sorted_unique(found, hits)
            kept = part_contacts(surface, parts, a, b, rb, tb, margin, found, unique, corners, local)
            if kept == 0 and result[NEAR] > 0.0:
                inside, quad, x, y, _p = part_in_ground(surface, parts, b, rb, tb, corners, counter)
                if inside:
                    kept = buried_contact(surface, parts, b, rb, tb, quad, x, y, corners, local)
            if kept == 0 and margin > 0.0:
                query = PartQuery(a, b, rb, tb, still, _I(DISTANCE))
                kept = nearest_contact(surface, parts, query, space, margin, _I(unique), local)
            kept = spread_out(local, _I(kept), most)
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
    """One number by which patches are sorted: quad, then y, then x, each below 2^11."""
    return (found[k, 1] << 22) | (found[k, 3] << 11) | found[k, 2]


@device
def swap_patches(found, i, j):
    """Exchange two rows."""
    for c in range(1, 4):
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
    """Sort the patches found (columns 1 to 3) by a heap and drop repeats: a patch on an edge is found from both primitives.
    Returns how many."""
    for root in range(count // 2 - 1, -1, -1):
        sift_down(found, root, count)
    for last in range(count - 1, 0, -1):
        swap_patches(found, 0, last)
        sift_down(found, _I(0), last)
    kept = 0
    for i in range(count):
        if kept == 0 or patch_order(found, i) != patch_order(found, kept - 1):
            found[kept, 1], found[kept, 2], found[kept, 3] = found[i, 1], found[i, 2], found[i, 3]
            kept += 1
    return kept
