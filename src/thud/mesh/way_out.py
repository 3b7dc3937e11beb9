"""The search for a short translation of B after which two meshes, a convex shape and a mesh, or parts of them, are disjoint.

Translations of B are points of a space in which those that overlap fill a solid; B, where it is, is the origin, inside. A
free translation is a point outside, and the nearest one is wanted. From one that is free the way leads down to the solid's
surface and along it (after Je, Tang, Lee and Kim 2012, "PolyDepth"): where B's way towards the origin stops, the two
triangles that touch there say by their normal, or by that of their two edges, what plane the surface lies in. The point of
that plane nearest to the origin is where the way goes on, over what planes it meets, until there is nothing to gain. Every
point of the way is free, since each leg of it is a cast.

Such a way ends in the next hollow. So it begins in several places: at the translation that parts the hulls, and in those of
directions all around in which B is free at what is the best so far, or a little beyond; and in one in which it is free at a
much shorter length, as in a hollow of A. At the end of each way B is tried at the same length beside it.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.constants import TOUCH
from thud.geometry.triangle import closest_triangle_triangle
from thud.math.pose import load_rotation, load_translation, rotate, transform, unrotate
from thud.math.vec3 import add, add_scaled, any_orthogonal, cross, dot, load3, norm, norm2, scale, sub
from thud.mesh.box_tree import U, load_triangle, pair_size, place_triangle, tree_pose
from thud.mesh.contains import parity_in_mesh
from thud.mesh.convex_part_walk import convex_first_touch, convex_part_meets
from thud.mesh.mesh_mesh import triangle_pair
from thud.mesh.overlap_pair import new_search_space
from thud.mesh.part_walk import first_touch, parts_meet
from thud.mesh.tolerances import (
    CLEAR_ATTEMPTS,
    CLEAR_FURTHER,
    DEPTH_WIDER,
    SEED_APART,
    WAY_BESIDE,
    WAY_CLOSEST,
    WAY_FINEST,
    WAY_GAIN,
    WAY_GAIN_LAST,
    WAY_GAP,
    WAY_GAP_CONVEX,
    WAY_HOPELESS,
    WAY_KNOWN,
    WAY_LET_GO,
    WAY_NEARER,
    WAY_PLANES,
    WAY_RING,
    WAY_RUNGS,
    WAY_SLOPE,
    WAY_SPARSE,
    WAY_STEPS,
    WAY_STILL,
    WAY_TOWARD,
)
from thud.pairing.rows import row_of


@kernel(inner="overlap_pair, mat3, vec3, search_space")
def one_inside(pair, r, t, space):
    """Whether a connected part of one closed mesh has its point inside the other. (R, t) is B's tree in A's frame."""
    a, b = pair.a.origin, pair.b.origin
    for k in range(pair.points_b.shape[0]):
        p = transform(r, t, sub(load3(pair.points_b, k, 0), (b[0], b[1], b[2])))
        if abs(p[0]) <= pair.half_a[0] and abs(p[1]) <= pair.half_a[1] and abs(p[2]) <= pair.half_a[2]:
            p = (p[0] + a[0], p[1] + a[1], p[2] + a[2])
            if parity_in_mesh(p, pair.wide_a, space.stack, space.t_box, space.t_triangle):
                return True
    for k in range(pair.points_a.shape[0]):
        p = sub(load3(pair.points_a, k, 0), (a[0], a[1], a[2]))
        p = unrotate(r, sub(p, t))
        if abs(p[0]) <= pair.half_b[0] and abs(p[1]) <= pair.half_b[1] and abs(p[2]) <= pair.half_b[2]:
            p = (p[0] + b[0], p[1] + b[1], p[2] + b[2])
            if parity_in_mesh(p, pair.wide_b, space.stack, space.t_box, space.t_triangle):
                return True
    return False


@device
def keep_first(space):
    """What was found is tried first from now on; what was first goes to the end, and the last one gives way."""
    known = space.known
    k = min(space.tries[0], WAY_KNOWN - 1)
    known[k, 0], known[k, 1] = known[0, 0], known[0, 1]
    known[0, 0], known[0, 1] = space.found[0, 0], space.found[0, 1]
    space.tries[0] = k + 1


@kernel(inner="overlap_pair, i8, mat3, vec3, search_space")
def is_free(pair, part, r, t, space):
    """Whether the two are disjoint with B's tree at (R, t). Triangles that met last are tried first."""
    known = space.known
    if pair.convex != 0:
        count = np.int64(min(space.tries[0], WAY_KNOWN))
        if convex_part_meets(pair.b, part, space.parts, pair.box, r, t, space.walk, known, count, space.found):
            keep_first(space)
            return False
        return part != 0 or not one_inside(pair, r, t, space)
    touch = TOUCH * pair_size(pair.a, pair.b, t)
    for k in range(min(space.tries[0], WAY_KNOWN)):
        i, j = known[k, 0], known[k, 1]
        if triangle_pair(pair.a.corners, pair.b.corners, U(i), U(j), r, t, touch):
            if k > 0:
                known[k, 0], known[k, 1] = known[k - 1, 0], known[k - 1, 1]
                known[k - 1, 0], known[k - 1, 1] = i, j
            return False
    if parts_meet(pair.a, pair.b, part, r, t, space.walk, space.found):
        # The least asked for gives way.
        k = min(space.tries[0], WAY_KNOWN - 1)
        known[k, 0], known[k, 1] = space.found[0, 0], space.found[0, 1]
        space.tries[0] = k + 1
        return False
    return part != 0 or not one_inside(pair, r, t, space)


