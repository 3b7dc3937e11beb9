"""Normal, depth and points of contact patches: how B clears a patch, and what of either surface lies below the other there.

The normal is the mean normal of the patch's triangles where that clears them about as well as any direction does, else the best
direction found (`mesh/way_out.py`, restricted to the patch). The depth is how far B moves along it to clear them. The first
point is where they separate last. The others are corners of one surface below the other, measured along the normal: whichever
is farthest, across the normal, from those taken. So only few corners need to be measured.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.constants import TOUCH
from thud.math.pose import load_rotation, load_translation, rotate, transform, unrotate
from thud.math.vec3 import add, add_scaled, any_orthogonal, cross, dot, load3, norm, scale, sub
from thud.mesh.box_tree import pair_size, tree_pose
from thud.mesh.overlap_pair import new_search_space
from thud.mesh.part_ray import part_height
from thud.mesh.part_walk import mark_part
from thud.mesh.tolerances import BOX_SLACK, NO_MEAN, PATCH_AGREE, PATCH_NORMAL, PATCH_STARTS, SPAN_ROUNDING
from thud.mesh.way_out import far_apart, free_start, let_go, shortest_way, way_gap
from thud.pairing.tolerances import SPREAD_LEAST


@device
def mean_normal(mesh, listed, start, stop):
    """Sum of the triangles' normals, outward for a solid, over their area: so a large mesh does not outvote a small one."""
    total, area = (0.0, 0.0, 0.0), 0.0
    for k in range(start, stop):
        face = listed[k]
        p = load3(mesh.vertices, mesh.welded[face, 0], 0)
        q = load3(mesh.vertices, mesh.welded[face, 1], 0)
        n = cross(sub(q, p), sub(load3(mesh.vertices, mesh.welded[face, 2], 0), p))
        total = add(total, n)
        area += norm(n)
    if area <= 0.0:
        return 0.0, 0.0, 0.0
    return scale(total, (-1.0 if mesh.inverted else 1.0) / area)


@kernel(inner="overlap_pair, i8, mat3, vec3, vec3, i8, f8[:,::1], search_space")
def patch_way(pair, part, r, t, mean, solid, directions, space):
    """(translation that clears the patch, point of A where it is let go, normal)."""
    none = (0.0, 0.0, 0.0)
    size = pair_size(pair.a, pair.b, t)
    gap = way_gap(pair, size)
    space.tries[0] = 0
    length, far = norm(mean), far_apart(pair, t)
    if length < NO_MEAN:
        _free, s = free_start(pair, part, r, t, (0.0, 0.0, far), space)
        s = shortest_way(pair, part, r, t, s, none, directions, np.int64(PATCH_STARTS), gap, space)
        _free, s, point = let_go(pair, part, r, t, s, size, space)
        depth = norm(s)
        return s, point, scale(s, 1.0 / depth) if depth > 0.0 else (0.0, 0.0, 1.0)
    mean = scale(mean, 1.0 / length)
    _free, straight, point = let_go(pair, part, r, t, scale(mean, far), size, space)
    if not solid:
        # Either side of a surface is out.
        _free, back, point_back = let_go(pair, part, r, t, scale(mean, -far), size, space)
        if norm(back) < norm(straight):
            straight, point, mean = back, point_back, scale(mean, -1.0)
    if norm(straight) > 4.0 * gap:
        # Out of a solid, not through it.
        s = shortest_way(pair, part, r, t, straight, mean if solid else none, directions, np.int64(PATCH_STARTS), gap, space)
        _free, s, other = let_go(pair, part, r, t, s, size, space)
        agree = PATCH_AGREE * min(norm(as_tuple(pair.half_a)), norm(as_tuple(pair.half_b)))
        if norm(s) > 0.0 and norm(straight) > PATCH_NORMAL * norm(s) + agree:
            return s, other, scale(s, 1.0 / norm(s))
    return straight, point, mean


@device
def as_tuple(x):
    """An array of three."""
    return x[0], x[1], x[2]


