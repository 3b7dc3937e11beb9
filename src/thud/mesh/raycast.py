"""Rays against a triangle mesh through its 8-wide tree: first hit, any hit, all crossings.

Boxes are tested in float32, eight at once, with a slack that covers every rounding error. Triangles are tested in float64,
four at once; where an error of that test could change its answer the exact predicates of `geometry/mesh.py` decide. So
a ray that runs through an edge or a vertex of a closed mesh never slips through, and whether a triangle is hit depends on
nothing but ray and triangle.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core import threads as _threads
from thud._core.decorators import exact_device, exact_kernel
from thud._core.simd import prefetch, ray_box8, ray_triangle4, trailing_zeros
from thud.bvh.wide import BLOCK_STRIDE, LEAF, NODE_STRIDE, REFERENCES, ROWS, STACK
from thud.constants import UNIT_ROUNDOFF
from thud.gates import Array
from thud.geometry.exact_vec3 import cross, load3, sub
from thud.geometry.mesh import ray_crossing, ray_triangle_exact
from thud.mesh.tolerances import RAY_SORT_BLOCK, RAY_SORT_LEAST
from thud.results import RayCrossings, RayHits
from thud.shapes.triangle_mesh import TriangleMesh

#: No face row is as large.
_NO_ROW = 2**62

#: 1 / 0 for the boxes: a ray that moves less than 2^-60 over a length of 1 stands still.
_STEEPEST = 2.0**60

#: A slack, in the scaled frame, with which every box is met, wherever the ray runs.
_ALL = 1024.0


@exact_device
def row_of(array, i):
    """Row i, or the only one."""
    return i if array.shape[0] > 1 else 0


@exact_device
def unit(d):
    """d / |d|, by the largest component first, so that no square over- or underflows."""
    largest = max(abs(d[0]), max(abs(d[1]), abs(d[2])))
    x, y, z = d[0] / largest, d[1] / largest, d[2] / largest
    length = math.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@exact_device
def into_frame(poses, row, p, point):
    """R^T (p - t) of poses[row] for a point, R^T p for a direction."""
    if point:
        p = (p[0] - poses[row, 9], p[1] - poses[row, 10], p[2] - poses[row, 11])
    return (
        poses[row, 0] * p[0] + poses[row, 3] * p[1] + poses[row, 6] * p[2],
        poses[row, 1] * p[0] + poses[row, 4] * p[1] + poses[row, 7] * p[2],
        poses[row, 2] * p[0] + poses[row, 5] * p[1] + poses[row, 8] * p[2],
    )


@exact_device
def out_of_frame(poses, row, p):
    """R p of poses[row]."""
    return (
        poses[row, 0] * p[0] + poses[row, 1] * p[1] + poses[row, 2] * p[2],
        poses[row, 3] * p[0] + poses[row, 4] * p[1] + poses[row, 5] * p[2],
        poses[row, 6] * p[0] + poses[row, 7] * p[1] + poses[row, 8] * p[2],
    )


@exact_device
def pick(p, axis):
    """p[axis] of a tuple."""
    return p[0] if axis == 0 else (p[1] if axis == 1 else p[2])


@exact_device
def inverse(x):
    """1 / x, at most 2^60."""
    return math.copysign(min(1.0 / abs(x), _STEEPEST), x) if x != 0.0 else _STEEPEST


@exact_device
def box_slack(o, frame):
    """(origin in the scaled frame, slack there) of a point or ray; the slack covers the errors of 8-box tests.

    frame: origin of the scaled frame, scale, reach, as in WideTree.
    """
    x, y, z = (o[0] - frame[0]) / frame[3], (o[1] - frame[1]) / frame[3], (o[2] - frame[2]) / frame[3]
    return (x, y, z), max(abs(x), max(abs(y), abs(z)))


@exact_device
def box_ray(o, d, frame):
    """What `ray_box8` needs of a ray: (row offsets), (1 / d), (near), (far), the distance skipped and the slack."""
    p, size = box_slack(o, frame)
    skipped = 0.0
    slack = 16.0 * UNIT_ROUNDOFF * size
    if size > 4.0:
        # Begin near the mesh, which is within sqrt(3) of the frame's origin.
        skipped = max(0.0, -(p[0] * d[0] + p[1] * d[1] + p[2] * d[2]) - 2.0)
        p = (p[0] + skipped * d[0], p[1] + skipped * d[1], p[2] + skipped * d[2])
        size = max(abs(p[0]), max(abs(p[1]), abs(p[2])))
    if slack < 1.0:
        # A float32 test is right to 8 of its roundoffs of the coordinates involved.
        slack += 8.0 * 2.0**-24 * (1.0 + size)
    else:
        # From so far that a roundoff of the origin is as large as the mesh.
        p, skipped, slack = (0.0, 0.0, 0.0), 0.0, _ALL
    ix, iy, iz = inverse(d[0]), inverse(d[1]), inverse(d[2])
    sx, sy, sz = slack * abs(ix), slack * abs(iy), slack * abs(iz)
    cx, cy, cz = p[0] * ix, p[1] * iy, p[2] * iz
    rows = (0 if ix >= 0.0 else 24, 8 if iy >= 0.0 else 32, 16 if iz >= 0.0 else 40)
    inverses = (np.float32(ix), np.float32(iy), np.float32(iz))
    near = (np.float32(cx + sx), np.float32(cy + sy), np.float32(cz + sz))
    far = (np.float32(cx - sx), np.float32(cy - sy), np.float32(cz - sz))
    return rows, inverses, near, far, skipped, slack


@exact_device
def box_limit(best, skipped, slack, scale):
    """A distance in the scaled frame that no box with a hit at up to `best` metres begins behind."""
    t = best / scale - skipped
    return np.float32(t + 4.0 * slack + 2.0**-20 * abs(t))


@exact_device
def triangle_ray(o, d, frame):
    """What `ray_triangle4` needs of a ray: (row offsets), (o), (shear), edge and plane bounds, and the length R."""
    x, y, z = abs(d[0]), abs(d[1]), abs(d[2])
    kz = 0 if x >= y and x >= z else (1 if y >= z else 2)
    kx = kz + 1 if kz < 2 else 0
    ky = kx + 1 if kx < 2 else 0
    dz = pick(d, kz)
    shear = (pick(d, kx) / dz, pick(d, ky) / dz, 1.0 / dz)
    far = max(abs(o[0] - frame[0]), max(abs(o[1] - frame[1]), abs(o[2] - frame[2])))
    length = 1.0001 * (far + frame[4])
    # Coordinates across the ray are right to 6 roundoffs of R and at most 2 R, so an edge function to 72 of R^2; the sum
    # that is t times the area, to 3 R times that and a bit.
    edge = 128.0 * UNIT_ROUNDOFF * length * length
    return (LEAF * kx, LEAF * ky, LEAF * kz), (pick(o, kx), pick(o, ky), pick(o, kz)), shear, edge, 4.0 * edge * length, length


@exact_device
def corner(blocks, base, k):
    """Corner k of a triangle; base: of its leaf, plus its lane."""
    at = base + 3 * LEAF * k
    return blocks[at], blocks[at + LEAF], blocks[at + 2 * LEAF]


@exact_device
def sheared(p, o, d, kx, ky, kz):
    """p - o seen along the ray: (across x, across y, along)."""
    z = pick(p, kz) - pick(o, kz)
    return (
        pick(p, kx) - pick(o, kx) - pick(d, kx) / pick(d, kz) * z,
        pick(p, ky) - pick(o, ky) - pick(d, ky) / pick(d, kz) * z,
        z,
    )


@exact_device
def settle_closely(o, d, a, b, c, length):
    """The test of `ray_triangle4` with the error bound of this triangle, which is smaller where the ray comes from afar:
    the distance, inf for a miss, NaN where it is still unsure."""
    x, y, z = abs(d[0]), abs(d[1]), abs(d[2])
    kz = 0 if x >= y and x >= z else (1 if y >= z else 2)
    kx = kz + 1 if kz < 2 else 0
    ky = kx + 1 if kx < 2 else 0
    p, q, r = sheared(a, o, d, kx, ky, kz), sheared(b, o, d, kx, ky, kz), sheared(c, o, d, kx, ky, kz)
    across = max(max(abs(p[0]), abs(p[1])), max(max(abs(q[0]), abs(q[1])), max(abs(r[0]), abs(r[1]))))
    # The coordinates across the ray are right to 6 roundoffs of R, which bounds the error from below too.
    edge = 64.0 * UNIT_ROUNDOFF * length * max(across, 64.0 * UNIT_ROUNDOFF * length)
    u, v, w = r[0] * q[1] - r[1] * q[0], p[0] * r[1] - p[1] * r[0], q[0] * p[1] - q[1] * p[0]
    low, high = min(u, min(v, w)), max(u, max(v, w))
    if low < -edge and high > edge:
        return math.inf
    total, along = u + v + w, u * p[2] + v * q[2] + w * r[2]
    if (low > edge or high < -edge) and abs(total) > 1024.0 * edge and abs(along) > 4.0 * edge * length:
        t = along / total / pick(d, kz)
        return t if t > 0.0 else math.inf
    return math.nan


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, f8")
def settle_hit(o, d, a, b, c, length):
    """Distance to a triangle that `ray_triangle4` is unsure of, its edges being part of it; inf for a miss."""
    t = settle_closely(o, d, a, b, c, length)
    return ray_triangle_exact(o, d, a, b, c) if math.isnan(t) else t


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, f8")
def settle_crossing(o, d, a, b, c, length):
    """The same, an edge being part of only one of the triangles there (`ray_crossing`)."""
    t = settle_closely(o, d, a, b, c, length)
    return ray_crossing(o, d, a, b, c) if math.isnan(t) else t


@exact_kernel(inner="vec3, vec3, wide_tree, f8, i8, i8[::1], f4[::1], f4[::1], f8[::1]")
def first_hit(o, d, wide, best, any_hit, stack, stack_t, t_box, t_triangle):
    """(t, leaf slot of the triangle): the first hit at up to `best`, of equal ones that of the smallest face row.

    (inf, -1) for none. With any_hit the first that the walk meets.
    """
    nodes, references, blocks, rows, frame = wide.nodes, wide.references, wide.blocks, wide.rows, wide.frame
    (nx, ny, nz), (ix, iy, iz), near, far, skipped, slack = box_ray(o, d, frame)
    (kx, ky, kz), (ox, oy, oz), (sx, sy, sz), edge, plane, length = triangle_ray(o, d, frame)
    limit = box_limit(best, skipped, slack, frame[3])
    best_slot, best_row = np.int64(-1), np.int64(_NO_ROW)
    depth, reference = np.int64(0), np.int64(0)
    while True:
        if reference >= 0:
            base = reference * NODE_STRIDE
            mask = ray_box8(
                nodes, base, nx, ny, nz, ix, iy, iz, near[0], near[1], near[2], far[0], far[1], far[2], limit, t_box
            )
            if mask != 0:
                lane = trailing_zeros(mask)
                mask &= mask - np.uint32(1)
                child, t_child = np.int64(references[base + REFERENCES + lane]), t_box[lane]
                if mask == 0:
                    reference = child
                    continue
                lane = trailing_zeros(mask)
                mask &= mask - np.uint32(1)
                other, t_other = np.int64(references[base + REFERENCES + lane]), t_box[lane]
                if t_other < t_child:
                    child, t_child, other, t_other = other, t_other, child, t_child
                stack[depth], stack_t[depth] = other, t_other
                bottom = depth
                depth += 1
                # The rest sorted in, the nearest on top.
                while mask != 0:
                    lane = trailing_zeros(mask)
                    mask &= mask - np.uint32(1)
                    other, t_other = np.int64(references[base + REFERENCES + lane]), t_box[lane]
                    if t_other < t_child:
                        child, t_child, other, t_other = other, t_other, child, t_child
                    k = depth
                    while k > bottom and stack_t[k - 1] < t_other:
                        stack[k], stack_t[k] = stack[k - 1], stack_t[k - 1]
                        k -= 1
                    stack[k], stack_t[k] = other, t_other
                    depth += 1
                reference = child
                continue
        else:
            base = ~reference * BLOCK_STRIDE
            hits = ray_triangle4(blocks, base, kx, ky, kz, ox, oy, oz, sx, sy, sz, edge, plane, best, t_triangle)
            while hits != 0:
                lane = trailing_zeros(hits)
                hits &= hits - np.uint32(1)
                if lane < LEAF:
                    t = t_triangle[lane]
                else:
                    lane -= LEAF
                    at = base + lane
                    t = settle_hit(o, d, corner(blocks, at, 0), corner(blocks, at, 1), corner(blocks, at, 2), length)
                    if t > best or t == math.inf:
                        continue
                row = rows[base + ROWS + lane]
                if t < best or (t == best and row < best_row):
                    best, best_row, best_slot = t, row, base + lane
                    limit = box_limit(best, skipped, slack, frame[3])
            if any_hit and best_slot >= 0:
                break
        # The next that begins before the best hit.
        while depth > 0 and stack_t[depth - 1] > limit:
            depth -= 1
        if depth == 0:
            break
        depth -= 1
        reference = stack[depth]
    return best, best_slot


@exact_device
def spread(x, low, scale):
    """A coordinate as 4 bits, 3 places apart."""
    s = (x - low) * scale
    n = np.int64(0) if not s > 0.0 else (np.int64(15) if s > 15.0 else np.int64(s))
    return ((n & 8) << 6) | ((n & 4) << 4) | ((n & 2) << 2) | (n & 1)


@exact_device
def ray_key(o, d, frame):
    """A number of 15 bits that is similar for rays that pass through the mesh alike: the middle of their way through its
    box (a Morton code), then the signs of the direction. d may have any length."""
    p, _size = box_slack(o, frame)
    near, far = 0.0, math.inf
    ix, iy, iz = 1.0 / d[0], 1.0 / d[1], 1.0 / d[2]
    # NaN, where a ray runs in the plane of a side, is passed over by min and max as written.
    for axis in range(3):
        i, x = pick((ix, iy, iz), axis), pick(p, axis)
        t0, t1 = (frame[5 + axis] - x) * i, (frame[8 + axis] - x) * i
        low, high = (t0, t1) if t0 < t1 else (t1, t0)
        near = low if low > near else near
        far = high if high < far else far
    if not near <= far < math.inf:
        return np.int64(2**15 - 1)
    middle = 0.5 * (near + far)
    key = np.int64(0)
    for axis in range(3):
        key |= spread(pick(p, axis) + middle * pick(d, axis), frame[5 + axis], frame[11]) << axis
    return (key << 3) | ((d[0] < 0.0) | ((d[1] < 0.0) << 1) | ((d[2] < 0.0) << 2))


@exact_kernel(inner="i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], i4[::1], i4[::1], i4[::1]")
def sort_rays(start, count, origins, directions, poses, frame, keys, bins, order_out):
    """order_out[:count]: rays start .. start + count by `ray_key`, relative to start. Few rays keep their order."""
    if count < RAY_SORT_LEAST:
        for k in range(count):
            order_out[k] = k
        return
    for n in range(bins.shape[0]):
        bins[n] = 0
    for k in range(count):
        i = start + k
        row = row_of(poses, i)
        o = into_frame(poses, row, load3(origins, row_of(origins, i), 0), True)
        d = into_frame(poses, row, load3(directions, row_of(directions, i), 0), False)
        key = ray_key(o, d, frame)
        keys[k] = key
        bins[key] += 1
    begin = 0
    for n in range(bins.shape[0]):
        bins[n], begin = begin, begin + bins[n]
    for k in range(count):
        order_out[bins[keys[k]]] = k
        bins[keys[k]] += 1


@exact_device
def write_normal(a, b, c, poses, row, normal_out, i):
    """The unit normal of a triangle by its winding, in the world; 0 for one without area."""
    n = cross(sub(b, a), sub(c, a))
    if n[0] != 0.0 or n[1] != 0.0 or n[2] != 0.0:
        n = out_of_frame(poses, row, unit(n))
    normal_out[i, 0], normal_out[i, 1], normal_out[i, 2] = n


@exact_kernel("i8, i8, wide_tree, f8[:,::1], f8[:,::1], f8[:,::1], f8, i8, f8[::1], f8[:,::1], f8[:,::1], i8[::1]")
def first_hit_rows(
    start, stop, wide, origins, directions, poses, max_distance, any_hit,
    distance_out, point_out, normal_out, triangle_out,
):  # fmt: skip
    """First hit (any hit) of each ray; world frame.

    Rays are taken in an order in which neighbours pass through the same nodes; each is computed alone.
    """
    blocks, rows, frame = wide.blocks, wide.rows, wide.frame
    stack, stack_t = np.empty(STACK, np.int64), np.empty(STACK, np.float32)
    t_box, t_triangle = np.empty(8, np.float32), np.empty(LEAF)
    block = min(stop - start, RAY_SORT_BLOCK)
    keys, bins, order = np.empty(block, np.int32), np.empty(2**15, np.int32), np.empty(block, np.int32)
    for first in range(start, stop, block):
        count = min(block, stop - first)
        sort_rays(first, count, origins, directions, poses, frame, keys, bins, order)
        for k in range(count):
            i = first + order[k]
            soon = first + order[min(k + 6, count - 1)]
            prefetch(origins, 3 * row_of(origins, soon))
            prefetch(directions, 3 * row_of(directions, soon))
            prefetch(point_out, 3 * soon)
            prefetch(normal_out, 3 * soon)
            prefetch(distance_out, soon)
            prefetch(triangle_out, soon)
            o, d = load3(origins, row_of(origins, i), 0), unit(load3(directions, row_of(directions, i), 0))
            row = row_of(poses, i)
            t, slot = first_hit(
                into_frame(poses, row, o, True), into_frame(poses, row, d, False),
                wide, max_distance, any_hit, stack, stack_t, t_box, t_triangle,
            )  # fmt: skip
            if slot < 0:
                distance_out[i], triangle_out[i] = math.inf, -1
                for axis in range(3):
                    point_out[i, axis], normal_out[i, axis] = 0.0, 0.0
            else:
                distance_out[i], triangle_out[i] = t, rows[slot + ROWS]
                point_out[i, 0], point_out[i, 1], point_out[i, 2] = o[0] + t * d[0], o[1] + t * d[1], o[2] + t * d[2]
                a, b, c = corner(blocks, slot, 0), corner(blocks, slot, 1), corner(blocks, slot, 2)
                write_normal(a, b, c, poses, row, normal_out, i)


@exact_kernel(inner="vec3, vec3, wide_tree, f8, i8, i8, i8[::1], f4[::1], f8[::1], f8[::1], i8[::1]")
def all_crossings(o, d, wide, max_distance, begin, fill, stack, t_box, t_triangle, distance_out, slot_out):
    """Number of crossings of the ray at up to max_distance; with `fill` also writes them from `begin` on, in order of
    distance, then face row."""
    nodes, references, blocks, rows, frame = wide.nodes, wide.references, wide.blocks, wide.rows, wide.frame
    (nx, ny, nz), (ix, iy, iz), near, far, skipped, slack = box_ray(o, d, frame)
    (kx, ky, kz), (ox, oy, oz), (sx, sy, sz), edge, plane, length = triangle_ray(o, d, frame)
    limit = box_limit(max_distance, skipped, slack, frame[3])
    count = np.int64(0)
    stack[0], depth = 0, 1
    while depth > 0:
        depth -= 1
        reference = stack[depth]
        if reference >= 0:
            base = reference * NODE_STRIDE
            mask = ray_box8(
                nodes, base, nx, ny, nz, ix, iy, iz, near[0], near[1], near[2], far[0], far[1], far[2], limit, t_box
            )
            while mask != 0:
                stack[depth] = references[base + REFERENCES + trailing_zeros(mask)]
                mask &= mask - np.uint32(1)
                depth += 1
            continue
        base = ~reference * BLOCK_STRIDE
        hits = ray_triangle4(blocks, base, kx, ky, kz, ox, oy, oz, sx, sy, sz, edge, plane, max_distance, t_triangle)
        while hits != 0:
            lane = trailing_zeros(hits)
            hits &= hits - np.uint32(1)
            if lane < LEAF:
                t = t_triangle[lane]
            else:
                lane -= LEAF
                at = base + lane
                t = settle_crossing(o, d, corner(blocks, at, 0), corner(blocks, at, 1), corner(blocks, at, 2), length)
                if t > max_distance or t == math.inf:
                    continue
            if fill:
                row = rows[base + ROWS + lane]
                k = begin + count
                while k > begin and (
                    distance_out[k - 1] > t or (distance_out[k - 1] == t and rows[slot_out[k - 1] + ROWS] > row)
                ):
                    distance_out[k], slot_out[k] = distance_out[k - 1], slot_out[k - 1]
                    k -= 1
                distance_out[k], slot_out[k] = t, base + lane
            count += 1
    return count


@exact_kernel(
    "i8, i8, wide_tree, f8[:,::1], f8[:,::1], f8[:,::1], f8, i8, i8[::1], "
    "i8[::1], i8[::1], f8[::1], f8[:,::1], f8[:,::1], i8[::1]"
)
def crossing_rows(
    start, stop, wide, origins, directions, poses, max_distance, fill, count_out,
    begin_in, row_out, distance_out, point_out, normal_out, triangle_out,
):  # fmt: skip
    """All crossings of each ray: with fill 0 their numbers, then, from begin_in[i] on, themselves. World frame."""
    blocks, rows = wide.blocks, wide.rows
    stack, t_box, t_triangle = np.empty(STACK, np.int64), np.empty(8, np.float32), np.empty(LEAF)
    for i in range(start, stop):
        o, d = load3(origins, row_of(origins, i), 0), unit(load3(directions, row_of(directions, i), 0))
        row = row_of(poses, i)
        # The slots are written where the triangles come to stand.
        begin = begin_in[i] if fill else np.int64(0)
        count = all_crossings(
            into_frame(poses, row, o, True), into_frame(poses, row, d, False), wide,
            max_distance, begin, fill, stack, t_box, t_triangle, distance_out, triangle_out,
        )  # fmt: skip
        count_out[i] = count
        if fill:
            for k in range(begin, begin + count):
                slot, t = triangle_out[k], distance_out[k]
                row_out[k], triangle_out[k] = i, rows[slot + ROWS]
                point_out[k, 0], point_out[k, 1], point_out[k, 2] = o[0] + t * d[0], o[1] + t * d[1], o[2] + t * d[2]
                a, b, c = corner(blocks, slot, 0), corner(blocks, slot, 1), corner(blocks, slot, 2)
                write_normal(a, b, c, poses, row, normal_out, k)


def raycast(
    mesh: TriangleMesh, origins: Array, directions: Array, poses: Array, count: int, *,
    reach: float, any_hit: bool, threads: int | None,
) -> RayHits:  # fmt: skip
    """First hits of `count` rays; origins, directions and poses have one row or as many."""
    _threads.check_threads(threads)
    wide = mesh.wide
    out = RayHits(np.empty(count), np.empty((count, 3)), np.empty((count, 3)), np.empty(count, dtype=np.int64))
    _threads.run_rows(
        first_hit_rows, count, threads, wide,
        origins, directions, poses, reach, int(any_hit), out.distance, out.point, out.normal, out.triangle,
        rows_per_chunk=sorted_chunk(count, threads),
    )  # fmt: skip
    return out


def sorted_chunk(count: int, threads: int | None) -> int:
    """Rays a chunk: large ones, in which sorting finds neighbours."""
    return max(512, min(RAY_SORT_BLOCK, count // (2 * (threads or _threads.core_count()))))


def raycast_all(
    mesh: TriangleMesh, origins: Array, directions: Array, poses: Array, count: int, *, reach: float, threads: int | None
) -> RayCrossings:
    """All crossings of `count` rays; origins, directions and poses have one row or as many."""
    wide = mesh.wide
    arrays = (wide, origins, directions, poses, reach)
    counts, begins = np.empty(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    none, nothing, nowhere = np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, 3))
    _threads.run_rows(crossing_rows, count, threads, *arrays, 0, counts, begins, none, nothing, nowhere, nowhere, none)
    begins[1:] = np.cumsum(counts)[:-1]
    total = int(counts.sum())
    rows, triangles = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    out = RayCrossings(rows, np.empty(total), np.empty((total, 3)), np.empty((total, 3)), triangles)
    fields = (out.row, out.distance, out.point, out.normal, out.triangle)
    _threads.run_rows(crossing_rows, count, threads, *arrays, 1, counts, begins, *fields)
    return out