@kernel(inner="overlap_pair, i8, mat3, vec3, vec3, search_space")
def back_to_touch(pair, part, r, t, m, space):
    """(time, normal, point) of the first contact of B, with its tree at (R, t), on a way m; time is inf if there is none. The
    pair that touches is tried first from now on."""
    known, found = space.known, space.found
    count = np.int64(min(space.tries[0], WAY_KNOWN))
    if pair.convex != 0:
        time, n, point = convex_first_touch(pair.b, part, space.parts, pair.box, r, t, m, 1.0, space.walk, known, count, found)
    else:
        time, n, point = first_touch(pair.a, pair.b, part, r, t, m, 1.0, space.walk, known, count, found)
    if found[0, 0] >= 0:
        keep_first(space)
    if dot(n, m) >= 0.0:
        # In touch at the start, to a roundoff.
        n = scale(m, -1.0 / norm(m))
    return time, n, point


@device
def way_gap(pair, size):
    """How far away from touching ways stay."""
    return (WAY_GAP_CONVEX if pair.convex != 0 else WAY_GAP) * size


@device
def load_plane(planes, k):
    """(normal, offset)."""
    return (planes[k, 0], planes[k, 1], planes[k, 2]), planes[k, 3]


@device
def above_all(planes, count, x, slack):
    """Whether x lies above all planes."""
    for k in range(count):
        n, c = load_plane(planes, k)
        if dot(n, x) < c - slack:
            return False
    return True


@kernel(inner="f8[:,::1], i8, f8")
def nearest_above(planes, count, slack):
    """(whether there is one, the point nearest to the origin that lies above all planes): one, two or three of them hold it."""
    best, best2, found = (0.0, 0.0, 0.0), math.inf, False
    if above_all(planes, count, best, 0.0):
        return True, best
    for i in range(count):
        n, c = load_plane(planes, i)
        if c <= 0.0:
            continue
        x = scale(n, c)
        if c * c < best2 and above_all(planes, count, x, slack):
            best, best2, found = x, c * c, True
    if found:
        # The foot of a plane that lies above the others: nothing is nearer.
        return True, best
    for i in range(count):
        n, c = load_plane(planes, i)
        for j in range(i + 1, count):
            o, d = load_plane(planes, j)
            g = dot(n, o)
            det = 1.0 - g * g
            if det > WAY_SLOPE:
                x = add_scaled(scale(n, (c - g * d) / det), o, (d - g * c) / det)
                if norm2(x) < best2 and above_all(planes, count, x, slack):
                    best, best2, found = x, norm2(x), True
    for i in range(count):
        n, c = load_plane(planes, i)
        for j in range(i + 1, count):
            o, d = load_plane(planes, j)
            no = cross(n, o)
            for k in range(j + 1, count):
                q, e = load_plane(planes, k)
                det = dot(no, q)
                if abs(det) > WAY_SLOPE:
                    x = add(add(scale(cross(o, q), c / det), scale(cross(q, n), d / det)), scale(no, e / det))
                    if norm2(x) < best2 and above_all(planes, count, x, slack):
                        best, best2, found = x, norm2(x), True
    return found, best