@device
def sift_down(key, heap, root, count):
    """Let a candidate sink to its place in the heap, the largest key on top."""
    while True:
        child = 2 * root + 1
        if child >= count:
            return
        if child + 1 < count and key[heap[child]] < key[heap[child + 1]]:
            child += 1
        if key[heap[root]] >= key[heap[child]]:
            return
        heap[root], heap[child] = heap[child], heap[root]
        root = child


@kernel(
    inner="overlap_pair, i8, mat3, vec3, vec3, vec3, vec3, f8[:,::1], i8, i8, f8[::1], i8[::1], i8, f8[:,::1], f8[::1], i8, "
    "search_space"
)
def spread_corners(
    pair, part, r, t, normal, shift, point, corners, below, count, away, heap, most, point_out, depth_out, row, space
):
    """How many contact points a patch has: at most `most`, written from `row` on. corners[:below] are those of B, the others,
    up to `count`, those of A; in the frame of A's tree. away, heap: work space."""
    size = pair_size(pair.a, pair.b, t)
    slack, touch = BOX_SLACK * size, TOUCH * size
    depth = norm(shift)
    limit = depth * (1.0 + SPAN_ROUNDING) + touch
    u = any_orthogonal(normal)
    u = scale(u, 1.0 / norm(u))
    v = cross(normal, u)
    first = add_scaled(point, shift, -0.5)
    point_out[row, 0], point_out[row, 1], point_out[row, 2] = first
    depth_out[row] = depth
    taken, extent = 1, 0.0
    last = first
    for k in range(count):
        away[k] = math.inf
        heap[k] = k
    while taken < most:
        for at in range(count):
            k = heap[at]
            p = sub(load3(corners, k, 0), last)
            x, y = dot(p, u), dot(p, v)
            away[k] = min(away[k], x * x + y * y)
        for root in range(count // 2 - 1, -1, -1):
            sift_down(away, heap, root, count)
        found = False
        while count > 0 and not found:
            k = heap[0]
            if not away[k] > 0.0 or not math.sqrt(away[k]) > SPREAD_LEAST * extent:
                return taken
            p = load3(corners, k, 0)
            # Up from a corner of B to A's surface; down from one of A to B's.
            if k < below:
                height = part_height(pair.a, part, p, normal, limit, slack, touch, space.walk)
                sign = 0.5
            else:
                o, d = unrotate(r, sub(p, t)), unrotate(r, normal)
                height = part_height(pair.b, part, o, (-d[0], -d[1], -d[2]), limit, slack, touch, space.walk)
                sign = -0.5
            if height <= limit:
                found = True
                extent = max(extent, math.sqrt(away[k]))
                last = add_scaled(p, normal, sign * height)
                point_out[row + taken, 0], point_out[row + taken, 1], point_out[row + taken, 2] = last
                depth_out[row + taken] = min(height, depth)
                taken += 1
                away[k] = 0.0
            # It is done with, whether it counts or not.
            count -= 1
            heap[0], heap[count] = heap[count], heap[0]
            sift_down(away, heap, 0, count)
        if not found:
            return taken
    return taken


@kernel(
    "i8, i8, overlap_pair, patch_mesh, patch_mesh, patch_space, patch_space, i8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], i8, "
    "f8[:,::1], f8[:,::1], f8[::1], i8[::1], i8[:,::1]"
)
def patch_contacts(
    patches, before, pair, a, b, space_a, space_b, start, pose_a, pose_b, directions, most,
    point_out, normal_out, depth_out, count_out, first_out,
):  # fmt: skip
    """Points of each of the patches that `find_patches` found: those of patch p from row `most` p on; how many, the normal, and
    the least numbers of its faces. before: how many marks the trees have been given so far. World frame."""
    space = new_search_space(pair.parts)
    r, t = tree_pose(pose_a, 0, pose_b, 0, pair.a.origin, pair.b.origin)
    ra, ta = load_rotation(pose_a, 0), load_translation(pose_a, 0)
    origin = as_tuple(pair.a.origin)
    origin_b = as_tuple(pair.b.origin)
    room = start[2, patches] + start[3, patches]
    corners, away, heap = np.empty((room, 3)), np.empty(room), np.empty(room, np.int64)
    solid = np.int64(a.closed * b.closed)
    for p in range(patches):
        part = np.int64(before + p + 1)
        mark_part(a.face_slot, a.up, space_a.listed, start[0, p], start[0, p + 1], part, space_a.mark)
        mark_part(b.face_slot, b.up, space_b.listed, start[1, p], start[1, p + 1], part, space_b.mark)
        mean = sub(
            mean_normal(a, space_a.listed, start[0, p], start[0, p + 1]),
            rotate(r, mean_normal(b, space_b.listed, start[1, p], start[1, p + 1])),
        )
        shift, point, normal = patch_way(pair, part, r, t, mean, solid, directions, space)
        below = np.int64(0)
        for k in range(start[3, p], start[3, p + 1]):
            x = transform(r, t, sub(load3(b.vertices, space_b.places[k], 0), origin_b))
            corners[below, 0], corners[below, 1], corners[below, 2] = x
            below += 1
        count = below
        for k in range(start[2, p], start[2, p + 1]):
            x = sub(load3(a.vertices, space_a.places[k], 0), origin)
            corners[count, 0], corners[count, 1], corners[count, 2] = x
            count += 1
        row = np.int64(most * p)
        count_out[p] = spread_corners(
            pair, part, r, t, normal, shift, point, corners, below, count, away, heap, most, point_out, depth_out, row, space
        )
        for k in range(row, row + count_out[p]):
            x = transform(ra, ta, add(load3(point_out, k, 0), origin))
            point_out[k, 0], point_out[k, 1], point_out[k, 2] = x
        n = rotate(ra, normal)
        normal_out[p, 0], normal_out[p, 1], normal_out[p, 2] = n
        first_out[p, 0], first_out[p, 1] = space_a.listed[start[0, p]], space_b.listed[start[1, p]]
        for k in range(start[0, p], start[0, p + 1]):
            first_out[p, 0] = min(first_out[p, 0], space_a.listed[k])
        for k in range(start[1, p], start[1, p + 1]):
            first_out[p, 1] = min(first_out[p, 1], space_b.listed[k])


@kernel(
    "i8, i8, overlap_pair, patch_mesh, patch_space, i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], i8, "
    "f8[:,::1], f8[:,::1], f8[::1], i8[::1]"
)
def convex_patch_contacts(
    patches, before, pair, b, space_b, start, pose_a, pose_b, shape_corners, directions, most,
    point_out, normal_out, depth_out, count_out,
):  # fmt: skip
    """The same of a convex shape and a mesh whose triangles space_b.listed[start[p] : start[p + 1]] are patch p. shape_corners:
    those of the shape, in its frame."""
    space = new_search_space(pair.parts)
    r, t = tree_pose(pose_a, 0, pose_b, 0, pair.a.origin, pair.b.origin)
    ra, ta = load_rotation(pose_a, 0), load_translation(pose_a, 0)
    room = shape_corners.shape[0]
    away, heap = np.empty(room), np.empty(room, np.int64)
    none = np.int64(0)
    for p in range(patches):
        part = np.int64(before + p + 1)
        mark_part(b.face_slot, b.up, space_b.listed, start[p], start[p + 1], part, space_b.mark)
        mean = scale(rotate(r, mean_normal(b, space_b.listed, start[p], start[p + 1])), -1.0)
        shift, point, normal = patch_way(pair, part, r, t, mean, b.closed, directions, space)
        row = np.int64(most * p)
        count_out[p] = spread_corners(
            pair, part, r, t, normal, shift, point, shape_corners, none, np.int64(room), away, heap, most,
            point_out, depth_out, row, space,
        )  # fmt: skip
        for k in range(row, row + count_out[p]):
            x = transform(ra, ta, load3(point_out, k, 0))
            point_out[k, 0], point_out[k, 1], point_out[k, 2] = x
        n = rotate(ra, normal)
        normal_out[p, 0], normal_out[p, 1], normal_out[p, 2] = n