@kernel(inner="overlap_pair, i8, mat3, vec3, vec3, vec3, f8, f8, search_space")
def descend(pair, part, r, t, s, toward, gap, gain, space):
    """The end of the way from a free translation s down towards the origin: free too, `gap` away from touching. `toward`: a
    unit vector that the way keeps a part of, or 0. gain: part of the length below which a round is the last."""
    planes = space.planes
    base = 0
    if norm2(toward) > 0.0:
        planes[0, 0], planes[0, 1], planes[0, 2], planes[0, 3] = toward[0], toward[1], toward[2], 8.0 * gap
        base = 1
    count, added, before, since = base, base, norm(s), s
    for _step in range(WAY_STEPS):
        length = norm(s)
        found, x = nearest_above(planes, count, 0.01 * gap)
        if not found or norm(x) > (1.0 - gain) * length:
            # Nothing to gain above these planes. Unless all were met here some may be left behind, so look again without.
            if length > (1.0 - gain) * before or norm(sub(s, since)) < math.sqrt(gain) * WAY_STILL * length:
                break
            before, count, added = length, base, base
            continue
        m = sub(x, s)
        time, n, _point = back_to_touch(pair, part, r, add(t, s), m, space)
        if time > 1.0:
            # Nothing in the way to the origin itself: the two only touch. What is left of s says along what they part.
            s = x if norm(x) > 0.0 else scale(s, gap / length)
            if count == base or norm(s) > (1.0 - gain) * before:
                break
            before, count, added = norm(s), base, base
            continue
        approach = -dot(n, m)
        offset = dot(n, s) - time * approach + gap
        s = add_scaled(s, m, max(0.0, time - gap / approach))
        k = added if added < WAY_PLANES else base + (added - base) % (WAY_PLANES - base)
        planes[k, 0], planes[k, 1], planes[k, 2], planes[k, 3] = n[0], n[1], n[2], offset
        added += 1
        count = min(added, WAY_PLANES)
        if count == base + 1:
            since = s
    return s


@device
def put_seed(seeds, count, most, s):
    """Keep a translation if it is one of the `most` shortest in directions apart from each other. Returns how many there
    are."""
    length = norm(s)
    worst, longest = -1, length
    for k in range(count):
        along = (s[0] * seeds[k, 0] + s[1] * seeds[k, 1] + s[2] * seeds[k, 2]) / (length * seeds[k, 3])
        if along > SEED_APART:
            if length < seeds[k, 3]:
                seeds[k, 0], seeds[k, 1], seeds[k, 2], seeds[k, 3] = s[0], s[1], s[2], length
            return count
        if seeds[k, 3] > longest:
            worst, longest = k, seeds[k, 3]
    if count < most:
        worst = count
        count += 1
    if worst >= 0:
        seeds[worst, 0], seeds[worst, 1], seeds[worst, 2], seeds[worst, 3] = s[0], s[1], s[2], length
    return count


@device
def longest_seed(seeds, count):
    """Length of the longest."""
    longest = 0.0
    for k in range(count):
        longest = max(longest, seeds[k, 3])
    return longest


@kernel(inner="overlap_pair, i8, mat3, vec3, vec3, vec3, f8, f8, f8, search_space")
def try_beside(pair, part, r, t, s, toward, gap, angle, closest, space):
    """A shorter translation than s from one of the same length beside it, by angles from `angle` down to `closest`; s if there
    is none."""
    turn = 0.0
    while angle > closest:
        length = norm(s)
        if length <= 4.0 * gap:
            return s
        d = scale(s, 1.0 / length)
        u = any_orthogonal(d)
        u = scale(u, 1.0 / norm(u))
        v = cross(d, u)
        better = False
        for k in range(WAY_RING):
            at = turn + 2.0 * math.pi * k / WAY_RING
            x = add_scaled(add_scaled(d, u, math.tan(angle) * math.cos(at)), v, math.tan(angle) * math.sin(at))
            if norm2(toward) > 0.0 and dot(x, toward) <= WAY_TOWARD * norm(x):
                continue
            x = scale(x, length * (1.0 - 0.1 * angle * angle) / norm(x))
            if is_free(pair, part, r, add(t, x), space):
                s = descend(pair, part, r, t, x, toward, gap, WAY_GAIN, space)
                better = True
                break
        turn += 0.5
        if not better:
            angle *= 0.5
    return s


@device
def unit_normal(p):
    """Of a triangle; 0 if it has no area."""
    n = cross(sub(p[1], p[0]), sub(p[2], p[0]))
    return scale(n, 1.0 / norm(n)) if norm(n) > 0.0 else n


@kernel(inner="overlap_pair, i8, mat3, vec3, search_space")
def met_normals(pair, part, r, t, space):
    """(normal of a triangle of A, of one of B) that meet with B's tree at (R, t); 0 for a convex A, and where none do."""
    found, none, zero = space.found, np.int64(0), (0.0, 0.0, 0.0)
    if pair.convex != 0:
        if not convex_part_meets(pair.b, part, space.parts, pair.box, r, t, space.walk, space.known, none, found):
            return zero, zero
        return zero, unit_normal(place_triangle(r, t, load_triangle(pair.b.corners, U(found[0, 1]))))
    if not parts_meet(pair.a, pair.b, part, r, t, space.walk, found):
        return zero, zero
    p, q = load_triangle(pair.a.corners, U(found[0, 0])), load_triangle(pair.b.corners, U(found[0, 1]))
    return unit_normal(p), unit_normal(place_triangle(r, t, q))


@kernel(inner="overlap_pair, i8, mat3, vec3, f8[:,::1], f8, f8, search_space")
def look_nearer(pair, part, r, t, directions, shortest, gap, space):
    """A free translation much shorter than `shortest`, or 0: where one is inside a hollow of the other it may be free by a
    hair's breadth, as a shaft that cuts into the wall of its hole, and beyond that only outside of it. Lengths go down by
    steps; the shortest that is free is taken. Triangles that meet are tried first, so that most looks are cheap."""
    on_a, on_b = met_normals(pair, part, r, t, space)
    best, length = (0.0, 0.0, 0.0), WAY_NEARER * shortest
    for _rung in range(WAY_RUNGS):
        if length <= 4.0 * gap:
            break
        for k in range(4 + directions.shape[0] // WAY_SPARSE):
            n = on_a if k < 2 else on_b
            d = scale(n, 1.0 if k % 2 == 0 else -1.0) if k < 4 else load3(directions, (k - 4) * WAY_SPARSE, 0)
            end = scale(d, length)
            if norm2(d) > 0.0 and is_free(pair, part, r, add(t, end), space):
                best = end
                break
        length *= WAY_NEARER
    return best


@kernel(inner="overlap_pair, i8, mat3, vec3, vec3, vec3, f8[:,::1], i8, f8, search_space")
def shortest_way(pair, part, r, t, begin, toward, directions, starts, gap, space):
    """A short free translation, `gap` away from touching. begin: a free one."""
    seeds = space.seeds
    best = descend(pair, part, r, t, begin, toward, gap, WAY_GAIN, space)
    if norm(best) <= 4.0 * gap:
        return best
    aimed = norm2(toward) > 0.0
    count = put_seed(seeds, 0, starts, best)
    shortest = at_end = seeds[0, 3]
    for k in range(directions.shape[0]):
        d = load3(directions, k, 0)
        if aimed and dot(d, toward) <= WAY_TOWARD:
            continue
        length = DEPTH_WIDER * shortest
        if count == starts:
            length = min(length, longest_seed(seeds, count))
        end = scale(d, length)
        if not is_free(pair, part, r, add(t, end), space):
            continue
        m = scale(end, -1.0)
        time, n, _point = back_to_touch(pair, part, r, add(t, end), m, space)
        if time > 1.0:
            # Free all the way: the two only touch.
            return scale(d, gap)
        approach = -dot(n, m)
        end = add_scaled(end, m, max(0.0, time - gap / approach))
        shortest = min(shortest, norm(end))
        count = put_seed(seeds, count, starts, end)
    if part == 0 and not aimed:
        near = look_nearer(pair, part, r, t, directions, shortest, gap, space)
        if norm2(near) > 0.0:
            count = put_seed(seeds, count, starts, near)
    for _k in range(count):
        # The shortest that is left.
        chosen = 0
        for k in range(count):
            if seeds[k, 3] < seeds[chosen, 3]:
                chosen = k
        s = (seeds[chosen, 0], seeds[chosen, 1], seeds[chosen, 2])
        if seeds[chosen, 3] != at_end:
            s = descend(pair, part, r, t, s, toward, gap, WAY_GAIN, space)
        seeds[chosen, 3] = math.inf
        if norm(s) < WAY_HOPELESS * norm(best):
            s = try_beside(pair, part, r, t, s, toward, gap, WAY_BESIDE, WAY_CLOSEST, space)
        if norm(s) < norm(best):
            best = s
    best = try_beside(pair, part, r, t, best, toward, gap, WAY_CLOSEST, WAY_FINEST, space)
    return descend(pair, part, r, t, best, toward, gap, WAY_GAIN_LAST, space)


@kernel(inner="overlap_pair, i8, mat3, vec3, search_space")
def common_point(pair, part, r, t, space):
    """(point, normal) of triangles of the two that meet with B's tree at (R, t), the normal being that of B's; the middle of B
    and some direction if none does."""
    found, none, up = space.found, np.int64(0), (0.0, 0.0, 1.0)
    if pair.convex != 0:
        if not convex_part_meets(pair.b, part, space.parts, pair.box, r, t, space.walk, space.known, none, found):
            return t, up
    elif not parts_meet(pair.a, pair.b, part, r, t, space.walk, found):
        return t, up
    q = place_triangle(r, t, load_triangle(pair.b.corners, U(found[0, 1])))
    n = cross(sub(q[1], q[0]), sub(q[2], q[0]))
    n = scale(n, 1.0 / norm(n)) if norm(n) > 0.0 else up
    if pair.convex != 0:
        return scale(add(add(q[0], q[1]), q[2]), 1.0 / 3.0), n
    p = load_triangle(pair.a.corners, U(found[0, 0]))
    return closest_triangle_triangle(p[0], p[1], p[2], q[0], q[1], q[2])[1], n


@kernel(inner="overlap_pair, i8, mat3, vec3, vec3, f8, search_space")
def let_go(pair, part, r, t, s, size, space):
    """(whether it is free, translation, point of A): a free translation s shortened until the two all but touch."""
    m = (-s[0], -s[1], -s[2])
    time, n, point = back_to_touch(pair, part, r, add(t, s), m, space)
    gap = WAY_LET_GO * size
    if time > 1.0:
        # Nothing in the way: the two only touch, and a small step parts them, if they lie in one plane then across it.
        point, n = common_point(pair, part, r, t, space)
        for _attempt in range(CLEAR_ATTEMPTS):
            for k in range(3):
                x = scale(s, gap / norm(s)) if k == 0 else scale(n, gap if k == 1 else -gap)
                if is_free(pair, part, r, add(t, x), space):
                    return True, x, point
            gap *= 4.0
        return is_free(pair, part, r, add(t, s), space), s, point
    approach = -dot(n, m)
    # A tenth of what the walk kept away is enough nearly always; what is not free goes back up, in the end beyond s. By no more
    # than the gap: along a plane that is all but parallel to the way the gap is reached only far away.
    for _attempt in range(CLEAR_ATTEMPTS):
        x = add_scaled(s, m, max(time - gap / approach, -gap / norm(m)))
        if is_free(pair, part, r, add(t, x), space):
            return True, x, point
        gap *= 4.0
    return False, s, point


@device
def far_apart(pair, t):
    """A length that parts balls about the two along any direction, B's tree being at t."""
    a = math.sqrt(pair.half_a[0] ** 2 + pair.half_a[1] ** 2 + pair.half_a[2] ** 2)
    b = math.sqrt(pair.half_b[0] ** 2 + pair.half_b[1] ** 2 + pair.half_b[2] ** 2)
    return 1.001 * (norm(t) + a + b)


@kernel(inner="overlap_pair, i8, mat3, vec3, vec3, search_space")
def free_start(pair, part, r, t, begin, space):
    """(whether it is, a free translation along `begin`): itself, a little further, or as far as balls about the two reach."""
    length, far = norm(begin), far_apart(pair, t)
    s = scale(begin, 1.0 + CLEAR_FURTHER)
    for attempt in range(CLEAR_ATTEMPTS):
        if is_free(pair, part, r, add(t, s), space):
            return True, s
        s = scale(s, 1.1)
        if attempt == CLEAR_ATTEMPTS - 2 and far > norm(s):
            s = scale(begin, far / length)
    return False, s


@kernel("i8, i8, overlap_pair, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], i8, f8[:,::1], f8[:,::1], b1[::1]")
def way_out_rows(start, stop, pair, poses_a, poses_b, first, directions, starts, shift_out, point_out, free_out):
    """For each row a short translation of B after which the meshes are disjoint, the point of A where they then all but touch,
    and whether it was found free. first: (N, 3) translations that part the hulls. World frame."""
    space, none = new_search_space(pair.parts), (0.0, 0.0, 0.0)
    everything = np.int64(0)
    for row in range(start, stop):
        row_a, row_b = row_of(poses_a, row), row_of(poses_b, row)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, pair.a.origin, pair.b.origin)
        ra, ta = load_rotation(poses_a, row_a), load_translation(poses_a, row_a)
        size = pair_size(pair.a, pair.b, t)
        gap = way_gap(pair, size)
        space.tries[0] = 0
        free, s = free_start(pair, everything, r, t, unrotate(ra, load3(first, row, 0)), space)
        point = none
        if free:
            s = shortest_way(pair, everything, r, t, s, none, directions, starts, gap, space)
            free, s, point = let_go(pair, everything, r, t, s, size, space)
        free_out[row] = free
        s = rotate(ra, s)
        shift_out[row, 0], shift_out[row, 1], shift_out[row, 2] = s
        point = transform(ra, ta, add(point, (pair.a.origin[0], pair.a.origin[1], pair.a.origin[2])))
        point_out[row, 0], point_out[row, 1], point_out[row, 2] = point
